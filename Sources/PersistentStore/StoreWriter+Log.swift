import SQLite

/// The write-ahead log, which the writer empties.
extension StoreWriter {
  /// Moves the pages of the write-ahead log into the store's file, unless another connection
  /// prevents this.
  ///
  /// This method does not wait for readers, because other processes could not write meanwhile. If a
  /// file of the store was replaced, the write-ahead log stays, because it may have the only copy
  /// of some commits. If only the log was removed, its pages are moved from the open file, which is
  /// their only copy.
  func close() throws {
    try queue.use { db in
      try db.keepLog(true)
      if !opened.lacksOnlyLog { try opened.check() }
      _ = try db.withoutWaiting { try db.emptyLog() }
    }
  }

  /// Throws an error if a file of the store was removed or replaced, or if another program changed
  /// the log.
  ///
  /// - Throws: `StoreError`; `SQLiteError`.
  func checkFiles() throws {
    try opened.check()
    try queue.use { db in
      do {
        try db.begin(.immediate)
        try db.rollback()
      } catch let error as SQLiteError where error.code == .busy {
        // Another process holds the lock. If that process is a Cordial process, it checks the log
        // itself.
      }
    }
  }

  /// Empties the write-ahead log, unless another connection prevents this.
  ///
  /// - Returns: Whether the log is empty.
  func emptyLog(_ db: SQLiteConnection) throws -> Bool {
    try opened.check()
    return try db.withoutWaiting { try db.emptyLog() }
  }

  /// Empties a large write-ahead log, unless another connection prevents this.
  ///
  /// - Returns: Whether the log is still large.
  func shrinkLog() -> Bool {
    guard writeAheadLog.isLarge else { return false }
    do {
      let isEmpty = try queue.use { db in try emptyLog(db) }
      if isEmpty { writeAheadLog.wasEmptied() }
    } catch {
      // The log stays. The next attempt may succeed, or the next save reports the error.
    }
    return writeAheadLog.isLarge
  }
}
