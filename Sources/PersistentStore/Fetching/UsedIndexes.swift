import ObjectModel
import StoreLayout
import Synchronization

/// The indexes that the statements of a store's readers use.
///
/// All read connections of a store share one instance. A statement's plan is read only once, at the
/// next call of `names`.
package final class UsedIndexes: Sendable {
  private struct State {
    /// The statements whose plans were not read yet.
    var pending: Set<String> = []
    var known: Set<String> = []
    /// The length of all statements, in bytes.
    var bytes = 0
    /// The names of the indexes that the known statements use.
    var names: Set<String> = []
  }

  /// The maximum number of statements; later statements are ignored.
  private static let statementsMax = 1000
  /// The maximum length of the statements, in bytes.
  private static let bytesMax = 4 << 20

  private let state = Mutex(State())

  init() {}

  /// Adds a statement that a reader compiled.
  func add(_ sql: String) {
    state.withLock { state in
      guard state.pending.count + state.known.count < Self.statementsMax,
        state.bytes + sql.utf8.count <= Self.bytesMax,
        !state.known.contains(sql), state.pending.insert(sql).inserted
      else { return }
      state.bytes += sql.utf8.count
    }
  }

  /// Returns the names of the indexes that the statements use.
  ///
  /// - Parameter plan: Returns the lines of a statement's plan.
  /// - Returns: The names.
  /// - Throws: The errors of `plan`.
  func names(_ plan: (String) throws -> [String]) rethrows -> Set<String> {
    let pending = state.withLock { $0.pending }
    var found: Set<String> = []
    for sql in pending {
      for line in try plan(sql) {
        guard let match = line.firstMatch(of: /INDEX (cordial_[^ ]+)/) else { continue }
        found.insert(String(match.1))
      }
    }
    return state.withLock { state in
      state.pending.subtract(pending)
      state.known.formUnion(pending)
      state.names.formUnion(found)
      return state.names
    }
  }
}

extension StoreSnapshot {
  /// Returns the indexes of the model that no statement used since the store was opened.
  ///
  /// - Returns: The entity and the keys of each index, in the order of the model.
  /// - Throws: `SQLiteError`.
  package func unusedIndexes() throws -> [(entity: String, keys: [String])] {
    let used = try reader.usedIndexes()
    return model.concreteEntities.flatMap { entity in
      StoreSchema.declaredIndexes(of: entity).filter { !used.contains($0.name) }
        .map { (entity.name, $0.keys) }
    }
  }
}
