import CordialValues

/// A condition on table rows that refers to the columns by their indexes.
package struct BoundCondition: Sendable {
  /// The columns to which the condition is bound.
  ///
  /// A table that fits begins with these columns.
  private let columns: [String]
  private let term: Term

  /// A part of a condition; a part that reads a column outside of `columns` is `unknown`.
  private indirect enum Term: Sendable {
    case constant(Bool)
    case equal(Int, StorageKey, Bool)
    case order(Int, RowCondition.Operator, AttributeValue)
    case oneOf(Int, Set<StorageKey>)
    case between(Int, AttributeValue, AttributeValue)
    case text(Int, RowCondition.TextOperator, folded: String, flags: Int32)
    case not(Term)
    case all([Term])
    case any([Term])
    case unknown
  }

  /// Binds a condition to tables.
  ///
  /// - Parameters:
  ///   - condition: The condition.
  ///   - columns: The columns at the beginning of the tables, at least those of the tables that the
  ///     condition reads. A term that reads a column outside this list is unknown.
  package init(_ condition: RowCondition, to columns: [String]) {
    self.columns = columns
    term = Self.term(condition, columns)
  }

  private static func term(_ condition: RowCondition, _ columns: [String]) -> Term {
    func index(of column: String) -> Int? { columns.firstIndex(of: column) }
    let bound: Term? =
      switch condition {
      case .constant(let flag): .constant(flag)
      case .comparison(let column, .equal, let operand):
        index(of: column).map { .equal($0, StorageKey(operand), true) }
      case .comparison(let column, .notEqual, let operand):
        index(of: column).map { .equal($0, StorageKey(operand), false) }
      case .comparison(let column, let sign, let operand):
        index(of: column).map { .order($0, sign, operand) }
      case .oneOf(let column, let keys): index(of: column).map { .oneOf($0, keys) }
      case .between(let column, let low, let high):
        index(of: column).map { .between($0, low, high) }
      case .text(let column, let sign, let operand, let flags):
        index(of: column).map { .text($0, sign, folded: operand, flags: flags) }
      case .not(let inner): .not(term(inner, columns))
      case .all(let terms): .all(terms.map { term($0, columns) })
      case .any(let terms): .any(terms.map { term($0, columns) })
      case .unknown: .unknown
      }
    return bound ?? .unknown
  }

  /// Returns whether the rows of a table have the condition's columns at the same indexes.
  package func fits(_ table: RowTable) -> Bool {
    // Arrays that share their storage are equal without a comparison of their elements.
    table.columns.count == columns.count
      ? table.columns == columns : table.columns.starts(with: columns)
  }

  /// Evaluates the condition.
  ///
  /// - Parameter row: A row of a table that the condition fits.
  /// - Returns: Whether the row fulfils the condition; nil if the row does not decide the
  ///   condition.
  package func evaluate(_ row: RowValues) -> Bool? { Self.evaluate(term, row) }

  private static func evaluate(_ term: Term, _ row: RowValues) -> Bool? {
    switch term {
    case .constant(let flag): flag
    case .equal(let column, let key, let isEqual): (StorageKey(row[column]) == key) == isEqual
    case .order(let column, let sign, let operand): compare(row[column], sign, operand)
    case .oneOf(let column, let keys):
      row[column] != .null && keys.contains(StorageKey(row[column]))
    case .between(let column, let low, let high):
      compare(row[column], .greaterOrEqual, low) && compare(row[column], .lessOrEqual, high)
    case .text(let column, let sign, let operand, let flags):
      search(row.table.folded(row.index, column, flags), sign, operand)
    case .not(let inner): evaluate(inner, row).map { !$0 }
    case .all(let terms): decide(terms, row, while: true)
    case .any(let terms): decide(terms, row, while: false)
    case .unknown: nil
    }
  }

  /// Evaluates terms until a term decides the result: a false term of AND, or a true term of OR.
  private static func decide(_ terms: [Term], _ row: RowValues, while wanted: Bool) -> Bool? {
    var isKnown = true
    for term in terms {
      switch evaluate(term, row) {
      case nil: isKnown = false
      case wanted?: continue
      default: return !wanted
      }
    }
    return isKnown ? wanted : nil
  }

  private static func compare(
    _ value: AttributeValue,
    _ sign: RowCondition.Operator,
    _ operand: AttributeValue
  ) -> Bool {
    guard value != .null, operand != .null else { return false }
    let order = StorageOrder.compare(value, operand)
    return switch sign {
    case .less: order < 0
    case .lessOrEqual: order <= 0
    case .greater: order > 0
    case .greaterOrEqual: order >= 0
    case .equal: order == 0
    case .notEqual: order != 0
    }
  }

  private static func search(
    _ text: String?,
    _ sign: RowCondition.TextOperator,
    _ operand: String
  ) -> Bool {
    guard let text else { return sign == .notEqual }
    // By definition, no text contains the empty text, begins with it or ends with it.
    if operand.isEmpty, [.contains, .begins, .ends].contains(sign) { return false }
    return switch sign {
    case .contains: TextSearch.contains(text.utf8.span, operand.utf8.span) {}
    case .begins: text.utf8.starts(with: operand.utf8)
    case .ends: text.utf8.reversed().starts(with: operand.utf8.reversed())
    case .equal: text.utf8.elementsEqual(operand.utf8)
    case .notEqual: !text.utf8.elementsEqual(operand.utf8)
    }
  }
}
