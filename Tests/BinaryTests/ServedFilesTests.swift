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

  private func remove(_ name: String, _ suffixes: [String] = ["", "-wal", "-shm"]) throws {
    for suffix in suffixes {
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
    // While the index reads, status would open another connection, which finds the files changed.
    try peer.call("observe/flush")
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

  // Evidence: P-066a
  @Test(arguments: [false, true])
  func `a store without its write-ahead log accepts no saves`(isReplaced: Bool) throws {
    let peer = Peer(try Child(["serve", store]))
    try peer.call("save", ["insert": [task("kept")]])
    let log = store + "/store.sqlite-wal"
    let content = try Data(contentsOf: URL(fileURLWithPath: log))
    try FileManager.default.removeItem(atPath: log)
    if isReplaced { try content.write(to: URL(fileURLWithPath: log)) }
    #expect(try peer.errorCode("save", ["insert": [task("lost")]]) == 1403)
    #expect(try peer.errorCode("delete", ["ids": ["Task/p1"]]) == 1403)
    try peer.call("status")
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
  // Evidence: P-004c, P-004d, P-004e, P-101
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
    // The service that may write says why it does not; nothing is written, not even its lock.
    let writing = try Child(["serve", store])
    #expect(try Peer(writing).call("fetch", ["entity": "Task", "result": "count"])["count"] == 1)
    #expect(try Peer(writing).errorCode("save", ["insert": [task("more")]]) == 1404)
    writing.stream.endInput()
    #expect(try writing.exitCode() == 0)
    let said = try writing.errorText()
    #expect(said.contains("read-only file system"), "\(said)")
    #expect(said.contains("no commits in a write-ahead log"), "\(said)")
    #expect(try fixture.daemon(store).connect().call("status")["store"]?["readOnly"] == true)
    #expect(try fixture.run(["fetch", store, "Task"]).lines.count == 1)
    #expect(try fixture.run(["backup", store, fixture.path("copy")]).code == 0)
    #expect(try fixture.run(["fetch", fixture.path("copy"), "Task"]).lines.count == 1)
    #expect(try FileManager.default.contentsOfDirectory(atPath: store).sorted() == contents)
  }

  /// The file by which SQLite shares a log may be missing, as in a copy of the other two files.
  //
  // Evidence: P-004d, P-004e
  @Test(
    .enabled(if: Mount.isAllowed, "A folder can be mounted read-only by root only"),
    arguments: [true, false]
  )
  func `a write-ahead log in a read-only folder is read`(hasSharedFile: Bool) throws {
    let child = try Child(["serve", store])
    let saving = Peer(child)
    try saving.call("save", ["insert": [task("milk")]])
    child.end()
    // Changes of a foreign client, which a process that cannot write does not seal.
    try ForeignClient.write(store, "UPDATE Task SET title = 'changed'")
    let killed = try Child(["serve", store])
    try Peer(killed).call("save", ["insert": [task("bread")]])
    killed.end()
    try ForeignClient.keepLog(store, "UPDATE Task SET title = 'unsealed'")
    if !hasSharedFile { try remove("store.sqlite", ["-shm"]) }
    do {
      let mount = try Mount(fixture, readOnly: store)
      defer { withExtendedLifetime(mount) {} }
      let contents = try FileManager.default.contentsOfDirectory(atPath: store).sorted()
      for more in [[], ["--read-only"]] {
        let child = try Child(["serve", store] + more)
        let peer = Peer(child)
        // Several connections read at the same time, each of them after the others have ended.
        for _ in 1...3 {
          let requests = try (1...8).map { _ in
            try peer.request("fetch", ["entity": "Task", "sort": ["title"]])
          }
          for request in requests {
            let objects = try peer.answer(request)["result"]?["objects"]?.array
            #expect(objects?.map { $0["values"]?["title"] } == ["bread", "changed"])
          }
        }
        #expect(try peer.call("search", ["query": "bread"])["total"] == 1)
        #expect(try peer.call("status")["store"]?["unsealed"] == true)
        #expect(try peer.call("store/verify")["checked"] == 2)
        #expect(try peer.errorCode("save", ["insert": [task("more")]]) == 1404)
        child.stream.endInput()
        #expect(try child.exitCode() == 0)
        let said = try child.errorText()
        #expect(said.contains("with the commits in its write-ahead log"), "\(said)")
      }
      #expect(try FileManager.default.contentsOfDirectory(atPath: store).sorted() == contents)
    }
    let peer = Peer(try Child(["serve", store]))
    #expect(try peer.call("fetch", ["entity": "Task", "result": "count"])["count"] == 2)
    try peer.call("save", ["insert": [task("more")]])
  }

  // Evidence: P-004f
  @Test func `new files are their owner's only, and others keep their mode`() throws {
    func modes() throws -> [String: Int] {
      let names = try FileManager.default.contentsOfDirectory(atPath: store)
      return try Dictionary(
        uniqueKeysWithValues: names.map { name in
          let attributes = try FileManager.default.attributesOfItem(atPath: "\(store)/\(name)")
          return (name, attributes[.posixPermissions] as? Int ?? 0)
        }
      )
    }
    func serve(_ more: [String] = []) throws {
      // Where a shell creates files that everybody can write.
      let child = try Child(
        ["-c", "umask 0; exec \"$0\" serve \"$@\"", Child.binary, store] + more,
        program: "sh"
      )
      let peer = Peer(child)
      try peer.call("save", ["insert": [task("milk")]])
      try peer.call("index/verify")
      let files = try modes()
      #expect(files["store.sqlite-wal"] != nil && files["index.sqlite-wal"] != nil)
      #expect(Set(files.values) == [0o600], "\(files)")
      child.stream.endInput()
      #expect(try child.exitCode() == 0)
    }
    try serve()
    let copy = try fixture.run(["backup", store, fixture.path("copy")])
    #expect(copy.code == 0)
    for name in ["copy/store.sqlite", "copy/model.json"] {
      let attributes = try FileManager.default.attributesOfItem(atPath: fixture.path(name))
      #expect(attributes[.posixPermissions] as? Int == 0o600)
    }
    for name in ["store.sqlite", "model.json"] { unsafe chmod("\(store)/\(name)", 0o640) }
    // The copy of the model is written again.
    try "{}".write(toFile: store + "/model.json", atomically: false, encoding: .utf8)
    #expect(try fixture.run(["fetch", store, "Task"]).code == 0)
    #expect(try modes()["store.sqlite"] == 0o640)
    #expect(try modes()["model.json"] == 0o640)
    #expect(try modes()["index.sqlite"] == 0o600)
  }

  // Evidence: P-004g
  @Test(.enabled(if: Strace.isAllowed, "It needs strace, and the right to trace"))
  func `the name of a new store is on the disk before the store is used`() throws {
    let log = fixture.path("calls")
    let child = try Child(
      [
        "-f", "-y", "-e", "trace=fsync,fdatasync,openat", "-o", log, Child.binary, "init",
        fixture.path("New.cordial"), "--model", Fixture.todo,
      ],
      program: "strace",
      input: .nothing
    )
    #expect(try child.exitCode() == 0)
    let calls = try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n")
    for folder in [fixture.folder, fixture.path("New.cordial")] {
      #expect(calls.contains { $0.contains(/fsync\(/) && $0.contains("<\(folder)>)") }, "\(folder)")
    }
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

/// The program `strace`, which shows what another program asks of the system.
private enum Strace {
  static let isAllowed: Bool = {
    do {
      let child = try Child(["-o", "/dev/null", "true"], program: "strace", input: .nothing)
      return try child.exitCode() == 0
    } catch {
      return false
    }
  }()
}
