import ObjectModel
import PersistentHistory
import SQLite
import StoreLayout

/// What the log says of each object, read in one pass: its versions, and whether the object
/// exists.
///
/// Object numbers are given in sequence, so that an array has the states. Numbers far beyond the
/// sequence, which an external client may choose, are in a dictionary.
struct LogAudit {
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

  /// The states of one entity's objects.
  private struct States {
    let first: Int64
    var dense: [State]
    var sparse: [Int64: State] = [:]

    subscript(object: Int64) -> State {
      get {
        let index = object &- first
        return dense.indices.contains(Int(index)) ? dense[Int(index)] : sparse[object] ?? State()
      }
      set {
        let index = object &- first
        if dense.indices.contains(Int(index)) {
          dense[Int(index)] = newValue
        } else {
          sparse[object] = newValue
        }
      }
    }
  }

  /// The maximum number of objects of an entity whose states are in an array.
  private static let denseMax: Int64 = 1 << 22

  private var states: [States]

  /// Reads the log.
  ///
  /// - Complexity: Linear in the log; the memory is linear in the numbers that were given.
  init(_ snapshot: StoreSnapshot) throws {
    states = try snapshot.model.entities.map { entity in
      let sequence = try snapshot.statement("SELECT seq FROM sqlite_sequence WHERE name = ?")
      defer { sequence.reset() }
      sequence.bind(entity.name, at: 1)
      let first = entity.numbers.lowerBound
      let last = try sequence.step() ? sequence.integer(0) : 0
      let count = entity.isAbstract || last < first ? 0 : min(last - first + 1, Self.denseMax)
      return States(first: first, dense: Array(repeating: State(), count: Int(count)))
    }
    let rows = try snapshot.statement(
      "SELECT entity, object, kind, version FROM cordial_change "
        + "WHERE kind IN (0, 1, 2) AND number <= ? ORDER BY number"
    )
    defer { rows.reset() }
    rows.bind(snapshot.head.lastChange, at: 1)
    while try rows.step() {
      let entity = Int(rows.integer(0))
      guard snapshot.model.hasEntity(entity), let kind = ChangeKind(rawValue: rows.integer(2))
      else {
        continue
      }
      states[entity - 1][rows.integer(1)].add(kind, rows.optionalInteger(3))
    }
  }

  /// Returns what the log says of an object.
  func state(_ entity: EntityDescription, _ object: Int64) -> State {
    states[entity.number - 1][object]
  }

  /// Calls a body with the objects of an entity that the log has, in no order.
  func each(_ entity: EntityDescription, _ body: (Int64, State) -> Void) {
    let states = states[entity.number - 1]
    for (index, state) in states.dense.enumerated() { body(states.first + Int64(index), state) }
    for (object, state) in states.sparse { body(object, state) }
  }
}
