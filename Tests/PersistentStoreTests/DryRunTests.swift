import CordialValues
import JSON
import PersistentStore
import TestStores
import Testing

private let house = """
  {"name":"House","entities":[
    {"name":"Room","attributes":[{"name":"name","type":"string"}],"unique":[["name"]],
     "relationships":[
      {"name":"chairs","destination":"Chair","toMany":true,"inverse":"room",
       "deleteRule":"cascade"}]},
    {"name":"Chair","attributes":[{"name":"legs","type":"int16","default":4}],
     "relationships":[
      {"name":"room","destination":"Room","optional":true,"inverse":"chairs"}]}]}
  """

@Suite struct `A dry run reports changes and writes nothing` {
  private let store: TestStore

  init() async throws {
    store = try TestStore(house)
    try await store.save(
      """
      {"insert":[{"id":"Room/t1","values":{"name":"hall"}},
        {"id":"Chair/t1","values":{"room":"Room/t1"}},
        {"id":"Chair/t2","values":{"room":"Room/t1"}}]}
      """
    )
  }

  private func lines() throws -> [String] { try store.lines("Room name; Chair legs room") }

  // Evidence: P-121a
  @Test func `of a save`() async throws {
    let before = try lines()
    let outcome = try await store.outcome(
      """
      {"insert":[{"id":"Chair/t9","values":{"room":"Room/p1"}}],
       "update":[{"id":"Chair/p1","values":{"legs":3}}],"delete":["Chair/p2"],"dryRun":true}
      """
    )
    let dryRun = try #require(outcome.dryRun)
    #expect(dryRun.error == nil)
    #expect(dryRun.deletes == ["Chair/p2"])
    #expect(dryRun.updates == ["Chair/p1"])
    #expect(dryRun.changes.changes.count == 3)
    #expect(outcome.token.number == 1)
    let answer = outcome.body
    #expect(answer["ids"] == ["Chair/t9": nil])
    #expect(answer["objects"]?.array?.map { $0["id"]?.string } == [nil, "Chair/p1"])
    #expect(answer["objects"]?.array?.first?["values"]?["legs"] == 4)
    #expect(try lines() == before)
    // The number that it looked at is given to the next.
    let saved = try await store.save(#"{"insert":[{"id":"Chair/t9"}]}"#)
    #expect(saved["ids"] == ["Chair/t9": "Chair/p3"])
  }

  @Test func `of a delete lists the cascaded objects`() async throws {
    let before = try lines()
    let outcome = try await store.outcome(
      """
      {"deleteMatching":{"entity":"Room","predicate":"TRUEPREDICATE"},"dryRun":true}
      """
    )
    #expect(outcome.dryRun?.deletes.sorted() == ["Chair/p1", "Chair/p2", "Room/p1"])
    #expect(outcome.count == 1)
    #expect(try lines() == before)
  }

  @Test func `of an update`() async throws {
    let outcome = try await store.outcome(
      """
      {"updateMatching":{"entity":"Chair","predicate":"legs = 4",
       "set":{"legs":{"@expression":"legs - 1"}}},"dryRun":true}
      """
    )
    #expect(outcome.dryRun?.updates == ["Chair/p1", "Chair/p2"])
    #expect(try store.lines("Chair legs") == ["Chair/p1 v1 legs=4", "Chair/p2 v1 legs=4"])
  }

  @Test(arguments: [
    (
      #"{"insert":[{"entity":"Room","values":{"name":"hall"}}],"dryRun":true}"#,
      "uniquenessViolation"
    ),
    (#"{"delete":["Room/p9"],"dryRun":true}"#, "objectNotFound"),
    (#"{"insert":[{"entity":"Room"}],"dryRun":true}"#, "validationFailed"),
  ])
  func `an error of the request is part of the result`(text: String, code: String) async throws {
    let outcome = try await store.outcome(text)
    #expect(outcome.dryRun?.error?.code.rawValue == code)
    #expect(outcome.dryRun?.deletes == [])
  }

  @Test func `beside other saves of its group`() async throws {
    let persistent = store.store
    try await withThrowingTaskGroup(of: Bool.self) { group in
      for number in 0..<40 {
        let isDry = !number.isMultiple(of: 2)
        let text =
          isDry
          ? #"{"deleteMatching":{"entity":"Room","predicate":"TRUEPREDICATE"},"dryRun":true}"#
          : #"{"insert":[{"entity":"Room","values":{"name":"room \#(number)"}}]}"#
        let request = SaveRequest(try JSONParser.parse(text))
        group.addTask {
          let outcome = try await withCheckedThrowingContinuation { continuation in
            persistent.save(request) { continuation.resume(with: $0) }
          }
          return (outcome.dryRun != nil) == isDry && outcome.dryRun?.error == nil
        }
      }
      for try await isRight in group { #expect(isRight) }
    }
    #expect(try store.ids(#"{"entity":"Room"}"#).count == 21)
    #expect(try store.rows("SELECT max(number) FROM cordial_transaction") == ["21"])
  }
}
