import CSQLite

/// The write-ahead log of a connection that writes: how long it is, and when its pages are copied
/// into the file.
///
/// The owner keeps it for as long as the connection is open.
package final class WriteAheadLog {
  /// The number of pages from which a commit copies them, which is SQLite's default.
  private static let checkpointPages: Int32 = 1000

  /// Whether commits leave the pages in the log, even if they are many.
  package var postponesCheckpoints = false
  /// Whether a commit may take long: because it would copy the pages, or because it may write the
  /// log from its beginning, after an fsync.
  package private(set) var isSlowNext = true

  /// Whether the log has more pages than its file keeps, so that the owner empties it when it can.
  package private(set) var isLarge = false
  /// The number of pages from which the log is large: 16 MiB of pages of the usual size, as
  /// `SQLiteQueue.Options.logBytesMax`.
  private static let largePages: Int32 = 4096

  /// Observes the commits of a connection, instead of SQLite's own checkpoints.
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

  /// Records that the connection emptied the log, so that the next commit writes it from its
  /// beginning.
  package func wasEmptied() {
    isSlowNext = true
    isLarge = false
  }
}
