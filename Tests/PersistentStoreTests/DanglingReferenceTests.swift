import CordialValues
import JSON
import PersistentStore
import TestStores
import Testing

private let model = """
  {"name":"M","entities":[
    {"name":"Group","attributes":[{"name":"title","type":"string","optional":true}],
     "relationships":[
       {"name":"tasks","destination":"Task","toMany":true,"inverse":"group"}]},
    {"name":"Special","parent":"Group"},
    {"name":"Task","attributes":[{"name":"title","type":"string","optional":true}],
     "relationships":[
       {"name":"group","destination":"Group","inverse":"tasks","optional":true}]}]}
  """

@Suite struct `The mark of dangling references` {
  private let store: TestStore
  private let mark = "SELECT count(*) FROM cordial_meta WHERE name = 'mayDangle'"

  init() async throws {
    store = try TestStore(model)
    try await store.save(
      """
      {"insert":[{"id":"Group/t1","values":{}},{"id":"Special/t2","values":{}},
        {"id":"Task/t3","values":{"group":"Group/t1"}},
        {"id":"Task/t4","values":{"group":"Special/t2"}}]}
      """
    )
  }

  private var isMarked: Bool {
    get throws { try store.rows(mark) == ["1"] }
  }

  private func compact() async throws {
    _ = try await withCheckedThrowingContinuation { continuation in
      store.store.compact { continuation.resume(with: $0) }
    }
  }

  private func number(_ table: String) throws -> String {
    try store.rows("SELECT max(_id) FROM \"\(table)\"")[0]
  }

  @Test func `valid references of an external client leave it unset`() async throws {
    let (group, special) = (try number("Group"), try number("Special"))
    try store.foreign(
      """
      INSERT INTO Task(title, "group") VALUES ('a', \(group)), ('b', \(special)), ('c', NULL);
      UPDATE Task SET "group" = \(special) WHERE title = 'a';
      DELETE FROM Task WHERE title = 'b'
      """
    )
    try await store.seal()
    #expect(try !isMarked)
  }

  @Test(arguments: [
    #"INSERT INTO Task("group") VALUES (999999)"#, #"UPDATE Task SET "group" = 999999"#,
    #"DELETE FROM "Group""#, "DELETE FROM Special",
    #"INSERT INTO "Group"(_id) VALUES (777); UPDATE Task SET "group" = 777; DELETE FROM "Group""#,
  ])
  func `a dangling reference of an external client sets it`(sql: String) async throws {
    try store.foreign(sql)
    try await store.seal()
    #expect(try isMarked)
    // A dangling to-one reads as null.
    let groups = try store.fetch(#"{"entity":"Task"}"#).map { $0["values"]?["group"] }
    #expect(groups.contains(.some(.null)))
  }

  @Test func `compacting removes it when the references are repaired`() async throws {
    try store.foreign("DELETE FROM Special")
    try await store.seal()
    try await compact()
    #expect(try isMarked)
    try store.foreign(#"UPDATE Task SET "group" = NULL WHERE "group" > 1000"#)
    try await store.seal()
    #expect(try isMarked)
    try await compact()
    #expect(try !isMarked)
    #expect(try store.fetch(#"{"entity":"Task","predicate":"group == NIL"}"#).count == 1)
    #expect(try store.fetch(#"{"entity":"Task","predicate":"group != NIL"}"#).count == 1)
  }

  // Evidence: P-057c
  @Test func `a past commit whose references dangled is read as such`() async throws {
    func token() throws -> StoreToken { try store.snapshot { $0.token } }
    func past(_ token: StoreToken) throws -> (groups: [JSONValue?], mayDangle: Bool) {
      store.past = token
      defer { store.past = nil }
      let groups = try store.fetch(#"{"entity":"Task"}"#).map { $0["values"]?["group"] }
      return (groups, try store.snapshot(\.mayDangle))
    }
    let sound = try token()
    try store.foreign("DELETE FROM Special")
    try await store.seal()
    let dangling = try token()
    try store.foreign(#"UPDATE Task SET "group" = NULL WHERE "group" > 1000"#)
    try await store.seal()
    try await compact()
    let repaired = try token()
    try await store.save(#"{"insert":[{"id":"Task/t1","values":{}}]}"#)
    #expect(try past(dangling).groups == ["Group/p1", .null])
    #expect(try past(sound).groups.count == 2)
    #expect(try past(sound).groups.contains(.null) == false)
    // Only before the repair does a query look references up.
    #expect(try past(dangling).mayDangle)
    #expect(try !past(repaired).mayDangle)
  }
}
