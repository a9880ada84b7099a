/// A parser of one JSON text in borrowed bytes.
///
/// Complexity: linear in the text. The parser reads strings eight bytes at a time, and all other
/// text byte by byte.
package struct JSONParser {
  /// The maximum depth of a text if the caller sets none.
  package static let depthMaxDefault = 128

  /// A parsed value and its memory.
  package struct Measured: Sendable {
    package let value: JSONValue
    /// The memory of the value's arrays and long strings, in bytes, as `malloc` counts it.
    package let bytes: Int
  }

  private var offset: Int
  private var depthLeft: Int
  private var valuesLeft: Int
  private var bytesLeft: Int
  /// The counter of the value's memory; nil if the memory is not counted.
  private let meter: (any JSONMeter)?
  /// The value of `bytesLeft` below which the parser calls the meter.
  private var reportedLeft = Int.min
  /// The element count of the last finished container, by the container's depth.
  ///
  /// Containers of one depth mostly have the same length, so this count is a good initial capacity.
  /// With an initial capacity of 1, growth would copy the elements several times. With a greater
  /// fixed capacity, most of it would stay unused: `[{"":0},…]` would take 54 times the memory of
  /// its text.
  private var lengths = InlineArray<16, UInt8>(repeating: 0)

  /// The growth of the value between two calls of the meter, in bytes.
  private static let reportedBytes = 1 << 20

  private init(depthMax: Int, valuesMax: Int, bytesMax: Int, meter: (any JSONMeter)?) {
    offset = 0
    depthLeft = depthMax
    valuesLeft = valuesMax
    bytesLeft = bytesMax
    self.meter = meter
    if meter != nil { reportedLeft = bytesMax - Self.reportedBytes }
  }

  /// Parses a text that has exactly one value, with optional white space around it.
  ///
  /// - Parameters:
  ///   - bytes: The text, in UTF-8 without a byte order mark.
  ///   - depthMax: The maximum nesting depth of arrays and objects.
  /// - Returns: The value.
  /// - Throws: `JSONError` with the offset of the first wrong byte.
  package static func parse(
    _ bytes: Span<UInt8>,
    depthMax: Int = depthMaxDefault
  ) throws(JSONError) -> JSONValue {
    try measure(bytes, depthMax: depthMax).value
  }

  /// Parses a text that has exactly one value, within limits for the count of values and the
  /// memory.
  ///
  /// - Parameters:
  ///   - bytes: The text, in UTF-8 without a byte order mark.
  ///   - depthMax: The maximum nesting depth of arrays and objects.
  ///   - valuesMax: The maximum number of values, arrays and objects included.
  ///   - bytesMax: The maximum memory of the value, in bytes; the parser never allocates more.
  ///   - meter: The counter of the value's growth, called for each megabyte or more; nil for none.
  /// - Returns: The value and its memory.
  /// - Throws: `JSONError` with the offset of the first wrong byte; `tooManyValues` and `tooLarge`
  ///   with the offset at which the limit is exceeded.
  package static func measure(
    _ bytes: Span<UInt8>,
    depthMax: Int = depthMaxDefault,
    valuesMax: Int = .max,
    bytesMax: Int = .max,
    meter: (any JSONMeter)? = nil
  ) throws(JSONError) -> Measured {
    var parser = JSONParser(
      depthMax: depthMax,
      valuesMax: valuesMax,
      bytesMax: bytesMax,
      meter: meter
    )
    let value = try parser.value(bytes)
    parser.skipSpace(bytes)
    guard parser.offset == bytes.count else {
      throw JSONError(.trailingBytes, at: parser.offset)
    }
    return Measured(value: value, bytes: bytesMax - parser.bytesLeft)
  }

  /// Parses a text in a string.
  ///
  /// - Parameters:
  ///   - text: The text.
  ///   - depthMax: The maximum nesting depth of arrays and objects.
  /// - Returns: The value.
  /// - Throws: `JSONError` with the offset of the first wrong byte of the text's UTF-8.
  package static func parse(
    _ text: String,
    depthMax: Int = depthMaxDefault
  ) throws(JSONError) -> JSONValue {
    let bytes = Array(text.utf8)
    return try parse(bytes.span, depthMax: depthMax)
  }

  // MARK: Values

  private mutating func value(_ bytes: Span<UInt8>) throws(JSONError) -> JSONValue {
    skipSpace(bytes)
    guard offset < bytes.count else { throw JSONError(.unexpectedEnd, at: offset) }
    guard valuesLeft > 0 else { throw JSONError(.tooManyValues, at: offset) }
    valuesLeft -= 1
    switch bytes[offset] {
    case UInt8(ascii: "\""): return .string(try string(bytes))
    case UInt8(ascii: "{"): return try object(bytes)
    case UInt8(ascii: "["): return try array(bytes)
    case UInt8(ascii: "t"): return try word("true", .bool(true), bytes)
    case UInt8(ascii: "f"): return try word("false", .bool(false), bytes)
    case UInt8(ascii: "n"): return try word("null", .null, bytes)
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return try number(bytes)
    default: throw JSONError(.unexpectedByte, at: offset)
    }
  }

  private mutating func skipSpace(_ bytes: Span<UInt8>) {
    while offset < bytes.count {
      switch bytes[offset] {
      case 0x20, 0x0A, 0x0D, 0x09: offset += 1
      default: return
      }
    }
  }

  private mutating func word(
    _ word: StaticString,
    _ value: JSONValue,
    _ bytes: Span<UInt8>
  ) throws(JSONError) -> JSONValue {
    for expected in word.description.utf8 {
      guard offset < bytes.count else { throw JSONError(.unexpectedEnd, at: offset) }
      guard bytes[offset] == expected else { throw JSONError(.unexpectedByte, at: offset) }
      offset += 1
    }
    return value
  }

  private mutating func enter() throws(JSONError) {
    guard depthLeft > 0 else { throw JSONError(.tooDeep, at: offset) }
    depthLeft -= 1
    offset += 1
  }

  // MARK: Memory

  /// Subtracts memory for the value from the memory that is left.
  private mutating func take(_ count: Int) throws(JSONError) {
    guard count <= bytesLeft else { throw JSONError(.tooLarge, at: offset) }
    bytesLeft -= count
    if bytesLeft < reportedLeft { try report() }
  }

  /// Reports the growth of the value to the meter.
  private mutating func report() throws(JSONError) {
    let growth = reportedLeft + Self.reportedBytes - bytesLeft
    guard meter?.grew(by: growth) ?? true else { throw JSONError(.tooLarge, at: offset) }
    reportedLeft = bytesLeft - Self.reportedBytes
  }

  /// Ensures capacity for the next element of a container; a full container doubles its capacity.
  @inline(__always)
  private mutating func makeRoom<Element>(in elements: inout [Element]) throws(JSONError) {
    if elements.count == elements.capacity { try grow(&elements) }
  }

  private mutating func grow<Element>(_ elements: inout [Element]) throws(JSONError) {
    let stride = MemoryLayout<Element>.stride
    let wished = elements.isEmpty ? max(1, Int(lengths[depthLeft & 15])) : 2 * elements.count
    // Each element is a value, so the limit of values also limits the count of elements.
    let count = valuesLeft < wished ? min(wished, elements.count + valuesLeft + 1) : wished
    let former = elements.isEmpty ? 0 : Self.arrayBytes(elements.capacity, stride)
    // The old and the new array exist at the same time while the elements are moved.
    let wanted = Self.arrayBytes(count, stride)
    try take(wanted)
    elements.reserveCapacity(count)
    // `malloc` may give more capacity than was requested.
    bytesLeft -= Self.arrayBytes(elements.capacity, stride) - wanted
    bytesLeft += former
  }

  /// Records the element count of a finished container, for the next container of its depth.
  private mutating func leave(_ count: Int) {
    lengths[depthLeft & 15] = UInt8(truncatingIfNeeded: min(count, 64))
    depthLeft += 1
  }

  /// Returns the memory of an array: a header of 32 bytes, 8 bytes for `malloc`, and the elements,
  /// rounded up to a multiple of 16 bytes.
  private static func arrayBytes(_ capacity: Int, _ stride: Int) -> Int {
    (32 + 8 + capacity * stride + 15) & ~15
  }

  /// Returns the memory of a string with a count of UTF-8 bytes; up to 15 bytes are stored inline.
  private static func textBytes(_ count: Int) -> Int {
    count > 15 ? (32 + 8 + count + 15) & ~15 : 0
  }

  /// Skips white space and returns the next byte without consuming it.
  private mutating func next(_ bytes: Span<UInt8>) throws(JSONError) -> UInt8 {
    skipSpace(bytes)
    guard offset < bytes.count else { throw JSONError(.unexpectedEnd, at: offset) }
    return bytes[offset]
  }

  private mutating func array(_ bytes: Span<UInt8>) throws(JSONError) -> JSONValue {
    try enter()
    var elements: [JSONValue] = []
    if try next(bytes) == UInt8(ascii: "]") {
      offset += 1
      depthLeft += 1
      return .array(elements)
    }
    while true {
      let element = try value(bytes)
      try makeRoom(in: &elements)
      elements.append(element)
      switch try next(bytes) {
      case UInt8(ascii: ","): offset += 1
      case UInt8(ascii: "]"):
        offset += 1
        leave(elements.count)
        return .array(elements)
      default: throw JSONError(.unexpectedByte, at: offset)
      }
    }
  }

  private mutating func object(_ bytes: Span<UInt8>) throws(JSONError) -> JSONValue {
    try enter()
    var members: [JSONMember] = []
    if try next(bytes) == UInt8(ascii: "}") {
      offset += 1
      depthLeft += 1
      return .object(members)
    }
    while true {
      guard try next(bytes) == UInt8(ascii: "\"") else {
        throw JSONError(.unexpectedByte, at: offset)
      }
      let name = try string(bytes)
      guard try next(bytes) == UInt8(ascii: ":") else {
        throw JSONError(.unexpectedByte, at: offset)
      }
      offset += 1
      let value = try value(bytes)
      try makeRoom(in: &members)
      members.append(JSONMember(name, value))
      switch try next(bytes) {
      case UInt8(ascii: ","): offset += 1
      case UInt8(ascii: "}"):
        offset += 1
        leave(members.count)
        return .object(members)
      default: throw JSONError(.unexpectedByte, at: offset)
      }
    }
  }

  // MARK: Numbers

  private mutating func number(_ bytes: Span<UInt8>) throws(JSONError) -> JSONValue {
    let start = offset
    let negative = bytes[offset] == UInt8(ascii: "-")
    if negative { offset += 1 }
    let integerStart = offset
    // The total is negative, because `Int64.min` has no positive counterpart.
    var total: Int64 = 0
    var fits = true
    while offset < bytes.count, case let digit = bytes[offset] &- 0x30, digit < 10 {
      let (product, overflow) = total.multipliedReportingOverflow(by: 10)
      let (sum, carry) = product.subtractingReportingOverflow(Int64(digit))
      fits = fits && !overflow && !carry
      total = sum
      offset += 1
    }
    let digitCount = offset - integerStart
    guard digitCount > 0 else {
      throw JSONError(offset < bytes.count ? .invalidNumber : .unexpectedEnd, at: offset)
    }
    if digitCount > 1, bytes[integerStart] == UInt8(ascii: "0") {
      throw JSONError(.invalidNumber, at: integerStart)
    }
    let isInteger = try !fraction(bytes)
    if isInteger, fits, negative ? total != 0 : total != Int64.min {
      return .integer(negative ? total : -total)
    }
    if let number = Self.shortDecimal(bytes.extracting(integerStart..<offset)) {
      return .number(negative ? -number : number)
    }
    let digits = try text(bytes.extracting(start..<offset), at: start)
    guard let number = Double(digits), number.isFinite else {
      throw JSONError(.invalidNumber, at: start)
    }
    return .number(number)
  }

  /// Returns the value of up to 15 digits with a decimal point, or nil for any other text.
  ///
  /// The digits and the power of ten are exact, so that one division rounds like the complete
  /// conversion. Source: Clinger, "How to Read Floating Point Numbers Accurately".
  private static func shortDecimal(_ bytes: Span<UInt8>) -> Double? {
    guard bytes.count <= 16 else { return nil }
    var digits: Int64 = 0
    var scale = 1.0
    var isFraction = false
    for index in bytes.indices {
      if bytes[index] == UInt8(ascii: ".") {
        isFraction = true
      } else {
        guard case let digit = bytes[index] &- 0x30, digit < 10 else { return nil }
        digits = digits &* 10 &+ Int64(digit)
        if isFraction { scale *= 10 }
      }
    }
    return isFraction ? Double(digits) / scale : nil
  }

  /// Reads an optional fraction and an optional exponent, and returns whether either exists.
  private mutating func fraction(_ bytes: Span<UInt8>) throws(JSONError) -> Bool {
    var found = false
    if offset < bytes.count, bytes[offset] == UInt8(ascii: ".") {
      offset += 1
      found = true
      try digits(bytes)
    }
    if offset < bytes.count, bytes[offset] | 0x20 == UInt8(ascii: "e") {
      offset += 1
      found = true
      if offset < bytes.count,
        bytes[offset] == UInt8(ascii: "+") || bytes[offset] == UInt8(ascii: "-")
      {
        offset += 1
      }
      try digits(bytes)
    }
    return found
  }

  private mutating func digits(_ bytes: Span<UInt8>) throws(JSONError) {
    let start = offset
    while offset < bytes.count, bytes[offset] &- 0x30 < 10 { offset += 1 }
    guard offset > start else {
      throw JSONError(offset < bytes.count ? .invalidNumber : .unexpectedEnd, at: offset)
    }
  }

  // MARK: Strings

  private mutating func string(_ bytes: Span<UInt8>) throws(JSONError) -> String {
    offset += 1
    let start = offset
    offset = JSONBytes.endOfPlainRun(bytes, from: offset)
    if offset < bytes.count, bytes[offset] == UInt8(ascii: "\"") {
      try take(Self.textBytes(offset - start))
      let run = try text(bytes.extracting(start..<offset), at: start)
      offset += 1
      return run
    }
    offset = start
    return try escapedString(bytes)
  }

  private mutating func escapedString(_ bytes: Span<UInt8>) throws(JSONError) -> String {
    var unescaped = ""
    var known = 0
    while true {
      let start = offset
      offset = JSONBytes.endOfPlainRun(bytes, from: offset)
      // A growing string may have capacity for twice its bytes.
      let wanted = Self.textBytes(2 * (unescaped.utf8.count + offset - start))
      if wanted > known { try take(wanted - known) }
      known = max(known, wanted)
      if offset > start {
        unescaped += try text(bytes.extracting(start..<offset), at: start)
      }
      guard offset < bytes.count else { throw JSONError(.unexpectedEnd, at: offset) }
      switch bytes[offset] {
      case UInt8(ascii: "\""):
        offset += 1
        return unescaped
      case UInt8(ascii: "\\"): unescaped.unicodeScalars.append(try escape(bytes))
      default: throw JSONError(.invalidString, at: offset)
      }
    }
  }

  private mutating func escape(_ bytes: Span<UInt8>) throws(JSONError) -> Unicode.Scalar {
    let start = offset
    guard offset + 1 < bytes.count else { throw JSONError(.unexpectedEnd, at: bytes.count) }
    offset += 2
    switch bytes[offset - 1] {
    case UInt8(ascii: "\""): return "\""
    case UInt8(ascii: "\\"): return "\\"
    case UInt8(ascii: "/"): return "/"
    case UInt8(ascii: "b"): return "\u{8}"
    case UInt8(ascii: "f"): return "\u{C}"
    case UInt8(ascii: "n"): return "\n"
    case UInt8(ascii: "r"): return "\r"
    case UInt8(ascii: "t"): return "\t"
    case UInt8(ascii: "u"): return try unicodeEscape(bytes, startedAt: start)
    default: throw JSONError(.invalidString, at: start)
    }
  }

  private mutating func unicodeEscape(
    _ bytes: Span<UInt8>,
    startedAt start: Int
  ) throws(JSONError) -> Unicode.Scalar {
    let first = try codeUnit(bytes)
    if let scalar = Unicode.Scalar(first) { return scalar }
    guard first < 0xDC00 else { throw JSONError(.loneSurrogate, at: start) }
    guard offset + 1 < bytes.count, bytes[offset] == UInt8(ascii: "\\"),
      bytes[offset + 1] == UInt8(ascii: "u")
    else { throw JSONError(.loneSurrogate, at: start) }
    offset += 2
    let second = try codeUnit(bytes)
    guard (0xDC00...0xDFFF).contains(second),
      let scalar = Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
    else { throw JSONError(.loneSurrogate, at: start) }
    return scalar
  }

  private mutating func codeUnit(_ bytes: Span<UInt8>) throws(JSONError) -> UInt32 {
    var unit: UInt32 = 0
    for _ in 0..<4 {
      guard offset < bytes.count else { throw JSONError(.unexpectedEnd, at: offset) }
      guard let digit = Character(Unicode.Scalar(bytes[offset])).hexDigitValue,
        bytes[offset] < 0x80
      else { throw JSONError(.invalidString, at: offset) }
      unit = unit << 4 | UInt32(digit)
      offset += 1
    }
    return unit
  }

  private func text(_ bytes: Span<UInt8>, at start: Int) throws(JSONError) -> String {
    do {
      return String(copying: try UTF8Span(validating: bytes))
    } catch {
      throw JSONError(.invalidUTF8, at: start + error.byteOffsets.lowerBound)
    }
  }
}
