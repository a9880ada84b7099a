import JSON
import PersistentStore
import TestStores
import Testing

private let model = """
  {"name":"Shop","entities":[
    {"name":"Item","attributes":[{"name":"name","type":"string","optional":true}],
     "unique":[["name"]],"relationships":[
      {"name":"tags","destination":"Tag","toMany":true,"inverse":"items"},
      {"name":"marks","destination":"Tag","toMany":true,"ordered":true},
      {"name":"best","destination":"Tag","optional":true}]},
    {"name":"Tag","identity":"name","attributes":[{"name":"name","type":"string"}],
     "relationships":[
      {"name":"items","destination":"Item","toMany":true,"inverse":"tags"}]}]}
  """

/// Lists of which a client knew an older version.
@Suite struct `Merged lists` {
  private let store: TestStore

  init() async throws {
    store = try TestStore(model)
    let tags = ["a", "b", "c", "d", "e"].map { #"{"id":"Tag/s\#($0)"}"# }
    try await store.save(
      """
      {"insert":[\(tags.joined(separator: ",")),{"id":"Item/t1","values":{
        "tags":["Tag/sa","Tag/sb"],"marks":["Tag/sd","Tag/sb","Tag/se"],"best":"Tag/sb"}}]}
      """
    )
  }

  /// Somebody else changes the item, then a client saves what it makes of version 1.
  private func merged(_ others: String, _ policy: String, _ values: String) async throws -> String {
    try await store.save(#"{"update":[{"id":"Item/p1","values":\#(others)}]}"#)
    try await store.save(
      """
      {"update":[{"id":"Item/p1","version":1,"values":\(values)}],"mergePolicy":"\(policy)"}
      """
    )
    return try store.lines("Item name tags marks best").first ?? ""
  }

  // Evidence: P-069b
  @Test(arguments: ["storeTrump", "objectTrump"])
  func `an object is the same in whatever form its ID is`(policy: String) async throws {
    let line = try await merged(
      #"{"tags":{"@add":["Tag/sc"]}}"#,
      policy,
      #"{"tags":["Tag/p1","Tag/sd"]}"#
    )
    #expect(line.contains("tags=[Tag/sa,Tag/sc,Tag/sd]"), "\(line)")
  }

  // Evidence: P-069b, P-069c
  @Test(arguments: [
    // What it did not send goes back, in its order.
    ("overwrite", #"{"name":"x"}"#, "marks=[Tag/sd,Tag/sb,Tag/se]"),
    ("overwrite", #"{"marks":{"@add":["Tag/sc"]}}"#, "marks=[Tag/sd,Tag/sb,Tag/se,Tag/sc]"),
    // The order of a client's list holds, with what others put in behind it.
    (
      "objectTrump", #"{"marks":["Tag/se","Tag/sd","Tag/sb"]}"#,
      "marks=[Tag/se,Tag/sd,Tag/sb,Tag/sa]"
    ),
    ("storeTrump", #"{"marks":["Tag/se","Tag/sd"]}"#, "marks=[Tag/sa,Tag/se,Tag/sd]"),
    ("rollback", #"{"marks":["Tag/se"]}"#, "marks=[Tag/sa,Tag/sb,Tag/se,Tag/sd]"),
  ])
  func `an order is the client's or the store's`(
    policy: String,
    values: String,
    expected: String
  ) async throws {
    let line = try await merged(
      #"{"marks":["Tag/sa","Tag/sb","Tag/se","Tag/sd"]}"#,
      policy,
      values
    )
    #expect(line.contains(expected), "\(line)")
  }

  // Evidence: P-069b
  @Test func `a changed order alone is the stored one when the store wins`() async throws {
    try await store.save(#"{"update":[{"id":"Item/p1","values":{"marks":{"@add":["Tag/sa"]}}}]}"#)
    let answer = try await store.save(
      """
      {"update":[{"id":"Item/p1","version":1,"values":{"marks":["Tag/se","Tag/sb","Tag/sd"]}}],
       "mergePolicy":"storeTrump"}
      """
    )
    #expect(answer["merged"] == [["id": "Item/p1", "properties": ["marks": "store"]]])
    #expect(
      answer["objects"]?.array?.first?["values"]
        == ["marks": ["Tag/sd", "Tag/sb", "Tag/se", "Tag/sa"]]
    )
  }

  // Evidence: P-065c, P-069b
  @Test func `a move alone is reported`() async throws {
    try await store.save(
      #"{"update":[{"id":"Item/p1","values":{"marks":["Tag/sb","Tag/se","Tag/sd"]}}]}"#
    )
    let refused = try await store.refusal(
      #"{"update":[{"id":"Item/p1","version":1,"values":{"name":"x"}}]}"#
    )
    let conflict = refused?.data["conflicts"]?.array?.first
    #expect(conflict?["property"] == "marks")
    #expect(conflict?["base"] == ["Tag/sd", "Tag/sb", "Tag/se"])
  }

  // Evidence: P-069b
  @Test func `a deleted member is removed from lists`() async throws {
    try await store.save(#"{"delete":["Tag/sb"]}"#)
    try await store.save(
      """
      {"update":[{"id":"Item/p1","version":1,"values":{"name":"x"}}],"mergePolicy":"overwrite"}
      """
    )
    #expect(
      try store.lines("Item name tags marks best")
        == ["Item/p1 v3 name=x tags=[Tag/sa] marks=[Tag/sd,Tag/se] best=null"]
    )
  }

  // Evidence: P-130
  @Test func `without a log the stored list stays when the store wins`() async throws {
    try await store.save(#"{"update":[{"id":"Item/p1","values":{"tags":{"@add":["Tag/sc"]}}}]}"#)
    try store.foreign(
      """
      DELETE FROM cordial_transaction
        WHERE number < (SELECT max(number) FROM cordial_transaction);
      DELETE FROM cordial_change
        WHERE number < (SELECT lastChange FROM cordial_transaction)
      """
    )
    try await store.save(
      """
      {"update":[{"id":"Item/p1","version":1,"values":{"tags":["Tag/sa","Tag/sd"]}}],
       "mergePolicy":"storeTrump"}
      """
    )
    #expect(try store.lines("Item tags") == ["Item/p1 v2 tags=[Tag/sa,Tag/sb,Tag/sc]"])
  }

  // Evidence: P-122c
  @Test func `two inserts of a save are reported under their temporary IDs`() async throws {
    let refused = try await store.refusal(
      """
      {"insert":[{"id":"Item/t1","values":{"name":"z"}},{"id":"Item/t2","values":{"name":"z"}}]}
      """
    )
    #expect(refused?.data["existing"] == "Item/t1")
    #expect(refused?.data["id"] == "Item/t2")
  }

  // Evidence: P-069b
  @Test(arguments: ["storeTrump", "objectTrump"])
  func `the outcome of a list that a client sent is reported`(policy: String) async throws {
    try await store.save(#"{"update":[{"id":"Item/p1","values":{"tags":{"@add":["Tag/sc"]}}}]}"#)
    let answer = try await store.save(
      """
      {"update":[{"id":"Item/p1","version":1,"values":{"tags":["Tag/sa","Tag/sd"]}}],
       "mergePolicy":"\(policy)"}
      """
    )
    #expect(answer["merged"] == [["id": "Item/p1", "properties": ["tags": "client"]]])
    #expect(
      answer["objects"]?.array?.first?["values"] == ["tags": ["Tag/sa", "Tag/sc", "Tag/sd"]]
    )
  }
}
