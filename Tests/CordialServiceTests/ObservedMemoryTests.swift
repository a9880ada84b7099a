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
}
