import SQLite

/// The error of a read on an event loop that finds a value too long for the loop; a different
/// thread must then read the value.
package struct LongValue: Error {
  package init() {}
}

/// The limit of a reader on an event loop, where reading a long value would delay every connection.
extension StoreReader {
  /// The maximum length in bytes of a value that an event loop reads or writes; a longer value
  /// would block the loop for too long.
  package static let loopValueBytesMax = 256 << 10

  /// Limits the reader to the values that an event loop may read.
  ///
  /// Reading a value that is longer than `loopValueBytesMax` then fails with `LongValue`.
  ///
  /// - Throws: `SQLiteError`.
  package func limitToLoop() throws {
    try queue.use { db in _ = db.limitValues(bytesMax: Self.loopValueBytesMax) }
    isOnLoop = true
  }

  /// Runs a body that reads, and throws `LongValue` for a value that is too long for this reader.
  func limitingValues<Result>(_ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch let error as SQLiteError where isOnLoop && error.code == .tooBig {
      throw LongValue()
    }
  }
}
