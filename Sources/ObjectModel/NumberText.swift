import JSON

/// The readers of texts that a migration converts to numbers and dates.
enum NumberText {
  /// Returns the number that a text represents if the whole text is a JSON number; nil for any
  /// other text.
  static func number(_ text: String) -> Double? {
    switch json(text) {
    case .integer(let number)?: Double(number)
    case .number(let number)?: number
    default: nil
    }
  }

  /// Returns the integer that a text represents if the whole text is a JSON integer; nil for any
  /// other text.
  static func integer(_ text: String) -> Int64? { json(text)?.integer }

  private static func json(_ text: String) -> JSONValue? {
    guard let first = text.utf8.first, first == UInt8(ascii: "-") || 0x30...0x39 ~= first,
      let last = text.utf8.last, 0x30...0x39 ~= last
    else { return nil }
    do {
      return try JSONParser.parse(text)
    } catch {
      // The text is not a JSON number.
      return nil
    }
  }

  /// Returns whether two texts represent exactly the same number.
  static func isSame(_ text: String, as other: String) -> Bool {
    guard let first = DecimalNumber(exponential: text),
      let second = DecimalNumber(exponential: other)
    else { return false }
    return (first - second).isZero
  }

  /// Returns whether a date's text has no digits beyond milliseconds, which would be lost.
  static func hasMilliseconds(_ text: String) -> Bool {
    guard let point = text.utf8.firstIndex(of: UInt8(ascii: ".")) else { return true }
    let fraction = text.utf8[text.utf8.index(after: point)...].prefix { 0x30...0x39 ~= $0 }
    return fraction.dropFirst(3).allSatisfy { $0 == 0x30 }
  }
}
