package import CordialValues

/// A part of the history that must be retained, and the reason.
package struct HistoryRetention: Sendable {
  /// The commit after which everything is retained.
  package let number: Int64
  /// The retention holder, as `history/purge` reports it.
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

  /// The position up to which the follower has read the log; nil before the follower knows it.
  var position: StoreToken? { get }

  /// The history that the follower still has to read; nil when it needs none.
  var retention: HistoryRetention? { get }

  /// The time for which commits are collected before the follower is woken, in milliseconds.
  var pauseMilliseconds: Int { get }

  /// Wakes the follower, so that it continues reading.
  ///
  /// - Parameter commit: The number of the newest commit that the service knows.
  func wake(through commit: Int64)

  /// Reads up to a commit, for a client that waits for it.
  ///
  /// - Parameters:
  ///   - commit: The number of a visible commit.
  ///   - connection: The connection of the client.
  ///   - completion: Called once, on any thread: with nil when the follower has reached the commit,
  ///     or with the error that prevents it.
  /// - Returns: A closure that ends the wait, on any thread; nil when the completion was called, or
  ///   when the wait ends by itself.
  func reach(
    _ commit: StoreToken,
    for connection: Int,
    _ completion: @escaping @Sendable ((any Error)?) -> Void
  ) -> (@Sendable () -> Void)?

  /// Ends reading; called once, when no connection is left.
  func stop()
}
