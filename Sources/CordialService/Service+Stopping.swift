import Interruptions
import JSONRPC
import PersistentHistory
import PersistentStore
import Spotlight

/// The orderly stop of the service.
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

  /// Fails the unanswered requests, except the requests of dropped connections.
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

  /// Drops connections that would keep the process alive, after each period of `stopSecondsMax`.
  ///
  /// After the first period, the method drops the connections that waited only for their peers at
  /// its beginning and at its end, and fails the requests of all other connections. After each
  /// later period, the method drops all connections.
  ///
  /// - Parameters:
  ///   - done: The numbers of the sessions that waited only for their peers when the period began.
  ///   - isFirst: Whether this is the first period, in which requests may still be answered.
  private func abortUnread(_ done: Set<Int>, isFirst: Bool) {
    onLoop(afterMilliseconds: 1000 * limits.stopSecondsMax) { service in
      let stillDone = service.doneSessions
      let ended = isFirst ? done.intersection(stillDone) : Set(service.sessions.keys)
      for number in ended { service.sessions[number]?.sink.abort() }
      if isFirst { service.endRequests(except: ended) }
      if !service.sessions.isEmpty { service.abortUnread(stillDone, isFirst: false) }
    }
  }

  /// The numbers of the sessions that wait only for their peers: the service builds no response or
  /// update for the session, or the peer does not read.
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
