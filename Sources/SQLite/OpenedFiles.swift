import Glibc
import Synchronization

/// The files of an open database: the file, its write-ahead log, and the file by which connections
/// share the log.
///
/// SQLite writes even to files that were removed or replaced. Such writes are lost, or destroy the
/// writes of another connection. After a change was found, every check reports it, because another
/// process may have written meanwhile.
package final class OpenedFiles: Sendable {
  private let path: String
  /// The path of the database's file without symbolic links; SQLite keeps the other files beside
  /// it.
  private let resolved: String
  private let database: FileIdentity?
  /// The write-ahead log, nil if the database has none.
  private let log: FileIdentity?
  /// The shared file, nil if no connection shares the log.
  private let shared: FileIdentity?
  /// Whether this process can write to the shared file, and thereby prevents its shortening.
  private let holdsShared: Bool
  /// The greatest size of the shared file so far.
  ///
  /// SQLite shortens the file only for the first connection to a database, and connections that can
  /// write to the file detect each other. If the file is smaller than this size, another program
  /// has therefore shortened the file.
  private let sharedBytes: Atomic<Int>
  private let lostSharing = Atomic(false)
  private let foundChange = Atomic(false)
  private let changed = Mutex<String?>(nil)

  private var logPath: String { resolved + "-wal" }
  /// The path of the file by which connections share the log.
  package var sharedPath: String { resolved + "-shm" }

  /// The size of one part of the shared file, in bytes; the file has at least one part.
  private static let sharedPartBytes = 32768

  /// Records the identities of a database's files, after its connection has read from the database.
  ///
  /// Before this read, another process that closes the database may remove the log. After the read,
  /// no process that respects SQLite's locks removes the log.
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
  /// A symbolic link in place of the file counts as a change, even if the link refers to the same
  /// file: SQLite would use a different write-ahead log, beside the target of the link.
  package var isCurrent: Bool {
    FileIdentity(path) == database && FileIdentity.entry(at: resolved)?.identity == database
  }

  /// Whether the database has lost its first page, which every database with a log has.
  private var isEmptied: Bool {
    guard let bytes = FileIdentity.entry(at: resolved)?.bytes else { return false }
    return bytes < Self.pageBytesMin
  }

  private static let pageBytesMin = 512

  /// Whether the connection shares its log with all other connections to the database.
  ///
  /// The value stays true if the shared file was removed and no connection was opened since.
  package var sharesLog: Bool {
    guard !lostSharing.load(ordering: .relaxed) else { return false }
    // The recorded maximum is read before the file's size. In the opposite order, another thread
    // could record a growth in between, and the file would seem to be shorter than before.
    let most = sharedBytes.load(ordering: .acquiring)
    guard let shared, let file = FileIdentity.entry(at: sharedPath) else { return true }
    guard file.identity == shared, !holdsShared || file.bytes >= most else {
      lostSharing.store(true, ordering: .relaxed)
      return false
    }
    sharedBytes.max(file.bytes, ordering: .acquiringAndReleasing)
    return true
  }

  /// The path of the first file that was removed, replaced, emptied or shortened; nil if a write is
  /// safe.
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

  /// Whether the only change is that the write-ahead log was removed, without a new log in its
  /// place.
  ///
  /// In this case, no other process has opened the database since the removal. Some commits may be
  /// only in the removed log, which this process still has open.
  package var lacksOnlyLog: Bool {
    isCurrent && !isEmptied && log != nil && FileIdentity.entry(at: logPath) == nil
      && FileIdentity.entry(at: sharedPath)?.identity == shared && changedPath == logPath
  }

  private func found(_ path: String) -> String {
    // If this process may not enter the folder now, the files in it may be unchanged.
    if FileIdentity.isHidden(path) { return path }
    changed.withLock { if $0 == nil { $0 = path } }
    foundChange.store(true, ordering: .relaxed)
    return path
  }
}
