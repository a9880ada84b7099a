import SQLite

/// The write-ahead log, which the writer empties.
extension StoreWriter {
  /// Moves the pages of the write-ahead log into the store's file, unless another connection is in
  /// the way.
  ///
  /// A checkpoint that waits for a reader keeps other processes from writing meanwhile. The log of
  /// files that were replaced stays, because it may have the only copy of some commits. Of a log
  /// that was removed, the open file has the only copy.
  func close() throws {
    try queue.use { db in
      try db.keepLog(true)
      if !opened.lacksOnlyLog { try opened.check() }
      _ = try db.withoutWaiting { try db.emptyLog() }
    }
  }

  /// Fails where a file of the store was removed or replaced, or another program has changed its
  /// log.
  ///
  /// - Throws: `StoreError`; `SQLiteError`.
  func checkFiles() throws {
    try opened.check()
    try queue.use { db in
      do {
        try db.begin(.immediate)
        try db.rollback()
      } catch let error as SQLiteError where error.code == .busy {
        // Another process writes, which checks the log if it is one of Cordial's.
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
      // The log stays. The next attempt may succeed, or the next save says what is wrong.
    }
    return writeAheadLog.isLarge
  }
}
