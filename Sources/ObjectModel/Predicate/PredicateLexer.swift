/// A lexer that splits the text of a predicate into tokens.
struct PredicateLexer {
  /// One token; its offset is in bytes.
  struct Token: Equatable {
    enum Form: Equatable {
      /// A word: a keyword, or a name of a key path.
      case word(String)
      /// `#name`: a name that would be a keyword otherwise.
      case name(String)
      /// `@count` or another aggregate, without the `@`.
      case aggregate(String)
      case string(String)
      /// An integer without its sign; a minus is a token of its own.
      case integer(UInt64)
      case number(Double)
      /// `$name`.
      case variable(String)
      /// `%@`, `%K`, or one of printf's conversions, such as `%ld`.
      case placeholder(Placeholder)
      /// An operator or a bracket.
      case sign(String)
      case end
    }

    let form: Form
    let offset: Int
  }

  /// The kind of argument that a placeholder accepts.
  enum Placeholder {
    /// `%@`: any value.
    case value
    /// `%K`: a key path.
    case keyPath
    /// `%d` and other conversions of integers.
    case integer
    /// `%f` and other conversions of numbers.
    case number
    /// `%s`: a string.
    case string
  }

  private let bytes: [UInt8]
  private var offset = 0
  /// The offset of each byte, and of the end, in UTF-16 code units.
  private let offsets: [Int]

  init(_ text: String) {
    bytes = Array(text.utf8)
    var offsets: [Int] = []
    offsets.reserveCapacity(bytes.count + 1)
    var units = 0
    for byte in bytes {
      offsets.append(units)
      // A lead byte counts as one code unit, or as two if it begins a sequence of four bytes.
      // Continuation bytes are not counted.
      if byte & 0xC0 != 0x80 { units += byte >= 0xF0 ? 2 : 1 }
    }
    self.offsets = offsets + [units]
  }

  /// Returns the offset of a byte in UTF-16 code units.
  func utf16Offset(_ byteOffset: Int) -> Int {
    offsets[byteOffset]
  }

  func error(at byteOffset: Int, expected: String) -> PredicateError {
    PredicateError(offset: utf16Offset(byteOffset), expected: expected)
  }

  mutating func next() throws(PredicateError) -> Token {
    while offset < bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[offset]) { offset += 1 }
    let start = offset
    guard start < bytes.count else { return Token(form: .end, offset: start) }
    let byte = bytes[start]
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "'"):
      return Token(form: .string(try string(quote: byte)), offset: start)
    case UInt8(ascii: "0")...UInt8(ascii: "9"):
      return Token(form: try number(), offset: start)
    case UInt8(ascii: "$"):
      offset += 1
      let name = word()
      guard !name.isEmpty else { throw error(at: offset, expected: "a variable's name") }
      return Token(form: .variable(name), offset: start)
    case UInt8(ascii: "#"):
      offset += 1
      let name = word()
      guard !name.isEmpty else { throw error(at: offset, expected: "a name after #") }
      return Token(form: .name(name), offset: start)
    case UInt8(ascii: "@"):
      offset += 1
      return Token(form: .aggregate(word()), offset: start)
    case UInt8(ascii: "%"): return Token(form: try placeholder(), offset: start)
    default: break
    }
    let name = word()
    if !name.isEmpty { return Token(form: .word(name), offset: start) }
    return Token(form: try sign(), offset: start)
  }

  private mutating func word() -> String {
    let start = offset
    while offset < bytes.count {
      switch bytes[offset] {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
        offset += 1
      default: return String(decoding: bytes[start..<offset], as: UTF8.self)
      }
    }
    return String(decoding: bytes[start..<offset], as: UTF8.self)
  }

  /// Reads a placeholder, and ignores the lengths of C's types, as in `%lld`.
  private mutating func placeholder() throws(PredicateError) -> Token.Form {
    var end = offset + 1
    while end < bytes.count, "hlqztj".utf8.contains(bytes[end]) { end += 1 }
    let hasLength = end > offset + 1
    let kind: Placeholder? =
      switch end < bytes.count ? Character(Unicode.Scalar(bytes[end])) : " " {
      case "@" where !hasLength: .value
      case "K" where !hasLength: .keyPath
      case "d", "D", "i", "u", "U", "x", "X", "o", "O": .integer
      case "f", "F", "e", "E", "g", "G", "a", "A": .number
      case "s", "S": .string
      default: nil
      }
    guard let kind else {
      throw error(
        at: offset,
        expected: "%@, %K, %d, %ld, %f, %s or another of printf's conversions"
      )
    }
    offset = end + 1
    return .placeholder(kind)
  }

  private mutating func number() throws(PredicateError) -> Token.Form {
    let start = offset
    offset += 1
    if bytes[start] == UInt8(ascii: "0"), offset < bytes.count,
      let radix = [UInt8(ascii: "x"): 16, UInt8(ascii: "o"): 8, UInt8(ascii: "b"): 2][
        bytes[offset] | 0x20
      ]
    {
      offset += 1
      guard let value = UInt64(word(), radix: radix) else {
        throw error(at: start, expected: "a number")
      }
      return .integer(value)
    }
    while offset < bytes.count {
      let byte = bytes[offset]
      let afterExponent = bytes[offset - 1] | 0x20 == UInt8(ascii: "e")
      guard
        byte &- 0x30 < 10 || byte == UInt8(ascii: ".") || byte | 0x20 == UInt8(ascii: "e")
          || afterExponent && (byte == UInt8(ascii: "-") || byte == UInt8(ascii: "+"))
      else { break }
      offset += 1
    }
    let text = String(decoding: bytes[start..<offset], as: UTF8.self)
    if let integer = UInt64(text) { return .integer(integer) }
    if let number = Double(text), number.isFinite { return .number(number) }
    throw error(at: start, expected: "a number")
  }

  private mutating func string(quote: UInt8) throws(PredicateError) -> String {
    let start = offset
    var value: [UInt8] = []
    offset += 1
    while offset < bytes.count, bytes[offset] != quote {
      if bytes[offset] == UInt8(ascii: "\\") {
        offset += 1
        guard offset < bytes.count else { break }
        switch bytes[offset] {
        case UInt8(ascii: "n"): value.append(0x0A)
        case UInt8(ascii: "r"): value.append(0x0D)
        case UInt8(ascii: "t"): value.append(0x09)
        case UInt8(ascii: "b"): value.append(0x08)
        case UInt8(ascii: "f"): value.append(0x0C)
        case UInt8(ascii: "u"): value += try escapedScalar().utf8
        default: value.append(bytes[offset])
        }
      } else {
        value.append(bytes[offset])
      }
      offset += 1
    }
    guard offset < bytes.count else {
      throw error(at: start, expected: "a closing quote for this one")
    }
    offset += 1
    return String(decoding: value, as: UTF8.self)
  }

  /// Reads a JSON escape from its `u` to its last digit; a surrogate pair is two escapes.
  private mutating func escapedScalar() throws(PredicateError) -> String {
    let start = offset - 1
    var units = [try codeUnit()]
    if UTF16.isLeadSurrogate(units[0]), bytes[(offset + 1)...].starts(with: "\\u".utf8) {
      offset += 2
      units.append(try codeUnit())
    }
    guard let text = String(validating: units, as: UTF16.self) else {
      throw error(at: start, expected: "a whole surrogate pair, as in \\uD83D\\uDE00")
    }
    return text
  }

  /// Reads the four digits after a `u`.
  private mutating func codeUnit() throws(PredicateError) -> UInt16 {
    let start = offset - 1
    let digits = String(decoding: bytes[min(offset + 1, bytes.count)...].prefix(4), as: UTF8.self)
    guard digits.utf8.count == 4, digits.allSatisfy(\.isHexDigit),
      let unit = UInt16(digits, radix: 16)
    else { throw error(at: start, expected: "four hexadecimal digits after \\u") }
    offset += 4
    return unit
  }

  private mutating func sign() throws(PredicateError) -> Token.Form {
    let pair = String(decoding: bytes[offset..<min(offset + 2, bytes.count)], as: UTF8.self)
    if ["==", "!=", "<>", "<=", "=<", ">=", "=>", "&&", "||", "**", "<<", ">>"].contains(pair) {
      offset += 2
      return .sign(pair)
    }
    let single = String(pair.prefix(1))
    if "=<>!(){}[],.:+-*/&|^~".contains(single) {
      offset += 1
      return .sign(single)
    }
    throw error(at: offset, expected: "an operator, a name or a value")
  }
}
