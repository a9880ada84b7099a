import Foundation

/// Arithmetic as the contract has it; what it leaves open is `open`.
enum GraphArithmetic {
  /// Beyond it, a double is not every integer.
  private static let exactMax = 9_007_199_254_740_992.0

  // MARK: Two numbers

  static func calculate(_ a: GraphValue, _ sign: String, _ b: GraphValue) -> GraphValue {
    if a.isOpen || b.isOpen { return .open }
    if a.isMissing || b.isMissing { return .missing }
    if sign == "modulus" { return modulus(a, b) }
    if sign == "**" { return power(a, b) }
    if case .near = a { return .open }
    if case .near = b { return .open }
    if case .decimal = a { return decimals(a, sign, b) }
    if case .decimal = b { return decimals(a, sign, b) }
    if case .integer(let a) = a, case .integer(let b) = b { return integers(a, sign, b) }
    guard let x = a.double, let y = b.double else { return .open }
    if sign == "/" && y == 0 { return .missing }
    let result =
      switch sign {
      case "+": x + y
      case "-": x - y
      case "*": x * y
      default: x / y
      }
    // What a number beyond the range of a double becomes is open.
    guard result.isFinite else { return .open }
    switch (a, b) {
    case (.untyped, _), (_, .untyped):
      return sign == "/" || abs(result) >= exactMax ? .open : .untyped(result)
    default: return .double(result)
    }
  }

  private static func integers(_ a: Int64, _ sign: String, _ b: Int64) -> GraphValue {
    let (result, overflows) =
      switch sign {
      case "+": a.addingReportingOverflow(b)
      case "-": a.subtractingReportingOverflow(b)
      case "*": a.multipliedReportingOverflow(by: b)
      default: b == 0 ? (0, false) : a.dividedReportingOverflow(by: b)
      }
    if sign == "/" && b == 0 { return .missing }
    // What an integer of more than 64 bits becomes is open.
    return overflows ? .open : .integer(result)
  }

  private static func decimals(_ a: GraphValue, _ sign: String, _ b: GraphValue) -> GraphValue {
    guard let x = a.decimal, let y = b.decimal, x.isShort, y.isShort else { return .open }
    if sign == "/" && y.isZero { return .missing }
    let result =
      switch sign {
      case "+": x + y
      case "-": x - y
      case "*": x * y
      default: x / y
      }
    return result.stored.map { .decimal($0) } ?? .missing
  }

  private static func modulus(_ a: GraphValue, _ b: GraphValue) -> GraphValue {
    // Of numbers that are no integers, the remainder is open.
    guard case .integer(let a) = a, case .integer(let b) = b else { return .open }
    if b == 0 { return .missing }
    let (rest, overflows) = a.remainderReportingOverflow(dividingBy: b)
    return overflows ? .open : .integer(rest)
  }

  private static func power(_ a: GraphValue, _ b: GraphValue) -> GraphValue {
    if case .near = a { return .open }
    if case .near = b { return .open }
    guard let x = a.double, let y = b.double else { return .open }
    let result = pow(x, y)
    guard result.isFinite, abs(result) < exactMax else { return .open }
    if x == x.rounded(), y == y.rounded(), y >= 0 { return .untyped(result) }
    return .near(result, within: abs(result) * 1e-13)
  }

  // MARK: Bits

  static func bits(_ a: GraphValue, _ sign: String, _ b: GraphValue) -> GraphValue {
    if a.isMissing || b.isMissing { return .missing }
    guard case .integer(let a) = a, case .integer(let b) = b else { return .open }
    switch sign {
    case "&": return .integer(a & b)
    case "|": return .integer(a | b)
    case "^": return .integer(a ^ b)
    default:
      // A shift by a negative number, and one that loses bits, are open.
      guard (0..<64).contains(b) else { return .open }
      if sign == ">>" { return .integer(a >> b) }
      return (a << b) >> b == a ? .integer(a << b) : .open
    }
  }

  // MARK: Functions

  static func function(_ name: String, _ value: GraphValue) -> GraphValue {
    if value.isMissing || value.isOpen { return value }
    switch name {
    case "-": return negated(value)
    case "abs":
      guard let order = value.order(.integer(0)) else { return .open }
      return order == .less ? negated(value) : value
    case "floor", "ceiling", "trunc": return rounded(name, value)
    default: break
    }
    guard let x = value.double else { return .open }
    // Roots and logarithms outside of their domain are open.
    switch name {
    case "sqrt": return x < 0 ? .open : near(sqrt(x), value)
    case "log": return x <= 0 ? .open : near(log10(x), value)
    case "ln": return x <= 0 ? .open : near(log(x), value)
    default: return x > 700 ? .open : near(exp(x), value)
    }
  }

  private static func near(_ result: Double, _ value: GraphValue) -> GraphValue {
    if case .near = value { return .open }
    return .near(result, within: abs(result) * 1e-13)
  }

  private static func negated(_ value: GraphValue) -> GraphValue {
    switch value {
    case .integer(let number): number == .min ? .open : .integer(-number)
    case .double(let number): .double(-number)
    case .untyped(let number): .untyped(-number)
    case .decimal(let number): .decimal(-number)
    case .near(let number, let within): .near(-number, within: within)
    default: .open
    }
  }

  private static func rounded(_ name: String, _ value: GraphValue) -> GraphValue {
    switch value {
    // Whether a decimal is rounded by all of its digits is open.
    case .near, .flag: return .open
    case .decimal(let number) where GraphDecimal(number.double) != number: return .open
    default: break
    }
    guard let x = value.double, abs(x) < exactMax else { return .open }
    switch name {
    case "floor": return .untyped(x.rounded(.down))
    case "ceiling": return .untyped(x.rounded(.up))
    default: return .untyped(x.rounded(.towardZero))
    }
  }
}
