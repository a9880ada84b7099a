import Foundation

/// The value of an expression in a random graph.
enum GraphValue {
  case missing
  /// The contract does not say what the value is, so that nothing is compared.
  case open
  case integer(Int64)
  case double(Double)
  case decimal(GraphDecimal)
  /// A number of which the contract does not say whether it is an integer: it divides as either.
  case untyped(Double)
  /// A result of floating point whose last digits depend on the order of the operations.
  case near(Double, within: Double)
  case text(String)
  case flag(Bool)
  /// Milliseconds since 1970.
  case date(Int64)
  /// A UUID, a URI or base64, which have equality only.
  case token(String)
  case object(Int)

  /// The order of two values; nil where it is open.
  enum Order {
    case less, equal, greater
    /// Neither is less, as a number and an object.
    case none

    init<Value: Comparable>(_ a: Value, _ b: Value) {
      self = a < b ? .less : a == b ? .equal : .greater
    }
  }

  var isMissing: Bool { if case .missing = self { true } else { false } }
  var isOpen: Bool { if case .open = self { true } else { false } }

  /// A number as floating point, a flag as 1 or 0.
  var double: Double? {
    switch self {
    case .integer(let number): Double(number)
    case .double(let number), .untyped(let number), .near(let number, _): number
    case .decimal(let number): number.double
    case .flag(let flag): flag ? 1 : 0
    default: nil
    }
  }

  /// A number as a decimal; a double has its shortest digits.
  var decimal: GraphDecimal? {
    switch self {
    case .integer(let number): GraphDecimal(number)
    case .double(let number), .untyped(let number): GraphDecimal(number)
    case .decimal(let number): number
    case .flag(let flag): GraphDecimal(Int64(flag ? 1 : 0))
    default: nil
    }
  }

  var isDecimal: Bool { if case .decimal = self { true } else { false } }

  /// How far the number may be from the store's.
  private var uncertainty: Double {
    if case .near(_, let within) = self { within } else { 0 }
  }

  // MARK: Order

  /// Returns the order of two values that are not missing.
  func order(_ other: GraphValue) -> Order? {
    switch (self, other) {
    case (.open, _), (_, .open): return nil
    case (.text(let a), .text(let b)):
      if a.unicodeScalars.elementsEqual(b.unicodeScalars) { return .equal }
      return a.unicodeScalars.lexicographicallyPrecedes(b.unicodeScalars) ? .less : .greater
    case (.date(let a), .date(let b)): return Order(a, b)
    case (.token(let a), .token(let b)): return a == b ? .equal : Order.none
    case (.object(let a), .object(let b)): return a == b ? .equal : Order.none
    default: return numericOrder(other)
    }
  }

  private func numericOrder(_ other: GraphValue) -> Order? {
    guard let a = double, let b = other.double else { return nil }
    let uncertainty = uncertainty + other.uncertainty
    if uncertainty > 0 { return abs(a - b) <= uncertainty ? nil : Order(a, b) }
    if isDecimal || other.isDecimal {
      guard let a = decimal, let b = other.decimal else { return nil }
      return a < b ? .less : a == b ? .equal : .greater
    }
    switch (whole, other.whole) {
    case (let a?, let b?): return Order(a, b)
    case (let a?, nil): return Self.order(a, b)
    case (nil, let b?):
      switch Self.order(b, a) {
      case .less?: return .greater
      case .greater?: return .less
      case let order: return order
      }
    default: return Order(a, b)
    }
  }

  /// An integer, or a flag as 1 or 0.
  private var whole: Int64? {
    switch self {
    case .integer(let number): number
    case .flag(let flag): flag ? 1 : 0
    default: nil
    }
  }

  /// The exact order of an integer and a double.
  ///
  /// It is open where the integer is no double, and the double nearest to it is the other number: a
  /// constant may have the type of the attribute beside it.
  private static func order(_ a: Int64, _ b: Double) -> Order? {
    if Double(a) == b, Int64(exactly: b) != a { return nil }
    if b >= 0x1p63 { return .less }
    if b < -0x1p63 { return .greater }
    let cut = b.rounded(.towardZero)
    let order = Order(a, Int64(cut))
    return order == .equal ? Order(cut, b) : order
  }

  // MARK: Comparison

  /// Whether a comparison holds; nil where the contract leaves it open.
  ///
  /// With a missing value, only equality with another missing value and inequality hold.
  func compare(_ sign: String, _ other: GraphValue) -> Bool? {
    if isOpen || other.isOpen { return nil }
    if isMissing || other.isMissing {
      switch sign {
      case "==": return isMissing && other.isMissing
      case "!=": return isMissing != other.isMissing
      // Core Data's documentation and the contract agree that no order has a missing value.
      default: return false
      }
    }
    guard let order = order(other) else { return nil }
    switch sign {
    case "==": return order == .equal
    case "!=": return order != .equal
    case "<": return order == .none ? nil : order == .less
    case "<=": return order == .none ? nil : order != .greater
    case ">": return order == .none ? nil : order == .greater
    default: return order == .none ? nil : order != .less
    }
  }
}

/// The logic of conditions that may be open.
enum GraphLogic {
  static func not(_ a: Bool?) -> Bool? { a.map { !$0 } }

  /// Whether all hold; open if that decides it.
  static func all(_ conditions: [Bool?]) -> Bool? {
    if conditions.contains(false) { return false }
    return conditions.contains(nil) ? nil : true
  }

  /// Whether one holds; open if that decides it.
  static func any(_ conditions: [Bool?]) -> Bool? {
    if conditions.contains(true) { return true }
    return conditions.contains(nil) ? nil : false
  }
}
