import CordialValues
import JSON
import PersistentHistory
import PersistentStore
import TestStores
import Testing

private let pairs = """
  {"name":"M","entities":[
    {"name":"A","attributes":[{"name":"t","type":"string","optional":true}],
     "relationships":[{"name":"r","destination":"B","optional":true,"inverse":"i"}]},
    {"name":"B","relationships":[{"name":"i","destination":"A","optional":true,"inverse":"r"}]},
    {"name":"N","relationships":[
      {"name":"a","destination":"N","optional":true,"inverse":"b"},
      {"name":"b","destination":"N","optional":true,"inverse":"a"}]},
    {"name":"G","relationships":[
      {"name":"ts","destination":"T","toMany":true,"inverse":"g"}]},
    {"name":"T","attributes":[{"name":"t","type":"string","optional":true}],
     "relationships":[{"name":"g","destination":"G","optional":true,"inverse":"ts"}]}]}
  """

@Suite struct `Changes of several objects in one save` {
  private let store: TestStore

  init() throws {
    store = try TestStore(pairs)
  }

  /// Both ends of one-to-ones, each beside the other.
  private func expect(_ lines: [String]) throws {
    let found = try store.lines("A r; B i; N a b")
    #expect(found == lines)
  }

  @Test func `a null at one end leaves the claim of the other end`() async throws {
    try await store.save(
      #"{"insert":[{"id":"B/t0","values":{"i":null}},{"id":"A/t1","values":{"r":"B/t0"}}]}"#
    )
    try expect(["A/p1 v1 r=B/p1", "B/p1 v1 i=A/p1"])
  }

  @Test func `the later claim of new objects wins, at both ends`() async throws {
    try await store.save(
      """
      {"insert":[{"id":"A/t0"},{"id":"B/t1","values":{"i":"A/t0"}},
        {"id":"B/t2","values":{"i":"A/t0"}}]}
      """
    )
    try expect(["A/p1 v1 r=B/p2", "B/p1 v1 i=null", "B/p2 v1 i=A/p1"])
    try await store.save(
      #"{"insert":[{"id":"A/t0","values":{"r":"B/p1"}},{"id":"B/t1","values":{"i":"A/t0"}}]}"#
    )
    try expect([
      "A/p1 v1 r=B/p2", "A/p2 v1 r=B/p3", "B/p1 v1 i=null", "B/p2 v1 i=A/p1", "B/p3 v1 i=A/p2",
    ])
  }

  @Test func `an object that references itself does so at both ends`() async throws {
    try await store.save(#"{"insert":[{"id":"N/t0","values":{"b":null,"a":"N/t0"}}]}"#)
    try expect(["N/p1 v1 a=N/p1 b=N/p1"])
  }

  @Test func `a result has the version and the values after the whole save`() async throws {
    try await store.save(
      """
      {"insert":[{"id":"G/t1"},{"id":"T/t1","values":{"t":"x","g":"G/t1"}},
        {"id":"T/t2","values":{"g":"G/t1"}}]}
      """
    )
    let answer = try await store.save(
      """
      {"update":[{"id":"T/p1","values":{"t":"x"}},{"id":"G/p1","values":{"ts":["T/p2"]}}]}
      """
    )
    #expect(
      answer["objects"]?.array?.first == [
        "id": "T/p1", "version": 2, "values": ["g": nil],
      ]
    )
    try await store.save(#"{"update":[{"id":"T/p1","version":2,"values":{"t":"y"}}]}"#)
    let inserted = try await store.save(
      """
      {"insert":[{"id":"T/t9","values":{"g":"G/p1"}}],"delete":["G/p1"]}
      """
    )
    #expect(inserted["objects"]?.array?.first?["values"]?["g"] == JSONValue.null)
  }
}
