import Foundation
import TestSeeds
import Testing

/// Readers that stop while others commit.
@Suite struct `A reader that stops` {
  /// The number of commits; `CORDIAL_COMMITS` sets another one, for a long run.
  private static let commits =
    ProcessInfo.processInfo.environment["CORDIAL_COMMITS"].flatMap { Int($0) } ?? 12_000
  private static let rowCount = 50
  /// The growth of the service's memory in the second half of the commits, in bytes: its caches
  /// are full by then, and an update for each commit would take several times as much.
  private static let growthMax = 8 << 20

  /// Lets a writer commit, and returns the growth of the service's memory in the second half.
  private func commit(_ daemon: Daemon) throws -> Int {
    let writer = try daemon.connect()
    // Its caches would fill when it is rebuilt, at some time of the second half.
    try writer.call("index/pause")
    var half = 0
    let group = 200
    for start in stride(from: 0, to: Self.commits, by: group) {
      if start == Self.commits / 2 { half = try daemon.residentBytes() }
      let ids = try (start..<start + group).map { number in
        try writer.request(
          "save",
          [
            "durability": "normal",
            "update": [
              [
                "id": .string("Task/p\(1 + number % Self.rowCount)"),
                "values": ["title": .string("\(number)" + String(repeating: "y", count: 200))],
              ]
            ],
          ]
        )
      }
      for id in ids { _ = try writer.answer(id) }
    }
    return try daemon.residentBytes() - half
  }

  /// Applies `changes` up to the newest commit, and compares the results.
  private func catchUp(
    _ observer: inout ResumingClient,
    _ peer: Peer,
    _ daemon: Daemon
  ) throws {
    let fetcher = try daemon.connect()
    for (request, _) in observer.states {
      let newest = try fetcher.call("fetch", request)
      while observer.position != newest["token"] { try observer.apply(try peer.changes()) }
      let rows = observer.states.first { $0.request == request }?.rows
      #expect(rows == newest["objects"]?.array)
    }
    #expect(observer.problems == [])
  }

  // Evidence: P-085a
  @Test func `costs no memory, and receives one change for the commits that it missed`() throws {
    let fixture = try Fixture()
    let daemon = try fixture.daemon(try fixture.store())
    let writer = try daemon.connect()
    let tasks = (0..<Self.rowCount).map { task("\($0)") }
    try writer.call("save", ["insert": .array(tasks)])
    let peer = try daemon.connect()
    var observer = ResumingClient([["entity": "Task", "sort": ["title"], "limit": 40]])
    try observer.resume(on: peer)
    #expect(try commit(daemon) < Self.growthMax)
    try catchUp(&observer, peer, daemon)
    // What the socket had taken is one `changes` for each commit; the rest is one.
    #expect(observer.changesCount < Self.commits / 4)
    daemon.child.end()
  }

  // Evidence: P-085a, P-085e
  @Test func `may stop in the middle of a part`() throws {
    let fixture = try Fixture()
    let daemon = try fixture.daemon(try fixture.store())
    let writer = try daemon.connect()
    let long = String(repeating: "x", count: 1000)
    let tasks = (0..<4000).map { task("\($0)" + long) }
    try writer.call("save", ["insert": .array(tasks)])
    let peer = try daemon.connect()
    var observer = ResumingClient([["entity": "Task"]])
    try observer.resume(on: peer)
    let updates = (0..<4000).map { number -> JSON in
      let values: JSON = ["title": .string("\(number)" + long + "z")]
      return ["id": .string("Task/p\(number + 1)"), "values": values]
    }
    try writer.call("save", ["update": .array(updates)])
    #expect(try commit(daemon) < Self.growthMax)
    try catchUp(&observer, peer, daemon)
    // The large commit, and all later ones together.
    #expect(observer.changesCount == 2)
    daemon.child.end()
  }
}

/// Registrations while another connection commits without a pause.
@Suite struct `Registrations under a writer` {
  // Evidence: P-080c, P-081b, P-081d
  @Test func `miss nothing and repeat nothing`() throws {
    var random = SplitMix64(seed: 1)
    let fixture = try Fixture()
    let daemon = try fixture.daemon(try fixture.store())
    let writer = try daemon.connect()
    try writer.call("save", ["insert": .array((0..<30).map { task("\($0)") })])
    let peer = try daemon.connect()
    let fetcher = try daemon.connect()
    var observer = ResumingClient([
      ["entity": "Task", "sort": ["title"]],
      ["entity": "Task", "predicate": "priority >= 2", "sort": ["-priority", "title"]],
    ])
    try observer.resume(on: peer)
    var unanswered: [Int] = []
    var sent = 0
    for round in 0..<1000 {
      // The writer always has saves under way.
      while unanswered.count < 20 {
        unanswered.append(try writer.request("save", Self.save(sent, &random)))
        sent += 1
      }
      let request: JSON = [
        "entity": "Task", "sort": ["-title"], "limit": .integer(Int64(1 + round % 7)),
        "predicate": .string("priority <= \(round % 5)"),
      ]
      let key = JSON.string("k\(round % 16)")
      let answer = try observer.observe(["fetch": request, "key": key], on: peer)
      if round % 20 == 0 {
        let expected = try fetcher.call(
          "fetch",
          request.adding("asOf", answer["token"] ?? .null)
        )
        #expect(answer["result"]?["objects"] == expected["objects"], "round \(round)")
        for (request, rows) in observer.states {
          let expected = try fetcher.call("fetch", request.adding("asOf", observer.position))
          #expect(rows == expected["objects"]?.array, "round \(round)")
        }
      }
      for id in unanswered.prefix(10) { _ = try writer.answer(id) }
      unanswered.removeFirst(10)
    }
    for id in unanswered { _ = try writer.answer(id) }
    #expect(sent > 5000)
    #expect(observer.problems == [])
    daemon.child.end()
  }

  private static func save(_ number: Int, _ random: inout SplitMix64) -> JSON {
    [
      "durability": "normal",
      "update": [
        [
          "id": .string("Task/p\(1 + random.below(30))"),
          "values": [
            "title": .string("\(random.below(100))"),
            "priority": .integer(Int64(random.below(5))),
          ],
        ]
      ],
    ]
  }
}

extension Daemon {
  /// The memory of the service that is in use, in bytes.
  fileprivate func residentBytes() throws -> Int {
    let status = try String(contentsOfFile: "/proc/\(child.process)/status", encoding: .utf8)
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
    guard let line, let kilobytes = Int(line.split(separator: " ").dropFirst().first ?? "") else {
      throw Failure("no VmRSS in \(status)")
    }
    return kilobytes << 10
  }
}
