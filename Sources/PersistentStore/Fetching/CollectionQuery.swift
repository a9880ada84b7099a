import CordialValues
import ObjectModel

/// A collection, as the parts of an SQL subquery; the parts may read tables of enclosing queries.
struct CollectionQuery {
  /// The value of a row.
  var value: SQLFragment
  let side: ComparedSide
  /// The object that a row represents.
  ///
  /// If several rows represent the same object, the object is only one element of the collection.
  /// Nil if no object can have several rows.
  var object: SQLFragment?
  /// The tables and their joins, in the form of FROM.
  var from: String
  /// The values that the tables bind, before the values of the conditions.
  var fromValues: [AttributeValue] = []
  /// The number of entries that the tables need on the stack of SQLite's parser.
  var fromDepth = 0
  /// The compound query of an operation on sets; nil for any other collection.
  var compound: SQLFragment?
  var conditions: [SQLFragment]
  /// The columns that order the elements, ascending; if empty, the elements are in the order of
  /// their values.
  var order: [String]
  var isDistinct = false

  /// The query of one column, `v`, including a null row for paths that reach no object.
  var rows: SQLFragment { rows(by: [], isDescending: false) }

  /// The query of one column, `v`, without rows whose path reaches no object.
  var members: SQLFragment { rows(by: [], isDescending: false, skipsNil: true) }

  /// The query of one column, `v`, in the order of the elements.
  var orderedRows: SQLFragment { rows(by: order, isDescending: false) }

  /// The query of one row: the element at an index.
  func element(_ index: PredicateIndex) -> SQLFragment {
    let keys = order.isEmpty ? ["v"] : order
    return switch index {
    case .first: rows(by: keys, isDescending: false, " LIMIT 1")
    case .last: rows(by: keys, isDescending: true, " LIMIT 1")
    case .at(let index): rows(by: keys, isDescending: false, " LIMIT 1 OFFSET \(index)")
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
    let counted = object.map { "DISTINCT \($0.sql)" } ?? "*"
    return SQLFragment(
      "(SELECT count(\(counted)) FROM \(from)\(condition))",
      (object?.values ?? []) + fromValues + conditions.flatMap(\.values),
      depth: max(fromDepth, conditions.map(\.depth).max() ?? 0) + Self.depth
    )
  }

  /// The number of entries that a nested query needs on the stack of SQLite's parser.
  static let depth = 10

  private var condition: String {
    let sorted = conditions.map { "(\($0.sql))" }.joined(separator: " AND ")
    return sorted.isEmpty ? "" : " WHERE \(sorted)"
  }

  private func rows(
    by keys: [String],
    isDescending: Bool,
    _ window: String = "",
    skipsNil: Bool = false
  ) -> SQLFragment {
    let direction = isDescending ? " DESC" : ""
    let depth = max(value.depth, fromDepth, conditions.map(\.depth).max() ?? 0) + Self.depth
    let values = fromValues + conditions.flatMap(\.values)
    let end = " FROM \(from)\(condition)"
    guard let object else {
      let order = keys.map { $0 + direction }.joined(separator: ", ")
      return SQLFragment(
        "SELECT \(isDistinct ? "DISTINCT " : "")\(value.sql) AS v\(end)"
          + (keys.isEmpty ? "" : " ORDER BY \(order)") + window,
        value.values + values,
        depth: depth
      )
    }
    let columns = "\(value.sql) AS v, \(object.sql) AS o"
    let word = isDistinct ? "DISTINCT " : ""
    let sql: String
    if keys.isEmpty {
      sql =
        "SELECT \(word)v FROM (SELECT DISTINCT \(columns)\(end))"
        + (skipsNil ? " WHERE o IS NOT NULL" : "")
    } else {
      // The first row that reaches an object determines the object's position. A row without an
      // object is not an element.
      let keys = keys.map { $0 == "v" ? value.sql : $0 }.joined(separator: ", ")
      sql =
        "SELECT \(word)v FROM (SELECT \(columns), row_number() OVER (ORDER BY \(keys)) AS n"
        + "\(end)) WHERE o IS NOT NULL GROUP BY o ORDER BY min(n)\(direction)\(window)"
    }
    return SQLFragment(sql, value.values + object.values + values, depth: depth + Self.depth)
  }
}
