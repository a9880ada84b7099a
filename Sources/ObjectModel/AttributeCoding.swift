package import CordialValues
package import JSON

extension AttributeDescription {
  /// Returns the typed value of a JSON value, decoded as the attribute's type.
  ///
  /// This method checks the type only. It accepts null for every attribute.
  ///
  /// - Parameter value: The JSON value that a client sent.
  /// - Returns: The value, or a description of the expected values if the type is another one.
  package func decode(_ value: JSONValue) -> AttributeDecoding {
    type.decode(value)
  }
}

/// The outcome of reading a JSON value as an attribute's type.
package enum AttributeDecoding: Sendable, Equatable {
  case value(AttributeValue)
  /// A description of the accepted values, as "an integer from -32768 to 32767".
  case expected(String)
}

extension AttributeType {
  /// Returns the typed value of a JSON value; see `AttributeDescription.decode(_:)`.
  package func decode(_ value: JSONValue) -> AttributeDecoding {
    if case .json = self { return .value(value.isNull ? .null : .json(value.deduplicated.text)) }
    switch (value, self) {
    case (.null, _): return .value(.null)
    case (.string(let text), .string): return .value(.string(text))
    case (.integer(let number), .int16), (.integer(let number), .int32),
      (.integer(let number), .int64):
      return integer(number)
    case (.number(let number), .int16), (.number(let number), .int32),
      (.number(let number), .int64):
      // The parser returns -0 as a `number`; every other `number` is not a 64-bit integer.
      return number == 0 && number.sign == .minus ? .value(.integer(0)) : expected
    case (.string(let text), .int64):
      // A client without 64-bit integers may send an int64 as a string (P-040).
      guard let number = Int64(text), String(number) == text else { return expected }
      return .value(.integer(number))
    case (.number(let number), .double): return .value(.double(number))
    case (.integer(let number), .double): return .value(.double(Double(number)))
    case (.number(let number), .float): return float(number)
    case (.integer(let number), .float): return float(Double(number))
    case (.bool(let flag), .boolean): return .value(.boolean(flag))
    case (.string(let text), _): return decode(text: text)
    case (.integer(let number), .decimal): return .value(.decimal(String(number)))
    default: return expected
    }
  }

  private var expected: AttributeDecoding {
    .expected(expectation)
  }

  private func integer(_ number: Int64) -> AttributeDecoding {
    guard let range = integerRange, range.contains(number) else { return expected }
    return .value(.integer(number))
  }

  private func float(_ number: Double) -> AttributeDecoding {
    let rounded = Double(Float(number))
    return rounded.isFinite ? .value(.double(rounded)) : expected
  }

  private func decode(text: String) -> AttributeDecoding {
    let value: AttributeValue? =
      switch self {
      case .date: DateText.milliseconds(text).map { .date($0) }
      case .uuid: UUIDText.canonical(text).map { .uuid($0) }
      case .uri: Self.isURI(text) ? .uri(text) : nil
      case .binary: Base64Text.decode(text).map { .binary($0) }
      case .decimal: DecimalText.canonical(text).map { .decimal($0) }
      default: nil
      }
    return value.map { .value($0) } ?? expected
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

  /// A description of this type's values on the wire, for messages.
  package var expectation: String {
    switch self {
    case .string: "a string"
    case .int16, .int32, .int64:
      "an integer from \(integerRange?.lowerBound ?? 0) to \(integerRange?.upperBound ?? 0)"
    case .double: "a number"
    case .float: "a number within single precision"
    case .decimal: "a decimal number as a string, like \"12.50\""
    case .boolean: "true or false"
    case .date: "an RFC 3339 date, like \"2026-11-21T08:30:00.000Z\""
    case .uuid: "a UUID as a string"
    case .uri: "an absolute URI as a string"
    case .binary: "base64 with padding, as a string"
    case .json: "any JSON value"
    }
  }
}

/// Decimal numbers as text.
package enum DecimalText {
  /// Returns the shortest plain notation of a decimal number, or nil if the text is not a decimal
  /// number of at most 38 digits.
  package static func canonical(_ text: String) -> String? {
    var rest = Array(text.utf8)[...]
    let negative = rest.first == UInt8(ascii: "-")
    if negative { rest = rest.dropFirst() }
    let parts = rest.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count <= 2, !rest.isEmpty,
      parts.allSatisfy({ part in
        !part.isEmpty && part.allSatisfy { 0x30...0x39 ~= $0 }
      })
    else { return nil }
    var whole = parts[0].drop { $0 == 0x30 }
    var fraction = parts.count == 2 ? parts[1] : []
    while fraction.last == 0x30 { fraction = fraction.dropLast() }
    guard whole.count + fraction.count <= 38 else { return nil }
    if whole.isEmpty { whole = [0x30] }
    var bytes = Array(whole)
    if !fraction.isEmpty { bytes += [UInt8(ascii: ".")] + fraction }
    let plain = String(decoding: bytes, as: UTF8.self)
    return negative && plain != "0" ? "-" + plain : plain
  }

  /// Compares two canonical decimals by value; returns a negative number, zero or a positive one.
  package static func compare(_ first: String, _ second: String) -> Int {
    let firstNegative = first.hasPrefix("-")
    let secondNegative = second.hasPrefix("-")
    guard firstNegative == secondNegative else { return firstNegative ? -1 : 1 }
    let order = compareMagnitudes(
      firstNegative ? first.dropFirst() : first[...],
      secondNegative ? second.dropFirst() : second[...]
    )
    return firstNegative ? -order : order
  }

  private static func compareMagnitudes(_ first: Substring, _ second: Substring) -> Int {
    let a = first.split(separator: ".")
    let b = second.split(separator: ".")
    let wholeA = a.first ?? ""
    let wholeB = b.first ?? ""
    if wholeA.utf8.count != wholeB.utf8.count {
      return wholeA.utf8.count < wholeB.utf8.count ? -1 : 1
    }
    if wholeA != wholeB { return wholeA < wholeB ? -1 : 1 }
    let fractionA = a.count > 1 ? a[1] : ""
    let fractionB = b.count > 1 ? b[1] : ""
    return fractionA == fractionB ? 0 : fractionA < fractionB ? -1 : 1
  }
}
