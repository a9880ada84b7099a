import CordialValues
import JSONRPC
import Logging
import PersistentHistory
import PersistentStore
import Spotlight
import Subscriptions

/// Moving the followers: the index, and every connection's subscriptions.
extension Service {
  /// A commit became visible: everybody who follows the log reads on.
  package func committed(_ number: Int64) {
    guard number > newestCommit else { return }
    newestCommit = number
    for follower in followers { wake(follower) }
    purgeSometimes()
  }

  /// Wakes a follower, for all commits that come until its pause is over.
  private func wake(_ follower: any LogFollower) {
    let pause = follower.pauseMilliseconds
    guard pause > 0 else { return follower.wake(through: newestCommit) }
    guard waking.insert(ObjectIdentifier(follower)).inserted else { return }
    onLoop(afterMilliseconds: pause) { service in
      service.waking.remove(ObjectIdentifier(follower))
      follower.wake(through: service.newestCommit)
    }
  }

  /// Moves the subscriptions of every connection on.
  func moveSubscriptions(through commit: Int64) {
    for session in sessions.values where !session.observed.subscriptions.isEmpty {
      session.observed.wanted = commit
      pump(session)
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
    whenSettled(session) { service in
      guard let session = service.sessions[number] else { return completion(nil) }
      let observed = session.observed
      guard observed.position != nil else { return completion(nil) }
      session.observed.isUpdating = true
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
    session.observed.isUpdating = false
    switch outcome {
    case .success(let update):
      apply(update, session)
      completion(nil)
    case .failure(let error): completion(error)
    }
    pump(session)
    closeIfDone(session)
  }

  /// Moves a connection on, if it has something to hear and its peer takes it.
  ///
  /// - Parameters:
  ///   - session: The connection.
  ///   - hasGathered: Whether changes were gathered for as long as the client wants.
  func pump(_ session: Session, hasGathered: Bool = false) {
    let observed = session.observed
    guard observed.position != nil, observed.wanted > observed.examined.commit,
      !observed.isUpdating, !observed.isGathering, session.isWritable, !session.isClosed
    else { return }
    guard session.coalesce == 0 || hasGathered else { return gather(session) }
    if !updateOnLoop(session) { updateOnWorker(session) }
  }

  /// Waits for the trailing edge of what is gathered.
  private func gather(_ session: Session) {
    session.observed.isGathering = true
    let number = session.number
    onLoop(afterMilliseconds: session.coalesce) { service in
      guard let session = service.sessions[number] else { return }
      session.observed.isGathering = false
      service.pump(session, hasGathered: true)
    }
  }

  /// Whether a connection may hear of everything up to a commit: its own saves are heard after
  /// their answers, and each answer has the connection pumped again.
  private func mayTell(_ session: Session, through commit: Int64) -> Bool {
    guard session.queue.isWriting, commit > answeredCommit else {
      session.observed.owedSince = nil
      return true
    }
    if session.observed.owedSince == nil { session.observed.owedSince = facts.clock() }
    return false
  }

  /// How long a connection that saves without pause may wait for its news, in microseconds.
  private static let owedMax: Int64 = 50_000

  /// Whether a connection's next saves wait until it was told what it is owed.
  func waitsForNews(_ session: Session) -> Bool {
    guard let since = session.observed.owedSince else { return false }
    return session.queue.isWriting && facts.clock() - since > Self.owedMax
  }

  /// Makes an update at once when look-ups by key are all that it takes.
  ///
  /// - Returns: Whether nothing remains to be done now.
  private func updateOnLoop(_ session: Session) -> Bool {
    let observed = session.observed
    let limits = limits
    do {
      let outcome = try loopReader.snapshot { snapshot -> UpdateBuilder.Outcome? in
        guard mayTell(session, through: snapshot.head.number) else { return .nothing(observed) }
        return try UpdateBuilder(smallOf: snapshot, observed: observed, limits: limits)?.build()
      }
      guard let outcome else { return false }
      apply(outcome, session)
      return true
    } catch {
      // A worker meets the same error and knows what to do about it: seal, or start over.
      return false
    }
  }

  private func updateOnWorker(_ session: Session) {
    session.observed.isUpdating = true
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
    session.observed.isUpdating = false
    switch outcome {
    case .success(let outcome):
      if mayTell(session, through: outcome.examined.commit) { apply(outcome, session) }
    case .failure(let error):
      // Without its update the connection's view would be wrong for ever: better to end it.
      log.error("A connection is cut: its update failed", metadata: ["error": "\(error.message)"])
      close(session, exitCode: 1)
      return
    }
    let waiting = session.observed.afterUpdate
    session.observed.afterUpdate = []
    for work in waiting { work(self) }
    // An update that had to be put aside is made again after the answer that it waits for.
    if !session.queue.isWriting { pump(session) }
    closeIfDone(session)
  }

  /// Sends an update and moves the connection's position.
  func apply(_ outcome: UpdateBuilder.Outcome, _ session: Session) {
    for subscription in outcome.subscriptions {
      guard let place = session.observed.index(of: subscription.number) else { continue }
      if session.observed.subscriptions[place].revision != subscription.revision {
        session.observed.table.set(subscription.interest, for: subscription.number)
      }
      session.observed.subscriptions[place] = subscription
    }
    for number in outcome.ended { remove(number, session) }
    session.observed.examined = outcome.examined
    session.observed.unreportedAuthors = outcome.unreportedAuthors
    // With nothing to say the client's position stays: the next changes spans these commits.
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
  }

  /// Runs work when no update of a connection is being made.
  func whenSettled(_ session: Session, _ work: @escaping @Sendable (isolated Service) -> Void) {
    guard session.observed.isUpdating else { return work(self) }
    session.observed.afterUpdate.append(work)
  }
}
