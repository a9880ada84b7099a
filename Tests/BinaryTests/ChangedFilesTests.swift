import Foundation
import Glibc
import Testing

@Suite struct `Files of a store that another program changes while it is served` {
  private let fixture: Fixture
  private let store: String
  private let child: Child
  private let peer: Peer

  init() throws {
    fixture = try Fixture()
    store = try fixture.store()
    child = try Child(["serve", store])
    peer = Peer(child)
    for number in 0..<5 { try peer.call("save", ["insert": [task("milk \(number)")]]) }
    #expect(try search() == 5)
  }

  private func path(_ name: String) -> String { store + "/" + name }

  private func search() throws -> Int? {
    let token = try peer.call("status")["store"]?["token"] ?? .null
    return try peer.call("search", ["query": "milk", "at": token])["total"]?.integer
  }

  private func overwrite(_ name: String) throws {
    let url = URL(fileURLWithPath: path(name))
    let content = try Data(contentsOf: url)
    let file = try FileHandle(forUpdating: url)
    try file.write(contentsOf: Data(content.map { ~$0 }))
    try file.close()
  }

  /// Replaces a file by another one with the content, in one step.
  private func replace(_ name: String, with content: Data) throws {
    let other = fixture.path("other")
    try content.write(to: URL(fileURLWithPath: other))
    #expect(unsafe rename(other, path(name)) == 0)
  }

  private func expectNoSave() throws {
    let error = try peer.answer(try peer.request("save", ["insert": [task("lost")]]))["error"]
    #expect(error?["code"] == 1403)
    #expect(error?["data"]?["code"] == "storeCorrupt")
    #expect(try peer.errorCode("store/backup", ["path": .string(fixture.path("copy"))]) == 1403)
    #expect(!fixture.exists("copy"))
  }

  private func stop() throws {
    child.stream.endInput()
    #expect(try child.exitCode() == 0)
  }

  /// Serves the store again, and returns the number of its objects.
  private func reopened() throws -> Int? {
    let peer = Peer(try Child(["serve", store]))
    #expect(try peer.call("store/verify")["problems"] == [])
    return try peer.call("fetch", ["entity": "Task", "result": "count"])["count"]?.integer
  }

  // Evidence: P-066a, P-066c
  @Test func `without the shared file nothing is saved, and nothing is lost`() throws {
    try FileManager.default.removeItem(atPath: path("store.sqlite-shm"))
    #expect(try peer.call("fetch", ["entity": "Task", "result": "count"])["count"] == 5)
    // Another process shares another file now, and may write.
    #expect(try fixture.run(["fetch", store, "Task"]).lines.count == 5)
    try expectNoSave()
    #expect(try peer.errorCode("fetch", ["entity": "Task"]) == 1403)
    #expect(try peer.errorCode("fetch", ["ids": ["Task/p1"]]) == 1403)
    try stop()
    #expect(try reopened() == 5)
  }

  // Evidence: P-066a, P-066c
  @Test(arguments: [true, false])
  func `a log with other content is not written to the store`(isEmptied: Bool) throws {
    let database = try Data(contentsOf: URL(fileURLWithPath: path("store.sqlite")))
    if isEmptied {
      #expect(unsafe truncate(path("store.sqlite-wal"), 0) == 0)
    } else {
      try overwrite("store.sqlite-wal")
    }
    try expectNoSave()
    #expect(try peer.errorCode("store/compact") == 1403)
    #expect(try peer.errorCode("fetch", ["entity": "Task", "result": "count"]) == 1403)
    try stop()
    #expect(try Data(contentsOf: URL(fileURLWithPath: path("store.sqlite"))) == database)
    // The commits were in the log only.
    #expect(try reopened() == 0)
  }

  // Evidence: P-066a, P-066c
  @Test func `a log that was removed is written to the store by a stop`() throws {
    try FileManager.default.removeItem(atPath: path("store.sqlite-wal"))
    try expectNoSave()
    try stop()
    #expect(try reopened() == 5)
  }

  // Evidence: P-132b
  @Test(arguments: [true, false])
  func `a store with a changed log is not replaced while it is served`(isServed: Bool) throws {
    let copy = try fixture.store("Copy.cordial")
    if !isServed { try stop() }
    // Without its first page, SQLite does not open the file.
    let path = isServed ? path("store.sqlite-wal") : path("store.sqlite")
    #expect(unsafe truncate(path, isServed ? 0 : 100) == 0)
    let restored = try fixture.run(["restore", copy, store, "--replace"])
    #expect(restored.code == (isServed ? 1 : 0), "\(restored.errors)")
    #expect(restored.errors.contains("open") == isServed, "\(restored.errors)")
    guard !isServed else { return try expectNoSave() }
    #expect(try reopened() == 0)
  }

  // Evidence: P-066a, P-066c
  @Test func `a store that was replaced by its copy keeps its log`() throws {
    try replace(
      "store.sqlite",
      with: try Data(contentsOf: URL(fileURLWithPath: path("store.sqlite")))
    )
    try expectNoSave()
    try stop()
    #expect(try reopened() == 5)
  }

  // Evidence: P-066a, P-066c
  @Test func `another store in its place is not copied`() throws {
    let other = try fixture.store("Other.cordial")
    let loaded = try fixture.run(
      ["serve", other],
      input: line(1, "save", ["insert": [task("other")]])
    )
    #expect(loaded.code == 0)
    try FileManager.default.removeItem(atPath: path("store.sqlite-wal"))
    try replace(
      "store.sqlite",
      with: try Data(contentsOf: URL(fileURLWithPath: other + "/store.sqlite"))
    )
    try expectNoSave()
    #expect(try peer.errorCode("store/backup", ["path": .string(fixture.path("copy"))]) == 1403)
    #expect(try fixture.run(["export", other]).code == 0)
    #expect(try peer.call("fetch", ["entity": "Task", "result": "count"])["count"] == 5)
    try stop()
  }

  // Evidence: P-066a, P-066c
  @Test func `a shared file that is emptied ends no process`() throws {
    #expect(unsafe truncate(path("store.sqlite-shm"), 0) == 0)
    try expectNoSave()
    #expect(try peer.errorCode("fetch", ["entity": "Task"]) == 1403)
    // Another process makes the file as long as it was, without the content.
    #expect(try fixture.run(["fetch", store, "Task"]).lines.count == 5)
    try expectNoSave()
    #expect(try peer.errorCode("fetch", ["entity": "Task"]) == 1403)
    try stop()
    #expect(try reopened() == 5)
  }

  // Evidence: P-095a
  @Test func `an index whose shared file is emptied is rebuilt`() throws {
    #expect(unsafe truncate(path("index.sqlite-shm"), 0) == 0)
    // The search that finds it fails.
    let code = try peer.errorCode("search", ["query": "milk"])
    #expect(code == nil || code == 1401)
    try peer.call("save", ["insert": [task("milk more")]])
    #expect(try search() == 6)
    #expect(try peer.call("index/verify")["differences"] == [])
    try stop()
  }

  // Evidence: P-066d
  @Test(arguments: [false, true])
  func `a named pipe in the place of the index is no index`(isServed: Bool) throws {
    if !isServed { try stop() }
    for suffix in ["", "-wal", "-shm"] { unsafe unlink(path("index.sqlite" + suffix)) }
    #expect(unsafe mkfifo(path("index.sqlite"), 0o600) == 0)
    let server = isServed ? child : try Child(["serve", store])
    let peer = Peer(server)
    let saved = try peer.call("save", ["insert": [task("milk more")]])
    let found = try peer.call("search", ["query": "milk", "at": saved["token"] ?? .null])
    #expect(found["total"] == 6)
    #expect(try peer.call("index/verify")["differences"] == [])
  }

  // Evidence: P-066d
  @Test func `a named pipe in the place of the store is no store`() throws {
    try FileManager.default.removeItem(atPath: path("store.sqlite"))
    #expect(unsafe mkfifo(path("store.sqlite"), 0o600) == 0)
    try expectNoSave()
    try stop()
    for command in [
      ["serve", store], ["fetch", store, "Task"], ["export", store], ["doctor", store],
    ] {
      let outcome = try fixture.run(command)
      #expect(outcome.code == 1)
      #expect(outcome.errors.contains("store.sqlite"), "\(outcome.errors)")
    }
  }

  // Evidence: P-066a
  @Test(arguments: ["store.sqlite", "store.sqlite-wal", "store.sqlite-shm"])
  func `a symbolic link in the place of a file is a different file`(name: String) throws {
    #expect(unsafe rename(path(name), path("moved")) == 0)
    #expect(unsafe symlink("moved", path(name)) == 0)
    try expectNoSave()
    try stop()
    #expect(unsafe rename(path("moved"), path(name)) == 0)
    #expect(try reopened() == 5)
  }

  // Evidence: P-066a
  @Test(arguments: [0, 4096, 40_960])
  func `a shortened store accepts no saves`(bytes: Int) throws {
    // The store's file then has all of the content.
    try peer.call("store/compact")
    #expect(unsafe truncate(path("store.sqlite"), off_t(bytes)) == 0)
    try expectNoSave()
    try stop()
    let found = bytes == 0 ? path("store.sqlite") : "changed the database"
    #expect(try child.errorText().contains(found))
  }

  // Evidence: P-066c
  @Test func `a stop says that the log was changed`() throws {
    try overwrite("store.sqlite-wal")
    try stop()
    #expect(try child.errorText().contains("its write-ahead log"))
  }

  /// The reader of the log is slower than the service, or stuck.
  //
  // Evidence: P-007a
  @Test func `a full pipe as standard error blocks neither requests nor the stop`() throws {
    try stop()
    let fill = #"head -c 65536 /dev/zero >&2; exec "$0" "$@""#
    let child = try Child(["-c", fill, Child.binary, "serve", store], program: "/bin/sh")
    let peer = Peer(child)
    try peer.call("save", ["insert": [task("milk more")]])
    try overwrite("store.sqlite-wal")
    for _ in 0..<20 { #expect(try peer.errorCode("save", ["insert": [task("lost")]]) == 1403) }
    child.stream.endInput()
    #expect(try child.exitCode() == 0)
    #expect(try child.errorText().utf8.count == 65536)
  }
}
