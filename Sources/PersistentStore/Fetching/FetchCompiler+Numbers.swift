import CordialValues
import JSON
import ObjectModel

/// Arithmetic over numbers and dates.
extension FetchCompiler {
  static func typeError(_ what: String, _ side: ComparedSide, _ offset: Int) -> StoreError {
    StoreError(PredicateError(offset: offset, expected: "\(what); \(side.words)"))
  }

  /// Compiles an expression that must be a number.
  mutating func number(_ expression: PredicateExpression) throws(StoreError) -> Value {
    let (fragment, side) = try operand(expression)
    guard Self.isNumber(side.type) else {
      throw Self.typeError("a number", side, expression.offset)
    }
    return (fragment, side)
  }

  private static func isNumber(_ type: AttributeType?) -> Bool {
    type?.isNumber == true || type == .decimal
  }

  /// Compiles a number or a date; a constant is a number if it is numeric, otherwise a date.
  private mutating func operand(_ expression: PredicateExpression) throws(StoreError) -> Value {
    guard case .constant(let constant) = expression.form else { return try value(expression) }
    switch constant {
    case .integer(let number):
      return (SQLFragment("?", [.integer(number)]), .value(.int64, name: nil))
    case .number(let number):
      return (SQLFragment("?", [.double(number)]), .value(.double, name: nil))
    case .string:
      let date = ComparedSide.value(.date, name: nil)
      return (try self.constant(constant, date, expression.offset), date)
    default: throw Self.typeError("a number or a date", .constant, expression.offset)
    }
  }

  /// Compiles an arithmetic operation.
  ///
  /// Two integers give an integer, except for powers. A division by zero gives null. A number that
  /// is added to a date is in seconds. The difference of two dates is in seconds too.
  mutating func arithmetic(
    _ operation: PredicateArithmetic,
    _ left: PredicateExpression,
    _ right: PredicateExpression
  ) throws(StoreError) -> Value {
    let (a, first) = try operand(left)
    var (b, second) = try operand(right)
    if context.isStrict, operation == .divide || operation == .remainder {
      b.sql = StrictSQL.divisor(b.sql)
    }
    let values = a.values + b.values
    let isDecimal = first.type == .decimal || second.type == .decimal
    let depth = max(a.depth + (isDecimal ? 5 : 3), b.depth + 6)
    guard depth <= Self.stackMax else {
      throw Self.tooDeep
    }
    func made(_ sql: String, _ type: AttributeType) -> Value {
      let whole = sql + Self.collation(type)
      return (SQLFragment(whole, values, depth: depth), .value(type, name: nil))
    }
    switch (first.type, second.type, operation) {
    case (.date?, .date?, .subtract): return made("((\(a.sql) - \(b.sql)) / 1000.0)", .double)
    case (.date?, let other?, .add) where other.isNumber,
      (.date?, let other?, .subtract) where other.isNumber:
      return made("(\(a.sql) \(operation.rawValue) CAST(\(b.sql) * 1000 AS INTEGER))", .date)
    case (let one?, let other?, _) where operation.isBitwise:
      for (type, side, expression) in [(one, first, left), (other, second, right)]
      where !type.isInteger {
        throw Self.typeError("an integer", side, expression.offset)
      }
      guard operation == .bitXor else {
        return made("(\(a.sql) \(operation.rawValue) \(b.sql))", .int64)
      }
      return made("cordial_xor(\(a.sql), \(b.sql))", .int64)
    case (let one?, let other?, .power) where Self.isNumber(one) && Self.isNumber(other):
      let (base, exponent) = (real(a.sql, one), real(b.sql, other))
      return made("cordial_power(\(base), \(exponent))", .double)
    case (let one?, let other?, _)
    where (one == .decimal || other == .decimal) && Self.isNumber(one) && Self.isNumber(other):
      return made("cordial_decimal('\(operation.rawValue)', \(a.sql), \(b.sql))", .decimal)
    case (let one?, let other?, .remainder) where one.isNumber && other.isNumber:
      let isInteger = one.isInteger && other.isInteger
      return isInteger
        ? made("(\(a.sql) % \(b.sql))", .int64)
        : made("cordial_remainder(\(a.sql), \(b.sql))", .double)
    case (let one?, let other?, _) where one.isNumber && other.isNumber:
      let isInteger = one.isInteger && other.isInteger
      return made(
        "(\(a.sql) \(operation.rawValue) \(b.sql))",
        isInteger ? .int64 : .double
      )
    case (let one, _, _) where !Self.isNumber(one) && one != .date:
      throw Self.typeError("a number or a date", first, left.offset)
    default: throw Self.typeError("a number", second, right.offset)
    }
  }

  /// Returns SQL for a number as a double; a decimal, which is stored as a text,
  /// is converted.
  private func real(_ sql: String, _ type: AttributeType) -> String {
    type == .decimal ? "CAST(\(sql) AS REAL)" : sql
  }

  static func isText(_ side: ComparedSide) -> Bool {
    switch side {
    case .value(let type, _): type.codec.isText || type == .uuid
    case .json, .constant: true
    case .object: false
    }
  }
}
