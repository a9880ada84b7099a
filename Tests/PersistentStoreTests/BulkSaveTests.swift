import CordialValues
import JSON
import ObjectModel
import PersistentHistory
import PersistentStore
import TestStores
import Testing

private let mark = """
  {"name":"Mark","identity":"code","attributes":[
    {"name":"code","type":"string"},{"name":"size","type":"int32","optional":true}],
   "relationships":[
    {"name":"next","destination":"Mark","optional":true},
    {"name":"near","destination":"Mark","toMany":true,"inverse":"near"},
    {"name":"tags","destination":"Tag","toMany":true,"inverse":"marks"}]},
  {"name":"Tag","relationships":[
    {"name":"marks","destination":"Mark","toMany":true,"inverse":"tags"}]}
  """

/// Nothing is derived here.
private let plain = #"{"name":"Plain","version":"1","entities":[\#(mark)]}"#

private let marks = """
  {"name":"Marks","version":"1","entities":[\(mark),
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

  @Test func `is logged completely, like the saves between and after bulk saves`() async throws {
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
    try verify(store)
  }

  @Test func `is refused as a whole for one invalid insert, which is named`() async throws {
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

  @Test func `seals changes by an external client first, with their derived values`()
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
    #expect(try store.lines("Shelf weight") == ["Shelf/p1 v1 weight=0.5"])
    #expect(
      try log(after: 2) == [
        ["delete Book 1", "insert Book 1", "update Shelf 1"], ["insert Mark 1500"],
      ]
    )
  }

  @Test func `can be undone and redone`() async throws {
    let dry = try await store.outcome(#"{"insert":[\#(inserts())],"dryRun":true}"#)
    #expect(dry.dryRun?.changes.changes.count == 1500)
    try await store.save(#"{"insert":[\#(inserts())]}"#)
    try await store.save(#"{"undo":1}"#)
    #expect(try store.ids(#"{"entity":"Mark"}"#) == [])
    #expect(try log() == [["insert Mark 1500"], ["delete Mark 1500"]])
  }

  /// Whether the store is what its history says.
  private func verify(
    _ store: TestStore,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let verified = try store.snapshot { snapshot in
      var verification = StoreVerification(snapshot)
      return try verification.run()
    }
    #expect(verified["problems"] == [], sourceLocation: sourceLocation)
  }

  @Test(arguments: [
    ("INSERT INTO cordial_pairs_Mark_tags VALUES (1, 1)", ["Mark/sc0 v2", "Tag/p1 v2"]),
    ("INSERT INTO cordial_pairs_Mark_near VALUES (1, 2), (2, 1)", ["Mark/sc0 v2", "Mark/sc1 v2"]),
    (
      "DELETE FROM Mark WHERE _id = 1; INSERT INTO Mark(_id, code) VALUES (1, 'c0')",
      ["Mark/sc0 v2"]
    ),
    ("UPDATE Mark SET size = 5 WHERE _id = 2", ["Mark/sc1 v2"]),
  ])
  func `is followed by external changes, each with its version`(
    sql: String,
    raised: [String]
  ) async throws {
    let store = try TestStore(plain)
    try await store.save(#"{"insert":[{"id":"Tag/t1"}]}"#)
    try await store.save(#"{"insert":[\#(inserts())]}"#)
    try store.foreign(sql)
    try await store.seal()
    #expect(try store.lines("Mark; Tag").filter { !$0.hasSuffix("v1") } == raised)
    try verify(store)
  }

  @Test func `finds by identity what it inserts`() async throws {
    let shelves = (0..<1000).map { #"{"entity":"Mark","values":{"code":"a\#($0)"}}"# }
      .joined(separator: ",")
    let last = #"{"id":"Mark/t1","values":{"code":"z","next":"Mark/sa999"}}"#
    try await store.save(#"{"insert":[\#(shelves),\#(last)]}"#)
    #expect(
      try store.fetch(#"{"entity":"Mark","predicate":"code == 'z'","select":["next"]}"#).first?[
        "values"
      ] == ["next": "Mark/sa999"]
    )
    try verify(store)
  }

  // Evidence: P-063f
  @Test(arguments: [
    (#"{"id":"Book/t2","values":{"code":7,"weight":1,"shelf":"Shelf/p1"}}"#, [1105]),
    (
      #"{"id":"Book/t2","values":{"code":7,"weight":1}},{"id":"Book/t3","values":{"code":8,"weight":1,"none":1}}"#,
      [1003, 1105]
    ),
    (
      #"{"id":"Book/t2","values":{"code":7,"weight":1}},{"id":"Mark/tz","values":{"code":"c5000","next":"Mark/sc9999"}}"#,
      [1101, 1105]
    ),
    (
      #"{"id":"Book/t2","values":{"code":7,"weight":1}},{"id":"Mark/tc","values":{"code":"c9"}}"#,
      [1105, 1105]
    ),
  ])
  func `reports a violation beside whatever else is wrong`(
    rest: String,
    codes: [Int64]
  ) async throws {
    try await store.save(#"{"insert":[{"id":"Shelf/t1"}]}"#)
    let first = #"{"id":"Book/t1","values":{"code":7,"weight":1}}"#
    let refused = try await store.refusal(
      #"{"insert":[\#(inserts(1001)),\#(first),\#(rest)]}"#
    )
    let problems = refused?.data["problems"]?.array ?? []
    #expect(problems.compactMap { $0["code"]?.integer }.sorted() == codes)
    #expect(
      problems.contains { $0["id"] == "Book/t2" && $0["existing"] == "Book/t1" },
      "\(problems)"
    )
    #expect(
      refused?.code == (Set(codes).count == 1 ? "uniquenessViolation" : "validationFailed")
    )
    try verify(store)
  }
}
