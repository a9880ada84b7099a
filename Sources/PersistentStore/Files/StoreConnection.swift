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

/// The Swift interface of CUnicode.
enum Folding {
  /// The versions of ICU, of Unicode and of the collation.
  static var version: String { unsafe String(cString: unicode_version()) }

  /// Returns a folded text; the flags are `UNICODE_FOLD_CASE` and `UNICODE_FOLD_DIACRITICS`.
  static func fold(_ text: String, flags: Int32) -> String {
    var text = text
    return text.withUTF8 { bytes in
      var capacity = bytes.count * 2 + 16
      while true {
        var needed = 0
        let folded = unsafe String(unsafeUninitializedCapacity: capacity) { out in
          unsafe out.withMemoryRebound(to: CChar.self) { characters in
            needed = unsafe bytes.withMemoryRebound(to: CChar.self) { input in
              unsafe Int(
                unicode_fold(
                  input.baseAddress,
                  Int32(input.count),
                  flags,
                  characters.baseAddress,
                  Int32(characters.count)
                )
              )
            }
          }
          return max(0, min(needed, capacity))
        }
        if needed <= capacity { return folded }
        capacity = needed
      }
    }
  }

  /// Computes the sort key of a text, whose bytes have the order of `collate`.
  ///
  /// - Parameters:
  ///   - text: The text, in UTF-8.
  ///   - key: A buffer for the key, which grows.
  /// - Returns: The length of the key in bytes; nil if memory is short.
  static func sortKey(_ text: Span<UInt8>, into key: inout [UInt8]) -> Int? {
    while true {
      let needed = unsafe text.withUnsafeBufferPointer { bytes in
        unsafe bytes.withMemoryRebound(to: CChar.self) { input in
          unsafe key.withUnsafeMutableBufferPointer { out in
            unsafe Int(
              unicode_sort_key(
                input.baseAddress,
                Int32(input.count),
                out.baseAddress,
                Int32(out.count)
              )
            )
          }
        }
      }
      guard needed > 0 else { return nil }
      // The last byte is a terminator, which the length of a blob replaces.
      if needed <= key.count { return needed - 1 }
      key = [UInt8](repeating: 0, count: needed)
    }
  }

  /// Compares two texts in the order that people expect; returns a negative number, zero or a
  /// positive number.
  static func collate(_ first: String, _ second: String) -> Int32 {
    var first = first
    var second = second
    return first.withUTF8 { a in
      second.withUTF8 { b in
        unsafe a.withMemoryRebound(to: CChar.self) { left in
          unsafe b.withMemoryRebound(to: CChar.self) { right in
            unsafe unicode_collate(
              left.baseAddress,
              Int32(left.count),
              right.baseAddress,
              Int32(right.count)
            )
          }
        }
      }
    }
  }
}
