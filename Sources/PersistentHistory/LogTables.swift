/// The tables of the log.
package enum LogTables {
  /// `cordial_transaction` has a row for each commit, 0 standing for the making of the store;
  /// its changes are those after its predecessor's `lastChange` up to its own.
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
    """

  /// `cordial_undo` has a row for each group that a commit reverted.
  ///
  /// It says whether by undo (0) or redo (1), the changes that did it, and the first and last
  /// commit of the group with its context, or the commit and place of the revert that it reverted
  /// itself. 2 stands for a commit up to which nothing is undone.
  private static let undoTable = """
    CREATE TABLE IF NOT EXISTS cordial_undo(
      number INTEGER NOT NULL, place INTEGER NOT NULL, kind INTEGER NOT NULL,
      after INTEGER NOT NULL, through INTEGER NOT NULL, first INTEGER NOT NULL,
      last INTEGER NOT NULL, revertedPlace INTEGER, context TEXT, PRIMARY KEY(number, place))
      STRICT, WITHOUT ROWID;
    """

  /// Who follows the log by name, the commit up to which each has come, and when it said so.
  private static let followerTable = """
    CREATE TABLE IF NOT EXISTS cordial_follower(
      name TEXT PRIMARY KEY, number INTEGER NOT NULL, seen INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    """

  /// What a store that was made by an earlier program may lack.
  package static let late = undoTable + "\n" + followerTable
}
