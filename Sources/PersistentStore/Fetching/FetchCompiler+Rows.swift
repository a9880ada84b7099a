import CordialValues
import ObjectModel

/// Comparisons that observed fetches decide from the columns of one row.
extension FetchCompiler {
  /// Returns a comparison of a column with a constant as a condition on one row.
  ///
  /// - Returns: The condition; `unknown` if SQLite converts values, uses a collation, or reads more
  ///   than the row.
  func rowCondition(
    _ comparison: PredicateComparison,
    _ left: Value,
    _ right: Value
  ) -> RowCondition {
    guard let column = comparedColumn(left) else { return .unknown }
    guard let operand = Self.boundValue(right), Self.isComparable(operand, with: left.side) else {
      return .unknown
    }
    let options = comparison.options
    guard !options.contains(.localized) else { return .unknown }
    let flags = Int32(options.rawValue)
    if let sign = Self.textOperator(comparison.comparison, isFolded: flags != 0) {
      guard case .string(let text) = operand, case .value(.string, _) = left.side else {
        return .unknown
      }
      let folded = flags == 0 ? text : Folding.fold(text, flags: flags)
      return .text(column: column, sign, folded: folded, flags: flags)
    }
    guard flags == 0, let sign = Self.operator(comparison.comparison) else { return .unknown }
    return .comparison(column: column, sign, operand)
  }

  /// Returns a comparison of a column with a list of constants as a condition on one row.
  func rowCondition(
    _ comparison: PredicateComparison,
    _ left: Value,
    _ right: [Value]
  ) -> RowCondition {
    guard comparison.options == [], let column = comparedColumn(left) else { return .unknown }
    let operands = right.compactMap(Self.boundValue)
    guard operands.count == right.count,
      operands.allSatisfy({ Self.isComparable($0, with: left.side) && $0 != .null })
    else { return .unknown }
    guard comparison.comparison == .between else {
      return .oneOf(column: column, Set(operands.map(StorageKey.init)))
    }
    return operands.count == 2 ? .between(column: column, operands[0], operands[1]) : .unknown
  }

  /// Returns the name of the column if a value is a column of the fetched object; nil for any other
  /// value.
  private func comparedColumn(_ value: Value) -> String? {
    guard value.fragment.values.isEmpty, scopes.count == 1 else { return nil }
    let name: String
    switch value.side {
    case .value(let type, let attribute?)
    where Self.isPlain(type) && entity.computed(named: attribute) == nil:
      name = attribute
    case .object: name = ""
    default: return nil
    }
    let candidates =
      name.isEmpty ? entity.relationships.filter { !$0.toMany }.map(\.name) : [name]
    return candidates.first { value.fragment.sql == column(scopes[0].alias, $0) }
  }

  /// Returns whether SQLite compares the columns of a type without a collation or a function.
  private static func isPlain(_ type: AttributeType) -> Bool {
    switch type.codec.wireForm {
    case .integer, .double, .boolean, .date: true
    case .string: type.codec.isText
    case .binary, .json: false
    }
  }

  /// Returns the bound constant if a value is a constant; nil for any other value.
  static func boundValue(_ value: Value) -> AttributeValue? {
    let isConstant =
      switch value.side {
      case .constant, .object: true
      case .value, .json: false
      }
    guard isConstant else { return nil }
    switch (value.fragment.sql, value.fragment.values.count) {
    case ("NULL", 0): return .null
    case ("?", 1): return value.fragment.values.first
    default: return nil
    }
  }

  /// Returns whether a constant is of the same storage class as a column.
  private static func isComparable(_ operand: AttributeValue, with side: ComparedSide) -> Bool {
    switch (operand, side) {
    case (.null, _): true
    case (.string, .value(.string, _)): true
    case (.integer, .object): true
    case (_, .value(.string, _)), (_, .object): false
    case (.integer, _), (.double, _), (.boolean, _), (.date, _): true
    default: false
    }
  }

  private static func textOperator(
    _ sign: PredicateComparison.Operator,
    isFolded: Bool
  ) -> RowCondition.TextOperator? {
    switch sign {
    case .contains: .contains
    case .beginsWith: .begins
    case .endsWith: .ends
    case .equal: isFolded ? .equal : nil
    case .notEqual: isFolded ? .notEqual : nil
    default: nil
    }
  }

  private static func `operator`(
    _ sign: PredicateComparison.Operator
  ) -> RowCondition.Operator? {
    switch sign {
    case .equal: .equal
    case .notEqual: .notEqual
    case .less: .less
    case .lessOrEqual: .lessOrEqual
    case .greater: .greater
    case .greaterOrEqual: .greaterOrEqual
    default: nil
    }
  }
}
