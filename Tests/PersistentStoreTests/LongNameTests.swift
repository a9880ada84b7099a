import JSON
import PersistentStore
import TestStores
import Testing

@Suite struct `A name of a million parts` {
  private static let model = """
    {"name":"M","entities":[{"name":"Task","attributes":[
      {"name":"title","type":"string","optional":true},
      {"name":"place","type":"composite","members":[
        {"name":"street","type":"string","optional":true},
        {"name":"point","type":"composite","members":[
          {"name":"x","type":"double","optional":true}]}]}]}]}
    """

  /// The time of a look-up must not grow with the square of the name's length.
  // Evidence: P-054b
  @Test(arguments: ["", "a.", "place.", "place.point."])
  func `is refused`(part: String) async throws {
    let store = try TestStore(Self.model)
    let name = JSONValue.string(String(repeating: part.isEmpty ? "." : part, count: 1_000_000)).text
    let insert = #"{"insert":[{"entity":"Task","values":{\#(name):"x"}}]}"#
    #expect(try await problem(insert, store) == 1003)
    let sort = #"{"entity":"Task","sort":[\#(name)]}"#
    #expect(try store.refusal(ofFetch: sort)?.code == "unknownProperty")
    let update = #"{"update":[{"id":"Task/p1","values":{\#(name):"x"}}]}"#
    try await store.save(#"{"insert":[{"entity":"Task"}]}"#)
    #expect(try await problem(update, store) == 1003)
  }

  private func problem(_ save: String, _ store: TestStore) async throws -> Int64? {
    try await store.refusal(save)?.data["problems"]?.array?.first?["code"]?.integer
  }

  // Evidence: P-054b
  @Test(arguments: [
    ("place", "Task.place is a composite; name one of its members here"),
    ("place.street.x", "Task.place.street is an attribute; no path continues after it"),
    ("place.points", "Task.place has no member points"),
    ("place.point.y", "Task.place.point has no member y"),
    ("place.point.", "Task.place.point has no member "),
    ("places.x", "Task has no property places"),
  ])
  func `is reported with the innermost composite of its path`(
    name: String,
    message: String
  ) throws {
    let store = try TestStore(Self.model)
    let error = #expect(throws: StoreError.self) {
      try store.fetch(#"{"entity":"Task","sort":["\#(name)"]}"#)
    }
    #expect(error?.message == message)
  }
}
