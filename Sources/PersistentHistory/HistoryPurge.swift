package import SQLite

/// A purge of the oldest part of the log, in small steps.
///
/// A purge first deletes the entries of commits and then their changes, so that no reader finds a
/// commit with only some of its changes. The oldest readable position is then after the deleted
/// commits. A purge that was interrupted continues where it stopped.
package struct HistoryPurge {
  /// The number of rows that one step deletes; small, so that a save hardly waits for the step.
  package static let stepRows: Int64 = 4000

  private let db: SQLiteConnection

  package init(_ db: SQLiteConnection) {
    self.db = db
  }

  /// Deletes some of the log's rows before a position.
  ///
  /// - Parameter number: The number of the commit that becomes the oldest position.
  /// - Returns: The count of deleted commits, 0 if the step deleted only changes; nil when nothing
  ///   is left to delete.
  /// - Throws: `SQLiteError`.
  package func step(to number: Int64) throws -> Int? {
    guard
      let oldest = try db.integer("SELECT min(number) FROM cordial_transaction")
        .map(LogNumbers.checked)
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
    ) { row in
      (
        try row.optionalInteger(0).map(LogNumbers.checked),
        try LogNumbers.checked(row.integer(1)) - 1
      )
    }
    // The last change of the oldest retained commit stays although no reader needs it, because
    // SQLite continues numbering from the greatest number in the table.
    guard let (first, last) = bounds, let first, first <= last else { return nil }
    try db.execute(
      "DELETE FROM cordial_change WHERE number <= ?",
      [min(last, first + Self.stepRows)]
    )
    return 0
  }
}
