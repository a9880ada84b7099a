import GRDB
import GRDBSQLite
import Glibc

/// The owner of one connection, which it lends to one caller at a time.
package final class SQLiteQueue: Sendable {
  /// The way in which a file is opened.
  package struct Options: Sendable {
    /// Whether the connection only reads.
    package var isReadOnly = false
    /// The time that a statement waits for another process's lock, in seconds.
    package var busySecondsMax = 5.0
    /// The point at which commits return; read-only connections ignore it.
    package var durability = SQLiteConnection.Durability.full
    /// The size of the connection's page cache, in KiB.
    package var cacheKiB = 16384
    /// A closure that adds functions and collations to the new connection.
    package var prepare: @Sendable (SQLiteConnection) throws -> Void = { _ in }

    package init() {}
  }

  private let queue: DatabaseQueue

  /// Opens a file.
  ///
  /// A connection that writes creates a missing file, and sets the file to use a write-ahead log.
  /// It opens a file that cannot be written only where the log has commits, which a connection that
  /// only reads could not see.
  ///
  /// - Parameters:
  ///   - path: The file's path, or a `file:` URI.
  ///   - options: The way in which the file is opened.
  /// - Throws: `SQLiteError`.
  package init(path: String, _ options: Options) throws {
    SQLiteSetup.run()
    var configuration = Configuration()
    configuration.readonly = options.isReadOnly
    configuration.busyMode = .timeout(options.busySecondsMax)
    configuration.foreignKeysEnabled = false
    // A reader compiles statements in the middle of its own read transaction.
    configuration.allowsUnsafeTransactions = true
    configuration.prepareDatabase { database in
      let connection = SQLiteConnection(database: database)
      try options.prepare(connection)
      try connection.execute("PRAGMA cache_size=-\(options.cacheKiB)")
    }
    queue = try SQLiteError.translating {
      try DatabaseQueue(path: path, configuration: configuration)
    }
    guard !options.isReadOnly else { return }
    try use { connection in
      // GRDB's `journalMode` also writes to an empty log, so that each start waits for the disk.
      guard try connection.text("PRAGMA journal_mode=WAL") == "wal" else {
        throw SQLiteError(.error, "The file cannot have a write-ahead log")
      }
      let handle = unsafe connection.database.sqliteConnection
      guard unsafe sqlite3_db_readonly(handle, "main") == 0 || Self.logHasCommits(path) else {
        throw SQLiteError(.readOnly, "The file cannot be written")
      }
      try connection.set(options.durability)
    }
  }

  /// Returns whether the write-ahead log of the file at a path has commits.
  private static func logHasCommits(_ path: String) -> Bool {
    var log = stat()
    return unsafe stat(path + "-wal", &log) == 0 && log.st_size > 0
  }

  /// Lends the connection, without a transaction.
  ///
  /// - Parameter body: Uses the connection on the calling thread.
  /// - Returns: The result of the body.
  /// - Throws: `SQLiteError`, and the errors of the body.
  package func use<Value>(_ body: (SQLiteConnection) throws -> Value) throws -> Value {
    try SQLiteError.translating {
      try queue.unsafeReentrantWrite { try body(SQLiteConnection(database: $0)) }
    }
  }

  /// Lends the connection inside a transaction that writes.
  ///
  /// - Parameter body: Reads and writes. If it throws, the transaction is rolled back.
  /// - Returns: The result of the body.
  /// - Throws: `SQLiteError`, and the errors of the body.
  package func write<Value>(_ body: (SQLiteConnection) throws -> Value) throws -> Value {
    try use { connection in try connection.transaction(.immediate) { try body(connection) } }
  }

  /// Copies the whole file into another file in one step.
  ///
  /// The copy is one snapshot, and no writer of the source waits for the copy.
  ///
  /// - Parameter target: The connection to the other file, whose content is replaced.
  /// - Throws: `SQLiteError`.
  package func backup(to target: SQLiteQueue) throws {
    try SQLiteError.translating { try queue.backup(to: target.queue) }
  }

  /// Closes the connection.
  ///
  /// - Throws: `SQLiteError` with the code `busy` while one of its statements is in use.
  package func close() throws {
    try SQLiteError.translating { try queue.close() }
  }
}
