import Cordial
import CordialProtocol
import Dispatch
import Engine
import Glibc
import JSON
import LiveTable
import UnixSignals

/// `cordial search --interactive`: a search on a terminal while a person types.
struct InteractiveSearch {
  let store: StoreArgument
  /// The initial search.
  let call: SearchCall

  /// An event that the search handles.
  private enum Event: Sendable {
    case input([UInt8])
    case answer(ClientConnection.Outcome, search: Int)
    case object(ClientConnection.Outcome, id: String, search: Int)
    case redraw
    /// The service has ended the connection.
    case ended
  }

  /// Searches until the person or a signal ends the search.
  ///
  /// - Throws: `InputError` if there is no terminal, or if the service ends the connection;
  ///   `ClientError`, `StoreError` or `TransportError`.
  func run() async throws {
    guard Terminal.isOutput, let keyboard = Keyboard() else {
      throw InputError(message: "--interactive needs a terminal")
    }
    let (events, source) = AsyncStream.makeStream(of: Event.self)
    try await store.with(for: .service, whenEnded: { source.yield(.ended) }) { client in
      try await client.catchUp()
      let signals = await LiveScreen.signals()
      let screen = LiveScreen()
      keyboard.begin { source.yield(.input($0)) }
      defer {
        keyboard.restore()
        screen.leave()
      }
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask {
          for await signal in signals {
            if signal != .sigwinch {
              keyboard.restore()
              screen.end(signal)
            }
            source.yield(.redraw)
          }
        }
        defer { group.cancelAll() }
        try await show(events, source, client, screen)
      }
    }
  }

  /// Handles keys and answers until a key ends the search.
  private func show(
    _ events: AsyncStream<Event>,
    _ source: AsyncStream<Event>.Continuation,
    _ client: ClientConnection,
    _ screen: LiveScreen
  ) async throws {
    var box = SearchBox(query: call.query)
    var reader = KeyReader()
    /// The number of the newest search; `running` is the request ID of the search that has no
    /// answer yet.
    var search = 0
    var running: Int64?
    func find() {
      // The query has changed, so the answer to the running search is not needed.
      if let running { client.notify(.cancelRequest, .object([.id: .integer(running)])) }
      search += 1
      let number = search
      guard !box.query.allSatisfy(\.isWhitespace) else {
        running = nil
        return box.show(answer: nil)
      }
      var call = call
      call.query = box.query
      if box.isStrict { call.match = .all }
      running = client.start(call) {
        source.yield(.answer($0, search: number))
      }
    }
    find()
    screen.show(box)
    for await event in events {
      switch event {
      case .input(let bytes):
        // No bytes mean that the terminal has closed and sends no more keys.
        guard !bytes.isEmpty else { return }
        for key in reader.keys(bytes) {
          switch box.press(key) {
          case .search: find()
          case .open(let id):
            let number = search
            client.start(FetchCall(ids: [id])) {
              source.yield(.object($0, id: id, search: number))
            }
          case .quit: return
          case nil: break
          }
        }
      case .answer(let outcome, search):
        running = nil
        switch outcome {
        case .success(let answer): box.show(answer: answer)
        case .failure(let error): box.show(message: error.message)
        }
      case .object(.success(let answer), let id, search):
        let object = answer[.objects]?.array?.first
        box.show(object: id, object?[.values]?.members)
      case .object(.failure(let error), _, search): box.show(message: error.message)
      // These events belong to an earlier search and its hits.
      case .answer, .object: continue
      case .redraw: break
      case .ended: throw InputError(message: "The service ended the connection")
      }
      screen.show(box)
    }
  }
}

extension LiveScreen {
  /// Shows a search, with the selected hit in reverse video.
  fileprivate func show(_ box: SearchBox) {
    let marks = hasColors ? ("\u{1B}[1;33m", "\u{1B}[22;39m") : nil
    let lines = box.lines(height: Terminal.size.lines, marks: marks).map { line in
      line.isSelected ? "\u{1B}[7m\(line.text)\u{1B}[0m" : line.text
    }
    show(lines: lines)
  }
}

/// The keyboard of a terminal in a mode that delivers each key at once, without echo.
private struct Keyboard: Sendable {
  private let former: termios

  /// Creates the keyboard of standard input, or returns nil if standard input is no terminal.
  init?() {
    var former = termios()
    guard unsafe tcgetattr(0, &former) == 0 else { return nil }
    self.former = former
  }

  /// Switches the terminal to a mode that delivers each key at once, and passes the bytes of the
  /// keys to a body.
  ///
  /// The body receives an empty array at the end of the input. It runs on a thread that ends with
  /// the program.
  func begin(_ body: @escaping @Sendable ([UInt8]) -> Void) {
    var raw = former
    raw.c_lflag &= ~tcflag_t(ICANON | ECHO)
    // Otherwise the terminal handles some keys itself, such as Control-S.
    raw.c_iflag &= ~tcflag_t(IXON | ICRNL)
    _ = unsafe tcsetattr(0, TCSANOW, &raw)
    DispatchQueue(label: "cordial.keyboard").async {
      while true {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = unsafe buffer.withUnsafeMutableBytes {
          unsafe read(0, $0.baseAddress, $0.count)
        }
        if count < 0, errno == EINTR { continue }
        body(Array(buffer.prefix(max(count, 0))))
        guard count > 0 else { return }
      }
    }
  }

  /// Restores the former mode of the terminal.
  func restore() {
    var former = former
    _ = unsafe tcsetattr(0, TCSANOW, &former)
  }
}
