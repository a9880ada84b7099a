import CSQLite

/// The write-ahead log of a connection's file, which other programs may change.
extension SQLiteConnection {
  /// Checks that no other program has changed the write-ahead log.
  ///
  /// SQLite itself would copy the pages of a changed log into the file. After a failed check,
  /// closing the connection leaves the log in place.
  ///
  /// - Precondition: A transaction that writes is open.
  /// - Throws: `SQLiteError`, with the code `corrupt` for a log that another program has changed.
  package func checkLog() throws {
    try unsafe check("database or its write-ahead log") { unsafe sqlite_check_log($0) }
  }

  /// Checks that the connection still shares its log with other connections.
  ///
  /// - Throws: `SQLiteError`, with the code `corrupt` for a shared file that was shortened.
  package func checkSharing() throws {
    guard Self.hasLostPages else { return }
    try unsafe check("file by which SQLite shares the log") {
      unsafe sqlite_check_index_of_log($0)
    }
  }

  /// Whether another program has shortened a file that SQLite had mapped; `checkSharing` may then
  /// fail.
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

  /// Sets whether closing the connection leaves the write-ahead log in place.
  ///
  /// Otherwise the last connection copies the pages of the log into the file, and removes the log.
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
  /// If the log was changed or could not be checked, closing the connection leaves the log in
  /// place.
  ///
  /// - Returns: Whether the log is empty; false if a reader or a writer needs it.
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

  /// Installs a handler for SIGBUS, so that the process survives if another program shortens a file
  /// that SQLite has mapped.
  ///
  /// The connections that lose pages fail at their next `checkLog` or `checkSharing`. The handler
  /// replaces the process's action for SIGBUS.
  package static func surviveLostPages() {
    // The call cannot fail, because SIGBUS is a valid signal.
    _ = sqlite_survive_lost_pages()
  }
}
