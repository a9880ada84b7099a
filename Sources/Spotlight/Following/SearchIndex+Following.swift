import CordialValues
import Dispatch
import PersistentHistory
import SQLite
import Synchronization

/// Starts of attempts, positions of other processes, and merges of parts.
extension SearchIndex {
  /// Starts an attempt to read the log, unless the opened file already has a commit.
  ///
  /// During a build of a new index, the commit that the old index has reached counts.
  ///
  /// - Parameter commit: The number of the newest known commit.
  package func follow(to commit: Int64) {
    if let file = state.withLock({ $0.file(at: commit) }), file == FileIdentity(path) { return }
    forgetRemovedFile()
    follow()
  }

  /// Forgets the position if the opened file was removed or replaced, so that waiters wait for the
  /// new file.
  func forgetRemovedFile() {
    guard let opened = state.withLock({ $0.opened }), opened != FileIdentity(path) else { return }
    handle(.lostFile(opened))
  }

  /// Reads the position that another process has written, and reports it as reached.
  func readOthers() throws {
    try thread.use { follower in
      if follower?.file.isCurrent != true {
        guard FileIdentity(path) != nil, state.withLock({ $0.allowsSearches }) else { return }
        let opened = try open(isPrepared: true)
        if try !updatePause(opened), !opened.isOutdated, let token = opened.token {
          reached(token)
        }
        follower = consume opened
        return
      }
      guard var current = follower.take() else { return }
      do {
        let position = try current.file.queue.use { db in try IndexFile.position(db) }
        if position != current.position {
          handle(.othersAdvanced)
          try reload(&current)
          if try !updatePause(current), !current.isOutdated, let token = current.token {
            reached(token)
          }
        }
        follower = consume current
      } catch {
        follower = consume current
        throw error
      }
    }
  }

  /// Merges some parts of the index, because a search looks up each word in every part.
  ///
  /// The next attempt first indexes later commits, and then continues the merge.
  func mergePartsWhileReady() throws {
    guard state.withLock({ $0.allowsMerge }) else { return }
    let remainder = try thread.use { follower -> IndexRemainder in
      guard var current = follower.take() else { return .unknown }
      // If this throws, the next attempt opens the file again.
      let remainder = try current.file.mergeSomeParts()
      if remainder == .none { try reopen(&current) }
      follower = consume current
      return remainder
    }
    found(.merged(remainder))
  }

  /// Returns whether an error means that a file cannot grow.
  static func isFull(_ error: any Error) -> Bool {
    guard let error = error as? SQLiteError else { return false }
    return error.code == .full
      || [.inputOutputWrite, .inputOutputSharedMemorySize].contains(error.extendedCode)
  }
}
