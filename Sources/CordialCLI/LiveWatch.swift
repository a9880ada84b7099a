import Cordial
import CordialProtocol
import Glibc
import LiveTable
import Synchronization
import UnixSignals

/// The live table of `cordial watch` on a terminal.
///
/// When the connection to the service ends, the table stays on the screen until a new connection
/// continues the result.
struct LiveWatch {
  let store: StoreArgument
  /// The params of `observe`.
  let call: ObserveCall
  /// The request in words, for the first line.
  let title: String

  /// The minimum time between two drawings.
  private static let frame = Duration.milliseconds(40)

  /// Shows the table until a signal ends the program, or the subscription ends.
  ///
  /// - Throws: `ClientError` or `StoreError`; a lost connection to a socket is no error.
  func run() async throws {
    let screen = LiveScreen()
    defer { screen.leave() }
    let signals = await LiveScreen.signals()
    try await store.withClient { client in
      let events = EventQueue()
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask {
          for await signal in signals {
            if signal != .sigwinch { screen.end(signal) }
            events.add(.redraw)
          }
        }
        group.addTask {
          for await state in client.states { events.add(.connection(state)) }
        }
        defer { group.cancelAll() }
        client.observe(call) { events.add(.subscription($0)) }
        try await show(events, on: screen)
      }
    }
  }

  /// Shows the result after each event.
  ///
  /// While more events wait, shows the result at most once per `frame`.
  private func show(_ events: EventQueue, on screen: LiveScreen) async throws {
    let clock = ContinuousClock()
    var result = LiveResult()
    var isConnected = true
    var shown = clock.now - Self.frame
    for await event in events.stream {
      let isLast = events.take()
      switch event {
      case .subscription(.result(let whole, _)): result.replace(whole)
      case .subscription(.update(let update, _)): result.apply(update)
      case .subscription(.failure(let error)): throw error
      case .connection(.closed): throw InputError(message: "The service ended the connection")
      case .connection(let state): isConnected = state == .connected
      case .redraw: break
      }
      guard result.isKnown, isLast || clock.now - shown >= Self.frame else { continue }
      screen.show(result, isConnected ? title : "\(title)  (not connected, trying again)")
      shown = clock.now
    }
  }
}

/// An event that changes the screen.
private enum Event: Sendable {
  case subscription(SubscriptionEvent)
  case connection(Client.ConnectionState)
  /// A change of the terminal's size, after which the table is drawn again.
  case redraw
}

/// A queue of the table's events with the count of waiting events.
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

  /// Removes an event from the count and returns whether no event waits.
  func take() -> Bool {
    waiting.withLock { count in
      count -= 1
      return count == 0
    }
  }
}

/// The alternate screen of a terminal; the main screen stays unchanged.
final class LiveScreen: Sendable {
  let hasColors = unsafe getenv("NO_COLOR") == nil

  init() {
    // A suspended program would leave the alternate screen to the shell.
    Glibc.signal(SIGTSTP, SIG_IGN)
    // Enters the alternate screen, without a cursor and without line wrap.
    Terminal.raw("\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l")
  }

  /// Returns the signals that end the program or change the size of the terminal.
  static func signals() async -> UnixSignalsSequence {
    await UnixSignalsSequence(trapping: .sigint, .sigterm, .sighup, .sigquit, .sigwinch)
  }

  /// Returns to the main screen.
  func leave() {
    Terminal.raw("\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l")
  }

  /// Restores the terminal, and ends the program with the default action of the signal.
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

  /// Shows lines; the terminal cuts long lines, because line wrap is off.
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
