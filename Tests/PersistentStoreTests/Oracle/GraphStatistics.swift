import Foundation

/// Sums, extremes and statistics of values, of which those that are missing do not count.
///
/// The contract does not say it of missing values; `PredicateOracleTests` has it so.
enum GraphStatistics {
  static func value(_ name: String, _ all: [GraphValue]) -> GraphValue {
    if all.contains(where: \.isOpen) { return .open }
    let values = all.filter { !$0.isMissing }
    if name == "sum" { return sum(values) }
    if values.isEmpty { return .missing }
    switch name {
    case "min": return extreme(values, .less)
    case "max": return extreme(values, .greater)
    case "avg", "average": return average(values)
    case "median": return median(values)
    case "mode": return mode(values)
    default: return deviation(values)
    }
  }

  private static func sum(_ values: [GraphValue]) -> GraphValue {
    if values.isEmpty { return .integer(0) }
    if values.contains(where: \.isDecimal) {
      var sum = GraphDecimal(Int64(0))
      for value in values {
        guard let decimal = value.decimal, decimal.isShort else { return .open }
        sum = sum + decimal
        // Whether a part of the sum may have more digits than the sum is open.
        if !sum.isShort { return .open }
      }
      return .decimal(sum)
    }
    if values.allSatisfy(isInteger) {
      var sum: Int64 = 0
      var magnitude: Int64 = 0
      for case .integer(let number) in values {
        // What a sum of more than 64 bits becomes is open, in whatever order it is added.
        let (more, overflows) = magnitude.addingReportingOverflow(
          number == .min ? .max : abs(number)
        )
        if overflows || number == .min && values.count > 1 { return .open }
        magnitude = more
        sum += number
      }
      return .integer(sum)
    }
    let numbers = values.compactMap(\.double)
    guard numbers.count == values.count else { return .open }
    let sum = numbers.reduce(0, +)
    let magnitude = numbers.reduce(0) { $0 + abs($1) }
    guard magnitude.isFinite else { return .open }
    let isExact = magnitude < 1e9 && numbers.allSatisfy { $0 * 1024 == ($0 * 1024).rounded() }
    return isExact ? .double(sum) : .near(sum, within: magnitude * 1e-14 + .leastNonzeroMagnitude)
  }

  private static func isInteger(_ value: GraphValue) -> Bool {
    if case .integer = value { true } else { false }
  }

  private static func extreme(_ values: [GraphValue], _ wanted: GraphValue.Order) -> GraphValue {
    var best = values[0]
    for value in values.dropFirst() {
      guard let order = value.order(best), order != .none else { return .open }
      if order == wanted { best = value }
    }
    return best
  }

  private static func average(_ values: [GraphValue]) -> GraphValue {
    let sum = sum(values)
    let magnitude = values.reduce(0) { $0 + abs($1.double ?? 0) }
    if case .integer(let number) = sum, magnitude >= 9_007_199_254_740_992 {
      // Integers that are no doubles may be rounded before they are added.
      return .near(Double(number) / Double(values.count), within: magnitude * 1e-15)
    }
    return divided(sum, by: values.count)
  }

  private static func divided(_ value: GraphValue, by count: Int) -> GraphValue {
    switch value {
    case .decimal(let sum):
      return (sum / GraphDecimal(Int64(count))).stored.map { .decimal($0) } ?? .missing
    case .integer(let sum) where abs(Double(sum)) < 9_007_199_254_740_992:
      return .untyped(Double(sum) / Double(count))
    case .integer, .double, .near, .untyped:
      guard let sum = value.double else { return .open }
      let average = sum / Double(count)
      // Whether the sum is rounded before or after the division is open.
      return .near(average, within: abs(sum) * 1e-13 + uncertainty(value))
    default: return .open
    }
  }

  private static func uncertainty(_ value: GraphValue) -> Double {
    if case .near(_, let within) = value { within } else { 0 }
  }

  private static func median(_ values: [GraphValue]) -> GraphValue {
    guard let sorted = sorted(values) else { return .open }
    let middle = sorted.count / 2
    if sorted.count % 2 == 1 { return sorted[middle] }
    return divided(sum([sorted[middle - 1], sorted[middle]]), by: 2)
  }

  /// The values in their order; nil where it is open.
  private static func sorted(_ values: [GraphValue]) -> [GraphValue]? {
    var sorted: [GraphValue] = []
    for value in values {
      var index = 0
      while index < sorted.count {
        guard let order = sorted[index].order(value), order != .none else { return nil }
        if order == .greater { break }
        index += 1
      }
      sorted.insert(value, at: index)
    }
    return sorted
  }

  /// The least of the most frequent values.
  private static func mode(_ values: [GraphValue]) -> GraphValue {
    guard let sorted = sorted(values) else { return .open }
    var best = (value: sorted[0], count: 0)
    var run = (value: sorted[0], count: 0)
    for value in sorted {
      run = value.order(run.value) == .equal ? (run.value, run.count + 1) : (value, 1)
      if run.count > best.count { best = run }
    }
    return best.value
  }

  /// The standard deviation of a whole population.
  private static func deviation(_ values: [GraphValue]) -> GraphValue {
    let numbers = values.compactMap(\.double)
    let magnitude = numbers.map { abs($0) }.max() ?? 0
    // How far the squares of large numbers are from exact is open.
    guard numbers.count == values.count, magnitude < 1e6 else { return .open }
    let mean = numbers.reduce(0, +) / Double(numbers.count)
    let squares = numbers.map { ($0 - mean) * ($0 - mean) }.reduce(0, +)
    return .near(sqrt(squares / Double(numbers.count)), within: magnitude * 1e-6 + 1e-300)
  }
}
