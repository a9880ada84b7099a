package import CordialValues
package import ObjectModel

/// The data on which the result of an observed request depends.
package enum Interest: Sendable {
  /// The objects of a list, and the properties that key paths read.
  ///
  /// If the request names an identity that no object has, `awaited` has the entities in which an
  /// object with that identity may appear.
  case objects(SmallSet<ObjectKey>, related: [Int: Set<String>] = [:], awaited: Set<Int> = [])
  /// The matching objects of entities, and the properties that key paths read.
  case fetch(entities: [Int], Membership, related: [Int: Set<String>] = [:])
  /// Every commit.
  case commits

  /// The data that decides which objects match a fetch, and in which order.
  package struct Membership: Sendable {
    /// The objects' own properties that the condition, the order or the form of the result reads.
    package var properties: Set<String>
    /// The objects' own properties that the order reads.
    package var order: Set<String>
    /// The part of the condition that an object's row decides.
    package var condition: RowCondition
    /// The columns that are needed to count the sections and the rows before a window.
    package var counted: Set<String>
    /// Whether only objects that enter, leave or move affect the result.
    package var ignoresValues: Bool
    /// Whether the result depends only on the number of matching objects.
    package var isCount: Bool
    /// The paths from the fetch to related objects; nil if the effect of a change of related
    /// objects is always undecided.
    package var reads: RelatedReads?

    package init(
      _ properties: Set<String>,
      order: Set<String>? = nil,
      condition: RowCondition = .unknown,
      counted: Set<String> = [],
      ignoresValues: Bool = false,
      isCount: Bool = false,
      reads: RelatedReads? = nil
    ) {
      self.properties = properties
      self.order = order ?? properties
      self.condition = condition
      self.counted = counted
      self.ignoresValues = ignoresValues
      self.isCount = isCount
      self.reads = reads
    }

    /// The columns of changed objects that are needed for matching.
    var columns: Set<String> { condition.columns.union(counted) }
  }

  /// The columns of changed objects that are needed for matching, by entity number.
  package var columns: [Int: [String]] {
    guard case .fetch(let entities, let membership, _) = self, !membership.columns.isEmpty else {
      return [:]
    }
    let columns = membership.columns.sorted()
    return Dictionary(uniqueKeysWithValues: Set(entities).map { ($0, columns) })
  }

  /// The properties that key paths read from objects outside the result, by entity number.
  package var related: [Int: Set<String>] {
    switch self {
    case .objects(_, let related, _), .fetch(_, _, let related): related
    case .commits: [:]
    }
  }
}

/// The effect of a change set on an observed request.
package enum Verdict: Sendable, Equatable {
  /// Whether an object matches the fetch before and after the changes; nil if its row does not
  /// decide.
  package struct Match: Sendable, Equatable {
    package let before: Bool?
    package let after: Bool?

    package init(before: Bool?, after: Bool?) {
      self.before = before
      self.after = after
    }
  }

  /// The result is unchanged.
  case unaffected
  /// The sequence is unchanged, but at least the versions of these objects differ.
  case values(Set<ObjectKey>)
  /// At most the objects in the dictionary enter, leave or move; at least the versions of the
  /// objects in `values` differ.
  case members([ObjectKey: Match], values: Set<ObjectKey>)
  /// The number of objects differs; `of` is an object that enters or leaves.
  case count(difference: Int64, of: ObjectKey)
  /// The dictionary has changed related objects that the fetch reads, by the key path that ends at
  /// them. `own` is the effect of the changes of the result's own objects.
  ///
  /// The included objects of the result may also have changed.
  indirect case reaching([RelatedReads.Path: Set<ObjectKey>], own: Verdict)
  /// The effect is unknown until the result is read again.
  case undecided

  /// The first object that the effect names; nil if the effect names none.
  package var first: ObjectKey? {
    switch self {
    case .count(_, let key): key
    case .reaching(let reached, let own): own.first ?? reached.values.lazy.joined().min()
    default: objects?.min()
    }
  }

  /// The changed objects that decide the effect; nil if any changed object may decide it.
  package var objects: Set<ObjectKey>? {
    switch self {
    case .unaffected: []
    case .values(let keys): keys
    case .members(let matches, let values): values.union(matches.keys)
    case .count, .reaching, .undecided: nil
    }
  }
}

/// The limits of the search for an effect, beyond which the effect is undecided.
package struct VerdictLimits: Sendable {
  /// The maximum number of objects that may enter, leave or move.
  package var membersMax: Int
  /// The maximum number of objects that change only values.
  package var valuesMax: Int
  /// Returns whether the search must stop; called between changes.
  ///
  /// Nil if the search never stops.
  package var isStopped: (@Sendable () -> Bool)?

  package init(membersMax: Int = .max, valuesMax: Int = .max) {
    self.membersMax = membersMax
    self.valuesMax = valuesMax
  }
}

/// The rows of a changed object before and after the changes; nil if the object did not exist.
package struct ChangedRow {
  package let before: RowValues?
  package let after: RowValues?

  package init(before: RowValues?, after: RowValues?) {
    self.before = before
    self.after = after
  }

  /// Whether `before` and `after` are the same row.
  var isSame: Bool {
    guard let before, let after else { return false }
    return before.isSame(as: after)
  }
}

extension Interest {
  /// Returns the effect of a change set on the request.
  ///
  /// - Parameters:
  ///   - set: The change set.
  ///   - rows: The rows of changed objects; rows that were not read are missing.
  /// - Returns: The verdict.
  /// - Complexity: Linear in the change set, and in the observed objects if they are fewer.
  package func verdict(
    on set: ChangeSet,
    _ rows: [ObjectKey: ChangedRow] = [:]
  ) -> Verdict {
    verdict(on: set, ChangeEntries(set, rows))
  }

  /// Returns the effect of a change set on the request.
  ///
  /// - Parameters:
  ///   - set: The change set.
  ///   - entries: The changes of the set with their rows.
  ///   - candidates: The indices of the entries that may concern a fetch; nil for all entries of
  ///     its entities.
  ///   - conditions: The fetch's condition, bound to the rows of each of its entities.
  ///   - limits: The limits of the search for the effect.
  /// - Returns: The verdict.
  package func verdict(
    on set: ChangeSet,
    _ entries: ChangeEntries,
    _ candidates: [Int32]? = nil,
    _ conditions: [Int: BoundCondition] = [:],
    _ limits: VerdictLimits = VerdictLimits()
  ) -> Verdict {
    guard let reached = reached(by: set, limits) else { return .undecided }
    let own = ownVerdict(on: set, entries, candidates, conditions, limits)
    let isOwn = reached.paths.isEmpty && !reached.includes
    return isOwn || own == .undecided ? own : .reaching(reached.paths, own: own)
  }

  /// Returns the effect of changes of the result's own objects.
  private func ownVerdict(
    on set: ChangeSet,
    _ entries: ChangeEntries,
    _ candidates: [Int32]?,
    _ conditions: [Int: BoundCondition],
    _ limits: VerdictLimits
  ) -> Verdict {
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
        ? Set(keys.lazy.filter { set.changes[$0] != nil })
        : Set(set.changes.keys.lazy.filter(keys.contains))
      return touched.isEmpty ? .unaffected : .values(touched)
    case .fetch(let entities, let membership, _):
      var effect = FetchEffect(membership, entries, limits)
      for entity in entities {
        guard let range = entries.ranges[entity] else { continue }
        effect.begin(conditions[entity])
        if let candidates {
          for index in candidates where range.contains(Int(index)) {
            guard !effect.isStopped else { return .undecided }
            effect.add(Int(index))
          }
        } else {
          for index in range {
            guard !effect.isStopped else { return .undecided }
            effect.add(index)
            guard !effect.isUndecided else { return .undecided }
          }
        }
      }
      return effect.verdict
    case .commits: return set.through > set.from ? .undecided : .unaffected
    }
  }

  /// Returns whether a change inserts or deletes an object, or writes one of the given properties.
  fileprivate static func concerns(_ change: ObjectChange, _ properties: Set<String>) -> Bool {
    change.kind != .update
      || change.properties.contains(ChangeSet.everyProperty)
      || properties.contains(ChangeSet.everyProperty)
      || !change.properties.isDisjoint(with: properties)
  }

  /// Returns the changed objects that may have moved in the order of a fetch.
  ///
  /// - Parameter set: The change set.
  /// - Returns: The objects; nil if any object may have moved, or if the request is not a fetch.
  /// - Complexity: Linear in the change set.
  package func moving(in set: ChangeSet) -> Set<ObjectKey>? {
    guard case .fetch(let entities, let membership, _) = self, !mayReorder(set) else { return nil }
    var moving: Set<ObjectKey> = []
    for change in set.changes.values where Self.concerns(change, membership.order) {
      if entities.contains(change.key.entity) { moving.insert(change.key) }
    }
    return moving
  }

  /// Returns whether any object may have moved, because related objects decide the order.
  ///
  /// - Complexity: Linear in the change set for a fetch that reads related objects.
  package func mayReorder(_ set: ChangeSet) -> Bool {
    !related.isEmpty && set.changes.values.contains(where: reachesOrder)
  }

  /// Returns whether a change concerns related objects that the request reads.
  private func reachesRelated(_ change: ObjectChange) -> Bool {
    guard let read = related[change.key.entity] else { return false }
    return Self.concerns(change, read)
  }

  /// Returns whether a change concerns related objects that the order of a fetch may read.
  private func reachesOrder(_ change: ObjectChange) -> Bool {
    guard reachesRelated(change) else { return false }
    guard case .fetch(_, let membership, _) = self, let reads = membership.reads else {
      return true
    }
    func concerns(_ entities: [Int: Set<String>]) -> Bool {
      entities[change.key.entity].map { Self.concerns(change, $0) } ?? false
    }
    return concerns(reads.elsewhere)
      || reads.paths.contains { path, entities in path.role == .order && concerns(entities) }
  }

  /// The number of changes after which the search checks again whether it must stop.
  private static let changesOfPause = 1024

  /// Returns the changed objects that a fetch reads at the ends of paths, and whether the fetch may
  /// include changed objects.
  ///
  /// - Returns: The objects; nil if a change concerns the request in another way, if a path reaches
  ///   more objects than the limits allow, or if the search must stop.
  private func reached(
    by set: ChangeSet,
    _ limits: VerdictLimits
  ) -> (paths: [RelatedReads.Path: Set<ObjectKey>], includes: Bool)? {
    var reached: [RelatedReads.Path: Set<ObjectKey>] = [:]
    var includes = false
    guard !related.isEmpty else { return (reached, includes) }
    for (index, change) in set.changes.values.enumerated() {
      if index % Self.changesOfPause == 0, limits.isStopped?() == true { return nil }
      guard reachesRelated(change) else { continue }
      guard case .fetch(_, let membership, _) = self, let reads = membership.reads else {
        return nil
      }
      let entity = change.key.entity
      if let properties = reads.elsewhere[entity], Self.concerns(change, properties) { return nil }
      for (path, entities) in reads.paths {
        guard let properties = entities[entity], Self.concerns(change, properties) else { continue }
        reached[path, default: []].insert(change.key)
        if reached[path]?.count ?? 0 > limits.membersMax { return nil }
      }
      if reads.included.contains(entity) { includes = true }
    }
    return (reached, includes)
  }
}

/// The effect of changes of a fetch's own objects.
private struct FetchEffect {
  /// Whether the changes of one shape may alter the membership or the order of a fetch.
  private struct Concern {
    let membership: Bool
    let order: Bool
  }

  private let membership: Interest.Membership
  private let entries: ChangeEntries
  private let limits: VerdictLimits
  /// The concern of the changes of each shape; nil for shapes that have not occurred yet.
  private var concerns: [Concern?]
  private var members: [ObjectKey: Verdict.Match] = [:]
  private var values: Set<ObjectKey> = []
  /// The change of the number of objects, and the first object that enters or leaves.
  private var difference: (count: Int64, of: ObjectKey?) = (0, nil)
  /// Whether the effect is undecided, regardless of the remaining changes.
  private(set) var isUndecided = false
  /// The condition for the entity of the current changes, and the table that the condition fits.
  private var condition: BoundCondition?
  private var table: RowTable?
  /// The weight of the rows that may still be compared before the next check whether to stop.
  private var weightLeft = Self.weightOfPause

  /// The weight of the rows between two checks whether to stop: less than a millisecond.
  private static let weightOfPause = 1024

  init(
    _ membership: Interest.Membership,
    _ entries: ChangeEntries,
    _ limits: VerdictLimits
  ) {
    self.membership = membership
    self.entries = entries
    self.limits = limits
    concerns = Array(repeating: nil, count: entries.shapeCount)
  }

  var verdict: Verdict {
    if isUndecided { return .undecided }
    if let key = difference.of, difference.count != 0 {
      return .count(difference: difference.count, of: key)
    }
    guard members.isEmpty else { return .members(members, values: values) }
    return values.isEmpty ? .unaffected : .values(values)
  }

  /// Prepares for the changes of the next entity.
  mutating func begin(_ condition: BoundCondition?) {
    self.condition = condition
    table = nil
  }

  /// Whether the search must stop before the next change.
  var isStopped: Bool {
    mutating get {
      weightLeft -= entries.weight
      guard weightLeft < 0 else { return false }
      weightLeft = Self.weightOfPause
      return limits.isStopped?() ?? false
    }
  }

  private mutating func concern(_ index: Int) -> Concern {
    let shape = entries.shapes[index]
    if let known = concerns[shape] { return known }
    let change = entries.changes[index]
    let concern = Concern(
      membership: Interest.concerns(change, membership.properties),
      order: Interest.concerns(change, membership.order)
    )
    concerns[shape] = concern
    return concern
  }

  /// Returns whether a row matches the condition; nil if the row does not decide.
  private mutating func evaluate(_ row: RowValues?) -> Bool? {
    guard let row else { return false }
    if table !== row.table {
      table = row.table
      if condition?.fits(row.table) != true {
        condition = BoundCondition(membership.condition, to: row.table.columns)
      }
    }
    return condition?.evaluate(row) ?? nil
  }

  mutating func add(_ index: Int) {
    let concern = concern(index)
    guard concern.membership || !membership.ignoresValues else { return }
    // The code reads only these two properties of the change, because copying a whole change costs
    // more than comparing it.
    let key = entries.changes[index].key
    let kind = entries.changes[index].kind
    var before: Bool?
    var after: Bool?
    if entries.rows[index] != nil {
      after = evaluate(entries.rows[index]?.after)
      // If no column of the condition has changed, the condition has the same value before and
      // after.
      let isSame = !concern.membership || entries.rows[index]?.isSame == true
      before = isSame ? after : evaluate(entries.rows[index]?.before)
    } else {
      before = kind == .insert ? false : membership.condition.constant
      after = kind == .delete ? false : membership.condition.constant
    }
    if before == false, after == false { return }
    guard concern.membership, before != true || after != true || concern.order else {
      if !membership.ignoresValues { values.insert(key) }
      if values.count > limits.valuesMax { isUndecided = true }
      return
    }
    if membership.isCount {
      guard let before, let after else {
        isUndecided = true
        return
      }
      guard before != after else { return }
      guard limits.membersMax > 0 else {
        isUndecided = true
        return
      }
      difference.count += after ? 1 : -1
      difference.of = min(key, difference.of ?? key)
      return
    }
    members[key] = Verdict.Match(before: before, after: after)
    if members.count > limits.membersMax { isUndecided = true }
  }
}
