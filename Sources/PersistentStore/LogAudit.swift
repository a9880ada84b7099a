import ObjectModel
import PersistentHistory
import SQLite
import StoreLayout

/// What the log says of each object: its versions, and whether the object exists.
///
/// The log is read in the order of entities and objects, beside the objects themselves. SQLite
/// sorts it, with a temporary file, so that the memory does not depend on the size of the log.
final class LogAudit {
  /// What the log says of one object.
  struct State {
    /// The newest logged version, 0 if none is logged.
    fileprivate(set) var version: Int64 = 0
    /// Whether the log has a version after one that it lacks.
    fileprivate(set) var hasGap = false
    fileprivate(set) var hasInsert = false
    /// Whether the object exists; nil if no insert or delete is logged.
    fileprivate(set) var exists: Bool?

    fileprivate mutating func add(_ kind: ChangeKind, _ logged: Int64?) {
      switch kind {
      case .insert:
        hasInsert = true
        exists = true
      case .delete: exists = false
      case .update, .link, .unlink: break
      }
      guard let logged, logged > version else { return }
      hasGap = hasGap || version > 0 && logged > version + 1
      version = logged
    }
  }

  private let rows: PreparedStatement
  /// Whether the statement has a row.
  private var hasRow: Bool

  /// Begins to read the log.
  ///
  /// - Complexity: Linear in the log, but for the sorting.
  init(_ snapshot: StoreSnapshot) throws {
    rows = try snapshot.statement(
      "SELECT entity, object, kind, version FROM cordial_change "
        + "WHERE kind IN (0, 1, 2) AND number <= ? ORDER BY entity, object, number"
    )
    rows.bind(snapshot.head.lastChange, at: 1)
    do {
      hasRow = try rows.step()
    } catch {
      // The reader keeps the statement.
      rows.reset()
      throw error
    }
  }

  /// Ends the reading.
  func end() {
    rows.reset()
    hasRow = false
  }

  /// Calls a body with what the log says of each object of an entity, in the order of the objects.
  ///
  /// - Parameters:
  ///   - entity: The entity, whose number is greater than that of the call before.
  ///   - body: Called with the number of the object, and with its state.
  /// - Throws: `SQLiteError`; the errors of the body.
  func each(_ entity: EntityDescription, _ body: (Int64, State) throws -> Void) throws {
    while hasRow, rows.integer(0) < Int64(entity.number) { hasRow = try rows.step() }
    while hasRow, rows.integer(0) == Int64(entity.number) {
      let object = rows.integer(1)
      var state = State()
      repeat {
        if let kind = ChangeKind(rawValue: rows.integer(2)) {
          state.add(kind, rows.optionalInteger(3))
        }
        hasRow = try rows.step()
      } while hasRow && rows.integer(0) == Int64(entity.number) && rows.integer(1) == object
      try body(object, state)
    }
  }
}
