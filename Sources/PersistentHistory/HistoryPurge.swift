package import SQLite

/// Removes the beginning of the log, a little at a time.
///
/// What is removed first is the entries of commits, so that no reader meets one with a part of its
/// changes: from then on the oldest position is behind them. A purge that was cut short goes on
/// where it was.
package struct HistoryPurge {
  /// How many rows one step removes: few enough that a save behind it hardly waits.
  package static let stepRows: Int64 = 4000

  private let db: SQLiteConnection

  package init(_ db: SQLiteConnection) {
    self.db = db
  }

  /// Removes some of what is in front of a position.
  ///
  /// - Parameter number: The commit that becomes the oldest position.
  /// - Returns: How many commits it removed, nil when nothing is left to remove.
  /// - Throws: `SQLiteError`.
  package func step(to number: Int64) throws -> Int? {
    guard
      let oldest = try db.integer("SELECT min(number) FROM cordial_transaction")
    else { return nil }
    if oldest < number {
      let end = min(number, oldest + Self.stepRows)
      try db.execute(
        """
        DELETE FROM cordial_transaction WHERE number < ?1
          AND EXISTS (SELECT 1 FROM cordial_transaction WHERE number = ?1)
        """,
        [end]
      )
      let count = db.changes
      try db.execute("DELETE FROM cordial_undo WHERE number < ?", [end])
      return count > 0 ? count : nil
    }
    let bounds = try db.row(
      """
      SELECT (SELECT min(number) FROM cordial_change), lastChange FROM cordial_transaction
      WHERE number = ?
      """,
      [oldest]
    ) { ($0.optionalInteger(0), $0.integer(1) - 1) }
    // The last of them stays though it is nobody's: SQLite goes on counting from the greatest
    // number that there is.
    guard let (first, last) = bounds, let first, first <= last else { return nil }
    try db.execute(
      "DELETE FROM cordial_change WHERE number <= ?",
      [min(last, first + Self.stepRows)]
    )
    return 0
  }
}
