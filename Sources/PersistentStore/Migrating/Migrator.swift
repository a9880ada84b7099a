import CordialValues
import FoundationEssentials
import JSON
package import ObjectModel
import PersistentHistory
import SQLite

/// The progress of a migration.
package struct MigrationProgress: Sendable {
  /// The versions of the current stage, as `1 to 2`.
  package let stage: String
  /// The title of the current step.
  package let title: String
  /// The number of completed steps.
  package let done: Int
  /// The number of all steps of all stages.
  package let count: Int

  package init(stage: String, title: String, done: Int, count: Int) {
    self.stage = stage
    self.title = title
    self.done = done
    self.count = count
  }
}

/// The migration of a store to another version of its model, in one transaction.
package struct Migrator {
  /// One stage of a migration over several versions.
  package typealias Stage = (plan: MigrationPlan, target: Model)

  private let path: String
  private let environment: StoreEnvironment

  init(path: String, environment: StoreEnvironment) {
    self.path = path
    self.environment = environment
  }

  /// Returns the stages from one version of a model to another.
  ///
  /// If the chain has the store's version, each later version is a stage. Otherwise there is one
  /// stage, to the last version.
  ///
  /// - Parameters:
  ///   - model: The model that the store has.
  ///   - former: The hashes of the store's former models.
  ///   - chain: The versions, oldest first; the last one is the target.
  /// - Returns: A plan for each stage.
  /// - Throws: `modelMismatch` when the store is newer than the last version.
  package static func stages(
    of model: Model,
    _ former: Set<String> = [],
    over chain: [Model]
  ) throws(StoreError) -> [Stage] {
    if let last = chain.last, former.contains(where: last.isIdentified) {
      throw StoreError(
        .modelMismatch,
        "The store is newer: it had model \(last.name) \(last.version) (\(last.shortHash)) and "
          + "migrated to \(model.version) (\(model.shortHash))",
        hint: .openWithItsModel,
        data: [
          JSONMember("problems", [["path": "", "message": "an older version of the model"]])
        ]
      )
    }
    let currentIndex = chain.lastIndex { $0.hash == model.hash }
    let newerVersions = currentIndex.map { Array(chain[($0 + 1)...]) } ?? Array(chain.suffix(1))
    var stages: [Stage] = []
    var current = model
    for next in newerVersions {
      let (slots, emptied) = ModelMapping.slots(from: current, to: next)
      let target: Model
      do throws(ModelError) {
        target = try ModelDocument.model(
          from: next.document,
          slots: slots,
          excludedEntities: next.excludedEntities
        )
      } catch {
        throw mismatch(current, next, error.problems)
      }
      stages.append((MigrationPlan(from: current, to: target, emptied: emptied), target))
      current = target
    }
    return stages
  }

  /// Returns the stages that a store's migration to the last of some versions would have.
  ///
  /// - Parameters:
  ///   - container: The store.
  ///   - chain: The versions, oldest first; the last one is the target.
  /// - Returns: A plan for each stage; empty when the store has the last version.
  /// - Throws: The errors of a migration as far as the first stage has them; the checks of a later
  ///   stage depend on the earlier stages.
  package static func dryRun(
    _ container: StoreContainer,
    over chain: [Model]
  ) throws -> [Stage] {
    let facts = try StoreFile.read(at: container.storePath, role: .reader, requested: chain.last)
    guard facts.model.hash != chain.last?.hash else { return [] }
    let stages = try stages(of: facts.model, facts.formerHashes, over: chain)
    let queue = try StoreConnection.open(container.storePath, .reader)
    if let (plan, _) = stages.first {
      try queue.use { db in try check(plan, db) }
    }
    try queue.close()
    return stages
  }

  /// Executes either all stages or none.
  ///
  /// - Parameters:
  ///   - stages: The stages.
  ///   - progress: Called before each step.
  /// - Throws: `modelMismatch` with every problem, and the store unchanged; `storeBusy` while
  ///   another process has the store open; `SQLiteError`.
  func run(_ stages: [Stage], _ progress: (MigrationProgress) -> Void) throws {
    let queue = try StoreConnection.open(path, .writer)
    do {
      try queue.use { db in
        try db.lockExclusively()
        try db.execute("PRAGMA legacy_alter_table=ON")
        try db.transaction(.immediate) { try run(stages, progress, db) }
        try db.checkpoint()
      }
      try queue.close()
    } catch let error as SQLiteError where error.code == .busy {
      throw StoreError(
        .storeBusy,
        "The store must be migrated, but another process has it open",
        hint: "Stop the other process, then open the store again"
      )
    }
  }

  private func run(
    _ stages: [Stage],
    _ progress: (MigrationProgress) -> Void,
    _ db: SQLiteConnection
  ) throws {
    guard let first = stages.first, let last = stages.last else { return }
    let present = try StoreMetadata.modelHash.value(db)
    // Another process may have migrated the store already.
    if let present, last.target.isIdentified(by: present) { return }
    guard let present, first.plan.from.isIdentified(by: present) else {
      throw StoreError(
        .storeBusy,
        "Another process has migrated the store meanwhile",
        hint: "Open the store again"
      )
    }
    try db.execute(LogTables.late)
    try seal(first.plan.from, db)
    let count = stages.map(\.plan.steps.count).reduce(0, +)
    var done = 0
    for (plan, target) in stages {
      try Self.check(plan, db)
      let stage = "\(plan.from.version) to \(target.version)"
      for step in plan.steps {
        progress(MigrationProgress(stage: stage, title: step.title, done: done, count: count))
        try execute(step, plan, db)
        done += 1
      }
      try note(plan, target, db)
    }
  }

  /// Seals the changes made by external SQLite clients before the migration.
  private func seal(_ model: Model, _ db: SQLiteConnection) throws {
    let head = try HistoryLog(db, model: model).head()
    guard !head.isSealed else { return }
    let stamp = CommitStamp(
      time: environment.now(),
      mark: environment.random(),
      author: HistoryWriter.externalAuthor
    )
    try HistoryWriter(db, model: model).seal(head, stamp)
  }

  /// Checks that a plan can be executed on the store's objects.
  static func check(_ plan: MigrationPlan, _ db: SQLiteConnection) throws {
    var problems = plan.problems
    // The checks of a plan with problems are meaningless queries.
    for check in problems.isEmpty ? plan.checks : [] {
      let count = try db.integer(check.sql) ?? 0
      if count > 0 {
        let message = "\(check.message) (\(count) of them)"
        problems.append(ModelProblem(path: check.path, message: message))
      }
    }
    guard problems.isEmpty else { throw mismatch(plan.from, plan.to, problems) }
  }

  /// Returns the error of a store that cannot be migrated to a model.
  static func mismatch(_ from: Model, _ to: Model, _ problems: [ModelProblem]) -> StoreError {
    let first =
      problems.first.map { ": \($0.path.isEmpty ? "" : $0.path + ": ")\($0.message)" } ?? ""
    let more = problems.count > 1 ? " (and \(problems.count - 1) more)" : ""
    return StoreError(
      .modelMismatch,
      "The store has model \(from.name) \(from.version) (\(from.shortHash)), which cannot become "
        + "\(to.name) \(to.version) (\(to.shortHash)) automatically\(first)\(more)",
      hint: .compareModels,
      data: [
        JSONMember(
          "problems",
          .array(
            problems.map { ["path": .string($0.path), "message": .string($0.message)] }
          )
        )
      ]
    )
  }

  private func execute(
    _ step: MigrationPlan.Step,
    _ plan: MigrationPlan,
    _ db: SQLiteConnection
  ) throws {
    for statement in step.statements {
      do {
        try db.execute(statement)
      } catch let error as SQLiteError where error.code == .constraint {
        let what = error.message ?? "a constraint"
        throw Self.mismatch(
          plan.from,
          plan.to,
          [
            ModelProblem(path: step.title, message: "the objects do not allow it: \(what)")
          ]
        )
      }
    }
  }

  /// Records the store's new model, and ends the stage with a commit.
  private func note(_ plan: MigrationPlan, _ target: Model, _ db: SQLiteConnection) throws {
    let former = try StoreMetadata.formerHashes.value(db)
    let hashes = [former, plan.from.hash].compactMap { $0 }.joined(separator: " ")
    let facts: [StoreMetadata: String] = [
      .model: target.document.text, .modelHash: target.hash, .formerHashes: hashes,
      .slots: StoreFile.slotsText(target),
    ]
    for (fact, value) in facts { try fact.set(value, db) }
    let head = try HistoryLog(db, model: target).head()
    try HistoryWriter(db, model: target).writeEntry(
      head.number + 1,
      CommitStamp(
        time: environment.now(),
        mark: environment.random(),
        context: "migration"
      )
    )
    // Earlier commits may have other types and other rules.
    try UndoLog.recordBarrier(at: head.number + 1, db)
  }
}
