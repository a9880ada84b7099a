import CordialValues
import PersistentHistory
import SQLite
import Synchronization

/// When an attempt to read the log is needed, and why one fails.
extension SearchIndex {
  /// Starts an attempt to read the log, unless the index is at a commit in the file that it opened.
  ///
  /// - Parameter commit: The number of the newest known commit.
  package func follow(to commit: Int64) {
    let opened = shared.withLock { shared -> FileIdentity? in
      guard shared.status.state == .ready, let token = shared.status.token,
        token.number >= commit
      else { return nil }
      return shared.opened
    }
    if let opened, opened == FileIdentity(path) { return }
    follow()
  }

  /// Returns whether an error is that of a file that cannot grow.
  static func isFull(_ error: any Error) -> Bool {
    guard let error = error as? SQLiteError else { return false }
    return error.code == .full
      || [.inputOutputWrite, .inputOutputSharedMemorySize].contains(error.extendedCode)
  }
}
