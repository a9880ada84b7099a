import CordialValues
import PersistentHistory
import SQLite
import Synchronization

/// What the index's thread, its callers and its waiters share.
struct IndexState {
  var status = IndexStatus(token: nil, documents: 0, state: .catchingUp)
  var activity = IndexActivity()
  /// The identity of the file that the last attempt opened.
  var opened: FileIdentity?
  /// The seconds after which an index without disk space tries again; nil where it has space.
  var fullPause: Int?
  /// The last such pause since the index has advanced.
  var lastFullPause: Int?
  /// The pause before another attempt to take the lease, and the sum of the pauses since the other
  /// process has advanced, in milliseconds.
  var leasePause = 1
  var leaseWait = 0
  /// The number of documents of the last batch that had commits; nil before the first.
  var lastBatchCount: Int?
  /// Whether many documents have been indexed since parts of the index were merged.
  var mergesParts = false
  /// The number of documents that were indexed since a merge was last wanted.
  var unmergedCount = 0
  /// The position from which the log is needed while a new index is built; nil without a build, and
  /// without an index that answers meanwhile.
  var buildsFrom: StoreToken?
  /// Whether the index was asked to advance since it last read the log.
  var wantsAdvance = false
  var isScheduled = false
  /// The number of attempts to read the log that have begun.
  var attempts = 0
  var isStopped = false
  /// Whether no new index is built any more, because the service is stopping.
  var endsBuilds = false
  /// Whether a search found damage in the file, which the next attempt then removes.
  var isDamaged = false
  /// Whether a file was removed because SQLite took it for full.
  var wasFull = false
  /// The damaged file; another process may have replaced it.
  var damagedFile: FileIdentity?
  /// What is wrong with it.
  var damage = ""
  /// Whether an attempt is running.
  var isReading = false
  var waiters: [Int: IndexWaiter] = [:]
  var nextWaiter = 0
  /// What the next attempt does before it reads the log, in this order.
  var orders: [IndexOrder] = []
  /// Called when the index has advanced, by the numbers of their registrations.
  var advances: [Int: @Sendable () -> Void] = [:]
  var nextAdvance = 0

  /// Whether the last attempt has found that the index is paused, and no other one is running.
  var isPaused: Bool { status.state == .paused && !isReading }

  /// Removes and returns the waiters for which a condition holds.
  mutating func takeWaiters(_ isTaken: (IndexWaiter) -> Bool = { _ in true }) -> [IndexWaiter] {
    let taken = waiters.filter { isTaken($0.value) }
    for number in taken.keys { waiters[number] = nil }
    return Array(taken.values)
  }

  /// Records that a file is damaged: until the next attempt has removed it, the index has no
  /// position, and searches open no connection to it.
  mutating func setDamaged(_ file: FileIdentity?, _ damage: String = "A search found it") {
    (isDamaged, damagedFile, self.damage) = (true, file, damage)
    status = IndexStatus(token: nil, documents: 0, state: .catchingUp)
  }

  /// Ends the state `failed`, because another attempt is to come.
  mutating func forgetFailure() {
    guard status.state == .failed else { return }
    status.state = .catchingUp
    status.failure = nil
  }
}

extension SearchIndex {
  /// Calls a body each time the index has advanced.
  ///
  /// - Parameter body: Called on any thread.
  /// - Returns: The number of the registration for `endAdvances`.
  package func whenAdvanced(_ body: @escaping @Sendable () -> Void) -> Int {
    shared.withLock { shared in
      shared.nextAdvance += 1
      shared.advances[shared.nextAdvance] = body
      return shared.nextAdvance
    }
  }

  /// Ends a registration of `whenAdvanced`; a call may still be running.
  package func endAdvances(_ number: Int) {
    shared.withLock { $0.advances[number] = nil }
  }

  /// Calls a completion handler when the index has reached a commit.
  ///
  /// - Parameters:
  ///   - number: The number of the commit.
  ///   - completion: Called on any thread, immediately if the index has already reached the commit;
  ///     with false if the index failed or `cancelWait` was called.
  /// - Returns: The waiter's number for `cancelWait`, or nil if the handler was already called.
  package func whenReached(
    _ number: Int64,
    _ completion: @escaping @Sendable (Bool) -> Void
  ) -> Int? {
    enum Outcome { case now(Bool), later(Int) }
    let outcome = shared.withLock { shared -> Outcome in
      if let token = shared.status.token, token.number >= number { return .now(true) }
      let isRefused = shared.status.state == .failed || shared.isPaused
      if shared.isStopped || isRefused && !shared.isScheduled { return .now(false) }
      shared.nextWaiter += 1
      shared.waiters[shared.nextWaiter] = IndexWaiter(
        number: number,
        attempts: shared.attempts,
        completion: completion
      )
      return .later(shared.nextWaiter)
    }
    switch outcome {
    case .now(let reached):
      completion(reached)
      return nil
    case .later(let waiter): return waiter
    }
  }

  /// Ends a wait: calls the completion handler with false, unless it was already called.
  package func cancelWait(_ waiter: Int) {
    let completion = shared.withLock { $0.waiters.removeValue(forKey: waiter)?.completion }
    completion?(false)
  }
}
