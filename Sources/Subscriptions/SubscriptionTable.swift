package import CordialValues

/// The observed requests of all connections, indexed by the objects and entities that concern them.
package struct SubscriptionTable: Sendable {
  private var interests: [Int: Interest] = [:]
  private var byObject: [ObjectKey: Set<Int>] = [:]
  private var byEntity: [Int: Set<Int>] = [:]
  /// The requests that every commit concerns.
  private var byCommit: Set<Int> = []

  package init() {}

  package var count: Int { interests.count }

  /// Adds a request, or replaces its interest.
  package mutating func set(_ interest: Interest, for number: Int) {
    remove(number)
    interests[number] = interest
    if case .objects(let keys, _, _) = interest {
      for key in keys { byObject[key, default: []].insert(number) }
    }
    for entity in interest.wholeEntities { byEntity[entity, default: []].insert(number) }
    if case .commits = interest { byCommit.insert(number) }
  }

  /// Removes a request.
  package mutating func remove(_ number: Int) {
    guard let interest = interests.removeValue(forKey: number) else { return }
    byCommit.remove(number)
    if case .objects(let keys, _, _) = interest {
      for key in keys {
        byObject[key]?.remove(number)
        if byObject[key]?.isEmpty == true { byObject[key] = nil }
      }
    }
    for entity in interest.wholeEntities {
      byEntity[entity]?.remove(number)
      if byEntity[entity]?.isEmpty == true { byEntity[entity] = nil }
    }
  }

  /// Returns the requests whose results a change set may have altered, with their verdicts.
  ///
  /// - Parameter set: The change set.
  /// - Returns: The verdicts other than `unaffected`, in the order of the requests' numbers.
  /// - Complexity: Linear in the change set and in the requests that it concerns.
  package func verdicts(on set: ChangeSet) -> [(number: Int, verdict: Verdict)] {
    var affected = byCommit
    for key in set.changes.keys {
      if let numbers = byObject[key] { affected.formUnion(numbers) }
      if let numbers = byEntity[key.entity] { affected.formUnion(numbers) }
    }
    return affected.sorted().compactMap { number in
      guard let verdict = interests[number]?.verdict(on: set), verdict != .unaffected else {
        return nil
      }
      return (number, verdict)
    }
  }
}
