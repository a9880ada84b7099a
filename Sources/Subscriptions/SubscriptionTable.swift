package import CordialValues
import ObjectModel

/// The observed requests of all connections, indexed by the objects, entities and values that
/// concern them.
///
/// A fetch whose condition requires a value of a property, or bounds for it, is indexed by that
/// value or range. A change of an object then concerns only the fetches of the values that the
/// object has before and after it.
package struct SubscriptionTable: Sendable {
  private var interests: [Int: Interest] = [:]
  private var byObject: [ObjectKey: Set<Int>] = [:]
  private var byEntity: [Int: Set<Int>] = [:]
  /// The fetches of each entity that are indexed by values or ranges.
  private var byValue: [Int: ValueIndex] = [:]
  /// The requests that every commit concerns.
  private var byCommit: Set<Int> = []
  /// The number of requests that read each column, by entity.
  private var columns: [Int: [String: Int]] = [:]

  /// The fetches of one entity by the values or ranges that their conditions require.
  private struct ValueIndex: Sendable {
    private(set) var all: Set<Int> = []
    private var values: [String: [StorageKey: Set<Int>]] = [:]
    private var ranges: [String: RangeIndex] = [:]

    mutating func insert(_ number: Int, _ selection: RowCondition.Selection) {
      all.insert(number)
      switch selection {
      case .values(let columns):
        for (column, keys) in columns {
          for key in keys { values[column, default: [:]][key, default: []].insert(number) }
        }
      case .ranges(let list):
        for range in list { ranges[range.column, default: RangeIndex()].insert(range, for: number) }
      }
    }

    mutating func remove(_ number: Int, _ selection: RowCondition.Selection) {
      all.remove(number)
      switch selection {
      case .values(let columns):
        for (column, keys) in columns {
          for key in keys {
            values[column]?[key]?.remove(number)
            if values[column]?[key]?.isEmpty == true { values[column]?[key] = nil }
          }
        }
      case .ranges(let list):
        for column in Set(list.map(\.column)) {
          ranges[column]?.remove(number)
          if ranges[column]?.isEmpty == true { ranges[column] = nil }
        }
      }
    }

    /// Calls a body with each fetch whose condition may hold for a row before or after a change.
    mutating func each(_ row: ChangedRow, _ body: (Int) -> Void) {
      for (column, numbers) in values {
        let (before, after) = (row.before.map { $0.key(column) }, row.after.map { $0.key(column) })
        if let before { numbers[before]?.forEach(body) }
        if let after, after != before { numbers[after]?.forEach(body) }
      }
      for column in ranges.keys {
        let (before, after) = (row.before?[column], row.after?[column])
        if let before { ranges[column]?.each(with: before, body) }
        if let after, after != before { ranges[column]?.each(with: after, body) }
      }
    }
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
      let selection = membership.condition.selection
      for entity in entities {
        for column in read { columns[entity, default: [:]][column, default: 0] += 1 }
        if let selection {
          byValue[entity, default: ValueIndex()].insert(number, selection)
        } else {
          byEntity[entity, default: []].insert(number)
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
      let selection = membership.condition.selection
      for entity in entities {
        for column in read {
          columns[entity]?[column]? -= 1
          if columns[entity]?[column] == 0 { columns[entity]?[column] = nil }
        }
        guard let selection else { continue }
        byValue[entity]?.remove(number, selection)
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
  package mutating func verdicts(
    on set: ChangeSet,
    _ rows: [ObjectKey: ChangedRow] = [:]
  ) -> [(number: Int, verdict: Verdict)] {
    var affected = byCommit
    let entries = ChangeEntries(set, rows)
    // The entries that concern a request, each once: an entry that was added is the last one.
    var candidates: [Int: [Int]] = [:]
    for (index, change) in entries.changes.enumerated() {
      let key = change.key
      if let numbers = byObject[key] { affected.formUnion(numbers) }
      if let numbers = byEntity[key.entity] { affected.formUnion(numbers) }
      if let row = entries.rows[index] {
        byValue[key.entity]?.each(row) { number in
          candidates[number, default: []].appendUnlessLast(index)
        }
      } else {
        for number in byValue[key.entity]?.all ?? [] {
          candidates[number, default: []].append(index)
        }
      }
    }
    return affected.union(candidates.keys).sorted().compactMap { number in
      guard let interest = interests[number] else { return nil }
      // A fetch that is indexed by values or ranges may also be affected by related objects, with
      // no change of its own objects.
      let verdict =
        interest.isIndexedByValue
        ? interest.verdict(on: set, entries, candidates[number] ?? [])
        : interest.verdict(on: set, entries, entries.indices)
      return (number, verdict)
    }
  }
}

extension Interest {
  fileprivate var isIndexedByValue: Bool {
    guard case .fetch(_, let membership, _) = self else { return false }
    return membership.condition.selection != nil
  }
}

extension [Int] {
  /// Adds a number unless it is the last one.
  fileprivate mutating func appendUnlessLast(_ number: Int) {
    if last != number { append(number) }
  }
}
