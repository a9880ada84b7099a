import CordialService
import Engine
import JSONRPC
import Mocks
import ServiceLifecycle
import Synchronization
import Transport

/// A socket on which the program listens, with the gate where clients wait until the store is open.
struct Listening {
  /// The path of the socket, as the user named it.
  let socket: String
  let loop: TransportLoop
  let gate: MigrationGate
  let listener: UnixSocketListener
}

/// The transport of the service, from its start to its end.
final class Server: ServiceLifecycle.Service {
  /// The content that answers the requests.
  enum Content {
    /// A store, with the bytes that the first peer sent before the store was open.
    case store(initialInput: [UInt8])
    case mock(MockStage)
  }

  private let engine: Engine
  private let content: Content
  private let settings: PeerSettings
  private let listening: Listening?
  /// The handler of signals that arrive while the store is being opened; nil for a mock.
  private let signals: OpeningSignals?
  private let code = Mutex<Int32>(0)

  init(
    engine: Engine,
    content: Content,
    settings: PeerSettings,
    listening: Listening?,
    signals: OpeningSignals?
  ) {
    self.engine = engine
    self.content = content
    self.settings = settings
    self.listening = listening
    self.signals = signals
  }

  private func responder(closed: @escaping @Sendable (Int32) -> Void) -> any Responder {
    switch content {
    case .store(let initialInput):
      ServingOwner(
        service: engine.service,
        settings: settings,
        initialInput: initialInput,
        closed: closed
      )
    case .mock(let stage): MockOwner(stage: stage, settings: settings, closed: closed)
    }
  }

  var exitCode: Int32 { code.withLock { $0 } }

  func run() async throws {
    guard signals?.mayServe() != false else {
      await listening?.gate.stop()
      try await listening?.listener.close()
      return
    }
    if let listening {
      try await serve(listening)
    } else {
      try await serveStandardStreams()
    }
  }

  private func serve(_ listening: Listening) async throws {
    listening.gate.open(responder(closed: { _ in }))
    Terminal.note("cordial: serving at \(listening.socket)\n")
    try await gracefulShutdown()
    try await listening.listener.close()
  }

  private func serveStandardStreams() async throws {
    let (ended, ending) = AsyncStream.makeStream(of: Int32.self)
    let owner = responder(closed: { code in
      ending.yield(code)
      ending.finish()
    })
    let streams = try await StandardStreams(
      loop: engine.loop,
      owner: owner,
      stuckSecondsMax: engine.limits.stuckSecondsMax
    )
    let code = await withGracefulShutdownHandler {
      await ended.first { _ in true } ?? 0
    } onGracefulShutdown: {
      let service = self.engine.service
      self.engine.loop.execute { service.assumeIsolated { $0.stop {} } }
    }
    try await streams.finish()
    self.code.withLock { $0 = code }
  }
}
