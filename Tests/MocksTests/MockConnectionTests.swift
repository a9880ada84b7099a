import CordialService
import Engine
import JSONRPC
import Logging
import Mocks
import TestStores
import Testing
import Transport

@Suite(.timeLimit(.minutes(60))) struct `The connections of a mock` {
  private static let log = Logger(label: "mock") { _ in SwiftLogNoOpLogHandler() }
  private static let count =
    #"{"jsonrpc":"2.0","id":1,"method":"fetch","params":{"entity":"Task","result":"count"}}"# + "\n"

  private static let script = #"{"objects":[{"id":"Task/p1","values":{"title":"Buy milk"}}]}"#

  /// Serves a script, or a recording, on a socket.
  private func withMock(
    _ script: String = Self.script,
    _ limits: Limits = Limits(),
    _ body: (_ path: String, TransportLoop) async throws -> Void
  ) async throws {
    let folder = try TestFolder()
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
    try await withMock(Self.script, limits) { path, loop in
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

  /// Serves a recording, and returns the response to a request.
  private func answer(to request: String, recording: [String]) async throws -> String {
    var answer = ""
    try await withMock(recording.joined(separator: "\n")) { path, loop in
      let client = SocketClient()
      try await UnixSocketClient.connect(path: path, loop: loop, owner: client)
      client.send(Array((request + "\n").utf8))
      answer = try #require(await client.next())
    }
    return answer
  }

  // Evidence: P-141b
  @Test func `play a recording of one line`() async throws {
    let line =
      #"{"at":0,"connection":1,"from":"client","message":{"jsonrpc":"2.0","method":"exit"}}"#
    let answer = try await answer(
      to: #"{"jsonrpc":"2.0","id":1,"method":"search","params":{"query":"x"}}"#,
      recording: [line]
    )
    #expect(answer.contains("The mock has no result"), "\(answer)")
  }

  // Evidence: P-141b
  @Test func `give an error without an ID to no request`() async throws {
    let answer = try await answer(
      to: #"{"jsonrpc":"2.0","id":5,"method":"observe/list"}"#,
      recording: [
        #"{"at":0,"connection":1,"from":"client","message":"no JSON"}"#,
        #"{"at":0,"connection":1,"from":"client","message":{"id":null,"method":"observe/list"}}"#,
        #"{"at":1,"connection":1,"from":"service","message":{"id":null,"error":{"code":-32700}}}"#,
        #"{"at":1,"connection":1,"from":"service","message":{"id":null,"result":{"a":1}}}"#,
      ]
    )
    #expect(answer.contains(#""result":{"a":1}"#), "\(answer)")
  }
}
