import CordialValues
import FoundationEssentials
import JSON
package import ObjectModel
import PersistentHistory
import SQLite
import StoreLayout

/// The migration of a store to another version of its model, in one transaction.
package struct Migrator {
  /// One stage of a migration over several versions.
  package struct Stage: Sendable {
    package let plan: MigrationPlan
    package let target: Model
    /// The versions that are most similar to the store's model; empty if the chain contains the
    /// model.
    let nearest: [NearestVersion]
  }

  private let path: String
  private let environment: StoreEnvironment

  init(path: String, environment: StoreEnvironment) {
    self.path = path
    self.environment = environment
  }

  /// Executes a store's migration to the last version of a chain, then rolls it back.
  ///
  /// - Parameters:
  ///   - container: The store.
  ///   - chain: The versions, oldest first; the last one is the target.
  ///   - environment: The sources of time and randomness.
  ///   - planned: Called with all stages before the first stage is executed; with no stages when
  ///     the store has the last version.
  /// - Throws: The errors of the migration.
  package static func dryRun(
    _ container: StoreContainer,
    over chain: [Model],
    environment: StoreEnvironment,
    planned: ([Stage]) -> Void
  ) throws(StoreError) {
    do {
      let facts = try StoreFile.read(at: container.storePath, role: .reader, requested: chain.last)
      guard facts.model.hash != chain.last?.hash else { return planned([]) }
      let stages = try stages(of: facts.model, facts.formerHashes, over: chain)
      planned(stages)
      let migrator = Migrator(path: container.storePath, environment: environment)
      try migrator.run(stages, commits: false) { _ in }
    } catch {
      throw StoreError(any: error)
    }
  }

  /// Returns whether a given model is the current model of a store.
  package static func hasModel(
    _ container: StoreContainer,
    _ model: Model
  ) throws(StoreError) -> Bool {
    do {
      let facts = try StoreFile.read(at: container.storePath, role: .reader, requested: model)
      return facts.model.hash == model.hash
    } catch {
      throw StoreError(any: error)
    }
  }

  /// Migrates a store to a model, with the objects that a program made of the store's objects.
  ///
  /// The objects that the program does not return are removed.
  ///
  /// - Parameters:
  ///   - container: The store.
  ///   - model: The new model.
  ///   - objects: The program's objects.
  ///   - commits: Whether the transaction is committed; if not, it is rolled back at its end.
  ///   - environment: The sources of time and randomness.
  ///   - progress: Called before each step.
  /// - Throws: `modelMismatch` with the program's mistakes, and the store unchanged; `storeBusy`
  ///   if the store changed since the program's input was read.
  package static func migrate(
    _ container: StoreContainer,
    to model: Model,
    with objects: ProgramObjects,
    commits: Bool,
    environment: StoreEnvironment,
    _ progress: (MigrationProgress) -> Void
  ) throws(StoreError) {
    do {
      let facts = try StoreFile.read(at: container.storePath, role: .reader, requested: model)
      guard facts.model.hash != model.hash else { return }
      // The call discards the stages. It only throws the errors that also apply to a program.
      _ = try stages(of: facts.model, facts.formerHashes, over: [model])
      let stage = try Self.stage(
        from: facts.model,
        to: model,
        [],
        givesUpEverything: true,
        hasProgram: true
      )
      let migrator = Migrator(path: container.storePath, environment: environment)
      try migrator.run([stage], objects: objects, commits: commits, progress)
    } catch {
      throw StoreError(any: error)
    }
  }

  /// The error that rolls back a dry run.
  private struct DryRunEnded: Error {}

  /// Executes either all stages or none.
  ///
  /// - Parameters:
  ///   - stages: The stages; exactly one if a program made the new objects.
  ///   - objects: The objects that a program made; nil without a program.
  ///   - commits: Whether to commit the transaction. A dry run rolls the transaction back at its
  ///     end, and is allowed while other processes have the store open.
  ///   - progress: Called before each step.
  /// - Throws: `modelMismatch` with every problem, which leaves the store unchanged; `storeBusy` if
  ///   another process has the store open, or writes to the store during a dry run; `SQLiteError`.
  func run(
    _ stages: [Stage],
    objects: ProgramObjects? = nil,
    commits: Bool = true,
    _ progress: (MigrationProgress) -> Void
  ) throws {
    let queue = try StoreConnection.open(path, .writer)
    do {
      try queue.use { db in
        if commits { try db.lockExclusively() }
        try ValueConversion.addFunction(to: db)
        try db.execute("PRAGMA legacy_alter_table=ON")
        try db.transaction(.immediate) {
          try run(stages, objects, progress, db)
          if !commits { throw DryRunEnded() }
        }
        try db.checkpoint()
      }
    } catch is DryRunEnded {
      // The dry run succeeded. Its `DryRunEnded` error has rolled the transaction back.
    } catch let error as SQLiteError where error.code == .busy {
      throw StoreError(
        .storeBusy,
        commits
          ? "The store must be migrated, but another process has it open"
          : "Another process writes to the store",
        hint: "Stop the other process, then try again"
      )
    }
    try queue.close()
  }

  private func run(
    _ stages: [Stage],
    _ objects: ProgramObjects?,
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
    // Triggers of another format must not fire during the migration.
    if try StoreMetadata.triggers.value(db) != LogTriggers.formatVersion {
      try StoreFile.replaceTriggers(first.plan.from, db)
    }
    try seal(first.plan.from, db)
    if let objects { try checkUnchanged(since: objects.token, first.plan.from, db) }
    let count = stages.reduce(objects == nil ? 0 : 1) { count, stage in
      count + stage.plan.preparation.count + stage.plan.steps.count
    }
    var done = 0
    var numbers = GivenNumbers(first.plan.from)
    for stage in stages {
      let plan = stage.plan
      func report(_ title: String) {
        progress(
          MigrationProgress(
            from: plan.from.version,
            to: stage.target.version,
            title: title,
            done: done,
            count: count
          )
        )
        done += 1
      }
      try numbers.read(plan, db)
      let mapped = MappedValues(plan.mappedTargets, plan.mappedReferences)
      var mistakes: [MigrationProblem] = []
      if plan.problems.isEmpty {
        try prepare(plan, mapped, numbers, db, report)
        if let objects {
          report("Read the objects of the program")
          var reader = ProgramImport(plan, db)
          mistakes = try reader.run(objects) { try numbers.last(of: $0, plan, plan.to, db) }
        }
      }
      try Self.check(plan, mapped.problems + mistakes, stage.nearest, db)
      for step in plan.steps {
        report(step.title)
        try execute(step, plan, db)
      }
      try Self.check(plan.lateChecks, plan, [], [], db)
      try numbers.skip(in: stage.target, db)
      try note(plan, stage.target, numbers.retired(stage.target), db)
    }
  }

  /// Checks that the store has no commit since a program's input was read.
  private func checkUnchanged(
    since token: StoreToken,
    _ model: Model,
    _ db: SQLiteConnection
  ) throws {
    let head = try HistoryLog(db, model: model).head()
    guard head.number != token.number || head.mark != token.mark else { return }
    throw StoreError(
      .storeBusy,
      "Another process changed the store while the program ran",
      hint: "Try again"
    )
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

  /// Fills the temporary tables with the objects and values that the map makes of the old objects.
  private func prepare(
    _ plan: MigrationPlan,
    _ values: MappedValues,
    _ numbers: GivenNumbers,
    _ db: SQLiteConnection,
    _ report: (String) -> Void
  ) throws {
    guard !plan.preparation.isEmpty else { return }
    try values.addFunctions(to: db)
    try db.execute("CREATE TABLE \(PreparedTables.given)(entity INTEGER, number INTEGER)")
    for entity in plan.to.concreteEntities where plan.mapping.rules[entity.number] != nil {
      let last = try numbers.last(of: entity, plan, plan.to, db)
      try db.execute(
        "INSERT INTO \(PreparedTables.given) VALUES (?, ?)",
        [Int64(entity.number), last]
      )
    }
    for group in plan.preparation {
      report(group.title)
      for fragment in group.statements {
        let statement = try PreparedStatement(db, fragment.sql)
        for (index, value) in fragment.values.enumerated() {
          statement.bind(value, at: Int32(index + 1))
        }
        try statement.run()
      }
    }
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
        let message = "the objects do not allow it: \(what)"
        throw Self.mismatch(
          plan.from,
          plan.to,
          [MigrationProblem(path: step.title, message: message)]
        )
      }
    }
  }

  /// Records the store's new model, and ends the stage with a commit.
  private func note(
    _ plan: MigrationPlan,
    _ target: Model,
    _ retired: [RetiredEntity],
    _ db: SQLiteConnection
  ) throws {
    let former = try StoreMetadata.formerHashes.value(db)
    let hashes = [former, plan.from.hash].compactMap { $0 }.joined(separator: " ")
    let facts: [StoreMetadata: String] = [
      .model: target.document.text, .modelHash: target.hash, .formerHashes: hashes,
      .slots: StoreFile.slotsText(target), .retired: StoreFile.retiredText(retired),
    ]
    for (fact, value) in facts { try fact.set(value, db) }
    let head = try HistoryLog(db, model: target).head()
    try HistoryWriter(db, model: target).writeEntry(
      head.number + 1,
      CommitStamp(
        time: environment.now(),
        mark: environment.random(),
        context: CommitStamp.migrationContext
      )
    )
    // An undo must not cross a migration, because earlier commits may have other types and rules.
    try UndoLog.recordBarrier(at: head.number + 1, db)
  }
}
