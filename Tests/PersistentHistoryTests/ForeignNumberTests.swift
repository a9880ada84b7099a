import JSON
import PersistentHistory
import PersistentStore
import TestStores
import Testing

@Suite struct `Object numbers chosen by an external client` {
  private let store: TestStore

  init() throws {
    store = try TestStore(TestModels.todo)
  }

  // Evidence: P-042b
  @Test(arguments: [0, -5, 9_007_199_254_740_992, .max] as [Int64])
  func `numbers outside 1 to 2^53 - 1 are refused by the table`(number: Int64) throws {
    #expect(throws: ForeignConnection.Failure.self) {
      try store.foreign("INSERT INTO Task(_id, title) VALUES (\(number), 'x')")
    }
    try store.foreign("INSERT INTO Task(_id, title) VALUES (7, 'x')")
    #expect(throws: ForeignConnection.Failure.self) {
      try store.foreign("UPDATE Task SET _id = \(number)")
    }
    #expect(try store.rows("SELECT _id FROM Task") == ["7"])
  }

  @Test func `nothing is inserted after the largest number`() async throws {
    try store.foreign("INSERT INTO Task(_id) VALUES (9007199254740991)")
    for _ in 0..<2 {
      #expect(try await store.refusal(#"{"insert":[{"id":"Task/t1"}]}"#)?.code == "storeFull")
    }
    // Everything else goes on.
    try await store.save(
      """
      {"insert":[{"id":"Group/t1"}],
       "update":[{"id":"Task/p9007199254740991","values":{"title":"last","group":"Group/t1"}}]}
      """
    )
    #expect(
      try store.lines("Task title group")
        == ["Task/p9007199254740991 v2 title=last group=Group/p1"]
    )
  }

  // Evidence: P-070c
  @Test func `a number of an existing row changes that row`() async throws {
    try await store.save(
      """
      {"insert":[{"id":"Task/t1","values":{"title":"Milk","priority":1}},
        {"id":"Task/t2","values":{"title":"Bread"}}]}
      """
    )
    try store.foreign("UPDATE OR REPLACE Task SET _id = 1 WHERE _id = 2")
    try await store.seal()
    let lines = try log(store, after: 1).flatMap { $0.dropFirst() }.sorted()
    #expect(lines.count == 2)
    #expect(
      lines.first
        == #"delete Task/p2 before done=0 due=null group=null memo=null priority=null title="Bread""#
    )
    #expect(lines.last?.hasPrefix("update Task/p1 ") == true, "\(lines)")
    for word in [#"title="Milk""#, "priority=1"] {
      #expect(lines.last?.contains(" \(word)") == true, "\(lines)")
    }
    let objects = try store.fetch(#"{"entity":"Task"}"#)
    #expect(objects.map { $0["id"] } == ["Task/p1"])
    #expect(objects.first?["values"]?["title"] == "Bread")
    #expect((objects.first?["version"]?.integer ?? 0) > 1)
  }
}

@Suite struct `An object that one commit inserts and deletes` {
  private let store: TestStore

  init() async throws {
    store = try TestStore(TestModels.todo)
    try await store.save(#"{"insert":[{"id":"Task/t1"},{"id":"Label/t1"}]}"#)
  }

  /// What one commit of a foreign client leaves in the log.
  private func entries(_ sql: String) async throws -> [String] {
    let before = try store.snapshot { $0.head.number }
    try store.foreign("BEGIN; \(sql); COMMIT")
    try await store.seal()
    return try log(store, after: before).flatMap { $0.dropFirst() }
  }

  // Evidence: P-071b
  @Test func `leaves nothing in the log`() async throws {
    let came = "INSERT INTO Task(_id, title) VALUES (9, 'x')"
    let went = "DELETE FROM Task WHERE _id = 9"
    #expect(try await entries("\(came); \(went)") == [])
    #expect(try await entries("\(came); UPDATE Task SET title = 'y' WHERE _id = 9; \(went)") == [])
    #expect(try await entries("\(came); \(went); \(came); \(went)") == [])
    let pairs = """
      INSERT INTO cordial_pairs_Task_labels VALUES (9, 1); DELETE FROM cordial_pairs_Task_labels
      """
    #expect(try await !entries("\(came); \(pairs); \(went)").contains { $0.contains("Task/p9") })
    #expect(try await entries("\(came); \(went); \(came)") == ["insert Task/p9"])
  }
}
