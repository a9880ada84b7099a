/// A parser of the header block of LSP's base protocol.
///
/// The parser accepts lines without a carriage return, and ignores unknown fields. It rejects an
/// invalid `Content-Length`, and a charset other than UTF-8.
struct HeaderBlock {
  enum Outcome: Equatable {
    case incomplete
    case broken(String)
    /// The number of bytes in the block, and the length of the body that follows the block.
    case complete(used: Int, length: Int)
  }

  private var length: Int?
  private var fields = 0

  mutating func read(_ bytes: Span<UInt8>) -> Outcome {
    var start = 0
    while true {
      var end = start
      while end < bytes.count, bytes[end] != 0x0A { end += 1 }
      guard end < bytes.count, end < FrameDecoder.headerBytesMax else { return .incomplete }
      let hasCarriageReturn = end > start && bytes[end - 1] == 0x0D
      let line = bytes.extracting(start..<(hasCarriageReturn ? end - 1 : end))
      start = end + 1
      if line.isEmpty {
        // An empty line between messages is not a header.
        if fields == 0 { continue }
        guard let length else { return .broken("A header has no Content-Length") }
        return .complete(used: start, length: length)
      }
      if let reason = field(line) { return .broken(reason) }
    }
  }

  private mutating func field(_ line: Span<UInt8>) -> String? {
    fields += 1
    guard fields <= FrameDecoder.headerFieldsMax else {
      return "A header has at most \(FrameDecoder.headerFieldsMax) fields"
    }
    var colon = 0
    while colon < line.count, line[colon] != UInt8(ascii: ":") { colon += 1 }
    if line[0] == UInt8(ascii: "{") || line[0] == UInt8(ascii: "[") {
      return "This connection began with Content-Length headers and cannot go on with lines"
    }
    guard colon > 0, colon < line.count else {
      return "A header field is a name, a colon and a value"
    }
    let name = text(line.extracting(0..<colon)).lowercased()
    let value = text(line.extracting((colon + 1)..<line.count))
    switch name {
    case "content-length": return contentLength(value)
    case "content-type": return contentType(value)
    default: return nil
    }
  }

  private func text(_ bytes: Span<UInt8>) -> String {
    var text = ""
    for index in bytes.indices { text.unicodeScalars.append(Unicode.Scalar(bytes[index])) }
    while text.first == " " || text.first == "\t" { text.removeFirst() }
    while text.last == " " || text.last == "\t" { text.removeLast() }
    return text
  }

  private mutating func contentLength(_ value: String) -> String? {
    guard (1...10).contains(value.utf8.count), value.utf8.allSatisfy({ 0x30...0x39 ~= $0 }),
      let number = Int(value)
    else { return "Content-Length is 1 to 10 digits" }
    guard length == nil || length == number else { return "Two different Content-Lengths" }
    length = number
    return nil
  }

  private func contentType(_ value: String) -> String? {
    guard let rest = value.lowercased().rest(after: "charset=") else { return nil }
    let bare = rest.prefix { $0 != ";" }.filter { $0 != "\"" && $0 != " " }
    return bare == "utf-8" || bare == "utf8" ? nil : "The charset of a message is utf-8"
  }
}

extension String {
  /// Returns the text after the first occurrence of `text`, nil when there is none.
  fileprivate func rest(after text: String) -> Substring? {
    var rest = self[...]
    while !rest.isEmpty {
      if rest.hasPrefix(text) { return rest.dropFirst(text.count) }
      rest = rest.dropFirst()
    }
    return nil
  }
}
