// Subscriptions: who must hear what. A pure machine from (subscriptions, change set) to verdicts
// and differences.
//
// Must not know: SQL, JSON, sockets, tasks, the time.
//
// What always holds:
// 1. A change that can alter a result is never judged `untouched`.
// 2. Removing by descending old offset, then inserting by ascending new offset, makes the new
//    sequence out of the old one.
// 3. Same input, same output.

package import CordialValues

/// What the result of a subscription depends on.
package enum Interest: Sendable {
  /// These objects, what lies behind key paths, and the entities of which an object is awaited that
  /// is named by its identity and not there.
  case objects(Set<ObjectKey>, related: [Int: Set<String>] = [:], awaited: Set<Int> = [])
  /// The objects of entities that match: the properties that their order and membership read, and
  /// what lies behind key paths.
  case fetch(entities: [Int], membership: Set<String>, related: [Int: Set<String>] = [:])

  /// What lies behind key paths: properties of objects that are not those of the result, by the
  /// number of their entity.
  package var related: [Int: Set<String>] {
    switch self {
    case .objects(_, let related, _), .fetch(_, _, let related): related
    }
  }

  /// The entities a change of which concerns it whatever the object.
  var wholeEntities: Set<Int> {
    switch self {
    case .objects(_, let related, let awaited): awaited.union(related.keys)
    case .fetch(let entities, _, let related): Set(related.keys).union(entities)
    }
  }
}

/// What a change set means for a subscription.
package enum Verdict: Sendable, Equatable {
  /// The result is as it was.
  case untouched
  /// The sequence is as it was; these of its objects have other versions at least, which count
  /// their changes.
  case values(Set<ObjectKey>)
  /// Only reading the result again can tell.
  case undecided
}

extension Interest {
  /// Judges a change set.
  ///
  /// - Parameter set: What changed.
  /// - Returns: The verdict.
  /// - Complexity: Linear in the change set, and in the observed objects where they are fewer.
  package func verdict(on set: ChangeSet) -> Verdict {
    if set.changes.values.contains(where: reachesRelated) { return .undecided }
    switch self {
    case .objects(let keys, _, let awaited):
      let mayCome =
        !awaited.isEmpty
        && set.changes.values.contains { change in
          change.kind == .insert && awaited.contains(change.key.entity)
        }
      if mayCome { return .undecided }
      let touched =
        keys.count < set.changes.count
        ? keys.filter { set.changes[$0] != nil } : keys.intersection(set.changes.keys)
      return touched.isEmpty ? .untouched : .values(touched)
    case .fetch(let entities, let membership, _): return verdict(on: set, entities, membership)
    }
  }

  private func verdict(
    on set: ChangeSet,
    _ entities: [Int],
    _ membership: Set<String>
  ) -> Verdict {
    var touched: Set<ObjectKey> = []
    for change in set.changes.values where entities.contains(change.key.entity) {
      guard !Self.concerns(change, membership) else { return .undecided }
      touched.insert(change.key)
    }
    return touched.isEmpty ? .untouched : .values(touched)
  }

  /// Whether an object came or went, or one of the properties that are read was written.
  private static func concerns(_ change: ObjectChange, _ properties: Set<String>) -> Bool {
    change.kind != .update
      || change.properties.contains(ChangeSet.everyProperty)
      || properties.contains(ChangeSet.everyProperty)
      || !change.properties.isDisjoint(with: properties)
  }

  private func reachesRelated(_ change: ObjectChange) -> Bool {
    guard let read = related[change.key.entity] else { return false }
    return Self.concerns(change, read)
  }
}
