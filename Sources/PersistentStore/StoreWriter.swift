import CordialValues
import Interruptions
import JSON
import ObjectModel
import PersistentHistory
import SQLite
import StoreLayout

/// The only writer of a store, which commits waiting saves as a group.
///
/// A save that fails does not affect the other saves of its group.
///
/// `WriterQueue` confines the writer to its queue.
final class StoreWriter {
  let queue: SQLiteQueue
  let facts: StoreFile.Facts
  let path: String
  let opened: OpenedFiles
  let environment: StoreEnvironment
  private let mergePolicies: [String: MergeDecision]
  private let bulk: BulkLimits
  private let log: HistoryLog
  let commits: CommitTable
  let history: HistoryWriter
  private let undoLog: UndoLog
  private let tables: StoreTables
  private let statements: Statements
  /// The names of the entities that have, or whose descendants have, an attribute with a pattern.
  let patterned: Set<String>
  /// The head of the history log after this writer's last commit; if the stored head differs,
  /// another process wrote.
  private var known: HistoryHead?
  private var isDurable = true
  /// The number of further groups that get a savepoint for each save, because a save has failed.
  private var savepointGroups = 0
  private static let savepointGroupsMax = 16
  let writeAheadLog: WriteAheadLog

  private struct Statements {
    let begin: PreparedStatement
    let commit: PreparedStatement
    let rollback: PreparedStatement
    let savepoint: PreparedStatement
    let release: PreparedStatement
    let rollbackToSavepoint: PreparedStatement
    let repeated: PreparedStatement

    init(_ db: SQLiteConnection) throws {
      begin = try PreparedStatement(db, "BEGIN IMMEDIATE")
      commit = try PreparedStatement(db, "COMMIT")
      rollback = try PreparedStatement(db, "ROLLBACK")
      savepoint = try PreparedStatement(db, "SAVEPOINT one")
      release = try PreparedStatement(db, "RELEASE one")
      rollbackToSavepoint = try PreparedStatement(db, "ROLLBACK TO one")
      repeated = try PreparedStatement(
        db,
        "SELECT number, mark, answer FROM cordial_transaction WHERE client = ?"
      )
    }
  }

  init(
    path: String,
    facts: StoreFile.Facts,
    environment: StoreEnvironment,
    mergePolicies: [String: MergeDecision],
    bulk: BulkLimits
  ) throws {
    self.facts = facts
    self.path = path
    let model = facts.model
    patterned = Set(
      model.entities.filter { entity in
        entity.familyPosition.concreteEntities.contains { number in
          model.entity(number).attributes.contains { $0.pattern != nil }
        } || entity.attributes.contains { $0.pattern != nil }
      }.map(\.name)
    )
    self.environment = environment
    self.mergePolicies = mergePolicies
    self.bulk = bulk
    let queue = try StoreConnection.open(path, .writer)
    self.queue = queue
    writeAheadLog = try queue.use { WriteAheadLog($0) }
    // Nothing is written if no table is missing, because the file may be read-only.
    let isComplete = try queue.use { db in
      try db.hasTable("cordial_undo") && db.hasTable("cordial_follower")
        && db.hasTable("cordial_lease")
    }
    opened = OpenedFiles(path)
    if !isComplete { try queue.write { db in try db.execute(LogTables.late) } }
    if !facts.hasTriggers {
      try queue.write { db in try StoreFile.replaceTriggers(model, db) }
    }
    (log, commits, history, undoLog, tables, statements) = try queue.use { db in
      try ComputedAttributes.add(to: db, model: model, facts.computing)
      let log = try HistoryLog(db, model: model)
      let history = try HistoryWriter(db, model: model)
      let tables = StoreTables(
        db,
        history.triggers,
        SaveLayout(model),
        rowsAtOnceMax: bulk.rowsAtOnceMax
      )
      return (
        log, try CommitTable(db, generation: facts.generation), history,
        UndoLog(db, model: model, log: log), tables, try Statements(db)
      )
    }
    try rebuildTexts()
  }

  /// Rebuilds text that was folded by another ICU version, as one commit without an author.
  private func rebuildTexts() throws {
    let version = Folding.version
    try queue.use { db in
      let former = try StoreMetadata.unicode.value(db)
      guard former != version else { return }
      try db.transaction(.immediate) {
        let (head, _) = try sealedHead()
        try history.derived.refreshTexts()
        // This commit keeps subscriptions that sort or compare texts from resuming at an earlier
        // position.
        if try former != nil || log.head().lastLogged > head.lastChange {
          let stamp = CommitStamp(
            time: environment.now(),
            mark: environment.random(),
            context: CommitStamp.foldingContext
          )
          try history.writeEntry(head.number + 1, stamp)
          try UndoLog.recordBarrier(at: head.number + 1, db)
        }
        try StoreMetadata.unicode.set(version, db)
      }
    }
  }

  /// Performs saves as one SQLite transaction.
  ///
  /// - Parameter requests: The saves, in the order of their arrival.
  /// - Returns: One outcome for each save, in the same order.
  func save(_ requests: [SaveRequest]) -> [Result<SaveOutcome, StoreError>] {
    do {
      return try queue.use { db in try commit(requests, db) }
    } catch {
      guard requests.count > 1, !Self.concernsWholeStore(error) else {
        let failure = StoreError(any: error)
        return requests.map { _ in .failure(failure) }
      }
      // One save made SQLite roll the whole group back, so each save is repeated alone.
      return requests.flatMap { save([$0]) }
    }
  }

  /// Returns whether an error concerns the whole store, so that each save would fail alone too.
  private static func concernsWholeStore(_ error: any Error) -> Bool {
    if (error as? StoreError)?.code == .storeCorrupt { return true }
    guard let error = error as? SQLiteError else { return false }
    // A damaged page affects only the saves that read it. On a full disk, small saves of a group
    // may succeed although large saves fail.
    return [.busy, .readOnly, .notADatabase, .cannotOpen].contains(error.code)
  }

  private func commit(
    _ requests: [SaveRequest],
    _ db: SQLiteConnection
  ) throws -> [Result<SaveOutcome, StoreError>] {
    try setDurability(requests.contains { $0.durability == .full }, db)
    if requests.count > 1, savepointGroups == 0 {
      // Savepoints cost copies of pages, and few saves fail.
      do {
        return try commit(requests, failsTogether: true, db)
      } catch {
        if Self.concernsWholeStore(error) { throw error }
        savepointGroups = Self.savepointGroupsMax
      }
    }
    savepointGroups = max(0, savepointGroups - 1)
    return try commit(requests, failsTogether: requests.count == 1, db)
  }

  /// Commits saves as one transaction.
  ///
  /// - Parameters:
  ///   - requests: The saves.
  ///   - failsTogether: Whether the failure of one save makes all saves fail. If changes of an
  ///     external client are sealed first, a failed save does not affect the other saves.
  ///   - instructionsMax: The maximum number of SQLite's instructions; nil for no limit. A
  ///     transaction with a limit must not seal changes of an external client.
  ///   - db: The writer's connection.
  /// - Returns: One outcome for each save.
  /// - Throws: `UnsealedChanges` if changes have to be sealed in a transaction with a limit; errors
  ///   that make all saves fail. Nothing is stored then.
  func commit(
    _ requests: [SaveRequest],
    failsTogether: Bool,
    instructionsMax: Int? = nil,
    _ db: SQLiteConnection
  ) throws -> [Result<SaveOutcome, StoreError>] {
    try opened.check()
    try statements.begin.run()
    do {
      try db.checkLog()
    } catch {
      try statements.rollback.run()
      throw error
    }
    // BEGIN and COMMIT run without the limit, because SQLite could report an interruption after the
    // statement has taken effect.
    if let instructionsMax { db.progress.limit(instructionsMax: instructionsMax) }
    defer { db.progress.liftLimit() }
    do {
      var (head, sealed) = try sealedHead(seals: instructionsMax == nil)
      // Sealed changes are committed even if the save after them fails.
      let failsWholeTransaction = failsTogether && !sealed
      var outcomes: [Result<SaveOutcome, StoreError>] = []
      for request in requests {
        outcomes.append(
          try performOne(request, &head, db, failsWholeTransaction: failsWholeTransaction)
        )
      }
      db.progress.liftLimit()
      // The files may have changed during a long transaction.
      try opened.check()
      try db.checkLog()
      try statements.commit.run()
      known = head
      return outcomes
    } catch {
      known = nil
      tables.invalidate()
      db.progress.liftLimit()
      if db.isInTransaction { try statements.rollback.run() }
      throw error
    }
  }

  /// Performs one request, in a savepoint unless its failure may roll back the whole transaction.
  ///
  /// - Throws: Only errors that make the whole transaction fail.
  private func performOne(
    _ request: SaveRequest,
    _ head: inout HistoryHead,
    _ db: SQLiteConnection,
    failsWholeTransaction: Bool
  ) throws -> Result<SaveOutcome, StoreError> {
    do {
      if let repeated = try repeatedOutcome(request) { return .success(repeated) }
      try request.interruption?.check()
    } catch let error as StoreError {
      return .failure(error)
    } catch let error as Interrupted {
      return .failure(StoreError(error))
    }
    if request.isDryRun { return .success(try performDryRun(request, head, db)) }
    if !failsWholeTransaction { try statements.savepoint.run() }
    do {
      let outcome = try perform(request, head, db)
      let context = outcome.reverted.count == 1 ? outcome.reverted[0].group.context : nil
      let stamp = CommitStamp(
        time: environment.now(),
        mark: environment.random(),
        author: request.author,
        context: request.context ?? context,
        process: request.process,
        client: request.transaction,
        answer: request.transaction.map { _ in
          outcome.result.storedText(of: request.method, in: facts.model)
        }
      )
      let lastLogged = try log.lastLogged()
      // A save without changes gets an entry only if its transaction or its reverts must be
      // recorded.
      if lastLogged > head.lastChange || request.transaction != nil
        || !outcome.reverted.isEmpty
      {
        try history.writeEntry(head.number + 1, stamp)
        if let revert = request.revert {
          try undoLog.record(outcome.reverted, revert.direction, in: head.number + 1)
        }
        head = HistoryHead(
          number: head.number + 1,
          mark: stamp.mark,
          lastChange: lastLogged,
          lastLogged: lastLogged,
          mayDangle: head.mayDangle || outcome.leavesDangling
        )
      }
      if outcome.leavesDangling { try history.dangling.mark() }
      if !failsWholeTransaction { try statements.release.run() }
      return .success(
        SaveOutcome(token: token(head), result: outcome.result, dryRun: nil)
      )
    } catch {
      // If SQLite rolled back the whole transaction, the group cannot continue.
      guard db.isInTransaction, !failsWholeTransaction else { throw error }
      if let error = error as? SQLiteError, Self.concernsWholeStore(error) { throw error }
      try statements.rollbackToSavepoint.run()
      try statements.release.run()
      return .failure(StoreError(any: error))
    }
  }

  private func perform(
    _ request: SaveRequest,
    _ head: HistoryHead,
    _ db: SQLiteConnection
  ) throws -> SavePipeline.Outcome {
    let pipeline = SavePipeline(
      tables: tables,
      db: db,
      log: log,
      commits: commits,
      triggers: history.triggers,
      facts: facts,
      mergePolicies: mergePolicies,
      bulk: bulk
    )
    if let revert = request.revert {
      // A revert may make dangling link rows of an external client valid again. With `isForeign`,
      // the values that triggers maintain are computed again too.
      return try pipeline.revert(revert, request, undoLog, head) {
        try history.derived.refresh(after: head.lastChange, isForeign: true)
      }
    }
    return try pipeline.save(request) {
      try history.derived.refresh(after: head.lastChange, isForeign: false)
    }
  }

  /// Returns whether an object still differs from its state before an update.
  ///
  /// An update may change derived values and later restore their former values.
  private func differs(_ change: HistoryChange) throws -> Bool {
    let entity = tables.layout.entity(change.key)
    guard change.properties.allSatisfy(entity.entity.isDerived), !change.properties.isEmpty else {
      return true
    }
    return try change.before.contains { value in
      guard let column = entity.columns[value.property] else { return true }
      return try tables[change.key].value(column, of: change.key.object)
        != value.stored(in: entity.entity)
    }
  }

  /// Performs a request and rolls it back.
  ///
  /// - Throws: Only errors that make the whole transaction fail.
  private func performDryRun(
    _ request: SaveRequest,
    _ head: HistoryHead,
    _ db: SQLiteConnection
  ) throws -> SaveOutcome {
    try statements.savepoint.run()
    let outcome: SaveOutcome
    do {
      let performed = try perform(request, head, db)
      let changes = try log.changes(after: head)
      let builder = SaveResultBuilder(tables: tables, request: request, reported: [:])
      outcome = SaveOutcome(
        token: token(head),
        result: performed.result,
        dryRun: DryRun(
          error: nil,
          deletes: performed.deleted,
          // An undo restores objects with their former IDs. Other inserted objects have no IDs yet,
          // so the list omits them.
          updates: try log.netChanges(after: head).filter {
            try $0.kind == .insert ? request.revert != nil : $0.kind == .update && differs($0)
          }.map(\.key).sorted().map(builder.name),
          changes: changes
        )
      )
    } catch {
      guard db.isInTransaction else { throw error }
      if let error = error as? SQLiteError, Self.concernsWholeStore(error) { throw error }
      let changes = ChangeSet(from: head.number, through: head.number)
      var result = SaveResult()
      if request.revert != nil { result.undone = 0 }
      outcome = SaveOutcome(
        token: token(head),
        result: result,
        dryRun: DryRun(error: StoreError(any: error), deletes: [], updates: [], changes: changes)
      )
    }
    try statements.rollbackToSavepoint.run()
    try statements.release.run()
    // The object numbers of the rolled back inserts are free again.
    tables.invalidate()
    return outcome
  }

  /// Seals the changes that were logged after the newest commit.
  ///
  /// - Returns: The head of the history log, and whether changes were sealed.
  ///
  /// - Throws: `UnsealedChanges` if changes have to be sealed and `seals` is false; `SQLiteError`.
  private func sealedHead(seals: Bool = true) throws -> (HistoryHead, sealed: Bool) {
    var head = try log.head()
    if head != known { tables.invalidate() }
    if head.lastLogged < head.lastChange {
      try history.continueChangeNumbers()
      head = try log.head()
    }
    guard !head.isSealed else { return (head, false) }
    guard seals else { throw UnsealedChanges() }
    let stamp = CommitStamp(
      time: environment.now(),
      mark: environment.random(),
      author: HistoryWriter.externalAuthor
    )
    try history.seal(head, stamp)
    return (try log.head(), true)
  }

  /// Seals the changes made by external SQLite clients.
  ///
  /// - Returns: The number of the newest commit.
  /// - Throws: `SQLiteError`.
  func seal() throws -> Int64 {
    try queue.use { db in
      _ = try commit([], db)
      return known?.number ?? 0
    }
  }

  private func repeatedOutcome(_ request: SaveRequest) throws -> SaveOutcome? {
    guard let client = request.transaction else { return nil }
    let row = statements.repeated
    defer { row.reset() }
    row.bind(client, at: 1)
    guard try row.step() else { return nil }
    let token = StoreToken(
      generation: facts.generation,
      number: row.integer(0),
      mark: UInt32(truncatingIfNeeded: row.integer(1))
    )
    let emptyDryRun =
      request.isDryRun
      ? DryRun(
        error: nil,
        deletes: [],
        updates: [],
        changes: ChangeSet(from: token.number, through: token.number)
      ) : nil
    guard let kept = SaveResult.read(stored: row.text(2)) else {
      throw StoreError(
        .invalidRequest,
        "The transaction \(client) was carried out as commit \(token), but its result is not stored"
      )
    }
    guard kept.method == request.method else {
      throw StoreError(
        .invalidRequest,
        "The transaction \(client) was carried out by \(kept.method.rawValue), "
          + "not by \(request.method.rawValue)",
        hint: "Give each transaction its own UUID"
      )
    }
    return SaveOutcome(token: token, result: kept.result, dryRun: emptyDryRun)
  }

  private func token(_ head: HistoryHead) -> StoreToken {
    StoreToken(generation: facts.generation, number: head.number, mark: head.mark)
  }

  /// Sets the durability of the next transaction.
  ///
  /// `synchronous` cannot change inside a transaction, so a group is as durable as its strictest
  /// save.
  func setDurability(_ full: Bool, _ db: SQLiteConnection) throws {
    guard full != isDurable else { return }
    try db.set(full ? .full : .normal)
    isDurable = full
  }

  /// Sets the time for which the next transaction waits for the lock of another process.
  func waitForLock(seconds: Double) {
    do {
      try queue.use { db in db.setBusyMax(seconds: seconds) }
    } catch {
      // The body does not throw.
    }
  }

  /// Returns the value of `PRAGMA synchronous`: 2 is FULL, 1 is NORMAL.
  func synchronous() throws -> Int {
    try queue.use { db in try db.integer("PRAGMA synchronous").map { Int($0) } ?? -1 }
  }
}
