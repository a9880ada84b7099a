import Foundation
import Glibc
import Testing

@Suite struct `Files of a store while it is served and after` {
  private let fixture: Fixture
  private let store: String

  init() throws {
    fixture = try Fixture()
    store = try fixture.store()
  }

  private func remove(_ name: String) throws {
    for suffix in ["", "-wal", "-shm"] {
      let path = store + "/" + name + suffix
      guard FileManager.default.fileExists(atPath: path) else { continue }
      try FileManager.default.removeItem(atPath: path)
    }
  }

  // Evidence: P-066a
  @Test(arguments: [false, true])
  func `a removed or replaced store accepts no saves`(isReplaced: Bool) throws {
    let peer = Peer(try Child(["serve", store]))
    try peer.call("save", ["insert": [task("kept")]])
    let copy = fixture.path("copy.sqlite")
    try FileManager.default.copyItem(atPath: store + "/store.sqlite", toPath: copy)
    try remove("store.sqlite")
    if isReplaced {
      try FileManager.default.moveItem(atPath: copy, toPath: store + "/store.sqlite")
    }
    for _ in 0..<3 {
      let error = try peer.answer(try peer.request("save", ["insert": [task("lost")]]))["error"]
      #expect(error?["code"] == 1403)
      #expect(error?["data"]?["code"] == "storeCorrupt")
      try peer.call("status")
    }
    #expect(try peer.errorCode("delete", ["ids": ["Task/p1"]]) == 1403)
  }

  // Evidence: P-095a
  @Test func `an index that was removed is rebuilt, and searches find objects`() throws {
    let peer = Peer(try Child(["serve", store]))
    var saved = try peer.call("save", ["insert": [task("milk one")]])
    let query: [String: JSON] = ["query": "milk"]
    for round in 2...3 {
      let before = try peer.call(
        "search",
        .object(query.merging(["at": saved["token"] ?? .null]) { $1 })
      )
      #expect(before["total"]?.integer == round - 1)
      try remove("index.sqlite")
      saved = try peer.call("save", ["insert": [task("milk \(round)")]])
      let after = try peer.call(
        "search",
        .object(query.merging(["at": saved["token"] ?? .null]) { $1 })
      )
      #expect(after["total"]?.integer == round)
      #expect(fixture.exists("Test.cordial/index.sqlite"))
      let verified = try peer.call("index/verify")
      #expect(verified["differences"] == [])
      #expect(verified["checked"]?.integer == round)
    }
  }

  // Evidence: P-004c, P-004d
  @Test func `after an end in order everything is in the store's own file`() throws {
    let outcome = try fixture.run(
      ["serve", store],
      input: line(1, "save", ["insert": [task("milk")]])
    )
    #expect(outcome.code == 0)
    let log = store + "/store.sqlite-wal"
    if FileManager.default.fileExists(atPath: log) {
      #expect(try FileManager.default.attributesOfItem(atPath: log)[.size] as? Int == 0)
    }
    try remove("index.sqlite")
    unsafe chmod(store, 0o555)
    defer { unsafe chmod(store, 0o755) }
    // For root the folder can be written all the same; the answer is one and the same.
    let peer = Peer(try Child(["serve", store, "--read-only"]))
    let objects = try peer.call("fetch", ["entity": "Task"])["objects"]
    #expect(objects?[0]?["values"]?["title"] == "milk")
    #expect(try peer.call("index/verify")["checked"] == 1)
    #expect(try peer.errorCode("save", ["insert": [task("more")]]) == 1404)
  }

  /// What `chmod` keeps from others only, a mount keeps from root too.
  //
  // Evidence: P-004c, P-004d, P-101
  @Test(.enabled(if: Mount.isAllowed, "A folder can be mounted read-only by root only"))
  func `a read-only folder is served for reading`() throws {
    let child = try Child(["serve", store])
    try Peer(child).call("save", ["insert": [task("milk")]])
    child.stream.endInput()
    #expect(try child.exitCode() == 0)
    let mount = try Mount(fixture, readOnly: store)
    defer { withExtendedLifetime(mount) {} }
    let contents = try FileManager.default.contentsOfDirectory(atPath: store).sorted()
    let peer = Peer(try Child(["serve", store, "--read-only"]))
    for _ in 1...2 {
      #expect(try peer.errorCode("save", ["insert": [task("more")]]) == 1404)
      #expect(try peer.errorCode("delete", ["ids": ["Task/p1"]]) == 1404)
      let objects = try peer.call("fetch", ["entity": "Task"])["objects"]
      #expect(objects?.array?.map { $0["values"]?["title"] } == ["milk"])
      #expect(try peer.call("search", ["query": "milk"])["total"] == 1)
      #expect(try peer.call("index/verify")["checked"] == 1)
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: store).sorted() == contents)
    for more in [[], ["--socket", fixture.path("s")]] {
      let outcome = try fixture.run(["serve", store] + more)
      #expect(outcome.code == 1)
      #expect(outcome.errors.hasPrefix("cordial: "))
    }
  }

  // Evidence: P-004d
  @Test(.enabled(if: Mount.isAllowed, "A folder can be mounted read-only by root only"))
  func `a write-ahead log left in a read-only folder is reported`() throws {
    let child = try Child(["serve", store])
    try Peer(child).call("save", ["insert": [task("milk")]])
    child.end()
    do {
      let mount = try Mount(fixture, readOnly: store)
      defer { withExtendedLifetime(mount) {} }
      let outcome = try fixture.run(["serve", store, "--read-only"])
      #expect(outcome.code == 1)
      #expect(outcome.errors.contains("write-ahead log"), "\(outcome.errors)")
      // Not asked to be read-only, it finds out when it is to write.
      let peer = Peer(try Child(["serve", store]))
      #expect(try peer.errorCode("save", ["insert": [task("more")]]) == 1404)
      let objects = try peer.call("fetch", ["entity": "Task"])["objects"]
      #expect(objects?.array?.map { $0["values"]?["title"] } == ["milk"])
    }
    let peer = Peer(try Child(["serve", store]))
    #expect(try peer.call("fetch", ["entity": "Task", "result": "count"])["count"] == 1)
    try peer.call("save", ["insert": [task("more")]])
  }

  @Test func `a store that could not be created does not prevent the next attempt`() throws {
    let folder = fixture.path("New.cordial")
    // A limit on files' length stands for a full disk.
    let child = try Child(
      [
        "-c", "trap '' XFSZ; ulimit -f 100; exec \"$0\" init \"$1\" --model \"$2\"", Child.binary,
        folder, Fixture.todo,
      ],
      program: "sh",
      input: .nothing
    )
    #expect(try child.exitCode() == 1)
    let said = try child.errorText()
    #expect(said.hasPrefix("cordial: "))
    #expect(!fixture.exists("New.cordial/store.sqlite"), "\(said)")
    let again = try fixture.run(["init", folder, "--model", Fixture.todo])
    #expect(again.code == 0, "\(again.errors)")
    #expect(try fixture.run(["fetch", folder, "Task"]).code == 0)
  }
}
