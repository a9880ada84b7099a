package import CordialValues
import ObjectModel

/// The observed requests of all connections, indexed by the objects, entities and values that
/// concern them.
///
/// A fetch whose condition requires a value of a property is indexed by that value. A change of an
/// object then concerns only the fetches of the values that the object has before and after it.
package struct SubscriptionTable: Sendable {
  private var interests: [Int: Interest] = [:]
  private var byObject: [ObjectKey: Set<Int>] = [:]
  private var byEntity: [Int: Set<Int>] = [:]
  /// The fetches of each entity that are indexed by values.
  private var byValue: [Int: ValueIndex] = [:]
  /// The requests that every commit concerns.
  private var byCommit: Set<Int> = []
  /// The number of requests that read each column, by entity.
  private var columns: [Int: [String: Int]] = [:]

  /// The fetches of one entity by the values that their conditions require.
  private struct ValueIndex: Sendable {
    var columns: [String: [StorageKey: Set<Int>]] = [:]
    var all: Set<Int> = []
  }

  package init() {}

  package var count: Int { interests.count }

  /// Adds a request, or replaces its interest.
  package mutating func set(_ interest: Interest, for number: Int) {
    remove(number)
    interests[number] = interest
    switch interest {
    case .objects(let keys, let related, let awaited):
      for key in keys { byObject[key, default: []].insert(number) }
      for entity in awaited.union(related.keys) { byEntity[entity, default: []].insert(number) }
    case .fetch(let entities, let membership, let related):
      for entity in related.keys { byEntity[entity, default: []].insert(number) }
      let read = membership.columns
      for entity in entities {
        for column in read { columns[entity, default: [:]][column, default: 0] += 1 }
        guard let selectors = membership.condition.selectors else {
          byEntity[entity, default: []].insert(number)
          continue
        }
        byValue[entity, default: ValueIndex()].all.insert(number)
        for (column, keys) in selectors {
          for key in keys {
            byValue[entity]?.columns[column, default: [:]][key, default: []].insert(number)
          }
        }
      }
    case .commits: byCommit.insert(number)
    }
  }

  /// Removes a request.
  package mutating func remove(_ number: Int) {
    guard let interest = interests.removeValue(forKey: number) else { return }
    switch interest {
    case .objects(let keys, let related, let awaited):
      for key in keys { Self.remove(number, at: key, from: &byObject) }
      for entity in awaited.union(related.keys) { Self.remove(number, at: entity, from: &byEntity) }
    case .fetch(let entities, let membership, let related):
      for entity in Set(related.keys).union(entities) {
        Self.remove(number, at: entity, from: &byEntity)
      }
      let read = membership.columns
      for entity in entities {
        for column in read { columns[entity]?[column]? -= 1 }
        columns[entity] = columns[entity]?.filter { $0.value > 0 }
        for (column, keys) in membership.condition.selectors ?? [:] {
          for key in keys {
            byValue[entity]?.columns[column]?[key]?.remove(number)
            if byValue[entity]?.columns[column]?[key]?.isEmpty == true {
              byValue[entity]?.columns[column]?[key] = nil
            }
          }
        }
        byValue[entity]?.all.remove(number)
        if byValue[entity]?.all.isEmpty == true { byValue[entity] = nil }
      }
    case .commits: byCommit.remove(number)
    }
  }

  private static func remove<Key: Hashable>(
    _ number: Int,
    at key: Key,
    from index: inout [Key: Set<Int>]
  ) {
    index[key]?.remove(number)
    if index[key]?.isEmpty == true { index[key] = nil }
  }

  /// Returns the columns that requests read of changed objects of an entity, ascending.
  package func columns(of entity: Int) -> [String] {
    (columns[entity] ?? [:]).keys.sorted()
  }

  /// Returns the requests that a change set may concern, with their verdicts.
  ///
  /// - Parameters:
  ///   - set: The change set.
  ///   - rows: The rows of changed objects, as far as they were read, with all columns that
  ///     requests read.
  /// - Returns: The verdicts on the requests that the indexes name, in the order of the requests'
  ///   numbers; `unaffected` for all others.
  /// - Complexity: Linear in the change set and in the requests that it concerns.
  package func verdicts(
    on set: ChangeSet,
    _ rows: [ObjectKey: ChangedRow] = [:]
  ) -> [(number: Int, verdict: Verdict)] {
    var affected = byCommit
    var candidates: [Int: Set<ObjectKey>] = [:]
    for key in set.changes.keys {
      if let numbers = byObject[key] { affected.formUnion(numbers) }
      if let numbers = byEntity[key.entity] { affected.formUnion(numbers) }
      guard let index = byValue[key.entity] else { continue }
      guard let row = rows[key] else {
        for number in index.all { candidates[number, default: []].insert(key) }
        continue
      }
      for (column, numbers) in index.columns {
        let before = row.before.map { StorageKey($0[column]) }
        let after = row.after.map { StorageKey($0[column]) }
        if let before {
          for number in numbers[before] ?? [] { candidates[number, default: []].insert(key) }
        }
        if let after, after != before {
          for number in numbers[after] ?? [] { candidates[number, default: []].insert(key) }
        }
      }
    }
    return affected.union(candidates.keys).sorted().compactMap { number in
      guard let interest = interests[number] else { return nil }
      // A fetch that is indexed by values may also be affected by related objects, with no change
      // of its own objects.
      let own = interest.isIndexedByValue ? candidates[number] ?? [] : nil
      return (number, interest.verdict(on: set, rows, candidates: own))
    }
  }
}

extension Interest {
  fileprivate var isIndexedByValue: Bool {
    guard case .fetch(_, let membership, _) = self else { return false }
    return membership.condition.selectors != nil
  }
}
