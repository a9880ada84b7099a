import JSONRPC
import PersistentHistory
import Spotlight

/// The end of the service.
extension Service {
  /// Stops the service.
  ///
  /// The service refuses new connections, answers all received requests, closes the connections,
  /// and then stops the followers.
  ///
  /// - Parameter completion: Called after the last step.
  package func stop(_ completion: @escaping @Sendable () -> Void) {
    perform { service in
      service.stopping = completion
      service.index.endBuilds()
      service.comparing.stop()
      service.abortUnread()
      for session in service.sessions.values {
        session.phase.endInput(exitCode: 0)
        service.markChanged(session)
      }
      service.finishStopping()
    }
  }

  /// Drops the connections whose peers do not read, as often as the limit says: they must not keep
  /// the process alive.
  private func abortUnread() {
    onLoop(afterMilliseconds: 1000 * limits.stopSecondsMax) { service in
      for session in service.sessions.values where !service.isWorking(for: session) {
        session.sink.abort()
      }
      if !service.sessions.isEmpty { service.abortUnread() }
    }
  }

  /// Whether the answers that a connection waits for are still being made.
  private func isWorking(for session: Session) -> Bool {
    session.isWritable && (!session.queue.isEmpty || session.observed.isUpdating)
  }

  func finishStopping() {
    guard sessions.isEmpty, let completion = stopping else { return }
    stopping = nil
    hasStopped = true
    for follower in followers { follower.stop() }
    completion()
  }
}
