import PersistentHistory

/// The files of a store, as its writer opened them.
struct OpenedFiles {
  private let path: String
  private let store: FileIdentity?
  /// Nil where the store has no write-ahead log.
  private let log: FileIdentity?

  private var logPath: String { path + "-wal" }

  /// Remembers the files of a store whose connection has read from it.
  ///
  /// Before, another process that closes the store may still remove the log. Afterwards no process
  /// does so that keeps SQLite's locks.
  ///
  /// - Parameter path: The path of `store.sqlite`.
  init(_ path: String) {
    self.path = path
    store = FileIdentity(path)
    log = FileIdentity(path + "-wal")
  }

  /// Fails where a file was removed or replaced, because the changes of the open one would be lost.
  ///
  /// - Throws: `StoreError` with the code `storeCorrupt`.
  func check() throws(StoreError) {
    guard FileIdentity(path) == store else { throw StoreError.storeGone(path) }
    guard log == nil || FileIdentity(logPath) == log else { throw StoreError.storeGone(logPath) }
  }
}
