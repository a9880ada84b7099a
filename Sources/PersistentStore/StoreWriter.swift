import CordialValues
import JSON
import ObjectModel
import PersistentHistory
import SQLite
import StoreLayout

/// Where the store asks for what it must not invent: the time of commits, and chance.
///
/// The times of `now()` are SQLite's: a trigger sets them in a foreign client's transaction too.
package struct StoreEnvironment: Sendable {
  /// Milliseconds since 1970.
  package let now: @Sendable () -> Int64
  package let random: @Sendable () -> UInt32

  /// Merge policies of the program's own, by the names under which saves ask for them.
  ///
  /// For one save they may be asked more than once.
  package var mergePolicies: [String: MergeDecision] = [:]

  /// From how many rows on a save writes them together.
  package var bulk = BulkLimits()

  package init(now: @escaping @Sendable () -> Int64, random: @escaping @Sendable () -> UInt32) {
    self.now = now
    self.random = random
  }
}

/// What makes saves of many rows quicker, and few ones slower.
package struct BulkLimits: Sendable {
  /// From how many objects on it pays to have all statements compiled anew, which doing without
  /// triggers takes.
  package var rowsMin = 1000
  /// How many new rows one statement writes at most.
  package var rowsAtOnceMax = 16

  package init() {}
}

/// The only writer: it commits waiting saves as a group, in which none hurts another.
///
/// `WriterQueue` confines it to its queue.
final class StoreWriter {
  let queue: SQLiteQueue
  let facts: StoreMaker.Facts
  let path: String
  /// Which file was opened.
  let opened: FileIdentity?
  let environment: StoreEnvironment
  private let log: HistoryLog
  let history: HistoryWriter
  private let undoLog: UndoLog
  private let tables: StoreTables
  private let statements: Statements
  /// The head after our last commit; another means that another process wrote.
  private var known: HistoryHead?
  private var isDurable = true
  /// How many groups are committed with a savepoint for each save, since one of a group failed.
  private var carefulGroups = 0
  private static let carefulGroupsMax = 16

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

  init(path: String, facts: StoreMaker.Facts, environment: StoreEnvironment) throws {
    self.facts = facts
    self.path = path
    let model = facts.model
    self.environment = environment
    let queue = try StoreConnection.open(path, .writer)
    opened = FileIdentity(path)
    self.queue = queue
    // Nothing is written where nothing is missing: the file may be one that can only be read.
    let isComplete = try queue.use { db in
      try db.hasTable("cordial_undo") && db.hasTable("cordial_follower")
    }
    if !isComplete { try queue.write { db in try db.execute(LogTables.late) } }
    try Self.renewTriggers(queue, model)
    (log, history, undoLog, tables, statements) = try queue.use { db in
      let log = try HistoryLog(db, model: model)
      let history = try HistoryWriter(db, model: model)
      let tables = StoreTables(
        db,
        history.triggers,
        SaveLayout(model),
        rowsAtOnceMax: environment.bulk.rowsAtOnceMax
      )
      return (
        log, history, UndoLog(db, model: model, log: log), tables, try Statements(db)
      )
    }
    try renewTexts()
  }

  /// Puts our triggers in the place of those that an earlier program made.
  private static func renewTriggers(_ queue: SQLiteQueue, _ model: Model) throws {
    let version = "SELECT value FROM cordial_meta WHERE name = 'triggers'"
    let kept = try queue.use { db in try db.text(version) }
    guard kept != LogTriggers.formatVersion else { return }
    try queue.use { db in
      try db.transaction(.immediate) {
        // Another process may have been faster.
        guard try db.text(version) != LogTriggers.formatVersion else { return }
        for entity in model.entities {
          for name in StoreSchema.triggerNames(of: entity, model) {
            try db.execute("DROP TRIGGER IF EXISTS \(name)")
          }
          for trigger in LogTriggers.triggers(for: entity, in: model) {
            try db.execute(trigger)
          }
        }
        try db.execute(
          "INSERT OR REPLACE INTO cordial_meta VALUES ('triggers', ?)",
          [LogTriggers.formatVersion]
        )
      }
    }
  }

  /// Makes anew what another ICU made, as one commit of nobody's.
  private func renewTexts() throws {
    let version = Folding.version
    try queue.use { db in
      let kept = try db.text(
        "SELECT value FROM cordial_meta WHERE name = 'unicode'"
      )
      guard kept != version else { return }
      try db.transaction(.immediate) {
        let (head, _) = try sealedHead()
        try history.derived.refreshTexts()
        if try log.head().lastLogged > head.lastChange {
          let stamp = CommitStamp(
            time: environment.now(),
            mark: environment.random(),
            context: "unicode"
          )
          try history.enter(head.number + 1, stamp)
          try UndoLog.enterBarrier(at: head.number + 1, db)
        }
        try db.execute(
          "INSERT OR REPLACE INTO cordial_meta VALUES ('unicode', ?)",
          [version]
        )
      }
    }
  }

  /// Carries out saves as one SQLite transaction.
  ///
  /// - Parameter requests: The saves, in the order in which they came.
  /// - Returns: One outcome for each, in that order.
  func save(_ requests: [SaveRequest]) -> [Result<SaveOutcome, StoreError>] {
    do {
      return try queue.use { db in try commit(requests, db) }
    } catch {
      guard requests.count > 1, !Self.isAboutTheWhole(error) else {
        let failure = StoreError(any: error)
        return requests.map { _ in .failure(failure) }
      }
      // SQLite rolled the whole group back because of one of its saves: each is tried alone.
      return requests.flatMap { save([$0]) }
    }
  }

  /// Whether trying again alone cannot help.
  private static func isAboutTheWhole(_ error: any Error) -> Bool {
    if (error as? StoreError)?.code == .storeCorrupt { return true }
    guard let error = error as? SQLiteError else { return false }
    return [.busy, .readOnly, .notADatabase, .cannotOpen]
      .contains(error.code)
  }

  private func commit(
    _ requests: [SaveRequest],
    _ db: SQLiteConnection
  ) throws -> [Result<SaveOutcome, StoreError>] {
    // What is written to a file that nobody can open any more would be lost.
    guard FileIdentity(path) == opened else { throw StoreError.storeGone(path) }
    try setDurability(requests.contains { $0.durability == .full }, db)
    if requests.count > 1, carefulGroups == 0 {
      // Savepoints keep copies of pages for saves that fail, which few do.
      do {
        return try commit(requests, isWhole: true, db)
      } catch {
        if Self.isAboutTheWhole(error) { throw error }
        carefulGroups = Self.carefulGroupsMax
      }
    }
    carefulGroups = max(0, carefulGroups - 1)
    return try commit(requests, isWhole: requests.count == 1, db)
  }

  // With `isWhole` one save that fails makes all of them fail, unless something has to be sealed
  // first.
  private func commit(
    _ requests: [SaveRequest],
    isWhole: Bool,
    _ db: SQLiteConnection
  ) throws -> [Result<SaveOutcome, StoreError>] {
    try statements.begin.run()
    do {
      var (head, sealed) = try sealedHead()
      // What was sealed stays, whatever becomes of the save behind it.
      let isAlone = isWhole && !sealed
      var outcomes: [Result<SaveOutcome, StoreError>] = []
      for request in requests {
        outcomes.append(try one(request, &head, db, isAlone: isAlone))
      }
      try statements.commit.run()
      known = head
      return outcomes
    } catch {
      known = nil
      tables.invalidate()
      if db.isInTransaction { try statements.rollback.run() }
      throw error
    }
  }

  /// Saves one request, in a savepoint where its neighbours must not fail with it.
  ///
  /// - Throws: Only what makes the whole transaction fail.
  private func one(
    _ request: SaveRequest,
    _ head: inout HistoryHead,
    _ db: SQLiteConnection,
    isAlone: Bool
  ) throws -> Result<SaveOutcome, StoreError> {
    do {
      if let repeated = try answerToRepetition(request) { return .success(repeated) }
    } catch let error as StoreError {
      return .failure(error)
    }
    if request.isDryRun { return .success(try rehearse(request, head, db)) }
    if !isAlone { try statements.savepoint.run() }
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
      // What changes nothing is entered only where it has to be known later.
      if lastLogged > head.lastChange || request.transaction != nil
        || !outcome.reverted.isEmpty
      {
        try history.enter(head.number + 1, stamp)
        if let revert = request.revert {
          try undoLog.enter(outcome.reverted, revert.direction, in: head.number + 1)
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
      if !isAlone { try statements.release.run() }
      return .success(
        SaveOutcome(token: token(head), result: outcome.result, dryRun: nil)
      )
    } catch {
      // Without a transaction there is nothing to go on with: SQLite rolled all of it back.
      guard db.isInTransaction, !isAlone else { throw error }
      if let error = error as? SQLiteError, Self.isAboutTheWhole(error) { throw error }
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
      triggers: history.triggers,
      facts: facts,
      environment: environment
    )
    if let revert = request.revert {
      // What an external client left, as link rows of what it deleted, may become valid again.
      return try pipeline.revert(revert, request, undoLog, head) {
        try history.derived.refresh(after: head.lastChange, isForeign: true)
      }
    }
    return try pipeline.save(request) {
      try history.derived.refresh(after: head.lastChange, isForeign: false)
    }
  }

  /// Whether an updated object is other than it was: a derived value may have changed back.
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

  /// Carries a request out and takes it back.
  ///
  /// - Throws: Only what makes the whole transaction fail.
  private func rehearse(
    _ request: SaveRequest,
    _ head: HistoryHead,
    _ db: SQLiteConnection
  ) throws -> SaveOutcome {
    try statements.savepoint.run()
    let outcome: SaveOutcome
    do {
      let carried = try perform(request, head, db)
      let changes = try log.changes(behind: head)
      let builder = SaveResultBuilder(tables: tables, request: request, reported: [:])
      outcome = SaveOutcome(
        token: token(head),
        result: carried.result,
        dryRun: DryRun(
          error: nil,
          deletes: carried.deleted,
          // What an undo brings back has its IDs; other inserts have none yet.
          updates: try log.netChanges(behind: head).filter {
            try $0.kind == .insert ? request.revert != nil : $0.kind == .update && differs($0)
          }.map(\.key).sorted().map(builder.name),
          changes: changes
        )
      )
    } catch {
      guard db.isInTransaction else { throw error }
      if let error = error as? SQLiteError, Self.isAboutTheWhole(error) { throw error }
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
    // Numbers that were given are free again.
    tables.invalidate()
    return outcome
  }

  /// The head with nothing unsealed behind it, and whether something had to be sealed.
  private func sealedHead() throws -> (HistoryHead, sealed: Bool) {
    var head = try log.head()
    if head != known { tables.invalidate() }
    if head.lastLogged < head.lastChange {
      try history.keepCounting()
      head = try log.head()
    }
    guard !head.isSealed else { return (head, false) }
    let stamp = CommitStamp(
      time: environment.now(),
      mark: environment.random(),
      author: HistoryWriter.externalAuthor
    )
    try history.seal(head, stamp)
    return (try log.head(), true)
  }

  /// Seals what a foreign client wrote.
  ///
  /// - Returns: The number of the newest commit.
  /// - Throws: `SQLiteError`.
  func seal() throws -> Int64 {
    try queue.use { db in
      _ = try commit([], db)
      return known?.number ?? 0
    }
  }

  private func answerToRepetition(_ request: SaveRequest) throws -> SaveOutcome? {
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
    let nothing =
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
        "The transaction \(client) was carried out as commit \(token), and its result is not kept"
      )
    }
    guard kept.method == request.method else {
      throw StoreError(
        .invalidRequest,
        "The transaction \(client) was carried out by \(kept.method.rawValue), "
          + "not by \(request.method.rawValue)",
        hint: "Give each transaction a UUID of its own"
      )
    }
    return SaveOutcome(token: token, result: kept.result, dryRun: nothing)
  }

  private func token(_ head: HistoryHead) -> StoreToken {
    StoreToken(generation: facts.generation, number: head.number, mark: head.mark)
  }

  /// `synchronous` cannot change inside a transaction, so a group is as durable as its strictest.
  func setDurability(_ full: Bool, _ db: SQLiteConnection) throws {
    guard full != isDurable else { return }
    try db.set(full ? .full : .normal)
    isDurable = full
  }

  /// Moves what the write-ahead log holds into the store's file, as far as nobody reads it, and
  /// ends the connection.
  func close() throws {
    try queue.use { db in try db.checkpoint() }
  }

  /// The value of `PRAGMA synchronous`: 2 is FULL, 1 is NORMAL.
  func synchronous() throws -> Int {
    try queue.use { db in try db.integer("PRAGMA synchronous").map { Int($0) } ?? -1 }
  }
}
