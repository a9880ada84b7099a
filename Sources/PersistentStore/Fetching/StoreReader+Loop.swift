import SQLite

/// The error that a value is too long for an event loop, and another thread has to read it.
package struct LongValue: Error {
  package init() {}
}

/// What an event loop reads itself: no long value, so that no connection waits for it.
extension StoreReader {
  /// The length of the values that an event loop's connections read and write at most, in bytes:
  /// reading a longer one takes too long there.
  package static let loopValueBytesMax = 256 << 10

  /// Makes the reader that of an event loop, where reading a value that is longer than
  /// `loopValueBytesMax` fails with `LongValue`.
  ///
  /// - Throws: `SQLiteError`.
  package func limitToLoop() throws {
    try queue.use { db in _ = db.limitValues(bytesMax: Self.loopValueBytesMax) }
    isOnLoop = true
  }

  /// Runs a body that reads, and reports a value that is too long for this reader.
  func limitingValues<Result>(_ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch let error as SQLiteError where isOnLoop && error.code == .tooBig {
      throw LongValue()
    }
  }
}
