package import SQLite

/// Whether the writer's statements fire triggers.
///
/// Turning it has SQLite compile every statement anew, so it stays as it is until the other is
/// needed: of many bulk saves in a row, from which nothing else follows, the first one turns it.
/// Whoever writes to an entity's table, or to one of pairs, says first how it has to be.
///
/// Used on the writer's queue only.
package final class TriggerSwitch {
  private let db: SQLiteConnection
  /// Whether they fire.
  package private(set) var isOn = true

  /// The switch of a connection whose statements fire triggers.
  package init(_ db: SQLiteConnection) { self.db = db }

  /// Has statements fire triggers from now on, or not; what changes where they don't, the caller
  /// logs.
  ///
  /// - Parameter on: Whether they shall.
  /// - Throws: `SQLiteError`.
  package func turn(on: Bool) throws {
    guard on != isOn else { return }
    try db.setFiresTriggers(on)
    isOn = on
  }
}
