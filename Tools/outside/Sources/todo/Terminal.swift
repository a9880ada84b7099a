import Foundation
import Glibc
import TodoViews

/// The terminal of this process: keys, and screens of text.
final class Terminal: Sendable {
  private let former: termios
  /// The keys that the person presses, until the input ends.
  let keys: AsyncStream<Key>

  /// Takes the terminal, whose state `restore` brings back.
  init() {
    var state = termios()
    tcgetattr(0, &state)
    former = state
    cfmakeraw(&state)
    tcsetattr(0, TCSANOW, &state)
    let (keys, pressed) = AsyncStream.makeStream(of: Key.self)
    self.keys = keys
    Self.write("\u{1B}[?1049h\u{1B}[?25l")
    let reader = KeyReader(pressed)
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
    FileHandle.standardOutput.write(Data(text.utf8))
  }
}

/// A thread that reads keys, because reading waits.
private final class KeyReader: Sendable {
  private let pressed: AsyncStream<Key>.Continuation

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

  private func read() {
    var bytes = [UInt8](repeating: 0, count: 256)
    while true {
      let count = Glibc.read(0, &bytes, bytes.count)
      guard count > 0 else { break }
      for key in Self.keys(Array(bytes[..<count])) { pressed.yield(key) }
    }
    pressed.finish()
  }

  /// The keys of what was read at once.
  private static func keys(_ bytes: [UInt8]) -> [Key] {
    switch bytes {
    case [0x1B]: return [.escape]
    case [0x1B, 0x5B, 0x41], [0x1B, 0x4F, 0x41]: return [.up]
    case [0x1B, 0x5B, 0x42], [0x1B, 0x4F, 0x42]: return [.down]
    default: break
    }
    // Other keys with an escape sequence have no meaning here.
    if bytes.first == 0x1B { return [] }
    return String(decoding: bytes, as: UTF8.self).map { character in
      switch character {
      case "\r", "\n", "\r\n": .enter
      case "\u{7F}", "\u{8}": .backspace
      case "\u{3}", "\u{4}": .interrupt
      default: .character(character)
      }
    }
  }
}
