import TestSeeds
import Testing

/// Clients and services that are killed, and clients that resume from what they applied.
@Suite struct `Resuming after a kill` {
  // Evidence: P-080d, P-081b, P-084b
  @Test(arguments: Seeds.first(3))
  func `the state equals a fetch at the position, and the chain has no gap`(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let fixture = try Fixture()
    let store = try fixture.store()
    var daemon = try fixture.daemon(store)
    var number = 0
    var observer = ResumingClient([
      ["entity": "Task", "sort": ["title"]],
      ["entity": "Task", "predicate": "priority >= 2", "sort": ["-priority", "title"]],
      ["entity": "Task", "sort": ["-title"], "limit": 5, "offset": 3],
    ])
    for round in 0..<40 {
      let comment: Comment = "round \(round); \(Seeds.repeating(seed))"
      let peer = try daemon.connect()
      try observer.resume(on: peer)
      let fetcher = try daemon.connect()
      for (request, rows) in observer.states {
        let expected = try fetcher.call("fetch", request.adding("asOf", observer.position))
        #expect(rows == expected["objects"]?.array, comment)
      }
      let writer = try daemon.connect()
      let inserted = task("z\(number)", priority: 4)
      try writer.request("save", ["insert": [inserted], "durability": "normal"])
      number += 1
      for _ in 0..<5 + random.below(60) {
        try writer.request("save", Self.save(number, &random))
        number += 1
      }
      // The insert is reported; the client reads the rest as far as it was sent.
      if random.oneIn(2) { try observer.apply(try peer.changes()) }
      if random.oneIn(2) {
        daemon.child.signal(9)
        while let changes = peer.changesUntilEnd() { try observer.apply(changes) }
        _ = try daemon.child.exitCode()
        daemon = try fixture.daemon(store)
      } else {
        // A client that is killed has applied whole changes only.
        peer.stream.close()
      }
    }
    #expect(observer.problems == [], "\(Seeds.repeating(seed))")
    #expect(number > 100)
    daemon.child.end()
  }

  private static func save(_ number: Int, _ random: inout SplitMix64) -> JSON {
    let values: JSON = [
      "title": .string(["a", "b", "c", "d"][random.below(4)] + "\(number)"),
      "priority": .integer(Int64(random.below(5))),
    ]
    guard number > 8, random.oneIn(2) else {
      return ["insert": [["entity": "Task", "values": values]], "durability": "normal"]
    }
    let id: JSON = .string("Task/p\(1 + random.below(number))")
    // An object that was deleted is left out by its update, which is then refused.
    return random.oneIn(4)
      ? ["delete": [id], "durability": "normal"]
      : ["update": [["id": id, "values": values]], "durability": "normal"]
  }
}

extension Peer {
  /// The params of the next whole `changes`; nil at the end of the connection, where the service may
  /// have been killed in the middle of a message.
  fileprivate func changesUntilEnd() -> JSON? {
    do { return try changes() } catch { return nil }
  }
}
