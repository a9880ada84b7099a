import CUnicode
import FoundationEssentials
import ObjectModel
import PersistentHistory
import SQLite

/// Connections to a store's file, with the functions and collations that Cordial's queries use.
enum StoreConnection {
  /// The time that a connection waits for another process's lock, in seconds.
  static let busySecondsMax = 5.0

  /// The maximum size of a connection's page cache, in KiB.
  ///
  /// A reader's cache is large enough for scattered rows of a million small objects.
  private static let writerCacheMax = 16384
  private static let readerCacheMax = 65536

  /// The user of a connection.
  enum Role {
    case writer
    case reader
    /// A reader of a folder that cannot be written and has no log file: SQLite takes no locks.
    case immutableReader
  }

  /// Opens a connection.
  ///
  /// - Parameters:
  ///   - path: The path of `store.sqlite`.
  ///   - role: The user of the connection.
  /// - Returns: A queue that its owner uses from one thread at a time.
  /// - Throws: `SQLiteError`.
  static func open(_ path: String, _ role: Role) throws -> SQLiteQueue {
    var options = SQLiteQueue.Options()
    options.isReadOnly = role != .writer
    options.busySecondsMax = busySecondsMax
    options.cacheKiB = role == .writer ? writerCacheMax : readerCacheMax
    options.prepare = { db in
      try TextFunctions.add(to: db)
      try NumberFunctions.add(to: db)
      db.addCollation("cordial_localized", Folding.collate)
      db.addCollation("cordial_decimal") { Int32(DecimalText.compare($0, $1)) }
    }
    let isImmutable = role == .immutableReader
    return try SQLiteQueue(
      path: isImmutable ? "file:\(percentEncoded(path))?immutable=1" : path,
      options
    )
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
