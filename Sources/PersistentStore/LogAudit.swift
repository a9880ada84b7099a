import ObjectModel
import PersistentHistory
import SQLite
import StoreLayout

/// A summary of the history log for each object: its versions, and whether the object exists.
///
/// The audit reads the log in the order of entities and objects. SQLite sorts the log with a
/// temporary file, so that the required memory does not depend on the size of the log.
final class LogAudit {
  /// The logged state of one object.
  struct State {
    /// The newest logged version, 0 if none is logged.
    fileprivate(set) var version: Int64 = 0
    /// Whether a version is missing between two logged versions.
    fileprivate(set) var hasGap = false
    fileprivate(set) var hasInsert = false
    /// Whether the object exists according to the log; nil if no insert or delete is logged.
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

  /// Begins to read the history log.
  ///
  /// - Complexity: Linear in the log, apart from the sort.
  init(_ snapshot: StoreSnapshot) throws {
    rows = try snapshot.statement(
      "SELECT entity, object, kind, version FROM cordial_change "
        + "WHERE kind IN (0, 1, 2) AND number <= ? ORDER BY entity, object, number"
    )
    rows.bind(snapshot.head.lastChange, at: 1)
    do {
      hasRow = try rows.step()
    } catch {
      // The reader caches the statement, which must be reset before its next use.
      rows.reset()
      throw error
    }
  }

  /// Resets the statement that reads the log.
  func end() {
    rows.reset()
    hasRow = false
  }

  /// Calls a body with the logged state of each object of an entity, in the order of the objects.
  ///
  /// - Parameters:
  ///   - entity: The entity; its number is greater than the entity number of the previous call.
  ///   - body: Called with the object's number and its logged state.
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
