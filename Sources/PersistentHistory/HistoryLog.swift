// PersistentHistory: the log. Triggers, reading after a token, sealing, followers' positions.
//
// Must not know: search, subscriptions, who asks.
//
// What always holds:
// 1. A row's change and its entry in the log are one SQLite transaction, whoever writes: the
//    entry is made by triggers of built-in functions, so a foreign SQLite client makes it too.
// 2. Commits are numbered without gaps; nothing is read from the log that is not sealed.
// 3. Numbers of changes and of commits only grow.

package import CordialValues
import JSON
package import ObjectModel
package import SQLite
import StoreLayout

/// The newest commit of a store, and whether something stands behind it.
package struct HistoryHead: Sendable, Equatable {
  package let number: Int64
  package let mark: UInt32
  /// The number of its last change.
  package let lastChange: Int64
  /// The number of the last change in the log; greater than `lastChange` when a foreign client
  /// wrote what is not sealed yet.
  package let lastLogged: Int64
  /// Whether a to-one may lead to an object that is gone.
  package let mayDangle: Bool

  package init(
    number: Int64,
    mark: UInt32,
    lastChange: Int64,
    lastLogged: Int64,
    mayDangle: Bool
  ) {
    self.mayDangle = mayDangle
    self.number = number
    self.mark = mark
    self.lastChange = lastChange
    self.lastLogged = lastLogged
  }

  package var isSealed: Bool { lastLogged <= lastChange }

  /// The same commit without the unsealed changes after it.
  package var sealed: HistoryHead {
    HistoryHead(
      number: number,
      mark: mark,
      lastChange: lastChange,
      lastLogged: min(lastLogged, lastChange),
      mayDangle: mayDangle
    )
  }

  /// Where it stands in the log.
  package var position: LogPosition { LogPosition(commit: number, lastChange: lastChange) }
}

/// A place in the log: behind a commit, and so behind its last change.
package struct LogPosition: Sendable, Equatable {
  package let commit: Int64
  package let lastChange: Int64

  package init(commit: Int64, lastChange: Int64) {
    self.commit = commit
    self.lastChange = lastChange
  }
}

/// What a commit is told about itself.
package struct CommitStamp: Sendable {
  /// Milliseconds since 1970.
  package var time: Int64
  package var mark: UInt32
  package var author: String?
  package var context: String?
  package var process: String?
  /// The client's own name of the transaction, nil for none.
  package var client: String?
  /// What the client was answered, kept so that the same transaction sent again is answered alike.
  package var answer: String?

  package init(
    time: Int64,
    mark: UInt32,
    author: String? = nil,
    context: String? = nil,
    process: String? = nil,
    client: String? = nil,
    answer: String? = nil
  ) {
    self.answer = answer
    self.time = time
    self.mark = mark
    self.author = author
    self.context = context
    self.process = process
    self.client = client
  }
}

/// Reads and extends the log over one connection, on that connection's thread.
package final class HistoryLog {
  let model: Model
  private let db: SQLiteConnection
  private let headStatement: PreparedStatement
  private let lastLoggedStatement: PreparedStatement
  private let boundsStatement: PreparedStatement
  private let changesStatement: PreparedStatement
  private let changesBackwardsStatement: PreparedStatement
  private let transactionsStatement: PreparedStatement
  private let tombstoneStatement: PreparedStatement
  /// Compiled when they are first needed.
  private var backwardsStatements: (rows: PreparedStatement, commits: PreparedStatement)?

  /// Prepares the log of an opened store.
  ///
  /// - Parameters:
  ///   - db: A connection to it.
  ///   - model: The store's model.
  /// - Throws: `SQLiteError` when the log's tables are not there.
  package init(_ db: SQLiteConnection, model: Model) throws {
    self.model = model
    self.db = db
    headStatement = try PreparedStatement(db, Self.headQuery)
    lastLoggedStatement = try PreparedStatement(
      db,
      "SELECT coalesce(max(number), 0) FROM cordial_change"
    )
    boundsStatement = try PreparedStatement(
      db,
      "SELECT number, lastChange FROM cordial_transaction WHERE number IN (?1, ?2)"
    )
    let changes = """
      SELECT \(HistoryRow.columns) FROM cordial_change
      WHERE number > ?1 AND number <= ?2 ORDER BY number
      """
    changesStatement = try PreparedStatement(db, changes)
    changesBackwardsStatement = try PreparedStatement(db, changes + " DESC")
    transactionsStatement = try PreparedStatement(
      db,
      """
      SELECT number, lastChange, mark, time, author, context, process FROM cordial_transaction
      WHERE number > ?1 AND number <= ?2 ORDER BY number LIMIT ?3
      """
    )
    tombstoneStatement = try PreparedStatement(
      db,
      """
      SELECT before FROM cordial_change WHERE kind = 2 AND entity = ?1 AND object = ?2
      ORDER BY number DESC LIMIT 1
      """
    )
  }

  /// One row: number, mark and last change of the newest commit, the last logged change, and
  /// whether a to-one may lead to an object that is gone.
  package static let headQuery = """
    SELECT number, mark, lastChange, coalesce((SELECT max(number) FROM main.cordial_change), 0),
      \(DanglingReferences.isMarked)
    FROM cordial_transaction ORDER BY number DESC LIMIT 1
    """

  /// The newest commit that the connection sees.
  ///
  /// - Returns: The head.
  /// - Throws: `SQLiteError`.
  package func head() throws -> HistoryHead {
    defer { headStatement.reset() }
    guard try headStatement.step() else {
      throw SQLiteError(.corrupt, "The log has no first entry")
    }
    return HistoryHead(
      number: headStatement.integer(0),
      mark: UInt32(truncatingIfNeeded: headStatement.integer(1)),
      lastChange: headStatement.integer(2),
      lastLogged: headStatement.integer(3),
      mayDangle: headStatement.integer(4) != 0
    )
  }

  /// The number of the last logged change, entered or not.
  ///
  /// - Returns: The number, 0 where nothing was ever logged.
  /// - Throws: `SQLiteError`.
  package func lastLogged() throws -> Int64 {
    defer { lastLoggedStatement.reset() }
    return try lastLoggedStatement.step() ? lastLoggedStatement.integer(0) : 0
  }

  /// Everything that changed between two heads, taken together, if that is little enough.
  ///
  /// - Parameters:
  ///   - from: The commit after which it begins, and its last change.
  ///   - head: The newest commit, with which it ends.
  ///   - changesMax: How many changes may be logged between the two.
  /// - Returns: The change set; nil when there are more changes, or the log does not reach back.
  /// - Throws: `SQLiteError`.
  /// - Complexity: Linear in the changes logged between the two.
  package func changeSet(
    from: LogPosition,
    to head: HistoryHead,
    changesMax: Int
  ) throws -> ChangeSet? {
    guard head.lastChange - from.lastChange <= Int64(changesMax), try isKept(from.commit) else {
      return nil
    }
    var set = try authors(from: from.commit, through: head.number)
    try eachRow(after: from.lastChange, through: head.lastChange) { row in
      for change in row.changes(in: self.model) { set.add(change) }
    }
    return set
  }

  /// Everything that changed after one commit and up to another, taken together.
  ///
  /// - Parameters:
  ///   - from: The commit after which it begins.
  ///   - through: The last commit of it; both are sealed.
  /// - Returns: The change set.
  /// - Throws: `SQLiteError`.
  /// - Complexity: Linear in the changes logged between the two.
  package func changeSet(from: Int64, through: Int64) throws -> ChangeSet {
    var set = try authors(from: from, through: through)
    let range = try changeRange(from: from, through: through)
    try eachRow(after: range.lowerBound, through: range.upperBound) { row in
      for change in row.changes(in: self.model) { set.add(change) }
    }
    return set
  }

  /// What is logged behind a commit and not entered yet.
  ///
  /// - Parameter head: The newest commit.
  /// - Returns: The changes, of no author.
  /// - Throws: `SQLiteError`.
  /// - Complexity: Linear in the changes.
  package func changes(behind head: HistoryHead) throws -> ChangeSet {
    var set = ChangeSet(from: head.number, through: head.number)
    try eachRow(after: head.lastChange, through: Int64.max) { row in
      for change in row.changes(in: self.model) { set.add(change) }
    }
    return set
  }

  /// What is logged behind a commit and not entered yet, one change for each object.
  ///
  /// - Parameter head: The newest commit.
  /// - Returns: The changes, in order of the first change of each object.
  /// - Throws: `SQLiteError`.
  /// - Complexity: Linear in the changes.
  package func netChanges(behind head: HistoryHead) throws -> [HistoryChange] {
    var changes = HistoryChanges(model: model)
    try eachRow(after: head.lastChange, through: Int64.max) { changes.add($0) }
    return changes.list
  }

  /// A change set without its changes: the authors between two commits.
  ///
  /// - Parameters:
  ///   - from: The commit after which it begins.
  ///   - through: The last commit of it.
  /// - Returns: The change set.
  /// - Throws: `SQLiteError`.
  package func authors(from: Int64, through: Int64) throws -> ChangeSet {
    var set = ChangeSet(from: from, through: through)
    try eachTransaction(after: from, through: through, limit: Int64.max) { transaction in
      if !set.authors.contains(transaction.author) { set.authors.append(transaction.author) }
      return true
    }
    return set
  }

  /// The last commit behind one that can be reached with so many changes, and at least the next.
  ///
  /// - Parameters:
  ///   - from: The commit after which to begin.
  ///   - changesMax: How many changes the stretch may have when it has several commits.
  /// - Returns: The number of a commit; `from` when it is the newest.
  /// - Throws: `SQLiteError`.
  package func commit(after from: Int64, changesMax: Int64) throws -> Int64 {
    var reached = from
    let begin = try changeRange(from: from, through: from).lowerBound
    try eachTransaction(after: from, through: Int64.max, limit: Int64.max) { transaction in
      guard reached == from || transaction.lastChange - begin <= changesMax else { return false }
      reached = transaction.number
      return true
    }
    return reached
  }

  private func isKept(_ commit: Int64) throws -> Bool {
    defer { boundsStatement.reset() }
    boundsStatement.bind(commit, at: 1)
    boundsStatement.bind(commit, at: 2)
    return try boundsStatement.step()
  }

  /// The last changes of two commits.
  private func changeRange(from: Int64, through: Int64) throws -> Range<Int64> {
    defer { boundsStatement.reset() }
    boundsStatement.bind(from, at: 1)
    boundsStatement.bind(through, at: 2)
    var lower: Int64?
    var upper: Int64?
    while try boundsStatement.step() {
      if boundsStatement.integer(0) == from { lower = boundsStatement.integer(1) }
      if boundsStatement.integer(0) == through { upper = boundsStatement.integer(1) }
    }
    guard let lower, case let upper = upper ?? lower, lower <= upper else { return 0..<0 }
    return lower..<upper
  }

  /// Goes through rows of the log, oldest first.
  ///
  /// - Parameters:
  ///   - after: The change after which to begin.
  ///   - through: The last change to read.
  ///   - body: Called with each row.
  /// - Throws: `SQLiteError`; what the body throws.
  package func eachRow(
    after: Int64,
    through: Int64,
    _ body: (HistoryRow) throws -> Void
  ) throws {
    defer { changesStatement.reset() }
    changesStatement.bind(after, at: 1)
    changesStatement.bind(through, at: 2)
    while try changesStatement.step() {
      if let row = HistoryRow(changesStatement) { try body(row) }
    }
  }

  /// Goes through rows of the log, newest first, until the body returns false.
  ///
  /// - Parameters:
  ///   - after: The change before the oldest one to read.
  ///   - through: The change to begin with.
  ///   - body: Called with each row.
  /// - Throws: `SQLiteError`; what the body throws.
  package func eachRowBackwards(
    after: Int64,
    through: Int64,
    _ body: (HistoryRow) throws -> Bool
  ) throws {
    let rows = changesBackwardsStatement
    defer { rows.reset() }
    rows.bind(after, at: 1)
    rows.bind(through, at: 2)
    while try rows.step() {
      guard let row = HistoryRow(rows) else { continue }
      guard try body(row) else { return }
    }
  }

  /// The rows of the log and the last changes of the commits, both newest first.
  func backwards() throws -> (rows: PreparedStatement, commits: PreparedStatement) {
    if let backwardsStatements { return backwardsStatements }
    let made = (
      rows: try PreparedStatement(
        db,
        "SELECT \(HistoryRow.columns) FROM cordial_change ORDER BY number DESC"
      ),
      commits: try PreparedStatement(
        db,
        "SELECT lastChange FROM cordial_transaction ORDER BY number DESC"
      )
    )
    backwardsStatements = made
    return made
  }

  /// Goes through commits, oldest first, until the body answers false.
  func eachTransaction(
    after: Int64,
    through: Int64,
    limit: Int64,
    _ body: (HistoryTransaction) throws -> Bool
  ) throws {
    defer { transactionsStatement.reset() }
    transactionsStatement.bind(after, at: 1)
    transactionsStatement.bind(through, at: 2)
    transactionsStatement.bind(limit, at: 3)
    while try transactionsStatement.step() {
      let transaction = HistoryTransaction(
        number: transactionsStatement.integer(0),
        lastChange: transactionsStatement.integer(1),
        mark: UInt32(truncatingIfNeeded: transactionsStatement.integer(2)),
        time: transactionsStatement.integer(3),
        author: transactionsStatement.optionalText(4),
        context: transactionsStatement.optionalText(5),
        process: transactionsStatement.optionalText(6)
      )
      guard try body(transaction) else { return }
    }
  }

  /// Goes through the commits after one, with their changes, oldest first.
  ///
  /// - Parameters:
  ///   - after: The commit after which to begin.
  ///   - through: The last commit to read.
  ///   - limit: How many commits to read at most.
  ///   - changesMax: How many changes one may have logged; of one with more none is read.
  ///   - body: Called with each; it answers whether to go on.
  /// - Throws: `SQLiteError`; what the body throws.
  package func eachCommit(
    after: Int64,
    through: Int64,
    limit: Int,
    changesMax: Int,
    _ body: (HistoryTransaction) throws -> Bool
  ) throws {
    var lower = try changeRange(from: after, through: after).lowerBound
    try eachTransaction(after: after, through: through, limit: Int64(limit)) { transaction in
      var transaction = transaction
      transaction.changeCount = Int(transaction.lastChange - lower)
      if transaction.changeCount <= changesMax {
        var changes = HistoryChanges(model: model)
        try eachRow(after: lower, through: transaction.lastChange) { changes.add($0) }
        transaction.changes = changes.list
      }
      lower = transaction.lastChange
      return try body(transaction)
    }
  }

  /// The last values of an object that is gone.
  ///
  /// - Parameter key: The object.
  /// - Returns: Values by column name in the form of the log; nil when no deletion of it is logged.
  /// - Throws: `SQLiteError`.
  package func tombstone(of key: ObjectKey) throws -> [LoggedValue]? {
    defer { tombstoneStatement.reset() }
    tombstoneStatement.bind(Int64(key.entity), at: 1)
    tombstoneStatement.bind(key.object, at: 2)
    guard try tombstoneStatement.step() else { return nil }
    return HistoryRow.values(before: tombstoneStatement.optionalText(0))
  }

  /// The last values of objects that were deleted between two heads.
  ///
  /// - Parameters:
  ///   - keys: The objects.
  ///   - from: The commit after which the stretch begins.
  ///   - head: The newest commit, with which it ends.
  /// - Returns: Values by column name in the form of the log; objects not deleted there are absent.
  /// - Throws: `SQLiteError`.
  package func tombstones(
    of keys: Set<ObjectKey>,
    from: LogPosition,
    to head: HistoryHead
  ) throws -> [ObjectKey: [LoggedValue]] {
    guard !keys.isEmpty else { return [:] }
    var found: [ObjectKey: [LoggedValue]] = [:]
    try eachRow(after: from.lastChange, through: head.lastChange) { row in
      guard row.kind == .delete, keys.contains(row.key) else { return }
      found[row.key] = row.values
    }
    return found
  }
}
