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
      service.abortUnread(service.doneSessions)
      for session in service.sessions.values {
        session.phase.endInput(exitCode: 0)
        service.markChanged(session)
      }
      service.finishStopping()
    }
  }

  /// Drops the connections whose peers do not read, as often as the limit says: they must not keep
  /// the process alive.
  ///
  /// - Parameter done: The connections whose peers have had nothing but to read since then.
  private func abortUnread(_ done: Set<Int>) {
    onLoop(afterMilliseconds: 1000 * limits.stopSecondsMax) { service in
      let stillDone = service.doneSessions
      for number in done.intersection(stillDone) { service.sessions[number]?.sink.abort() }
      if !service.sessions.isEmpty { service.abortUnread(stillDone) }
    }
  }

  /// The connections for which no answer is being made.
  private var doneSessions: Set<Int> {
    let done = sessions.values.filter { session in
      !session.isWritable || session.queue.isEmpty && !session.observed.isUpdating
    }
    return Set(done.map(\.number))
  }

  func finishStopping() {
    guard sessions.isEmpty, let completion = stopping else { return }
    stopping = nil
    hasStopped = true
    for follower in followers { follower.stop() }
    completion()
  }
}
