import Foundation
import Glibc
import Testing

@Suite struct `The Unix socket` {
  // Evidence: P-003a
  @Test func `belongs to its owner only and is deleted at the end`() throws {
    let fixture = try Fixture()
    let daemon = try fixture.daemon(try fixture.store())
    let attributes = try FileManager.default.attributesOfItem(atPath: daemon.socket)
    #expect(attributes[.posixPermissions] as? Int == 0o600)
    #expect(attributes[.type] as? FileAttributeType == .typeSocket)
    daemon.child.signal(SIGTERM)
    #expect(try daemon.child.exitCode() == 0)
    #expect(!fixture.exists("s"))
  }

  // Evidence: P-003b
  @Test func `a leftover one is replaced`() throws {
    let fixture = try Fixture()
    let store = try fixture.store()
    try fixture.daemon(store).child.end()
    #expect(fixture.exists("s"))
    try fixture.daemon(store).connect().call("status")
  }

  // Evidence: P-003b
  @Test func `a second service on a live socket is refused`() throws {
    let fixture = try Fixture()
    let daemon = try fixture.daemon(try fixture.store())
    let outcome = try fixture.run(["serve", try fixture.store("Other"), "--socket", daemon.socket])
    #expect(outcome.code == 1)
    #expect(outcome.errors.contains(daemon.socket))
    try daemon.connect().call("status")
  }

  // Evidence: P-003c
  @Test func `a second daemon on a store is refused, standard streams are not`() throws {
    let fixture = try Fixture()
    let store = try fixture.store()
    let daemon = try fixture.daemon(store)
    let outcome = try fixture.run(["serve", store, "--socket", fixture.path("t")])
    #expect(outcome.code == 1)
    #expect(outcome.errors.hasPrefix("cordial: "))
    #expect(!fixture.exists("t"))
    #expect(try fixture.run(["serve", store], input: line(1, "status")).code == 0)
    try daemon.connect().call("status")
  }

  // Evidence: P-003a
  @Test func `a folder that others may write is refused`() throws {
    let fixture = try Fixture()
    let store = try fixture.store()
    try FileManager.default.createDirectory(
      atPath: fixture.path("open"),
      withIntermediateDirectories: false
    )
    unsafe chmod(fixture.path("open"), 0o777)
    let outcome = try fixture.run(["serve", store, "--socket", fixture.path("open/s")])
    #expect(outcome.code == 1)
    #expect(outcome.errors.contains("open"))
    #expect(!fixture.exists("open/s"))
  }

  @Test func `a file in its place, a missing folder and a long path are refused`() throws {
    let fixture = try Fixture()
    let store = try fixture.store()
    let file = try fixture.write("mine", to: "file")
    let long = fixture.path(String(repeating: "x", count: 120))
    for path in [file, fixture.path("none/s"), long] {
      let outcome = try fixture.run(["serve", store, "--socket", path])
      #expect(outcome.code == 1)
      #expect(outcome.errors.hasPrefix("cordial: "))
    }
    #expect(try String(contentsOfFile: file, encoding: .utf8) == "mine")
  }

  @Test func `a half-closed connection is answered, then ends`() throws {
    let fixture = try Fixture()
    let peer = try fixture.daemon(try fixture.store()).connect()
    for number in 1...100 { try peer.send(body: String(line(number, "status").dropLast())) }
    peer.stream.endInput()
    for number in 1...100 { #expect(try peer.message()?["id"]?.integer == number) }
    #expect(try peer.message() == nil)
  }

  // Evidence: P-015c
  @Test func `bytes of no framing are -32700, and the connection ends`() throws {
    let fixture = try Fixture()
    let daemon = try fixture.daemon(try fixture.store())
    let peer = try daemon.connect()
    try peer.stream.send("GET / HTTP/1.1\r\n\r\n")
    #expect(try peer.message()?["error"]?["code"] == -32700)
    #expect(try peer.message() == nil)
    try daemon.connect().call("status")
  }

  @Test func `exit ends its connection, not the process`() throws {
    let fixture = try Fixture()
    let daemon = try fixture.daemon(try fixture.store())
    let peer = try daemon.connect(hasHeaders: true)
    try peer.call("initialize", ["processId": nil, "capabilities": [:]])
    try peer.notify("exit")
    #expect(try peer.message() == nil)
    try daemon.connect().call("status")
  }

  // Evidence: P-007a
  @Test func `a signal ends it with 0 after what was read is answered`() throws {
    let fixture = try Fixture()
    let daemon = try fixture.daemon(try fixture.store())
    let peer = try daemon.connect()
    let saved = try peer.request("save", ["insert": .array((0..<2000).map { task("t\($0)") })])
    let counted = try peer.request("fetch", ["entity": "Task", "result": "count"])
    _ = try peer.answer(saved)
    daemon.child.signal(SIGTERM)
    #expect(try peer.answer(counted)["result"]?["count"] == 2000)
    #expect(try peer.message() == nil)
    #expect(try daemon.child.exitCode() == 0)
  }

  @Test func `the commands of the program take it in place of the store`() throws {
    let fixture = try Fixture()
    let daemon = try fixture.daemon(try fixture.store())
    let params: JSON = ["insert": [task("over the socket")]]
    #expect(try fixture.run(["save", daemon.socket], input: params.text).code == 0)
    #expect(try fixture.run(["fetch", daemon.socket, "Task"]).lines.count == 1)
    #expect(try fixture.run(["search", daemon.socket, "socket"]).lines.count == 1)
  }

  @Test func `a thousand connections are served at once`() throws {
    try allowOpenFiles(2048)
    let fixture = try Fixture()
    let daemon = try fixture.daemon(try fixture.store())
    let peers = try (0..<1000).map { _ in try daemon.connect() }
    for peer in peers { try peer.request("status") }
    for peer in peers { #expect(try peer.answer(1)["result"] != nil) }
  }

  /// Raises the soft limit of open files, which the started service inherits.
  private func allowOpenFiles(_ count: UInt) throws {
    let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    var limit = rlimit()
    guard unsafe getrlimit(resource, &limit) == 0 else { throw Failure("getrlimit: \(errno)") }
    guard limit.rlim_cur < count else { return }
    limit.rlim_cur = rlim_t(count)
    limit.rlim_max = max(limit.rlim_max, limit.rlim_cur)
    guard unsafe setrlimit(resource, &limit) == 0 else {
      throw Failure("The limit of open files cannot be raised to \(count): errno \(errno)")
    }
  }
}
