package import CordialValues

/// A condition on the columns of one row, evaluated in memory exactly as SQLite evaluates it.
///
/// Like a predicate, the condition has two truth values: a comparison with a missing value is
/// false, except for `IS` and `IS NOT`.
package indirect enum RowCondition: Sendable {
  /// A comparison without a collation.
  package enum Operator: Sendable {
    case equal, notEqual, less, lessOrEqual, greater, greaterOrEqual
  }

  /// A search in a text.
  package enum TextOperator: Sendable {
    case contains, begins, ends, equal, notEqual
  }

  case constant(Bool)
  case comparison(column: String, Operator, AttributeValue)
  case oneOf(column: String, Set<StorageKey>)
  case between(column: String, AttributeValue, AttributeValue)
  /// A comparison of folded texts; the operand is folded already, and flags of 0 fold nothing.
  case text(column: String, TextOperator, folded: String, flags: Int32)
  case not(RowCondition)
  case all([RowCondition])
  case any([RowCondition])
  /// A condition that one row cannot decide.
  case unknown

  /// The columns that the condition reads.
  package var columns: Set<String> {
    switch self {
    case .constant, .unknown: []
    case .comparison(let column, _, _), .oneOf(let column, _), .between(let column, _, _),
      .text(let column, _, _, _):
      [column]
    case .not(let inner): inner.columns
    case .all(let terms), .any(let terms):
      terms.reduce(into: []) { $0.formUnion($1.columns) }
    }
  }

  /// Whether a row always decides the condition.
  package var isDecidable: Bool {
    switch self {
    case .unknown: false
    case .not(let inner): inner.isDecidable
    case .all(let terms), .any(let terms): terms.allSatisfy(\.isDecidable)
    default: true
    }
  }

  /// The value of a condition that is the same for every row; nil for every other condition.
  package var constant: Bool? {
    if case .constant(let flag) = self { flag } else { nil }
  }

  /// Whether no row can decide the condition.
  package var isUnknown: Bool {
    if case .unknown = self { true } else { false }
  }

  /// A fact about every matching row, by which callers find the conditions that a row may fulfil.
  package enum Selection: Sendable {
    /// The row has one of the given values in at least one of the columns.
    case values([String: Set<StorageKey>])
    /// The row has a value in at least one of the ranges.
    case ranges([ColumnRange])
  }

  /// The fact that the condition implies about every matching row; nil if there is none.
  package var selection: Selection? {
    selectors.map { .values($0) } ?? ranges.map { .ranges($0) }
  }

  /// Values by column: a matching row has one of these values in at least one column; nil if the
  /// condition implies no such values.
  package var selectors: [String: Set<StorageKey>]? {
    switch self {
    case .comparison(let column, .equal, let value): return [column: [StorageKey(value)]]
    case .oneOf(let column, let keys): return [column: keys]
    case .all(let terms):
      // The term with the fewest values is the most selective.
      return terms.compactMap(\.selectors)
        .min { $0.values.reduce(0) { $0 + $1.count } < $1.values.reduce(0) { $0 + $1.count } }
    case .any(let terms):
      var all: [String: Set<StorageKey>] = [:]
      for term in terms {
        guard let selectors = term.selectors else { return nil }
        all.merge(selectors) { $0.union($1) }
      }
      return all.isEmpty ? nil : all
    default: return nil
    }
  }

  /// The maximum number of ranges of a condition.
  private static let rangesMax = 64

  /// Ranges of columns: a matching row has a value in at least one of them; nil if the condition
  /// implies no such ranges.
  package var ranges: [ColumnRange]? {
    switch self {
    case .comparison(let column, let sign, let operand):
      switch sign {
      case .notEqual: return nil
      // Only a missing value equals null, and no range contains a missing value.
      case .equal:
        return operand == .null ? nil : [ColumnRange(column: column, low: operand, high: operand)]
      case .less, .lessOrEqual: return [ColumnRange(column: column, high: operand)]
      case .greater, .greaterOrEqual: return [ColumnRange(column: column, low: operand)]
      }
    case .between(let column, let low, let high):
      return [ColumnRange(column: column, low: low, high: high)]
    case .all(let terms): return Self.intersection(terms.compactMap(\.ranges))
    case .any(let terms):
      var all: [ColumnRange] = []
      for term in terms {
        guard let ranges = term.ranges, all.count + ranges.count <= Self.rangesMax else {
          return nil
        }
        all += ranges
      }
      return all.isEmpty ? nil : all
    default: return nil
    }
  }

  /// Returns the ranges of one of the terms of an AND; ranges with both bounds are preferred.
  ///
  /// Terms with a single range of the same column are intersected first.
  private static func intersection(_ terms: [[ColumnRange]]) -> [ColumnRange]? {
    var single: [ColumnRange] = []
    for case let ranges in terms where ranges.count == 1 {
      if let index = single.firstIndex(where: { $0.column == ranges[0].column }) {
        single[index].intersect(ranges[0])
      } else {
        single.append(ranges[0])
      }
    }
    let isNarrow = { (range: ColumnRange) in range.low != nil && range.high != nil }
    if let narrow = single.first(where: isNarrow) { return [narrow] }
    return terms.first { $0.allSatisfy(isNarrow) } ?? single.first.map { [$0] } ?? terms.first
  }

  /// Evaluates the condition.
  ///
  /// - Parameter row: The row.
  /// - Returns: Whether the row fulfils the condition; nil if the row does not decide the
  ///   condition.
  package func evaluate(_ row: RowValues) -> Bool? {
    BoundCondition(self, to: row.table.columns).evaluate(row)
  }
}

/// A range of a column's values, in SQLite's order; it includes its bounds.
package struct ColumnRange: Sendable, Equatable {
  package let column: String
  /// The least value; nil without a bound.
  package private(set) var low: AttributeValue?
  /// The greatest value; nil without a bound.
  package private(set) var high: AttributeValue?

  package init(column: String, low: AttributeValue? = nil, high: AttributeValue? = nil) {
    self.column = column
    self.low = low
    self.high = high
  }

  /// Limits the range to another range of the same column.
  fileprivate mutating func intersect(_ other: ColumnRange) {
    if let bound = other.low, low.map({ StorageOrder.compare($0, bound) < 0 }) ?? true {
      low = bound
    }
    if let bound = other.high, high.map({ StorageOrder.compare($0, bound) > 0 }) ?? true {
      high = bound
    }
  }
}
