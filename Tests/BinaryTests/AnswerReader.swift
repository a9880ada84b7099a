import Glibc

/// Cuts a stream of answers into messages, fast: of each message only the beginning is kept.
struct AnswerReader {
  /// One message of the service.
  struct Answer {
    /// Its first bytes.
    let start: ArraySlice<UInt8>
    /// How many bytes it has.
    let length: Int
    /// Its last byte.
    let last: UInt8

    private static let head = Array(#"{"jsonrpc":"2.0","id":"#.utf8)
    private static let notification = Array(#"{"jsonrpc":"2.0","method":"#.utf8)

    /// The ID when it is an integer.
    var integerID: Int? {
      guard start.starts(with: Self.head) else { return nil }
      var number = 0
      var hasDigits = false
      for byte in start.dropFirst(Self.head.count) {
        guard byte >= 0x30, byte <= 0x39, number < 1 << 50 else {
          return hasDigits && byte == 0x2C ? number : nil
        }
        number = number * 10 + Int(byte - 0x30)
        hasDigits = true
      }
      return nil
    }

    /// Whether it begins and ends as a message of the protocol does.
    var isWhole: Bool {
      switch start.first {
      case UInt8(ascii: "["): last == UInt8(ascii: "]")
      default:
        (start.starts(with: Self.head) || start.starts(with: Self.notification))
          && last == UInt8(ascii: "}")
      }
    }

    var text: String { String(decoding: start, as: UTF8.self) }

    /// The text of the first member of that name whose value is a string without escapes.
    func string(_ name: String) -> String? {
      let found = text.split(separator: "\"\(name)\":\"", maxSplits: 1)
      guard found.count == 2, let end = found[1].firstIndex(of: "\"") else { return nil }
      return String(found[1][..<end])
    }
  }

  private static let keptMax = 512

  private let hasHeaders: Bool
  private var kept: [UInt8] = []
  private var length = 0
  private var last: UInt8 = 0
  /// What is read of a header; a body follows when it is complete.
  private var header: [UInt8] = []
  /// How many bytes of a body are still missing; nil outside of a body.
  private var missing: Int?

  init(hasHeaders: Bool) { self.hasHeaders = hasHeaders }

  /// Whether the stream is between two messages.
  var isAtBoundary: Bool { length == 0 && header.isEmpty && missing == nil }

  /// Takes bytes that came, and calls `each` for every message that they complete.
  mutating func take(_ chunk: UnsafeRawBufferPointer, _ each: (Answer) throws -> Void) throws {
    var offset = 0
    while offset < chunk.count {
      let rest = unsafe UnsafeRawBufferPointer(rebasing: chunk[offset...])
      if hasHeaders {
        offset += try unsafe takeFramed(rest, each)
      } else {
        offset += try unsafe takeLine(rest, each)
      }
    }
  }

  private mutating func takeLine(
    _ rest: UnsafeRawBufferPointer,
    _ each: (Answer) throws -> Void
  ) throws -> Int {
    guard let base = rest.baseAddress else { return 0 }
    guard let end = unsafe memchr(base, 0x0A, rest.count) else {
      unsafe keep(rest)
      return rest.count
    }
    let count = unsafe UnsafeRawPointer(end) - base
    unsafe keep(UnsafeRawBufferPointer(rebasing: rest[..<count]))
    try finish(each)
    return count + 1
  }

  private mutating func takeFramed(
    _ rest: UnsafeRawBufferPointer,
    _ each: (Answer) throws -> Void
  ) throws -> Int {
    if let count = missing.map({ min($0, rest.count) }) {
      unsafe keep(UnsafeRawBufferPointer(rebasing: rest[..<count]))
      missing = missing.map { $0 - count }
      if missing == 0 {
        missing = nil
        try finish(each)
      }
      return count
    }
    for index in rest.indices {
      let byte = unsafe rest[index]
      header.append(byte)
      guard byte == 0x0A, header.suffix(4) == [0x0D, 0x0A, 0x0D, 0x0A] else { continue }
      let text = String(decoding: header, as: UTF8.self)
      guard text.hasPrefix("Content-Length: "),
        let count = Int(text.dropFirst("Content-Length: ".count).prefix { $0.isNumber }), count > 0
      else { throw Failure("a header of the service: \(text)") }
      header.removeAll(keepingCapacity: true)
      missing = count
      return index + 1
    }
    guard header.count < 1000 else { throw Failure("a header of the service without an end") }
    return rest.count
  }

  private mutating func keep(_ bytes: UnsafeRawBufferPointer) {
    guard let final = unsafe bytes.last else { return }
    if kept.count < Self.keptMax {
      unsafe kept.append(contentsOf: bytes.prefix(Self.keptMax - kept.count))
    }
    length += bytes.count
    last = final
  }

  private mutating func finish(_ each: (Answer) throws -> Void) throws {
    let answer = Answer(start: kept[...], length: length, last: last)
    kept = []
    length = 0
    try each(answer)
  }
}
