import JSON
import TestSeeds

/// A random predicate with its arguments.
struct PredicateChoice {
  let text: String
  var arguments: [JSONMember] = []

  /// Returns a predicate of up to three comparisons.
  ///
  /// - Parameters:
  ///   - entity: The entity of the fetch.
  ///   - ids: The stored IDs.
  ///   - random: The randomness.
  /// - Returns: The predicate.
  static func random(
    _ entity: String,
    _ ids: StoredIDs,
    _ random: inout SplitMix64
  ) -> PredicateChoice {
    let first = comparison(entity, ids, "1", &random)
    switch random.below(6) {
    case 0:
      let second = comparison(entity, ids, "2", &random)
      let word = random.pick(["AND", "OR"])
      return PredicateChoice(
        text: "\(first.text) \(word) \(second.text)",
        arguments: first.arguments + second.arguments
      )
    case 1: return PredicateChoice(text: "NOT (\(first.text))", arguments: first.arguments)
    case 2:
      let second = comparison(entity, ids, "2", &random)
      let third = comparison(entity, ids, "3", &random)
      return PredicateChoice(
        text: "(\(first.text) OR \(second.text)) AND NOT (\(third.text))",
        arguments: first.arguments + second.arguments + third.arguments
      )
    default: return first
    }
  }

  private static func comparison(
    _ entity: String,
    _ ids: StoredIDs,
    _ name: String,
    _ random: inout SplitMix64
  ) -> PredicateChoice {
    if random.oneIn(8) {
      let specials = ids.tasks.filter { $0.hasPrefix("Special/") }
      let known = entity == "Special" ? specials : ids.byEntity[entity] ?? []
      let some = random.some(known, atMost: 5)
      let list = JSONValue.array(some.map { .string($0) })
      return PredicateChoice(text: "SELF IN $s\(name)", arguments: [JSONMember("s\(name)", list)])
    }
    if entity == "Task", random.oneIn(6) {
      let group: JSONValue = random.any(ids.groups).map(JSONValue.string) ?? .null
      return PredicateChoice(
        text: "group == $g\(name)",
        arguments: [JSONMember("g\(name)", group)]
      )
    }
    if entity == "Task", random.oneIn(10) {
      let date = JSONValue.string("2026-02-0\(1 + random.below(5))T00:00:00.000Z")
      return PredicateChoice(text: "due < $d\(name)", arguments: [JSONMember("d\(name)", date)])
    }
    let number = random.below(5)
    switch entity {
    case "Group": return PredicateChoice(text: random.pick(groups(number)))
    case "Tag": return PredicateChoice(text: random.pick(tags(number)))
    case "Memo": return PredicateChoice(text: random.pick(memos(number)))
    case "Special" where random.oneIn(2): return PredicateChoice(text: "extra == 'e\(number)'")
    default: return PredicateChoice(text: random.pick(tasks(number)))
    }
  }

  private static func tasks(_ number: Int) -> [String] {
    [
      "priority == \(number)", "priority IN {1, \(number)}", "priority BETWEEN {1, \(number)}",
      "priority < \(number)", "priority != \(number)", "title CONTAINS[cd] 'a'",
      "title BEGINSWITH 'b'", "title LIKE '*e*'", "title == nil", "title != 'beta'",
      "title == 'item \(number)'", "done == YES", "done == NO", "size > 1.0", "size == nil",
      "group == nil", "group.title == 'home'", "group.title BEGINSWITH[c] 'W'",
      "group.rank > \(number)", "group.count > \(number)", "ANY tags.name == 'red'",
      "NONE tags.name == 'red'", "ALL tags.name != 'blue'", "tags.@count > \(number / 2)",
      "memo.content CONTAINS 'a'", "memo == nil", "ANY group.tasks.priority > \(number)",
      "SUBQUERY(tags, $t, $t.name == 'red' OR $t.tasks.@count > \(number)).@count > 0",
    ]
  }

  private static func groups(_ number: Int) -> [String] {
    [
      "rank > \(number)", "rank == nil", "title BEGINSWITH 'h'", "title == 'work'",
      "count > \(number)", "tasks.@count > \(number)", "tasks.@sum.priority > \(number * 2)",
      "tasks.@max.priority < \(number)", "ANY tasks.priority == \(number)",
      "ALL tasks.done == YES", "ANY tasks.tags.name == 'red'",
      "SUBQUERY(tasks, $t, $t.done == YES).@count > 0",
      "SUBQUERY(tasks, $t, $t.priority > \(number) AND $t.memo != nil).@count > 0",
    ]
  }

  private static func tags(_ number: Int) -> [String] {
    [
      "name == 'red'", "name IN {'red', 'x'}", "name LIKE 'r*'", "tasks.@count > \(number)",
      "ANY tasks.group.title == 'home'", "ANY tasks.priority > \(number)",
    ]
  }

  private static func memos(_ number: Int) -> [String] {
    [
      "content CONTAINS 'a'", "content == nil", "task == nil", "task.priority > \(number)",
      "task.group.rank > \(number)", "task.title != nil",
    ]
  }
}
