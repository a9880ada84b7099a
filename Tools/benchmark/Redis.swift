/// Redis' protocol (RESP 2), of which the rows need requests, and the ends of replies.
enum Redis {
  /// A command as an array of bulk strings.
  static func command(_ parts: String...) -> [UInt8] {
    var bytes = Array("*\(parts.count)\r\n".utf8)
    for part in parts { bytes += Array("$\(part.utf8.count)\r\n\(part)\r\n".utf8) }
    return bytes
  }

  static func key(_ index: Int) -> String { "item:\(index)" }
}

/// So many RESP values in a row.
struct RedisFormat: ReplyFormat {
  var values = 1

  func endOfReply(_ bytes: Span<UInt8>) -> Int? {
    var end = 0
    for _ in 0..<values {
      guard let next = endOfValue(bytes, from: end) else { return nil }
      end = next
    }
    return end
  }

  func error(in reply: [UInt8]) -> String? {
    reply.first == UInt8(ascii: "-") || Bytes.contains("\r\n-ERR", in: reply)
      ? String(decoding: reply.prefix(500), as: UTF8.self) : nil
  }

  private func endOfValue(_ bytes: Span<UInt8>, from start: Int) -> Int? {
    guard let (number, lineEnd) = header(bytes, from: start) else { return nil }
    switch bytes[start] {
    case UInt8(ascii: "$"):
      let end = number < 0 ? lineEnd : lineEnd + number + 2
      return end <= bytes.count ? end : nil
    case UInt8(ascii: "*"):
      var end = lineEnd
      for _ in 0..<max(number, 0) {
        guard let next = endOfValue(bytes, from: end) else { return nil }
        end = next
      }
      return end
    default: return lineEnd
    }
  }

  /// The number on the first line of a value, zero where there is none, and where that line ends.
  private func header(_ bytes: Span<UInt8>, from start: Int) -> (number: Int, end: Int)? {
    var number = 0
    var negative = false
    var offset = start + 1
    while offset + 1 < bytes.count {
      switch bytes[offset] {
      case 0x0D: return (negative ? -number : number, offset + 2)
      case UInt8(ascii: "-"): negative = true
      case 0x30...0x39: number = number &* 10 &+ Int(bytes[offset] - 0x30)
      default: break
      }
      offset += 1
    }
    return nil
  }
}
