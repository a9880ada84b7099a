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
  /// Whether the whole request was read again.
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
  /// - Returns: The result.
  /// - Throws: `limitExceeded` for a regular expression that takes too long; `SQLiteError`.
  func refresh(
    _ observation: Observation,
    _ verdict: Verdict,
    _ changes: ChangeSet
  ) throws -> RefreshedResult {
    let old = observation.result
    guard verdict != .unaffected else { return RefreshedResult(result: old) }
    switch observation.plan {
    case .objects(let ids, let plans):
      return RefreshedResult(
        result: try refreshObjects(observation, ids, plans, verdict, changes)
      )
    case .rows(let plan):
      if let refreshed = try refreshRows(observation, plan, verdict) { return refreshed }
    case .count(let plan):
      if let count = Self.countDifference(verdict), old.sections == nil {
        var result = old
        result.count += count
        result.total? += count
        return RefreshedResult(result: result)
      }
      _ = plan
    case .values:
      // Only properties that the result does not read have changed.
      if case .values = verdict { return RefreshedResult(result: old) }
    case .history: return RefreshedResult(result: old)
    }
    var out = UpdateWriter.discarding
    var result = try read(observation.request, observation.plan, to: &out)
    if result.objects == old.objects {
      result.revision = old.revision
      result.objects = old.objects
    }
    return RefreshedResult(result: result, isReread: true)
  }

  /// Returns the change of the number of matching objects; nil where rows do not decide it.
  private static func countDifference(_ verdict: Verdict) -> Int64? {
    switch verdict {
    case .unaffected, .values: return 0
    case .undecided: return nil
    case .members(let members, _):
      var difference: Int64 = 0
      for match in members.values {
        guard let before = match.before, let after = match.after else { return nil }
        difference += (after ? 1 : 0) - (before ? 1 : 0)
      }
      return difference
    }
  }

  /// The number of objects of a result for each object that may move, below which the result is
  /// read again.
  private static let rereadRatio = 8
  /// The number of objects that may move in a result of any size.
  private static let movesMin = 16

  /// Refreshes rows by the objects that may enter, leave or move; returns nil where the whole fetch
  /// must be read again.
  private func refreshRows(
    _ observation: Observation,
    _ plan: FetchPlan,
    _ verdict: Verdict
  ) throws -> RefreshedResult? {
    let old = observation.result
    let (members, values): ([ObjectKey: Verdict.Match], Set<ObjectKey>)
    switch verdict {
    case .values(let touched): (members, values) = ([:], touched)
    case .members(let found, let touched): (members, values) = (found, touched)
    case .unaffected, .undecided: return nil
    }
    var refreshed = RefreshedResult(result: old, sequence: SequenceDifference(from: [], to: []))
    if !members.isEmpty {
      let isWindow = plan.request.limit != nil || plan.request.offset > 0
      let movesMax = max(Self.movesMin, old.objects.count / Self.rereadRatio)
      guard !isWindow, members.count <= movesMax else { return nil }
      let edit = try self.edit(old.objects, members, plan)
      refreshed.sequence = edit.difference
      if !edit.difference.isEmpty {
        refreshed.result.objects = edit.sequence
        refreshed.result.revision = snapshot.head.number
      }
      try refreshSections(observation, plan, verdict, &refreshed.result)
    }
    // An object that matches as before and has not moved may have other values.
    let touched = Set(values.map(\.object)).union(members.keys.map(\.object))
    try refreshDigests(old, plan, touched, &refreshed)
    try refreshIncluded(observation, &refreshed.result)
    return refreshed
  }

  private func edit(
    _ old: [Int64],
    _ members: [ObjectKey: Verdict.Match],
    _ plan: FetchPlan
  ) throws -> SequenceEdit {
    var matching: Set<Int64> = []
    var undecided: [Int64] = []
    for (key, match) in members {
      switch match.after {
      case true?: matching.insert(key.object)
      case nil: undecided.append(key.object)
      case false?: break
      }
    }
    if !undecided.isEmpty {
      matching.formUnion(try snapshot.matching(undecided.sorted(), plan))
    }
    return try SequenceEdit(of: old, candidates: Set(members.keys.map(\.object))) { kept in
      try snapshot.offsets(of: Array(matching), in: kept, plan).map { ($0.object, $0.offset) }
    }
  }

  private func refreshSections(
    _ observation: Observation,
    _ plan: FetchPlan,
    _ verdict: Verdict,
    _ result: inout ObservedResult
  ) throws {
    if result.total != nil { result.total = Int64(result.objects.count) }
    guard result.sections != nil else { return }
    result.sections = UInt64(digestOf: try sections(plan))
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
    let difference = refreshed.sequence ?? SequenceDifference(from: [], to: [])
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
