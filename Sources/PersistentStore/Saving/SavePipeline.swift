import CordialValues
import Interruptions
import JSON
import ObjectModel
import PersistentHistory
import SQLite

/// The stages of a save inside the writer's transaction: resolve, merge, plan, validate, write.
///
/// Each stage passes values to the next stage; only the last stage writes.
struct SavePipeline {
  let tables: StoreTables
  let db: SQLiteConnection
  let log: HistoryLog
  let commits: CommitTable
  let triggers: TriggerControl
  let facts: StoreFile.Facts
  /// The program's own merge policies, by name.
  let mergePolicies: [String: MergeDecision]
  let bulk: BulkLimits

  /// The result of a save, with the information for the writer's transaction.
  struct Outcome {
    var result: SaveResult
    /// The stored objects that were deleted.
    var deleted: [ObjectName] = []
    /// Whether a delete rule left a reference to a deleted object.
    var leavesDangling = false
    /// The reverted groups, each with the changes that reverted it.
    var reverted: [(group: RevertGroup, changes: ChangeRange)] = []
  }

  private var layout: SaveLayout { tables.layout }

  /// Performs a save.
  ///
  /// - Parameters:
  ///   - request: The save.
  ///   - derive: Updates the derived values that no trigger updates.
  /// - Returns: The outcome.
  /// - Throws: `StoreError`, or `SQLiteError` when SQLite failed; the caller rolls back.
  func save(_ request: SaveRequest, _ derive: () throws -> Void) throws -> Outcome {
    let stored = DatabaseObjects(tables, identifier: facts.identifier)
    var resolver = Resolver(request, layout, stored)
    try resolver.resolve()
    let interruption = request.interruption ?? Interruption()
    interruption.limit(seconds: request.readingSecondsMax)
    var matching = MatchingChanges(
      tables,
      stored,
      db,
      triggers,
      bulk,
      facts.functions,
      interruption,
      affectedMax: request.affectedMax,
      changesMax: request.changesMax
    )
    let (update, matchedDeletes) = try db.progress.stopping(by: interruption) {
      (
        try request.updateMatching.map { try matching.read($0, request) },
        try request.deleteMatching.map { try matching.keys($0) } ?? []
      )
    }
    // The next stages take time in proportion to the changes, and need no limit.
    interruption.limit(seconds: nil)
    var save = resolver.resolved
    var problems = resolver.problems
    if let update {
      save.updates += update.updates
      for problem in update.problems.problems { problems.add(problem) }
    }

    var merger = SaveMerger(
      save,
      request,
      layout,
      stored,
      DatabaseHistory(db, log, commits),
      decisions: mergePolicies
    )
    try merger.merge()
    try Self.check(merger.conflicts, problems)
    for problem in merger.problems.problems { problems.add(problem) }

    let names = resolver
    let valueLabels = update?.labels ?? [:]
    let labels = SaveLabels { names.labels.merging(valueLabels) { first, _ in first } }
    var planner = SavePlanner(layout, stored, labels: labels)
    planner.affectedMax = request.affectedMax
    try planner.plan(merger.save, alsoDeleting: matchedDeletes)
    for problem in planner.problems.problems { problems.add(problem) }

    var validator = SaveValidator(
      planner.plan,
      layout,
      labels: labels,
      problems: problems,
      skippedParts: resolver.skippedParts.adding(update?.skippedParts ?? SkippedParts()),
      interruption: interruption
    )
    interruption.limit(seconds: request.readingSecondsMax)
    try validator.validate()
    interruption.limit(seconds: nil)
    // After this check, no interruption stops the save.
    try interruption.check()
    if let error = validator.problems.error { throw error }

    let plan = planner.plan
    let builder = SaveResultBuilder(
      tables: tables,
      request: request,
      reported: merger.reported.merging(plan.followed) { $0.union($1) }
    )
    let deleted =
      try request.wantsIDs || request.isDryRun
      ? plan.graph.deletes.map { (key: $0, name: try builder.name(of: $0)) } : []
    var writer = SaveWriter(tables, db, bulk, labels: labels)
    try writer.write(plan)
    if let statement = update?.statement { try matching.write(statement) }
    try derive()
    stored.forget()

    var outcome = Outcome(
      result: try builder.result(
        of: merger.save,
        merged: merger.merged,
        skipped: merger.skippedDeletes
      )
    )
    outcome.leavesDangling = plan.leavesDangling
    outcome.deleted = deleted.filter { !plan.graph.isInserted($0.key) }.map(\.name)
    let named = Set(merger.save.deletes.map(\.key)).union(matchedDeletes)
    outcome.result.count = named.count + (update?.count ?? 0)
    if request.wantsIDs {
      outcome.result.matched = deleted.map(\.name) + (try (update?.keys ?? []).map(builder.name))
    }
    return outcome
  }

  /// Throws an error with the conflicts, and with the problems that do not depend on the state
  /// after the save.
  static func check(
    _ conflicts: [SaveConflict],
    _ problems: ProblemList,
    hint: StoreHint? = nil
  ) throws {
    guard !conflicts.isEmpty else { return }
    let concernMembers = conflicts.contains(where: \.isMembership)
    throw StoreError(
      .saveConflict,
      "Another save changed the state that this save is based on",
      hint: hint
        ?? (concernMembers
          ? "Send the token with which the list was read as asOf, or send @add and @remove"
          : "Fetch the objects again and apply the change to their present values"),
      data: [JSONMember("conflicts", .array(conflicts.map(\.json)))],
      problems: problems.ofTheRequest
    )
  }
}
