import CSQLite
import Glibc

/// The owner of one connection, which lends the connection to one caller at a time.
///
/// The queue is `Sendable` although the connection is not, because callers use the connection under
/// `lock`.
package final class SQLiteQueue: @unchecked Sendable {
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
    /// Whether the file is temporary, with the path "": it has no journal, and no commit waits for
    /// the disk.
    package var isScratch = false
    /// The maximum size of a text, of a blob and of a row, in bytes; SQLite's own maximum is a
    /// billion bytes.
    package var valueBytesMax = 1_000_000_000
    /// Whether the triggers of the file fire.
    package var firesTriggers = true
    /// Whether SQLite refuses SQL that can damage the file.
    ///
    /// The writer of a search index disables this option, because it writes to FTS5's own tables.
    package var isDefensive = true
    /// The greatest size in bytes that the write-ahead log keeps after its pages are copied into
    /// the file.
    package var logBytesMax = 16 << 20
    /// A closure that adds functions and collations to the new connection.
    package var prepare: @Sendable (SQLiteConnection) throws -> Void = { _ in }

    package init() {}
  }

  private let connection: SQLiteConnection
  private let lock = RecursiveLock()
  /// The handler that can stop the statements of the connection.
  package var progress: ProgressHandler { connection.progress }

  /// Opens a file.
  ///
  /// A writing connection creates a missing file, which only its owner can read and write, and sets
  /// the file to use a write-ahead log. If an existing file is read-only, a writing connection
  /// opens the file only when the log has commits, because a read-only connection could not see
  /// these commits.
  ///
  /// - Parameters:
  ///   - path: The file's path, or a `file:` URI.
  ///   - options: The way in which the file is opened.
  /// - Throws: `SQLiteError`.
  package init(path: String, _ options: Options) throws {
    SQLiteSetup.run()
    if path.hasPrefix("/") { try Self.checkKinds(path) }
    if !options.isReadOnly { Self.createFile(path) }
    connection = try SQLiteConnection(path: path, isReadOnly: options.isReadOnly)
    connection.setBusyMax(seconds: options.busySecondsMax)
    connection.limitValues(bytesMax: options.valueBytesMax)
    try connection.distrustSchema(
      firesTriggers: options.firesTriggers,
      isDefensive: options.isDefensive
    )
    try options.prepare(connection)
    try connection.execute("PRAGMA cache_size=-\(options.cacheKiB)")
    // This first query makes SQLite read the file and check that the file is a database.
    _ = try connection.integer("SELECT 1 FROM sqlite_schema LIMIT 1")
    guard !options.isReadOnly else { return }
    guard !options.isScratch else {
      try connection.execute("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF")
      return
    }
    guard try connection.text("PRAGMA journal_mode=WAL") == "wal" else {
      throw SQLiteError(.error, "The file cannot have a write-ahead log")
    }
    let isWritable = unsafe sqlite3_db_readonly(connection.handle, "main") == 0
    guard isWritable || Self.logHasCommits(path) else {
      throw SQLiteError(.readOnly, "The file cannot be written")
    }
    try connection.set(options.durability)
    // Without this limit, the log file keeps the size that it reached during the longest read.
    try connection.execute("PRAGMA journal_size_limit=\(options.logBytesMax)")
  }

  /// Checks that no file of the database is a special file, such as a named pipe.
  ///
  /// SQLite would wait until another process writes to the pipe.
  ///
  /// - Parameter path: The path of the database's file, which is no URI.
  /// - Throws: `SQLiteError` with the code `notADatabase`.
  package static func checkKinds(_ path: String) throws(SQLiteError) {
    let resolved = FileIdentity.resolved(path)
    for file in ["", "-wal", "-shm", "-journal"].map({ resolved + $0 }) {
      var facts = stat()
      guard unsafe stat(file, &facts) == 0 else { continue }
      let isOther = [S_IFIFO, S_IFSOCK, S_IFCHR, S_IFBLK].contains(facts.st_mode & S_IFMT)
      if isOther { throw SQLiteError(.notADatabase, "\(file) is not a regular file") }
    }
  }

  /// Creates a missing file for its owner only; SQLite gives the files of the log the same mode.
  ///
  /// Errors are ignored, because SQLite reports them again when it opens the file. An existing file
  /// is not opened here, because closing it would release this process's locks on the file.
  private static func createFile(_ path: String) {
    guard path.hasPrefix("/") else { return }
    let file = unsafe Glibc.open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    if file >= 0 { _ = Glibc.close(file) }
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
    try lock.withLock {
      guard connection.isOpen else { throw SQLiteError(.misuse, "The connection is closed") }
      return try body(connection)
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

  /// Copies the whole file into another file, as one snapshot.
  ///
  /// No writer of the source waits for the copy.
  ///
  /// - Parameters:
  ///   - target: The connection to the other file, whose content is replaced.
  ///   - step: Called after each group of pages, with the count of copied pages and the count of
  ///     all pages; an error that it throws ends the copy.
  /// - Throws: `SQLiteError`; the errors of `step`.
  package func backup(
    to target: SQLiteQueue,
    _ step: (_ done: Int, _ count: Int) throws -> Void = { _, _ in }
  ) throws {
    try use { source in
      // All steps copy the snapshot of this transaction, whatever is written meanwhile.
      try source.transaction(.deferred) {
        _ = try source.integer("SELECT count(*) FROM sqlite_schema")
        try target.use { destination in try Self.copy(source, destination, step) }
      }
    }
  }

  /// The number of pages that are copied between two calls of `step`, which takes about a
  /// millisecond.
  private static let pagesPerStep: Int32 = 256

  private static func copy(
    _ source: SQLiteConnection,
    _ destination: SQLiteConnection,
    _ step: (_ done: Int, _ count: Int) throws -> Void
  ) throws {
    let target = unsafe destination.handle
    guard
      let backup = unsafe sqlite3_backup_init(
        target,
        "main",
        source.handle,
        "main"
      )
    else {
      let message = unsafe String(cString: sqlite3_errmsg(target))
      throw SQLiteError(unsafe sqlite3_extended_errcode(target), message)
    }
    var code = SQLITE_OK
    do {
      while code == SQLITE_OK {
        code = unsafe sqlite3_backup_step(backup, pagesPerStep)
        let count = unsafe Int(sqlite3_backup_pagecount(backup))
        try step(count - (unsafe Int(sqlite3_backup_remaining(backup))), count)
      }
    } catch {
      unsafe sqlite3_backup_finish(backup)
      throw error
    }
    let ended = unsafe sqlite3_backup_finish(backup)
    guard code == SQLITE_DONE, ended == SQLITE_OK else {
      throw SQLiteError(code == SQLITE_DONE ? ended : code, "The pages cannot be copied")
    }
  }

  /// Closes the connection.
  ///
  /// - Throws: `SQLiteError` with the code `busy` while one of its statements is in use.
  package func close() throws {
    try use { connection in try connection.close() }
  }
}
