import Glibc
import Synchronization

/// The files of an open database: the file, its write-ahead log, and the file by which connections
/// share the log.
///
/// SQLite accepts writes to files that were removed or replaced: what a connection then writes is
/// lost, or destroys what another one has written. A change that was found once is reported from
/// then on, because another process may have written meanwhile.
package final class OpenedFiles: Sendable {
  private let path: String
  /// The path of the database's file without symbolic links, beside which SQLite has the others.
  private let resolved: String
  private let database: FileIdentity?
  /// Nil where the database has no write-ahead log.
  private let log: FileIdentity?
  /// Nil where no connection shares the log.
  private let shared: FileIdentity?
  /// Whether this process can write to the shared file, and so keeps others from shortening it.
  private let holdsShared: Bool
  /// The greatest size of the shared file that was seen.
  ///
  /// Only the first connection to a database makes the file shorter, and those that can write to
  /// the file know of each other.
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
    log = FileIdentity.entry(at: resolved + "-wal")?.identity
    shared = FileIdentity.entry(at: resolved + "-shm")?.identity
    holdsShared = unsafe access(resolved + "-shm", W_OK) == 0
    sharedBytes = Atomic(Self.sharedPartBytes)
  }

  /// Whether the path still refers to the database that was opened.
  ///
  /// A symbolic link in its place does not, although it refers to the same file: SQLite has another
  /// log beside that one.
  package var isCurrent: Bool {
    FileIdentity(path) == database && FileIdentity.entry(at: resolved)?.identity == database
  }

  /// Whether the database has lost its first page, which each one in the log's mode has.
  private var isEmptied: Bool {
    guard let bytes = FileIdentity.entry(at: resolved)?.bytes else { return false }
    return bytes < Self.pageBytesMin
  }

  private static let pageBytesMin = 512

  /// Whether the connection shares its log with every other one to the database.
  ///
  /// It still does where the shared file was removed and no other connection was opened since.
  package var sharesLog: Bool {
    guard !lostSharing.load(ordering: .relaxed) else { return false }
    // The file may grow after this.
    let most = sharedBytes.load(ordering: .acquiring)
    guard let shared, let file = FileIdentity.entry(at: sharedPath) else { return true }
    guard file.identity == shared, !holdsShared || file.bytes >= most else {
      lostSharing.store(true, ordering: .relaxed)
      return false
    }
    sharedBytes.max(file.bytes, ordering: .acquiringAndReleasing)
    return true
  }

  /// The path of a file that was removed or replaced, of an emptied database or a shortened shared
  /// file; nil where a write is safe.
  package var changedPath: String? {
    if foundChange.load(ordering: .relaxed) { return changed.withLock { $0 } }
    guard isCurrent, !isEmptied else { return found(path) }
    guard log == nil || FileIdentity.entry(at: logPath)?.identity == log else {
      return found(logPath)
    }
    guard shared == nil || FileIdentity.entry(at: sharedPath) != nil && sharesLog else {
      return found(sharedPath)
    }
    return nil
  }

  /// Whether the log alone was removed, and no other one is in its place: no other process has
  /// opened the database since, and the open log has the only copy of some commits.
  package var lacksOnlyLog: Bool {
    isCurrent && !isEmptied && log != nil && FileIdentity.entry(at: logPath) == nil
      && FileIdentity.entry(at: sharedPath)?.identity == shared && changedPath == logPath
  }

  private func found(_ path: String) -> String {
    // A folder that this process may not enter now says nothing about the files in it.
    if FileIdentity.isHidden(path) { return path }
    changed.withLock { if $0 == nil { $0 = path } }
    foundChange.store(true, ordering: .relaxed)
    return path
  }
}
