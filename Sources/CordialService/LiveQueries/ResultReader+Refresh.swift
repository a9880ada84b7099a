import CordialProtocol
import CordialValues
import JSON
import ObjectModel
import PersistentHistory
import PersistentStore

/// The refresh methods that several kinds of queries share.
extension ResultReader {
  /// Recompiles an observation and reads its whole result, if the observation was compiled before
  /// the store could have dangling references.
  ///
  /// - Parameter observation: The observation, which receives the new inclusion.
  /// - Returns: The result with the new query; nil if the old plan is still valid.
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
  ///   - matching: The members that match now; used only for members whose rows do not decide.
  /// - Returns: The change; nil if rows do not decide which members matched before.
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
  /// Updates the counts of the sections, or reads all sections again.
  ///
  /// All sections are read again if rows do not decide the sections of all members, or if a section
  /// is new.
  ///
  /// - Parameters:
  ///   - plan: The fetch.
  ///   - members: The objects that may enter or leave.
  ///   - matching: The members that match now; used only for members whose rows do not decide.
  ///   - extras: The parts of the result; receives the new sections.
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

  /// Returns the change of the number of objects in each section; nil if the rows do not decide the
  /// sections of all members.
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
