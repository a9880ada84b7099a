import Glibc
import TestSeeds
import Testing

/// The insert of a task that takes so many bytes, in words.
private func large(_ title: String, bytes: Int, priority: Int = 0) -> JSON {
  task(title + String(repeating: " word", count: bytes / 5), priority: priority)
}

/// What is the same for every way in which files cannot grow.
private struct FullDiskScenario {
  let fixture: Fixture
  let store: String
  /// Takes a process the room that is left, and gives it back.
  let begin: (Child) throws -> Void
  let end: (Child) throws -> Void

  func check() throws {
    let child = try Child(["serve", store])
    let peer = Peer(child)
    let kept = try peer.call("save", ["insert": [task("kept")]])["token"] ?? .null
    #expect(try peer.call("search", ["query": "kept", "at": kept])["total"] == 1)
    try begin(child)
    for number in 1...3 {
      let insert: JSON = [task("half"), large("large", bytes: 400_000), task("half")]
      let save: JSON = ["insert": insert, "transaction": "0f8fad5b-d9cb-469f-a165-708677289501"]
      let error = try peer.answer(try peer.request("save", save))["error"]
      #expect(error?["code"] == 1402, "\(number)")
      #expect(error?["data"]?["code"] == "storeFull")
      let fetched = try peer.call("fetch", ["entity": "Task"])
      #expect(fetched["token"] == kept)
      #expect(fetched["objects"]?.array?.map { $0["values"]?["title"] } == ["kept"])
      #expect(try peer.call("history", ["since": kept])["transactions"] == [])
      #expect(try peer.call("search", ["query": "kept"])["total"] == 1)
      try peer.call("status")
    }
    try end(child)
    let insert: JSON = [task("whole"), large("large", bytes: 400_000), task("whole")]
    let saved = try peer.call(
      "save",
      ["insert": insert, "transaction": "0f8fad5b-d9cb-469f-a165-708677289501"]
    )
    #expect(try peer.call("fetch", ["entity": "Task", "result": "count"])["count"] == 4)
    #expect(try peer.call("history", ["since": kept])["transactions"]?.array?.count == 1)
    let found = try peer.call("search", ["query": "whole", "at": saved["token"] ?? .null])
    #expect(found["total"] == 2)
    #expect(try peer.call("index/verify")["differences"] == [])
    child.stream.endInput()
    #expect(try child.exitCode() == 0)
    #expect(try ForeignClient.run(store, "PRAGMA integrity_check") == "ok\n")
  }
}

@Suite struct `A limit of file sizes` {
  private func limit(_ child: Child, _ bytes: String) throws {
    let words = ["--pid", "\(child.process)", "--fsize=\(bytes):unlimited"]
    let tool = try Child(words, program: "prlimit", input: .nothing)
    guard try tool.exitCode() == 0 else { throw Failure("prlimit: \(try tool.errorText())") }
  }

  /// It would take the space that the store needs.
  // Evidence: P-095g
  @Test func `prevents a new index beside the old one, and neither saves nor searches`() throws {
    let fixture = try Fixture()
    let child = try Child(["serve", try fixture.store()])
    let peer = Peer(child)
    let words = (0..<60_000).map { "w\($0)" }.joined(separator: " ")
    let first = try peer.call("save", ["insert": [task(words)]])["token"] ?? .null
    #expect(try peer.call("search", ["query": "w7", "at": first])["total"] == 1)
    let bytes = try #require(try peer.call("index/rebuild")["bytes"]?.integer)
    #expect(bytes > 300_000)
    try limit(child, "\(2 * bytes + 1_000_000)")
    let error = try peer.answer(try peer.request("index/rebuild", [:]))["error"]
    #expect(error?["code"] == 1402, "\(error ?? .null)")
    #expect(try peer.call("index/status")["state"] == "ready")
    let second = try peer.call("save", ["insert": [task("late")]])["token"] ?? .null
    #expect(try peer.call("search", ["query": "late", "at": second])["total"] == 1)
    try limit(child, "unlimited")
    #expect(try peer.call("index/rebuild")["documents"] == 2)
    #expect(try peer.call("index/verify")["differences"] == [])
    child.stream.endInput()
    #expect(try child.exitCode() == 0)
  }

  // Evidence: P-060a, P-101
  @Test func `refuses a save as a whole until the limit is lifted`() throws {
    let fixture = try Fixture()
    let scenario = FullDiskScenario(fixture: fixture, store: try fixture.store()) {
      try limit($0, "200000")
    } end: {
      try limit($0, "unlimited")
    }
    try scenario.check()
  }
}

@Suite(.enabled(if: Mount.isAllowed, "A small disk of its own can be mounted by root only"))
struct `A full disk` {
  private let fixture: Fixture
  private let disk: Mount
  private let store: String

  init() throws {
    fixture = try Fixture()
    disk = try Mount(fixture, megabytes: 4)
    store = try fixture.store("disk/Test.cordial")
  }

  // Evidence: P-060a, P-101
  @Test func `refuses a save as a whole until disk space is available`() throws {
    let scenario = FullDiskScenario(fixture: fixture, store: store) { _ in
      try disk.fill()
    } end: { _ in
      try disk.empty()
    }
    try scenario.check()
  }

  // Evidence: P-060a, P-066b
  @Test(arguments: Seeds.first(5))
  func `takes exactly those saves that it acknowledged`(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let child = try Child(["serve", store])
    let peer = Peer(child)
    try peer.call("status")
    try disk.fill(leaving: random.below(200_000))
    // Those that wait meanwhile are committed as groups, of which one does not fit.
    let requests = try (1...60).map { number in
      let insert = large("a", bytes: random.oneIn(2) ? 10 : random.below(40_000), priority: number)
      return try peer.request("save", ["insert": [insert, task("b", priority: number)]])
    }
    var acknowledged: [JSON?] = []
    for (index, request) in requests.enumerated() {
      let answer = try peer.answer(request)
      if answer["result"] != nil {
        acknowledged.append(.integer(Int64(index + 1)))
      } else {
        #expect(answer["error"]?["code"] == 1402, "\(Seeds.repeating(seed))")
      }
    }
    #expect(acknowledged.count < requests.count, "\(Seeds.repeating(seed))")
    child.end()
    try disk.empty()
    let again = Peer(try Child(["serve", store]))
    let fetched = try again.call("fetch", ["entity": "Task", "sort": ["priority"]])["objects"]
    let found = (fetched?.array ?? []).map { $0["values"]?["priority"] }
    #expect(found == acknowledged.flatMap { [$0, $0] }, "\(Seeds.repeating(seed))")
    let history = try again.call("history", ["limit": 100])["transactions"]
    #expect(history?.array?.count == acknowledged.count, "\(Seeds.repeating(seed))")
    #expect(try again.call("index/verify")["differences"] == [])
  }

  // Evidence: P-060a, P-101
  @Test func `takes exactly those small saves without an fsync that it acknowledged`() throws {
    let child = try Child(["serve", store])
    let peer = Peer(child)
    // The next saves of the connection are performed on the loop.
    try peer.call("save", ["insert": [task("a", priority: 0)], "durability": "normal"])
    try disk.fill(leaving: 60_000)
    var acknowledged: [JSON?] = [0]
    var refused = 0
    for number in 1...200 {
      let insert = large("a", bytes: 1000, priority: number)
      let answer = try peer.answer(
        try peer.request("save", ["insert": [insert], "durability": "normal"])
      )
      if answer["result"] != nil {
        acknowledged.append(.integer(Int64(number)))
      } else {
        refused += 1
        #expect(answer["error"]?["code"] == 1402)
      }
    }
    #expect(refused > 0)
    try disk.empty()
    try peer.call("save", ["insert": [task("z", priority: 300)], "durability": "normal"])
    acknowledged.append(300)
    child.end()
    let again = Peer(try Child(["serve", store]))
    let fetched = try again.call("fetch", ["entity": "Task", "sort": ["priority"]])["objects"]
    #expect((fetched?.array ?? []).map { $0["values"]?["priority"] } == acknowledged)
    let history = try again.call("history", ["limit": 1000])["transactions"]
    #expect(history?.array?.count == acknowledged.count)
    #expect(try again.call("index/verify")["differences"] == [])
  }

  // Evidence: P-005
  @Test func `is reported at the start, and the next start finds all data`() throws {
    let child = try Child(["serve", store])
    try Peer(child).call("save", ["insert": [task("kept")]])
    child.stream.endInput()
    #expect(try child.exitCode() == 0)
    for file in ["store.sqlite", "index.sqlite"] {
      // Without them a start has to make files.
      for suffix in ["-wal", "-shm"] { unsafe unlink("\(store)/\(file)\(suffix)") }
    }
    try disk.fill()
    let outcome = try fixture.run(["serve", store])
    #expect(outcome.code == 1)
    #expect(outcome.errors.hasPrefix("cordial: "))
    #expect(outcome.errors.contains("full"), "\(outcome.errors)")
    try disk.empty()
    let peer = Peer(try Child(["serve", store]))
    let objects = try peer.call("fetch", ["entity": "Task"])["objects"]
    #expect(objects?[0]?["values"]?["title"] == "kept")
  }

  // Evidence: P-095a, P-095g
  @Test func `delays the index only until disk space is available`() throws {
    let peer = Peer(try Child(["serve", store]))
    var token: JSON = .null
    for _ in 1...5 {
      let saved = try peer.call("save", ["insert": [large("large", bytes: 100_000)]])
      token = saved["token"] ?? .null
    }
    try peer.call("search", ["query": "large", "at": token])
    // The store's log can be written from its beginning, the index's has to grow.
    _ = try ForeignClient.run(store, "PRAGMA wal_checkpoint(PASSIVE)")
    try disk.fill()
    let saved = try peer.call("save", ["insert": [task("late")]])
    try wait(for: "paused", peer)
    #expect(try peer.call("index/status")["reason"] == "diskFull")
    #expect(try peer.call("search", ["query": "large"])["total"] == 5)
    let early = ["query": "late", "at": saved["token"] ?? .null] as JSON
    #expect(try peer.answer(try peer.request("search", early))["error"]?["code"] == 1401)
    try disk.empty()
    // It resumes without a request for it.
    try wait(for: "ready", peer)
    let found = try peer.call("search", ["query": "late", "at": saved["token"] ?? .null])
    #expect(found["total"] == 1)
    #expect(try peer.call("search", ["query": "late"])["total"] == 1)
    #expect(try peer.call("index/verify")["differences"] == [])
  }
  private func wait(for state: JSON, _ peer: Peer) throws {
    for _ in 1...300_000 where try peer.call("index/status")["state"] == state { return }
    throw Failure("the index never was \(state)")
  }
}
