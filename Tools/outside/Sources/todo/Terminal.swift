import Dispatch
import Foundation
import Glibc
import Synchronization
import TodoViews

/// The terminal of this process: keys, and screens of text.
@MainActor final class Terminal {
  private let former: termios
  /// The keys that the person presses, until the input ends.
  let keys: AsyncStream<Key>
  private let reader: KeyReader
  private let signals: [any DispatchSourceSignal]

  /// Whether the person or the system ends the program, whatever keys still wait.
  var isInterrupted: Bool { reader.isInterrupted.load(ordering: .relaxed) }

  /// Takes the terminal, whose state `restore` brings back.
  init() {
    let (keys, pressed) = AsyncStream.makeStream(of: Key.self)
    self.keys = keys
    let reader = KeyReader(pressed)
    self.reader = reader
    // A signal ends the program as its key does, so that it restores the terminal. Until the
    // sources are registered, a signal ends the program at once, with the terminal as it is.
    let registered = DispatchGroup()
    signals = [SIGTERM, SIGHUP, SIGINT].map { number in
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler { @Sendable in reader.interrupt() }
      registered.enter()
      source.setRegistrationHandler { @Sendable in registered.leave() }
      source.resume()
      return source
    }
    registered.wait()
    var state = termios()
    tcgetattr(0, &state)
    former = state
    cfmakeraw(&state)
    tcsetattr(0, TCSANOW, &state)
    Self.write("\u{1B}[?1049h\u{1B}[?25l")
    reader.start()
  }

  /// The number of lines and columns; 24 and 80 where the terminal does not tell them.
  var size: (lines: Int, columns: Int) {
    var size = winsize()
    guard ioctl(1, UInt(TIOCGWINSZ), &size) == 0, size.ws_row > 0, size.ws_col > 0 else {
      return (24, 80)
    }
    return (Int(size.ws_row), Int(size.ws_col))
  }

  /// Shows a screen.
  func show(_ lines: [String]) {
    Self.write("\u{1B}[H" + lines.joined(separator: "\u{1B}[K\r\n") + "\u{1B}[K\u{1B}[J")
  }

  /// Leaves the screen and the terminal as they were.
  func restore() {
    Self.write("\u{1B}[?25h\u{1B}[?1049l")
    var state = former
    tcsetattr(0, TCSANOW, &state)
  }

  private static func write(_ text: String) {
    do {
      try FileHandle.standardOutput.write(contentsOf: Data(text.utf8))
    } catch {
      // The terminal is gone; the end of its input ends the program.
    }
  }
}

/// A thread that reads keys, because reading waits.
private final class KeyReader: Sendable {
  private let pressed: AsyncStream<Key>.Continuation
  let isInterrupted = Atomic(false)

  init(_ pressed: AsyncStream<Key>.Continuation) {
    self.pressed = pressed
  }

  func start() {
    var thread = pthread_t()
    let context = Unmanaged.passRetained(self).toOpaque()
    pthread_create(
      &thread,
      nil,
      { context in
        guard let context = context else { return nil }
        Unmanaged<KeyReader>.fromOpaque(context).takeRetainedValue().read()
        return nil
      },
      context
    )
  }

  /// Ends the program before the keys that still wait.
  func interrupt() {
    isInterrupted.store(true, ordering: .relaxed)
    pressed.yield(.interrupt)
  }

  private func read() {
    var bytes = [UInt8](repeating: 0, count: 256)
    var parser = KeyParser()
    while true {
      let count = Glibc.read(0, &bytes, bytes.count)
      guard count > 0 else { break }
      for key in parser.keys(bytes[..<count]) {
        if key == .interrupt { interrupt() } else { pressed.yield(key) }
      }
    }
    pressed.finish()
  }
}

/// Finds keys in the bytes that a terminal sends.
private struct KeyParser {
  /// The beginning of a character whose other bytes have not arrived.
  private var pending: [UInt8] = []

  /// Returns the keys of what was read at once.
  ///
  /// An escape is a key of its own, except before `[` or `O`, where it begins another key.
  mutating func keys(_ bytes: ArraySlice<UInt8>) -> [Key] {
    var rest = (pending + bytes)[...]
    pending = []
    var keys: [Key] = []
    while let byte = rest.first {
      if byte == 0x1B {
        keys += Self.takeEscape(&rest)
        continue
      }
      let length = byte < 0xC0 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4
      guard rest.count >= length else {
        pending = Array(rest)
        break
      }
      let text = String(decoding: rest.prefix(length), as: UTF8.self)
      rest = rest.dropFirst(length)
      keys += text.map { Self.key($0) }
    }
    return keys
  }

  /// Takes an escape, or the key that it begins.
  private static func takeEscape(_ rest: inout ArraySlice<UInt8>) -> [Key] {
    rest = rest.dropFirst()
    guard rest.first == UInt8(ascii: "[") || rest.first == UInt8(ascii: "O") else {
      return [.escape]
    }
    rest = rest.dropFirst()
    // Parameters come before the letter of the key.
    rest = rest.drop { (0x20...0x3F).contains($0) }
    switch rest.popFirst() {
    case UInt8(ascii: "A"): return [.up]
    case UInt8(ascii: "B"): return [.down]
    // Other keys have no meaning here.
    default: return []
    }
  }

  private static func key(_ character: Character) -> Key {
    switch character {
    case "\r", "\n": .enter
    case "\u{7F}", "\u{8}": .backspace
    case "\u{3}", "\u{4}": .interrupt
    default: .character(character)
    }
  }
}
