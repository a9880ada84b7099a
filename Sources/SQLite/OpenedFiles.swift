import Synchronization

/// The files of an open database: the file, its write-ahead log, and the file by which connections
/// share the log.
///
/// SQLite notices none of them being removed or replaced: what a connection then writes is lost, or
/// destroys what another one has written. What was found once is found always, because another
/// process may have written meanwhile.
package final class OpenedFiles: Sendable {
  private let path: String
  /// The path of the database's file without symbolic links, beside which SQLite has the others.
  private let resolved: String
  private let database: FileIdentity?
  /// Nil where the database has no write-ahead log.
  private let log: FileIdentity?
  /// Nil where the connection does not share the log.
  private let shared: FileIdentity?
  /// The greatest size of the shared file that was seen; SQLite makes no shared file shorter.
  private let sharedBytes: Atomic<Int>
  private let lostSharing = Atomic(false)
  private let foundChange = Atomic(false)
  private let changed = Mutex<String?>(nil)

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
    sharedBytes = Atomic(Self.sharedPartBytes)
  }

  /// Whether the path still refers to the database that was opened.
  package var isCurrent: Bool { FileIdentity(path) == database }

  /// Whether the connection shares its log with every other one to the database.
  ///
  /// It still does where the shared file was removed and no other connection was opened since.
  package var sharesLog: Bool {
    guard !lostSharing.load(ordering: .relaxed) else { return false }
    guard let shared, let file = FileIdentity.file(at: sharedPath) else { return true }
    let most = sharedBytes.max(file.bytes, ordering: .relaxed).oldValue
    guard file.identity == shared, file.bytes >= most else {
      lostSharing.store(true, ordering: .relaxed)
      return false
    }
    return true
  }

  /// The path of a file that was removed, replaced or shortened; nil where a write is safe.
  package var changedPath: String? {
    if foundChange.load(ordering: .relaxed) { return changed.withLock { $0 } }
    guard isCurrent else { return found(path) }
    guard log == nil || FileIdentity(logPath) == log else { return found(logPath) }
    guard shared == nil || FileIdentity(sharedPath) != nil && sharesLog else {
      return found(sharedPath)
    }
    return nil
  }

  /// Whether the log alone was removed, and no other one is in its place: no other process has
  /// opened the database since, and the open log has the only copy of some commits.
  package var lacksOnlyLog: Bool {
    isCurrent && log != nil && FileIdentity(logPath) == nil && FileIdentity(sharedPath) == shared
      && changedPath == logPath
  }

  private func found(_ path: String) -> String {
    changed.withLock { if $0 == nil { $0 = path } }
    foundChange.store(true, ordering: .relaxed)
    return path
  }
}
