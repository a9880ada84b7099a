import CordialValues
import JSON
import PersistentHistory
import PersistentStore
import TestSeeds
import TestStores
import Testing

private let album = """
  {"name": "Album", "entities": [
    {"name": "Album", "relationships": [
      {"name": "songs", "destination": "Song", "toMany": true, "ordered": true,
       "inverse": "album"}]},
    {"name": "Song", "relationships": [
      {"name": "album", "destination": "Album", "inverse": "songs", "optional": true},
      {"name": "lists", "destination": "Playlist", "toMany": true, "ordered": true,
       "inverse": "songs"}]},
    {"name": "Live", "parent": "Song"},
    {"name": "Playlist", "relationships": [
      {"name": "songs", "destination": "Song", "toMany": true, "ordered": true,
       "inverse": "lists"}]}]}
  """

@Suite struct `Ordered to-manys keep their order` {
  private let store: TestStore

  init() async throws {
    store = try TestStore(album)
    let songs = (1...5).map { #"{"id":"Song/t\#($0)"}"# }.joined(separator: ",")
    try await store.save(#"{"insert":[{"id":"Album/t1"},{"id":"Playlist/t1"},\#(songs)]}"#)
  }

  /// The songs of the first album or list, by their numbers.
  private func songs(_ entity: String = "Album") throws -> [Int] {
    let object = try store.fetch(#"{"entity":"\#(entity)","select":["songs"],"limit":1}"#).first
    return (object?["values"]?["songs"]?.array ?? []).compactMap {
      $0.string.flatMap { Int($0.drop { $0 != "p" }.dropFirst()) }
    }
  }

  private func set(_ value: String, _ entity: String = "Album") async throws {
    try await store.save(#"{"update":[{"id":"\#(entity)/p1","values":{"songs":\#(value)}}]}"#)
  }

  private func list(_ numbers: [Int]) -> String {
    "[" + numbers.map { "\"Song/p\($0)\"" }.joined(separator: ",") + "]"
  }

  // Evidence: P-116a, P-116b
  @Test(arguments: ["Album", "Playlist"])
  func `an order is set by the whole list or by a change at an index`(entity: String) async throws {
    try await set(list([3, 1, 2]), entity)
    #expect(try songs(entity) == [3, 1, 2])
    try await set(#"{"@add":\#(list([5, 4])),"@at":1}"#, entity)
    #expect(try songs(entity) == [3, 5, 4, 1, 2])
    try await set(#"{"@add":\#(list([2])),"@at":0}"#, entity)
    #expect(try songs(entity) == [2, 3, 5, 4, 1])
    try await set(#"{"@remove":\#(list([3, 4]))}"#, entity)
    #expect(try songs(entity) == [2, 5, 1])
    try await set(#"{"@add":\#(list([4, 2]))}"#, entity)
    #expect(try songs(entity) == [2, 5, 1, 4])
    try await set(list([4, 1, 5, 2]), entity)
    #expect(try songs(entity) == [4, 1, 5, 2])
    let refused = try await store.refusal(
      #"{"update":[{"id":"\#(entity)/p1","values":{"songs":{"@add":[],"@at":5}}}]}"#
    )
    #expect(refused?.data["problems"]?.array?.first?["rule"] == "place")
  }

  // Evidence: P-116c
  @Test func `members added from the other end or by external clients are appended`()
    async throws
  {
    try await set(list([2, 1]))
    try await store.save(#"{"update":[{"id":"Song/p4","values":{"album":"Album/p1"}}]}"#)
    try store.foreign(
      """
      UPDATE Song SET album = 1 WHERE _id = 3;
      INSERT INTO Song(_id, album) VALUES (9, 1);
      INSERT INTO Album(_id) VALUES (2);
      """
    )
    try await store.seal()
    #expect(try songs() == [2, 1, 4, 3, 9])
    try await store.save(#"{"update":[{"id":"Song/p1","values":{"album":"Album/p2"}}]}"#)
    try await store.save(#"{"update":[{"id":"Song/p1","values":{"album":"Album/p1"}}]}"#)
    #expect(try songs() == [2, 4, 3, 9, 1])
  }

  @Test func `both ends of a many-to-many have an order of their own`() async throws {
    try await store.save(#"{"insert":[{"id":"Playlist/t2"},{"id":"Playlist/t3"}]}"#)
    try await set(list([2, 1]), "Playlist")
    try await store.save(
      #"{"update":[{"id":"Song/p1","values":{"lists":["Playlist/p3","Playlist/p1","Playlist/p2"]}}]}"#
    )
    #expect(
      try store.lines("Song lists").first
        == "Song/p1 v3 lists=[Playlist/p3,Playlist/p1,Playlist/p2]"
    )
    #expect(try songs("Playlist") == [2, 1])
  }

  // Evidence: P-116d, P-116e
  @Test func `a move changes the owner and one sort position`() async throws {
    try await set(list([1, 2, 3, 4, 5]))
    let before = try store.rows("SELECT _id, _at_album FROM Song ORDER BY _id")
    try await set(#"{"@add":\#(list([5])),"@at":1}"#)
    let after = try store.rows("SELECT _id, _at_album FROM Song ORDER BY _id")
    #expect(zip(before, after).count { $0 != $1 } == 1)
    let album = try #require(try store.snapshot { try $0.resolve("Album/p1") })
    let found = try store.snapshot { try $0.log.changeSet(from: 2, through: 3) }
    let set = try #require(found)
    #expect(set.changes.keys.contains(album))
    #expect(set.changes[album]?.properties.contains("songs") == true)
    #expect(set.changes.count == 1)
  }

  @Test(arguments: Seeds.first(8), ["Album", "Playlist"])
  func `random changes are those of an array`(seed: UInt64, entity: String) async throws {
    var random = SplitMix64(seed: seed)
    var wanted: [Int] = []
    for step in 0..<60 {
      let some = Array((1...5).shuffled(using: &random).prefix(random.below(4)))
      switch random.below(4) {
      case 0:
        wanted = some
        try await set(list(some), entity)
      case 1:
        wanted.removeAll { some.contains($0) }
        try await set(#"{"@remove":\#(list(some))}"#, entity)
      case 2:
        wanted += some.filter { !wanted.contains($0) }
        try await set(#"{"@add":\#(list(some))}"#, entity)
      default:
        wanted.removeAll { some.contains($0) }
        let place = random.below(wanted.count + 1)
        wanted.insert(contentsOf: some, at: place)
        try await set(#"{"@add":\#(list(some)),"@at":\#(place)}"#, entity)
      }
      let found = try songs(entity)
      #expect(found == wanted, "seed \(seed), step \(step)")
      guard found == wanted else { return }
    }
  }
}
