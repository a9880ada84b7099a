/// A counter for the memory of a long text while code writes or parses the text.
package protocol JSONMeter: AnyObject, Sendable {
  /// Records that a text or a parsed value has grown by a piece.
  ///
  /// - Parameter bytes: The memory of the piece.
  /// - Returns: Whether memory is left; if not, the caller should abandon the writer, and the
  ///   parser fails.
  func grew(by bytes: Int) -> Bool
}

/// A writer that appends JSON to a growing array of bytes, part by part.
///
/// Methods that write rows are inlinable into other modules, because a call costs more than the
/// method's own work.
///
/// The caller writes the punctuation between the parts, so that rows need no intermediate tree.
/// `value(_:)` writes a complete tree.
package struct JSONWriter: Sendable {
  /// The bytes of the current piece: all bytes written since the last split.
  package var bytes: [UInt8] = []
  /// The pieces before the current piece.
  private var finishedPieces: [[UInt8]] = []
  private var finishedCount = 0
  /// The length at which `splitIfLong()` ends a piece; nil keeps all bytes in one piece.
  private let pieceBytes: Int?
  /// The counter of the pieces' memory; nil if the memory has no limit.
  private let meter: (any JSONMeter)?
  /// Whether the meter has refused memory for more pieces.
  package private(set) var isRefused = false

  package init() {
    pieceBytes = nil
    meter = nil
  }

  /// Creates a writer with capacity for a number of bytes.
  ///
  /// - Parameters:
  ///   - count: The number of bytes.
  ///   - pieceBytes: The length of a piece at which `splitIfLong()` begins a new piece; nil keeps
  ///     all bytes in `bytes`.
  ///   - meter: The counter of the pieces' memory; nil if the memory has no limit.
  package init(reserving count: Int, pieceBytes: Int? = nil, meter: (any JSONMeter)? = nil) {
    self.pieceBytes = pieceBytes
    self.meter = meter
    bytes.reserveCapacity(count)
  }

  /// The number of bytes written.
  package var count: Int { finishedCount + bytes.count }

  /// All pieces written so far, in order.
  package var pieces: [[UInt8]] { finishedPieces + [bytes] }

  /// Begins a new piece if the current piece is long enough.
  ///
  /// Without pieces, an array of many megabytes would copy all its bytes each time it grows.
  @inlinable
  package mutating func splitIfLong() {
    if bytes.count >= pieceLimit { split() }
  }

  @usableFromInline var pieceLimit: Int { pieceBytes ?? .max }

  @usableFromInline
  mutating func split() {
    finishedCount += bytes.count
    if let meter, !meter.grew(by: bytes.capacity) { isRefused = true }
    // With the extra eighth, a piece usually has capacity for the row that exceeds the limit.
    let capacity = bytes.count + bytes.count / 8
    finishedPieces.append(bytes)
    bytes = []
    bytes.reserveCapacity(capacity)
  }

  /// Appends text verbatim: punctuation, names that need no escape, or finished JSON.
  @inlinable
  package mutating func raw(_ text: StaticString) {
    // A StaticString's bytes live as long as the program.
    JSONBytes.append(
      unsafe Span(_unsafeStart: text.utf8Start, count: text.utf8CodeUnitCount),
      to: &bytes
    )
  }

  /// Appends bytes verbatim.
  @inlinable
  package mutating func raw(_ run: [UInt8]) {
    bytes += run
  }

  /// Appends a string's bytes verbatim.
  package mutating func raw(string text: String) {
    bytes += text.utf8
  }

  /// Appends one byte verbatim.
  @inlinable
  package mutating func raw(byte: UInt8) {
    bytes.append(byte)
  }

  /// Appends a string with its quotes and escapes.
  package mutating func string(_ text: String) {
    var text = text
    text.makeContiguousUTF8()
    string(utf8: text.utf8Span.span)
  }

  /// Appends valid UTF-8 as a string with its quotes and escapes.
  @inlinable
  package mutating func string(utf8 text: Span<UInt8>) {
    bytes.append(0x22)
    var start = 0
    while true {
      let end = JSONBytes.endOfPlainRun(text, from: start)
      if end > start { JSONBytes.append(text.extracting(start..<end), to: &bytes) }
      guard end < text.count else { break }
      escape(text[end])
      start = end + 1
    }
    bytes.append(0x22)
  }

  @usableFromInline
  mutating func escape(_ byte: UInt8) {
    bytes.append(0x5C)
    switch byte {
    case 0x22, 0x5C: bytes.append(byte)
    case 0x0A: bytes.append(UInt8(ascii: "n"))
    case 0x0D: bytes.append(UInt8(ascii: "r"))
    case 0x09: bytes.append(UInt8(ascii: "t"))
    default:
      let digits = Array("0123456789abcdef".utf8)
      bytes += [UInt8(ascii: "u"), 0x30, 0x30, digits[Int(byte >> 4)], digits[Int(byte & 15)]]
    }
  }

  /// Appends a decimal integer.
  @inlinable
  package mutating func integer(_ number: Int64) {
    var rest = number.magnitude
    // The longest number has a sign and 19 digits. The loop writes the digits from last to first.
    var digits = InlineArray<20, UInt8>(repeating: 0)
    var start = 20
    repeat {
      let (quotient, digit) = rest.quotientAndRemainder(dividingBy: 10)
      start &-= 1
      digits[start] = UInt8(truncatingIfNeeded: digit) &+ 0x30
      rest = quotient
    } while rest > 0
    if number < 0 {
      start &-= 1
      digits[start] = UInt8(ascii: "-")
    }
    JSONBytes.append(digits.span.extracting(start..<20), to: &bytes)
  }

  /// Appends the shortest decimal that reads back as this number.
  ///
  /// NaN and the infinities, which JSON cannot represent, become `null`.
  package mutating func double(_ number: Double) {
    guard number.isFinite else { return raw("null") }
    bytes += number.description.utf8
  }

  /// Appends `true` or `false`.
  @inlinable
  package mutating func bool(_ flag: Bool) {
    raw(flag ? "true" : "false")
  }

  /// Appends `null`.
  @inlinable
  package mutating func null() {
    raw("null")
  }

  /// Appends `"name":`, escaped.
  package mutating func name(_ name: String) {
    string(name)
    bytes.append(UInt8(ascii: ":"))
  }

  /// Appends `"name":` after other punctuation, for a name that needs no escapes.
  @inlinable
  package mutating func plainName(_ name: String, after prefix: StaticString) {
    raw(prefix)
    bytes.append(0x22)
    JSONBytes.append(name.utf8Span.span, to: &bytes)
    bytes.append(0x22)
    bytes.append(0x3A)
  }

  /// Appends a complete value.
  package mutating func value(_ value: JSONValue) {
    switch value {
    case .null: null()
    case .bool(let flag): bool(flag)
    case .integer(let number): integer(number)
    case .number(let number): double(number)
    case .string(let text): string(text)
    case .array(let elements):
      raw("[")
      for (index, element) in elements.enumerated() {
        if index > 0 { raw(",") }
        self.value(element)
      }
      raw("]")
    case .object(let members):
      raw("{")
      for (index, member) in members.enumerated() {
        if index > 0 { raw(",") }
        name(member.name)
        self.value(member.value)
      }
      raw("}")
    }
  }
}
