import JSONRPC

/// Splits the bytes that a service wrote into messages.
struct MessageSplitter {
  let framing: Framing
  private var rest: [UInt8] = []
  /// The number of bytes of `rest` that have no line feed.
  private var searched = 0

  /// Creates a splitter for one connection.
  init(framing: Framing) {
    self.framing = framing
  }

  /// Adds bytes.
  ///
  /// - Parameter bytes: The next bytes.
  /// - Returns: The messages that are complete now, without their framing.
  mutating func take(_ bytes: [UInt8]) -> [[UInt8]] {
    rest += bytes
    var messages: [[UInt8]] = []
    while let message = next() { messages.append(message) }
    return messages
  }

  /// The bytes after the last complete message, none while a service writes whole messages.
  var remainder: [UInt8] { rest }

  private mutating func next() -> [UInt8]? {
    switch framing {
    case .line:
      guard let end = rest[searched...].firstIndex(of: 0x0A) else {
        searched = rest.count
        return nil
      }
      defer {
        rest.removeFirst(end + 1)
        searched = 0
      }
      return Array(rest[..<end])
    case .header:
      guard let end = rest.firstRange(of: Array("\r\n\r\n".utf8))?.upperBound else { return nil }
      // In a Swift string CR LF is one character.
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
