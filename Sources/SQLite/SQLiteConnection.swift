// SQLite: connections, prepared statements, SQL functions, errors, durability. The only module that
// uses GRDB.
//
// Must not know: objects, models, the log.
//
// What always holds:
// 1. Every error of SQLite leaves the module as a `SQLiteError`.
// 2. A connection is used by one thread at a time: its queue lends it, or its owner is one thread.

import CSQLite
import FoundationEssentials
import GRDB

/// One connection to a database file.
///
/// `SQLiteQueue` opens and lends it.
package struct SQLiteConnection {
  let database: Database

  // MARK: Statements

  /// Runs SQL.
  ///
  /// - Parameters:
  ///   - sql: One statement, or several without arguments.
  ///   - arguments: The values of its parameters, in their order; nil is null.
  /// - Throws: `SQLiteError`.
  package func execute(_ sql: String, _ arguments: [(any SQLArgument)?] = []) throws {
    guard arguments.isEmpty else {
      let statement = try PreparedStatement(self, sql)
      statement.bind(arguments)
      return try statement.run()
    }
    try SQLiteError.translating { try database.execute(sql: sql) }
  }

  /// Reads every row of a query.
  ///
  /// - Parameters:
  ///   - sql: One statement.
  ///   - arguments: The values of its parameters, in their order; nil is null.
  ///   - read: Reads the current row of the statement.
  /// - Returns: What `read` returned, in the order of the rows.
  /// - Throws: `SQLiteError`, and what `read` throws.
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
  ///   - arguments: The values of its parameters, in their order; nil is null.
  ///   - read: Reads the current row of the statement.
  /// - Returns: What `read` returned, nil when the query has no row.
  /// - Throws: `SQLiteError`, and what `read` throws.
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

  /// The text in the first column of a query's first row, nil for null and for no row.
  package func text(_ sql: String, _ arguments: [(any SQLArgument)?] = []) throws -> String? {
    try row(sql, arguments) { $0.optionalText(0) } ?? nil
  }

  /// The integer in the first column of a query's first row, nil for null and for no row.
  package func integer(_ sql: String, _ arguments: [(any SQLArgument)?] = []) throws -> Int64? {
    try row(sql, arguments) { $0.optionalInteger(0) } ?? nil
  }

  /// Whether there is a table of that name.
  package func hasTable(_ name: String) throws -> Bool {
    try integer("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", [name]) != nil
  }

  /// How many rows the last statement that wrote changed.
  package var changes: Int { database.changesCount }

  /// How many rows statements changed since the connection was opened, rows that triggers changed
  /// included.
  package var totalChanges: Int { database.totalChangesCount }

  // MARK: Transactions

  /// What a transaction locks at its start.
  package enum TransactionKind {
    /// Nothing: the first statement takes its locks.
    case deferred
    /// The file for writing.
    case immediate
  }

  /// Whether a transaction is open; SQLite ends one by itself for some errors.
  package var isInTransaction: Bool { database.isInsideTransaction }

  package func begin(_ kind: TransactionKind) throws {
    try execute(kind == .deferred ? "BEGIN DEFERRED" : "BEGIN IMMEDIATE")
  }

  package func commit() throws { try execute("COMMIT") }

  package func rollback() throws { try execute("ROLLBACK") }

  /// Runs a body in a transaction of its own.
  ///
  /// - Parameters:
  ///   - kind: What the transaction locks at its start.
  ///   - body: Reads and writes. When it throws, the transaction is rolled back.
  /// - Returns: What the body returned.
  /// - Throws: `SQLiteError`, and what the body throws.
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
  /// - Parameter body: Reads and writes. When it throws, what it wrote is rolled back.
  /// - Returns: What the body returned.
  /// - Throws: `SQLiteError`, and what the body throws.
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

  /// When a commit returns.
  package enum Durability: String {
    /// After the operating system has written it to the disk.
    case full = "FULL"
    /// Before that: a loss of power may take the newest commits back, a crash does not.
    case normal = "NORMAL"
  }

  /// Sets when commits return; SQLite refuses it inside a transaction.
  package func set(_ durability: Durability) throws {
    try execute("PRAGMA synchronous=\(durability.rawValue)")
  }

  /// Moves what the write-ahead log holds into the file, as far as no reader needs it.
  package func checkpoint() throws { try execute("PRAGMA wal_checkpoint(TRUNCATE)") }

  /// Takes the lock of the file for as long as the connection is open.
  ///
  /// Every connection holds a shared lock while it is open, so this succeeds only where no other
  /// process has the file open.
  ///
  /// - Throws: `SQLiteError` with the code `busy` when another process has the file open.
  package func lockExclusively() throws {
    try execute("PRAGMA locking_mode=EXCLUSIVE")
    try execute("BEGIN EXCLUSIVE")
    try commit()
  }

  /// Has statements fire triggers from now on, or not.
  ///
  /// SQLite compiles every statement of the connection again when it runs next.
  package func setFiresTriggers(_ fires: Bool) throws {
    let code = unsafe sqlite_enable_triggers(database.sqliteConnection, fires ? 1 : 0)
    guard code == 0 else { throw SQLiteError(code) }
  }

  /// Adds a collation.
  ///
  /// - Parameters:
  ///   - name: Its name in SQL.
  ///   - compare: Negative, zero or positive, as the first text sorts before, with or after the
  ///     second.
  package func addCollation(
    _ name: String,
    _ compare: @escaping @Sendable (String, String) -> Int32
  ) {
    database.add(
      collation: DatabaseCollation(name) { first, second in
        let order = compare(first, second)
        return order < 0 ? .orderedAscending : order > 0 ? .orderedDescending : .orderedSame
      }
    )
  }

  /// Lends SQLite's handle of the connection to C for the time of a call.
  ///
  /// - Parameter body: Returns 0, or SQLite's code.
  /// - Throws: `SQLiteError` with that code.
  package func withHandle(_ body: (OpaquePointer) -> Int32) throws {
    guard let handle = unsafe database.sqliteConnection else { return }
    let code = unsafe body(handle)
    guard code == 0 else { throw SQLiteError(code) }
  }
}
