package import CordialValues

/// A part of the history that has to stay, and its reason.
package struct HistoryRetention: Sendable {
  /// The commit after which everything is kept.
  package let number: Int64
  /// What keeps it, as `history/purge` reports it.
  package let reason: String

  package init(number: Int64, reason: String) {
    self.number = number
    self.reason = reason
  }
}

/// A component of this process that reads the log after each commit, from a position of its own.
///
/// The service calls all members on its loop, and none of them blocks but `stop`.
package protocol LogFollower: AnyObject, Sendable {
  /// The name under which `status` lists the follower; nil for one that it does not list.
  var statusName: String? { get }

  /// What the follower has read the log up to; nil before it knows.
  var position: StoreToken? { get }

  /// What the follower still has to read; nil when it needs nothing of the log.
  var retention: HistoryRetention? { get }

  /// How long commits are gathered before the follower is woken, in milliseconds.
  var pauseMilliseconds: Int { get }

  /// Has the follower read on.
  ///
  /// - Parameter commit: The number of the newest commit that the service knows.
  func wake(through commit: Int64)

  /// Reads up to a commit, for a client that waits for it.
  ///
  /// - Parameters:
  ///   - commit: The number of a visible commit.
  ///   - connection: The connection of the client.
  ///   - completion: Called once, on any thread: with nil when the follower has reached the commit,
  ///     or with the reason why it has not.
  /// - Returns: Ends the wait, on any thread; nil when nothing waits.
  func reach(
    _ commit: StoreToken,
    for connection: Int,
    _ completion: @escaping @Sendable ((any Error)?) -> Void
  ) -> (@Sendable () -> Void)?

  /// Ends reading; called once, when no connection is left.
  func stop()
}
