import GRDB
import GRDBSQLite

/// A limit of the instructions that a connection's statements run.
package final class InstructionLimit {
  /// The number of instructions of SQLite's virtual machine between two checks of a statement.
  private static let instructionsPerCheck: Int32 = 1000

  private let connection: SQLiteConnection
  private var checksLeft: Int

  /// Sets a limit, until `lift` is called.
  ///
  /// A statement beyond the limit fails with the code `interrupted`, even if it has taken effect,
  /// and SQLite may roll the transaction back.
  ///
  /// - Parameters:
  ///   - connection: The connection.
  ///   - max: The maximum number of instructions of all statements together, to a thousand.
  package init(_ connection: SQLiteConnection, max: Int) {
    self.connection = connection
    checksLeft = max / Int(Self.instructionsPerCheck)
    unsafe sqlite3_progress_handler(
      connection.database.sqliteConnection,
      Self.instructionsPerCheck,
      { context in
        guard let context = unsafe context else { return 0 }
        let limit = unsafe Unmanaged<InstructionLimit>.fromOpaque(context).takeUnretainedValue()
        return limit.isReached() ? 1 : 0
      },
      Unmanaged.passUnretained(self).toOpaque()
    )
  }

  private func isReached() -> Bool {
    checksLeft -= 1
    return checksLeft < 0
  }

  /// Ends the limit, which must not include the statements that begin and end a transaction.
  package func lift() {
    unsafe sqlite3_progress_handler(connection.database.sqliteConnection, 0, nil, nil)
  }
}

extension SQLiteConnection {
  /// Sets the time that a statement waits for the lock of another connection, in seconds.
  package func setBusyMax(seconds: Double) {
    unsafe sqlite3_busy_timeout(database.sqliteConnection, Int32(seconds * 1000))
  }
}
