import CUnicode
import FoundationEssentials
import Glibc
import ObjectModel
import PersistentHistory
import SQLite

/// Connections to a store's file, with the functions and collations that Cordial's queries use.
enum StoreConnection {
  /// The time that a connection waits for another process's lock, in seconds.
  static let busySecondsMax = 5.0

  /// The maximum size of the writer's page cache, in KiB.
  private static let writerCacheMax = 16384
  /// The maximum size of a reader's page cache, in KiB.
  ///
  /// Each reader has its own cache. The size also limits how much data SQLite sorts in memory at
  /// once, and an interruption cannot stop a statement during such a sort. With 64 MiB, SQLite
  /// reads scattered rows of a million small objects 20 % faster, but a sort of a million rows is
  /// not faster.
  private static let readerCacheMax = 2048

  /// The user of a connection.
  enum Role {
    case writer
    case reader
    /// A reader in a read-only folder with no commits in the write-ahead log; SQLite takes no
    /// locks.
    case immutableReader
    /// A reader in a read-only folder with commits in the write-ahead log, but without the `-shm`
    /// file through which connections share this log.
    ///
    /// Each connection builds its own index of the write-ahead log and takes no locks.
    case frozenReader
  }

  /// Returns the role of a store's readers.
  ///
  /// SQLite shares a write-ahead log through the `-shm` file beside the log, and cannot create this
  /// file in a read-only folder. While the file does not exist, no process writes to the store.
  static func readerRole(of container: StoreContainer) -> Role {
    guard !container.isWritable else { return .reader }
    let (log, shared) = (container.storePath + "-wal", container.storePath + "-shm")
    if unsafe access(log, R_OK) == 0, unsafe access(shared, R_OK) == 0 { return .reader }
    return FileSize.of([log]) > 0 ? .frozenReader : .immutableReader
  }

  /// Opens a connection.
  ///
  /// - Parameters:
  ///   - path: The path of `store.sqlite`.
  ///   - role: The user of the connection.
  /// - Returns: A queue that its owner uses from one thread at a time.
  /// - Throws: `SQLiteError`.
  static func open(_ path: String, _ role: Role) throws -> SQLiteQueue {
    let location = location(path, role)
    // The queue checks the files of a path, but not the files of a URI.
    if location != path { try SQLiteQueue.checkKinds(path) }
    var options = SQLiteQueue.Options()
    options.isReadOnly = role != .writer
    options.busySecondsMax = busySecondsMax
    options.cacheKiB = role == .writer ? writerCacheMax : readerCacheMax
    options.prepare = { db in
      // This mode must precede the first read; otherwise SQLite would share the write-ahead log.
      if role == .frozenReader { try db.execute("PRAGMA locking_mode=EXCLUSIVE") }
      try TextFunctions.add(to: db)
      try NumberFunctions.add(to: db)
      try db.addValueLists()
      try Collation.add("cordial_localized", to: db, Folding.collate)
      try Collation.add("cordial_decimal", to: db) { Int32(DecimalText.compare($0, $1)) }
    }
    return try SQLiteQueue(path: location, options)
  }

  private static func location(_ path: String, _ role: Role) -> String {
    switch role {
    case .writer, .reader: path
    case .immutableReader: "file:\(percentEncoded(path))?immutable=1"
    // With SQLite's file system `unix-none`, locking does nothing and therefore never fails.
    case .frozenReader: "file:\(percentEncoded(path))?mode=ro&vfs=unix-none"
    }
  }

  private static func percentEncoded(_ path: String) -> String {
    let digits = Array("0123456789ABCDEF".utf8)
    let encoded = path.utf8.flatMap { byte -> [UInt8] in
      switch byte {
      case UInt8(ascii: "%"), UInt8(ascii: "?"), UInt8(ascii: "#"):
        [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      default: [byte]
      }
    }
    return String(decoding: encoded, as: UTF8.self)
  }
}
