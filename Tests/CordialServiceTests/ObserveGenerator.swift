import JSON
import TestSeeds

/// Random observed requests and random commits for the model of `ObserveOracle`.
struct ObserveGenerator {
  var random: SplitMix64

  private func json(_ text: String) -> JSONValue { JSONText.parsed(text) ?? .string(text) }

  private mutating func text() -> String {
    random.pick(["a", "A", "b", "ab", "é", "Zoo", "10", "9"])
  }
  private mutating func task() -> String {
    random.oneIn(6)
      ? "Special/p\(35_184_372_088_832 + 1 + random.below(4))" : "Task/p\(1 + random.below(12))"
  }
  private mutating func group() -> String { "Group/p\(1 + random.below(4))" }
  private mutating func tag() -> String { "Tag/s\(random.pick(["x", "y", "z"]))" }

  // MARK: Requests

  mutating func request() -> JSONValue {
    switch random.below(8) {
    case 0: return byIDs()
    case 1:
      return json(
        #"{"history":{"entities":["\#(random.pick(["Task", "Group"]))"]}}"#
      )
    default: return byFetch()
    }
  }

  private mutating func byIDs() -> JSONValue {
    var members: [JSONMember] = []
    if random.oneIn(4) {
      let ids = Set((0..<3).map { _ in tag() }).sorted()
      members.append(JSONMember("ids", .array(ids.map { .string($0) })))
    } else {
      let ids = Set((0..<1 + random.below(4)).map { _ in task() }).sorted()
      members.append(JSONMember("ids", .array(ids.map { .string($0) })))
      if random.oneIn(3) { members.append(JSONMember("select", selection())) }
    }
    if random.oneIn(3) {
      members.append(JSONMember("before", true))
      if random.oneIn(2) { members.append(JSONMember("explain", true)) }
    } else if random.oneIn(3) {
      members.append(JSONMember("mode", "ids"))
    }
    return .object(members)
  }

  private mutating func byFetch() -> JSONValue {
    let isGroup = random.oneIn(4)
    var fetch = [
      JSONMember("entity", .string(isGroup ? "Group" : random.pick(["Task", "Task", "Special"])))
    ]
    if !random.oneIn(3) {
      fetch.append(
        JSONMember("predicate", .string(isGroup ? groupPredicate() : predicate(depth: 2)))
      )
    }
    var members: [JSONMember] = []
    let sort = isGroup ? ["title", "-rank", "-tasks.@count"] : Self.sorts
    let result = random.below(8)
    if result == 0 {
      fetch.append(JSONMember("result", "count"))
    } else if result == 1, !isGroup {
      fetch += [
        JSONMember("result", "values"), JSONMember("groupBy", ["priority"]),
        JSONMember("select", ["priority", "@count"]), JSONMember("sort", ["priority"]),
      ]
    } else if result == 2, !isGroup {
      fetch += [
        JSONMember("result", "values"), JSONMember("select", ["title", "group.title"]),
        JSONMember("sort", ["title"]),
      ]
      if random.oneIn(2) { fetch.append(JSONMember("distinct", true)) }
    } else {
      if !random.oneIn(3) {
        fetch.append(
          JSONMember(
            "sort",
            .array((0..<1 + random.below(2)).map { _ in .string(random.pick(sort)) })
          )
        )
      }
      if random.oneIn(3) {
        fetch.append(JSONMember("limit", .integer(Int64(1 + random.below(5)))))
        if random.oneIn(2) { fetch.append(JSONMember("offset", .integer(Int64(random.below(4))))) }
      }
      if random.oneIn(4) { fetch.append(JSONMember("total", true)) }
      if random.oneIn(4) {
        let key = isGroup ? "rank" : random.pick(["priority", "done", "group.title"])
        fetch.append(JSONMember("sectionBy", .string(key)))
      }
      if random.oneIn(8) { fetch.append(JSONMember("subentities", false)) }
      if random.oneIn(4) {
        members.append(JSONMember("mode", "ids"))
      } else {
        if !isGroup, random.oneIn(2) { fetch.append(JSONMember("select", selection())) }
        if isGroup, random.oneIn(2) {
          fetch.append(JSONMember("select", ["title", "tasks.@count", "tasks", "count"]))
        }
        if random.oneIn(4) {
          let paths = isGroup ? ["tasks"] : [random.pick(["group", "tags", "group.tasks", "memo"])]
          fetch.append(JSONMember("include", .array(paths.map { .string($0) })))
        }
        if random.oneIn(4) { members.append(JSONMember("before", true)) }
        if random.oneIn(4) { members.append(JSONMember("explain", true)) }
      }
    }
    return .object([JSONMember("fetch", .object(fetch))] + members)
  }

  private static let sorts = [
    "title", "-title", "title:localized", "-title:localized", "priority", "-priority", "size",
    "group.title", "group.rank", "-tags.@count", "done", "parent.title", "group.owner.name",
    "-friends.@count",
  ]

  private mutating func selection() -> JSONValue {
    random.pick([
      ["title"], ["title", "group.title"], ["title", "tags.@count"], ["priority", "memo.content"],
      ["tags"], ["title", "tags.name"], ["group"], ["title", "group.owner.name"],
      ["friends.@count", "parent.title"], ["children"], ["friends"],
    ])
  }

  private mutating func groupPredicate() -> String {
    random.pick([
      "title == 'a'", "rank > 1", "tasks.@count > 1", "ANY tasks.done == YES", "title != nil",
      "SUBQUERY(tasks, $t, $t.priority > 1).@count > 0", "title CONTAINS[cd] 'a'",
      "owner.name != nil", "ANY tasks.parent.title == 'a'", "ANY tasks.tags.name == 'x'",
    ])
  }

  private mutating func predicate(depth: Int) -> String {
    if depth > 0, random.oneIn(3) {
      let (a, b) = (predicate(depth: depth - 1), predicate(depth: depth - 1))
      return random.pick(["(\(a)) AND (\(b))", "(\(a)) OR (\(b))", "NOT (\(a))"])
    }
    let number = random.below(4)
    return random.pick([
      "priority == \(number)", "priority != \(number)", "priority > \(number)",
      "priority BETWEEN {\(number), \(number + 1)}", "priority IN {1, \(number)}",
      "priority == nil", "title == '\(text())'", "title ==[c] '\(text())'",
      "title CONTAINS[cd] '\(text())'", "title BEGINSWITH '\(text())'", "title ENDSWITH[c] 'o'",
      "title LIKE '*a*'", "title < 'b'", "done == YES", "size > 1.5", "size == 2",
      "group == '\(group())'", "group == nil", "group != '\(group())'", "group.title == 'a'",
      "group.rank > 1", "ANY tags.name == 'x'", "tags.@count > 1", "memo.content CONTAINS 'a'",
      "group.tasks.@count > 2", "SELF IN {'Task/p1', 'Task/p2', 'Task/p5'}",
      "title MATCHES '[ab]+'", "TRUEPREDICATE", "group.owner.name == 'a'",
      "ANY friends.title == 'a'", "parent.title == 'a'", "children.@count > 0",
      "SUBQUERY(children, $c, $c.group.title == 'a').@count > 0", "children[FIRST].title == 'a'",
    ])
  }

  // MARK: Commits

  mutating func commit() -> (method: String, params: JSONValue) {
    // The service performs small saves without an fsync on the loop.
    let durability = random.oneIn(2) ? #","durability":"normal""# : ""
    let author = #""author":"\#(random.pick(["ann", "bob"]))"\#(durability)"#
    switch random.below(14) {
    case 0: return ("undo", json("{\(author)}"))
    case 1: return ("redo", json("{\(author)}"))
    case 2: return ("delete", json(#"{"ids":["\#(task())"],\#(author)}"#))
    case 3:
      let id = random.oneIn(2) ? group() : tag()
      return ("delete", json(#"{"ids":["\#(id)"],\#(author)}"#))
    case 4:
      let set = #"{"priority":\#(random.below(4))}"#
      return (
        "update",
        json(#"{"entity":"Task","predicate":"priority > 1","set":\#(set),\#(author)}"#)
      )
    case 5, 6:
      return ("save", json(#"{"insert":[\#(groupOrTag()),\#(newTask())],\#(author)}"#))
    case 7: return ("save", json(#"{"insert":[\#(newTask()),\#(newTask())],\#(author)}"#))
    case 8:
      let memo = #"{"id":"Memo/tm","values":{"content":"\#(text())","task":"\#(task())"}}"#
      return ("save", json(#"{"insert":[\#(memo)],\#(author)}"#))
    case 9 where random.oneIn(3):
      let owner = random.oneIn(3) ? "Owner/t1" : "Owner/p\(1 + random.below(2))"
      let insert = #"{"id":"Owner/t1","values":{"name":"\#(text())"}}"#
      let title = #"{"id":"\#(group())","values":{"owner":"\#(owner)"}}"#
      return ("save", json(#"{"insert":[\#(insert)],"update":[\#(title)],\#(author)}"#))
    case 9 where random.oneIn(2):
      let owner = "Owner/p\(1 + random.below(2))"
      if random.oneIn(4) { return ("delete", json(#"{"ids":["\#(owner)"],\#(author)}"#)) }
      let name = #"{"id":"\#(owner)","values":{"name":"\#(text())"}}"#
      return ("save", json(#"{"update":[\#(name)],\#(author)}"#))
    case 9:
      let title =
        #"{"id":"\#(group())","values":{"title":"\#(text())","rank":\#(random.below(4))}}"#
      return ("save", json(#"{"update":[\#(title)],\#(author)}"#))
    default:
      return ("save", json(#"{"update":[{"id":"\#(task())","values":{\#(change())}}],\#(author)}"#))
    }
  }

  private mutating func groupOrTag() -> String {
    random.oneIn(2)
      ? #"{"entity":"Group","values":{"title":"\#(text())","rank":\#(random.below(4))}}"#
      : #"{"id":"\#(tag())","values":{}}"#
  }

  private mutating func newTask() -> String {
    let entity = random.oneIn(5) ? "Special" : "Task"
    return #"{"entity":"\#(entity)","values":{\#(change()),"done":\#(random.oneIn(2))}}"#
  }

  private mutating func change() -> String {
    random.pick([
      #""title":"\#(text())""#, #""title":null"#, #""priority":\#(random.below(4))"#,
      #""priority":null"#, #""size":\#(random.below(3))"#, #""group":"\#(group())""#,
      #""group":null"#, #""tags":{"@add":["\#(tag())"]}"#, #""tags":{"@remove":["\#(tag())"]}"#,
      #""tags":["\#(tag())"]"#, #""title":"\#(text())","priority":\#(random.below(4))"#,
      #""parent":"\#(task())""#, #""parent":null"#, #""friends":{"@add":["\#(task())"]}"#,
      #""friends":{"@remove":["\#(task())"]}"#, #""children":["\#(task())","\#(task())"]"#,
    ])
  }

  /// Returns a statement of an external SQLite client.
  mutating func externalStatement() -> String {
    random.pick([
      "UPDATE Task SET priority = \(random.below(4)) WHERE _id % 3 = \(random.below(3))",
      "UPDATE Task SET title = title WHERE _id < 5", "DELETE FROM Memo WHERE _id % 2 = 0",
      "INSERT INTO Task(title, priority, done) VALUES ('\(text())', 2, 1)",
      #"UPDATE "Group" SET title = '\#(text())' WHERE _id = 1"#,
      "DELETE FROM Task WHERE _id = \(1 + random.below(12))",
      #"DELETE FROM "Group" WHERE _id = \#(1 + random.below(4))"#,
      "INSERT OR REPLACE INTO Tag(_id, name) SELECT _id, name || 'q' FROM Tag WHERE _id = 1",
      #"UPDATE Task SET "group" = (SELECT max(_id) FROM "Group") WHERE _id % 4 = 0"#,
      "UPDATE Task SET parent = \(1 + random.below(12)) WHERE _id % 5 = \(random.below(5))",
      "UPDATE Owner SET name = '\(text())'", "DELETE FROM Owner WHERE _id = 1",
      #"UPDATE "Group" SET owner = (SELECT max(_id) FROM Owner)"#,
    ])
  }
}
