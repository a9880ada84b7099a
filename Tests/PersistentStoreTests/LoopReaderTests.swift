import JSON
import PersistentStore
import TestStores
import Testing

@Suite struct `The reader of an event loop` {
  private static let long = String(repeating: "a", count: StoreReader.loopValueBytesMax + 1)

  private func makeReader() async throws -> (TestStore, StoreReader) {
    let store = try TestStore(TestModels.todo)
    try await store.save(#"{"insert":[{"id":"Task/t1","values":{"title":"\#(Self.long)"}}]}"#)
    try await store.save(#"{"insert":[{"id":"Task/t2","values":{"title":"b"}}]}"#)
    let reader = try store.store.makeReader()
    try reader.limitToLoop()
    // Looking up one object needs a snapshot before it.
    _ = try reader.snapshot { $0.head }
    return (store, reader)
  }

  private func text(_ id: String, _ reader: StoreReader) throws -> String? {
    var writer = JSONWriter()
    guard try reader.write(id, to: &writer, { _, _ in }) else { return nil }
    return String(decoding: writer.bytes, as: UTF8.self)
  }

  // Evidence: P-018d
  @Test func `reads no long value, whichever statement meets it`() async throws {
    let (store, reader) = try await makeReader()
    defer { _ = store }
    for predicate in ["title == 'x'", "title CONTAINS 'x'", "title > 'x'"] {
      let fetch = #"{"entity":"Task","predicate":"\#(predicate)"}"#
      #expect(throws: LongValue.self) {
        try reader.snapshot { snapshot in
          _ = try snapshot.count(snapshot.plan(FetchRequest(try JSONParser.parse(fetch))))
        }
      }
    }
    #expect(throws: LongValue.self) {
      try reader.snapshot { snapshot in
        var writer = JSONWriter()
        let plan = try snapshot.plan(FetchRequest(try JSONParser.parse(#"{"entity":"Task"}"#)))
        _ = try snapshot.write(1, as: plan, to: &writer)
      }
    }
    #expect(throws: LongValue.self) { try text("Task/p1", reader) }
  }

  @Test func `goes on reading others after that`() async throws {
    let (store, reader) = try await makeReader()
    defer { _ = store }
    for _ in 1...2 {
      #expect(throws: LongValue.self) { try text("Task/p1", reader) }
      #expect(throws: LongValue.self) {
        try reader.snapshot { snapshot in
          var writer = JSONWriter()
          let plan = try snapshot.plan(FetchRequest(try JSONParser.parse(#"{"entity":"Task"}"#)))
          _ = try snapshot.writeObjects(plan, bytesMax: 1 << 26, to: &writer)
        }
      }
      #expect(try text("Task/p2", reader)?.contains(#""title":"b""#) == true)
      let count = try reader.snapshot { snapshot in
        try snapshot.count(snapshot.plan(FetchRequest(try JSONParser.parse(#"{"entity":"Task"}"#))))
      }
      #expect(count == 2)
    }
  }
}
