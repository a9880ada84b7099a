import CordialService
import JSON
import JSONRPC
import Testing

/// Expects that an answer is the error of a limit.
private func checkExceeded(
  _ error: JSONValue?,
  _ limit: String,
  max: Int64,
  sourceLocation: SourceLocation = #_sourceLocation
) {
  #expect(error?["code"]?.integer == 1302, sourceLocation: sourceLocation)
  #expect(error?["data"]?["limit"]?.string == limit, sourceLocation: sourceLocation)
  #expect(error?["data"]?["max"]?.integer == max, sourceLocation: sourceLocation)
}

/// Returns the default limits with a change.
private func limits(_ change: (inout Limits) -> Void) -> Limits {
  var limits = Limits()
  change(&limits)
  return limits
}

// Evidence: P-019a
@Suite struct `The limit of connections` {
  private static let two = limits { $0.connectionsMax = 2 }

  @Test func `refuses a connection beyond it, and the others stay`() async throws {
    try await withHost(limits: Self.two) { host in
      let first = HostPeer(host)
      let second = HostPeer(host)
      let third = HostPeer(host)
      #expect(third.isRefused)
      #expect(third.isClosed)
      #expect(third.messages.count == 1)
      checkExceeded(third.messages.first?["error"], "connections", max: 2)
      for peer in [first, second] {
        let status = try peer.call("status")
        #expect(status["connections"] == 2)
        #expect(!peer.isClosed)
      }
    }
  }

  @Test func `admits a connection after another one was dropped`() async throws {
    try await withHost(limits: Self.two) { host in
      let first = HostPeer(host)
      let second = HostPeer(host)
      // Refused connections do not count, however many there are.
      for _ in 1...3 { #expect(HostPeer(host).isRefused) }
      first.disconnect()
      let third = HostPeer(host)
      let full = try third.call("status")
      #expect(full["connections"] == 2)
      #expect(HostPeer(host).isRefused)
      second.disconnect()
      let status = try third.call("status")
      #expect(status["connections"] == 1)
    }
  }

  @Test func `admits connections after others ended`() async throws {
    try await withHost(limits: Self.two) { host in
      let first = HostPeer(host)
      let second = HostPeer(host)
      first.notify("exit")
      second.endInput()
      try host.settle()
      #expect(first.isClosed)
      #expect(second.isClosed)
      for _ in 1...2 { _ = try HostPeer(host).call("status") }
      #expect(HostPeer(host).isRefused)
    }
  }
}

// Evidence: P-019a
@Suite struct `The limit of subscriptions` {
  private static let one = limits { $0.subscriptionsMax = 1 }
  private static let two = limits { $0.subscriptionsMax = 2 }
  private static let observe = #"{"ids":["Task/p1"]}"#

  @Test func `counts the subscriptions of all connections`() async throws {
    try await withHost(limits: Self.two) { host in
      let first = HostPeer(host)
      let second = HostPeer(host)
      for peer in [first, second] { try peer.observeTasks() }
      for peer in [first, second] {
        checkExceeded(try peer.call("observe", Self.observe), "subscriptions", max: 2)
      }
      #expect(try first.call("status")["subscriptions"] == 2)
    }
  }

  // Evidence: P-086b
  @Test func `admits a subscription after unobserve`() async throws {
    try await withHost(limits: Self.two) { host in
      let first = HostPeer(host)
      let second = HostPeer(host)
      let observed = try first.call("observe", Self.observe)
      let name = try #require(observed["subscription"]?.string)
      try first.observeTasks()
      checkExceeded(try second.call("observe", Self.observe), "subscriptions", max: 2)
      _ = try first.call("unobserve", #"{"subscription":"\#(name)"}"#)
      try second.observeTasks()
      checkExceeded(try second.call("observe", Self.observe), "subscriptions", max: 2)
    }
  }

  @Test func `admits subscriptions after a connection was dropped`() async throws {
    try await withHost(limits: Self.two) { host in
      let first = HostPeer(host)
      let second = HostPeer(host)
      for _ in 1...2 { try first.observeTasks() }
      checkExceeded(try second.call("observe", Self.observe), "subscriptions", max: 2)
      first.disconnect()
      for _ in 1...2 { try second.observeTasks() }
      checkExceeded(try second.call("observe", Self.observe), "subscriptions", max: 2)
      #expect(try second.call("status")["subscriptions"] == 2)
    }
  }

  @Test func `does not count an observe that fails`() async throws {
    try await withHost(limits: Self.one) { host in
      let peer = HostPeer(host)
      for _ in 1...3 {
        let refused = try peer.call("observe", #"{"fetch":{"entity":"Nothing"}}"#)
        #expect(refused["code"] == 1002)
      }
      try peer.observeTasks()
      checkExceeded(try peer.call("observe", Self.observe), "subscriptions", max: 1)
    }
  }

  @Test func `holds for observes of two connections at the same time`() async throws {
    try await withHost(limits: Self.one) { host in
      let peers = [HostPeer(host), HostPeer(host)]
      let ids = peers.map { $0.send("observe", Self.observe) }
      try host.settle()
      let answers = try zip(peers, ids).map { peer, id in try #require(peer.answer(to: id)) }
      #expect(answers.count { $0["result"] != nil } == 1)
      checkExceeded(answers.compactMap { $0["error"] }.first, "subscriptions", max: 1)
      #expect(try peers[0].call("status")["subscriptions"] == 1)
    }
  }

  // Evidence: P-084c
  @Test func `counts a subscription only once that fails during its unobserve`() async throws {
    try await withHost(limits: Self.one, stepMilliseconds: 100) { host in
      let peer = HostPeer(host)
      // Matching this pattern against sixty letters takes years.
      let fetch = #"{"entity":"Task","predicate":"title MATCHES '(x+x+)+y'"}"#
      let observed = try peer.call("observe", #"{"fetch":\#(fetch)}"#)
      let name = try #require(observed["subscription"]?.string)
      let writer = HostPeer(host)
      let save = writer.send("save", insertTask(String(repeating: "x", count: 60)))
      // The update of the subscription begins in the turn that answers the save.
      try host.run(until: "the save is answered") { writer.answer(to: save) != nil }
      let unobserve = peer.send("unobserve", #"{"subscription":"\#(name)"}"#)
      try host.run(until: "unobserve is answered") { peer.answer(to: unobserve) != nil }
      // No message names the subscription after the response to `unobserve`.
      try host.settle()
      #expect(peer.changes.isEmpty)
      #expect(try writer.call("status")["subscriptions"] == 0)
      try writer.observeTasks()
      checkExceeded(try peer.call("observe", Self.observe), "subscriptions", max: 1)
    }
  }
}

// Evidence: P-019a
@Suite struct `The limit of requests under way` {
  private static let three = limits { $0.inFlightMax = 3 }

  @Test func `refuses requests beyond it, and admits requests after the answers`() async throws {
    try await withHost(limits: Self.three) { host in
      let peer = HostPeer(host)
      try host.withBlockedWriter {
        for number in 1...5 { peer.send("save", insertTask("\(number)")) }
      }
      try host.settle()
      #expect(peer.answeredIDs == [1, 2, 3, 4, 5])
      for id in 1...3 { #expect(peer.answer(to: id)?["result"] != nil, "request \(id)") }
      for id in 4...5 { checkExceeded(peer.answer(to: id)?["error"], "inFlight", max: 3) }
      #expect(try peer.call("fetch", HostPeer.countTasks)["count"] == 3)
      try peer.saveTask("6")
    }
  }
}

// Evidence: P-019a
@Suite struct `The limit of a batch` {
  private static let three = limits { $0.batchMax = 3 }

  private static func batch(_ count: Int) -> [UInt8] {
    let elements = (1...count).map { number in
      #"{"jsonrpc":"2.0","id":\#(number),"method":"save","params":\#(insertTask("a"))}"#
    }
    return Array("[\(elements.joined(separator: ","))]\n".utf8)
  }

  @Test func `refuses a batch beyond it as a whole`() async throws {
    try await withHost(limits: Self.three) { host in
      let peer = HostPeer(host)
      peer.send(bytes: Self.batch(4))
      try host.settle()
      #expect(peer.messages.count == 1)
      #expect(peer.messages.first?["id"]?.isNull == true)
      checkExceeded(peer.messages.first?["error"], "batch", max: 3)
      let other = HostPeer(host)
      #expect(try other.call("fetch", HostPeer.countTasks)["count"] == 0)
    }
  }

  // Evidence: P-012c
  @Test func `admits a batch of its size, which is answered as one array`() async throws {
    try await withHost(limits: Self.three) { host in
      let peer = HostPeer(host)
      peer.send(bytes: Self.batch(3))
      try host.settle()
      #expect(peer.messages.count == 1)
      let answers = peer.messages.first?.array ?? []
      #expect(answers.compactMap { $0["id"]?.integer }.sorted() == [1, 2, 3])
      #expect(answers.allSatisfy { $0["result"] != nil })
    }
  }
}

// Evidence: P-019a
@Suite struct `The limit of a query` {
  private static let ten = limits { $0.queryBytesMax = 10 }

  @Test(arguments: [
    ("aaaaaaaaaa", true), ("aaaaaaaaaaa", false), ("äöüäö", true), ("äöüäöü", false),
  ])
  func `counts bytes`(query: String, isTaken: Bool) async throws {
    try await withHost(limits: Self.ten) { host in
      let answer = try HostPeer(host).call("search", #"{"query":"\#(query)"}"#)
      if isTaken {
        #expect(answer["total"] == 0)
      } else {
        checkExceeded(answer, "queryBytes", max: 10)
      }
    }
  }
}

// Evidence: P-007b
@Suite struct `The time limit of a stop` {
  private static let seconds = limits { $0.stopSecondsMax = 3 }

  @Test func `cuts a peer that does not read its answers`() async throws {
    try await withHost(limits: Self.seconds) { host in
      let peer = HostPeer(host)
      peer.stopReading()
      peer.send("status")
      try host.settle()
      host.enter { $0.stop {} }
      try host.advance(milliseconds: 2999)
      #expect(peer.arrivals.isEmpty)
      try host.advance(milliseconds: 1)
      #expect(peer.arrivals == [.event(.abort)])
    }
  }

  // Evidence: P-007a
  @Test func `does not cut a peer whose answer is still being made`() async throws {
    try await withHost(limits: Self.seconds) { host in
      let (slow, other) = (HostPeer(host), HostPeer(host))
      let readers = try host.blockReaders()
      let request = slow.send("status")
      other.stopReading()
      host.enter { $0.stop {} }
      for _ in 0..<5 { host.fireTimers(milliseconds: 1000) }
      #expect(slow.arrivals.isEmpty)
      for reader in readers { reader.release() }
      try host.settle()
      // Its time was over before it could begin.
      #expect(slow.answer(to: request)?["error"]?["data"]?["code"] == "closed")
      #expect(slow.isClosed)
    }
  }

  // Evidence: P-007b
  @Test func `begins again for an answer that was still being made`() async throws {
    try await withHost(limits: Self.seconds) { host in
      // A transport ends a connection after the peer has read all of it, and this one never does.
      let sink = RecordingSink()
      let session = try #require(host.connect(sink, framing: .line))
      func events() -> [RecordingSink.Event] {
        sink.takeEvents().filter { if case .wrote = $0 { false } else { true } }
      }
      let readers = try host.blockReaders()
      host.send(Array("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"status\"}\n".utf8), to: session)
      host.enter { $0.stop {} }
      host.fireTimers(milliseconds: 2999)
      #expect(events() == [])
      for reader in readers { reader.release() }
      try host.settle()
      #expect(events() == [.closed(exitCode: 0)])
      try host.advance(milliseconds: 3000)
      #expect(events() == [])
      try host.advance(milliseconds: 1)
      #expect(events() == [.abort])
      host.enter { $0.disconnected(session: session) }
    }
  }
}
