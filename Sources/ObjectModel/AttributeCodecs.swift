import CordialValues
import JSON

enum StringCodec: AttributeCodec {
  static var swiftType: SwiftType? { .standard("String") }
  static let expectation = "a string"
  static let wireForm = AttributeWireForm.string
  static let storage = ColumnStorage.text
  static let validColumn: ValidColumn? = .texts
  static let isText = true
  static let identityForm: IdentityForm? = .string

  static func decode(_ value: JSONValue) -> AttributeValue? {
    if case .string(let text) = value { .string(text) } else { nil }
  }

  static func value(computed: AttributeValue) -> AttributeValue? {
    if case .string = computed { computed } else { nil }
  }

  static func value(logged: JSONValue) -> AttributeValue? {
    .string(logged.string ?? logged.text)
  }

  static func conversion(from other: AttributeType) -> ColumnConversion? {
    switch other {
    case .uuid, .uri, .decimal: .unchanged
    case let other where other.isInteger: .cast(.text)
    default: nil
    }
  }
}

enum IntegerCodec<Number: FixedWidthInteger & SignedInteger>: AttributeCodec {
  static var swiftType: SwiftType? { .standard("Int") }
  static var range: ClosedRange<Int64> { Int64(Number.min)...Int64(Number.max) }
  static var integerRange: ClosedRange<Int64>? { range }
  static var expectation: String {
    "an integer from \(range.lowerBound) to \(range.upperBound)"
  }
  static var wireForm: AttributeWireForm { .integer }
  static var storage: ColumnStorage { .integer }
  static var validColumn: ValidColumn? { .integers(range) }
  static var identityForm: IdentityForm? { .integer }

  static func decode(_ value: JSONValue) -> AttributeValue? {
    switch value {
    case .integer(let number): range.contains(number) ? .integer(number) : nil
    // The parser returns -0 as a `number`; every other `number` is not a 64-bit integer.
    case .number(let number): number == 0 && number.sign == .minus ? .integer(0) : nil
    // A client without 64-bit integers may send an int64 as a string (P-040).
    case .string(let text) where Number.bitWidth == 64:
      Int64(text).flatMap { String($0) == text ? .integer($0) : nil }
    default: nil
    }
  }

  /// Accepts every number, because a comparand such as 2.5 lies between two integers.
  static func decode(comparand value: JSONValue) -> AttributeValue? {
    switch value {
    case .integer(let number): .integer(number)
    case .number(let number): .double(number)
    case .bool(let flag): .integer(flag ? 1 : 0)
    default: decode(value)
    }
  }

  static func value(computed: AttributeValue) -> AttributeValue? {
    switch computed {
    case .integer(let number): range.contains(number) ? computed : nil
    case .double(let number): Int64(exactly: number).flatMap { value(computed: .integer($0)) }
    default: nil
    }
  }

  static func value(logged: JSONValue) -> AttributeValue? {
    if case .integer(let number) = logged { .integer(number) } else { nil }
  }

  static func conversion(from other: AttributeType) -> ColumnConversion? {
    switch other {
    case .boolean: return .unchanged
    case .double, .string: return .checked
    default: break
    }
    guard let narrow = other.codec.integerRange else { return nil }
    return range.lowerBound <= narrow.lowerBound ? .unchanged : nil
  }

  static func value(converted: AttributeValue) -> AttributeValue? {
    switch converted {
    case .double(let number): Int64(exactly: number).flatMap { decode(.integer($0)) }
    case .string(let text): NumberText.integer(text).flatMap { decode(.integer($0)) }
    default: nil
    }
  }
}

enum DoubleCodec: AttributeCodec {
  static var swiftType: SwiftType? { .standard("Double") }
  static let expectation = "a number"
  static let wireForm = AttributeWireForm.double
  static let storage = ColumnStorage.real
  static let validColumn: ValidColumn? = .reals

  static func decode(_ value: JSONValue) -> AttributeValue? {
    switch value {
    case .number(let number): .double(number)
    case .integer(let number): .double(Double(number))
    default: nil
    }
  }

  static func decode(comparand value: JSONValue) -> AttributeValue? {
    if case .bool(let flag) = value { .double(flag ? 1 : 0) } else { decode(value) }
  }

  static func value(column: AttributeValue) -> AttributeValue {
    if case .integer(let number) = column { .double(Double(number)) } else { column }
  }

  static func value(computed: AttributeValue) -> AttributeValue? {
    switch computed {
    case .double: computed
    case .integer(let number): Double(exactly: number).map { .double($0) }
    default: nil
    }
  }

  static func value(logged: JSONValue) -> AttributeValue? { decode(logged) }

  static func conversion(from other: AttributeType) -> ColumnConversion? {
    switch other {
    case .float: .unchanged
    case .int16, .int32: .cast(.real)
    case .int64, .string: .checked
    default: nil
    }
  }

  static func value(converted: AttributeValue) -> AttributeValue? {
    switch converted {
    case .integer(let number):
      Int64(exactly: Double(number)) == number ? .double(Double(number)) : nil
    case .string(let text):
      NumberText.number(text).flatMap { number in
        NumberText.isSame(text, as: number.description) ? .double(number) : nil
      }
    default: nil
    }
  }
}

enum FloatCodec: AttributeCodec {
  static var swiftType: SwiftType? { .standard("Float") }
  static let expectation = "a number within single precision"
  static let wireForm = AttributeWireForm.double
  static let storage = ColumnStorage.real
  static let isNormalized = true

  static func decode(_ value: JSONValue) -> AttributeValue? {
    guard case .double(let number)? = DoubleCodec.decode(value) else { return nil }
    let rounded = Double(Float(number))
    return rounded.isFinite ? .double(rounded) : nil
  }

  /// Rounds a number to single precision.
  ///
  /// A number outside the range of single precision stays exact, and so equals no stored value.
  static func decode(comparand value: JSONValue) -> AttributeValue? {
    let exact = DoubleCodec.decode(comparand: value)
    let rounded = decode(value)
    // A number near zero must not be rounded to zero.
    return rounded == .double(0) ? exact : rounded ?? exact
  }

  static func value(column: AttributeValue) -> AttributeValue { DoubleCodec.value(column: column) }

  static func value(computed: AttributeValue) -> AttributeValue? {
    switch computed {
    case .integer(let number): .double(Double(Float(number)))
    case .double(let number): .double(Double(Float(number)))
    default: nil
    }
  }

  static func value(logged: JSONValue) -> AttributeValue? { DoubleCodec.decode(logged) }

  static func conversion(from other: AttributeType) -> ColumnConversion? {
    switch other {
    case .int16: .cast(.real)
    case .int32, .int64, .string: .checked
    default: nil
    }
  }

  static func value(converted: AttributeValue) -> AttributeValue? {
    switch converted {
    case .integer(let number):
      Int64(exactly: Double(Float(number))) == number ? .double(Double(number)) : nil
    case .string(let text):
      NumberText.number(text).flatMap { number in
        let rounded = Float(number)
        return rounded.isFinite && NumberText.isSame(text, as: rounded.description)
          ? .double(Double(rounded)) : nil
      }
    default: nil
    }
  }
}

enum DecimalCodec: AttributeCodec {
  static var swiftType: SwiftType? { .foundation("Decimal") }
  static let expectation = "a decimal number as a string, like \"12.50\""
  static let wireForm = AttributeWireForm.string
  static let storage = ColumnStorage.text
  static let isNormalized = true

  static func decode(_ value: JSONValue) -> AttributeValue? {
    switch value {
    case .string(let text): DecimalText.canonical(text).map { .decimal($0) }
    case .integer(let number): .decimal(String(number))
    default: nil
    }
  }

  /// Keeps the digits that the client wrote: the number 99.5 becomes the decimal 99.5.
  static func decode(comparand value: JSONValue) -> AttributeValue? {
    switch value {
    case .number(let number): DecimalNumber(number).map { .decimal($0.comparableText) }
    case .bool(let flag): .decimal(flag ? "1" : "0")
    default: decode(value)
    }
  }

  static func value(column: AttributeValue) -> AttributeValue {
    if case .string(let text) = column { .decimal(text) } else { column }
  }

  static func value(computed: AttributeValue) -> AttributeValue? {
    switch computed {
    case .integer(let number): .decimal(String(number))
    case .string(let text): .decimal(text)
    default: nil
    }
  }

  static func value(logged: JSONValue) -> AttributeValue? {
    .decimal(logged.string ?? logged.text)
  }

  static func conversion(from other: AttributeType) -> ColumnConversion? {
    switch other {
    case .double, .string: .checked
    case let other: other.isInteger ? .cast(.text) : nil
    }
  }

  static func value(converted: AttributeValue) -> AttributeValue? {
    switch converted {
    case .double(let number):
      DecimalNumber(number)?.text.flatMap { text in
        NumberText.isSame(text, as: number.description) ? .decimal(text) : nil
      }
    case .string(let text): decode(.string(text))
    default: nil
    }
  }
}

enum BooleanCodec: AttributeCodec {
  static var swiftType: SwiftType? { .standard("Bool") }
  static let expectation = "true or false"
  static let wireForm = AttributeWireForm.boolean
  static let storage = ColumnStorage.integer
  static let validColumn: ValidColumn? = .integers(0...1)

  static func decode(_ value: JSONValue) -> AttributeValue? {
    if case .bool(let flag) = value { .boolean(flag) } else { nil }
  }

  static func decode(comparand value: JSONValue) -> AttributeValue? {
    guard case .integer(let flag) = value, flag == 0 || flag == 1 else { return decode(value) }
    return .boolean(flag == 1)
  }

  static func value(column: AttributeValue) -> AttributeValue {
    if case .integer(let flag) = column { .boolean(flag != 0) } else { column }
  }

  static func value(computed: AttributeValue) -> AttributeValue? {
    guard case .integer(let flag) = computed, flag == 0 || flag == 1 else { return nil }
    return .boolean(flag == 1)
  }

  static func value(logged: JSONValue) -> AttributeValue? {
    if case .integer(let flag) = logged { .boolean(flag != 0) } else { nil }
  }
}

/// The codec of dates, which are stored as milliseconds since 1970 in UTC.
enum DateCodec: AttributeCodec {
  static var swiftType: SwiftType? { .foundation("Date") }
  static let expectation = "an RFC 3339 date, like \"2026-11-21T08:30:00.000Z\""
  static let wireForm = AttributeWireForm.date
  static let storage = ColumnStorage.integer
  static let validColumn: ValidColumn? = .integers(Int64.min...Int64.max)
  static let isNormalized = true

  static func decode(_ value: JSONValue) -> AttributeValue? {
    guard case .string(let text) = value else { return nil }
    return DateText.milliseconds(text).map { .date($0) }
  }

  static func value(column: AttributeValue) -> AttributeValue {
    if case .integer(let milliseconds) = column { .date(milliseconds) } else { column }
  }

  static func value(computed: AttributeValue) -> AttributeValue? {
    switch computed {
    case .integer(let milliseconds): .date(milliseconds)
    case .double(let milliseconds): Int64(exactly: milliseconds).map { .date($0) }
    default: nil
    }
  }

  static func value(logged: JSONValue) -> AttributeValue? {
    if case .integer(let milliseconds) = logged { .date(milliseconds) } else { nil }
  }

  static func conversion(from other: AttributeType) -> ColumnConversion? {
    other == .string ? .checked : nil
  }

  static func value(converted: AttributeValue) -> AttributeValue? {
    guard case .string(let text) = converted, NumberText.hasMilliseconds(text) else { return nil }
    return decode(.string(text))
  }
}

enum UUIDCodec: AttributeCodec {
  static var swiftType: SwiftType? { .foundation("UUID") }
  static let expectation = "a UUID as a string"
  static let wireForm = AttributeWireForm.string
  static let storage = ColumnStorage.text
  static let isNormalized = true
  static let identityForm: IdentityForm? = .uuid

  static func decode(_ value: JSONValue) -> AttributeValue? {
    guard case .string(let text) = value else { return nil }
    return UUIDText.canonical(text).map { .uuid($0) }
  }

  static func value(column: AttributeValue) -> AttributeValue {
    value(computed: column) ?? column
  }

  static func value(computed: AttributeValue) -> AttributeValue? {
    if case .string(let text) = computed { .uuid(text) } else { nil }
  }

  static func value(logged: JSONValue) -> AttributeValue? {
    if case .string(let text) = logged { .uuid(text) } else { nil }
  }

  static func conversion(from other: AttributeType) -> ColumnConversion? {
    other == .string ? .checked : nil
  }

  static func value(converted: AttributeValue) -> AttributeValue? {
    if case .string(let text) = converted { decode(.string(text)) } else { nil }
  }
}

enum URICodec: AttributeCodec {
  static var swiftType: SwiftType? { .foundation("URL") }
  static let expectation = "an absolute URI as a string"
  static let wireForm = AttributeWireForm.string
  static let storage = ColumnStorage.text
  static let isText = true

  static func decode(_ value: JSONValue) -> AttributeValue? {
    guard case .string(let text) = value, isURI(text) else { return nil }
    return .uri(text)
  }

  static func value(column: AttributeValue) -> AttributeValue {
    value(computed: column) ?? column
  }

  static func value(computed: AttributeValue) -> AttributeValue? {
    if case .string(let text) = computed { .uri(text) } else { nil }
  }

  static func value(logged: JSONValue) -> AttributeValue? {
    if case .string(let text) = logged { .uri(text) } else { nil }
  }

  /// Returns whether a text has RFC 3986 syntax: a scheme, a colon, and no characters that a URI
  /// must escape.
  private static func isURI(_ text: String) -> Bool {
    guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else { return false }
    let scheme = text.utf8[..<colon]
    guard let first = scheme.first, PercentText.isAlphanumeric(first), !(0x30...0x39 ~= first)
    else { return false }
    return scheme.allSatisfy { PercentText.isAlphanumeric($0) || "+-.".utf8.contains($0) }
      && text.utf8.allSatisfy { $0 > 0x20 && !"<>\"{}|\\^`".utf8.contains($0) && $0 != 0x7F }
  }

  static func conversion(from other: AttributeType) -> ColumnConversion? {
    other == .string ? .checked : nil
  }

  static func value(converted: AttributeValue) -> AttributeValue? {
    if case .string(let text) = converted { decode(.string(text)) } else { nil }
  }
}

/// The codec of binary data, which the log contains as hexadecimal digits.
enum BinaryCodec: AttributeCodec {
  static var swiftType: SwiftType? { .foundation("Data") }
  static let expectation = "base64 with padding, as a string"
  static let wireForm = AttributeWireForm.binary
  static let storage = ColumnStorage.blob

  static func decode(_ value: JSONValue) -> AttributeValue? {
    guard case .string(let text) = value else { return nil }
    return Base64Text.decode(text).map { .binary($0) }
  }

  static func value(computed: AttributeValue) -> AttributeValue? {
    if case .binary = computed { computed } else { nil }
  }

  static func value(logged: JSONValue) -> AttributeValue? {
    guard case .string(let hex) = logged else { return nil }
    let digits = hex.compactMap(\.hexDigitValue)
    return .binary(
      stride(from: 0, to: digits.count - 1, by: 2).map {
        UInt8(digits[$0] << 4 | digits[$0 + 1])
      }
    )
  }
}

/// The codec of JSON, which the column and the log contain as a text.
enum JSONCodec: AttributeCodec {
  static var swiftType: SwiftType? { nil }
  static let expectation = "any JSON value"
  static let wireForm = AttributeWireForm.json
  static let storage = ColumnStorage.text

  static func decode(_ value: JSONValue) -> AttributeValue? {
    .json(value.deduplicated.text)
  }

  static func value(column: AttributeValue) -> AttributeValue {
    value(computed: column) ?? column
  }

  static func value(computed: AttributeValue) -> AttributeValue? {
    if case .string(let text) = computed { .json(text) } else { nil }
  }

  static func value(logged: JSONValue) -> AttributeValue? {
    if case .string(let text) = logged { .json(text) } else { nil }
  }
}
