import CordialEmbedded
import CordialService
import JSONRPC
import Synchronization
import TestStores
import Testing
import Transport

/// A client that collects what the gate sends, until the connection ends.
private final class Client: ByteChannelOwner {
  private let channel = Mutex<ByteChannel?>(nil)
  private let text = Mutex("")
  private let changes: AsyncStream<Bool>
  private let changed: AsyncStream<Bool>.Continuation

  init() {
    (changes, changed) = AsyncStream.makeStream()
  }

  func send(_ bytes: [UInt8]) {
    channel.withLock { $0 }?.onLoop { $0.write([bytes]) }
  }

  /// Waits for the next text of the service; nil at the end of the connection.
  func next() async -> String? {
    var iterator = changes.makeAsyncIterator()
    guard await iterator.next() == true else { return nil }
    return text.withLock { text in
      defer { text = "" }
      return text
    }
  }

  func opened(_ channel: ByteChannel) { self.channel.withLock { $0 = channel } }

  func received(_ bytes: Span<UInt8>, on channel: ByteChannel) {
    text.withLock { text in
      text += String(decoding: bytes.indices.map { bytes[$0] }, as: UTF8.self)
    }
    changed.yield(true)
  }

  func inputEnded(on channel: ByteChannel) {}
  func becameWritable(_ channel: ByteChannel) {}
  func gaveUp(on channel: ByteChannel, unacceptedBytes: Int) {}

  func closed(_ channel: ByteChannel) {
    changed.yield(false)
    changed.finish()
  }
}

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
      let clients = [Client(), Client()]
      for client in clients {
        try await UnixSocketClient.connect(path: path, loop: loop, owner: client)
        client.send(Self.status)
        let answer = try #require(await client.next())
        #expect(answer.contains(#""state":"migrating""#), "\(answer)")
      }
      let refused = Client()
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
      let client = Client()
      try await UnixSocketClient.connect(path: path, loop: loop, owner: client)
      let request = #"{"jsonrpc":"2.0","id":1,"method":"fetch","params":{"entity":"Task"}}"# + "\n"
      for _ in 0..<100 { client.send(Array(String(repeating: request, count: 1000).utf8)) }
      // A request takes 256 bytes and its own.
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
