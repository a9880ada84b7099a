import JSON
import TestSeeds

/// A random write request of a client.
struct RandomWrite {
  let method: String
  let params: JSONValue

  private static let authors: [String?] = ["ann", "bob", nil]
  private static let titles: [JSONValue] = [
    "alpha", "Alpha", "beta", "Béta", "item 2", "item 10", "item 3", "green", "bare", .null,
  ]
  private static let groupTitles: [JSONValue] = ["home", "work", "Work", "garden", .null]
  private static let contents: [JSONValue] = ["a note", "none", "plan", .null]

  /// Returns a write.
  ///
  /// - Parameters:
  ///   - ids: The stored IDs, some of which may not exist any more.
  ///   - random: The randomness.
  /// - Returns: The request, which the service may refuse.
  static func random(_ ids: StoredIDs, _ random: inout SplitMix64) -> RandomWrite {
    // A write without the member has the author null.
    let author = random.pick(authors).map { [JSONMember("author", .string($0))] } ?? []
    switch random.below(14) {
    case 0:
      let method = random.pick(["undo", "undo", "redo"])
      let name = random.oneIn(8) ? [JSONMember("author", "external")] : author
      let params = name + [JSONMember("mergePolicy", "storeTrump")]
      return RandomWrite(method: method, params: .object(params))
    case 1: return update(author, &random)
    case 2 where ids.tasks.count > 12: return delete(author, &random)
    default: return save(ids, author, &random)
    }
  }

  /// Returns the save that the run begins with.
  static func first(_ random: inout SplitMix64) -> RandomWrite {
    var inserts: [JSONValue] = []
    for (index, title) in groupTitles.prefix(3).enumerated() {
      let values: JSONValue = ["title": title, "rank": .integer(Int64(random.below(5)))]
      inserts.append(["id": .string("Group/t\(index)"), "values": values])
    }
    for name in StoredIDs.tagNames.prefix(3) {
      inserts.append(["id": .string("Tag/s\(name)"), "values": .object([])])
    }
    for index in 0..<8 {
      var values = task(&random)
      values.append(JSONMember("group", .string("Group/t\(random.below(3))")))
      inserts.append([
        "entity": index == 7 ? "Special" : "Task", "values": .object(unique(values)),
      ])
    }
    return RandomWrite(method: "save", params: ["insert": .array(inserts), "author": "ann"])
  }

  // MARK: By predicate

  private static func update(_ author: [JSONMember], _ random: inout SplitMix64) -> RandomWrite {
    let number = random.below(5)
    let sets: [JSONValue] = [
      ["done": true], ["done": false], ["priority": .integer(Int64(number))],
      ["priority": ["@expression": "priority + 1"]], ["size": 1.5],
    ]
    let predicates = ["priority == \(number)", "done == YES", "group.rank > \(number)"]
    return RandomWrite(
      method: "update",
      params: .object(
        [
          JSONMember("entity", "Task"), JSONMember("predicate", .string(random.pick(predicates))),
          JSONMember("set", random.pick(sets)),
        ] + author
      )
    )
  }

  private static func delete(_ author: [JSONMember], _ random: inout SplitMix64) -> RandomWrite {
    let predicate = "priority == \(random.below(6)) AND done == YES"
    return RandomWrite(
      method: "delete",
      params: .object(
        [
          JSONMember("entity", "Task"), JSONMember("predicate", .string(predicate)),
        ] + author
      )
    )
  }

  // MARK: Saves

  private static func save(
    _ ids: StoredIDs,
    _ author: [JSONMember],
    _ random: inout SplitMix64
  ) -> RandomWrite {
    var inserts: [JSONValue] = []
    for index in 0..<random.below(ids.tasks.count > 20 ? 1 : 3) {
      inserts.append(insert(index, ids, &random))
    }
    var deletes: [String] = []
    if random.oneIn(4) {
      let entity = random.pick(["Task", "Task", "Task", "Tag", "Memo", "Group"])
      deletes = random.some(ids.byEntity[entity] ?? [], atMost: 1)
    }
    var updates: [JSONValue] = []
    let all = ids.tasks + ids.tasks + ids.groups + ids.tags + ids.memos
    var named = Set(deletes)
    for id in random.some(all, atMost: 1 + random.below(3)) where named.insert(id).inserted {
      let values = changes(id, ids, &random)
      updates.append(["id": .string(id), "values": .object(unique(values))])
    }
    return RandomWrite(
      method: "save",
      params: .object(
        [
          JSONMember("insert", .array(inserts)), JSONMember("update", .array(updates)),
          JSONMember("delete", list(deletes)),
        ] + author
      )
    )
  }

  /// Returns an insert, whose temporary ID is free in the save.
  private static func insert(
    _ index: Int,
    _ ids: StoredIDs,
    _ random: inout SplitMix64
  ) -> JSONValue {
    switch random.below(8) {
    case 0:
      let values: JSONValue = [
        "title": random.pick(groupTitles), "rank": .integer(Int64(random.below(5))),
      ]
      return ["entity": "Group", "values": values]
    case 1:
      let name = random.pick(StoredIDs.tagNames)
      guard !ids.tags.contains("Tag/s\(name)"), index == 0 else { break }
      let tasks = list(random.some(ids.tasks, atMost: 3))
      return ["id": .string("Tag/s\(name)"), "values": ["tasks": tasks]]
    case 2:
      let task = random.any(ids.tasks).map(JSONValue.string) ?? .null
      return ["entity": "Memo", "values": ["content": random.pick(contents), "task": task]]
    default: break
    }
    let isSpecial = random.oneIn(5)
    var values = task(&random) + references(ids, &random)
    if isSpecial { values.append(JSONMember("extra", .string("e\(random.below(5))"))) }
    return ["entity": isSpecial ? "Special" : "Task", "values": .object(unique(values))]
  }

  /// Returns attributes of a task.
  private static func task(_ random: inout SplitMix64) -> [JSONMember] {
    var values = [JSONMember("title", random.pick(titles))]
    if random.oneIn(2) {
      values.append(JSONMember("priority", .integer(Int64(random.below(6)))))
    }
    if random.oneIn(2) { values.append(JSONMember("done", .bool(random.oneIn(2)))) }
    if random.oneIn(3) {
      let sizes: [JSONValue] = [0.5, 1.5, 2.5, .null]
      values.append(JSONMember("size", random.pick(sizes)))
    }
    if random.oneIn(3) {
      let date = JSONValue.string("2026-02-0\(1 + random.below(5))T00:00:00.000Z")
      values.append(JSONMember("due", random.oneIn(4) ? .null : date))
    }
    return values
  }

  /// Returns references of a task.
  private static func references(
    _ ids: StoredIDs,
    _ random: inout SplitMix64
  ) -> [JSONMember] {
    var values: [JSONMember] = []
    if random.oneIn(2) {
      let group = random.oneIn(5) ? nil : random.any(ids.groups)
      values.append(JSONMember("group", group.map(JSONValue.string) ?? .null))
    }
    if random.oneIn(3) {
      values.append(JSONMember("tags", list(random.some(ids.tags, atMost: 2))))
    }
    if random.oneIn(6) {
      let memo = random.oneIn(3) ? nil : random.any(ids.memos)
      values.append(JSONMember("memo", memo.map(JSONValue.string) ?? .null))
    }
    return values
  }

  private static func list(_ ids: [String]) -> JSONValue {
    .array(ids.map { .string($0) })
  }

  /// Returns `@add` and `@remove` for a to-many.
  private static func links(_ ids: [String], _ random: inout SplitMix64) -> JSONValue {
    let some = random.some(ids, atMost: 3)
    let added = some.filter { _ in random.oneIn(2) }
    return ["@add": list(added), "@remove": list(some.filter { !added.contains($0) })]
  }

  /// Returns changed properties of an object.
  private static func changes(
    _ id: String,
    _ ids: StoredIDs,
    _ random: inout SplitMix64
  ) -> [JSONMember] {
    switch StoredIDs.number(of: id).entity {
    case "Group":
      if random.oneIn(4) { return [JSONMember("tasks", links(ids.tasks, &random))] }
      if random.oneIn(10) {
        return [JSONMember("tasks", list(random.some(ids.tasks, atMost: 4)))]
      }
      return [
        JSONMember("title", random.pick(groupTitles)),
        JSONMember("rank", random.oneIn(5) ? .null : .integer(Int64(random.below(5)))),
      ]
    case "Tag": return [JSONMember("tasks", links(ids.tasks, &random))]
    case "Memo":
      guard random.oneIn(3) else { return [JSONMember("content", random.pick(contents))] }
      return [JSONMember("task", random.any(ids.tasks).map(JSONValue.string) ?? .null)]
    case "Special" where random.oneIn(2):
      return [JSONMember("extra", .string("e\(random.below(5))"))]
    default:
      if random.oneIn(4) { return [JSONMember("tags", links(ids.tags, &random))] }
      let values = task(&random)
      if random.oneIn(2) { return [random.pick(values)] }
      return values + references(ids, &random)
    }
  }

  /// Returns the members without repetitions of a name.
  private static func unique(_ members: [JSONMember]) -> [JSONMember] {
    var names: Set<String> = []
    return members.filter { names.insert($0.name).inserted }
  }
}
