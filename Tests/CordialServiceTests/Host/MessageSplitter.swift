import JSONRPC

/// Cuts what a service sent into messages again, and takes nothing but what the framing prescribes.
struct MessageSplitter {
  let framing: Framing
  private var rest: [UInt8] = []

  /// A splitter for one connection.
  init(framing: Framing) {
    self.framing = framing
  }

  /// Takes bytes, and returns the messages that they complete.
  ///
  /// - Parameter bytes: The next bytes.
  /// - Returns: The messages, without their framing.
  mutating func take(_ bytes: [UInt8]) -> [[UInt8]] {
    rest += bytes
    var messages: [[UInt8]] = []
    while let message = next() { messages.append(message) }
    return messages
  }

  /// Bytes that make no whole message; where each write is of whole messages, there are none.
  var remainder: [UInt8] { rest }

  private mutating func next() -> [UInt8]? {
    switch framing {
    case .line:
      guard let end = rest.firstIndex(of: 0x0A) else { return nil }
      defer { rest.removeFirst(end + 1) }
      return Array(rest[..<end])
    case .header:
      guard !rest.isEmpty else { return nil }
      guard let end = rest.firstRange(of: Array("\r\n\r\n".utf8))?.upperBound else { return nil }
      // To Swift a line's end is one character.
      let head = String(decoding: rest[..<(end - 4)], as: UTF8.self)
      guard head.hasPrefix("Content-Length: "),
        let count = Int(head.dropFirst("Content-Length: ".count)),
        rest.count >= end + count
      else { return nil }
      defer { rest.removeFirst(end + count) }
      return Array(rest[end..<(end + count)])
    }
  }
}
