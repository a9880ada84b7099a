/// The queries for the objects beside one object in the order of a fetch.
struct FetchNeighbors: Sendable {
  let keys: [SortKey]
  /// The selected columns, the object's number first.
  let numbers: String
  let from: String
  let condition: SQLFragment

  /// The column that is the first key; nil where a column does not have its order.
  var firstColumn: String? { keys.first?.column }

  /// The columns that are the keys, in order; nil where a column does not have the order of its
  /// key.
  var columns: [String]? {
    let columns = keys.compactMap(\.column)
    return columns.count == keys.count ? columns : nil
  }

  /// Returns the queries for the objects beside a cursor, the nearest first.
  ///
  /// - Parameters:
  ///   - cursor: The sort position of an object.
  ///   - isBefore: Whether the objects before it are wanted, instead of those after it.
  /// - Returns: Queries for one column, whose last value to bind is the maximum number of rows. The
  ///   rows of the second query come after those of the first.
  func queries(from cursor: FetchCursor, isBefore: Bool) -> [SQLFragment] {
    let keys = isBefore ? self.keys.map(\.reversed) : self.keys
    let (range, missing) = FetchCompiler.position(cursor, keys, isReversed: isBefore)
    let order = (keys.map(\.order) + ["t.\"_id\"\(isBefore ? " DESC" : "")"])
      .joined(separator: ", ")
    return [range, missing].compactMap(\.self).map { place in
      SQLFragment(
        "SELECT \(numbers) \(from) WHERE (\(condition.sql)) AND (\(place.sql)) "
          + "ORDER BY \(order) LIMIT ?",
        condition.values + place.values
      )
    }
  }
}
