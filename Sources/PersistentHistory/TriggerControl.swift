package import SQLite

/// The runner of the statements that write to entity and link tables, each with triggers on or off.
///
/// SQLite recompiles every statement after triggers are turned on or off. The connection therefore
/// keeps the last state until a statement needs the opposite state. Consecutive bulk saves turn
/// triggers off only once.
package final class TriggerControl {
  /// The component that logs the changes of a statement.
  package enum Mode {
    /// The triggers log the changes.
    case on
    /// The caller logs the changes.
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
  ///   - mode: Whether the statement fires triggers.
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
