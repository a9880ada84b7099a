package import CordialValues
import ObjectModel

/// The observed requests of all connections, indexed by the objects, entities and values on which
/// they depend.
///
/// A fetch whose condition requires a value or a range of a property is indexed by that value or
/// range. A change of an object then concerns only the fetches that require one of the object's
/// values before or after the change.
package struct SubscriptionTable: Sendable {
  private var entries: [Int: Entry] = [:]
  private var byObject: [ObjectKey: SmallSet<Int>] = [:]
  /// The requests that any change of an entity may concern, except for the fetches in `compared`.
  private var byEntity: [Int: Set<Int>] = [:]
  /// The fetches of each entity that are compared with every change of its objects.
  private var compared: [Int: ComparedFetches] = [:]
  /// The fetches of each entity that are indexed by values or ranges.
  private var byValue: [Int: ValueIndex] = [:]
  /// The requests that every commit concerns.
  private var byCommit: Set<Int> = []
  /// The columns that requests read from changed objects, by entity.
  private var columns: [Int: ReadColumns] = [:]

  /// A request with its condition for each entity.
  private final class Entry: Sendable {
    let interest: Interest
    let conditions: [Int: BoundCondition]
    /// Whether a fetch is indexed by values or ranges.
    let isIndexedByValue: Bool

    init(_ interest: Interest, _ conditions: [Int: BoundCondition], isIndexedByValue: Bool) {
      self.interest = interest
      self.conditions = conditions
      self.isIndexedByValue = isIndexedByValue
    }
  }

  /// The fetches of one entity that are not indexed by values or ranges and read no related
  /// objects.
  ///
  /// Their conditions are stored side by side, because a commit evaluates all of them.
  private struct ComparedFetches: Sendable {
    private(set) var numbers: [Int] = []
    private var conditions: [BoundCondition] = []
    private var indexes: [Int: Int] = [:]

    mutating func insert(_ number: Int, _ condition: BoundCondition) {
      guard indexes[number] == nil else { return }
      indexes[number] = numbers.count
      numbers.append(number)
      conditions.append(condition)
    }

    mutating func remove(_ number: Int) {
      guard let index = indexes.removeValue(forKey: number) else { return }
      let (last, condition) = (numbers.removeLast(), conditions.removeLast())
      guard index < numbers.count else { return }
      (numbers[index], conditions[index]) = (last, condition)
      indexes[last] = index
    }

    /// Calls a body with each fetch, and with whether the rows show that no changed object matches
    /// the fetch before or after the changes.
    func each(with changes: ChangeEntries, _ body: (Int, Bool) -> Void) {
      for index in numbers.indices {
        let condition = conditions[index]
        func isOutside(_ row: RowValues?) -> Bool {
          row.map { condition.fits($0.table) && condition.evaluate($0) == false } ?? true
        }
        let isOutside = changes.rows.allSatisfy { row in
          row.map { isOutside($0.before) && ($0.isSame || isOutside($0.after)) } ?? false
        }
        body(numbers[index], isOutside)
      }
    }
  }

  /// The columns of one entity that requests read.
  ///
  /// A column keeps its index until no request reads any column of the entity, because conditions
  /// refer to columns by index.
  private struct ReadColumns: Sendable {
    private(set) var names: [String] = []
    /// The number of requests that read each column.
    private var counts: [String: Int] = [:]

    var isEmpty: Bool { counts.isEmpty }

    mutating func insert(_ columns: [String]) {
      for column in columns {
        counts[column, default: 0] += 1
        if !names.contains(column) { names.append(column) }
      }
    }

    mutating func remove(_ columns: Set<String>) {
      for column in columns {
        guard let count = counts[column] else { continue }
        counts[column] = count == 1 ? nil : count - 1
      }
    }
  }

  /// The fetches of one entity, indexed by the values or ranges that their conditions require.
  private struct ValueIndex: Sendable {
    private(set) var all: Set<Int> = []
    private var values: [String: [StorageKey: SmallSet<Int>]] = [:]
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
    func each(_ row: ChangedRow, _ body: (Int) -> Void) {
      for (column, numbers) in values {
        let (before, after) = (row.before?[column], row.after?[column])
        if let before { numbers[StorageKey(before)]?.forEach(body) }
        if let after, after != before { numbers[StorageKey(after)]?.forEach(body) }
      }
      for (column, index) in ranges {
        let (before, after) = (row.before?[column], row.after?[column])
        if let before { index.each(with: before, body) }
        if let after, after != before { index.each(with: after, body) }
      }
    }

    mutating func prepare() {
      for index in ranges.values.indices { ranges.values[index].prepare() }
    }
  }

  package init() {}

  package var count: Int { entries.count }

  package func contains(_ number: Int) -> Bool { entries[number] != nil }

  /// Adds a request, or replaces its interest.
  package mutating func set(_ interest: Interest, for number: Int) {
    remove(number)
    var conditions: [Int: BoundCondition] = [:]
    var isIndexedByValue = false
    switch interest {
    case .objects(let keys, let related, let awaited):
      for key in keys { byObject[key, default: []].insert(number) }
      for entity in awaited.union(related.keys) { byEntity[entity, default: []].insert(number) }
    case .fetch(let entities, let membership, let related):
      for entity in related.keys { byEntity[entity, default: []].insert(number) }
      let read = membership.columns.sorted()
      let selection = membership.condition.selection
      isIndexedByValue = selection != nil
      for entity in entities {
        if !read.isEmpty { columns[entity, default: ReadColumns()].insert(read) }
        conditions[entity] = BoundCondition(
          membership.condition,
          to: columns[entity]?.names ?? []
        )
        if let selection {
          byValue[entity, default: ValueIndex()].insert(number, selection)
        } else if related.isEmpty, let condition = conditions[entity] {
          compared[entity, default: ComparedFetches()].insert(number, condition)
        } else {
          byEntity[entity, default: []].insert(number)
        }
      }
    case .commits: byCommit.insert(number)
    }
    entries[number] = Entry(interest, conditions, isIndexedByValue: isIndexedByValue)
  }

  /// Removes a request.
  package mutating func remove(_ number: Int) {
    guard let entry = entries.removeValue(forKey: number) else { return }
    switch entry.interest {
    case .objects(let keys, let related, let awaited):
      for key in keys {
        byObject[key]?.remove(number)
        if byObject[key]?.isEmpty == true { byObject[key] = nil }
      }
      for entity in awaited.union(related.keys) { remove(number, from: entity) }
    case .fetch(let entities, let membership, let related):
      for entity in Set(related.keys).union(entities) { remove(number, from: entity) }
      let read = membership.columns
      let selection = membership.condition.selection
      for entity in entities {
        columns[entity]?.remove(read)
        if columns[entity]?.isEmpty == true { columns[entity] = nil }
        guard let selection else { continue }
        byValue[entity]?.remove(number, selection)
        if byValue[entity]?.all.isEmpty == true { byValue[entity] = nil }
      }
    case .commits: byCommit.remove(number)
    }
  }

  private mutating func remove(_ number: Int, from entity: Int) {
    byEntity[entity]?.remove(number)
    if byEntity[entity]?.isEmpty == true { byEntity[entity] = nil }
    compared[entity]?.remove(number)
    if compared[entity]?.numbers.isEmpty == true { compared[entity] = nil }
  }

  /// Returns the columns that requests read from changed objects of an entity.
  ///
  /// The result may also have columns that requests no longer read.
  package func columns(of entity: Int) -> [String] { columns[entity]?.names ?? [] }

  /// Returns a subset of a change set for comparisons without rows.
  ///
  /// The subset concerns the same requests as the whole set.
  ///
  /// The subset has all changes of observed objects. From the other changes, it has one change for
  /// each combination of entity, kind and set of properties.
  ///
  /// - Complexity: Linear in the change set.
  package func representatives(of set: ChangeSet) -> ChangeSet {
    struct Shape: Hashable {
      let entity: Int
      let kind: ObjectChange.Kind
      let properties: Set<String>
    }
    var known: Set<Shape> = []
    var last: Shape?
    var reduced = set
    reduced.changes = set.changes.filter { key, change in
      guard byObject[key] == nil else { return true }
      let shape = Shape(entity: key.entity, kind: change.kind, properties: change.properties)
      guard shape != last else { return false }
      last = shape
      return known.insert(shape).inserted
    }
    return reduced
  }

  /// Prepares the indexes for searches.
  package mutating func prepare() {
    for index in byValue.values.indices { byValue.values[index].prepare() }
  }

  /// Returns the requests that a change set may concern, with their verdicts.
  ///
  /// - Parameters:
  ///   - set: The change set.
  ///   - rows: The rows of changed objects, with all columns that requests read; rows that were not
  ///     read are missing.
  /// - Returns: The verdicts on the requests that the indexes name, in the order of the request
  ///   numbers. All other requests are unaffected.
  /// - Complexity: Linear in the change set and in the requests that it concerns.
  package func verdicts(
    on set: ChangeSet,
    _ rows: [ObjectKey: ChangedRow] = [:]
  ) -> [(number: Int, verdict: Verdict)] {
    let comparison = ChangeComparison(set, rows, with: self)
    return comparison.concerned.map { ($0.number, comparison.verdict(on: $0)) }
  }

  /// The maximum number of comparisons of requests with changes that may be spent on finding the
  /// concerned requests: about 5 ms.
  private static let earlyMax = 1 << 14

  /// Returns the requests that changes may concern.
  ///
  /// - Parameter changes: The changes.
  /// - Returns: The concerned requests with the indices of their changes, in the order of the
  ///   request numbers; and the numbers of the requests that were compared and are unaffected.
  func concerned(
    by changes: ChangeEntries
  ) -> (concerned: [ChangeComparison.Concern], unaffected: [Int]) {
    var affected = changes.hasCommit ? byCommit : []
    var unaffected: [Int] = []
    for (entity, range) in changes.ranges {
      affected.formUnion(byEntity[entity] ?? [])
      if let fetches = compared[entity] {
        let pairCount = fetches.numbers.count * changes.changes.count * changes.weight
        if changes.ranges.count == 1, pairCount <= Self.earlyMax {
          fetches.each(with: changes) { number, isOutside in
            if isOutside { unaffected.append(number) } else { affected.insert(number) }
          }
        } else {
          affected.formUnion(fetches.numbers)
        }
      }
      guard !byObject.isEmpty else { continue }
      for index in range { affected.formUnion(byObject[changes.changes[index].key] ?? []) }
    }
    var candidates = CandidateLists()
    for (entity, range) in changes.ranges {
      guard let index = byValue[entity] else { continue }
      if range.contains(where: { changes.rows[$0] == nil }) {
        candidates.addAll(index.all)
        continue
      }
      for offset in range {
        guard let row = changes.rows[offset] else { continue }
        index.each(row) { candidates.add(Int32(offset), to: $0, of: range.count) }
      }
    }
    let concerned = affected.union(candidates.numbers).sorted().map { number in
      // The candidates of an indexed fetch are empty if only changes of related objects concern it.
      let isIndexed = entries[number]?.isIndexedByValue == true
      return ChangeComparison.Concern(
        number: number,
        candidates: isIndexed ? candidates[number] : nil
      )
    }
    return (concerned, unaffected)
  }

  /// Returns the effect of changes on a request.
  func verdict(
    on concern: ChangeComparison.Concern,
    of set: ChangeSet,
    _ changes: ChangeEntries,
    _ limits: VerdictLimits
  ) -> Verdict {
    guard let entry = entries[concern.number] else { return .unaffected }
    return entry.interest.verdict(on: set, changes, concern.candidates, entry.conditions, limits)
  }
}

/// The indices of the changes that may concern each request.
private struct CandidateLists {
  /// The ascending indices of the changes, by request number; nil for all changes of the request's
  /// entities.
  private var lists: [Int: [Int32]?] = [:]
  private var count = 0

  /// The maximum number of changes in all lists together: 32 MiB.
  private static let countMax = 8 << 20
  /// The length that a list may always reach, even for a small change set.
  private static let listMin = 64

  var numbers: Dictionary<Int, [Int32]?>.Keys { lists.keys }

  subscript(number: Int) -> [Int32]? {
    if let list = lists[number] { list } else { [] }
  }

  mutating func addAll(_ numbers: Set<Int>) {
    for number in numbers { lists[number] = .some(nil) }
  }

  /// Adds a change to the list of a request, unless the list ends with that change.
  ///
  /// A list that would be too long is replaced by nil, so that all changes are compared.
  mutating func add(_ change: Int32, to number: Int, of changes: Int) {
    let isLong = { (length: Int) in length >= max(Self.listMin, changes / 4) }
    func insert(_ list: inout [Int32]?) {
      guard var known = list, known.last != change else { return }
      list = nil
      if isLong(known.count) || count >= Self.countMax {
        count -= known.count
      } else {
        known.append(change)
        count += 1
        list = known
      }
    }
    insert(&lists[number, default: .some([])])
  }
}

/// The comparison of a change set with the requests that it may concern.
package struct ChangeComparison {
  /// A request that the changes may concern.
  package struct Concern: Sendable {
    package let number: Int
    /// The indices of the changes; nil for all changes of the request's entities.
    let candidates: [Int32]?
  }

  package let set: ChangeSet
  /// The requests, in the order of their numbers.
  package let concerned: [Concern]
  /// The numbers of the requests that were compared and that the changes do not affect.
  package let unaffected: [Int]
  private let table: SubscriptionTable
  private let entries: ChangeEntries

  /// Compares a change set with the requests of a table.
  ///
  /// - Parameters:
  ///   - set: The change set.
  ///   - rows: The rows of changed objects, with all columns that requests read; rows that were not
  ///     read are missing.
  ///   - table: The requests.
  /// - Complexity: Linear in the change set and in the requests that it concerns.
  package init(
    _ set: ChangeSet,
    _ rows: [ObjectKey: ChangedRow],
    with table: SubscriptionTable
  ) {
    self.init(set, ChangeEntries(set, rows), with: table)
  }

  /// Compares a change set with the requests of a table, using changes that are already numbered.
  package init(
    _ set: ChangeSet,
    _ entries: ChangeEntries,
    with table: SubscriptionTable
  ) {
    self.set = set
    self.table = table
    self.entries = entries
    (concerned, unaffected) = table.concerned(by: entries)
  }

  /// The maximum number of comparisons that the verdicts on all concerned requests need, multiplied
  /// by the weight of the most expensive row.
  package var pairCount: Int {
    entries.weight * concerned.reduce(0) { $0 + ($1.candidates?.count ?? entries.changes.count) }
  }

  /// Returns the effect of the changes on a request.
  ///
  /// - Parameters:
  ///   - concern: The request.
  ///   - limits: The limits of the search for the effect.
  /// - Returns: The verdict.
  /// - Complexity: Linear in the changes that may concern the request.
  package func verdict(
    on concern: Concern,
    _ limits: VerdictLimits = VerdictLimits()
  ) -> Verdict {
    table.verdict(on: concern, of: set, entries, limits)
  }
}
