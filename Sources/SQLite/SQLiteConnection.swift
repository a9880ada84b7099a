// SQLite: connections, prepared statements, SQL functions, errors, durability, on SQLite's C API.
//
// Must not know: objects, models, the log of changes.
//
// What always holds:
// 1. Every error of SQLite leaves the module as a `SQLiteError`, with its extended code and text.
// 2. A connection is used by one thread at a time: its queue lends it, or its owner is one thread.

import CSQLite

/// One connection to a database file.
///
/// A `SQLiteQueue` opens and lends the connection. SQLite closes the connection after the last of
/// its statements has ended.
@safe package final class SQLiteConnection {
  /// SQLite's handle; nil after `close`, when the queue no longer lends the connection.
  private(set) var handle: OpaquePointer?
  var isOpen: Bool { unsafe handle != nil }
  /// Whether the connection shares its write-ahead log with other connections.
  let hasSharedLog: Bool
  /// The handler that can stop the statements of the connection.
  package let progress = ProgressHandler()
  /// The statements that the connection keeps compiled, by their SQL.
  private var kept: [String: CompiledStatement] = [:]

  /// Opens a file.
  ///
  /// - Parameters:
  ///   - path: The file's path, or a `file:` URI; "" for a temporary file.
  ///   - isReadOnly: Whether the connection only reads; otherwise it creates a missing file.
  /// - Throws: `SQLiteError`.
  init(path: String, isReadOnly: Bool) throws {
    // One thread at a time uses a connection, so SQLite needs no mutex for it.
    let access = isReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
    let flags = access | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI | SQLITE_OPEN_EXRESCODE
    hasSharedLog = path.hasPrefix("/")
    let code = unsafe sqlite3_open_v2(path, &handle, flags, nil)
    guard code == SQLITE_OK else {
      let error = SQLiteError(code, unsafe String(cString: sqlite3_errmsg(handle)))
      // SQLite creates a handle even if it cannot open the file.
      unsafe sqlite3_close_v2(handle)
      unsafe handle = nil
      throw error
    }
    progress.install(on: self)
  }

  deinit {
    kept = [:]
    unsafe sqlite3_close_v2(handle)
  }

  /// Closes the connection.
  ///
  /// - Throws: `SQLiteError` with the code `busy` while one of its statements exists.
  func close() throws {
    kept = [:]
    try check(unsafe sqlite3_close(handle))
    unsafe handle = nil
  }

  /// Throws an error with the connection's message, unless SQLite's result code is `SQLITE_OK`.
  func check(_ code: Int32, sql: String? = nil) throws {
    guard code != SQLITE_OK else { return }
    throw SQLiteError(code, unsafe String(cString: sqlite3_errmsg(handle)), sql: sql)
  }

  // MARK: Statements

  /// Compiles a statement.
  ///
  /// - Parameters:
  ///   - sql: One SQL statement.
  ///   - isKept: Whether the connection keeps the statement for the next caller with the same SQL.
  /// - Returns: The kept statement if `isKept` is true and there is one, otherwise a new statement.
  /// - Throws: `SQLiteError` when SQLite rejects the SQL.
  func compiled(_ sql: String, isKept: Bool) throws -> CompiledStatement {
    if isKept, let statement = kept[sql] { return statement }
    let statement = try CompiledStatement(self, sql, isPersistent: isKept)
    if isKept { kept[sql] = statement }
    return statement
  }

  /// Runs SQL.
  ///
  /// - Parameters:
  ///   - sql: One statement, or several without arguments.
  ///   - arguments: The values of the parameters, in order; nil is null.
  /// - Throws: `SQLiteError`.
  package func execute(_ sql: String, _ arguments: [(any SQLArgument)?] = []) throws {
    guard arguments.isEmpty else {
      let statement = try PreparedStatement(self, sql)
      statement.bind(arguments)
      return try statement.run()
    }
    try check(unsafe sqlite3_exec(handle, sql, nil, nil, nil), sql: sql)
  }

  /// Reads every row of a query.
  ///
  /// - Parameters:
  ///   - sql: One statement.
  ///   - arguments: The values of the parameters, in order; nil is null.
  ///   - read: Reads the current row of the statement.
  /// - Returns: The results of `read`, in the order of the rows.
  /// - Throws: `SQLiteError`, and the errors of `read`.
  package func rows<Value>(
    _ sql: String,
    _ arguments: [(any SQLArgument)?] = [],
    _ read: (PreparedStatement) throws -> Value
  ) throws -> [Value] {
    let statement = try PreparedStatement(self, sql)
    defer { statement.reset() }
    statement.bind(arguments)
    var values: [Value] = []
    while try statement.step() { values.append(try read(statement)) }
    return values
  }

  /// Reads the first row of a query.
  ///
  /// - Parameters:
  ///   - sql: One statement.
  ///   - arguments: The values of the parameters, in order; nil is null.
  ///   - read: Reads the current row of the statement.
  /// - Returns: The result of `read`; nil when the query has no row.
  /// - Throws: `SQLiteError`, and the errors of `read`.
  package func row<Value>(
    _ sql: String,
    _ arguments: [(any SQLArgument)?] = [],
    _ read: (PreparedStatement) throws -> Value
  ) throws -> Value? {
    let statement = try PreparedStatement(self, sql)
    defer { statement.reset() }
    statement.bind(arguments)
    return try statement.step() ? try read(statement) : nil
  }

  /// Returns the text in the first column of a query's first row, or nil for null or no row.
  package func text(_ sql: String, _ arguments: [(any SQLArgument)?] = []) throws -> String? {
    try row(sql, arguments) { $0.optionalText(0) } ?? nil
  }

  /// Returns the integer in the first column of a query's first row, or nil for null or no row.
  package func integer(_ sql: String, _ arguments: [(any SQLArgument)?] = []) throws -> Int64? {
    try row(sql, arguments) { $0.optionalInteger(0) } ?? nil
  }

  /// Returns whether a table of this name exists.
  package func hasTable(_ name: String) throws -> Bool {
    try integer("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", [name]) != nil
  }

  /// The number of rows that the last writing statement changed.
  package var changes: Int { unsafe Int(sqlite3_changes64(handle)) }

  /// The number of rows changed since the connection was opened, including changes by triggers.
  package var totalChanges: Int { unsafe Int(sqlite3_total_changes64(handle)) }

  // MARK: Transactions

  /// The lock that a transaction takes at its start.
  package enum TransactionKind {
    /// No lock: the transaction's first statement takes the locks that it needs.
    case deferred
    /// The lock for writing to the file.
    case immediate
  }

  /// Whether a transaction is open; SQLite ends a transaction automatically after some errors.
  package var isInTransaction: Bool { unsafe sqlite3_get_autocommit(handle) == 0 }

  /// Begins a transaction.
  ///
  /// - Throws: `SQLiteError`; it has the code `corrupt` if another program has changed the
  ///   write-ahead log and the transaction would write. No transaction is open then.
  package func begin(_ kind: TransactionKind) throws {
    try PreparedStatement(kept: kind == .deferred ? "BEGIN DEFERRED" : "BEGIN IMMEDIATE", self)
      .run()
    guard kind == .immediate else { return }
    do {
      try checkLog()
    } catch {
      try rollback()
      throw error
    }
  }

  /// Commits the transaction.
  package func commit() throws { try PreparedStatement(kept: "COMMIT", self).run() }

  package func rollback() throws { try execute("ROLLBACK") }

  /// Runs a body in a new transaction.
  ///
  /// - Parameters:
  ///   - kind: The lock that the transaction takes at its start.
  ///   - body: Reads and writes. If it throws, the transaction is rolled back.
  /// - Returns: The result of the body.
  /// - Throws: `SQLiteError`, and the errors of the body.
  package func transaction<Value>(
    _ kind: TransactionKind,
    _ body: () throws -> Value
  ) throws -> Value {
    try begin(kind)
    do {
      let value = try body()
      try commit()
      return value
    } catch {
      if isInTransaction { try rollback() }
      throw error
    }
  }

  /// Runs a body in a savepoint, inside a transaction.
  ///
  /// - Parameter body: Reads and writes. If it throws, its changes are rolled back.
  /// - Returns: The result of the body.
  /// - Throws: `SQLiteError`, and the errors of the body.
  package func savepoint<Value>(_ body: () throws -> Value) throws -> Value {
    try execute("SAVEPOINT cordial")
    do {
      let value = try body()
      try execute("RELEASE cordial")
      return value
    } catch {
      if isInTransaction { try execute("ROLLBACK TO cordial; RELEASE cordial") }
      throw error
    }
  }

  // MARK: Settings

  /// The point at which a commit returns.
  package enum Durability: String {
    /// After the operating system has written the commit to the disk.
    case full = "FULL"
    /// Before the commit is on the disk: a power failure may lose the newest commits, but a crash
    /// of the process cannot.
    case normal = "NORMAL"
  }

  /// Sets the point at which commits return; SQLite refuses the setting inside a transaction.
  package func set(_ durability: Durability) throws {
    try execute("PRAGMA synchronous=\(durability.rawValue)")
  }

  /// Runs a body in which a statement fails at once if it would wait for another connection.
  ///
  /// - Parameter body: The work, which must not change how long statements wait.
  /// - Returns: The result of the body.
  /// - Throws: `SQLiteError`; the errors of the body.
  package func withoutWaiting<Result>(_ body: () throws -> Result) throws -> Result {
    let milliseconds = try integer("PRAGMA busy_timeout") ?? 0
    try execute("PRAGMA busy_timeout = 0")
    let result = Swift.Result(catching: body)
    try execute("PRAGMA busy_timeout = \(milliseconds)")
    return try result.get()
  }

  /// Locks the file exclusively for as long as the connection is open.
  ///
  /// Every connection holds a shared lock while it is open. The exclusive lock therefore succeeds
  /// only when no other process has the file open.
  ///
  /// - Throws: `SQLiteError` with the code `busy` when another process has the file open.
  package func lockExclusively() throws {
    try execute("PRAGMA locking_mode=EXCLUSIVE")
    try execute("BEGIN EXCLUSIVE")
    try commit()
  }

  /// Turns the firing of triggers on or off for all statements of the connection.
  ///
  /// SQLite recompiles every statement of the connection at the statement's next run.
  package func setFiresTriggers(_ fires: Bool) throws {
    try unsafe withHandle { unsafe sqlite_enable_triggers($0, fires ? 1 : 0) }
  }

  /// Distrusts the schema of the file, which another program may have written.
  ///
  /// - Parameters:
  ///   - firesTriggers: Whether statements fire the triggers of the file.
  ///   - isDefensive: Whether SQLite refuses SQL that can damage the file.
  /// - Throws: `SQLiteError`.
  func distrustSchema(firesTriggers: Bool, isDefensive: Bool) throws {
    try unsafe withHandle { handle in
      unsafe sqlite_distrust_schema(handle, firesTriggers ? 1 : 0, isDefensive ? 1 : 0)
    }
  }

  /// Adds the table-valued function `cordial_values`, which reads a `ValueList`.
  ///
  /// - Throws: `SQLiteError`.
  package func addValueLists() throws {
    try unsafe withHandle { handle in unsafe sqlite_add_value_lists(handle) }
  }

  /// Lends SQLite's handle of the connection to C code for the duration of a call.
  ///
  /// - Parameter body: Returns 0, or SQLite's code.
  /// - Throws: `SQLiteError` with that code.
  package func withHandle(_ body: (OpaquePointer) -> Int32) throws {
    guard let handle = unsafe handle else { throw SQLiteError(.misuse, "The connection is closed") }
    let code = unsafe body(handle)
    guard code == SQLITE_OK else { throw SQLiteError(code) }
  }
}
