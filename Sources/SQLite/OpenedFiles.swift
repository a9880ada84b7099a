/// The files of an open database: the file, its write-ahead log, and the file by which connections
/// share the log.
///
/// SQLite notices none of them being removed or replaced: what a connection then writes is lost, or
/// destroys what another one has written.
package struct OpenedFiles: Sendable {
  private let path: String
  /// The path of the database's file without symbolic links, beside which SQLite has the others.
  private let resolved: String
  private let database: FileIdentity?
  /// Nil where the database has no write-ahead log.
  private let log: FileIdentity?
  /// Nil where the connection does not share the log.
  private let shared: FileIdentity?

  private var logPath: String { resolved + "-wal" }
  /// The path of the file by which connections share the log.
  package var sharedPath: String { resolved + "-shm" }

  /// The size of a part of the shared file in bytes; a shared log has at least one.
  private static let sharedPartBytes = 32768

  /// Remembers the files of a database whose connection has read from it.
  ///
  /// Before, another process that closes the database may still remove the log. Afterwards no
  /// process does so that keeps SQLite's locks.
  ///
  /// - Parameter path: The path of the database's file.
  package init(_ path: String) {
    self.path = path
    resolved = FileIdentity.resolved(path)
    database = FileIdentity(path)
    log = FileIdentity(resolved + "-wal")
    shared = FileIdentity(resolved + "-shm")
  }

  /// Whether the path still refers to the database that was opened.
  package var isCurrent: Bool { FileIdentity(path) == database }

  /// Whether the connection shares its log with every other one to the database.
  ///
  /// It still does where the shared file was removed and no other connection was opened since.
  package var sharesLog: Bool {
    guard let shared, let file = FileIdentity.file(at: sharedPath) else { return true }
    return file.identity == shared && file.bytes >= Self.sharedPartBytes
  }

  /// The path of a file that was removed, replaced or emptied; nil where a write is safe.
  package var changedPath: String? {
    guard isCurrent else { return path }
    guard log == nil || FileIdentity(logPath) == log else { return logPath }
    guard shared == nil || FileIdentity(sharedPath) != nil && sharesLog else { return sharedPath }
    return nil
  }
}
