import CSQLite

/// The observer of a writing connection's log, which measures the log and runs checkpoints.
///
/// The owner keeps the observer for as long as the connection is open.
package final class WriteAheadLog {
  /// The minimum number of pages in the log for a checkpoint after a commit; SQLite's default.
  private static let checkpointPages: Int32 = 1000

  /// Whether commits run no checkpoint, even if the log has many pages.
  package var postponesCheckpoints = false
  /// Whether the next commit may be slow, because it may run a checkpoint, or may write the log
  /// from its beginning, after an fsync.
  package private(set) var isSlowNext = true

  /// Whether the log exceeds the size that its file keeps, so that the owner should empty the log.
  package private(set) var isLarge = false
  /// The number of pages from which the log is large: 16 MiB of pages of the usual size, the same
  /// as `SQLiteQueue.Options.logBytesMax`.
  private static let largePages: Int32 = 4096

  /// Starts to observe the commits of a connection, and replaces SQLite's automatic checkpoints.
  package init(_ connection: SQLiteConnection) {
    unsafe sqlite3_wal_hook(
      connection.handle,
      { context, handle, name, pages in
        guard let context = unsafe context else { return SQLITE_OK }
        let log = unsafe Unmanaged<WriteAheadLog>.fromOpaque(context).takeUnretainedValue()
        let isLong = pages >= WriteAheadLog.checkpointPages
        log.isSlowNext = isLong
        log.isLarge = pages >= WriteAheadLog.largePages
        guard isLong, !log.postponesCheckpoints else { return SQLITE_OK }
        unsafe sqlite3_wal_checkpoint_v2(handle, name, SQLITE_CHECKPOINT_PASSIVE, nil, nil)
        return SQLITE_OK
      },
      Unmanaged.passUnretained(self).toOpaque()
    )
  }

  /// Records that the connection emptied the log; the next commit then writes the log from its
  /// beginning.
  package func wasEmptied() {
    isSlowNext = true
    isLarge = false
  }
}
