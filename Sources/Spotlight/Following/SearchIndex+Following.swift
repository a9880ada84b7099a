import CordialValues
import Dispatch
import PersistentHistory
import SQLite
import Synchronization

/// When an attempt to read the log is needed, and why one fails.
extension SearchIndex {
  /// Starts an attempt to read the log, unless the index is at a commit in the file that it opened,
  /// be it while a new one is built.
  ///
  /// - Parameter commit: The number of the newest known commit.
  package func follow(to commit: Int64) {
    let opened = shared.withLock { shared -> FileIdentity? in
      guard [.ready, .rebuilding].contains(shared.status.state), let token = shared.status.token,
        token.number >= commit
      else { return nil }
      return shared.opened
    }
    if let opened, opened == FileIdentity(path) { return }
    forgetRemovedFile()
    follow()
  }

  /// Forgets the position in a file that was removed or replaced, so that those who wait for a
  /// commit wait for the file that is made in its place.
  func forgetRemovedFile() {
    guard let opened = shared.withLock({ $0.opened }), opened != FileIdentity(path) else { return }
    shared.withLock { shared in
      // Another thread may have opened the new file meanwhile.
      guard shared.opened == opened, shared.status.token != nil, shared.status.state != .paused
      else { return }
      shared.setDamaged(opened)
    }
  }

  /// Reads what another process writes while it advances the index, and tries again soon.
  func awaitLease() {
    let pause = shared.withLock { shared -> Int? in
      guard !shared.isStopped else { return nil }
      shared.leasePause = min(2 * shared.leasePause, Self.leasePauseMax)
      shared.leaseWait += shared.leasePause
      return shared.leasePause
    }
    guard let pause else { return }
    do {
      try readOthers()
    } catch {
      // The attempt with the lease meets the same error, and reports it.
    }
    // The attempt remains scheduled meanwhile.
    queue.asyncAfter(deadline: .now() + .milliseconds(pause)) { [weak self] in
      guard let self, !shared.withLock({ $0.isStopped }) else { return }
      readLog()
    }
  }

  /// The longest pause before another attempt to take the lease, in milliseconds.
  private static let leasePauseMax = 64

  /// Takes the lease, or does without it where its process does not advance: SQLite's locks then
  /// decide which process writes.
  func takeLease() -> Bool {
    let isTaken = lease.take()
    return shared.withLock { shared in
      if isTaken { (shared.leasePause, shared.leaseWait) = (1, 0) }
      // As long as the other process holds it, later attempts do without it too.
      return isTaken || shared.leaseWait >= leaseWaitMax
    }
  }

  /// Takes over the position that another process has written, if there is such a process.
  private func readOthers() throws {
    try confined.withLock { follower in
      if follower?.file.isCurrent != true {
        guard FileIdentity(path) != nil, !shared.withLock({ $0.isDamaged }) else { return }
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
          shared.withLock { $0.leaseWait = 0 }
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

  /// Merges some parts of the index after many documents: a search looks for each word in each
  /// part.
  ///
  /// The next attempt, which indexes later commits first, goes on with it.
  func mergePartsWhileReady() throws {
    let isWanted = shared.withLock { shared in
      shared.mergesParts && !shared.isStopped && shared.status.state == .ready
    }
    guard isWanted else { return }
    let remainder = try confined.withLock { follower -> IndexFile.Remainder in
      guard var current = follower.take() else { return .unknown }
      // If this throws, the next attempt opens the file again.
      let remainder = try current.file.mergeSomeParts()
      if remainder == .none { try reopen(&current) }
      follower = consume current
      return remainder
    }
    if remainder == .none { shared.withLock { $0.mergesParts = false } }
    if remainder == .some { follow() }
  }

  /// Returns whether an error is that of a file that cannot grow.
  static func isFull(_ error: any Error) -> Bool {
    guard let error = error as? SQLiteError else { return false }
    return error.code == .full
      || [.inputOutputWrite, .inputOutputSharedMemorySize].contains(error.extendedCode)
  }
}
