package import CordialValues
package import Interruptions
import PersistentHistory
import Synchronization

/// Waits for the index, and orders to the index.
extension SearchIndex {
  /// Calls a body each time the index has advanced.
  ///
  /// - Parameter body: Called on any thread.
  /// - Returns: The number of the registration for `endAdvances`.
  package func whenAdvanced(_ body: @escaping @Sendable () -> Void) -> Int {
    state.withLock { state in
      let number = state.makeNumber()
      state.register(number, body)
      return number
    }
  }

  /// Ends a registration of `whenAdvanced`; a call of its closure may still be running.
  package func endAdvances(_ number: Int) {
    state.withLock { $0.register(number, nil) }
  }

  /// Calls a completion handler when the index has reached a commit.
  ///
  /// - Parameters:
  ///   - commit: The number of the commit.
  ///   - completion: Called on any thread, with whether the index has reached the commit: false if
  ///     the index failed, is paused or stops, or if `cancelWait` was called.
  /// - Returns: The waiter's number for `cancelWait`, or nil if the handler was already called.
  package func whenReached(
    _ commit: Int64,
    _ completion: @escaping @Sendable (Bool) -> Void
  ) -> Int? {
    let (number, effects) = state.withLock { state in
      let number = state.makeNumber()
      let waiter = IndexWaiter(number: number, commit: commit, completion: completion)
      return (number, state.handle(.wait(waiter)))
    }
    guard !effects.isEmpty else { return number }
    perform(effects)
    return nil
  }

  /// Ends a wait: calls the completion handler with false, unless it was already called.
  package func cancelWait(_ waiter: Int) { handle(.endWait(waiter)) }

  package func reach(
    _ commit: StoreToken,
    for connection: Int,
    _ completion: @escaping @Sendable ((any Error)?) -> Void
  ) -> (@Sendable () -> Void)? {
    forgetRemovedFile()
    follow()
    let waiter = whenReached(commit.number) { reached in
      // A caller that waits for all followers does not wait for a paused index.
      let isAwaited = !reached && self.status.state != .paused
      completion(isAwaited ? self.lateness("\(commit)") : nil)
    }
    guard let waiter else { return nil }
    return { self.cancelWait(waiter) }
  }

  /// Returns why the index has not reached the commit that a client waits for.
  ///
  /// The reason is the first of these that applies: the index is paused, the index failed, the
  /// service is stopping, or the index was too slow.
  ///
  /// - Parameter commit: The words for the commit in the error's message.
  /// - Returns: The error for the client; after a failure, the error of the index.
  package func lateness(_ commit: String) -> any Error {
    let (status, isStopping) = state.withLock { ($0.status, !$0.allowsBuilds) }
    guard status.state != .paused else {
      return SpotlightError(
        .busy,
        "The index is paused before \(commit)",
        advice: status.reason == .diskFull ? .freeSpace : .resume
      )
    }
    if let failure = status.failure { return failure }
    guard !isStopping else { return SpotlightError.stopping }
    return SpotlightError(.busy, "The index did not reach \(commit) in time")
  }

  /// Queues an order to the index, which the next attempt carries out.
  ///
  /// - Parameters:
  ///   - kind: The action, which the index executes after all earlier orders.
  ///   - progress: Called on the index's thread while it builds a new index, with the count of
  ///     objects that the build has read.
  ///   - interruption: The flag that cancels the order before it begins, and a build at any time;
  ///     nil for none.
  ///   - completion: Called on any thread, with the status afterwards, or the error that prevented
  ///     the order.
  package func execute(
    _ kind: IndexOrder.Kind,
    progress: (@Sendable (Int) -> Void)? = nil,
    interruption: Interruption? = nil,
    _ completion: @escaping @Sendable (Result<IndexStatus, any Error>) -> Void
  ) {
    let order = IndexOrder(
      number: state.withLock { $0.makeNumber() },
      kind: kind,
      progress: progress,
      interruption: interruption,
      completion: completion
    )
    handle(.order(order))
  }
}
