package import CordialValues
package import SQLite

/// A lookup of retained commits by number or by a client's token.
///
/// Only the thread of its connection may use the table.
package final class CommitTable {
  /// One retained commit.
  package struct Entry: Sendable {
    package let token: StoreToken
    /// The number of the commit's last change.
    package let lastChange: Int64
  }

  private let generation: UInt32
  private let entryStatement: PreparedStatement
  private let oldestStatement: PreparedStatement
  /// The query for the newest barrier; nil if the store has no table `cordial_undo`.
  ///
  /// Only a store of an earlier version lacks this table.
  private let barrierStatement: PreparedStatement?

  /// Creates the table of a connection.
  ///
  /// - Parameters:
  ///   - db: The connection.
  ///   - generation: The store's generation, which its tokens contain.
  /// - Throws: `SQLiteError`.
  package init(_ db: SQLiteConnection, generation: UInt32) throws {
    func statement(_ condition: String) throws -> PreparedStatement {
      try PreparedStatement(
        db,
        "SELECT number, mark, lastChange FROM cordial_transaction " + condition
      )
    }
    self.generation = generation
    entryStatement = try statement("WHERE number = ?")
    oldestStatement = try statement("ORDER BY number LIMIT 1")
    barrierStatement = try UndoLog.exists(db) ? statement(Self.newestBarrier) : nil
  }

  /// The kind of a commit that an undo cannot cross.
  package enum Barrier {
    /// The rows of earlier commits may have other types and other columns.
    case migration
    /// Earlier texts were folded and sorted by another version of ICU.
    case folding

    var context: String {
      switch self {
      case .migration: CommitStamp.migrationContext
      case .folding: CommitStamp.foldingContext
      }
    }
  }

  /// SQL for the newest barrier with a context.
  ///
  /// A client may give its own saves the same context; these saves are not barriers.
  private static let newestBarrier = """
    WHERE number = (SELECT max(u.number) FROM cordial_undo u
      JOIN cordial_transaction t ON t.number = u.number
      WHERE u.kind = \(UndoLog.barrier) AND t.context = ?)
    """

  /// Returns a commit, or nil if the log does not have it.
  package func entry(_ number: Int64) throws -> Entry? {
    defer { entryStatement.reset() }
    entryStatement.bind(number, at: 1)
    return try entryStatement.step() ? entry(entryStatement) : nil
  }

  /// Returns the commit of a token; nil if the store never had the commit or no longer retains the
  /// commit.
  package func entry(of token: StoreToken) throws -> Entry? {
    guard let entry = try entry(token.number), entry.token == token else { return nil }
    return entry
  }

  /// Returns the oldest position from which history can be read.
  package func oldest() throws -> StoreToken {
    defer { oldestStatement.reset() }
    // Only a damaged file has no entry of a commit.
    guard try oldestStatement.step() else {
      return StoreToken(generation: generation, number: 0, mark: 0)
    }
    return try entry(oldestStatement).token
  }

  /// Returns the newest retained barrier of a kind, or nil if there is none.
  package func newestBarrier(_ barrier: Barrier) throws -> StoreToken? {
    guard let barrierStatement else { return nil }
    defer { barrierStatement.reset() }
    barrierStatement.bind(barrier.context, at: 1)
    return try barrierStatement.step() ? entry(barrierStatement).token : nil
  }

  private func entry(_ row: PreparedStatement) throws -> Entry {
    Entry(
      token: StoreToken(
        generation: generation,
        number: try LogNumbers.checked(row.integer(0)),
        mark: UInt32(truncatingIfNeeded: row.integer(1))
      ),
      lastChange: try LogNumbers.checked(row.integer(2))
    )
  }
}
