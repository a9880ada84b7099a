import CordialService
import JSON
import JSONRPC
import Testing

// Evidence: P-019a
@Suite struct `The memory of observed results` {
  private static let limits: Limits = {
    var limits = Limits()
    limits.observedBytesMax = 6000
    return limits
  }()

  private static let tasks = #"{"fetch":{"entity":"Task"}}"#

  /// Saves tasks with short titles.
  private static func save(_ count: Int, _ peer: HostPeer) throws {
    let task = #"{"entity":"Task","values":{"title":"a"}}"#
    let inserts = Array(repeating: task, count: count).joined(separator: ",")
    _ = try peer.call("save", #"{"insert":[\#(inserts)]}"#)
  }

  @Test func `beyond the limit fails the observe, and the others stay`() async throws {
    try await withHost(limits: Self.limits) { host in
      let peer = HostPeer(host)
      try Self.save(10, peer)
      _ = try peer.call("observe", #"{"fetch":{"entity":"Group"}}"#)
      let writer = HostPeer(host)
      // A result has 8 bytes for each object.
      try Self.save(1000, writer)
      let error = try peer.call("observe", Self.tasks)
      #expect(error["code"] == 1302)
      #expect(error["data"]?["limit"] == "observedBytes")
      #expect(try peer.call("status")["subscriptions"] == 1)
    }
  }

  // Evidence: P-084c
  @Test func `beyond the limit ends the largest subscription`() async throws {
    try await withHost(limits: Self.limits) { host in
      let peer = HostPeer(host)
      _ = try peer.call("observe", #"{"fetch":{"entity":"Group"}}"#)
      _ = try peer.call("observe", Self.tasks)
      try Self.save(1000, HostPeer(host))
      try host.settle()
      let ends = peer.changes.flatMap { $0["updates"]?.array ?? [] }.filter { $0["error"] != nil }
      #expect(ends.compactMap { $0["subscription"]?.string } == ["s2"])
      #expect(ends.first?["error"]?["data"]?["limit"] == "observedBytes")
      #expect(try peer.call("status")["subscriptions"] == 1)
    }
  }

  // Evidence: P-019d
  @Test(arguments: [0, 64])
  func `is a part of the memory of the process`(recentMax: Int) async throws {
    var limits = Limits()
    limits.recentMax = recentMax
    try await withHost(limits: limits) { host in
      let (peer, other) = (HostPeer(host), HostPeer(host))
      try Self.save(1000, peer)
      try host.settle()
      let before = host.enter { $0.budget.bytes }
      for observer in [peer, other] { _ = try observer.call("observe", Self.tasks) }
      try host.settle()
      // Both observe one result.
      let one = host.enter { $0.budget.bytes } - before
      #expect((8000..<16_000).contains(one))
      try Self.save(1000, peer)
      try host.settle()
      #expect(host.enter { $0.budget.bytes } - before > 2 * 8000)
      for observer in [peer, other] {
        _ = try observer.call("unobserve", #"{"subscription":"s1"}"#)
      }
      try host.settle()
      // A recent result is kept for those that observe it again.
      let kept = host.enter { $0.budget.bytes } - before
      #expect(recentMax == 0 ? kept == 0 : kept > 2 * 8000)
    }
  }

  // Evidence: P-019d
  @Test func `counts former results until their peers have later ones`() async throws {
    try await withHost { host in
      let (writer, slow, slower) = (HostPeer(host), HostPeer(host), HostPeer(host))
      let reader = HostPeer(host)
      try Self.save(1000, writer)
      for observer in [slow, slower, reader] { _ = try observer.call("observe", Self.tasks) }
      try host.settle()
      let before = host.enter { $0.budget.bytes }
      for observer in [slow, slower] { observer.stopReading() }
      try Self.save(1, writer)
      try host.settle()
      // Both have the former result, which takes 8 bytes for each object.
      let growth = host.enter { $0.budget.bytes } - before
      #expect((8000..<16_000).contains(growth))
      for observer in [slow, slower] { observer.resumeReading() }
      try host.settle()
      #expect(host.enter { $0.budget.bytes } - before < 1000)
    }
  }

  // Evidence: P-019d
  @Test func `counts beside the documents of the index, which take a quarter at most`()
    async throws
  {
    let model = """
      {"name": "Found", "entities": [
        {"name": "Task", "attributes": [{"name": "title", "type": "string"}],
         "spotlight": {"displayName": "title"}}]}
      """
    var limits = Limits()
    limits.processBytesMax = 1 << 20
    try await withHost(model: model, limits: limits) { host in
      let peer = HostPeer(host)
      try host.settle()
      #expect(host.enter { $0.budget.bytes } == 0)
      try Self.save(1, peer)
      try host.settle()
      // A document has at least the number of its object.
      #expect((8..<1 << 18).contains(host.enter { $0.budget.bytes }))
      for _ in 1...150 { try Self.save(100, peer) }
      try host.settle()
      #expect(host.enter { $0.budget.bytes } == 1 << 18)
    }
  }

  // Evidence: P-019d
  @Test func `counts while it is read`() async throws {
    var limits = Limits()
    limits.processBytesMax = 100_000
    try await withHost(limits: limits) { host in
      let (writer, peer) = (HostPeer(host), HostPeer(host))
      for _ in 1...150 { try Self.save(100, writer) }
      // Nothing but the numbers of its rows takes memory.
      let error = try peer.call("observe", #"{"mode":"signal","fetch":{"entity":"Task"}}"#)
      #expect(error["code"] == 1302)
      #expect(error["data"]?["limit"] == "processBytes")
      try host.settle()
      #expect(host.enter { $0.budget.bytes } == 0)
    }
  }

  /// What a peer that reads nothing still has is held too.
  // Evidence: P-084c
  @Test func `beyond the limit ends the subscriptions of peers that read nothing`() async throws {
    var limits = Limits()
    limits.observedBytesMax = 24_000
    try await withHost(limits: limits) { host in
      let (slow, other, writer) = (HostPeer(host), HostPeer(host), HostPeer(host))
      try Self.save(1000, writer)
      _ = try slow.call("observe", Self.tasks)
      _ = try slow.call("observe", #"{"fetch":{"entity":"Group"}}"#)
      _ = try other.call("observe", Self.tasks)
      slow.stopReading()
      // One update is on its way to the peer, and the next ones wait for it.
      for _ in 1...3 { try Self.save(10, writer) }
      try host.settle()
      #expect(try writer.call("status")["subscriptions"] == 3)
      // The result that the peer has and the new one do not fit together.
      try Self.save(1000, writer)
      try host.settle()
      #expect(try writer.call("status")["subscriptions"] == 2)
      slow.resumeReading()
      try host.settle()
      let ends = slow.changes.flatMap { $0["updates"]?.array ?? [] }.filter { $0["error"] != nil }
      #expect(ends.compactMap { $0["subscription"]?.string } == ["s1"])
      #expect(ends.first?["error"]?["data"]?["limit"] == "observedBytes")
      let updates = other.changes.flatMap { $0["updates"]?.array ?? [] }
      #expect(updates.allSatisfy { $0["error"] == nil })
    }
  }
}
