import CordialService
import JSON
import JSONRPC
import Testing

/// A protocol of the test's own is a value: the service is not changed for it.
@Suite struct `A dialect of the test's own` {
  private static let dialect = Dialect(
    framing: .line,
    needsHandshake: true,
    keepsOrder: false,
    allowsBatches: false,
    shutdown: nil,
    exit: nil,
    needsShutdown: false,
    cancellation: Dialect.Cancellation(method: "notifications/cancelled", member: "requestId"),
    results: ["ping": ["pong": true]]
  )

  @Test func `answers ping before the handshake, which other requests need`() async throws {
    try await withHost { host in
      let peer = HostPeer(host, dialects: [Self.dialect])
      #expect(try peer.call("ping") == ["pong": true])
      #expect(try peer.call("status")["code"] == -32002)
      #expect(try peer.call("initialize")["capabilities"] != nil)
      #expect(try peer.call("ping") == ["pong": true])
      #expect(try peer.call("fetch", HostPeer.countTasks)["count"] == 0)
      // Without a method for it, the end of the input ends the connection in order.
      peer.notify("exit")
      #expect(try peer.call("ping") == ["pong": true])
      peer.endInput()
      try host.settle()
      #expect(peer.events.last == .closed(exitCode: 0))
    }
  }

  @Test func `ignores the cancellation of other dialects`() async throws {
    try await withHost { host in
      let peer = HostPeer(host, dialects: [Self.dialect])
      _ = try peer.call("initialize")
      let readers = try host.blockReaders()
      let id = peer.send("fetch", #"{"entity":"Task","predicate":"title CONTAINS 'a'"}"#)
      Self.cancel(id, "$/cancelRequest", "id", peer)
      Self.cancel(id, "notifications/cancelled", "id", peer)
      for reader in readers { reader.release() }
      try host.settle()
      #expect(peer.answer(to: id)?["result"]?["objects"] == [])
    }
  }

  private static func cancel(_ id: Int, _ method: String, _ member: String, _ peer: HostPeer) {
    let text = #"{"jsonrpc":"2.0","method":"\#(method)","params":{"\#(member)":\#(id)}}"# + "\n"
    peer.send(bytes: Array(text.utf8))
  }

  @Test func `has no batches`() async throws {
    try await withHost { host in
      let peer = HostPeer(host, dialects: [Self.dialect])
      peer.send(bytes: Array(#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#.utf8) + [0x0A])
      try host.settle()
      #expect(peer.messages.first?["error"]?["code"] == -32600)
    }
  }

  @Test func `cancels by a notification of its own`() async throws {
    try await withHost { host in
      let peer = HostPeer(host, dialects: [Self.dialect])
      _ = try peer.call("initialize")
      let readers = try host.blockReaders()
      let id = peer.send("fetch", #"{"entity":"Task","predicate":"title CONTAINS 'a'"}"#)
      #expect(peer.answer(to: id) == nil)
      Self.cancel(id, "notifications/cancelled", "requestId", peer)
      for reader in readers { reader.release() }
      try host.settle()
      #expect(peer.answer(to: id)?["error"]?["code"] == -32800)
    }
  }
}
