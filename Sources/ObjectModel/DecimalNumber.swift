/// A decimal number for the store's computations: an integer and the count of digits after the
/// point.
///
/// Sums, differences and products are exact. The store keeps at most 38 digits, and rounds half
/// away from zero, as NSDecimalNumber does.
package struct DecimalNumber: Comparable {
  private let digits: WideInteger
  /// The number of digits after the point.
  private let scale: Int

  private static let digitsMax = 38
  /// The greatest exponent that is read; a number with a greater exponent has more than 38 digits.
  private static let exponentMax = 400
  /// The maximum length of a text that is read, in bytes.
  private static let lengthMax = 1000

  private init(_ digits: WideInteger, scale: Int) {
    self.digits = digits
    self.scale = scale
  }

  package init(_ number: Int64) {
    self.init(WideInteger(number), scale: 0)
  }

  /// Reads the text of a decimal; nil if the text is not a decimal.
  package init?(_ text: String) {
    guard let canonical = DecimalText.canonical(text) else { return nil }
    self.init(plain: canonical, exponent: 0)
  }

  /// Creates the decimal with the shortest digits that identify a double; nil if it is not finite.
  package init?(_ number: Double) {
    guard number.isFinite else { return nil }
    self.init(exponential: number.description)
  }

  /// Reads a number that may have an exponent.
  package init?(exponential text: String) {
    guard text.utf8.count <= 2 * Self.lengthMax else { return nil }
    let parts = text.split(maxSplits: 2, omittingEmptySubsequences: false) {
      $0 == "e" || $0 == "E"
    }
    guard let plain = parts.first, parts.count <= 2,
      let exponent = parts.count > 1 ? Int(parts[1]) : 0
    else { return nil }
    self.init(plain: String(plain), exponent: exponent)
  }

  private init?(plain: String, exponent: Int) {
    // The limit on the length is necessary because parsing takes quadratic time.
    guard plain.utf8.count <= Self.lengthMax, exponent.magnitude <= Self.exponentMax else {
      return nil
    }
    let parts = plain.split(separator: ".", maxSplits: 2, omittingEmptySubsequences: false)
    let fraction = parts.count > 1 ? parts[1] : ""
    guard let digits = WideInteger(String(parts[0] + fraction)) else { return nil }
    let scale = fraction.utf8.count - exponent
    self.init(scale < 0 ? digits * Self.power(-scale) : digits, scale: max(scale, 0))
  }

  private static func power(_ exponent: Int) -> WideInteger { .powerOfTen(exponent) }

  /// The text that the store keeps; nil for a number with more than 38 digits before the point.
  package var text: String? {
    let count = digits.digits.utf8.count
    // For a number below one, the zeros after the point count as digits.
    let excess = min(max(count, scale) - Self.digitsMax, scale)
    let number = excess > 0 ? rounded(scale: scale - excess) : self
    // Rounding up may add a digit; the fraction then ends with a zero, which `canonical` removes.
    return DecimalText.canonical(number.plainText)
  }

  /// The text for comparisons with stored decimals; this text may have any count of digits.
  package var comparableText: String { DecimalText.canonical(plainText, digitsMax: .max) ?? "0" }

  /// The text with all digits and without an exponent.
  private var plainText: String {
    var plain = digits.digits
    if scale > 0 {
      let zeros = scale - plain.utf8.count + 1
      if zeros > 0 { plain = String(repeating: "0", count: zeros) + plain }
      plain.insert(".", at: plain.index(plain.endIndex, offsetBy: -scale))
    }
    return (digits.isNegative ? "-" : "") + plain
  }

  /// Returns the number with fewer digits after the point, rounded half away from zero.
  private func rounded(scale: Int) -> DecimalNumber {
    let divisor = Self.power(self.scale - scale)
    let half = divisor.divided(by: WideInteger(2))
    let shifted = digits.isNegative ? digits - half : digits + half
    return DecimalNumber(shifted.divided(by: divisor), scale: scale)
  }

  var isZero: Bool { digits.isZero }

  private func digits(scale: Int) -> WideInteger { digits * Self.power(scale - self.scale) }

  // MARK: Operations

  package static func == (first: DecimalNumber, second: DecimalNumber) -> Bool {
    (first - second).isZero
  }

  package static func < (first: DecimalNumber, second: DecimalNumber) -> Bool {
    (first - second).digits.isNegative
  }

  package static func + (first: DecimalNumber, second: DecimalNumber) -> DecimalNumber {
    let scale = max(first.scale, second.scale)
    return DecimalNumber(first.digits(scale: scale) + second.digits(scale: scale), scale: scale)
  }

  package static func - (first: DecimalNumber, second: DecimalNumber) -> DecimalNumber {
    let scale = max(first.scale, second.scale)
    return DecimalNumber(first.digits(scale: scale) - second.digits(scale: scale), scale: scale)
  }

  package static func * (first: DecimalNumber, second: DecimalNumber) -> DecimalNumber {
    DecimalNumber(first.digits * second.digits, scale: first.scale + second.scale)
  }

  /// Returns the quotient with more digits than the store keeps; nil for a division by zero.
  ///
  /// The function drops the further digits. This does not change how the store rounds the quotient:
  /// a rest below one half stays below one half, and a rest of at least one half stays at least one
  /// half.
  package func divided(by other: DecimalNumber) -> DecimalNumber? {
    guard !other.digits.isZero else { return nil }
    let extra = 2 * Self.digitsMax + 2
    return DecimalNumber(
      (digits * Self.power(extra + other.scale)).divided(by: other.digits),
      scale: extra + scale
    )
  }

  /// Returns the remainder of a division to an integer; the remainder has the sign of the dividend.
  func remainder(by other: DecimalNumber) -> DecimalNumber? {
    guard !other.digits.isZero else { return nil }
    let scale = max(scale, other.scale)
    let rest = digits(scale: scale).remainder(by: other.digits(scale: scale))
    return DecimalNumber(rest, scale: scale)
  }

  var magnitude: DecimalNumber { DecimalNumber(digits.magnitude, scale: scale) }
  var truncated: DecimalNumber { integer(.towardZero) }

  /// The greatest integer that is not greater than the number.
  var floor: DecimalNumber { integer(.down) }

  /// The least integer that is not less than the number.
  var ceiling: DecimalNumber { integer(.up) }

  private func integer(_ rounding: WideInteger.Rounding) -> DecimalNumber {
    DecimalNumber(digits.divided(by: Self.power(scale), rounding), scale: 0)
  }

  /// Computes an operation or a function of the predicate language; nil if there is no result.
  package static func compute(
    _ operation: String,
    _ first: DecimalNumber,
    _ second: DecimalNumber?
  ) -> DecimalNumber? {
    switch (operation, second) {
    case ("+", let second?): first + second
    case ("-", let second?): first - second
    case ("*", let second?): first * second
    case ("/", let second?): first.divided(by: second)
    case ("%", let second?): first.remainder(by: second)
    case ("abs", nil): first.magnitude
    case ("floor", nil): first.floor
    case ("ceiling", nil): first.ceiling
    case ("trunc", nil): first.truncated
    default: nil
    }
  }
}
