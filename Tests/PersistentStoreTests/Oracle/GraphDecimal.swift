/// A decimal number in digits, with the arithmetic of a schoolbook.
struct GraphDecimal: Equatable {
  /// The most digits that a decimal of the store has.
  private static let digitsMax = 38
  /// Enough digits of a quotient to round it.
  private static let quotientDigits = 120

  let isNegative: Bool
  /// The digits, the least first, without zeros in front; zero has none.
  private let digits: [UInt8]
  /// The number of digits after the point.
  private let scale: Int

  private init(_ digits: [UInt8], scale: Int, isNegative: Bool) {
    var digits = digits
    var scale = scale
    if scale < 0 {
      digits = [UInt8](repeating: 0, count: -scale) + digits
      scale = 0
    }
    let zeros = min(digits.prefix { $0 == 0 }.count, scale)
    digits.removeFirst(zeros)
    scale -= zeros
    while digits.last == 0 { digits.removeLast() }
    self.digits = digits
    self.scale = digits.isEmpty ? 0 : scale
    self.isNegative = isNegative && !digits.isEmpty
  }

  /// Reads plain or scientific notation; nil for any other text.
  init?(_ text: String) {
    guard let match = text.wholeMatch(of: /(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([-+]?[0-9]+))?/),
      let exponent = Int(match.4 ?? "0")
    else { return nil }
    let fraction = match.3 ?? ""
    let digits = (match.2 + fraction).utf8.reversed().map { $0 - 0x30 }
    self.init(digits, scale: fraction.utf8.count - exponent, isNegative: match.1 == "-")
  }

  /// The decimal with the shortest digits that name the number; nil if it is not finite.
  init?(_ number: Double) {
    self.init(number.description)
  }

  init(_ number: Int64) {
    let digits = number.magnitude.description.utf8.reversed().map { $0 - 0x30 }
    self.init(digits, scale: 0, isNegative: number < 0)
  }

  var isZero: Bool { digits.isEmpty }

  /// Whether the number has no more digits than a decimal of the store.
  var isShort: Bool { max(digits.count, scale) <= Self.digitsMax }

  /// The plain notation.
  var text: String {
    var letters = digits.map { Character(String($0)) }
    while letters.count <= scale { letters.append("0") }
    if scale > 0 { letters.insert(".", at: scale) }
    return (isNegative ? "-" : "") + String(letters.reversed())
  }

  var double: Double { Double(text) ?? .nan }

  /// The number as a decimal of the store: rounded half away from zero, nil above 38 digits.
  ///
  /// Zeros after the point count, as `PredicateConstructTests` has it for a third of 0.1.
  var stored: GraphDecimal? {
    guard digits.count - scale <= Self.digitsMax else { return nil }
    let excess = max(digits.count, scale) - Self.digitsMax
    guard excess > 0 else { return self }
    let half = digits.indices.contains(excess - 1) && digits[excess - 1] >= 5
    let kept = [UInt8](digits.dropFirst(excess))
    return GraphDecimal(
      half ? Self.sum(kept, [1]) : kept,
      scale: scale - excess,
      isNegative: isNegative
    )
  }

  static prefix func - (number: GraphDecimal) -> GraphDecimal {
    GraphDecimal(number.digits, scale: number.scale, isNegative: !number.isNegative)
  }

  static func + (a: GraphDecimal, b: GraphDecimal) -> GraphDecimal {
    let scale = max(a.scale, b.scale)
    let (left, right) = (a.digits(scale), b.digits(scale))
    if a.isNegative == b.isNegative {
      return GraphDecimal(sum(left, right), scale: scale, isNegative: a.isNegative)
    }
    return isLess(left, right)
      ? GraphDecimal(difference(right, left), scale: scale, isNegative: b.isNegative)
      : GraphDecimal(difference(left, right), scale: scale, isNegative: a.isNegative)
  }

  static func - (a: GraphDecimal, b: GraphDecimal) -> GraphDecimal { a + -b }

  static func * (a: GraphDecimal, b: GraphDecimal) -> GraphDecimal {
    var product = [UInt8](repeating: 0, count: a.digits.count + b.digits.count)
    for (i, x) in a.digits.enumerated() {
      var carry: UInt8 = 0
      for (j, y) in b.digits.enumerated() {
        let value = product[i + j] + x * y + carry
        product[i + j] = value % 10
        carry = value / 10
      }
      product[i + b.digits.count] += carry
    }
    return GraphDecimal(
      product,
      scale: a.scale + b.scale,
      isNegative: a.isNegative != b.isNegative
    )
  }

  /// The quotient, cut behind enough digits; the divisor is not zero.
  static func / (a: GraphDecimal, b: GraphDecimal) -> GraphDecimal {
    let dividend = [UInt8](repeating: 0, count: quotientDigits) + a.digits
    var quotient: [UInt8] = []
    var rest: [UInt8] = []
    for digit in dividend.reversed() {
      rest.insert(digit, at: 0)
      while rest.last == 0 { rest.removeLast() }
      var count: UInt8 = 0
      while !isLess(rest, b.digits) {
        rest = difference(rest, b.digits)
        while rest.last == 0 { rest.removeLast() }
        count += 1
      }
      quotient.append(count)
    }
    return GraphDecimal(
      quotient.reversed(),
      scale: a.scale - b.scale + quotientDigits,
      isNegative: a.isNegative != b.isNegative
    )
  }

  static func < (a: GraphDecimal, b: GraphDecimal) -> Bool { (a - b).isNegative }

  /// The digits with as many after the point.
  private func digits(_ scale: Int) -> [UInt8] {
    [UInt8](repeating: 0, count: scale - self.scale) + digits
  }

  private static func isLess(_ a: [UInt8], _ b: [UInt8]) -> Bool {
    let count = max(a.count, b.count)
    for index in (0..<count).reversed() {
      let x = index < a.count ? a[index] : 0
      let y = index < b.count ? b[index] : 0
      if x != y { return x < y }
    }
    return false
  }

  private static func sum(_ a: [UInt8], _ b: [UInt8]) -> [UInt8] {
    var sum: [UInt8] = []
    var carry: UInt8 = 0
    for index in 0..<max(a.count, b.count) {
      let value = (index < a.count ? a[index] : 0) + (index < b.count ? b[index] : 0) + carry
      sum.append(value % 10)
      carry = value / 10
    }
    return sum + [carry]
  }

  /// The difference of a number and another that is not greater.
  private static func difference(_ a: [UInt8], _ b: [UInt8]) -> [UInt8] {
    var difference: [UInt8] = []
    var borrow: UInt8 = 0
    for index in 0..<a.count {
      let taken = (index < b.count ? b[index] : 0) + borrow
      borrow = a[index] < taken ? 1 : 0
      difference.append(a[index] + 10 * borrow - taken)
    }
    return difference
  }
}
