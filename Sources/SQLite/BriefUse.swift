import GRDB
import GRDBSQLite

extension SQLiteConnection {
  /// The number of SQLite's virtual machine instructions between two checks of a brief use.
  private static let instructionsPerCheck: Int32 = 1000
  /// SQLite's default: the pages of the write-ahead log from which a commit copies them.
  private static let checkpointPages: Int32 = 1000

  /// Runs a body whose statements do not take long.
  ///
  /// They wait for no lock of another connection, and its commit does not copy the pages of the
  /// write-ahead log into the file. A statement that would exceed the maximum fails, and SQLite may
  /// roll the transaction back.
  ///
  /// - Parameters:
  ///   - instructionsMax: The maximum number of instructions of SQLite's virtual machine for all
  ///     statements together, to about 1000 for each statement.
  ///   - busySecondsMax: The time that statements after the body wait for a lock, in seconds.
  ///   - body: Uses the connection.
  /// - Returns: The result of the body.
  /// - Throws: `SQLiteError` with the code `busy` or `interrupted`; the errors of the body.
  package func briefly<Value>(
    instructionsMax: Int,
    busySecondsMax: Double,
    _ body: () throws -> Value
  ) throws -> Value {
    let handle = unsafe database.sqliteConnection
    let allowance = CheckAllowance(instructionsMax / Int(Self.instructionsPerCheck))
    unsafe sqlite3_busy_timeout(handle, 0)
    unsafe sqlite3_wal_autocheckpoint(handle, 0)
    unsafe sqlite3_progress_handler(
      handle,
      Self.instructionsPerCheck,
      { context in
        guard let context = unsafe context else { return 0 }
        let allowance = unsafe Unmanaged<CheckAllowance>.fromOpaque(context).takeUnretainedValue()
        return allowance.isExhausted() ? 1 : 0
      },
      Unmanaged.passUnretained(allowance).toOpaque()
    )
    defer {
      unsafe sqlite3_progress_handler(handle, 0, nil, nil)
      unsafe sqlite3_wal_autocheckpoint(handle, Self.checkpointPages)
      unsafe sqlite3_busy_timeout(handle, Int32(busySecondsMax * 1000))
    }
    return try withExtendedLifetime(allowance, body)
  }
}

/// The checks that a brief use has left.
private final class CheckAllowance {
  private var left: Int

  init(_ count: Int) { left = count }

  func isExhausted() -> Bool {
    left -= 1
    return left < 0
  }
}
