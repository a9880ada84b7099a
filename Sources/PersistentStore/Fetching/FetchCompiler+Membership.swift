import CordialValues
import ObjectModel

/// Conditions on the elements of collections.
extension FetchCompiler {
  /// Compiles the condition that some element of a collection satisfies a comparison or, if
  /// `negated`, that some element does not.
  mutating func exists(
    _ collection: PredicateExpression,
    _ comparison: PredicateComparison,
    negated: Bool = false
  ) throws(StoreError) -> SQLFragment {
    if comparison.comparison == .in, isCollection(comparison.right) {
      if let found = try elements(of: collection, comparison, negated: negated) { return found }
    }
    var expected = ComparedSide.constant
    let isList: Bool
    switch collection.form {
    case .list, .constant: isList = true
    default: isList = false
    }
    if isList, !isCollection(comparison.right) { expected = try value(comparison.right).side }
    let query = try self.collection(collection, as: expected)
    let element = (SQLFragment("q.v" + Self.collation(query.side.type)), query.side)
    let condition = try compileDirect(comparison, left: element)
    let rows = query.rows
    let wanted = negated ? "(\(condition.sql)) IS NOT TRUE" : "(\(condition.sql))"
    return SQLFragment(
      "EXISTS (SELECT 1 FROM (\(rows.sql)) q WHERE \(wanted))",
      rows.values + condition.values,
      depth: max(rows.depth, condition.depth) + CollectionQuery.depth
    )
  }

  /// Compiles the condition that some element of a collection is in a second collection or, if
  /// `negated`, that some element is not.
  ///
  /// Returns nil if the second collection is a list, because the caller compares the values of a
  /// list directly.
  private mutating func elements(
    of collection: PredicateExpression,
    _ comparison: PredicateComparison,
    negated: Bool
  ) throws(StoreError) -> SQLFragment? {
    switch comparison.right.form {
    case .list, .constant: return nil
    default: break
    }
    let others = try self.collection(comparison.right)
    let query = try self.collection(collection, as: others.side)
    let condition = try compare(
      comparison.rewritten(left: comparison.left, .element, comparison.right),
      (SQLFragment("q.v" + Self.collation(query.side.type)), query.side),
      (SQLFragment("r.v" + Self.collation(others.side.type)), others.side)
    )
    let (rows, otherRows) = (query.rows, others.rows)
    let found = "EXISTS (SELECT 1 FROM (\(otherRows.sql)) r WHERE (\(condition.sql)))"
    return SQLFragment(
      "EXISTS (SELECT 1 FROM (\(rows.sql)) q WHERE \(negated ? "NOT " : "")\(found))",
      rows.values + otherRows.values + condition.values,
      depth: max(rows.depth, otherRows.depth + CollectionQuery.depth) + CollectionQuery.depth
    )
  }
}
