/// The queries for the objects next to a given object in the order of a fetch.
struct FetchNeighbors: Sendable {
  let keys: [SortKey]
  /// The selected columns, the object's number first.
  let numbers: String
  let from: String
  let condition: SQLFragment

  /// The fetched object's column that is the first key; nil if the key is an expression or needs a
  /// collation.
  var firstColumn: String? { keys.first?.column }

  /// The fetched object's columns that are the keys, in order; nil if a key is an expression or
  /// needs a collation.
  var columns: [String]? {
    let columns = keys.compactMap(\.column)
    return columns.count == keys.count ? columns : nil
  }

  /// Returns the queries for the objects next to a cursor, the nearest object first.
  ///
  /// - Parameters:
  ///   - cursor: The sort position of an object.
  ///   - isBefore: Whether to find the objects before the cursor, instead of the objects after it.
  /// - Returns: One query, or two queries; the rows of the second query come after the rows of the
  ///   first query. The first column is the object's number, and the last bound value is the
  ///   maximum number of rows.
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
