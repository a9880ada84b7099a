import CordialService
import JSON
import JSONRPC
import Testing

@Suite struct `A connection that is dropped` {
  // Evidence: P-060a, P-081a
  @Test func `while a save is under way gets no answer, and the save is committed`() async throws {
    try await withHost { host in
      let observer = HostPeer(host)
      try observer.observeTasks()
      let dropped = HostPeer(host)
      try host.withBlockedWriter {
        dropped.send("save", insertTask("a", author: "ann"))
        dropped.disconnect()
      }
      try host.settle()
      #expect(dropped.arrivals.isEmpty)
      #expect(observer.insertedTitles == ["a"])
      #expect(observer.changes.first?["authors"] == ["ann"])
      #expect(try observer.retainedAuthors() == ["ann"])
    }
  }

  // Evidence: P-067b
  @Test func `can repeat its transaction on another connection`() async throws {
    try await withHost { host in
      let transaction = "6f9619ff-8b86-d011-b42d-00c04fc964ff"
      let save = #"{"insert":[{"id":"Task/t1"}],"transaction":"\#(transaction)"}"#
      let dropped = HostPeer(host)
      try host.withBlockedWriter {
        dropped.send("save", save)
        dropped.disconnect()
      }
      try host.settle()
      let next = HostPeer(host)
      let repeated = try next.call("save", save)
      #expect(repeated["ids"] == ["Task/t1": "Task/p1"])
      let history = try next.call("history")
      let tokens = (history["transactions"]?.array ?? []).map { $0["token"]?.string }
      #expect(tokens == [repeated["token"]?.string])
      #expect(try next.call("fetch", HostPeer.countTasks)["count"] == 1)
    }
  }

  // Evidence: P-081a
  @Test func `ends its subscriptions and no others`() async throws {
    try await withHost { host in
      let dropped = HostPeer(host)
      for _ in 1...2 { try dropped.observeTasks() }
      let stays = HostPeer(host)
      try stays.observeTasks()
      let count = dropped.arrivals.count
      dropped.disconnect()
      let status = try stays.call("status")
      #expect(status["connections"] == 1)
      #expect(status["subscriptions"] == 1)
      try stays.saveTask("a")
      #expect(dropped.arrivals.count == count)
      #expect(stays.insertedTitles == ["a"])
    }
  }

  // Evidence: P-081a
  @Test func `while its update is made does not disturb other updates`() async throws {
    try await withHost { host in
      let writer = HostPeer(host)
      let dropped = HostPeer(host)
      let stays = HostPeer(host)
      // SQL decides whether an object matches, so that a worker makes the update.
      let fetch = #"{"fetch":{"entity":"Task","predicate":"title LIKE '*'"}}"#
      for peer in [dropped, stays] { _ = try peer.call("observe", fetch) }
      let save = writer.send("save", insertTask("a"))
      // The updates of the subscriptions begin in the turn that answers the save.
      try host.run(until: "the save is answered") { writer.answer(to: save) != nil }
      dropped.disconnect()
      try host.settle()
      try writer.saveTask("b")
      #expect(dropped.changes.isEmpty)
      #expect(stays.insertedTitles == ["a", "b"])
      #expect(try writer.call("status")["connections"] == 2)
    }
  }

  // Evidence: P-019c
  @Test func `while its observe is made does not count as a subscription`() async throws {
    var limits = Limits()
    limits.subscriptionsMax = 1
    try await withHost(limits: limits) { host in
      let dropped = HostPeer(host)
      dropped.send("observe", #"{"fetch":{"entity":"Task"}}"#)
      dropped.disconnect()
      try host.settle()
      let next = HostPeer(host)
      try next.observeTasks()
      #expect(try next.call("status")["subscriptions"] == 1)
      #expect(dropped.arrivals.isEmpty)
    }
  }

  // Evidence: P-019c, P-020a
  @Test(arguments: Framing.allCases)
  func `while it initializes does not count any more`(framing: Framing) async throws {
    var limits = Limits()
    limits.connectionsMax = 1
    try await withHost(limits: limits) { host in
      let dropped = HostPeer(host, framing: framing)
      dropped.send("initialize")
      dropped.send("observe", #"{"fetch":{"entity":"Task"}}"#)
      dropped.disconnect()
      let next = HostPeer(host, framing: framing)
      try host.settle()
      #expect(dropped.arrivals.isEmpty)
      #expect(!next.isRefused)
      #expect(try next.call("initialize")["serverInfo"] != nil)
      let status = try next.call("status")
      #expect(status["connections"] == 1)
      #expect(status["subscriptions"] == 0)
    }
  }

  // Evidence: P-085c
  @Test func `while it gathers changes receives none`() async throws {
    try await withHost { host in
      let writer = HostPeer(host)
      let dropped = HostPeer(host)
      _ = try dropped.call("initialize", #"{"cordial":{"coalesce":100}}"#)
      try dropped.observeTasks()
      try writer.saveTask("first")
      try writer.saveTask("a")
      try host.advance(milliseconds: 50)
      dropped.disconnect()
      // A later connection gets nothing of the period either.
      let next = HostPeer(host)
      try next.observeTasks()
      try host.advance(milliseconds: 100)
      #expect(dropped.insertedTitles == ["first"])
      #expect(next.changes.isEmpty)
      try writer.saveTask("b")
      #expect(next.insertedTitles == ["b"])
    }
  }

  // Evidence: P-129b
  @Test func `retains no history`() async throws {
    var limits = Limits()
    limits.historyDaysMin = 0
    try await withHost(limits: limits) { host in
      let writer = HostPeer(host)
      let dropped = HostPeer(host)
      try dropped.observeTasks()
      dropped.stopReading()
      try writer.saveTask("a")
      let last = try writer.saveTask("b")
      dropped.disconnect()
      let purged = try writer.call("history/purge", #"{"keep":{"transactions":0}}"#)
      #expect(purged["token"]?.string == last)
      #expect(purged["heldBy"] == nil)
    }
  }
}

// Evidence: P-013a, P-013b, P-013c
@Suite struct `The end of a peer's input` {
  @Test func `closes with code 0 after the answers, in line framing`() async throws {
    try await withHost { host in
      let peer = HostPeer(host)
      try host.withBlockedWriter {
        for title in ["a", "b"] {
          peer.send("save", insertTask(title))
          peer.send("fetch", HostPeer.countTasks)
        }
        peer.endInput()
        #expect(!peer.isClosed)
      }
      try host.settle()
      #expect(peer.answeredIDs == [1, 2, 3, 4])
      #expect(peer.answer(to: 4)?["result"]?["count"] == 2)
      #expect(peer.events == [.closed(exitCode: 0)])
      #expect(peer.arrivals.last == .event(.closed(exitCode: 0)))
    }
  }

  @Test(arguments: [(false, 1), (true, 0)] as [(Bool, Int32)])
  func `closes with the code of its shutdown after the answers, in header framing`(
    shutsDown: Bool,
    code: Int32
  ) async throws {
    try await withHost { host in
      let peer = HostPeer(host, framing: .header)
      _ = try peer.call("initialize")
      try host.withBlockedWriter {
        peer.send("save", insertTask("a"))
        peer.send("fetch", HostPeer.countTasks)
        if shutsDown { peer.send("shutdown") }
        peer.endInput()
        #expect(!peer.isClosed)
      }
      try host.settle()
      let last: Int64 = shutsDown ? 4 : 3
      #expect(peer.answeredIDs.sorted() == Array(1...last))
      #expect(peer.answer(to: 3)?["result"]?["count"] == 1)
      #expect(peer.events == [.closed(exitCode: code)])
      #expect(peer.arrivals.last == .event(.closed(exitCode: code)))
    }
  }

  @Test func `completes the last line`() async throws {
    try await withHost { host in
      let peer = HostPeer(host)
      peer.send(bytes: Array(peer.request("save", insertTask("a")).dropLast()))
      try host.settle()
      #expect(peer.arrivals.isEmpty)
      peer.endInput()
      try host.settle()
      #expect(peer.answer(to: 1)?["result"] != nil)
      #expect(peer.events == [.closed(exitCode: 0)])
      let other = HostPeer(host)
      #expect(try other.call("fetch", HostPeer.countTasks)["count"] == 1)
    }
  }

  @Test func `closes only after a peer that does not read has taken its answers`() async throws {
    try await withHost { host in
      let peer = HostPeer(host)
      peer.stopReading()
      for _ in 1...2 { peer.send("status") }
      peer.endInput()
      try host.settle()
      #expect(!peer.isClosed)
      peer.resumeReading()
      try host.settle()
      #expect(peer.answeredIDs == [1, 2])
      #expect(peer.arrivals.last == .event(.closed(exitCode: 0)))
    }
  }

  @Test func `closes after the answer of an observe, which leaves no subscription`() async throws {
    try await withHost { host in
      let peer = HostPeer(host)
      let id = peer.send("observe", #"{"fetch":{"entity":"Task"}}"#)
      peer.endInput()
      #expect(!peer.isClosed)
      try host.settle()
      #expect(peer.answer(to: id)?["result"]?["subscription"] != nil)
      #expect(peer.arrivals.last == .event(.closed(exitCode: 0)))
      let status = try HostPeer(host).call("status")
      #expect(status["connections"] == 1)
      #expect(status["subscriptions"] == 0)
    }
  }
}

// Evidence: P-007a
@Suite struct `The stop of the process` {
  @Test(arguments: Framing.allCases)
  func `closes with code 0 after the answers`(framing: Framing) async throws {
    try await withHost { host in
      let peer = HostPeer(host, framing: framing)
      _ = try peer.call("initialize")
      try host.withBlockedWriter {
        peer.send("save", insertTask("a"))
        host.enter { $0.stop {} }
        #expect(!peer.isClosed)
      }
      try host.settle()
      #expect(peer.answer(to: 2)?["result"] != nil)
      #expect(peer.arrivals.last == .event(.closed(exitCode: 0)))
    }
  }
}
