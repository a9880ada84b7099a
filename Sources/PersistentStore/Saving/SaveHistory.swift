package import CordialValues
import JSON
import ObjectModel
package import PersistentHistory
import SQLite

/// The history that merging needs.
///
/// Tests implement this protocol with values.
package protocol SaveHistory: AnyObject {
  /// Returns the changes of each object since a version, oldest first.
  ///
  /// An object is absent if the log does not reach back to its version.
  func rows(since versions: [ObjectKey: Int64]) throws -> [ObjectKey: [HistoryRow]]

  /// Returns the number of the last change in the commit in which an object reached a version.
  ///
  /// If the log does not reach back to that commit, this is the last change of the oldest retained
  /// commit.
  func position(of key: ObjectKey, reaching version: Int64) throws -> Int64

  /// Returns the number of the last change in the commit that a token names.
  ///
  /// - Throws: `historyExpired` for a token that the log does not have.
  func position(of token: String) throws -> Int64

  /// Calls a body with the rows of the log after a change, newest first.
  func eachRowBackwards(after change: Int64, _ body: (HistoryRow) throws -> Void) throws

  /// Returns the oldest retained position, for errors.
  func oldestToken() throws -> StoreToken
}

/// The history in the log, read over the writer's connection.
final class DatabaseHistory: SaveHistory {
  private let db: SQLiteConnection
  private let log: HistoryLog
  private let commits: CommitTable
  private var reached: PreparedStatement?
  private var commit: PreparedStatement?

  init(_ db: SQLiteConnection, _ log: HistoryLog, _ commits: CommitTable) {
    self.db = db
    self.log = log
    self.commits = commits
  }

  func rows(since versions: [ObjectKey: Int64]) throws -> [ObjectKey: [HistoryRow]] {
    try log.rows(since: versions)
  }

  func position(of key: ObjectKey, reaching version: Int64) throws -> Int64 {
    let reached = try statement(
      \.reached,
      """
      SELECT number FROM cordial_change
      WHERE entity = ?1 AND object = ?2 AND version = ?3 AND kind IN (0, 1)
      ORDER BY number DESC LIMIT 1
      """
    )
    reached.bind(Int64(key.entity), at: 1)
    reached.bind(key.object, at: 2)
    defer { reached.reset() }
    reached.bind(version, at: 3)
    let number = try reached.step() ? reached.integer(0) : 0
    // Number 0 finds the oldest retained commit.
    let commit = try statement(
      \.commit,
      "SELECT lastChange FROM cordial_transaction WHERE lastChange >= ? ORDER BY number LIMIT 1"
    )
    defer { commit.reset() }
    commit.bind(number, at: 1)
    return try commit.step() ? commit.integer(0) : Int64.max
  }

  func position(of text: String) throws -> Int64 {
    guard let token = StoreToken(text) else {
      throw StoreError(.invalidRequest, "asOf: \"\(StoreError.short(text))\" is not a token")
    }
    guard let entry = try commits.entry(of: token) else {
      throw StoreError(
        .historyExpired,
        "The history does not have the commit \(StoreError.short(text))",
        hint: "Fetch the object again",
        data: [JSONMember("oldest", .string(try oldestToken().description))]
      )
    }
    return entry.lastChange
  }

  func eachRowBackwards(after change: Int64, _ body: (HistoryRow) throws -> Void) throws {
    try log.eachRowBackwards(after: change, through: Int64.max) { row in
      try body(row)
      return true
    }
  }

  func oldestToken() throws -> StoreToken { try commits.oldest() }

  private func statement(
    _ known: ReferenceWritableKeyPath<DatabaseHistory, PreparedStatement?>,
    _ sql: String
  ) throws -> PreparedStatement {
    if let statement = self[keyPath: known] { return statement }
    let prepared = try PreparedStatement(db, sql)
    self[keyPath: known] = prepared
    return prepared
  }
}
