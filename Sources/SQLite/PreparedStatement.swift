import CSQLite

/// A statement of one connection that is stepped through SQLite's C interface.
///
/// Only its connection's thread uses a statement. Every use ends with `reset()`, best in a `defer`.
/// If a use ends before the last row and without `reset()`, a read transaction stays open.
@safe package final class PreparedStatement {
  /// The compiled statement, which keeps the handle alive.
  private let statement: CompiledStatement
  @usableFromInline let handle: OpaquePointer
  private let sql: String
  /// SQLite's error codes for the parameters that could not be bound and are null instead.
  ///
  /// While there are codes, each step fails, so that no statement stores null in place of a value.
  private var bindFailures: [Int32: Int32] = [:]
  /// Whether `bindFailures` has codes.
  @usableFromInline private(set) var hasBindFailure = false
  /// The minimum length of a text or blob that `reset()` unbinds, in bytes.
  private static let longArgumentMin = 1 << 12
  /// Whether SQLite keeps a copy of a long text or blob as an argument.
  @usableFromInline private(set) var hasLongArgument = false

  /// Compiles a statement.
  ///
  /// - Parameters:
  ///   - connection: The statement's connection.
  ///   - sql: One SQL statement.
  /// - Throws: `SQLiteError` when SQLite rejects the SQL.
  package init(_ connection: SQLiteConnection, _ sql: String) throws {
    statement = try connection.compiled(sql, isKept: false)
    unsafe handle = statement.handle
    self.sql = sql
  }

  /// Creates a user of the statement that a connection keeps compiled for an SQL text.
  ///
  /// All users of the SQL share its arguments and its current row. Each user binds all arguments,
  /// steps and resets the statement before the next user does.
  ///
  /// - Parameters:
  ///   - sql: A statement from a small, fixed set, because the connection keeps every such
  ///     statement.
  ///   - connection: The statement's connection.
  /// - Throws: `SQLiteError` when SQLite rejects the SQL.
  package init(kept sql: String, _ connection: SQLiteConnection) throws {
    statement = try connection.compiled(sql, isKept: true)
    unsafe handle = statement.handle
    self.sql = sql
    assert(unsafe sqlite3_stmt_busy(handle) == 0, "Another user has not reset the statement")
  }

  /// The memory of the compiled statement and of its texts, in bytes.
  package var bytes: Int {
    let compiled = unsafe sqlite3_stmt_status(handle, SQLITE_STMTSTATUS_MEMUSED, 0)
    // SQLite keeps the text too.
    return Int(compiled) + 2 * sql.utf8.count
  }

  // MARK: Arguments; parameters are numbered from 1.

  package func bind(_ value: Int64?, at index: Int32) {
    if let value {
      record(unsafe sqlite3_bind_int64(handle, index, value), at: index)
    } else {
      record(unsafe sqlite3_bind_null(handle, index), at: index)
    }
  }

  package func bind(_ value: Double, at index: Int32) {
    record(unsafe sqlite3_bind_double(handle, index, value), at: index)
  }

  package func bind(_ value: String?, at index: Int32) {
    guard var value else {
      return record(unsafe sqlite3_bind_null(handle, index), at: index)
    }
    guard !value.isEmpty else {
      // The buffer of an empty string may have no address, and a null pointer would bind null.
      return record(unsafe sqlite3_bind_text(handle, index, "", 0, nil), at: index)
    }
    // SQLITE_TRANSIENT: SQLite copies the text before it returns.
    let copied = unsafe unsafeBitCast(-1, to: sqlite3_destructor_type.self)
    let code = value.withUTF8 { bytes in
      unsafe bytes.withMemoryRebound(to: CChar.self) { characters in
        // `sqlite3_bind_text` would limit the count to 32 bits.
        unsafe sqlite3_bind_text64(
          handle,
          index,
          characters.baseAddress,
          UInt64(characters.count),
          copied,
          UInt8(SQLITE_UTF8)
        )
      }
    }
    if value.utf8.count >= Self.longArgumentMin { hasLongArgument = true }
    record(code, at: index)
  }

  package func bind(_ value: [UInt8], at index: Int32) {
    let copied = unsafe unsafeBitCast(-1, to: sqlite3_destructor_type.self)
    let code = unsafe value.withUnsafeBytes { bytes in
      unsafe bytes.isEmpty
        ? sqlite3_bind_zeroblob(handle, index, 0)
        : sqlite3_bind_blob64(handle, index, bytes.baseAddress, UInt64(bytes.count), copied)
    }
    if value.count >= Self.longArgumentMin { hasLongArgument = true }
    record(code, at: index)
  }

  /// Records the result of binding a parameter.
  ///
  /// - Parameters:
  ///   - code: SQLite's code.
  ///   - index: The parameter.
  package func record(_ code: Int32, at index: Int32) {
    guard code != SQLITE_OK || hasBindFailure else { return }
    bindFailures[index] = code == SQLITE_OK ? nil : code
    hasBindFailure = !bindFailures.isEmpty
  }

  /// Returns how often the statement sorted rows since the last call.
  package func takeSortCount() -> Int32 {
    unsafe sqlite3_stmt_status(handle, SQLITE_STMTSTATUS_SORT, 1)
  }

  // MARK: Rows; columns are numbered from 0.

  /// Steps to the next row.
  ///
  /// - Returns: Whether there is a row; false after the last row.
  /// - Throws: `SQLiteError` with SQLite's code. If an argument could not be bound, the statement
  ///   does not run, and the error has the code of that failure.
  @inlinable
  package func step() throws -> Bool {
    guard !hasBindFailure else { throw bindFailure() }
    let code = unsafe sqlite3_step(handle)
    switch code {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    default: throw failure(code)
    }
  }

  /// Runs the statement to its end and resets it.
  ///
  /// - Throws: `SQLiteError` with SQLite's code.
  package func run() throws {
    defer { reset() }
    while try step() {}
  }

  /// The number of rows that the connection's last writing statement changed.
  package var changes: Int {
    unsafe Int(sqlite3_changes(sqlite3_db_handle(handle)))
  }

  /// A number that grows when another connection has committed; each step that reads the file
  /// updates the number.
  package var dataVersion: UInt32 {
    var version: UInt32 = 0
    unsafe sqlite3_file_control(
      sqlite3_db_handle(handle),
      "main",
      SQLITE_FCNTL_DATA_VERSION,
      &version
    )
    return version
  }

  /// Resets the statement for its next run.
  ///
  /// The arguments stay bound. If one of them is a long text or blob, all arguments are unbound
  /// instead, so that an unused statement keeps no copy of the long value.
  @inlinable
  package func reset() {
    unsafe sqlite3_reset(handle)
    if hasLongArgument { clearArguments() }
  }

  /// Unbinds the arguments, so that SQLite frees its copies of their values.
  @usableFromInline
  package func clearArguments() {
    unsafe sqlite3_clear_bindings(handle)
    hasLongArgument = false
    bindFailures = [:]
    hasBindFailure = false
  }

  @inlinable
  package func isNull(_ column: Int32) -> Bool {
    unsafe sqlite3_column_type(handle, column) == SQLITE_NULL
  }

  /// The storage class of a value in SQLite.
  package enum Storage: Sendable {
    case null, integer, real, text, blob
  }

  /// Returns the storage class of a column's value.
  package func storage(_ column: Int32) -> Storage {
    switch unsafe sqlite3_column_type(handle, column) {
    case SQLITE_INTEGER: .integer
    case SQLITE_FLOAT: .real
    case SQLITE_TEXT: .text
    case SQLITE_BLOB: .blob
    default: .null
    }
  }

  @inlinable
  package func integer(_ column: Int32) -> Int64 {
    unsafe sqlite3_column_int64(handle, column)
  }

  package func optionalInteger(_ column: Int32) -> Int64? {
    isNull(column) ? nil : integer(column)
  }

  @inlinable
  package func double(_ column: Int32) -> Double {
    unsafe sqlite3_column_double(handle, column)
  }

  /// Returns the text of a column, with U+FFFD in place of invalid UTF-8.
  package func text(_ column: Int32) -> String {
    withBytes(column) { bytes in
      unsafe bytes.withUnsafeBufferPointer { unsafe String(decoding: $0, as: UTF8.self) }
    }
  }

  package func optionalText(_ column: Int32) -> String? {
    isNull(column) ? nil : text(column)
  }

  package func blob(_ column: Int32) -> [UInt8] {
    withBytes(column) { bytes in
      unsafe bytes.withUnsafeBufferPointer { unsafe Array($0) }
    }
  }

  /// Lends the bytes of a text or blob for the duration of a call.
  @inlinable
  package func withBytes<Result>(_ column: Int32, _ body: (Span<UInt8>) -> Result) -> Result {
    // SQLite keeps the bytes until the next step or reset, and the closure causes neither.
    let start = unsafe sqlite3_column_blob(handle, column)
    let count = unsafe Int(sqlite3_column_bytes(handle, column))
    let bytes = unsafe UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : count)
    return unsafe body(bytes.bindMemory(to: UInt8.self).span)
  }

  /// Lends the statement's handle to C code for the duration of a call.
  package func withHandle<Result>(_ body: (OpaquePointer) -> Result) -> Result {
    unsafe body(handle)
  }

  @usableFromInline
  func bindFailure() -> SQLiteError {
    let parameter = bindFailures.keys.min() ?? 0
    let code = bindFailures[parameter] ?? SQLITE_ERROR
    let message = unsafe String(cString: sqlite3_errstr(code))
    return SQLiteError(code, "The argument \(parameter) cannot be bound: \(message)", sql: sql)
  }

  @usableFromInline
  func failure(_ code: Int32) -> SQLiteError {
    let message = unsafe String(cString: sqlite3_errmsg(sqlite3_db_handle(handle)))
    return SQLiteError(code, message, sql: sql)
  }
}
