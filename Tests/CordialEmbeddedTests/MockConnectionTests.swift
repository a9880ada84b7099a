import CordialEmbedded
import CordialService
import JSONRPC
import Logging
import TestStores
import Testing
import Transport

@Suite(.timeLimit(.minutes(60))) struct `The connections of a mock` {
  private static let log = Logger(label: "mock") { _ in SwiftLogNoOpLogHandler() }
  private static let count =
    #"{"jsonrpc":"2.0","id":1,"method":"fetch","params":{"entity":"Task","result":"count"}}"# + "\n"

  /// Serves a mock with one task on a socket.
  private func withMock(
    _ limits: Limits,
    _ body: (_ path: String, TransportLoop) async throws -> Void
  ) async throws {
    let folder = try TestFolder()
    let script = #"{"objects":[{"id":"Task/p1","values":{"title":"Buy milk"}}]}"#
    let budget = ByteBudget(processBytesMax: limits.processBytesMax)
    let stage = try await MockStage(
      try MockScript(Array(script.utf8), folder: folder.path),
      limits: limits,
      budget: budget,
      version: "0",
      log: Self.log
    )
    let settings = PeerSettings(framing: nil, isSocket: true, limits: limits, budget: budget)
    let path = folder.path + "/s"
    let listener = try await UnixSocketListener(
      path: path,
      loop: stage.engine.loop,
      owner: MockOwner(stage: stage, settings: settings, closed: { _ in }),
      stuckSecondsMax: limits.stuckSecondsMax
    )
    let loop = TransportLoop()
    try await body(path, loop)
    try await listener.close()
    try await loop.shutdown()
    try await stage.engine.close()
  }

  @Test func `tell a client that there are too many of them`() async throws {
    var limits = Limits()
    // One is that of the script.
    limits.connectionsMax = 2
    try await withMock(limits) { path, loop in
      let (first, second) = (SocketClient(), SocketClient())
      try await UnixSocketClient.connect(path: path, loop: loop, owner: first)
      first.send(Array(Self.count.utf8))
      #expect(try #require(await first.next()).contains(#""count":1"#))
      try await UnixSocketClient.connect(path: path, loop: loop, owner: second)
      let error = try #require(await second.next())
      #expect(error.contains(#""code":1302"#) && error.contains(#""limit":"connections""#))
      #expect(await second.next() == nil)
      first.send(Array(Self.count.utf8))
      #expect(try #require(await first.next()).contains(#""count":1"#))
    }
  }
}
