/// A key of a terminal.
package enum Key: Sendable, Equatable {
  /// Characters; several if a person pastes text.
  case text(String)
  case backspace
  /// Control-W.
  case deleteWord
  /// Control-U.
  case deleteAll
  case up, down
  case enter
  case tab
  case escape
  /// Control-D.
  case end
}

/// A parser of the bytes that a terminal sends for keys.
package struct KeyReader: Sendable {
  /// The first bytes of an incomplete key.
  private var rest: [UInt8] = []

  package init() {}

  /// Returns the keys of some bytes.
  ///
  /// - Parameter bytes: The bytes that follow the bytes of the last call.
  /// - Returns: The keys, without unsupported keys such as function keys.
  package mutating func keys(_ bytes: [UInt8]) -> [Key] {
    let bytes = rest + bytes
    rest = []
    var keys: [Key] = []
    var text: [UInt8] = []
    func endText() {
      guard !text.isEmpty else { return }
      keys.append(.text(String(decoding: text, as: UTF8.self)))
      text = []
    }
    var index = 0
    while index < bytes.count {
      let byte = bytes[index]
      if byte >= 0x80 {
        let length = Self.length(byte)
        guard index + length <= bytes.count else { break }
        text += bytes[index..<index + length]
        index += length
        continue
      }
      guard byte < 0x20 || byte == 0x7F else {
        text.append(byte)
        index += 1
        continue
      }
      endText()
      if byte == 0x1B {
        guard let (key, length) = Self.sequence(bytes[index...]) else { break }
        if let key { keys.append(key) }
        index += length
      } else {
        if let key = Self.controls[byte] { keys.append(key) }
        index += 1
      }
    }
    endText()
    rest = Array(bytes[index...])
    return keys
  }

  private static let controls: [UInt8: Key] = [
    0x04: .end, 0x08: .backspace, 0x09: .tab, 0x7F: .backspace, 0x0A: .enter, 0x0D: .enter,
    0x15: .deleteAll, 0x17: .deleteWord, 0x0E: .down, 0x10: .up,
  ]

  /// Returns the length of a UTF-8 character with this first byte; 1 for an invalid first byte.
  private static func length(_ first: UInt8) -> Int {
    switch first {
    case 0xC2...0xDF: 2
    case 0xE0...0xEF: 3
    case 0xF0...0xF4: 4
    default: 1
    }
  }

  /// Returns the key that begins with an escape, and its length; nil for an incomplete sequence.
  private static func sequence(_ bytes: ArraySlice<UInt8>) -> (key: Key?, length: Int)? {
    let second = bytes.dropFirst().first
    // A terminal sends a sequence at once, so an escape without more bytes is the Escape key.
    guard let second else { return (.escape, 1) }
    // Before a control character, an escape is the Escape key. Before other characters, it means
    // Alt, and such keys are ignored.
    guard second == UInt8(ascii: "[") || second == UInt8(ascii: "O") else {
      return second < 0x20 ? (.escape, 1) : (nil, 2)
    }
    let isEnd = { (byte: UInt8) in (0x40...0x7E).contains(byte) || byte < 0x20 }
    guard let end = bytes.dropFirst(2).firstIndex(where: isEnd) else {
      // No valid sequence is longer than 16 bytes, so these bytes are ignored.
      return bytes.count > 16 ? (nil, bytes.count) : nil
    }
    // A control character is a separate key, and the bytes before it are no valid sequence.
    guard bytes[end] >= 0x20 else { return (nil, end - bytes.startIndex) }
    let length = end - bytes.startIndex + 1
    switch bytes[end] {
    case UInt8(ascii: "A"): return (.up, length)
    case UInt8(ascii: "B"): return (.down, length)
    default: return (nil, length)
    }
  }
}
