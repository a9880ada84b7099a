import JSON
import PersistentHistory
import PersistentStore
import TestSeeds
import TestStores
import Testing

private let model = """
  {"name":"M","entities":[
    {"name":"Group","attributes":[{"name":"title","type":"string","optional":true},
      {"name":"count","type":"int64","derived":"tasks.@count"}],
     "relationships":[{"name":"tasks","destination":"Task","toMany":true,"ordered":true,
       "inverse":"group"}]},
    {"name":"Task","attributes":[
       {"name":"title","type":"string","optional":true},
       {"name":"size","type":"double","optional":true},
       {"name":"raw","type":"binary","optional":true},
       {"name":"due","type":"date","optional":true},
       {"name":"done","type":"boolean","optional":true}],
     "relationships":[
       {"name":"group","destination":"Group","inverse":"tasks","optional":true},
       {"name":"tags","destination":"Tag","toMany":true,"ordered":true,"inverse":"tasks"},
       {"name":"friends","destination":"Task","toMany":true,"inverse":"friends"}]},
    {"name":"Special","parent":"Task","attributes":[
       {"name":"extra","type":"decimal","optional":true}]},
    {"name":"Tag","attributes":[{"name":"name","type":"string"}],"identity":"name",
     "relationships":[{"name":"tasks","destination":"Task","toMany":true,"inverse":"tags"}]}]}
  """

@Suite struct `Changes that are not sealed` {
  private let store: TestStore
  private let shownProperties = """
    Group title count tasks; Task title size raw due done group tags friends; Tag name tasks
    """

  init() async throws {
    store = try TestStore(model)
    try await store.save(
      """
      {"insert":[
        {"id":"Group/t1","values":{"title":"a"}},{"id":"Group/t2","values":{"title":"b"}},
        {"id":"Tag/t3","values":{"name":"x"}},{"id":"Tag/t4","values":{"name":"y"}},
        {"id":"Task/t5","values":{"title":"one","size":1.5,"raw":"AQID","done":true,
          "due":"2026-01-02T03:04:05.006Z","group":"Group/t1","tags":["Tag/t3","Tag/t4"]}},
        {"id":"Task/t6","values":{"title":"two","group":"Group/t1","tags":["Tag/t4"],
          "friends":["Task/t5"]}},
        {"id":"Special/t7","values":{"title":"three","extra":"1.25","group":"Group/t1"}}]}
      """
    )
    store.hidesUnsealed = true
  }

  private static let statements = [
    "UPDATE Task SET title = 'n' || %d, size = %d + 0.5, raw = x'00ff', done = NULL",
    "UPDATE Task SET title = NULL WHERE _id % 2 = %d % 2", #"UPDATE Task SET "group" = NULL"#,
    #"UPDATE Task SET "group" = (SELECT max(_id) FROM "Group")"#,
    "UPDATE Special SET extra = '%d.5', due = %d",
    "DELETE FROM Task WHERE _id % 2 = %d % 2", "DELETE FROM Special", #"DELETE FROM "Group""#,
    "INSERT INTO Task(title) VALUES ('new %d')", "INSERT INTO Tag(name) VALUES ('tag %d')",
    #"INSERT INTO Task(title, "group") SELECT 'more', _id FROM "Group""#,
    "DELETE FROM cordial_pairs_Task_tags WHERE source % 2 = %d % 2",
    "INSERT OR IGNORE INTO cordial_pairs_Task_tags(source, target) "
      + "SELECT t._id, g._id FROM Task t, Tag g",
    "INSERT OR REPLACE INTO Tag(_id, name) SELECT _id, name || '%d' FROM Tag",
    "INSERT OR IGNORE INTO Tag(name) VALUES ('x')", "UPDATE Tag SET name = name || '%d'",
    #"UPDATE Task SET "_at_group" = - "_at_group""#,
    "UPDATE cordial_pairs_Task_tags SET place = 70000 - place",
    "DELETE FROM cordial_pairs_Task_friends",
    #"UPDATE Task SET _id = _id + 1000 WHERE _id = (SELECT max(_id) FROM Task)"#,
    "DELETE FROM Tag WHERE name = 'y'",
  ]

  @Test(arguments: 0..<40)
  func `hiding unsealed changes shows the newest sealed commit`(seed: UInt64) async throws {
    var random = SplitMix64(seed: seed)
    for _ in 0..<3 {
      let before = (try store.lines(shownProperties), try store.snapshot { $0.token })
      let ids = try store.ids(#"{"entity":"Task","predicate":"group.title == 'a'"}"#)
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        let sql = Self.statements.randomElement(using: &random) ?? ""
        let number = String(Int.random(in: 0..<1000, using: &random))
        try store.foreign(sql.replacing("%d", with: number))
        let lines = try store.lines(shownProperties)
        let differences = lines.filter { !before.0.contains($0) }
        let lost = before.0.filter { !lines.contains($0) }
        #expect(lines == before.0, "\(Seeds.repeating(seed)): \(sql): \(differences) not \(lost)")
        #expect(try store.snapshot { $0.token } == before.1)
        let now = try store.ids(#"{"entity":"Task","predicate":"group.title == 'a'"}"#)
        #expect(now == ids, "\(Seeds.repeating(seed)): \(sql)")
      }
      try await store.seal()
      store.hidesUnsealed = false
      let sealed = try store.lines(shownProperties)
      store.hidesUnsealed = true
      #expect(try store.lines(shownProperties) == sealed)
      store.past = before.1
      let past = try store.lines(shownProperties)
      let differences = past.filter { !before.0.contains($0) }
      let lost = before.0.filter { !past.contains($0) }
      #expect(past == before.0, "\(Seeds.repeating(seed)): \(differences) not \(lost)")
      store.past = nil
    }
  }

  @Test func `a reader that does not hide unsealed changes requests sealing`() throws {
    store.hidesUnsealed = false
    _ = try store.lines(shownProperties)
    try store.foreign("DELETE FROM Special")
    #expect(throws: UnsealedChanges.self) { try store.lines(shownProperties) }
  }

  @Test func `a snapshot reports that it hides unsealed changes`() async throws {
    #expect(try !store.snapshot { $0.hidesUnsealedChanges })
    try store.foreign("DELETE FROM Special")
    #expect(try store.snapshot { $0.hidesUnsealedChanges })
    try await store.seal()
    #expect(try !store.snapshot { $0.hidesUnsealedChanges })
  }

  /// The rows of the changes are in memory, so that their number has a limit.
  @Test func `more changes than a reader hides are an error`() throws {
    try store.foreign(
      """
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200001)
      INSERT INTO Task(title) SELECT 'n' || i FROM n
      """
    )
    let error = #expect(throws: StoreError.self) { try store.snapshot { $0.head.number } }
    #expect(error?.code == .storeBusy)
  }
}
