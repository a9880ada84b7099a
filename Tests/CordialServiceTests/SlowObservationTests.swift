import CordialService
import Dispatch
import Foundation
import JSON
import PersistentStore
import Synchronization
import TestStores
import Testing

@Suite struct `An observed request that takes long` {
  private static let observe =
    #"{"fetch":{"entity":"Task","predicate":"\#(Slow.predicate)"}}"#

  private func limits() -> Limits {
    var limits = Limits()
    limits.requestSecondsMax = 1
    return limits
  }

  // Evidence: P-084c
  @Test func `ends its subscription, and others receive their changes meanwhile`() async throws {
    try await onOwnThread {
      var options = ServiceHost.Options()
      options.limits = self.limits()
      options.stepMilliseconds = 20
      options.readersMax = 8
      let host = try ServiceHost(model: TestModels.todo, options)
      let slow = HostPeer(host)
      let other = HostPeer(host)
      let name = try #require(try slow.call("observe", Self.observe)["subscription"]?.string)
      _ = try slow.call("observe", #"{"fetch":{"entity":"Group"}}"#)
      _ = try other.call("observe", #"{"fetch":{"entity":"Task"}}"#)
      let writer = HostPeer(host)
      writer.send("save", insertTask(Slow.text))
      try host.run(until: "the other client has its changes") { !other.changes.isEmpty }
      #expect(slow.changes.isEmpty)
      writer.send("save", insertTask("c"))
      try host.run(until: "the other client has more") { other.changes.count == 2 }
      try host.run(until: "the subscription has ended") { !slow.changes.isEmpty }
      let update = try #require(slow.changes.first?["updates"]?.array?.first)
      #expect(update["subscription"] == .string(name))
      #expect(update["error"]?["code"] == 1303)
      // The connection's other subscription goes on.
      _ = try writer.call("save", #"{"insert":[{"entity":"Group"}]}"#)
      try host.run(until: "the other subscription has changes") {
        slow.changes.last?["updates"]?.array?.first?["subscription"] == "s2"
      }
      try host.close()
    }
  }

  // Evidence: P-084c
  @Test func `has its changes after those of others, where it ends in time`() async throws {
    try await onOwnThread {
      var options = ServiceHost.Options()
      // Each first attempt is postponed.
      options.stepMilliseconds = 0
      let host = try ServiceHost(model: TestModels.todo, options)
      let peer = HostPeer(host)
      let observe = #"{"fetch":{"entity":"Task","predicate":"title MATCHES '.*b'"}}"#
      _ = try peer.call("observe", observe)
      let writer = HostPeer(host)
      for title in ["ab", "c", "b"] { _ = try writer.call("save", insertTask(title)) }
      try host.settle()
      let titles = peer.changes.flatMap { message in
        message["updates"]?.array?.first?["insert"]?.array ?? []
      }.compactMap { $0["object"]?["values"]?["title"]?.string }
      #expect(titles == ["ab", "b"])
      try host.close()
    }
  }
}

@Suite struct `A flush of an observed request that takes long` {
  /// The flush itself brings the request to the newest commit, because the client's period of
  /// coalescing has not ended.
  // Evidence: P-086c
  @Test func `is answered after what its own step left out`() async throws {
    try await onOwnThread {
      var options = ServiceHost.Options()
      // Each first attempt is postponed.
      options.stepMilliseconds = 0
      let host = try ServiceHost(model: TestModels.todo, options)
      let (peer, writer) = (HostPeer(host), HostPeer(host))
      _ = try peer.call("initialize", #"{"cordial":{"coalesce":60000}}"#)
      _ = try peer.call("observe", #"{"fetch":{"entity":"Group"},"mode":"ids"}"#)
      _ = try peer.call(
        "observe",
        #"{"fetch":{"entity":"Task","predicate":"title MATCHES '.*b'"},"mode":"ids"}"#
      )
      _ = try writer.call("save", #"{"insert":[{"entity":"Group"}]}"#)
      try host.run(until: "the period has begun") { !peer.changes.isEmpty }
      _ = try writer.call("save", insertTask("ab"))
      _ = try peer.call("observe/flush", "{}")
      let names = peer.changes.flatMap { $0["updates"]?.array ?? [] }.map { $0["subscription"] }
      #expect(names == ["s1", "s2"])
      try host.close()
    }
  }
}

@Suite struct `An observed request that was read alone while a step ran` {
  // Evidence: P-080d, P-084c
  @Test func `has the changes of the step`() async throws {
    try await onOwnThread {
      let entered = DispatchSemaphore(value: 0)
      let isOpen = Mutex(false)
      var options = ServiceHost.Options()
      options.stepMilliseconds = 20
      options.computedValues = [
        "slow": { object in
          entered.signal()
          while !object.isStopped, !isOpen.withLock({ $0 }) {}
          return object.values["title"] ?? .null
        }
      ]
      let host = try ServiceHost(model: computedModel, options)
      let (peer, other, writer) = (HostPeer(host), HostPeer(host), HostPeer(host))
      let fetch = #"{"entity":"Task","predicate":"slow ==[l] 'x'"}"#
      _ = try peer.call("observe", #"{"fetch":\#(fetch),"mode":"ids"}"#)
      // The loop performs no step of such a request.
      _ = try other.call("observe", #"{"fetch":{"entity":"Task"},"before":true}"#)
      writer.send("save", insertTask("x"))
      try host.run(until: "the other connection has its changes") { !other.changes.isEmpty }
      // In the step, and then alone.
      for _ in 1...2 { try #require(entered.wait(timeout: .now() + 60) == .success) }
      let blocked = host.blockReader()
      try host.waitUntilBlocked(blocked)
      let update = #"{"update":[{"id":"Task/p1","values":{"title":"y"}}]}"#
      let saved = writer.send("save", update)
      try host.run(until: "the save is answered") { writer.answer(to: saved) != nil }
      // A step waits for a reader, and gets that of the request, which ends before it.
      isOpen.withLock { $0 = true }
      try host.run(until: "the other connection has more") { other.changes.count == 2 }
      blocked.release()
      try host.settle()
      let updates = peer.changes.flatMap { $0["updates"]?.array ?? [] }
      let inserted = updates.flatMap { $0["insert"]?.array ?? [] }.count
      let removed = updates.flatMap { $0["remove"]?.array ?? [] }.count
      #expect(inserted == removed)
      try host.close()
    }
  }
}

@Suite struct `An observed request whose time ends in a comparison` {
  private static let stepMilliseconds = 1

  /// Answers the title when the time of a step is over.
  private static let slow: ComputedValue = { object in
    let start = ContinuousClock.now
    while start.duration(to: .now) <= .milliseconds(2 * stepMilliseconds) {}
    return object.values["title"] ?? .null
  }

  // Evidence: P-084c
  @Test func `gives no wrong result`() async throws {
    try await onOwnThread {
      var options = ServiceHost.Options()
      options.stepMilliseconds = Self.stepMilliseconds
      options.computedValues = ["slow": Self.slow]
      let host = try ServiceHost(model: computedModel, options)
      let peer = HostPeer(host)
      _ = try peer.call("observe", #"{"fetch":{"entity":"Task","predicate":"slow ==[l] 'x'"}}"#)
      let writer = HostPeer(host)
      for title in ["a", "x"] {
        _ = try writer.call("save", insertTask(title))
        _ = try peer.call("observe/flush", "{}")
      }
      let titles = peer.changes.flatMap { message in
        message["updates"]?.array?.first?["insert"]?.array ?? []
      }.compactMap { $0["object"]?["values"]?["title"]?.string }
      #expect(titles == ["x"])
      try host.close()
    }
  }
}

@Suite struct `Observed requests that take long together` {
  private static let stepMilliseconds = 50
  private static let count = 40

  /// Returns a computed value that has the title after some time.
  private static func slow(milliseconds: Int) -> ComputedValue {
    { object in
      let start = ContinuousClock.now
      while start.duration(to: .now) <= .milliseconds(milliseconds) {}
      return object.values["title"] ?? .null
    }
  }

  /// Sends saves of one object that follow each other, until a peer has changes.
  private static func save(_ host: ServiceHost, _ other: HostPeer, until peer: HostPeer) throws {
    let writer = HostPeer(host)
    for number in 0...100_000 where peer.changes.isEmpty {
      let update = #"{"update":[{"id":"Task/p1","values":{"title":"\#(number)"}}]}"#
      writer.send("save", number == 0 ? insertTask("0") : update)
      try host.run(until: "the other connection has its changes") {
        other.changes.count > number
      }
    }
  }

  /// Each of them is fast enough for a step.
  // Evidence: P-084c
  @Test func `have their changes after those of other connections`() async throws {
    try await onOwnThread {
      var options = ServiceHost.Options()
      options.stepMilliseconds = Self.stepMilliseconds
      options.computedValues = ["slow": Self.slow(milliseconds: Self.stepMilliseconds / 5)]
      let host = try ServiceHost(model: computedModel, options)
      let (slow, other, writer) = (HostPeer(host), HostPeer(host), HostPeer(host))
      for number in 1...Self.count {
        let predicate = "slow ==[l] 'x' OR title ==[l] '\(number)'"
        let fetch = #"{"entity":"Task","predicate":"\#(predicate)"}"#
        _ = try slow.call("observe", #"{"fetch":\#(fetch),"mode":"ids"}"#)
      }
      _ = try other.call("observe", #"{"fetch":{"entity":"Task"}}"#)
      writer.send("save", insertTask("x"))
      try host.run(until: "the other connection has its changes") { !other.changes.isEmpty }
      #expect(slow.changes.isEmpty)
      try host.run(until: "the connection has its changes") { !slow.changes.isEmpty }
      let names = slow.changes.flatMap { $0["updates"]?.array ?? [] }.map { $0["subscription"] }
      #expect(names == (1...Self.count).map { .string("s\($0)") })
      try host.close()
    }
  }

  // Evidence: P-084c
  @Test func `have their changes although commits follow each other`() async throws {
    try await onOwnThread {
      var options = ServiceHost.Options()
      options.stepMilliseconds = 20
      options.computedValues = ["slow": Self.slow(milliseconds: 10)]
      let host = try ServiceHost(model: computedModel, options)
      let (slow, other) = (HostPeer(host), HostPeer(host))
      _ = try other.call("observe", #"{"fetch":{"entity":"Task"}}"#)
      for number in 1...20 {
        let fetch = #"{"entity":"Task","predicate":"slow !=[l] 'x\#(number)'"}"#
        _ = try slow.call("observe", #"{"fetch":\#(fetch)}"#)
      }
      try Self.save(host, other, until: slow)
      let updates = slow.changes.first?["updates"]?.array ?? []
      #expect(updates.count == 20)
      #expect(updates.allSatisfy { $0["error"] == nil })
      try host.close()
    }
  }

  // Evidence: P-084c
  @Test func `end where their connection has waited as long as for a request`() async throws {
    try await onOwnThread {
      var options = ServiceHost.Options()
      options.limits.requestSecondsMax = 1
      options.stepMilliseconds = 5
      options.computedValues = ["slow": Self.slow(milliseconds: 400)]
      let host = try ServiceHost(model: computedModel, options)
      let (slow, other) = (HostPeer(host), HostPeer(host))
      _ = try other.call("observe", #"{"fetch":{"entity":"Task"}}"#)
      let fetch = #"{"entity":"Task","predicate":"slow !=[l] 'x'"}"#
      _ = try slow.call("observe", #"{"fetch":\#(fetch)}"#)
      try Self.save(host, other, until: slow)
      #expect(slow.changes.first?["updates"]?.array?.first?["error"]?["code"] == 1303)
      try host.close()
    }
  }
}

@Suite struct `An observed request with values that a function computes` {
  /// Functions of the program take as long as they want, so the loop never calls one.
  // Evidence: P-084c
  @Test(arguments: [
    #"{"entity":"Task","select":["slow"]}"#,
    #"{"entity":"Task","sort":["slow"]}"#,
    #"{"ids":["Task/p1"],"select":["slow"]}"#,
  ])
  func `is read on a thread of the store`(fetch: String) async throws {
    try await onOwnThread {
      let threads = Mutex<Set<ObjectIdentifier>>([])
      var options = ServiceHost.Options()
      options.computedValues = [
        "slow": { object in
          threads.withLock { _ = $0.insert(ObjectIdentifier(Thread.current)) }
          return object.values["title"] ?? .null
        }
      ]
      let host = try ServiceHost(model: computedModel, options)
      let (peer, writer) = (HostPeer(host), HostPeer(host))
      _ = try writer.call("save", insertTask("b"))
      _ = try peer.call("observe", #"{"fetch":\#(fetch)}"#)
      threads.withLock { $0 = [] }
      let update = #"{"update":[{"id":"Task/p1","values":{"title":"a"}}]}"#
      _ = try writer.call("save", update)
      _ = try peer.call("observe/flush", "{}")
      #expect(peer.changes.count == 1)
      let called = threads.withLock { $0 }
      #expect(!called.isEmpty)
      #expect(!called.contains(ObjectIdentifier(Thread.current)))
      try host.close()
    }
  }
}

@Suite struct `A flush that waits for an observed request` {
  // Evidence: P-086c, P-017e, P-017a
  @Test(arguments: [(true, -32800), (false, 1303)])
  func `can be stopped`(isCancelled: Bool, code: Int64) async throws {
    try await onOwnThread {
      var options = ServiceHost.Options()
      options.limits.requestSecondsMax = 3600
      options.stepMilliseconds = 20
      options.readersMax = 8
      let host = try ServiceHost(model: TestModels.todo, options)
      let peer = HostPeer(host)
      let observe = #"{"fetch":{"entity":"Task","predicate":"\#(Slow.predicate)"}}"#
      _ = try peer.call("observe", observe)
      peer.send("save", insertTask(Slow.text))
      let flush = peer.send("observe/flush", isCancelled ? "{}" : #"{"timeoutSeconds":0.2}"#)
      let next = peer.send("status")
      let other = HostPeer(host)
      let id = other.send("fetch", HostPeer.countTasks)
      try host.run(until: "the other client is answered") { other.answer(to: id) != nil }
      if isCancelled {
        peer.cancel(flush)
      } else {
        // The clock of the limit is not that of the loop, whose timers are due at once here.
        for _ in 0..<60_000 where peer.answer(to: flush) == nil {
          let due = host.loop.now + 201
          while let work = host.loop.nextTimer(through: due).work { host.loop.enter(work) }
          _ = host.loop.runNext(before: .now() + .milliseconds(1))
        }
      }
      try host.run(until: "the flush is answered") { peer.answer(to: flush) != nil }
      #expect(peer.answer(to: flush)?["error"]?["code"] == .integer(code))
      try host.run(until: "the next request is answered") { peer.answer(to: next) != nil }
      peer.disconnect()
      try host.close()
    }
  }
}
