import CordialValues
import JSON
import ObjectModel
import PersistentHistory
import PersistentStore
import TestStores
import Testing

private let marks = """
  {"name":"Marks","version":"1","entities":[
    {"name":"Mark","identity":"code","attributes":[
      {"name":"code","type":"string"},{"name":"size","type":"int32","optional":true}]},
    {"name":"Shelf","attributes":[
      {"name":"weight","type":"double","optional":true,"derived":"books.@sum.weight"}],
     "relationships":[
      {"name":"books","destination":"Book","toMany":true,"inverse":"shelf"}]},
    {"name":"Book","unique":[["code"]],"attributes":[
      {"name":"code","type":"int32"},{"name":"weight","type":"double"}],
     "relationships":[
      {"name":"shelf","destination":"Shelf","optional":true,"inverse":"books"}]}]}
  """

/// Saves of so many inserts that they are logged together, and what stands beside them.
@Suite struct `A save of thousands of inserts` {
  private let store: TestStore

  init() async throws {
    store = try TestStore(marks)
  }

  /// As many inserts as a JSON array, without its brackets; their codes follow each other.
  private func inserts(_ count: Int = 1500, from first: Int = 0) -> String {
    (first..<first + count).map {
      #"{"id":"Mark/t\#($0)","values":{"code":"c\#($0)","size":\#($0)}}"#
    }.joined(separator: ",")
  }

  /// What each commit after a number did, as `insert 1500`.
  private func log(after number: Int64 = 0) throws -> [[String]] {
    try store.snapshot { snapshot in
      try snapshot.log.transactions(after: number, through: snapshot.head.number, limit: 1000).map {
        Dictionary(grouping: $0.changes) {
          "\($0.kind.rawValue) \(snapshot.model.entity($0.key.entity).name)"
        }.map { "\($0) \($1.count)" }.sorted()
      }
    }
  }

  @Test func `is logged whole, as all that is saved between and after such`() async throws {
    try await store.save(#"{"insert":[\#(inserts())]}"#)
    try await store.save(#"{"insert":[\#(inserts(from: 1500))]}"#)
    try await store.save(#"{"update":[{"id":"Mark/sc7","values":{"size":-7}}]}"#)
    try await store.save(#"{"insert":[\#(inserts(from: 3000))],"delete":["Mark/sc8"]}"#)
    try await store.save(
      """
      {"updateMatching":{"entity":"Mark","predicate":"size < 4","set":{"size":9}}}
      """
    )
    #expect(
      try log() == [
        ["insert Mark 1500"], ["insert Mark 1500"], ["update Mark 1"],
        ["delete Mark 1", "insert Mark 1500"], ["update Mark 5"],
      ]
    )
    #expect(
      try store.fetch(#"{"entity":"Mark","predicate":"size == 9"}"#).map { $0["id"] }
        == ["Mark/sc0", "Mark/sc1", "Mark/sc2", "Mark/sc3", "Mark/sc7", "Mark/sc9"]
    )
    let verified = try store.snapshot { snapshot in
      var verification = StoreVerification(snapshot)
      return try verification.run()
    }
    #expect(verified["problems"] == [])
  }

  @Test func `is refused whole for one of them, which is named`() async throws {
    let same = #"{"id":"Mark/t9999","values":{"code":"c700"}}"#
    let refused = try await store.refusal(
      #"{"insert":[\#(inserts(1003)),\#(same),\#(inserts(500, from: 2000))]}"#
    )
    #expect(refused?.code == "uniquenessViolation")
    #expect(refused?.data["id"] == "Mark/t9999")
    #expect(refused?.data["existing"] == "Mark/t700")
    #expect(try store.ids(#"{"entity":"Mark"}"#) == [])
    try await store.save(#"{"insert":[\#(inserts(1003))]}"#)
    let again = try await store.refusal(#"{"insert":[\#(inserts(1003, from: 600))]}"#)
    #expect(again?.data["existing"] == "Mark/sc600")
    try await store.save(#"{"update":[{"id":"Mark/sc7","values":{"size":-7}}]}"#)
    #expect(try log() == [["insert Mark 1003"], ["update Mark 1"]])
  }

  @Test func `seals before itself what a foreign client wrote, with what follows from it`()
    async throws
  {
    try await store.save(
      """
      {"insert":[{"id":"Shelf/t1"},
        {"id":"Book/t1","values":{"code":1,"weight":2.5,"shelf":"Shelf/t1"}}]}
      """
    )
    try await store.save(#"{"insert":[\#(inserts())]}"#)
    try store.foreign("INSERT OR REPLACE INTO Book(code, weight, shelf) VALUES (1, 0.5, 1)")
    try await store.save(#"{"insert":[\#(inserts(from: 1500))]}"#)
    #expect(try store.world("Shelf weight") == ["Shelf/p1 v1 weight=0.5"])
    #expect(
      try log(after: 2) == [
        ["delete Book 1", "insert Book 1", "update Shelf 1"], ["insert Mark 1500"],
      ]
    )
  }

  @Test func `can be taken back, and undone`() async throws {
    let dry = try await store.outcome(#"{"insert":[\#(inserts())],"dryRun":true}"#)
    #expect(dry.dryRun?.changes.changes.count == 1500)
    try await store.save(#"{"insert":[\#(inserts())]}"#)
    try await store.save(#"{"undo":1}"#)
    #expect(try store.ids(#"{"entity":"Mark"}"#) == [])
    #expect(try log() == [["insert Mark 1500"], ["delete Mark 1500"]])
  }
}
