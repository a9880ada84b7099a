/// The tables of the log.
package enum LogTables {
  /// The SQL that creates the tables.
  ///
  /// `cordial_transaction` has a row for each commit; row 0 is the creation of the store. A commit
  /// has the changes after its predecessor's `lastChange` up to its own `lastChange`.
  package static let all = """
    CREATE TABLE cordial_transaction(
      number INTEGER PRIMARY KEY, lastChange INTEGER NOT NULL, mark INTEGER NOT NULL,
      time INTEGER NOT NULL, author TEXT, context TEXT, process TEXT, client TEXT,
      answer TEXT) STRICT;
    CREATE UNIQUE INDEX cordial_transaction_client ON cordial_transaction(client)
      WHERE client IS NOT NULL;
    CREATE TABLE cordial_change(
      number INTEGER PRIMARY KEY, entity INTEGER NOT NULL, object INTEGER NOT NULL,
      kind INTEGER NOT NULL, version INTEGER, before TEXT, other INTEGER) STRICT;
    CREATE INDEX cordial_change_deleted ON cordial_change(entity, object) WHERE kind = 2;
    CREATE TABLE cordial_meta(name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
    \(undoTable)
    \(followerTable)
    \(leaseTable)
    """

  /// The statements of `all`, as SQLite's schema stores them.
  package static var statements: [String] {
    all.split(separator: ";").map { statement in
      String(statement.drop(while: \.isWhitespace))
        .replacing("CREATE TABLE IF NOT EXISTS ", with: "CREATE TABLE ")
    }
  }

  /// The SQL that creates `cordial_undo`, which has a row for each group that a commit reverted.
  ///
  /// `number` is the commit that reverted the group, and `place` is the index of the revert in the
  /// commit. `kind` is 0 for an undo and 1 for a redo. `after` and `through` bound the changes of
  /// the revert. `first`, `last` and `context` are the group's first commit, last commit and
  /// context. If the group is itself a revert, `revertedPlace` is the `place` of that revert. A row
  /// of kind 2 marks a commit up to which nothing can be undone.
  private static let undoTable = """
    CREATE TABLE IF NOT EXISTS cordial_undo(
      number INTEGER NOT NULL, place INTEGER NOT NULL, kind INTEGER NOT NULL,
      after INTEGER NOT NULL, through INTEGER NOT NULL, first INTEGER NOT NULL,
      last INTEGER NOT NULL, revertedPlace INTEGER, context TEXT, PRIMARY KEY(number, place))
      STRICT, WITHOUT ROWID;
    """

  /// The SQL that creates `cordial_follower`, with each follower's name, commit and last request
  /// time.
  private static let followerTable = """
    CREATE TABLE IF NOT EXISTS cordial_follower(
      name TEXT PRIMARY KEY, number INTEGER NOT NULL, seen INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    """

  /// The SQL that creates `cordial_lease`, with the process and the last examined commit of each
  /// service that has subscriptions.
  private static let leaseTable = """
    CREATE TABLE IF NOT EXISTS cordial_lease(
      name TEXT PRIMARY KEY, process INTEGER NOT NULL, start TEXT NOT NULL,
      number INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    """

  /// The SQL that creates the tables that a store of an earlier version may lack.
  package static let late = [undoTable, followerTable, leaseTable].joined(separator: "\n")
}
