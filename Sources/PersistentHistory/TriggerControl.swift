package import SQLite

/// The runner of the statements that write to entity and link tables, each with triggers on or off.
///
/// SQLite compiles every statement again after triggers are turned on or off. The connection
/// therefore keeps the state of the last statement: of many bulk saves in a row, only the first one
/// turns triggers off.
package final class TriggerControl {
  /// The writer of the log rows for the changes of a statement.
  package enum Mode {
    /// The triggers.
    case on
    /// The caller.
    case off
  }

  private let db: SQLiteConnection
  private var mode = Mode.on

  /// Creates the control of a connection on which triggers are on.
  package init(_ db: SQLiteConnection) { self.db = db }

  /// Runs a statement to its end and resets it.
  ///
  /// - Parameters:
  ///   - statement: A statement of the connection, with its arguments.
  ///   - mode: Whether it fires triggers.
  /// - Throws: `SQLiteError`.
  package func run(_ statement: PreparedStatement, triggers mode: Mode) throws {
    try setMode(mode)
    try statement.run()
  }

  /// Runs SQL that fires triggers.
  ///
  /// - Parameter sql: One statement without arguments.
  /// - Throws: `SQLiteError`.
  package func execute(_ sql: String) throws {
    try setMode(.on)
    try db.execute(sql)
  }

  private func setMode(_ mode: Mode) throws {
    guard mode != self.mode else { return }
    try db.setFiresTriggers(mode == .on)
    self.mode = mode
  }
}
