import CordialProtocol
import CordialValues
import JSON
import ObjectModel
import PersistentHistory
import PersistentStore
import Subscriptions

/// The result after changes, from the result before them.
extension ResultReader {
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
  ) throws -> ObservedResult {
    guard verdict != .unaffected else { return observation.result }
    switch observation.plan {
    case .objects(let ids, let plans):
      return try refreshObjects(observation, ids, plans, verdict, changes)
    case .rows(let plan):
      guard case .values(let touched) = verdict else { break }
      return try refreshRows(observation.result, plan, observation.request, touched)
    case .count, .values:
      // Only properties that the result does not read have changed.
      guard verdict == .undecided else { return observation.result }
    case .history: return observation.result
    }
    var out = UpdateWriter.discarding
    var result = try read(observation.request, observation.plan, to: &out)
    if result.objects == observation.result.objects {
      result.revision = observation.result.revision
      result.objects = observation.result.objects
    }
    return result
  }

  private func refreshRows(
    _ old: ObservedResult,
    _ plan: FetchPlan,
    _ request: ObservedRequest,
    _ touched: Set<ObjectKey>
  ) throws -> ObservedResult {
    guard !old.digests.isEmpty else { return old }
    var result = old
    let numbers = Set(touched.map(\.object))
    for (offset, object) in old.objects.enumerated() where numbers.contains(object) {
      result.digests[offset] = try digest(object, plan)
    }
    return result
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
      case .insert, .update: new.exists = true
      case .delete: new.exists = false
      case nil: break
      }
      // An identity value may name no object now, or another one. An ID of the form `p` never names
      // another object.
      if !new.exists, try snapshot.entity(of: ids[index]).identity != nil {
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
    if !observation.request.include.isEmpty {
      result.included = [:]
      try eachIncluded(observation.request, result) { key, bytes in
        result.included[key] = UInt64(digestOf: bytes)
      }
    }
    return result
  }
}
