import Glibc

/// What the measuring loops must know of a protocol: where a reply ends, and whether it is an error.
protocol ReplyFormat {
  /// The number of bytes of the reply that the bytes begin with, nil while it isn't complete.
  func endOfReply(_ bytes: Span<UInt8>) -> Int?

  /// The text of the error that a complete reply is, nil if it is none.
  func error(in reply: [UInt8]) -> String?
}

extension ReplyFormat {
  func refuseError(_ reply: [UInt8]) throws {
    if let text = error(in: reply) {
      throw BenchmarkError("The server answered with an error: \(text)")
    }
  }
}

/// JSON texts on lines of their own: this project's line framing, and watchman.
struct LineFormat: ReplyFormat {
  func endOfReply(_ bytes: Span<UInt8>) -> Int? {
    unsafe bytes.withUnsafeBytes { bytes in
      guard let start = bytes.baseAddress,
        let end = unsafe memchr(start, 0x0A, bytes.count)
      else { return nil }
      return unsafe start.distance(to: end) + 1
    }
  }

  /// A quoted `"error"` can only be a member's name here: inside of a value its quotes are escaped.
  func error(in reply: [UInt8]) -> String? {
    Bytes.contains("\"error\"", in: reply)
      ? String(decoding: reply.prefix(500), as: UTF8.self) : nil
  }
}

enum Bytes {
  static func contains(_ text: StaticString, in bytes: [UInt8]) -> Bool {
    let wanted = Array(text.description.utf8)
    guard bytes.count >= wanted.count else { return false }
    return (0...(bytes.count - wanted.count)).contains { start in
      bytes[start] == wanted[0]
        && wanted.indices.allSatisfy { bytes[start + $0] == wanted[$0] }
    }
  }
}
