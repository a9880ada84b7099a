import CordialService
import Engine
import JSONRPC
import TestStores
import Testing
import Transport

// Evidence: P-019a, P-019d
@Suite(.timeLimit(.minutes(60))) struct `The socket of a store that is migrated` {
  private static let status = Array(#"{"jsonrpc":"2.0","id":1,"method":"status"}"#.utf8) + [0x0A]

  private func withGate(
    _ limits: Limits,
    _ body: (_ path: String, TransportLoop, ByteBudget) async throws -> Void
  ) async throws {
    let folder = try TestFolder()
    let loop = TransportLoop()
    let budget = ByteBudget(processBytesMax: limits.processBytesMax)
    let gate = MigrationGate(
      loop: loop,
      settings: PeerSettings(framing: nil, isSocket: true, limits: limits, budget: budget),
      limits: limits,
      budget: budget,
      storePath: folder.path
    )
    let path = folder.path + "/s"
    let listener = try await UnixSocketListener(
      path: path,
      loop: loop,
      owner: gate,
      stuckSecondsMax: limits.stuckSecondsMax
    )
    try await body(path, loop, budget)
    try await listener.close()
    try await loop.shutdown()
  }

  @Test func `refuses more clients than connectionsMax`() async throws {
    var limits = Limits()
    limits.connectionsMax = 2
    try await withGate(limits) { path, loop, _ in
      let clients = [SocketClient(), SocketClient()]
      for client in clients {
        try await UnixSocketClient.connect(path: path, loop: loop, owner: client)
        client.send(Self.status)
        let answer = try #require(await client.next())
        #expect(answer.contains(#""state":"migrating""#), "\(answer)")
      }
      let refused = SocketClient()
      try await UnixSocketClient.connect(path: path, loop: loop, owner: refused)
      let error = try #require(await refused.next())
      #expect(error.contains(#""code":1302"#) && error.contains(#""limit":"connections""#))
      #expect(await refused.next() == nil)
      clients[1].send(Self.status)
      #expect(try #require(await clients[1].next()).contains(#""connections":2"#))
    }
  }

  @Test(arguments: ["inFlightMax", "inFlightBytesMax"])
  func `reads no more requests than`(limit: String) async throws {
    var limits = Limits()
    if limit == "inFlightMax" { limits.inFlightMax = 10 } else { limits.inFlightBytesMax = 100_000 }
    try await withGate(limits) { path, loop, budget in
      let client = SocketClient()
      try await UnixSocketClient.connect(path: path, loop: loop, owner: client)
      let request = #"{"jsonrpc":"2.0","id":1,"method":"fetch","params":{"entity":"Task"}}"# + "\n"
      for _ in 0..<100 { client.send(Array(String(repeating: request, count: 1000).utf8)) }
      // A request takes more than 256 bytes.
      let least = limit == "inFlightMax" ? 21 * 256 : 100_000
      while budget.bytes <= least { await turn(loop) }
      // A channel may pass on what it has begun to read, of the seven million bytes that were sent.
      for _ in 0..<1000 {
        await turn(loop)
        #expect(budget.bytes < least + (1 << 20))
      }
    }
  }

  /// Waits until the loop has done what it had to do.
  private func turn(_ loop: TransportLoop) async {
    await withCheckedContinuation { continuation in
      if !loop.execute({ continuation.resume() }) { continuation.resume() }
    }
  }
}
