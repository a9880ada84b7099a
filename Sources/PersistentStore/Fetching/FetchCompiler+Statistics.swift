import CordialValues
import ObjectModel

/// Values that are computed from collections.
extension FetchCompiler {
  /// Compiles one value that is computed from a collection, or from the values at the end of a path
  /// from each element.
  ///
  /// For a minimum, maximum or mode, constants in the collection are decoded as `expected`.
  mutating func statistic(
    _ statistic: PredicateStatistic,
    _ expression: PredicateExpression,
    _ offset: Int,
    of path: [String] = [],
    as expected: ComparedSide = .constant
  ) throws(StoreError) -> Value {
    let isElement = [.min, .max, .mode].contains(statistic)
    let side = isElement ? expected : .constant
    let query = try collection(expression, path: path, own: path.count, as: side)
    if statistic == .count { return (query.count, .value(.int64, name: nil)) }
    let rows = query.rows
    func made(_ sql: String, _ type: AttributeType) -> Value {
      (
        SQLFragment(
          "(SELECT \(sql) FROM (\(rows.sql)))" + Self.collation(type),
          rows.values,
          depth: rows.depth + CollectionQuery.depth
        ),
        .value(type, name: nil)
      )
    }
    if case .object = query.side {
      throw Self.typeError("values, as after a path", query.side, expression.offset)
    }
    let type = query.side.type ?? .double
    let isNumber = type.isNumber || type == .decimal
    switch statistic {
    case .count: return made("count(*)", .int64)
    case .min, .max:
      var value = made("\(statistic.rawValue)(v\(Self.collation(type)))", type)
      if case .json = query.side { value.side = .json }
      return value
    case .sum, .average:
      guard isNumber else { throw Self.typeError("numbers", query.side, expression.offset) }
      let sql = Self.total(of: "v", type, isAverage: statistic == .average)
      return made(sql, Self.totalType(type, isAverage: statistic == .average))
    case .median where type == .decimal, .mode where type == .decimal:
      return made("cordial_decimal_\(statistic.rawValue)(group_concat(v, ' '))", .decimal)
    case .stddev where type == .decimal, .stddev where type.isInteger:
      return made("cordial_decimal_stddev(group_concat(v, ' '))", .double)
    case .mode where type.isInteger:
      return made("CAST(cordial_decimal_mode(group_concat(v, ' ')) AS INTEGER)", .int64)
    case .median, .stddev, .mode:
      guard isNumber else { throw Self.typeError("numbers", query.side, expression.offset) }
      return made(
        "cordial_statistic('\(statistic.rawValue)', group_concat(quote(CAST(v AS REAL))))",
        .double
      )
    }
  }

  /// Returns SQL for the sum or the average of a column of numbers.
  ///
  /// If there are no values, the sum is 0 and the average is null.
  static func total(of column: String, _ type: AttributeType, isAverage: Bool) -> String {
    if type == .decimal {
      return "cordial_decimal_\(isAverage ? "average" : "sum")(group_concat(\(column), ' '))"
    }
    if isAverage { return "avg(\(column))" }
    guard type.isInteger else { return "total(\(column))" }
    // The upper and the lower 32 bits are summed separately, because sum() fails beyond 64 bits.
    // The combined sum becomes a double if it is too large.
    return "coalesce(sum(\(column) >> 32) * 4294967296 + sum(\(column) & 4294967295), 0)"
  }

  static func totalType(_ type: AttributeType, isAverage: Bool) -> AttributeType {
    if type == .decimal { return .decimal }
    return type.isInteger && !isAverage ? .int64 : .double
  }
}
