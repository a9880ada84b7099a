import CordialProtocol
import CordialValues
import JSON
import ObjectModel
import PersistentHistory
import PersistentStore

/// What several kinds of queries need to follow changes.
extension ResultReader {
  /// Compiles an observation again where references may dangle since it was compiled, and reads its
  /// whole result.
  ///
  /// - Parameter observation: The observation, which gets the new plan.
  /// - Returns: The result; nil where the plan is still valid.
  /// - Throws: The errors of compiling and reading.
  func recompiled(
    _ observation: inout Observation
  ) throws -> RefreshedResult<any LiveResult>? {
    guard snapshot.mayDangle, !observation.mayDangle else { return nil }
    let query = try compile(observation.request)
    observation.inclusion = try inclusion(observation.request, query)
    observation.mayDangle = true
    var out = UpdateWriter.discarding
    let result = try query.reading(observation.request, self, to: &out)
    return RefreshedResult(result: result, isReread: true)
  }

  /// Returns the change of the number of matching objects.
  ///
  /// - Parameters:
  ///   - members: The objects that may enter or leave.
  ///   - matching: The members that match now, as SQL has found where rows do not decide it.
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
}

extension ResultChange {
  /// Counts the objects that enter, leave or change sections, and reads all sections again where
  /// the rows do not tell them, or one is new.
  ///
  /// - Parameters:
  ///   - plan: The fetch.
  ///   - members: The objects that may enter or leave.
  ///   - matching: The members that match now, as SQL has found where rows do not decide it.
  ///   - extras: The parts of the result.
  /// - Returns: Whether all sections were read again.
  /// - Throws: `SQLiteError`.
  func refreshSections(
    _ plan: FetchPlan,
    _ members: [ObjectKey: Verdict.Match],
    matching: Set<Int64>,
    _ extras: inout ResultExtras
  ) throws -> Bool {
    guard let old = extras.sections else { return false }
    let changes = plan.sectionColumn.flatMap { column in
      sectionChanges(column, members, matching: matching)
    }
    if let changes {
      var known = old
      var rest = changes.filter { $0.value != 0 }
      for index in known.indices {
        if let change = rest.removeValue(forKey: known[index].key) { known[index].count += change }
      }
      if rest.isEmpty {
        extras.sections = known.filter { $0.count > 0 }
        return false
      }
    }
    extras.sections = try reader.snapshot.sections(plan)
    return true
  }

  /// Returns the changes of the sections' numbers of objects; nil where rows do not decide them.
  private func sectionChanges(
    _ column: String,
    _ members: [ObjectKey: Verdict.Match],
    matching: Set<Int64>
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
}
