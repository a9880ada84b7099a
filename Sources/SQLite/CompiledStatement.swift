import CSQLite

/// A compiled statement, which SQLite frees when its last user is freed.
@safe final class CompiledStatement {
  let handle: OpaquePointer
  /// The handler that SQLite calls while the statement runs, even after `connection` is freed.
  private let progress: ProgressHandler

  /// Compiles a statement.
  ///
  /// - Parameters:
  ///   - connection: The statement's connection.
  ///   - sql: One SQL statement.
  ///   - isPersistent: Whether the statement is kept for long, so that SQLite does not use its
  ///     limited lookaside memory for the statement.
  /// - Throws: `SQLiteError` when SQLite rejects the SQL.
  init(_ connection: SQLiteConnection, _ sql: String, isPersistent: Bool) throws {
    let flags = isPersistent ? UInt32(SQLITE_PREPARE_PERSISTENT) : 0
    var compiled: OpaquePointer?
    var usedCount = 0
    let code = unsafe sql.withCString { text in
      // If the count includes the final NUL, SQLite does not copy the text.
      let count = Int32(clamping: sql.utf8.count + 1)
      var rest: UnsafePointer<CChar>?
      let code = unsafe sqlite3_prepare_v3(connection.handle, text, count, flags, &compiled, &rest)
      if let rest = unsafe rest { usedCount = unsafe rest - text }
      return code
    }
    try connection.check(code, sql: sql)
    guard let compiled = unsafe compiled else {
      throw SQLiteError(.error, "The SQL has no statement", sql: sql)
    }
    unsafe handle = compiled
    progress = connection.progress
    // SQLite would ignore the text after the first statement.
    guard sql.utf8.dropFirst(usedCount).allSatisfy({ " \n;".utf8.contains($0) }) else {
      throw SQLiteError(.error, "The SQL has several statements", sql: sql)
    }
  }

  deinit { unsafe sqlite3_finalize(handle) }
}
