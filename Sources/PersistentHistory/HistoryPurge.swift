package import GRDB

/// Removes the beginning of the log, a little at a time.
///
/// What is removed first is the entries of commits, so that no reader meets one with a part of its
/// changes: from then on the oldest position is behind them. A purge that was cut short goes on
/// where it was.
package struct HistoryPurge {
  /// How many rows one step removes: few enough that a save behind it hardly waits.
  package static let stepRows: Int64 = 4000

  private let db: Database

  package init(_ db: Database) {
    self.db = db
  }

  /// Removes some of what is in front of a position.
  ///
  /// - Parameter number: The commit that becomes the oldest position.
  /// - Returns: How many commits it removed, nil when nothing is left to remove.
  /// - Throws: `DatabaseError`.
  package func step(to number: Int64) throws -> Int? {
    guard
      let oldest = try Int64.fetchOne(db, sql: "SELECT min(number) FROM cordial_transaction")
    else { return nil }
    if oldest < number {
      let end = min(number, oldest + Self.stepRows)
      try db.execute(
        sql: """
          DELETE FROM cordial_transaction WHERE number < ?1
            AND EXISTS (SELECT 1 FROM cordial_transaction WHERE number = ?1)
          """,
        arguments: [end]
      )
      let count = db.changesCount
      try db.execute(sql: "DELETE FROM cordial_undo WHERE number < ?", arguments: [end])
      return count > 0 ? count : nil
    }
    let bounds = try Row.fetchOne(
      db,
      sql: """
        SELECT (SELECT min(number) FROM cordial_change), lastChange FROM cordial_transaction
        WHERE number = ?
        """,
      arguments: [oldest]
    )
    // The last of them stays though it is nobody's: SQLite goes on counting from the greatest
    // number that there is.
    guard let bounds, let first = bounds[0] as Int64?, case let last = (bounds[1] as Int64) - 1,
      first <= last
    else { return nil }
    try db.execute(
      sql: "DELETE FROM cordial_change WHERE number <= ?",
      arguments: [min(last, first + Self.stepRows)]
    )
    return 0
  }
}
