import CordialValues
import ObjectModel

/// A collection as the parts of a query, whose values may depend on the queries around it.
struct CollectionQuery {
  /// The value of a row.
  var value: SQLFragment
  let side: ComparedSide
  /// The tables and their joins, in the form of FROM.
  var from: String
  /// Values that the tables bind, before those of the conditions.
  var fromValues: [AttributeValue] = []
  /// The entries that the tables need on the stack of SQLite's parser.
  var fromDepth = 0
  /// The queries that an operation on sets joins; nil for another collection.
  var compound: SQLFragment?
  var conditions: [SQLFragment]
  /// The order of the elements, as columns that ascend; empty where only the values have an order.
  var order: [String]
  var isDistinct = false

  /// The query of one column, `v`.
  var rows: SQLFragment { rows(orderBy: "") }

  /// The query of one column, `v`, in the order of the elements.
  var orderedRows: SQLFragment {
    rows(orderBy: order.isEmpty ? "" : " ORDER BY \(order.joined(separator: ", "))")
  }

  /// The query of one row: the element at an index.
  func element(_ index: PredicateIndex) -> SQLFragment {
    let keys = order.isEmpty ? ["v"] : order
    return switch index {
    case .first: rows(orderBy: " ORDER BY \(keys.joined(separator: ", ")) LIMIT 1")
    case .last:
      rows(orderBy: " ORDER BY \(keys.map { $0 + " DESC" }.joined(separator: ", ")) LIMIT 1")
    case .at(let index):
      rows(orderBy: " ORDER BY \(keys.joined(separator: ", ")) LIMIT 1 OFFSET \(index)")
    }
  }

  /// The number of elements, as an expression.
  var count: SQLFragment {
    guard !isDistinct else {
      let rows = rows
      return SQLFragment(
        "(SELECT count(*) FROM (\(rows.sql)))",
        rows.values,
        depth: rows.depth + Self.depth
      )
    }
    return SQLFragment(
      "(SELECT count(*) FROM \(from)\(condition))",
      fromValues + conditions.flatMap(\.values),
      depth: max(fromDepth, conditions.map(\.depth).max() ?? 0) + Self.depth
    )
  }

  /// The entries that a query inside a query needs on the stack of SQLite's parser.
  static let depth = 10

  private var condition: String {
    let sorted = conditions.map { "(\($0.sql))" }.joined(separator: " AND ")
    return sorted.isEmpty ? "" : " WHERE \(sorted)"
  }

  private func rows(orderBy: String) -> SQLFragment {
    SQLFragment(
      "SELECT \(isDistinct ? "DISTINCT " : "")\(value.sql) AS v FROM \(from)\(condition)\(orderBy)",
      value.values + fromValues + conditions.flatMap(\.values),
      depth: max(value.depth, fromDepth, conditions.map(\.depth).max() ?? 0) + Self.depth
    )
  }
}
