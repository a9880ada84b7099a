import CordialProtocol
import CordialValues
import JSON
import ObjectModel
import PersistentHistory
import PersistentStore
import Subscriptions

/// A result after changes, with the difference of its sequence where few objects decided it.
struct RefreshedResult {
  var result: ObservedResult
  var sequence: SequenceDifference?
  /// Whether the whole request, its total or its sections were read again.
  var isReread = false
}

/// The result after changes, from the result before them.
extension ResultReader {
  /// Compiles an observation again where references may dangle since it was compiled, and reads its
  /// whole result.
  ///
  /// - Parameter observation: The observation, which gets the new plan.
  /// - Returns: The result; nil where the plan is still valid.
  /// - Throws: The errors of compiling and reading.
  func recompiled(_ observation: inout Observation) throws -> RefreshedResult? {
    guard snapshot.mayDangle, !observation.mayDangle else { return nil }
    observation.plan = try compile(observation.request)
    observation.inclusion = try inclusion(observation.request, observation.plan)
    observation.mayDangle = true
    var out = UpdateWriter.discarding
    let result = try read(observation.request, observation.plan, to: &out)
    return RefreshedResult(result: result, isReread: true)
  }

  /// Returns the result of an observation at this snapshot.
  ///
  /// - Parameters:
  ///   - observation: The observation, with its earlier result.
  ///   - verdict: The effect of the changes on it.
  ///   - changes: The changes from the position of the earlier result to this snapshot.
  ///   - rows: The rows of the changed objects, as far as they were read.
  /// - Returns: The result.
  /// - Throws: `limitExceeded` for a regular expression that takes too long; `SQLiteError`.
  func refresh(
    _ observation: Observation,
    _ verdict: Verdict,
    _ changes: ChangeSet,
    _ rows: [ObjectKey: ChangedRow]
  ) throws -> RefreshedResult {
    let old = observation.result
    guard verdict != .unaffected else { return RefreshedResult(result: old) }
    switch observation.plan {
    case .objects(let ids, let plans):
      return RefreshedResult(
        result: try refreshObjects(observation, ids, plans, verdict, changes)
      )
    case .rows(let plan):
      if let refreshed = try refreshRows(observation, plan, verdict, changes, rows) {
        return refreshed
      }
    case .count(let plan):
      if let refreshed = try refreshCount(old, plan, verdict, rows) { return refreshed }
    case .values:
      // Only properties that the result does not read have changed.
      if case .values = verdict { return RefreshedResult(result: old) }
    case .history, .search: return RefreshedResult(result: old)
    }
    var out = UpdateWriter.discarding
    var result = try read(observation.request, observation.plan, to: &out)
    if result.objects == old.objects {
      result.revision = old.revision
      result.objects = old.objects
    }
    return RefreshedResult(result: result, isReread: true)
  }

  /// Refreshes a number of objects by those that enter or leave; nil where rows do not decide it.
  private func refreshCount(
    _ old: ObservedResult,
    _ plan: FetchPlan,
    _ verdict: Verdict,
    _ rows: [ObjectKey: ChangedRow]
  ) throws -> RefreshedResult? {
    var refreshed = RefreshedResult(result: old)
    switch verdict {
    case .unaffected, .values: return refreshed
    case .reaching, .undecided: return nil
    case .count(let difference, _):
      refreshed.result.count += difference
      refreshed.result.total? += difference
      return refreshed
    case .members(let members, _):
      guard members.values.allSatisfy({ $0.after != nil }),
        let difference = Self.countDifference(members, matching: [])
      else { return nil }
      refreshed.result.count += difference
      refreshed.result.total? += difference
      try refreshSections(plan, members, matching: [], rows, &refreshed)
      return refreshed
    }
  }

  /// Returns the change of the number of matching objects.
  ///
  /// - Parameters:
  ///   - members: The objects that may enter or leave.
  ///   - matching: Those of them that match now and of which rows do not decide it.
  /// - Returns: The change; nil where rows do not decide which of them matched before.
  private static func countDifference(
    _ members: [ObjectKey: Verdict.Match],
    matching: Set<Int64>
  ) -> Int64? {
    var difference: Int64 = 0
    for (key, match) in members {
      guard let before = match.before else { return nil }
      difference += (match.after ?? matching.contains(key.object) ? 1 : 0) - (before ? 1 : 0)
    }
    return difference
  }

  /// The number of objects of a result for each object that may move, below which the result is
  /// read again.
  private static let rereadRatio = 8
  /// The number of objects that may move in a result of any size.
  private static let movesMin = 16

  /// Returns the number of objects that may enter, leave or move in a result, up to which it is
  /// edited; with more, the whole fetch is read again.
  static func editsMax(_ result: ObservedResult) -> Int {
    let length = result.window?.rows.count ?? result.objects.count
    return max(movesMin, length / rereadRatio)
  }

  /// Refreshes rows by the objects that may enter, leave or move; returns nil where the whole fetch
  /// must be read again.
  private func refreshRows(
    _ observation: Observation,
    _ plan: FetchPlan,
    _ verdict: Verdict,
    _ changes: ChangeSet,
    _ rows: [ObjectKey: ChangedRow]
  ) throws -> RefreshedResult? {
    let old = observation.result
    let (members, values): ([ObjectKey: Verdict.Match], Set<ObjectKey>)
    switch verdict {
    case .values(let touched): (members, values) = ([:], touched)
    case .members(let found, let touched): (members, values) = (found, touched)
    case .unaffected, .undecided, .count, .reaching: return nil
    }
    var refreshed = RefreshedResult(result: old, sequence: SequenceDifference())
    if !members.isEmpty {
      guard members.count <= Self.editsMax(old) else { return nil }
      let matching = try self.matching(members, plan)
      if let window = old.window {
        let refresh = WindowRefresh(snapshot: snapshot, plan: plan, rows: rows)
        guard let new = try refresh.run(window, members, matching, &refreshed) else { return nil }
        refreshed.result.window = new
        refreshed.result.objects = ObjectSequence(new.rows[new.range])
        refreshed.sequence = try SequenceDifference(from: old.objects, to: refreshed.result.objects)
      } else {
        let staying = staying(observation, members, matching, changes)
        let edit = try SequenceEdit(
          of: old.objects,
          candidates: Set(members.keys.map(\.object)).subtracting(staying)
        ) { kept in
          try snapshot.offsets(of: Array(matching.subtracting(staying)), in: kept, plan)
            .map { ($0.object, $0.offset) }
        }
        // Where related objects decide the order, any object may have moved.
        refreshed.sequence =
          try observation.interest.mayReorder(changes)
          ? SequenceDifference(from: old.objects, to: edit.sequence) : edit.difference
        refreshed.result.objects = edit.sequence
      }
      if refreshed.sequence?.isEmpty == false {
        refreshed.result.revision = snapshot.head.number
      }
      try refreshTotal(plan, members, matching, &refreshed)
      try refreshSections(plan, members, matching: matching, rows, &refreshed)
    }
    // An object that matches as before and has not moved may have other values.
    let touched = Set(values.map(\.object)).union(members.keys.map(\.object))
    try refreshDigests(old, plan, touched, &refreshed)
    try refreshIncluded(observation, &refreshed.result)
    return refreshed
  }

  /// Returns the objects that match before and after the changes and cannot have moved.
  ///
  /// A verdict names such objects only where rows do not decide whether they match.
  private func staying(
    _ observation: Observation,
    _ members: [ObjectKey: Verdict.Match],
    _ matching: Set<Int64>,
    _ changes: ChangeSet
  ) -> Set<Int64> {
    let undecided = members.filter { $1.before == nil && matching.contains($0.object) }.keys
    guard !undecided.isEmpty,
      let moving = observation.interest.moving(in: changes)
    else { return [] }
    let still = Set(undecided.filter { !moving.contains($0) }.map(\.object))
    return still.intersection(observation.result.objects)
  }

  /// Returns which objects match a fetch now.
  private func matching(
    _ members: [ObjectKey: Verdict.Match],
    _ plan: FetchPlan
  ) throws -> Set<Int64> {
    var matching: Set<Int64> = []
    var undecided: [Int64] = []
    for (key, match) in members {
      switch match.after {
      case true?: matching.insert(key.object)
      case nil: undecided.append(key.object)
      case false?: break
      }
    }
    guard !undecided.isEmpty else { return matching }
    return matching.union(try snapshot.matching(undecided.sorted(), plan))
  }

  private func refreshTotal(
    _ plan: FetchPlan,
    _ members: [ObjectKey: Verdict.Match],
    _ matching: Set<Int64>,
    _ refreshed: inout RefreshedResult
  ) throws {
    guard let total = refreshed.result.total else { return }
    if !plan.isWindow {
      refreshed.result.total = Int64(refreshed.result.objects.count)
    } else if let difference = Self.countDifference(members, matching: matching) {
      refreshed.result.total = total + difference
    } else {
      refreshed.result.total = try snapshot.count(plan)
      refreshed.isReread = true
    }
  }

  /// Counts the objects that enter, leave or change sections, and reads all sections again where
  /// the rows do not tell them, or one is new.
  private func refreshSections(
    _ plan: FetchPlan,
    _ members: [ObjectKey: Verdict.Match],
    matching: Set<Int64>,
    _ rows: [ObjectKey: ChangedRow],
    _ refreshed: inout RefreshedResult
  ) throws {
    guard let old = refreshed.result.sections else { return }
    let changes = plan.sectionColumn.flatMap { column in
      Self.sectionChanges(column, members, matching: matching, rows)
    }
    if let changes {
      var known = old
      var rest = changes.filter { $0.value != 0 }
      for index in known.indices {
        if let change = rest.removeValue(forKey: known[index].key) { known[index].count += change }
      }
      if rest.isEmpty {
        refreshed.result.sections = known.filter { $0.count > 0 }
        return
      }
    }
    refreshed.result.sections = try snapshot.sections(plan)
    refreshed.isReread = true
  }

  /// Returns the changes of the sections' numbers of objects; nil where rows do not decide them.
  private static func sectionChanges(
    _ column: String,
    _ members: [ObjectKey: Verdict.Match],
    matching: Set<Int64>,
    _ rows: [ObjectKey: ChangedRow]
  ) -> [StorageKey: Int64]? {
    var changes: [StorageKey: Int64] = [:]
    for (key, match) in members {
      guard let before = match.before, let row = rows[key] else { return nil }
      if before {
        guard let values = row.before else { return nil }
        changes[StorageKey(values[column]), default: 0] -= 1
      }
      if match.after ?? matching.contains(key.object) {
        guard let values = row.after else { return nil }
        changes[StorageKey(values[column]), default: 0] += 1
      }
    }
    return changes
  }

  /// Updates the digests of entering and touched rows, and removes those of leaving ones.
  private func refreshDigests(
    _ old: ObservedResult,
    _ plan: FetchPlan,
    _ touched: Set<Int64>,
    _ refreshed: inout RefreshedResult
  ) throws {
    guard old.digests.count == old.objects.count, !old.digests.isEmpty || wantsDigests(plan) else {
      return
    }
    guard wantsDigests(plan) else { return }
    let difference = refreshed.sequence ?? SequenceDifference()
    for removal in difference.removals { refreshed.result.digests.remove(at: removal.offset) }
    for insertion in difference.insertions {
      refreshed.result.digests.insert(try digest(insertion.element, plan), at: insertion.offset)
    }
    guard !touched.isEmpty else { return }
    for (offset, object) in refreshed.result.objects.enumerated() where touched.contains(object) {
      refreshed.result.digests[offset] = try digest(object, plan)
    }
  }

  private func wantsDigests(_ plan: FetchPlan) -> Bool { !plan.relatedNames.isEmpty }

  private func refreshIncluded(
    _ observation: Observation,
    _ result: inout ObservedResult
  ) throws {
    guard !observation.request.include.isEmpty else { return }
    var included: [ObjectKey: UInt64] = [:]
    try eachIncluded(observation.request, result) { key, bytes in
      included[key] = UInt64(digestOf: bytes)
    }
    result.included = included
  }

  /// Returns the digest of an object's row; 0 for a missing object.
  private func digest(_ object: Int64, _ plan: FetchPlan) throws -> UInt64 {
    var row = JSONWriter()
    return try snapshot.write(object, as: plan, to: &row) ? UInt64(digestOf: row.bytes) : 0
  }

  private func refreshObjects(
    _ observation: Observation,
    _ ids: [String],
    _ plans: [Int: FetchPlan],
    _ verdict: Verdict,
    _ changes: ChangeSet
  ) throws -> ObservedResult {
    var result = observation.result
    let rereadsDigests = verdict == .undecided && !result.digests.isEmpty
    for index in result.named.indices {
      let old = result.named[index]
      let kind = old.key.flatMap { changes.changes[$0]?.kind }
      var new = old
      switch kind {
      case .insert: new.exists = true
      case .delete: new.exists = false
      // A link row may change without the object that it names.
      case .update, nil: break
      }
      // An identity value may name no object now, or another one. An ID of the form `p` never names
      // another object. An external client may change identities.
      if !new.exists || kind != nil, try snapshot.entity(of: ids[index]).identity != nil {
        new.key = try snapshot.resolve(ids[index])
        new.exists = try new.key.map { try snapshot.exists($0) } ?? false
      }
      result.named[index] = new
      guard !result.digests.isEmpty, rereadsDigests || kind != nil || new != old else { continue }
      guard new.exists, let key = new.key, let plan = plans[key.entity] else {
        result.digests[index] = 0
        continue
      }
      result.digests[index] = try digest(key.object, plan)
    }
    try refreshIncluded(observation, &result)
    return result
  }
}
