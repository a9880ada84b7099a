import CordialProtocol
import CordialValues
import DequeModule
import Interruptions
import JSON
import JSONRPC
import Logging
import PersistentHistory
import PersistentStore
import ProtocolSchemas
import Spotlight

/// The pump, which wakes the followers of the log and updates the subscriptions.
extension Service {
  /// Reports a visible commit to the followers of the log.
  package func committed(_ number: Int64) {
    guard number > newestCommit else { return }
    newestCommit = number
    // For observed searches, the index reads the commit at once, instead of gathering commits
    // first.
    if observing.registry.hasSearches { index.follow() }
    for follower in followers { wake(follower) }
    updateLease()
    // A new store has no history to remove.
    if number > 0 { purgeIfDue() }
  }

  /// Wakes a follower, after a pause if the follower wants one.
  ///
  /// The commits that arrive during the pause cause a single wake-up after the pause.
  private func wake(_ follower: any LogFollower) {
    let pause = follower.pauseMilliseconds
    guard pause > 0 else { return follower.wake(through: newestCommit) }
    guard waking.insert(ObjectIdentifier(follower)).inserted else { return }
    onLoop(afterMilliseconds: pause) { service in
      service.waking.remove(ObjectIdentifier(follower))
      follower.wake(through: service.newestCommit)
    }
  }

  /// Records a commit that the subscriptions must reach; the end of the turn begins the step.
  func moveSubscriptions(through commit: Int64) {
    observing.wanted = max(observing.wanted, commit)
  }

  /// The earliest commit among the positions of the observations and of the clients that are
  /// behind; nil without subscriptions.
  var leastExamined: Int64? {
    guard let position = observing.position else { return nil }
    let behind = observing.withNews.compactMap { sessions[$0]?.observed.behindAt?.commit }
    return ([position.commit, observing.registry.leastApart].compactMap(\.self) + behind).min()
  }

  // MARK: Connections

  /// Sends the remaining parts of a message while the peer accepts them.
  ///
  /// The end of a turn calls this method for each session that the turn has changed.
  func pump(_ session: Session) {
    while session.peer.sends, session.acceptsNotifications,
      let part = session.observed.parts.popFirst()
    { notify(part.bytes, session) }
  }

  /// Sends the remaining parts of a message before a response that must follow them.
  func sendParts(to session: Session) {
    while let part = session.observed.parts.popFirst() { notify(part.bytes, session) }
  }

  /// Sends updates in one message, or in parts, and moves the connection's position.
  ///
  /// - Parameters:
  ///   - updates: The updates, ordered by subscription.
  ///   - authors: The authors of the commits after the client's position; nil for the authors that
  ///     steps have recorded.
  ///   - token: The new position.
  ///   - session: The connection.
  func send(
    _ updates: [(number: Int, body: UpdateBody)],
    by authors: [String?]? = nil,
    through token: StoreToken,
    to session: Session
  ) {
    let from = session.observed.position ?? token
    let message = ChangesMessage(
      from: from.description,
      token: token.description,
      authors: authors ?? observing.authors(after: from.number),
      limits: limits
    )
    session.observed.position = session.observed.subscriptions.isEmpty ? nil : token
    session.observed.parts += message.parts(updates)
    beginCoalescing(session)
    pump(session)
  }

  /// Starts the period in which changes are coalesced, if the connection has one.
  private func beginCoalescing(_ session: Session) {
    guard session.coalesce > 0 else { return }
    session.observed.coalescing = .running
    let number = session.number
    onLoop(afterMilliseconds: session.coalesce) { service in
      guard let session = service.sessions[number] else { return }
      session.observed.coalescing = .idle
      service.markChanged(session)
    }
  }

  /// Brings the subscriptions of one connection to the newest commit.
  func update(_ number: Int, _ completion: @escaping @Sendable ((any Error)?) -> Void) {
    guard let session = sessions[number] else { return completion(nil) }
    afterUpdate(session) { service in service.flush(number, completion) }
  }

  /// Reports the pending changes of a connection, regardless of its coalescing period.
  ///
  /// The flush waits while slow requests are read alone, and then brings them to the newest commit.
  /// If new commits arrive during these reads, the flush repeats the reads until the time limit of
  /// `observe/flush`.
  private func flush(_ number: Int, _ completion: @escaping @Sendable ((any Error)?) -> Void) {
    guard let session = sessions[number], session.observed.position != nil,
      let position = observing.position
    else { return completion(nil) }
    let interruption = session.running.interruption(of: FlushCall.method)
    do { try interruption?.check() } catch { return completion(error) }
    guard session.observed.leftOut.isEmpty else {
      return afterAlone(interruption) { service in service.update(number, completion) }
    }
    // While a step of all connections is running, the flush waits for the end of that step.
    guard !observing.isStepping else {
      return observing.afterStep.append { service in service.update(number, completion) }
    }
    session.observed.beginUpdate()
    observing.isStepping = true
    let current = BehindClient(session: number, position: position, views: [], isBlocked: false)
    let step = self.step(from: position, [behindClient(session) ?? current])
    snapshot { snapshot in
      try step.run(snapshot, isSmall: false)
    } completion: { outcome in
      self.onLoop { service in
        service.stepped(outcome, step)
        switch outcome {
        case .success:
          // The response follows the updates of the observations that the step has left out.
          let isLeft = service.sessions[number].map { !$0.observed.leftOut.isEmpty } ?? false
          if isLeft { service.update(number, completion) } else { completion(nil) }
        case .failure(let error): completion(error)
        }
      }
    }
  }

  /// Records the end of an update, and runs the work that waited for it.
  ///
  /// If some of the work begins an update, the remaining work waits for the end of that update.
  func endUpdate(_ session: Session) {
    for work in session.observed.endUpdate() { afterUpdate(session, work) }
  }

  /// Runs work as soon as no update of a connection is being built.
  func afterUpdate(_ session: Session, _ work: @escaping @Sendable (isolated Service) -> Void) {
    if !session.observed.wait(for: work) { work(self) }
  }

  /// Ends a subscription, if the connection still has it.
  func remove(_ number: Int, _ session: Session) {
    guard let subscription = session.observed.remove(number) else { return }
    end(subscription, of: session.number)
    subscriptionCount -= 1
    if subscriptionCount == 0 { observing.position = nil }
    updateLease()
  }

  /// Removes a subscription from the registry.
  ///
  /// After the last subscription, the registry keeps the result of the observation for a while.
  private func end(_ subscription: LiveSubscription, of session: Int) {
    observing.registry.remove(
      Subscriber(session: session, number: subscription.number),
      from: subscription.observation,
      at: observing.isStepping ? nil : observing.position
    )
    if observing.registry.observation(subscription.observation) == nil {
      observing.alone[subscription.observation]?.stop(.disconnected)
    }
    forgetRecentLater()
  }

  /// Schedules a timer that forgets the results of ended observations.
  private func forgetRecentLater() {
    guard !observing.forgetsRecent else { return }
    observing.forgetsRecent = true
    onLoop(afterMilliseconds: limits.recentMilliseconds) { service in
      service.observing.forgetsRecent = false
      if service.observing.registry.forgetRecent() { service.forgetRecentLater() }
    }
  }

  /// The number of subscriptions that one turn of the loop ends.
  private static let endsMax = 256

  /// Ends all subscriptions of a connection that has ended, over several turns of the loop.
  ///
  /// Other connections thus need not wait until thousands of subscriptions have ended.
  func removeSubscriptions(of session: Session) {
    let subscriptions = session.observed.subscriptions
    session.observed.subscriptions = []
    observing.withNews.remove(session.number)
    end(subscriptions[...], of: session.number)
  }

  private func end(_ subscriptions: ArraySlice<LiveSubscription>, of session: Int) {
    for subscription in subscriptions.prefix(Self.endsMax) { end(subscription, of: session) }
    subscriptionCount -= min(Self.endsMax, subscriptions.count)
    let rest = subscriptions.dropFirst(Self.endsMax)
    guard rest.isEmpty else {
      // During the pause, the loop reads the messages of other peers.
      return onLoop(afterMilliseconds: 1) { service in service.end(rest, of: session) }
    }
    if subscriptionCount == 0 { observing.position = nil }
    updateLease()
  }

  // MARK: Leases

  /// The maximum number of commits by which the stored lease may lag behind the subscriptions.
  ///
  /// Other processes may retain up to that many commits that no subscription needs.
  private static let leaseLagMax: Int64 = 1000

  /// Records in the store the commit after which subscriptions need history, so that other
  /// processes do not purge that history.
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
        // The next commit causes a new attempt to write the lease.
        service.leaseFailed = true
        service.log.warning("Other processes may remove history: \(error.message)")
      }
    }
  }
}
