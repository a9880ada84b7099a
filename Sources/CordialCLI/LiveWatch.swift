import Cordial
import CordialProtocol
import Glibc
import JSON
import LiveTable
import Synchronization
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

  private let clock = ContinuousClock()

  init(store: StoreArgument, params: [JSONMember], title: String) {
    self.store = store
    self.params = params
    self.title = title
  }

  /// The first and the longest pause between two attempts to connect, in milliseconds.
  private static let pauseMin = 100
  private static let pauseMax = 5000
  /// The shortest time between two drawings.
  private static let frame = Duration.milliseconds(40)

  /// Shows the table until a signal ends the program, or the subscription ends.
  ///
  /// - Throws: `ClientError`, `StoreError` or `TransportError`; a lost connection to a socket is no
  ///   error once the first result was shown.
  func run() async throws {
    let isSocket = store.isSocket
    let screen = LiveScreen()
    defer { screen.leave() }
    let signals = await LiveScreen.signals()
    let events = EventQueue()
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        for await signal in signals {
          if signal != .sigwinch { screen.end(signal) }
          events.add(.redraw)
        }
      }
      defer { group.cancelAll() }
      try await show(on: screen, events, isSocket: isSocket)
    }
  }

  /// Shows one connection after another.
  private func show(on screen: LiveScreen, _ events: EventQueue, isSocket: Bool) async throws {
    var result = LiveResult()
    var pause = Self.pauseMin
    var connection = 0
    while true {
      connection += 1
      do {
        try await follow(&result, connection, screen, events)
        pause = Self.pauseMin
      } catch let error where isSocket && result.token != nil && Self.isLost(error) {
        // The next attempt follows.
      }
      guard isSocket else { throw InputError(message: "The service ended the connection") }
      screen.show(result, "\(title)  (not connected, trying again)")
      try await clock.sleep(for: .milliseconds(pause))
      pause = min(2 * pause, Self.pauseMax)
    }
  }

  /// Whether another attempt to connect may succeed.
  private static func isLost(_ error: any Error) -> Bool {
    if let error = error as? ClientError { return error.code == .connectionEnded }
    return error is TransportError
  }

  /// Follows one connection to its end.
  private func follow(
    _ result: inout LiveResult,
    _ connection: Int,
    _ screen: LiveScreen,
    _ events: EventQueue
  ) async throws {
    var known = result
    defer { result = known }
    // A deleted socket file would be opened as a store's folder.
    guard known.token == nil || store.isSocket else {
      throw ClientError(code: .connectionEnded, message: "")
    }
    try await store.with(
      notified: { _, params in events.add(.changes(params, connection: connection)) },
      whenEnded: { events.add(.ended(connection: connection)) }
    ) { client in
      var params = params
      if let since = known.resumption { params.append(JSONMember("since", .string(since))) }
      known.begin(try await client.call(.observe, .object(params)))
      screen.show(known, title)
      var shown = clock.now
      for await event in events.stream {
        let isLast = events.take()
        switch event {
        case .changes(let changes, connection):
          if let error = known.change(changes) { throw Self.ended(error) }
        case .ended(connection): return
        // Events of earlier connections are ignored.
        case .changes, .ended: continue
        case .redraw: break
        }
        // Changes that come fast are shown together.
        guard isLast || clock.now - shown >= Self.frame else { continue }
        screen.show(known, title)
        shown = clock.now
      }
    }
  }

  /// Returns the error with which a subscription has ended.
  private static func ended(_ error: JSONValue) -> ClientError {
    ClientError(
      code: .init(rawValue: Int(error["code"]?.integer ?? -1)),
      message: error["message"]?.string ?? "The subscription has ended",
      data: error["data"] ?? .null
    )
  }
}

/// What the table waits for.
private enum Event: Sendable {
  case changes(JSONValue, connection: Int)
  case ended(connection: Int)
  /// The table has to be shown again.
  case redraw
}

/// The events of all connections, with the number of those that wait.
private final class EventQueue: Sendable {
  let stream: AsyncStream<Event>
  private let source: AsyncStream<Event>.Continuation
  private let waiting = Mutex(0)

  init() {
    (stream, source) = AsyncStream.makeStream(of: Event.self)
  }

  func add(_ event: Event) {
    waiting.withLock { $0 += 1 }
    source.yield(event)
  }

  /// Counts an event that was taken; returns whether no other one waits.
  func take() -> Bool {
    waiting.withLock { count in
      count -= 1
      return count == 0
    }
  }
}

/// The second screen of a terminal; the first one stays unchanged.
final class LiveScreen: Sendable {
  let hasColors = unsafe getenv("NO_COLOR") == nil

  init() {
    // A suspended program would leave the second screen to the shell.
    Glibc.signal(SIGTSTP, SIG_IGN)
    // The second screen, without a cursor and without line wrap.
    Terminal.raw("\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l")
  }

  /// Returns the signals that end the program or change the size of the terminal.
  static func signals() async -> UnixSignalsSequence {
    await UnixSignalsSequence(trapping: .sigint, .sigterm, .sighup, .sigquit, .sigwinch)
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
    let lines = TableLines(result, width: size.columns, height: size.lines).lines(title: title)
    show(lines: lines.map(colored))
  }

  /// Shows lines, of which the terminal cuts long ones.
  func show(lines: [String]) {
    var text = "\u{1B}[H"
    for (index, line) in lines.enumerated() {
      if index > 0 { text += "\r\n" }
      text += line + "\u{1B}[K"
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
