import CordialValues
import Glibc
import ObjectModel
import SQLite

/// The SQL functions of numbers and conversions that Cordial's connections add to SQLite's.
enum NumberFunctions {
  static func add(to db: SQLiteConnection) throws {
    try addMathematics(to: db)
    try addDecimals(to: db)
    try SQLFunction.add("cordial_cast", argumentCount: 3, to: db) { call in
      _ = answerCast(call)
    }
    // The second argument is a list of numbers, as `group_concat(quote(v))` returns it.
    try SQLFunction.add("cordial_statistic", argumentCount: 2, to: db) { call in
      let numbers = (call.text(1) ?? "").split(separator: ",").compactMap { Double($0) }
      call.answer(statistic(call.text(0) ?? "", of: numbers))
    }
  }

  /// Computes `CAST` for a call, whose arguments are a value, its type and the target type.
  ///
  /// - Returns: Whether the value is null, or was converted.
  static func answerCast(_ call: SQLFunction.Call) -> Bool {
    guard let source = call.text(1), let target = call.text(2) else { return false }
    switch cast(call, from: source, to: target) {
    case .integer(let number)?: call.answer(number)
    case .double(let number)?: call.answer(number)
    case .string(let text)?: call.answer(text)
    default:
      call.answer(nil as String?)
      return call.isNull(0)
    }
    return true
  }

  // MARK: Mathematics

  private static func addMathematics(to db: SQLiteConnection) throws {
    try SQLFunction.add("cordial_math", argumentCount: 2, to: db) { call in
      guard let number = call.double(1) else { return call.answer(nil as Double?) }
      let result = compute(call.text(0) ?? "", number)
      call.answer(result.isFinite ? result : nil)
    }
    try SQLFunction.add("cordial_remainder", argumentCount: 2, to: db) { call in
      guard let dividend = call.double(0), let divisor = call.double(1), divisor != 0 else {
        return call.answer(nil as Double?)
      }
      call.answer(fmod(dividend, divisor))
    }
    try SQLFunction.add("cordial_xor", argumentCount: 2, to: db) { call in
      guard let first = call.integer(0), let second = call.integer(1) else {
        return call.answer(nil as Double?)
      }
      call.answer(first ^ second)
    }
  }

  private static func compute(_ function: String, _ number: Double) -> Double {
    switch function {
    case "sqrt": number.squareRoot()
    case "log": log10(number)
    case "ln": log(number)
    case "exp": exp(number)
    case "floor": number.rounded(.down)
    case "ceiling": number.rounded(.up)
    case "trunc": number.rounded(.towardZero)
    default: .nan
    }
  }

  /// Returns a statistic of numbers, nil if there are no numbers.
  private static func statistic(_ name: String, of numbers: [Double]) -> Double? {
    guard !numbers.isEmpty else { return nil }
    let sorted = numbers.sorted()
    let count = sorted.count
    switch name {
    case "median":
      return count % 2 == 1
        ? sorted[count / 2] : sorted[count / 2 - 1] / 2 + sorted[count / 2] / 2
    case "stddev":
      let mean = sorted.reduce(0, +) / Double(count)
      let squares = sorted.reduce(0) { $0 + ($1 - mean) * ($1 - mean) }
      return (squares / Double(count)).squareRoot()
    default: return mode(of: sorted)
    }
  }

  // MARK: Decimals

  private static func addDecimals(to db: SQLiteConnection) throws {
    try SQLFunction.add("cordial_decimal", argumentCount: 3, to: db) { call in
      let second = decimal(call, 2)
      guard let first = decimal(call, 1), second != nil || call.isNull(2) else {
        return call.answer(nil as String?)
      }
      call.answer(DecimalNumber.compute(call.text(0) ?? "", first, second)?.text)
    }
    try SQLFunction.add("cordial_comparable", argumentCount: 1, to: db) { call in
      call.answer(decimal(call, 0)?.comparableText)
    }
    try SQLFunction.add("cordial_decimal_sum", argumentCount: 1, to: db) { call in
      call.answer(total(of: call.text(0)).sum.text)
    }
    try SQLFunction.add("cordial_decimal_average", argumentCount: 1, to: db) { call in
      let (sum, count) = total(of: call.text(0))
      call.answer(sum.divided(by: DecimalNumber(count))?.text)
    }
    try SQLFunction.add("cordial_decimal_median", argumentCount: 1, to: db) { call in
      call.answer(median(of: decimals(call.text(0)))?.text)
    }
    try SQLFunction.add("cordial_decimal_stddev", argumentCount: 1, to: db) { call in
      call.answer(deviation(of: decimals(call.text(0))))
    }
    try SQLFunction.add("cordial_decimal_mode", argumentCount: 1, to: db) { call in
      call.answer(mode(of: decimals(call.text(0)))?.text)
    }
  }

  /// Returns an argument as a decimal, from a text, an integer or a double.
  private static func decimal(_ call: SQLFunction.Call, _ index: Int) -> DecimalNumber? {
    if let text = call.text(index) { return DecimalNumber(text) }
    if let number = call.integer(index) { return DecimalNumber(number) }
    return call.double(index).flatMap { DecimalNumber($0) }
  }

  /// Returns the sum and the count of the decimals in a list.
  private static func total(of list: String?) -> (sum: DecimalNumber, count: Int64) {
    let numbers = decimals(list)
    return (numbers.reduce(DecimalNumber(0), +), Int64(numbers.count))
  }

  /// Returns the decimals in a list that is separated by spaces.
  private static func decimals(_ list: String?) -> [DecimalNumber] {
    (list ?? "").split(separator: " ").compactMap { DecimalNumber(String($0)) }
  }

  /// Returns the standard deviation of a whole population; the arithmetic before the root is
  /// decimal.
  private static func deviation(of numbers: [DecimalNumber]) -> Double? {
    let count = DecimalNumber(Int64(numbers.count))
    guard let mean = numbers.reduce(DecimalNumber(0), +).divided(by: count) else { return nil }
    let squares = numbers.reduce(DecimalNumber(0)) { $0 + ($1 - mean) * ($1 - mean) }
    return squares.divided(by: count).flatMap { Double($0.comparableText) }?.squareRoot()
  }

  private static func median(of numbers: [DecimalNumber]) -> DecimalNumber? {
    guard !numbers.isEmpty else { return nil }
    let sorted = numbers.sorted()
    let middle = sorted.count / 2
    return sorted.count % 2 == 1
      ? sorted[middle] : (sorted[middle - 1] + sorted[middle]).divided(by: DecimalNumber(2))
  }

  /// Returns the most frequent number; of equally frequent numbers, the least.
  private static func mode<Number: Comparable>(of numbers: [Number]) -> Number? {
    let sorted = numbers.sorted()
    guard var best = sorted.first else { return nil }
    var (bestCount, start) = (0, 0)
    for index in 0...sorted.count where index == sorted.count || sorted[index] != sorted[start] {
      if index - start > bestCount { (best, bestCount) = (sorted[start], index - start) }
      start = index
    }
    return best
  }

  // MARK: Conversions

  /// The seconds from 1970 to 2001, the reference date for conversions between dates and numbers.
  private static let referenceDate = 978_307_200.0

  /// Converts a value between attribute types; nil if the conversion fails.
  private static func cast(
    _ call: SQLFunction.Call,
    from source: String,
    to target: String
  ) -> AttributeValue? {
    let isDate = source == AttributeType.date.rawValue
    switch AttributeType(rawValue: target) {
    case .int64: return call.integer(0).map { .integer($0) }
    case .double:
      if isDate { return call.integer(0).map { .double(Double($0) / 1000 - referenceDate) } }
      if let text = call.text(0) {
        return number(text).map { .double($0) }
      }
      return call.double(0).map { .double($0) }
    case .decimal: return decimal(call, 0)?.text.map { .string($0) }
    case .date:
      if isDate { return call.integer(0).map { .integer($0) } }
      if let text = call.text(0) { return DateText.milliseconds(text).map { .integer($0) } }
      guard let seconds = call.double(0) else { return nil }
      let milliseconds = ((seconds + referenceDate) * 1000).rounded()
      return Int64(exactly: milliseconds).map { .integer($0) }
    case .string:
      if isDate { return call.integer(0).flatMap { DateText.text($0) }.map { .string($0) } }
      if let text = call.text(0) { return .string(text) }
      if let number = call.integer(0) { return .string(String(number)) }
      return call.double(0).map { .string(text(of: $0)) }
    default: return nil
    }
  }

  /// Returns the number that a text represents in decimal digits, as in JSON; nil if it has other
  /// characters.
  private static func number(_ text: String) -> Double? {
    guard let last = text.utf8.last, 0x30...0x39 ~= last,
      text.utf8.allSatisfy({ "0123456789+-.eE".utf8.contains($0) }),
      let number = Double(text), number.isFinite
    else { return nil }
    return number
  }

  /// Returns the text of a number; an integer gets no decimal point, as with NSNumber.
  private static func text(of number: Double) -> String {
    Int64(exactly: number).map(String.init) ?? number.description
  }
}
