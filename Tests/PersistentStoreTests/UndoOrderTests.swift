import CordialValues
import JSON
import PersistentHistory
import PersistentStore
import TestSeeds
import TestStores
import Testing

private let lists = """
  {"name":"Lists","entities":[
    {"name":"List","attributes":[{"name":"name","type":"string"}],"relationships":[
      {"name":"tasks","destination":"Task","toMany":true,"ordered":true,"inverse":"list",
       "deleteRule":"cascade"}]},
    {"name":"Task","identity":"name","attributes":[{"name":"name","type":"string"}],
     "relationships":[
      {"name":"list","destination":"List","optional":true,"inverse":"tasks"},
      {"name":"labels","destination":"Label","toMany":true,"ordered":true,"inverse":"tasks"}]},
    {"name":"Label","identity":"name","attributes":[{"name":"name","type":"string"}],
     "relationships":[
      {"name":"tasks","destination":"Task","toMany":true,"ordered":true,"inverse":"labels"}]}]}
  """

// Evidence: P-127b
@Suite struct `Undo restores the positions of members` {
  private let store: TestStore

  init() async throws {
    store = try TestStore(lists)
    let tasks = ["a", "b", "c", "d"].map { #"{"id":"Task/s\#($0)"}"# }
    let labels = ["x", "y", "z"].map { #"{"id":"Label/s\#($0)"}"# }
    try await store.save(
      """
      {"insert":[\((tasks + labels).joined(separator: ",")),
        {"id":"List/t1","values":{"name":"one","tasks":["Task/sa","Task/sb","Task/sc","Task/sd"]}},
        {"id":"List/t2","values":{"name":"two"}}],
       "author":"setup"}
      """
    )
    try await store.save(
      """
      {"update":[{"id":"Task/sb","values":{"labels":["Label/sz","Label/sx","Label/sy"]}}],
       "author":"setup"}
      """
    )
  }

  /// Every object with what it has, and the order of each list.
  private func lines() throws -> [String] {
    try store.lines("List name tasks; Task list labels; Label tasks").map { line in
      // Versions go up with every undo.
      line.split(separator: " ").filter { $0.wholeMatch(of: /v[0-9]+/) == nil }
        .joined(separator: " ")
    }
  }

  // P-071c: the history reports no change of a deleted owner.
  @Test func `replacing a member of a deleted list does not change the owner`() async throws {
    try store.foreign("DELETE FROM List WHERE _id = 1")
    try await store.seal()
    let head = try store.snapshot { $0.head.number }
    try store.foreign("REPLACE INTO Task SELECT * FROM Task WHERE name = 'b'")
    try await store.seal()
    let changes = try store.snapshot { snapshot in
      try snapshot.log.transactions(after: head, through: head + 1, limit: 1).flatMap(\.changes)
    }
    #expect(!changes.contains { $0.key.entity == 1 })
  }

  // P-125: the order of the other members is no reference to the inserted one.
  @Test func `undo deletes an insert even if others moved in its list`() async throws {
    try await store.save(
      #"{"insert":[{"id":"Task/se","values":{"list":"List/p1"}}],"author":"ann"}"#
    )
    try await store.save(
      """
      {"update":[{"id":"List/p1","values":{"tasks":{"@add":["Task/sd"],"@at":0}}}],
       "author":"bob"}
      """
    )
    try await store.save(#"{"undo":1,"author":"ann"}"#)
    #expect(
      try store.lines("List tasks").first?.hasSuffix("tasks=[Task/sd,Task/sa,Task/sb,Task/sc]")
        == true
    )
  }

  @Test(arguments: [
    #"{"update":[{"id":"List/p1","values":{"tasks":["Task/sd","Task/sb","Task/sa","Task/sc"]}}]}"#,
    #"{"update":[{"id":"List/p1","values":{"tasks":{"@add":["Task/sd"],"@at":1}}}]}"#,
    #"{"update":[{"id":"List/p1","values":{"tasks":["Task/sc","Task/sa"]}}]}"#,
    #"{"update":[{"id":"Task/sb","values":{"list":"List/p2"}}]}"#,
    #"{"update":[{"id":"Task/sb","values":{"labels":["Label/sy","Label/sz"]}}]}"#,
    #"{"update":[{"id":"Label/sx","values":{"tasks":[]}}]}"#,
    #"{"delete":["Task/sb"]}"#, #"{"delete":["Task/sa","Task/sc"]}"#, #"{"delete":["List/p1"]}"#,
    #"{"delete":["Label/sx","Task/sb"]}"#,
    #"{"update":[{"id":"List/p2","values":{"tasks":["Task/sb"]}}],"delete":["Task/sb"]}"#,
    #"{"update":[{"id":"List/p2","values":{"tasks":{"@add":["Task/sc","Task/sa"]}}}],"#
      + #""delete":["Task/sa"]}"#,
  ])
  func `undo restores members that were moved, removed or deleted`(save: String) async throws {
    let before = try lines()
    try await store.save(save.dropLast() + #","author":"ann"}"#)
    let after = try lines()
    #expect(after != before)
    for _ in 1...2 {
      try await store.save(#"{"undo":1,"author":"ann"}"#)
      let undone = try lines()
      #expect(undone == before)
      try await store.save(#"{"redo":1,"author":"ann"}"#)
      let redone = try lines()
      #expect(redone == after)
    }
  }

  @Test(arguments: [
    "INSERT OR REPLACE INTO Task(_id, name) VALUES (2, 'b')",
    "INSERT OR REPLACE INTO Task(_id, name, list) VALUES (2, 'e', 1)",
    "UPDATE OR REPLACE Task SET name = 'b' WHERE _id = 3",
    "INSERT OR IGNORE INTO Task(_id, name, list) VALUES (2, 'b', 2)",
    """
    INSERT INTO Task(_id, name, list) VALUES (2, 'b', 2)
      ON CONFLICT(_id) DO UPDATE SET list = 2
    """,
  ])
  func `undo restores members that an external statement displaced`(sql: String) async throws {
    let before = try lines()
    try store.foreign(sql)
    try await store.seal()
    let after = try lines()
    try await store.save(#"{"undo":1,"author":"external"}"#)
    #expect(try lines() == before)
    try await store.save(#"{"redo":1,"author":"external"}"#)
    #expect(try lines() == after)
  }

  @Test func `undo restores a position among members that others moved later`() async throws {
    try await store.save(#"{"delete":["Task/sb"],"author":"ann"}"#)
    try await store.save(
      """
      {"update":[{"id":"List/p1","values":{"tasks":["Task/sd","Task/sc","Task/sa"]}}],
       "author":"bob"}
      """
    )
    try await store.save(#"{"undo":1,"author":"ann"}"#)
    let line = try lines().first { $0.hasPrefix("List/p1") } ?? ""
    #expect(line.contains("Task/sb"), "\(line)")
    let names = line.matches(of: /Task\/s([a-d])/).map { String($0.1) }
    #expect(names.sorted() == ["a", "b", "c", "d"], "\(line)")
    #expect(names.filter { $0 != "b" } == ["d", "c", "a"], "\(line)")
  }

  @Test func `undo leaves members that others restored, and their owner`() async throws {
    try await store.save(
      #"{"update":[{"id":"Task/sb","values":{"list":"List/p2"}}],"author":"ann"}"#
    )
    try await store.save(
      """
      {"update":[{"id":"List/p1","values":{"tasks":["Task/sb","Task/sa","Task/sc","Task/sd"]}}],
       "author":"bob"}
      """
    )
    let before = try store.lines("List tasks")
    try await store.save(#"{"undo":1,"author":"ann","mergePolicy":"storeTrump"}"#)
    #expect(try store.lines("List tasks") == before)
  }

  @Test func `an owner whose members leave and return gets a new version`() async throws {
    try await store.save(#"{"delete":["Task/sb"],"author":"ann"}"#)
    let answer = try await store.save(#"{"undo":1,"author":"ann"}"#)
    #expect(answer["objects"]?.array?.contains { $0["id"] == "List/p1" } == false)
    #expect(
      try store.lines("List tasks").first == "List/p1 v1 tasks=[Task/sa,Task/sb,Task/sc,Task/sd]"
    )
    let move = #"{"tasks":{"@add":["Task/sd"],"@at":0}}"#
    try await store.save(#"{"update":[{"id":"List/p1","values":\#(move)}],"author":"ann"}"#)
    let moved = try await store.save(#"{"undo":1,"author":"ann"}"#)
    #expect(moved["objects"]?.array?.map { $0["id"] } == ["List/p1"])
    #expect(moved["objects"]?.array?.map { $0["version"] } == [3])
  }

  @Test func `the history lists moved members, and removed members once`() async throws {
    try await store.save(
      #"{"update":[{"id":"Task/sb","values":{"list":"List/p2"}}],"author":"ann"}"#
    )
    try await store.save(
      """
      {"update":[{"id":"List/p1","values":{"tasks":["Task/sd","Task/sa","Task/sc"]}}],
       "author":"ann"}
      """
    )
    let commits = try store.snapshot { snapshot in
      let head = snapshot.head.number
      return try snapshot.log.transactions(after: head - 2, through: head, limit: 2)
    }
    let changes = commits.map { commit in
      commit.changes.map { "\($0.key.entity)/\($0.key.object) \($0.properties.sorted())" }
    }
    #expect(changes == [[#"2/2 ["list"]"#], [#"1/1 ["tasks"]"#]])
  }

  @Test(arguments: Seeds.first(8))
  func `random orders, back and forth`(seed: UInt64) async throws {
    var random = SplitMix64(seed: seed)
    let comment: Comment = "\(Seeds.repeating(seed))"
    var states = [try lines()]
    var present = ["a", "b", "c", "d"]
    for step in 0..<12 {
      present.shuffle(using: &random)
      let some = present.prefix(random.below(present.count + 1)).map { #""Task/s\#($0)""# }
      let labels = ["x", "y", "z"].shuffled(using: &random).prefix(random.below(4))
        .map { #""Label/s\#($0)""# }
      let change: String
      switch random.below(5) {
      case 0:
        let list = random.below(2) + 1
        change =
          #"{"id":"List/p\#(list)","values":{"tasks":[\#(some.joined(separator: ","))]}}"#
      case 1, 2:
        let values = #"{"labels":[\#(labels.joined(separator: ","))]}"#
        change = #"{"id":"Task/s\#(random.pick(present))","values":\#(values)}"#
      case 3:
        let label = random.pick(["x", "y", "z"])
        change = #"{"id":"Label/s\#(label)","values":{"tasks":[\#(some.joined(separator: ","))]}}"#
      default:
        let list = random.pick(["null", #""List/p1""#, #""List/p2""#])
        change = #"{"id":"Task/s\#(random.pick(present))","values":{"list":\#(list)}}"#
      }
      var insert = ""
      if random.oneIn(4) {
        insert = #","insert":[{"id":"Task/sn\#(step)","values":{"list":"List/p2"}}]"#
        present.append("n\(step)")
      }
      var delete = ""
      let mayGo = present.filter { !change.hasPrefix(#"{"id":"Task/s\#($0)""#) }
      if random.oneIn(5), let gone = mayGo.randomElement(using: &random) {
        delete = #","delete":["Task/s\#(gone)"]"#
        present.removeAll { $0 == gone }
      }
      let count = try store.snapshot { $0.head.number }
      try await store.save(#"{"update":[\#(change)]\#(insert)\#(delete),"author":"ann"}"#)
      // What changes nothing is no commit, and no group to undo.
      if try store.snapshot({ $0.head.number }) > count { states.append(try lines()) }
    }
    for state in states.dropLast().reversed() {
      try await store.save(#"{"undo":1,"author":"ann"}"#)
      #expect(try lines() == state, comment)
    }
    for state in states.dropFirst() {
      try await store.save(#"{"redo":1,"author":"ann"}"#)
      #expect(try lines() == state, comment)
    }
  }
}
