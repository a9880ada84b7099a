import CordialValues
import JSONRPC
import Logging
import PersistentHistory
import PersistentStore
import Spotlight
import Subscriptions

/// The pump, which wakes the followers of the log and updates the subscriptions.
extension Service {
  /// Reports a visible commit to the followers of the log.
  package func committed(_ number: Int64) {
    guard number > newestCommit else { return }
    newestCommit = number
    for follower in followers { wake(follower) }
    updateLease()
    // A new store has no history to remove.
    if number > 0 { purgeIfDue() }
  }

  /// Wakes a follower, once for all commits until the end of its pause.
  private func wake(_ follower: any LogFollower) {
    let pause = follower.pauseMilliseconds
    guard pause > 0 else { return follower.wake(through: newestCommit) }
    guard waking.insert(ObjectIdentifier(follower)).inserted else { return }
    onLoop(afterMilliseconds: pause) { service in
      service.waking.remove(ObjectIdentifier(follower))
      follower.wake(through: service.newestCommit)
    }
  }

  /// Updates the subscriptions of every connection.
  func moveSubscriptions(through commit: Int64) {
    for session in sessions.values where !session.observed.subscriptions.isEmpty {
      session.observed.wanted = commit
      markChanged(session)
    }
  }

  /// The least commit up to which a connection with subscriptions has examined the log; nil without
  /// subscriptions.
  var leastExamined: Int64? {
    sessions.values.filter { !$0.observed.subscriptions.isEmpty }
      .map(\.observed.examined.commit).min()
  }

  /// Brings the subscriptions of one connection to the newest commit.
  func update(_ number: Int, _ completion: @escaping @Sendable ((any Error)?) -> Void) {
    guard let session = sessions[number] else { return completion(nil) }
    afterUpdate(session) { service in
      guard let session = service.sessions[number] else { return completion(nil) }
      let observed = session.observed
      guard observed.position != nil else { return completion(nil) }
      session.observed.beginUpdate()
      let limits = service.limits
      service.snapshot { snapshot in
        try UpdateBuilder(snapshot: snapshot, observed: observed, limits: limits).build()
      } completion: { outcome in
        service.onLoop { service in service.flushed(outcome, number, completion) }
      }
    }
  }

  private func flushed(
    _ outcome: Result<UpdateBuilder.Outcome, RPCError>,
    _ number: Int,
    _ completion: @escaping @Sendable ((any Error)?) -> Void
  ) {
    guard let session = sessions[number] else { return completion(nil) }
    switch outcome {
    case .success(let update):
      apply(update, session)
      completion(nil)
    case .failure(let error): completion(error)
    }
    endUpdate(session)
    markChanged(session)
  }

  /// Updates the subscriptions of a connection if commits are pending and its peer accepts bytes.
  ///
  /// The end of a turn calls this method for each session that the turn has changed.
  func pump(_ session: Session) {
    let observed = session.observed
    guard observed.position != nil, observed.wanted > observed.examined.commit else {
      // The next change starts a period of its own.
      if observed.coalescing == .over { session.observed.coalescing = .idle }
      return
    }
    guard !observed.isUpdating, session.isWritable, session.phase.sends else { return }
    switch observed.coalescing {
    case .running: return
    case .idle where session.coalesce > 0: return beginCoalescing(session)
    case .idle, .over: break
    }
    switch updateOnLoop(session) {
    // `coalescing` stays `over`, so that the update follows the response without another period.
    case .deferred: return
    case .applied: break
    case .needsWorker: updateOnWorker(session)
    }
    session.observed.coalescing = .idle
  }

  /// Starts a period for coalescing changes, whose end updates the connection.
  private func beginCoalescing(_ session: Session) {
    session.observed.coalescing = .running
    let number = session.number
    onLoop(afterMilliseconds: session.coalesce) { service in
      guard let session = service.sessions[number] else { return }
      session.observed.coalescing = .over
      service.markChanged(session)
    }
  }

  /// Returns whether a connection may be notified of all commits up to a commit.
  ///
  /// A connection's own saves are reported after their responses. Each response marks the session
  /// as changed, and the end of the turn pumps it again.
  private func mayNotify(_ session: Session, through commit: Int64) -> Bool {
    guard session.queue.isWriting, commit > answeredCommit else {
      session.observed.deferredSince = nil
      return true
    }
    if session.observed.deferredSince == nil { session.observed.deferredSince = facts.clock() }
    return false
  }

  /// The maximum delay of notifications by a connection's own saves, in microseconds.
  private static let deferredMicrosecondsMax: Int64 = 50_000

  /// Returns whether a connection's next requests wait until its pending changes are reported.
  func waitsForPendingChanges(_ session: Session) -> Bool {
    guard let since = session.observed.deferredSince else { return false }
    return session.queue.isWriting && facts.clock() - since > Self.deferredMicrosecondsMax
  }

  /// The outcome of an update on the loop.
  private enum LoopUpdate {
    case applied
    /// The update waits for the response to a save of the connection.
    case deferred
    /// The update needs more than a few look-ups by key.
    case needsWorker
  }

  /// Updates a connection on the loop if look-ups by key are sufficient.
  private func updateOnLoop(_ session: Session) -> LoopUpdate {
    let observed = session.observed
    let limits = limits
    do {
      return try loopReader.snapshot { snapshot in
        guard mayNotify(session, through: snapshot.head.number) else { return .deferred }
        let builder = try UpdateBuilder(smallOf: snapshot, observed: observed, limits: limits)
        guard let outcome = try builder?.build() else { return .needsWorker }
        apply(outcome, session)
        return .applied
      }
    } catch {
      // The worker hits the same error and handles it by sealing or restarting.
      return .needsWorker
    }
  }

  private func updateOnWorker(_ session: Session) {
    session.observed.beginUpdate()
    let observed = session.observed
    let limits = limits
    let number = session.number
    snapshot { snapshot in
      try UpdateBuilder(snapshot: snapshot, observed: observed, limits: limits).build()
    } completion: { outcome in
      self.onLoop { service in service.updated(outcome, number) }
    }
  }

  private func updated(_ outcome: Result<UpdateBuilder.Outcome, RPCError>, _ number: Int) {
    guard let session = sessions[number] else { return }
    switch outcome {
    case .success(let outcome):
      // The response for which an update has to wait marks the session.
      if mayNotify(session, through: outcome.examined.commit) {
        apply(outcome, session)
        markChanged(session)
      }
    case .failure(let error):
      // Without the update the client's results would stay wrong, so the connection is closed.
      log.error("Closed a connection: its update failed", metadata: ["error": "\(error.message)"])
      session.phase.fail()
      markChanged(session)
    }
    endUpdate(session)
  }

  /// Records the end of an update, and runs the work that waited for it.
  ///
  /// The work may begin an update, for which the rest of the work then waits.
  func endUpdate(_ session: Session) {
    for work in session.observed.endUpdate() { afterUpdate(session, work) }
  }

  /// Sends an update and moves the connection's position.
  func apply(_ outcome: UpdateBuilder.Outcome, _ session: Session) {
    for subscription in outcome.subscriptions {
      guard let index = session.observed.index(of: subscription.number) else { continue }
      if session.observed.subscriptions[index].revision != subscription.revision {
        session.observed.table.set(subscription.interest, for: subscription.number)
      }
      session.observed.subscriptions[index] = subscription
    }
    for number in outcome.ended { remove(number, session) }
    session.observed.examined = outcome.examined
    session.observed.unreportedAuthors = outcome.unreportedAuthors
    // Without a message, the client's position stays. The next `changes` covers these commits.
    guard let message = outcome.message else { return }
    session.observed.position = session.observed.subscriptions.isEmpty ? nil : outcome.token
    send(message, to: session)
  }

  /// Ends a subscription, if the connection still has it.
  func remove(_ number: Int, _ session: Session) {
    guard let index = session.observed.index(of: number) else { return }
    session.observed.subscriptions.remove(at: index)
    session.observed.table.remove(number)
    subscriptionCount -= 1
    updateLease()
  }

  /// The number of commits that the subscriptions may be ahead of their lease.
  ///
  /// Other processes retain that many commits longer than the subscriptions need.
  private static let leaseLagMax: Int64 = 1000

  /// Records in the store which history the subscriptions need, for the purges of other processes.
  func updateLease() {
    guard !store.isReadOnly else { return }
    let needed = leastExamined
    switch (leasedCommit, needed) {
    case (nil, nil) where !leaseFailed: return
    case (let leased?, let needed?)
    where needed - leased < Self.leaseLagMax && needed >= leased && !leaseFailed:
      return
    default: break
    }
    leasedCommit = needed
    leaseFailed = false
    store.lease(leaseName, through: needed) { outcome in
      guard case .failure(let error) = outcome else { return }
      self.onLoop { service in
        // The next commit tries again.
        service.leaseFailed = true
        service.log.warning("Other processes may remove history: \(error.message)")
      }
    }
  }

  /// Runs work as soon as no update of a connection is being built.
  func afterUpdate(_ session: Session, _ work: @escaping @Sendable (isolated Service) -> Void) {
    if !session.observed.wait(for: work) { work(self) }
  }
}
