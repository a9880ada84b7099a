import CordialService
import JSON
import Testing

// Evidence: P-134a, P-134b, P-134c
@Suite struct `Saves of several connections` {
  @Test func `take turns, although one connection has sent hundreds before`() async throws {
    try await withHost { host in
      let busy = HostPeer(host)
      let quiet = HostPeer(host)
      try host.withBlockedWriter {
        for number in 1...300 { busy.send("save", insertTask("\(number)", author: "busy")) }
        for number in 1...10 { quiet.send("save", insertTask("\(number)", author: "quiet")) }
      }
      try host.settle()
      #expect(busy.answeredIDs == Array(1...300))
      #expect(quiet.answeredIDs == Array(1...10))
      let authors = try quiet.retainedAuthors()
      #expect(authors.count == 310)
      // With turns the quiet connection's saves are done long before half of the others.
      let last = try #require(authors.lastIndex(of: "quiet"))
      #expect(last < 150)
    }
  }

  @Test func `keep the order of each connection`() async throws {
    try await withHost { host in
      let peers = (0..<3).map { _ in HostPeer(host) }
      try host.withBlockedWriter {
        for number in 1...40 {
          for peer in peers { peer.send("save", insertTask("\(number)")) }
        }
      }
      try host.settle()
      let history = try HostPeer(host).call("history", #"{"limit":1000}"#)
      let log = (history["transactions"]?.array ?? []).compactMap { $0["token"]?.string }
      #expect(log.count == 120)
      for peer in peers {
        #expect(peer.answeredIDs == Array(1...40))
        let tokens = peer.messages.compactMap { $0["result"]?["token"]?.string }
        // The answers are in the order of the requests, and so are the commits.
        let own = Set(tokens)
        #expect(own.count == 40)
        #expect(tokens == log.filter { own.contains($0) })
      }
    }
  }

  @Test func `succeed although another save of their group fails`() async throws {
    try await withHost { host in
      let first = HostPeer(host)
      let second = HostPeer(host)
      let invalid = #"{"insert":[{"entity":"Task","values":{"priority":"high"}}]}"#
      try host.withBlockedWriter {
        first.send("save", invalid)
        second.send("save", insertTask("a"))
        first.send("save", insertTask("b"))
      }
      try host.settle()
      #expect(first.answer(to: 1)?["error"]?["code"] == 1102)
      #expect(first.answer(to: 2)?["result"] != nil)
      #expect(second.answer(to: 1)?["result"] != nil)
      #expect(try second.call("fetch", HostPeer.countTasks)["count"] == 2)
    }
  }
}

@Suite struct `Requests of one connection` {
  // Evidence: P-012a
  @Test func `are answered in their order until initialize is answered`() async throws {
    try await withHost { host in
      let peer = HostPeer(host)
      var bytes: [UInt8] = []
      for (method, params) in [
        ("save", insertTask("a")), ("model", "{}"), ("fetch", HostPeer.countTasks),
        ("nothing", "{}"), ("save", insertTask("b")), ("rpc.discover", "{}"),
        ("fetch", HostPeer.countTasks), ("status", "{}"), ("initialize", "{}"),
      ] {
        bytes += peer.request(method, params)
      }
      // Some answers need no writer, and are ready before the first save.
      try host.withBlockedWriter { peer.send(bytes: bytes) }
      try host.settle()
      #expect(peer.answeredIDs == Array(1...9))
      #expect(peer.answer(to: 3)?["result"]?["count"] == 1)
      #expect(peer.answer(to: 4)?["error"]?["code"] == -32601)
      #expect(peer.answer(to: 7)?["result"]?["count"] == 2)
    }
  }

  // Evidence: P-018a
  @Test(arguments: [false, true])
  func `read the saves before them and no save after them`(initializes: Bool) async throws {
    try await withHost { host in
      let peer = HostPeer(host)
      if initializes { _ = try peer.call("initialize") }
      var bytes: [UInt8] = []
      var fetches: [Int] = []
      for number in 1...20 {
        bytes += peer.request("save", insertTask("\(number)"))
        for _ in 1...3 {
          bytes += peer.request("fetch", HostPeer.countTasks)
          fetches.append(peer.lastID)
        }
      }
      peer.send(bytes: bytes)
      try host.run(until: "the last fetch is answered") { peer.answer(to: peer.lastID) != nil }
      try host.settle()
      let counts = fetches.compactMap { peer.answer(to: $0)?["result"]?["count"]?.integer }
      let expected = (1...20).flatMap { Array(repeating: Int64($0), count: 3) }
      #expect(counts == expected)
    }
  }

  // Evidence: P-018b, P-081d
  @Test func `run observe in order, and report the saves between two observes`() async throws {
    try await withHost { host in
      let peer = HostPeer(host)
      _ = try peer.call("initialize")
      let observe = #"{"fetch":{"entity":"Task"}}"#
      var bytes: [UInt8] = []
      for title in ["a", "b"] {
        bytes += peer.request("save", insertTask(title))
        bytes += peer.request("observe", observe)
      }
      bytes += peer.request("save", insertTask("c"))
      peer.send(bytes: bytes)
      try host.run(until: "the last save is answered") { peer.answer(to: peer.lastID) != nil }
      try host.settle()
      let first = try #require(peer.answer(to: 3)?["result"])
      let second = try #require(peer.answer(to: 5)?["result"])
      #expect(first["result"]?["count"] == 1)
      #expect(second["result"]?["count"] == 2)
      // The save between the two observes is reported between its answer and the second observe.
      let steps = peer.messages.compactMap { message -> String? in
        message["id"]?.integer.map { "\($0)" } ?? message["method"]?.string
      }
      #expect(steps == ["1", "2", "3", "4", "changes", "5", "6", "changes"])
      #expect(peer.changes.first?["from"] == first["token"])
      #expect(peer.changes.first?["token"] == second["token"])
      #expect(peer.changes.last?["from"] == second["token"])
      #expect(peer.changes.last?["updates"]?.array?.count == 2)
    }
  }
}

// Evidence: P-019b
@Suite struct `A peer that sends too much` {
  private static let limits: Limits = {
    var limits = Limits()
    // A long request takes 2,160 bytes.
    limits.inFlightBytesMax = 3000
    return limits
  }()

  private static let long = insertTask(String(repeating: "x", count: 1500))

  @Test func `is not read until its requests are answered`() async throws {
    try await withHost(limits: Self.limits) { host in
      let peer = HostPeer(host)
      let other = HostPeer(host)
      try host.withBlockedWriter {
        peer.send("save", Self.long)
        #expect(peer.events.isEmpty)
        peer.send("save", Self.long)
        #expect(peer.events == [.reading(false)])
        // Bytes that were on their way are requests too.
        peer.send("save", insertTask("late"))
        // Meanwhile other peers are served.
        let status = other.send("status")
        try host.run(until: "the other peer is answered") { other.answer(to: status) != nil }
        #expect(peer.arrivals == [.event(.reading(false))])
      }
      try host.settle()
      #expect(peer.answeredIDs == [1, 2, 3])
      #expect(peer.events == [.reading(false), .reading(true)])
      #expect(other.events.isEmpty)
      #expect(try other.call("fetch", HostPeer.countTasks)["count"] == 3)
    }
  }

  @Test func `is held again when it sends too much again`() async throws {
    try await withHost(limits: Self.limits) { host in
      let peer = HostPeer(host)
      for _ in 1...3 {
        try host.withBlockedWriter {
          for _ in 1...2 { peer.send("save", Self.long) }
        }
        try host.settle()
      }
      let once: [RecordingSink.Event] = [.reading(false), .reading(true)]
      #expect(peer.events == once + once + once)
      #expect(peer.answeredIDs == Array(1...6))
    }
  }

  @Test func `is read while few bytes are pending, however many came before`() async throws {
    try await withHost(limits: Self.limits) { host in
      let peer = HostPeer(host)
      for _ in 1...5 { _ = try peer.call("save", Self.long) }
      #expect(peer.events.isEmpty)
    }
  }
}

@Suite struct `Many requests that wait for one` {
  /// The fetches wait for the saves before them, so that all may start at once.
  // Evidence: P-018a, P-018d
  @Test func `start in the turns of all connections, in order`() async throws {
    try await withHost { host in
      _ = try HostPeer(host).call("save", insertTask("a"))
      let peers = (0..<2).map { _ in HostPeer(host) }
      let count = 3000
      try host.withBlockedWriter {
        for peer in peers {
          peer.send("save", insertTask("b"))
          for _ in 0..<count { peer.send("fetch", #"{"ids":["Task/p1"]}"#) }
        }
      }
      try host.run(until: "the second connection has results") {
        peers[1].answeredIDs.count > 1
      }
      // The first one has not had all its turns yet.
      #expect(peers[0].answeredIDs.count <= count)
      try host.settle()
      for peer in peers { #expect(peer.answeredIDs == Array(1...Int64(count + 1))) }
    }
  }
}
