import Foundation
import Testing

@Suite struct `A write-ahead log that a reader made large` {
  private let fixture: Fixture
  private let store: String
  private let service: Child
  private let peer: Peer
  /// Another SQLite client, in the middle of a read transaction.
  private let reader: Child

  private static let logMax = 16 << 20

  init() throws {
    fixture = try Fixture()
    store = try fixture.store()
    service = try Child(["serve", store])
    peer = Peer(service)
    try peer.call("save", ["insert": [task("first")]])
    reader = try Child(["-batch", store + "/store.sqlite"], program: "sqlite3")
    try reader.stream.send("BEGIN; SELECT count(*) FROM Task;\n")
    #expect(try reader.stream.line() == "1")
    for _ in 1...25 {
      try peer.call("save", ["insert": [task(String(repeating: "x", count: 1 << 20))]])
    }
    #expect(try sizes().log > Self.logMax)
  }

  private func sizes() throws -> (store: Int, log: Int) {
    let sizes = try ["", "-wal"].map { suffix in
      let path = store + "/store.sqlite" + suffix
      return try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
    }
    return (sizes[0], sizes[1])
  }

  private func endReading() throws {
    try reader.stream.send("COMMIT; SELECT 'ended';\n")
    #expect(try reader.stream.line() == "ended")
  }

  // Evidence: P-133d
  @Test func `shrinks with the saves after the reader's end`() throws {
    try endReading()
    // The index may read the store too, for a moment.
    try peer.call("observe/flush")
    for _ in 1...3 { try peer.call("save", ["insert": [task("more")]]) }
    #expect(try sizes().log <= Self.logMax + 100_000)
  }

  // Evidence: P-133d
  @Test func `shrinks after the reader's end without a save`() throws {
    let watch = try FolderWatch(store)
    try endReading()
    let start = ContinuousClock.now
    while try sizes().log > 0, ContinuousClock.now - start < .seconds(60) {
      try ByteStream.waitForAny(of: [], or: watch.descriptor)
      watch.readEvents()
    }
    #expect(try sizes().log == 0)
  }

  // Evidence: P-133a, P-133e
  @Test func `is not waited for by a compaction, which reports what the files take`() throws {
    try peer.call("observe/flush")
    try peer.call("delete", ["entity": "Task", "predicate": "title BEGINSWITH 'x'"])
    try peer.call("observe/flush")
    let before = try sizes()
    let start = ContinuousClock.now
    let first = try peer.call("store/compact")
    // SQLite's own wait for a reader is 5 seconds.
    #expect(ContinuousClock.now - start < .seconds(5))
    let after = try sizes()
    #expect(first["before"]?.integer == before.store + before.log)
    #expect(first["after"]?.integer == after.store + after.log)
    #expect(after.store == before.store)
    try endReading()
    let second = try peer.call("store/compact")
    let last = try sizes()
    #expect(last.log == 0)
    #expect(second["after"]?.integer == last.store)
    #expect(last.store < after.store + after.log)
    #expect(try peer.call("store/verify")["problems"] == [])
  }
}
