import Interruptions
import JSONRPC
import PersistentHistory
import PersistentStore
import Spotlight

/// The end of the service.
extension Service {
  /// Stops the service.
  ///
  /// The service refuses new connections, answers all received requests, closes the connections,
  /// and then stops the followers. Requests that take longer than the limit fail.
  ///
  /// - Parameter completion: Called after the last step.
  package func stop(_ completion: @escaping @Sendable () -> Void) {
    perform { service in
      service.stopping = completion
      service.index.endBuilds()
      for session in service.sessions.values {
        session.running.stopWithService()
      }
      service.abortUnread(service.doneSessions, isFirst: true)
      for session in service.sessions.values {
        session.peer.stop()
        service.markChanged(session)
      }
      service.finishStopping()
    }
  }

  /// Ends the requests that are not answered yet, except those of connections that are dropped.
  private func endRequests(except dropped: Set<Int>) {
    let error = RPCError(StoreError(.closed, "The service is stopping"))
    for session in sessions.values where !dropped.contains(session.number) {
      for waiting in session.queue.cancelAll() { finish(waiting, .failure(error)) }
      session.running.stopAll(.closing)
      markChanged(session)
    }
    store.endStoppedSaves()
    for interruption in observing.alone.values { interruption.stop(.closing) }
    for read in observing.aloneReads.values { read.interruption.stop(.closing) }
  }

  /// Drops connections that must not keep the process alive, as often as the limit says.
  ///
  /// - Parameters:
  ///   - done: The connections whose peers have had nothing but to read since then.
  ///   - isFirst: Whether the time for requests that are still being answered begins.
  private func abortUnread(_ done: Set<Int>, isFirst: Bool) {
    onLoop(afterMilliseconds: 1000 * limits.stopSecondsMax) { service in
      let stillDone = service.doneSessions
      let ended = isFirst ? done.intersection(stillDone) : Set(service.sessions.keys)
      for number in ended { service.sessions[number]?.sink.abort() }
      if isFirst { service.endRequests(except: ended) }
      if !service.sessions.isEmpty { service.abortUnread(stillDone, isFirst: false) }
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
