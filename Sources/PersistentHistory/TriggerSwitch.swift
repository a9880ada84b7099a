import CSQLite
package import GRDB

/// Whether the writer's statements fire triggers.
///
/// Turning it has SQLite compile every statement anew, so it stays as it is until the other is
/// needed: of many bulk saves in a row, from which nothing else follows, the first one turns it.
/// Whoever writes to an entity's table, or to one of pairs, says first how it has to be.
///
/// Used on the writer's queue only.
package final class TriggerSwitch {
  private let db: Database
  /// Whether they fire.
  package private(set) var isOn = true

  /// The switch of a connection whose statements fire triggers.
  package init(_ db: Database) { self.db = db }

  /// Has statements fire triggers from now on, or not; what changes where they don't, the caller
  /// logs.
  ///
  /// - Parameter on: Whether they shall.
  /// - Throws: `DatabaseError`.
  package func turn(on: Bool) throws {
    guard on != isOn else { return }
    let code = unsafe sqlite_enable_triggers(db.sqliteConnection, on ? 1 : 0)
    guard code == 0 else { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
    isOn = on
  }
}
