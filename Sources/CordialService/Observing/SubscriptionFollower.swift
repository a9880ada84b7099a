import CordialValues
import JSONRPC
import PersistentHistory

/// The subscriptions of all connections as one follower of the log.
///
/// Each connection has its own position. The service calls the follower on its loop.
final class SubscriptionFollower: LogFollower {
  private unowned let service: Service

  init(_ service: Service) {
    self.service = service
  }

  var statusName: String? { nil }

  var position: StoreToken? { nil }

  var retention: HistoryRetention? {
    // The service no longer needs the commits that a connection has examined, because the service
    // has notified the connection's client of all relevant changes.
    service.assumeIsolated { $0.leastExamined }
      .map { HistoryRetention(number: $0, reason: "a live subscription") }
  }

  var pauseMilliseconds: Int { 0 }

  func wake(through commit: Int64) {
    service.assumeIsolated { $0.moveSubscriptions(through: commit) }
  }

  func reach(
    _ commit: StoreToken,
    for connection: Int,
    _ completion: @escaping @Sendable ((any Error)?) -> Void
  ) -> (@Sendable () -> Void)? {
    // The method returns no closure that ends the wait, because the end of the update ends the
    // wait.
    service.assumeIsolated { $0.update(connection, completion) }
    return nil
  }

  func stop() {}
}
