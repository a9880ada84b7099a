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
  /// These objects, with the named properties of each entity (an entity that is absent counts with
  /// all of them), and what lies behind key paths.
  case objects(Set<ObjectKey>, values: [Int: Set<String>], related: [Int: Set<String>])
  /// The objects of an entity that match: the properties that their order and membership read,
  /// those that their values read, and what lies behind key paths.
  case fetch(
    entity: Int,
    membership: Set<String>,
    values: Set<String>,
    related: [Int: Set<String>]
  )

  /// What lies behind key paths: properties of objects that are not those of the result, by the
  /// number of their entity.
  package var related: [Int: Set<String>] {
    switch self {
    case .objects(_, _, let related), .fetch(_, _, _, let related): related
    }
  }
}

/// What a change set means for a subscription.
package enum Verdict: Sendable, Equatable {
  /// The result is as it was.
  case untouched
  /// The sequence is as it was; these of its objects may have other values.
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
    case .objects(let keys, let values, _):
      let touched =
        keys.count < set.changes.count
        ? keys.filter { set.changes[$0] != nil } : keys.intersection(set.changes.keys)
      let concerned = touched.filter { key in
        set.changes[key].map { Self.concerns($0, values[key.entity]) } ?? false
      }
      return concerned.isEmpty ? .untouched : .values(concerned)
    case .fetch(let entity, let membership, let values, _):
      return verdict(on: set, entity, membership, values)
    }
  }

  private func verdict(
    on set: ChangeSet,
    _ entity: Int,
    _ membership: Set<String>,
    _ values: Set<String>
  ) -> Verdict {
    var touched: Set<ObjectKey> = []
    for change in set.changes.values where change.key.entity == entity {
      guard change.kind == .update, !Self.concerns(change, membership) else { return .undecided }
      if Self.concerns(change, values) { touched.insert(change.key) }
    }
    return touched.isEmpty ? .untouched : .values(touched)
  }

  /// Whether an object came or went, or one of the properties that are read was written; nil reads
  /// all of them.
  private static func concerns(_ change: ObjectChange, _ properties: Set<String>?) -> Bool {
    guard change.kind == .update, let properties else { return true }
    return change.properties.contains(ChangeSet.everyProperty)
      || properties.contains(ChangeSet.everyProperty)
      || !change.properties.isDisjoint(with: properties)
  }

  private func reachesRelated(_ change: ObjectChange) -> Bool {
    guard let read = related[change.key.entity] else { return false }
    return Self.concerns(change, read)
  }
}
