// Subscriptions: the effect of changes on subscriptions. Pure functions from (subscriptions, change
// set) to verdicts and differences.
//
// Must not know: SQL, JSON, sockets, tasks, the time.
//
// What always holds:
// 1. A change that can alter a result is never judged `unaffected`.
// 2. Removing by descending old offset, then inserting by ascending new offset, turns the old
//    sequence into the new one.
// 3. Same input, same output.

package import CordialValues

/// The data on which the result of a subscription depends.
package enum Interest: Sendable {
  /// The objects of a list, and the properties that key paths read.
  ///
  /// `awaited` has the entities of objects that the subscription names by an identity and that do
  /// not exist.
  case objects(Set<ObjectKey>, related: [Int: Set<String>] = [:], awaited: Set<Int> = [])
  /// The matching objects of entities, and the properties that key paths read.
  ///
  /// `membership` has the properties that decide which objects match, and in which order.
  case fetch(entities: [Int], membership: Set<String>, related: [Int: Set<String>] = [:])
  /// Every commit.
  case commits

  /// The properties that key paths read of objects outside the result, by entity number.
  package var related: [Int: Set<String>] {
    switch self {
    case .objects(_, let related, _), .fetch(_, _, let related): related
    case .commits: [:]
    }
  }

  /// The entities of which a change to any object concerns the subscription.
  var wholeEntities: Set<Int> {
    switch self {
    case .objects(_, let related, let awaited): awaited.union(related.keys)
    case .fetch(let entities, _, let related): Set(related.keys).union(entities)
    case .commits: []
    }
  }
}

/// The effect of a change set on a subscription.
package enum Verdict: Sendable, Equatable {
  /// The result is unchanged.
  case unaffected
  /// The sequence is unchanged, but these of its objects have at least another version.
  case values(Set<ObjectKey>)
  /// The effect is unknown until the result is read again.
  case undecided
}

extension Interest {
  /// Returns the effect of a change set on the subscription.
  ///
  /// - Parameter set: The change set.
  /// - Returns: The verdict.
  /// - Complexity: Linear in the change set, and in the observed objects where they are fewer.
  package func verdict(on set: ChangeSet) -> Verdict {
    if set.changes.values.contains(where: reachesRelated) { return .undecided }
    switch self {
    case .objects(let keys, _, let awaited):
      let mayBeInserted =
        !awaited.isEmpty
        && set.changes.values.contains { change in
          change.kind == .insert && awaited.contains(change.key.entity)
        }
      if mayBeInserted { return .undecided }
      let touched =
        keys.count < set.changes.count
        ? keys.filter { set.changes[$0] != nil } : keys.intersection(set.changes.keys)
      return touched.isEmpty ? .unaffected : .values(touched)
    case .fetch(let entities, let membership, _): return verdict(on: set, entities, membership)
    case .commits: return set.through > set.from ? .undecided : .unaffected
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
    return touched.isEmpty ? .unaffected : .values(touched)
  }

  /// Returns whether a change inserts or deletes an object, or writes one of the given properties.
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
