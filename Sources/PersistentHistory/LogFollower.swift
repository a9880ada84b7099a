package import CordialValues

/// A part of the history that must be retained, and the reason.
package struct HistoryRetention: Sendable {
  /// The number of the commit after which all history is retained.
  package let number: Int64
  /// The retention holder, as `history/purge` reports it.
  package let reason: String

  package init(number: Int64, reason: String) {
    self.number = number
    self.reason = reason
  }
}

/// A component of this process that reads the log after each commit, from its own position.
///
/// The service calls all members on its loop. Only `stop` may block.
package protocol LogFollower: AnyObject, Sendable {
  /// The name of the follower in `status`; nil if `status` does not list the follower.
  var statusName: String? { get }

  /// The position up to which the follower has read the log; nil until the position is known.
  var position: StoreToken? { get }

  /// The history that the follower still has to read; nil when the follower needs no history.
  var retention: HistoryRetention? { get }

  /// The time for which the service collects commits before it wakes the follower, in milliseconds.
  var pauseMilliseconds: Int { get }

  /// Wakes the follower, so that it continues reading.
  ///
  /// - Parameter commit: The number of the newest commit that the service knows.
  func wake(through commit: Int64)

  /// Reads the log up to a commit, on behalf of a waiting client.
  ///
  /// - Parameters:
  ///   - commit: The number of a visible commit.
  ///   - connection: The connection of the client.
  ///   - completion: Called once, on any thread: with nil when the follower has reached the commit,
  ///     or with the error that stopped the follower.
  /// - Returns: A closure that cancels the wait and may run on any thread; nil if the completion
  ///   was already called, or if the wait needs no cancellation.
  func reach(
    _ commit: StoreToken,
    for connection: Int,
    _ completion: @escaping @Sendable ((any Error)?) -> Void
  ) -> (@Sendable () -> Void)?

  /// Stops reading; called once, when no connection is left.
  func stop()
}
