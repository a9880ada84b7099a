import CordialValues
import Foundation
import JSON
import PersistentHistory
import PersistentStore
import TestStores
import Testing

// Evidence: P-135e
@Suite struct `The whole content of a store as lines` {
  private static let model = """
    {"name":"M","entities":[
      {"name":"Person","attributes":[
         {"name":"name","type":"string","sorted":"localized"},
         {"name":"size","type":"double","optional":true},
         {"name":"photo","type":"binary","optional":true},
         {"name":"home","type":"composite","members":[{"name":"seal","type":"binary"}]},
         {"name":"count","type":"int64","derived":"friends.@count"}],
       "relationships":[
         {"name":"friends","destination":"Person","toMany":true,"ordered":true}]},
      {"name":"Child","parent":"Person","attributes":[{"name":"age","type":"int16"}]}]}
    """

  private let folder: TestFolder

  init() throws { folder = try TestFolder() }

  private func filled() async throws -> TestStore {
    let store = try TestStore(Self.model, in: folder)
    try await store.save(
      """
      {"insert":[
        {"id":"Person/t1","values":{"name":"a\\n\\u0000","size":0.1,"photo":"AQID",
          "home":{"seal":""},"friends":["Child/t2","Person/t1"]}},
        {"id":"Child/t2","values":{"name":"b","size":1e300,"home":{"seal":"AA=="},"age":-7}},
        {"id":"Person/t3","values":{"name":"c","home":{"seal":"/w=="}}}],"author":"one"}
      """
    )
    try await store.save(#"{"update":[{"id":"Person/p1","values":{"name":"x","photo":null}}]}"#)
    try await store.save(#"{"delete":["Person/p2"]}"#)
    return store
  }

  private func lines(_ path: String) throws -> (objects: Int64, lines: [JSONValue]) {
    var lines: [JSONValue] = []
    let objects = try StoreDump.write(StoreContainer(path: path)) { lines.append($0) }
    return (objects, lines)
  }

  /// Creates the store `copy` from lines.
  private func read(_ lines: [JSONValue]) throws -> StoreContainer {
    let copy = StoreContainer(path: folder.path + "/copy")
    let bytes = Array(lines.map { $0.text + "\n" }.joined().utf8)
    try StoreDump.read(bytes, to: copy, environment: TestStore.environment())
    return copy
  }

  @Test func `makes the same store, with its history`() async throws {
    let store = try await filled()
    // What no save stores, but an external client may.
    try store.foreign("UPDATE Person SET size = 9e999, name = CAST(x'61FF' AS TEXT) WHERE _id = 1")
    let (objects, first) = try lines(folder.path)
    #expect(objects == 2)
    #expect(first.count { $0["binary"] != nil } > 3)
    let copy = try read(first)
    let second = try lines(copy.path).lines
    func rest(_ lines: [JSONValue]) -> [JSONValue] {
      lines.filter { $0["row"]?.array?.first != "generation" }
    }
    #expect(rest(second) == rest(first))
    #expect(second != first)
    #expect(second.contains { $0.text.contains(#"{"real":"inf"}"#) })
  }

  @Test func `makes a store that is sound and continues`() async throws {
    let store = try await filled()
    let reopened = try PersistentStore(
      container: read(lines(folder.path).lines),
      model: nil,
      mode: .readWrite,
      environment: TestStore.environment()
    )
    defer { reopened.close() }
    let problems = try reopened.makeReader().snapshot { snapshot in
      var verification = StoreVerification(snapshot)
      return try verification.run()["problems"]
    }
    #expect(problems == [])
    func commits(_ reader: StoreReader) throws -> [Int64] {
      try reader.snapshot { snapshot in
        try snapshot.log.transactions(after: 0, through: .max, limit: .max).map(\.number)
      }
    }
    #expect(try commits(reopened.makeReader()) == [1, 2, 3])
    #expect(try commits(store.store.makeReader()) == [1, 2, 3])
    let outcome: SaveOutcome = try await withCheckedThrowingContinuation { continuation in
      let insert = SaveRequest.Insert(
        id: nil,
        entity: "Person",
        values: [JSONMember("name", "new"), JSONMember("home", ["seal": "AA=="])]
      )
      reopened.save(SaveRequest(inserts: [insert])) { continuation.resume(with: $0) }
    }
    // Deleted objects had the numbers up to 2.
    #expect(outcome.result.objects.first?.id == .object(ObjectKey(entity: 1, object: 3)))
  }

  @Test(arguments: [
    (#"CREATE TABLE \"Person\""#, #"DROP TABLE \"Person\""#, "is no part of one"),
    (
      #"CREATE TABLE \"Person\""#, "CREATE TABLE Person AS SELECT 1; ATTACH", "is no part of one"
    ),
    ("[1,1,", #"["x",1,"#, "is wrong"), (#""table":"Person""#, #""table":"No""#, "is wrong"),
    (#""columns":["number","#, #""columns":["#, "is no part of one"),
    (#""schema""#, #""other""#, "line 2 is no part of one"),
    (#""generation""#, #""g""#, "lacks the store's metadata"),
  ])
  func `a wrong line creates nothing`(old: String, new: String, message: String) async throws {
    _ = try await filled()
    let (_, all) = try lines(folder.path)
    let changed = try all.map { line in
      try JSONParser.parse(Array(line.text.replacing(old, with: new).utf8).span)
    }
    try #require(changed != all)
    let error = try #require(throws: StoreError.self) { try read(changed) }
    #expect(error.message.contains(message), "\(error.message)")
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    #expect(!names.contains { $0.hasPrefix("copy") }, "\(names)")
  }
}
