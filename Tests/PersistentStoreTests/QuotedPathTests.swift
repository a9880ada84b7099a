import JSON
import PersistentStore
import TestStores
import Testing

/// A path into a json attribute has names that a client chooses.
@Suite struct `A path into a json attribute` {
  private static let model = """
    {"name":"M","entities":[
      {"name":"T","attributes":[{"name":"facts","type":"json","optional":true}]}]}
    """

  // Evidence: P-056a
  @Test(arguments: ["x'", "'\u{301}", "x'\u{200D}y", "x'\u{301}, 1 AS v"])
  func `may have quotes, also before a combining mark or a joiner`(name: String) async throws {
    let store = try TestStore(Self.model)
    let facts = JSONValue.object([JSONMember(name, 7)])
    let insert: JSONValue = ["insert": [["entity": "T", "values": ["facts": facts]]]]
    try await store.save(insert.text)
    let fetch: JSONValue = ["entity": "T", "select": ["v": .string("facts." + name)]]
    #expect(try store.fetch(fetch.text).map { $0["values"]?["v"] } == [7])
  }
}
