// PersistentHistory: the log of a store's changes. Reading after a token, sealing, undo, purges,
// followers' positions.
//
// Must not know: search, subscriptions, callers.
//
// What always holds:
// 1. Every writer changes a row and logs the change in one SQLite transaction. Triggers write the
//    log with built-in functions, so that external SQLite clients also log their changes.
// 2. Commits are numbered without gaps; no response contains changes that are not sealed.
// 3. Change numbers and commit numbers only grow.

package import CordialValues
import JSON
package import ObjectModel
package import SQLite
import StoreLayout

/// A reader of the log over one connection, on that connection's thread.
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
  /// Statements that are compiled at their first use.
  private var backwardsStatements: (rows: PreparedStatement, commits: PreparedStatement)?

  /// Prepares the log of an opened store.
  ///
  /// - Parameters:
  ///   - db: A connection to the store.
  ///   - model: The store's model.
  /// - Throws: `SQLiteError` when the log's tables are missing.
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

  /// A query of one row: number, mark and last change of the newest commit; the last logged change;
  /// and whether a to-one may reference an object that does not exist.
  package static let headQuery = """
    SELECT number, mark, lastChange, coalesce((SELECT max(number) FROM main.cordial_change), 0),
      \(DanglingReferences.isMarked)
    FROM cordial_transaction ORDER BY number DESC LIMIT 1
    """

  /// Returns the newest commit that the connection sees.
  ///
  /// - Returns: The head.
  /// - Throws: `SQLiteError`.
  package func head() throws -> HistoryHead {
    defer { headStatement.reset() }
    guard try headStatement.step() else {
      throw SQLiteError(.corrupt, "The log has no first entry")
    }
    return HistoryHead(
      number: try LogNumbers.checked(headStatement.integer(0)),
      mark: UInt32(truncatingIfNeeded: headStatement.integer(1)),
      lastChange: try LogNumbers.checked(headStatement.integer(2)),
      lastLogged: try LogNumbers.checked(headStatement.integer(3)),
      mayDangle: headStatement.integer(4) != 0
    )
  }

  /// Returns the number of the last logged change, sealed or not.
  ///
  /// - Returns: The number; 0 if no change was ever logged.
  /// - Throws: `SQLiteError`.
  package func lastLogged() throws -> Int64 {
    defer { lastLoggedStatement.reset() }
    return try lastLoggedStatement.step() ? lastLoggedStatement.integer(0) : 0
  }

  /// Returns the combined changes from a position of the log to the newest commit, if at most
  /// `changesMax` changes are logged in between.
  ///
  /// - Parameters:
  ///   - from: The commit after which the changes begin, with its last change.
  ///   - head: The newest commit, with which the changes end.
  ///   - changesMax: The maximum count of logged changes; with more changes, the result is nil.
  /// - Returns: The change set; nil when there are more changes, or when the log does not reach
  ///   back to `from`.
  /// - Throws: `SQLiteError`.
  /// - Complexity: Linear in the changes logged between `from` and `head`.
  package func changeSet(
    from: LogPosition,
    to head: HistoryHead,
    changesMax: Int
  ) throws -> ChangeSet? {
    guard head.lastChange - from.lastChange <= Int64(changesMax), try isKept(from.commit) else {
      return nil
    }
    var set = ChangeSet(from: from.commit, through: head.number)
    var names = LoggedNames()
    try eachRow(after: from.lastChange, through: head.lastChange) { row in
      for change in row.changes(in: self.model, &names) { set.add(change) }
    }
    return set
  }

  /// Returns the combined changes after the commit `from` up to the commit `through`.
  ///
  /// - Parameters:
  ///   - from: The commit after which the changes begin.
  ///   - through: The commit with which the changes end; both commits are sealed.
  /// - Returns: The change set; nil if the log does not reach back to `from`.
  /// - Throws: `SQLiteError`.
  /// - Complexity: Linear in the changes logged between the two commits.
  package func changeSet(from: Int64, through: Int64) throws -> ChangeSet? {
    guard let range = try changeRange(from: from, through: through) else { return nil }
    var set = ChangeSet(from: from, through: through)
    var names = LoggedNames()
    try eachRow(after: range.after, through: range.through) { row in
      for change in row.changes(in: self.model, &names) { set.add(change) }
    }
    return set
  }

  /// Returns the unsealed changes after a commit.
  ///
  /// - Parameter head: The newest commit.
  /// - Returns: The changes, without an author.
  /// - Throws: `SQLiteError`.
  /// - Complexity: Linear in the changes.
  package func changes(after head: HistoryHead) throws -> ChangeSet {
    var set = ChangeSet(from: head.number, through: head.number)
    var names = LoggedNames()
    try eachRow(after: head.lastChange, through: Int64.max) { row in
      for change in row.changes(in: self.model, &names) { set.add(change) }
    }
    return set
  }

  /// Returns the unsealed changes after a commit, one for each object.
  ///
  /// - Parameter head: The newest commit.
  /// - Returns: The changes, in the order of each object's first change.
  /// - Throws: `SQLiteError`.
  /// - Complexity: Linear in the changes.
  package func netChanges(after head: HistoryHead) throws -> [HistoryChange] {
    var changes = HistoryChanges(model: model)
    try eachRow(after: head.lastChange, through: Int64.max) { changes.add($0) }
    return changes.list
  }

  /// Calls a body with the entries of commits, without their changes, oldest first.
  ///
  /// - Parameters:
  ///   - after: The commit after which the range begins.
  ///   - through: The last commit of the range.
  ///   - body: Called with each commit.
  /// - Throws: `SQLiteError`.
  package func eachEntry(
    after: Int64,
    through: Int64,
    _ body: (HistoryTransaction) -> Void
  ) throws {
    try eachTransaction(after: after, through: through, limit: Int64.max) { transaction in
      body(transaction)
      return true
    }
  }

  /// Returns the last commit of the longest range with at most the given count of changes.
  ///
  /// If a commit follows `from`, the range contains that commit, even with too many changes.
  ///
  /// - Parameters:
  ///   - from: The commit after which the range begins.
  ///   - changesMax: The maximum number of changes in a range of more than one commit.
  /// - Returns: The number of the range's last commit; `from` if no commit follows or the log no
  ///   longer has `from`.
  /// - Throws: `SQLiteError`.
  package func commit(after from: Int64, changesMax: Int64) throws -> Int64 {
    var reached = from
    guard let begin = try changeRange(from: from, through: from)?.after else { return from }
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

  /// Returns the range from the last change of one commit to the last change of another.
  ///
  /// - Returns: The numbers of the two changes; nil if the log no longer has the first commit.
  func changeRange(from: Int64, through: Int64) throws -> ChangeRange? {
    defer { boundsStatement.reset() }
    boundsStatement.bind(from, at: 1)
    boundsStatement.bind(through, at: 2)
    var lower: Int64?
    var upper: Int64?
    while try boundsStatement.step() {
      if boundsStatement.integer(0) == from { lower = boundsStatement.integer(1) }
      if boundsStatement.integer(0) == through { upper = boundsStatement.integer(1) }
    }
    guard let lower else { return nil }
    return try ChangeRange(after: lower, through: upper ?? lower)
  }

  /// Calls a body with rows of the log, oldest first.
  ///
  /// - Parameters:
  ///   - after: The number of the change before the first row.
  ///   - through: The number of the last row.
  ///   - body: Called with each row.
  /// - Throws: `SQLiteError`, and the errors of the body.
  package func eachRow(
    after: Int64,
    through: Int64,
    _ body: (HistoryRow) throws -> Void
  ) throws {
    defer { changesStatement.reset() }
    changesStatement.bind(after, at: 1)
    changesStatement.bind(through, at: 2)
    while try changesStatement.step() { try body(HistoryRow(changesStatement)) }
  }

  /// Calls a body with rows of the log, newest first, until the body returns false.
  ///
  /// - Parameters:
  ///   - after: The number of the change before the oldest row.
  ///   - through: The number of the newest row.
  ///   - body: Called with each row; returns whether to continue.
  /// - Throws: `SQLiteError`, and the errors of the body.
  package func eachRowBackwards(
    after: Int64,
    through: Int64,
    _ body: (HistoryRow) throws -> Bool
  ) throws {
    let rows = changesBackwardsStatement
    defer { rows.reset() }
    rows.bind(after, at: 1)
    rows.bind(through, at: 2)
    while try rows.step(), try body(HistoryRow(rows)) {}
  }

  /// Returns statements for the rows of the log and for the last changes of the commits, newest
  /// first.
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

  /// Calls a body with commits, oldest first, until the body returns false.
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
        number: try LogNumbers.checked(transactionsStatement.integer(0)),
        lastChange: try LogNumbers.checked(transactionsStatement.integer(1)),
        mark: UInt32(truncatingIfNeeded: transactionsStatement.integer(2)),
        time: transactionsStatement.integer(3),
        author: transactionsStatement.optionalText(4),
        context: transactionsStatement.optionalText(5),
        process: transactionsStatement.optionalText(6)
      )
      guard try body(transaction) else { return }
    }
  }

  /// Calls a body with each commit of a range and with its changes, oldest first.
  ///
  /// - Parameters:
  ///   - after: The commit before the first commit.
  ///   - through: The last commit.
  ///   - limit: The maximum number of commits.
  ///   - changesMax: The maximum number of changes that are read for a commit; a commit with more
  ///     changes is passed without its changes.
  ///   - body: Called with each commit; returns whether to continue.
  /// - Throws: `SQLiteError`, and the errors of the body.
  package func eachCommit(
    after: Int64,
    through: Int64,
    limit: Int,
    changesMax: Int,
    _ body: (HistoryTransaction) throws -> Bool
  ) throws {
    // If the entry of `after` was purged, the range begins with the oldest change that remains.
    var lower = try changeRange(from: after, through: after)?.after ?? 0
    try eachTransaction(after: after, through: through, limit: Int64(limit)) { transaction in
      var transaction = transaction
      let range = try ChangeRange(after: lower, through: transaction.lastChange)
      transaction.changeCount = range.count
      if range.count <= changesMax {
        var changes = HistoryChanges(model: model)
        try eachRow(after: range.after, through: range.through) { changes.add($0) }
        transaction.changes = changes.list
      }
      lower = transaction.lastChange
      return try body(transaction)
    }
  }

  /// Returns the values that changed objects had at the beginning of a range of commits.
  ///
  /// - Parameters:
  ///   - from: The commit after which the range begins.
  ///   - head: The newest commit, with which the range ends.
  ///   - entities: The entities of the objects.
  ///   - columns: The required columns, by entity; updates of other columns are skipped. Nil
  ///     requires all columns.
  /// - Returns: The values that changes replaced, in the log's format; nil for an object that did
  ///   not exist. The result may include columns that were not required.
  /// - Throws: `SQLiteError`.
  /// - Complexity: Linear in the changes.
  package func formerValues(
    from: LogPosition,
    to head: HistoryHead,
    of entities: Set<Int>,
    columns: [Int: Set<String>]? = nil
  ) throws -> [ObjectKey: [LoggedValue]?] {
    var names = LoggedNames()
    var former: [ObjectKey: [LoggedValue]?] = [:]
    try eachRow(after: from.lastChange, through: head.lastChange) { row in
      guard [.insert, .update, .delete].contains(row.kind), model.hasEntity(row.entity),
        case let key = model.key(row.entity, row.object), entities.contains(key.entity)
      else { return }
      if row.kind == .update, let wanted = columns?[key.entity],
        names.read(row).isDisjoint(with: wanted)
      {
        return
      }
      switch former[key] {
      case nil: former[key] = row.kind == .insert ? .some(nil) : row.values
      case .some(nil): return
      case .some(let known?):
        let names = Set(known.map(\.property))
        former[key] = known + row.values.filter { !names.contains($0.property) }
      }
    }
    return former
  }

  /// Returns the last values of a deleted object.
  ///
  /// - Parameter key: The object.
  /// - Returns: Values by column name in the log's format; nil if the log has no deletion of the
  ///   object.
  /// - Throws: `SQLiteError`.
  package func tombstone(of key: ObjectKey) throws -> [LoggedValue]? {
    defer { tombstoneStatement.reset() }
    tombstoneStatement.bind(Int64(key.entity), at: 1)
    tombstoneStatement.bind(key.object, at: 2)
    guard try tombstoneStatement.step() else { return nil }
    return HistoryRow.values(before: tombstoneStatement.optionalText(0))
  }

  /// Returns the last values of objects that were deleted between two heads.
  ///
  /// - Parameters:
  ///   - keys: The objects.
  ///   - from: The commit after which the range begins.
  ///   - head: The newest commit, with which the range ends.
  /// - Returns: Values by column name in the log's format; objects that were not deleted in the
  ///   range are absent.
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
