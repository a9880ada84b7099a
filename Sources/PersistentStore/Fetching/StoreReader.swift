package import CordialValues
package import Interruptions
package import JSON
package import ObjectModel
import PersistentHistory
import SQLite
import StoreLayout

/// The error of a read that fails because the writer must first seal an external client's changes.
package struct UnsealedChanges: Error {
  package init() {}
}

/// One read connection with its statements.
///
/// Only one thread at a time uses a reader: the event loop that owns the reader, or the worker that
/// borrows the reader from the pool.
package final class StoreReader {
  let facts: StoreFile.Facts
  /// The SQL of the plans that the reader compiled.
  let planTexts = SQLTexts()
  let queue: SQLiteQueue
  private let files: OpenedFiles
  private let log: HistoryLog
  let commits: CommitTable
  private let past: PastTables
  private let begin: PreparedStatement
  private let commit: PreparedStatement
  private var statements = TextCache<PreparedStatement>(countMax: 256, bytesMax: 8 << 20)
  private var plans: [PlanKey: FetchPlan] = [:]
  /// The last head that was read, the file's data version at that time, and the head's token as
  /// text.
  private var known: (head: HistoryHead, version: UInt32, token: String)?
  /// The statements that look up one object, by entity number.
  private var lookUps: [Int: LookUp] = [:]
  private var texts: [Int: (attributes: [String], statement: PreparedStatement)] = [:]
  /// Whether a sorting statement sorts its whole result, by SQL text.
  var wholeSorts = TextCache<Bool>(countMax: 256, bytesMax: 1 << 20)
  let unindexed: UnindexedSorts
  private let used: UsedIndexes
  /// Whether an event loop uses the reader.
  var isOnLoop = false
  /// The number of statements that snapshots have run on this connection.
  package private(set) var statementCount = 0

  private struct LookUp {
    let plan: FetchPlan
    let row: PreparedStatement
    let mayDangle: Bool
  }

  private struct PlanKey: Hashable {
    let entity: String
    let mayDangle: Bool
  }

  init(
    path: String,
    role: StoreConnection.Role,
    facts: StoreFile.Facts,
    unindexed: UnindexedSorts,
    used: UsedIndexes
  ) throws {
    self.facts = facts
    self.unindexed = unindexed
    self.used = used
    let model = facts.model
    let queue = try StoreConnection.open(path, role)
    self.queue = queue
    (log, commits, past, begin, commit) = try queue.use { db in
      try ComputedAttributes.add(to: db, model: model, facts.computing)
      return (
        try HistoryLog(db, model: model), try CommitTable(db, generation: facts.generation),
        PastTables(db, model: model),
        try PreparedStatement(db, "BEGIN"), try PreparedStatement(db, "COMMIT")
      )
    }
    files = OpenedFiles(path)
  }

  /// Sets the function that runs between SQLite's instructions, and may wait; nil removes the
  /// function.
  package func whenChecked(_ body: (() -> Void)?) { queue.progress.whenChecked = body }

  package var model: Model { facts.model }
  package var generation: UInt32 { facts.generation }

  /// Reads in one read transaction, so that all results are of one commit.
  ///
  /// - Parameters:
  ///   - hidesUnsealed: Whether to hide unsealed changes of an external client and show the newest
  ///     sealed commit. If false, the method throws `UnsealedChanges` while there are unsealed
  ///     changes.
  ///   - interruption: The interruption that stops the body's statements; nil for none.
  ///   - body: Reads the snapshot.
  /// - Returns: The result of the body.
  /// - Throws: `UnsealedChanges` when the writer must seal first; `Interrupted`; `SQLiteError`; the
  ///   errors of the body.
  package func snapshot<Result>(
    hidingUnsealed hidesUnsealed: Bool = false,
    interruption: Interruption? = nil,
    _ body: (StoreSnapshot) throws -> Result
  ) throws -> Result {
    try transaction(interruption) { head in
      guard head.isSealed || hidesUnsealed else { throw UnsealedChanges() }
      try Self.reading { try hideUnsealed(head) }
      return try body(
        StoreSnapshot(
          reader: self,
          log: log,
          head: head.sealed,
          hidesUnsealedChanges: !head.isSealed
        )
      )
    }
  }

  /// Reads the state of a past commit in one read transaction.
  ///
  /// - Parameters:
  ///   - token: The commit.
  ///   - interruption: The interruption that stops the body's statements; nil for none.
  ///   - body: Reads the snapshot.
  /// - Returns: The result of the body.
  /// - Throws: `historyExpired` when the log does not have the commit, or when a later commit
  ///   migrated the store; `Interrupted`; `SQLiteError`; the errors of the body.
  /// - Complexity: Linear in the changes after the commit, unless the reader already shows that
  ///   commit.
  package func snapshot<Result>(
    asOf token: StoreToken,
    interruption: Interruption? = nil,
    _ body: (StoreSnapshot) throws -> Result
  ) throws -> Result {
    try transaction(interruption) { newest in
      let oldest = try oldestPast()
      guard let entry = try commits.entry(of: token), token.number >= oldest.number else {
        throw StoreError.noCommit(token, oldest: oldest)
      }
      let head = newest.at(entry, mayDangle: try mayDangle(at: token.number, before: newest))
      try Self.reading {
        try queue.use { _ in
          guard newest.lastLogged > head.lastChange else { return try past.showAll() }
          try past.hide(after: head.lastChange, of: newest)
        }
      }
      return try body(
        StoreSnapshot(reader: self, log: log, head: head, hidesUnsealedChanges: !newest.isSealed)
      )
    }
  }

  /// Reads the state of an earlier commit in the read transaction of a snapshot.
  func earlier<Result>(
    _ position: LogPosition,
    than snapshot: StoreSnapshot,
    _ body: (StoreSnapshot) throws -> Result
  ) throws -> Result {
    let newest = snapshot.head
    let shown = past.hidden
    let result = Swift.Result {
      try Self.reading {
        try queue.use { _ in try past.hide(after: position.lastChange, of: newest) }
      }
      let head = HistoryHead(
        number: position.commit,
        mark: 0,
        lastChange: position.lastChange,
        lastLogged: position.lastChange,
        mayDangle: try mayDangle(at: position.commit, before: newest)
      )
      return try body(
        StoreSnapshot(reader: self, log: log, head: head, hidesUnsealedChanges: false)
      )
    }
    // The caller's snapshot remains in use, even if reading the earlier state failed.
    try Self.reading { try queue.use { _ in try past.restore(shown) } }
    return try result.get()
  }

  /// The interruption that currently stops the reader's statements; nil for none.
  fileprivate var interruption: Interruption? { queue.progress.interruption }

  fileprivate func stopping<Result>(
    by interruption: Interruption?,
    _ body: () throws -> Result
  ) throws -> Result {
    try queue.progress.stopping(by: interruption, body)
  }

  /// Runs a statement that an interruption can stop even while SQLite does not call the progress
  /// handler.
  fileprivate func interruptingCalls<Result>(_ body: () throws -> Result) throws -> Result {
    try queue.use { try $0.interruptingCalls(body) }
  }

  private func mayDangle(at commit: Int64, before head: HistoryHead) throws -> Bool {
    try Self.reading {
      try queue.use { try DanglingReferences.mayDangle(at: commit, before: head, $0) }
    }
  }

  /// Returns the oldest commit whose state can be read.
  fileprivate func oldestPast() throws -> StoreToken {
    let oldest = try commits.oldest()
    guard let migration = try commits.newestBarrier(.migration), migration.number > oldest.number
    else {
      return oldest
    }
    return migration
  }

  /// Runs a body in a read transaction, and passes the newest commit to the body.
  private func transaction<Result>(
    _ interruption: Interruption?,
    _ body: (HistoryHead) throws -> Result
  ) throws -> Result {
    // Only one thread at a time uses this reader, so its statements need no lock of the queue.
    try Self.reading {
      try checkFiles()
      try begin.run()
    }
    let result: Result
    do {
      result = try queue.progress.stopping(by: interruption) {
        let head = try Self.reading { try readHead() }
        return try limitingValues { try body(head) }
      }
    } catch {
      // SQLite rolls the transaction back automatically after some errors, such as disk errors.
      if try queue.use({ $0.isInTransaction }) { try commit.run() } else { past.transactionEnded() }
      throw error
    }
    try commit.run()
    // If the shared write-ahead log was replaced meanwhile, some rows may be from an earlier
    // commit.
    try Self.reading { try checkFiles() }
    return result
  }

  /// Fails if this connection no longer reads the write-ahead log to which other connections write.
  private func checkFiles() throws {
    guard files.sharesLog else { throw StoreError.storeGone(files.sharedPath) }
    if SQLiteConnection.hasLostPages { try queue.use { db in try db.checkSharing() } }
  }

  /// The maximum number of unsealed changes that a reader hides, because hiding keeps their rows in
  /// memory.
  private static let hiddenMax: Int64 = 200_000

  /// Makes the tables show the newest sealed commit.
  private func hideUnsealed(_ head: HistoryHead) throws {
    // The views change only if necessary, because SQLite then recompiles the connection's
    // statements.
    if !head.isSealed {
      guard head.lastLogged - head.lastChange <= Self.hiddenMax else {
        throw StoreError(
          .storeBusy,
          "Another program made more than \(Self.hiddenMax) changes, which are not sealed",
          hint: "Try again after a process that may write has sealed them"
        )
      }
      try queue.use { _ in try past.hide(after: head.lastChange, of: head) }
    } else if past.isHiding {
      try queue.use { _ in try past.showAll() }
    }
  }

  /// Runs a body, and throws its SQLite errors as store errors, because the store and not the
  /// request causes them.
  private static func reading<Result>(_ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch let error as SQLiteError {
      throw StoreError(error)
    }
  }

  /// Writes one object after a single look-up of its row, without a snapshot.
  ///
  /// The look-up is its own read transaction. If a process has committed meanwhile, the method also
  /// reads the new head.
  ///
  /// - Parameters:
  ///   - id: The object's wrapped ID.
  ///   - writer: The writer of the response.
  ///   - begin: Called before the object is written, with the token of the current position.
  /// - Returns: Whether the object was written; if not, for example because it was deleted, the
  ///   caller needs a snapshot.
  /// - Throws: `SQLiteError`.
  package func write(
    _ id: String,
    to writer: inout JSONWriter,
    _ begin: (_ token: String, inout JSONWriter) -> Void
  ) throws -> Bool {
    guard let id = ObjectID(id, store: facts.identifier), case .object(let object) = id.key,
      let named = model.entity(named: id.entity),
      case let entity = model.entity(model.storedKey(named.number, object).entity),
      !entity.isAbstract,
      let lookUp = try lookUp(entity)
    else { return false }
    let row = lookUp.row
    defer { row.reset() }
    row.bind(object, at: 1)
    guard try limitingValues({ try row.step() }) else { return false }
    if row.dataVersion != known?.version { _ = try readHead() }
    // The views may still hide changes that were sealed after the last snapshot.
    guard let known, known.head.isSealed, !past.isHiding,
      known.head.mayDangle == lookUp.mayDangle,
      files.sharesLog, !SQLiteConnection.hasLostPages
    else { return false }
    begin(known.token, &writer)
    lookUp.plan.encoder.write(row, to: &writer)
    return true
  }

  /// Returns the statement that looks up objects of an entity; nil before the first snapshot.
  private func lookUp(_ entity: EntityDescription) throws -> LookUp? {
    guard let known else { return nil }
    let mayDangle = known.head.mayDangle
    if let lookUp = lookUps[entity.number], lookUp.mayDangle == mayDangle { return lookUp }
    let plan = try wholePlan(entity, mayDangle: mayDangle)
    // The cache `statements` could drop a statement during its use, so the reader keeps this
    // statement in `lookUps`.
    let row = try queue.use { db in try PreparedStatement(db, plan.rowSQL) }
    let lookUp = LookUp(plan: plan, row: row, mayDangle: mayDangle)
    lookUps[entity.number] = lookUp
    return lookUp
  }

  private func readHead() throws -> HistoryHead {
    let head = try log.head()
    known = (head, begin.dataVersion, "\(token(head))")
    return head
  }

  func token(_ head: HistoryHead) -> StoreToken {
    StoreToken(generation: generation, number: head.number, mark: head.mark)
  }

  /// Returns the statement of an SQL text, which is compiled at its first use.
  func statement(_ sql: String) throws -> PreparedStatement {
    statementCount += 1
    if let known = statements[sql] { return known }
    let prepared = try queue.use { db in try PreparedStatement(db, sql) }
    statements.insert(prepared, for: sql, valueBytes: prepared.bytes)
    used.add(sql)
    return prepared
  }

  /// Returns the names of the indexes that the statements of all readers use.
  func usedIndexes() throws -> Set<String> {
    try used.names { sql in
      try QueryPlan.lines(of: sql) { text in
        try queue.use { db in try PreparedStatement(db, text) }
      }
    }
  }

  /// Returns the statement that reads texts of an object.
  ///
  /// The reader keeps one statement for each entity, because callers always request the same texts.
  func textStatement(
    _ entity: Int,
    _ attributes: [String]
  ) throws -> PreparedStatement {
    if let known = texts[entity], known.attributes == attributes { return known.statement }
    let list = (["\"_id\""] + attributes.map(SQLNames.quoted)).joined(separator: ", ")
    let table = SQLNames.quoted(model.entity(entity).name)
    let prepared = try queue.use { db in
      try PreparedStatement(db, "SELECT \(list) FROM \(table) WHERE \"_id\" = ?")
    }
    texts[entity] = (attributes, prepared)
    return prepared
  }

  /// Returns the plan that selects every attribute and to-one of an entity.
  func wholePlan(_ entity: EntityDescription, mayDangle: Bool) throws -> FetchPlan {
    let key = PlanKey(entity: entity.name, mayDangle: mayDangle)
    if let known = plans[key] { return known }
    let plan = try FetchPlan.compile(
      FetchRequest(entity: entity.name, subentities: false),
      in: FetchContext(model: model, mayDangle: mayDangle)
    )
    plans[key] = plan
    return plan
  }
}

extension StoreSnapshot {
  /// Returns the oldest commit whose state can be read.
  ///
  /// - Returns: Its token.
  /// - Throws: `SQLiteError`.
  package func oldestPast() throws -> StoreToken { try reader.oldestPast() }

  /// The interruption that stops the snapshot's statements; nil for none.
  package var interruption: Interruption? { reader.interruption }

  /// Runs a body whose statements have their own interruption.
  ///
  /// - Parameters:
  ///   - interruption: The interruption; nil for the interruption of the whole snapshot.
  ///   - body: Reads the snapshot, which remains valid if the interruption stops the body.
  /// - Returns: The result of the body.
  /// - Throws: `Interrupted`; the errors of the body.
  package func stopping<Result>(
    by interruption: Interruption?,
    _ body: () throws -> Result
  ) throws -> Result {
    try reader.stopping(by: interruption, body)
  }

  /// Runs a statement that an interruption can stop even while SQLite does not call the progress
  /// handler.
  func interruptingCalls<Result>(_ body: () throws -> Result) throws -> Result {
    try reader.interruptingCalls(body)
  }

  /// Returns the time of a commit.
  ///
  /// If the log does not have the commit, the method returns the time of the next commit in the
  /// log. If there is no later commit either, the method returns the time of the newest commit.
  ///
  /// - Parameter number: The number of the commit.
  /// - Returns: Milliseconds since 1970.
  /// - Throws: `SQLiteError`.
  package func time(of number: Int64) throws -> Int64 {
    let first = try statement(
      """
      SELECT time FROM cordial_transaction WHERE number = coalesce(
        (SELECT min(number) FROM cordial_transaction WHERE number >= ?),
        (SELECT max(number) FROM cordial_transaction))
      """
    )
    defer { first.reset() }
    first.bind(number, at: 1)
    return try first.step() ? first.integer(0) : 0
  }
}
