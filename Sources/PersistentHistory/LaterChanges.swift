package import CordialValues
import ObjectModel
import StoreLayout

/// A pair of a many-to-many, as its table has it.
package struct PairName: Hashable, Sendable {
  /// The entity and the relationship that keep it.
  package let entity: Int
  package let relationship: String
  package let source: Int64
  package let target: Int64

  /// The pair that a row of the log is about.
  package init(_ row: HistoryRow) {
    self.init(
      entity: row.entity,
      relationship: row.before ?? "",
      source: row.object,
      target: row.other
    )
  }

  package init(entity: Int, relationship: String, source: Int64, target: Int64) {
    self.entity = entity
    self.relationship = relationship
    self.source = source
    self.target = target
  }
}

/// What became of objects since some groups of commits, by commits that still stand.
///
/// What was undone again does not count, nor what undid it where both lie behind the group. What
/// comes before a group among the author's own commits, and was done again after the group was
/// undone, does not either.
package struct LaterChanges: Sendable {
  /// Why a change stands.
  enum Standing {
    case ordinary
    /// It undid something that began with that commit.
    case undo(of: Int64)
    case redo(of: Int64, isOwn: Bool)
  }

  private struct Entry<Value: Sendable>: Sendable {
    let row: Int64
    let standing: Standing
    let value: Value
  }

  private let model: Model
  /// The ordinary commit with which each group began in the end, by its first commit.
  var origins: [Int64: Int64] = [:]
  /// The values before, by property.
  private var written: [ObjectKey: [String: [Entry<LoggedValue>]]] = [:]
  private var deleted: [ObjectKey: [Entry<Void>]] = [:]
  private var inserted: [ObjectKey: [Entry<Void>]] = [:]
  private var pairs: [PairName: [Entry<Void>]] = [:]

  init(model: Model) {
    self.model = model
  }

  mutating func add(_ row: HistoryRow, _ standing: Standing, _ keys: Set<ObjectKey>) {
    guard model.entities.indices.contains(row.entity - 1) else { return }
    let key = model.key(row.entity, row.object)
    func entry<Value>(_ value: Value) -> Entry<Value> {
      Entry(row: row.number, standing: standing, value: value)
    }
    switch row.kind {
    case .insert:
      if keys.contains(key) { inserted[key, default: []].append(entry(())) }
    case .update, .delete:
      guard keys.contains(key), !row.isDeparture else { return }
      if row.kind == .delete { deleted[key, default: []].append(entry(())) }
      // What was deleted and is there again may be other in all it has.
      for value in row.values {
        written[key, default: [:]][value.property, default: []]
          .append(entry(value))
      }
    case .link, .unlink:
      pairs[PairName(row), default: []].append(entry(()))
    }
  }

  private func first<Value>(_ entries: [Entry<Value>]?, since group: RevertGroup) -> Value? {
    let start = group.changes.map(\.lowerBound).min() ?? 0
    let origin = origins[group.first] ?? group.first
    return entries?.first { entry in
      guard entry.row > start else { return false }
      return switch entry.standing {
      case .ordinary: true
      case .undo(let commit): commit < origin
      case .redo(let commit, let isOwn): !isOwn || commit > origin
      }
    }?.value
  }

  /// A property's value before it was first written since a group; nil when it was not.
  package func value(
    before key: ObjectKey,
    _ property: String,
    since group: RevertGroup
  ) -> LoggedValue? {
    first(written[key]?[property], since: group)
  }

  /// The properties of an object that were written since a group.
  package func properties(of key: ObjectKey, since group: RevertGroup) -> Set<String> {
    Set((written[key] ?? [:]).filter { first($0.value, since: group) != nil }.keys)
  }

  /// Whether an object was deleted since a group, even if it is there again.
  package func deletes(_ key: ObjectKey, since group: RevertGroup) -> Bool {
    first(deleted[key], since: group) != nil
  }

  /// Whether an object was inserted since a group.
  package func inserts(_ key: ObjectKey, since group: RevertGroup) -> Bool {
    first(inserted[key], since: group) != nil
  }

  /// Whether a pair came or went since a group.
  package func touches(_ pair: PairName, since group: RevertGroup) -> Bool {
    first(pairs[pair], since: group) != nil
  }
}
