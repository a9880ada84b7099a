import SQLite

/// The write-ahead log, which the writer empties.
extension StoreWriter {
  /// Moves the pages of the write-ahead log into the store's file, unless another connection is in
  /// the way.
  ///
  /// A checkpoint that waits for a reader keeps other processes from writing meanwhile. The log of
  /// files that were removed or replaced stays, because it may have the only copy of some commits.
  func close() throws {
    try queue.use { db in
      do {
        _ = try emptyLog(db)
      } catch let error as StoreError {
        try db.keepLog()
        throw error
      }
    }
  }

  /// Empties the write-ahead log, unless another connection is in the way.
  func emptyLog(_ db: SQLiteConnection) throws -> Bool {
    try opened.check()
    return try db.withoutWaiting { try db.emptyLog() }
  }

  /// Empties a large write-ahead log, unless another connection is in the way.
  ///
  /// - Returns: Whether the log is still large.
  func shrinkLog() -> Bool {
    guard writeAheadLog.isLarge else { return false }
    do {
      let isEmpty = try queue.use { db in try emptyLog(db) }
      if isEmpty { writeAheadLog.wasEmptied() }
    } catch {
      // The log stays valid, and the next attempt may succeed.
    }
    return writeAheadLog.isLarge
  }
}
