import Cordial
import Glibc
import JSON
import LiveTable
import Transport
import UnixSignals

/// The live table of `cordial watch` on a terminal.
///
/// When a service's connection ends, the table stays, and another connection resumes from its
/// position.
struct LiveWatch {
  let store: StoreArgument
  /// The params of `observe`.
  let params: [JSONMember]
  /// The words of the request, for the first line.
  let title: String

  /// What the table waits for.
  private enum Event: Sendable {
    case changes(JSONValue, connection: Int)
    case ended(connection: Int)
    /// The terminal has another size.
    case resized
  }

  /// The first and the longest pause between two attempts to connect, in milliseconds.
  private static let pauseMin = 100
  private static let pauseMax = 5000

  /// Shows the table until a signal ends the program, or the subscription ends.
  ///
  /// - Throws: `ClientError`, `StoreError` or `TransportError`; a lost connection to a socket is no
  ///   error once the first result was shown.
  func run() async throws {
    let isSocket = store.isSocket
    let screen = LiveScreen()
    defer { screen.leave() }
    let signals = await UnixSignalsSequence(
      trapping: .sigint,
      .sigterm,
      .sighup,
      .sigquit,
      .sigwinch
    )
    let (events, source) = AsyncStream.makeStream(of: Event.self)
    let trap = Task {
      for await signal in signals {
        if signal != .sigwinch { screen.end(signal) }
        source.yield(.resized)
      }
    }
    defer { trap.cancel() }
    var result = LiveResult()
    var pause = Self.pauseMin
    var connection = 0
    while true {
      connection += 1
      do {
        try await follow(&result, connection, screen, events, source)
        pause = Self.pauseMin
      } catch let error where isSocket && result.token != nil && Self.isLost(error) {
        // The next attempt follows.
      }
      guard isSocket else { throw InputError(message: "The service ended the connection") }
      screen.show(result, "\(title)  (not connected, trying again)")
      try await Task.sleep(for: .milliseconds(pause))
      pause = min(2 * pause, Self.pauseMax)
    }
  }

  /// Whether another attempt to connect may succeed.
  private static func isLost(_ error: any Error) -> Bool {
    if let error = error as? ClientError { return error.code == 0 }
    return error is TransportError
  }

  /// Follows one connection to its end.
  private func follow(
    _ result: inout LiveResult,
    _ connection: Int,
    _ screen: LiveScreen,
    _ events: AsyncStream<Event>,
    _ source: AsyncStream<Event>.Continuation
  ) async throws {
    var known = result
    defer { result = known }
    // A socket's file that is gone would be opened as a store's folder.
    guard known.token == nil || store.isSocket else { throw ClientError(code: 0, message: "") }
    try await store.with(
      notified: { _, params in source.yield(.changes(params, connection: connection)) },
      whenEnded: { source.yield(.ended(connection: connection)) }
    ) { client in
      var params = params
      if let token = known.token { params.append(JSONMember("since", .string(token))) }
      known.begin(try await client.call("observe", .object(params)))
      screen.show(known, title)
      for await event in events {
        switch event {
        case .changes(let changes, connection):
          if let error = known.change(changes) { throw Self.ended(error) }
        case .ended(connection): return
        // An earlier connection says nothing any more.
        case .changes, .ended: continue
        case .resized: break
        }
        screen.show(known, title)
      }
    }
  }

  /// Returns the error with which a subscription has ended.
  private static func ended(_ error: JSONValue) -> ClientError {
    ClientError(
      code: Int(error["code"]?.integer ?? -1),
      message: error["message"]?.string ?? "The subscription has ended",
      data: error["data"] ?? .null
    )
  }
}

/// The second screen of a terminal, which leaves the first one as it was.
final class LiveScreen: Sendable {
  private let hasColors = unsafe getenv("NO_COLOR") == nil

  init() {
    // The second screen, without a cursor and without line wrap.
    Terminal.raw("\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l")
  }

  /// Returns to the first screen.
  func leave() {
    Terminal.raw("\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l")
  }

  /// Ends the program as the signal would have ended it, with the terminal restored.
  func end(_ signal: UnixSignal) {
    leave()
    Glibc.signal(signal.number, SIG_DFL)
    kill(getpid(), signal.number)
  }

  /// Shows a result.
  func show(_ result: LiveResult, _ title: String) {
    let size = Terminal.size
    let lines = TableLines(result, width: size.columns).lines(title: title, height: size.lines)
    var text = "\u{1B}[H"
    for (index, line) in lines.enumerated() {
      if index > 0 { text += "\r\n" }
      text += colored(line) + "\u{1B}[K"
    }
    Terminal.raw(text + "\u{1B}[J")
  }

  private func colored(_ line: TableLines.Line) -> String {
    guard hasColors, let mark = line.mark else { return line.text }
    let color =
      switch mark {
      case .inserted: "32"
      case .changed: "33"
      case .removed: "31"
      }
    return "\u{1B}[\(color)m\(line.text)\u{1B}[0m"
  }
}

extension UnixSignal {
  /// The number of a signal that the table handles.
  fileprivate var number: CInt {
    switch self {
    case .sigint: SIGINT
    case .sighup: SIGHUP
    case .sigquit: SIGQUIT
    default: SIGTERM
    }
  }
}
