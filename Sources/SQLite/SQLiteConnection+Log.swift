import CSQLite

/// The write-ahead log of a connection's file, which other programs may change.
extension SQLiteConnection {
  /// Fails where the write-ahead log is not as SQLite's connections have written it.
  ///
  /// SQLite itself would copy the pages of such a log into the file. The log is then kept when the
  /// connection is closed.
  ///
  /// - Precondition: A transaction that writes is open.
  /// - Throws: `SQLiteError`, with the code `corrupt` for a log that another program has changed.
  package func checkLog() throws {
    try unsafe check("database or its write-ahead log") { unsafe sqlite_check_log($0) }
  }

  /// Fails where the connection does not share its log with other connections any more.
  ///
  /// - Throws: `SQLiteError`, with the code `corrupt` for a shared file that was shortened.
  package func checkSharing() throws {
    guard Self.hasLostPages else { return }
    try unsafe check("file by which SQLite shares the log") {
      unsafe sqlite_check_index_of_log($0)
    }
  }

  /// Whether this process has lost pages of any shared file, so that `checkSharing` may fail.
  package static var hasLostPages: Bool { sqlite_has_lost_pages() != 0 }

  private func check(_ file: String, _ body: (OpaquePointer) -> Int32) throws {
    guard hasSharedLog else { return }
    do {
      try unsafe withHandle(body)
    } catch let error as SQLiteError where error.code == .corrupt {
      try keepLog(true)
      throw SQLiteError(.corrupt, "Another program has changed the \(file)")
    }
  }

  /// Sets whether the write-ahead log stays where it is when the connection is closed.
  ///
  /// Otherwise the last connection copies its pages into the file, and removes it.
  package func keepLog(_ keeps: Bool) throws {
    try unsafe withHandle { unsafe sqlite_keep_log($0, keeps ? 1 : 0) }
  }

  /// Moves the pages of the write-ahead log that no reader needs into the database file.
  ///
  /// - Throws: As `emptyLog`.
  package func checkpoint() throws { _ = try emptyLog() }

  /// Moves the pages of the write-ahead log that no reader needs into the database file, and
  /// empties the log.
  ///
  /// A log that could not be checked, or was changed, stays when the connection is closed.
  ///
  /// - Returns: Whether the log is empty; false where a reader or a writer needs it.
  /// - Throws: `SQLiteError`, as `checkLog`.
  package func emptyLog() throws -> Bool {
    try keepLog(true)
    do {
      try begin(.immediate)
      try rollback()
    } catch let error as SQLiteError where error.code == .busy {
      return false
    }
    try keepLog(false)
    return try integer("PRAGMA wal_checkpoint(TRUNCATE)") == 0
  }

  /// Has the process survive that another program shortens a file that SQLite has mapped.
  ///
  /// The connections that lose pages fail at their next `checkLog` or `checkSharing`. The process's
  /// action for SIGBUS is replaced.
  package static func surviveLostPages() {
    // It fails for no signal that exists.
    _ = sqlite_survive_lost_pages()
  }
}
