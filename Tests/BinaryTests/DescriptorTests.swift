import Foundation
import Glibc
import Testing

/// A process with few file descriptors, of which peers want as many as they can get.
@Suite struct `A limit of open files` {
  private static func limited(_ count: Int, _ words: [String]) throws -> Child {
    try Child(
      ["-c", "ulimit -n \(count); exec \"$0\" \"$@\"", Child.binary] + words,
      program: "sh",
      input: .nothing
    )
  }

  // Evidence: P-005, P-007c
  @Test(arguments: [6, 8, 10, 11, 12, 13, 14, 16, 20, 24, 28])
  func `that is too low is one sentence for every command`(count: Int) throws {
    let fixture = try Fixture()
    let store = try fixture.store()
    for words in [
      ["serve", store], ["serve", store, "--socket", fixture.path("s")], ["fetch", store, "Task"],
      ["doctor", store], ["serve", "x", "--in-memory", "--model", Fixture.todo],
    ] {
      let child = try Self.limited(count, words)
      #expect(try child.exitCode() == 1, "\(words)")
      let lines = try child.errorText().split(separator: "\n")
      #expect(lines.count == 2, "\(lines)")
      #expect(lines.first?.hasPrefix("cordial: Only ") == true, "\(lines)")
    }
    #expect(!fixture.exists("s"))
  }

  // Evidence: P-007c
  @Test func `is raised where it may be`() throws {
    let fixture = try Fixture()
    let child = try Child(
      ["-c", "ulimit -S -n 8; exec \"$0\" serve \"$1\"", Child.binary, try fixture.store()],
      program: "sh"
    )
    try Peer(child).call("save", ["insert": [task("milk")]])
    child.stream.endInput()
    #expect(try child.exitCode() == 0)
  }

  /// Every step of the migration is a line on standard error, so that the peers connect while the
  /// store is not open yet.
  // Evidence: P-003d, P-007a
  @Test func `leaves the descriptors that the store needs, whatever connects while it opens`()
    throws
  {
    let fixture = try Fixture()
    func model(_ version: Int, _ more: String) throws -> String {
      try fixture.write(
        """
        {"name":"M","version":"\(version)","entities":[{"name":"Task","attributes":[
          {"name":"title","type":"string"}\(more)],"spotlight":{"displayName":"title"}}]}
        """,
        to: "\(version).json"
      )
    }
    let store = try fixture.store(model: try model(1, ""))
    let lines = (0..<5000).map { #"{"entity":"Task","values":{"title":"task \#($0)"}}"# }
    let imported = try fixture.run(
      ["import", store, "--no-index"],
      input: lines.joined(separator: "\n")
    )
    #expect(imported.code == 0)
    let second = try model(
      2,
      #",{"name":"key","type":"string","derived":"uppercase:(title)"}"#
    )
    let socket = fixture.path("s")
    let child = try Self.limited(160, ["serve", store, "--model", second, "--socket", socket])
    _ = try #require(try child.errorLine())
    var peers: [Peer] = []
    let end = ContinuousClock.now + .seconds(60)
    while peers.isEmpty, ContinuousClock.now < end {
      do { peers.append(Peer(try ByteStream.connect(socket), of: child)) } catch { usleep(1000) }
    }
    for _ in 0..<250 {
      // The queue of connections may be full.
      do { peers.append(Peer(try ByteStream.connect(socket), of: child)) } catch {}
    }
    #expect(peers.count > 160)
    while let line = try child.errorLine(), !line.contains("serving at") {}
    // Those that were admitted are served, and the others are disconnected.
    var outcomes: [JSON] = []
    for peer in peers {
      do {
        try peer.request("search", ["query": "task"])
        let answer = try peer.answer(1)
        outcomes.append(answer["result"]?["total"] ?? answer["error"]?["code"] ?? .null)
      } catch is Failure {}
    }
    #expect(outcomes.count > 10 && outcomes.count < 160)
    // The index may still be built.
    #expect(outcomes.first { $0 != 5000 && $0 != 1401 } == nil)
    for peer in peers { peer.stream.close() }
    let last = Peer(try ByteStream.connect(socket), of: child)
    let saved = try last.call("save", ["insert": [["entity": "Task", "values": ["title": "new"]]]])
    let found = try last.call("search", ["query": "new", "at": saved["token"] ?? .null])
    #expect(found["total"] == 1)
    child.signal(SIGTERM)
    #expect(try child.exitCode() == 0)
    #expect(!fixture.exists("s"))
  }

  // Evidence: P-095h
  @Test func `that is reached later fails a search with 1401`() throws {
    let fixture = try Fixture()
    let child = try Child(["serve", try fixture.store()])
    let peer = Peer(child)
    let saved = try peer.call("save", ["insert": [task("milk")]])
    try peer.call("observe/flush")
    let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(child.process)/fd")
    let numbers = Set(open.compactMap { Int($0) })
    try limit(child, (0...).first { !numbers.contains($0) } ?? 0)
    let search: JSON = ["query": "milk", "at": saved["token"] ?? .null]
    let error = try peer.answer(try peer.request("search", search))["error"]
    #expect(error?["code"] == 1401, "\(error ?? .null)")
    #expect(error?["message"]?.string?.contains("descriptor") == true)
    try limit(child, 1024)
    #expect(try peer.call("search", search)["total"] == 1)
  }

  private func limit(_ child: Child, _ count: Int) throws {
    let tool = try Child(
      ["--pid", "\(child.process)", "--nofile=\(count):"],
      program: "prlimit",
      input: .nothing
    )
    guard try tool.exitCode() == 0 else { throw Failure("prlimit: \(try tool.errorText())") }
  }
}

@Suite struct `A socket whose service is busy` {
  // Evidence: P-003b
  @Test func `is refused at once to another service, even if its queue is full`() throws {
    let fixture = try Fixture()
    let daemon = try fixture.daemon(try fixture.store())
    let other = try fixture.store("Other.cordial")
    daemon.child.signal(SIGSTOP)
    defer { daemon.child.signal(SIGCONT) }
    let waiting = try fillQueue(daemon.socket)
    #expect(!waiting.isEmpty)
    let outcome = try fixture.run(["serve", other, "--socket", daemon.socket])
    #expect(outcome.code == 1)
    #expect(outcome.errors.contains("already"), "\(outcome.errors)")
    for descriptor in waiting { close(descriptor) }
    daemon.child.signal(SIGCONT)
    try daemon.connect().call("status")
  }

  /// Connects until no more connections fit into the queue.
  private func fillQueue(_ path: String) throws -> [Int32] {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { bytes in
      unsafe bytes.copyBytes(from: path.utf8.prefix(107))
    }
    let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    var waiting: [Int32] = []
    while waiting.count < 10_000 {
      let descriptor = socket(AF_UNIX, type, 0)
      guard descriptor >= 0 else { throw Failure("socket: errno \(errno)") }
      let code = unsafe withUnsafePointer(to: &address) { pointer in
        unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          unsafe connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
        }
      }
      if code == 0 {
        waiting.append(descriptor)
      } else {
        let failure = errno
        close(descriptor)
        guard failure == EAGAIN else { throw Failure("connect: errno \(failure)") }
        return waiting
      }
    }
    throw Failure("the queue is never full")
  }
}
