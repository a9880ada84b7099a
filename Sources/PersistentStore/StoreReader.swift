import CordialValues
package import JSON
package import ObjectModel
import PersistentHistory
import SQLite
import StoreLayout

/// A foreign client wrote what has to be sealed before anyone reads.
package struct UnsealedChanges: Error {
  package init() {}
}

/// One read connection with its statements.
///
/// Used by one thread at a time: the event loop that owns it, or the worker to which the pool
/// lends it.
package final class StoreReader {
  let facts: StoreMaker.Facts
  private let queue: SQLiteQueue
  private let log: HistoryLog
  private let past: PastTables
  private let begin: PreparedStatement
  private let commit: PreparedStatement
  private var statements: [String: PreparedStatement] = [:]
  private var plans: [PlanKey: FetchPlan] = [:]
  /// The head that was read last, the version of the file at which it was, and its token's text.
  private var known: (head: HistoryHead, version: UInt32, token: String)?
  /// How objects of an entity are looked up one at a time, by its number.
  private var lookUps: [Int: LookUp] = [:]
  private var texts: [Int: (attributes: [String], statement: PreparedStatement)] = [:]
  private static let statementsMax = 256

  private struct LookUp {
    let plan: FetchPlan
    let row: PreparedStatement
    let mayDangle: Bool
  }

  private struct PlanKey: Hashable {
    let entity: String
    let mayDangle: Bool
  }

  init(path: String, role: StoreConnection.Role, facts: StoreMaker.Facts) throws {
    self.facts = facts
    let model = facts.model
    let queue = try StoreConnection.open(path, role)
    self.queue = queue
    (log, past, begin, commit) = try queue.use { db in
      (
        try HistoryLog(db, model: model), PastTables(db, model: model),
        try PreparedStatement(db, "BEGIN"), try PreparedStatement(db, "COMMIT")
      )
    }
  }

  package var model: Model { facts.model }
  package var generation: UInt32 { facts.generation }

  /// Reads in one read transaction, so that everything in it is of one commit.
  ///
  /// - Parameters:
  ///   - hidesUnsealed: Whether the snapshot is of the newest sealed commit, also while an external
  ///     client's changes are not sealed.
  ///   - body: Reads.
  /// - Returns: What the body returned.
  /// - Throws: `UnsealedChanges` when the writer has to seal first; `SQLiteError`; what the body
  ///   throws.
  package func snapshot<Result>(
    hidingUnsealed hidesUnsealed: Bool = false,
    _ body: (StoreSnapshot) throws -> Result
  ) throws -> Result {
    // GRDB compiles the statements; they are stepped by whoever owns this reader, without its
    // queue, which would cost a look-up by key a tenth of its time.
    try Self.reading { try begin.run() }
    let result: Result
    do {
      let head = try Self.reading { try readHead() }
      guard head.isSealed || hidesUnsealed else { throw UnsealedChanges() }
      try Self.reading { try hideUnsealed(head) }
      result = try body(
        StoreSnapshot(
          reader: self,
          log: log,
          head: head.sealed,
          hidesUnsealedChanges: !head.isSealed
        )
      )
    } catch {
      try commit.run()
      throw error
    }
    try commit.run()
    return result
  }

  /// Has the tables show the newest sealed commit.
  private func hideUnsealed(_ head: HistoryHead) throws {
    // SQLite compiles the statements of the connection again when this changes anything.
    if !head.isSealed {
      try queue.use { _ in try past.hide(after: head.lastChange, through: head.lastLogged) }
    } else if past.isHiding {
      try queue.use { _ in try past.showAll() }
    }
  }

  /// What fails here is the store's, whatever the body is about.
  private static func reading<Result>(_ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch let error as SQLiteError {
      throw StoreError(error)
    }
  }

  /// Writes one object, reading nothing else while nobody commits: the statement that reads its
  /// row is the read transaction.
  ///
  /// - Parameters:
  ///   - id: The object's wrapped ID.
  ///   - writer: Where to write.
  ///   - begin: Called before, with the position that is shown.
  /// - Returns: Whether it was written; what needs more than this, such as an object that is gone,
  ///   is for a snapshot.
  /// - Throws: `SQLiteError`.
  package func write(
    _ id: String,
    to writer: inout JSONWriter,
    _ begin: (_ token: String, inout JSONWriter) -> Void
  ) throws -> Bool {
    guard let id = WrappedID(id, store: facts.identifier), case .object(let object) = id.key,
      let named = model.entity(named: id.entity),
      case let entity = model.entity(model.key(named.number, object).entity), !entity.isAbstract,
      let lookUp = try lookUp(entity)
    else { return false }
    let row = lookUp.row
    defer { row.reset() }
    row.bind(object, at: 1)
    guard try row.step() else { return false }
    if row.dataVersion != known?.version { _ = try readHead() }
    guard let known, known.head.isSealed, known.head.mayDangle == lookUp.mayDangle else {
      return false
    }
    begin(known.token, &writer)
    lookUp.plan.encoder.write(row, to: &writer)
    return true
  }

  /// How objects of an entity are looked up; nil before the first snapshot.
  private func lookUp(_ entity: EntityDescription) throws -> LookUp? {
    guard let known else { return nil }
    let mayDangle = known.head.mayDangle
    if let made = lookUps[entity.number], made.mayDangle == mayDangle { return made }
    let plan = try wholePlan(entity, mayDangle: mayDangle)
    // Not among the other statements: those may be forgotten while this one is in use.
    let row = try queue.use { db in try PreparedStatement(db, plan.rowSQL) }
    let made = LookUp(plan: plan, row: row, mayDangle: mayDangle)
    lookUps[entity.number] = made
    return made
  }

  private func readHead() throws -> HistoryHead {
    let head = try log.head()
    known = (head, begin.dataVersion, "\(token(head))")
    return head
  }

  func token(_ head: HistoryHead) -> StoreToken {
    StoreToken(generation: generation, number: head.number, mark: head.mark)
  }

  /// The statement of that SQL, compiled once while there is room.
  func statement(_ sql: String) throws -> PreparedStatement {
    if let known = statements[sql] { return known }
    if statements.count >= Self.statementsMax { statements.removeAll() }
    let made = try queue.use { db in try PreparedStatement(db, sql) }
    statements[sql] = made
    return made
  }

  /// The statement that reads texts of an object; an entity is asked for the same ones each time.
  func textStatement(
    _ entity: Int,
    _ attributes: [String]
  ) throws -> PreparedStatement {
    if let known = texts[entity], known.attributes == attributes { return known.statement }
    let list = (["\"_id\""] + attributes.map(SQLNames.quoted)).joined(separator: ", ")
    let table = SQLNames.quoted(model.entity(entity).name)
    let made = try queue.use { db in
      try PreparedStatement(db, "SELECT \(list) FROM \(table) WHERE \"_id\" = ?")
    }
    texts[entity] = (attributes, made)
    return made
  }

  /// The plan of every attribute and to-one of an entity.
  func wholePlan(_ entity: EntityDescription, mayDangle: Bool) throws -> FetchPlan {
    let key = PlanKey(entity: entity.name, mayDangle: mayDangle)
    if let known = plans[key] { return known }
    let plan = try FetchCompiler.plan(
      FetchRequest(entity: entity.name, subentities: false),
      model: model,
      mayDangle: mayDangle
    )
    plans[key] = plan
    return plan
  }
}
