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
    observation.query = try compile(observation.request)
    observation.inclusion = try inclusion(observation.request, observation.query)
    observation.mayDangle = true
    var out = UpdateWriter.discarding
    let result = try observation.query.read(observation.request, self, to: &out)
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
    if let refreshed = try observation.query.refresh(observation, verdict, changes, rows, self) {
      return refreshed
    }
    var out = UpdateWriter.discarding
    var result = try observation.query.read(observation.request, self, to: &out)
    if result.objects == old.objects {
      result.revision = old.revision
      result.objects = old.objects
    }
    return RefreshedResult(result: result, isReread: true)
  }

  /// Returns the change of the number of matching objects.
  ///
  /// - Parameters:
  ///   - members: The objects that may enter or leave.
  ///   - matching: Those of them that match now and of which rows do not decide it.
  /// - Returns: The change; nil where rows do not decide which of them matched before.
  static func countDifference(
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

  /// Counts the objects that enter, leave or change sections, and reads all sections again where
  /// the rows do not tell them, or one is new.
  func refreshSections(
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

  /// Reads the included objects of a result again.
  func refreshIncluded(
    _ observation: Observation,
    _ result: inout ObservedResult
  ) throws {
    guard !observation.request.include.isEmpty else { return }
    var included: [ObjectKey: UInt64] = [:]
    try observation.query.eachIncluded(observation.request, result, self) { key, bytes in
      included[key] = UInt64(digestOf: bytes)
    }
    result.included = included
  }

  /// Returns the digest of an object's row; 0 for a missing object.
  func digest(_ object: Int64, _ plan: FetchPlan) throws -> UInt64 {
    var row = JSONWriter()
    return try snapshot.write(object, as: plan, to: &row) ? UInt64(digestOf: row.bytes) : 0
  }
}
