import CordialValues
import JSONRPC
import Logging
import PersistentHistory
import PersistentStore

/// The steps that bring the subscriptions from a position to a snapshot.
extension Service {
  /// Begins a step if a connection is ready for updates, or if an observation is at a position of
  /// its own.
  ///
  /// The end of a turn calls this method.
  func advanceObservations() {
    guard !observing.isStepping, let position = observing.position else { return }
    let ready = observing.withNews.compactMap { sessions[$0] }
      .filter { session in
        session.observed.hasNews && readiness(session, through: position.commit) == .ready
      }
    let isBehind =
      observing.wanted > position.commit
      && sessions.values.contains { readiness($0) == .ready }
    guard isBehind || !ready.isEmpty || observing.registry.hasObservationsApart else { return }
    let step = step(from: position, ready.compactMap(behindClient))
    if stepOnLoop(step) { return }
    observing.isStepping = true
    for client in step.behind { sessions[client.session]?.observed.beginUpdate() }
    snapshot { snapshot in
      try step.run(snapshot, isSmall: false)
    } completion: { outcome in
      self.onLoop { service in service.stepped(outcome, step) }
    }
  }

  /// Returns the step that brings all observations from a position to the next snapshot, and the
  /// given clients with them.
  func step(from position: LogPosition, _ behind: [BehindClient]) -> SubscriptionStep {
    SubscriptionStep(
      from: position,
      authorsAfter: observing.authorsAfter ?? position.commit,
      registry: observing.registry,
      behind: behind,
      isShared: isObservingShared,
      lateSince: lateSince,
      lateWhole: lateWhole,
      limits: limits
    )
  }

  /// Performs a step on the loop if a few look-ups by key are sufficient, and returns whether it
  /// did.
  private func stepOnLoop(_ step: SubscriptionStep) -> Bool {
    do {
      let outcome = try loopReader.snapshot { try step.run($0, isSmall: true) }
      guard let outcome else { return false }
      apply(outcome, step)
      return true
    } catch {
      // The worker hits the same error and handles it by sealing or restarting.
      return false
    }
  }

  /// Applies the outcome of a step that a worker has performed.
  func stepped(
    _ outcome: Result<SubscriptionStep.Outcome?, RPCError>,
    _ step: SubscriptionStep
  ) {
    observing.isStepping = false
    switch outcome {
    case .success(let outcome):
      if let outcome { apply(outcome, step) }
    case .failure(let error):
      // Without the update the clients' results would stay wrong, so their connections are closed.
      log.error("Closed connections: their update failed", metadata: ["error": "\(error.message)"])
      observing.wanted = 0
      for session in sessions.values where session.observed.position != nil {
        session.peer.fail()
        markChanged(session)
      }
    }
    for client in step.behind {
      guard let session = sessions[client.session] else { continue }
      endUpdate(session)
      markChanged(session)
    }
    let waiting = observing.afterStep
    observing.afterStep = []
    for work in waiting { work(self) }
  }

  /// Returns the client of a connection that is behind; nil if the client is not behind.
  func behindClient(_ session: Session) -> BehindClient? {
    let observed = session.observed
    guard let position = observed.behindAt else { return nil }
    return BehindClient(
      session: session.number,
      position: position,
      views: observed.formerViews.map { subscription, former in
        BehindClient.View(
          number: subscription.number,
          observation: subscription.observation,
          result: former.result
        )
      },
      isBlocked: observed.isBlocked
    )
  }

  /// Records the new results and sends the updates.
  private func apply(_ outcome: SubscriptionStep.Outcome, _ step: SubscriptionStep) {
    let registry = observing.registry
    // The last subscription may have ended meanwhile.
    observing.position = subscriptionCount > 0 ? outcome.position : nil
    observing.add(outcome.authors, after: step.authorsAfter)
    readAlone(outcome.leftOut, from: step.from)
    endLateness(after: step)
    // A client catches up unless one of its observations is left out, or its own save is not
    // answered yet.
    let caughtUp = Set(
      step.behind.map(\.session).filter { number in
        sessions[number].map { session in
          session.observed.leftOut.isEmpty
            && !hasUnansweredSave(session, through: outcome.position.commit)
        } ?? false
      }
    )
    var updates: [Int: [(number: Int, body: UpdateBody)]] = [:]
    /// The replaced results that clients at other positions may need, although the new results look
    /// equal to clients.
    var equal: [(subscribers: [Subscriber], former: any LiveResult)] = []
    for change in outcome.changes {
      // A step changes no result of a search.
      let subscribers = change.isOfSearch ? [] : registry.subscribers(of: change.number)
      var former: KeptResult?
      var unchanged: [Subscriber] = []
      for subscriber in subscribers where !caughtUp.contains(subscriber.session) {
        guard let session = sessions[subscriber.session] else { continue }
        if change.isAligned, session.observed.behindAt == nil,
          readiness(session, through: outcome.position.commit) == .ready
        {
          guard let body = change.body else { continue }
          updates[session.number, default: []].append((subscriber.number, body))
        } else if change.isAligned, change.body == nil,
          !session.observed.isBehind(subscriber.number)
        {
          unchanged.append(subscriber)
        } else {
          let kept = former ?? KeptResult(change.former, budget)
          former = kept
          session.observed.fallBehind(subscriber.number, with: kept, at: step.from)
          if !session.isWritable { session.observed.isBlocked = true }
          observing.withNews.insert(session.number)
        }
      }
      if !unchanged.isEmpty { equal.append((unchanged, change.former)) }
      registry.update(change.observation, change.number, at: outcome.position)
      registry.add(change.costs, to: change.number)
    }
    registry.advance(to: outcome.position)
    for (subscribers, former) in equal { keep(former, for: subscribers, at: step.from) }
    for client in outcome.caughtUp where caughtUp.contains(client.session) {
      guard let session = sessions[client.session] else { continue }
      session.observed.catchUp()
      let known = client.updates.filter { session.observed.index(of: $0.number) != nil }
      updates[session.number, default: []] += known
    }
    for (number, body) in outcome.ended {
      registry.leave(number, at: step.from, isReadAlone: false)
      end(number, body, caughtUp, &updates, outcome)
    }
    endLargest(caughtUp, &updates, outcome)
    for (number, list) in updates {
      guard let session = sessions[number] else { continue }
      let ended = session.observed.ended
      session.observed.ended = []
      let all = (list + ended).sorted { $0.number < $1.number }
      if !all.isEmpty { send(all, through: outcome.token, to: session) }
    }
    catchUpOthers()
    reportAuthors(outcome)
  }

  /// Keeps a former result for clients that are behind, although the new result looks equal to
  /// them.
  ///
  /// Equal results may differ in data that clients do not see, such as the spare rows of a window.
  /// The client's next difference begins at the client's position, and needs the result of that
  /// position.
  private func keep(
    _ former: any LiveResult,
    for subscribers: [Subscriber],
    at position: LogPosition
  ) {
    var kept: KeptResult?
    for subscriber in subscribers {
      guard let session = sessions[subscriber.session], session.observed.behindAt != nil else {
        continue
      }
      let result = kept ?? KeptResult(former, budget)
      kept = result
      session.observed.fallBehind(subscriber.number, with: result, at: position)
    }
  }

  /// Ends all subscriptions of an observation, with `body` as their last update.
  func end(
    _ number: Int,
    _ body: UpdateBody,
    _ caughtUp: Set<Int>,
    _ updates: inout [Int: [(number: Int, body: UpdateBody)]],
    _ outcome: SubscriptionStep.Outcome
  ) {
    for subscriber in observing.registry.subscribers(of: number) {
      end(subscriber, body, caughtUp, &updates, outcome)
    }
  }

  /// Ends a subscription with its last update, which is sent in this step or waits for a later
  /// step.
  func end(
    _ subscriber: Subscriber,
    _ body: UpdateBody,
    _ caughtUp: Set<Int>,
    _ updates: inout [Int: [(number: Int, body: UpdateBody)]],
    _ outcome: SubscriptionStep.Outcome
  ) {
    guard let session = sessions[subscriber.session] else { return }
    remove(subscriber.number, session)
    // Without other subscriptions, no later step reports the end.
    let isInStep =
      caughtUp.contains(session.number) || session.observed.subscriptions.isEmpty
      || session.observed.behindAt == nil
        && readiness(session, through: outcome.position.commit) == .ready
    if isInStep {
      updates[session.number, default: []].append((subscriber.number, body))
    } else {
      session.observed.ended.append((subscriber.number, body))
      session.observed.stay(at: observing.position)
      observing.withNews.insert(session.number)
    }
  }

  /// Removes the connections without pending notifications from `withNews`.
  private func catchUpOthers() {
    observing.withNews = observing.withNews.filter { number in
      sessions[number]?.observed.hasNews == true
    }
  }

  /// Sends the new position to connections without updates when many authors are unreported, so
  /// that these authors can be forgotten.
  private func reportAuthors(_ outcome: SubscriptionStep.Outcome) {
    guard observing.hasManyAuthors else { return }
    for session in sessions.values where session.observed.behindAt == nil {
      guard let position = session.observed.position, position.number < outcome.position.commit,
        readiness(session, through: outcome.position.commit) == .ready
      else { continue }
      send([], through: outcome.token, to: session)
    }
    let least = sessions.values.compactMap { $0.observed.position?.number }.min()
    observing.forgetAuthors(through: least ?? outcome.position.commit)
  }
}
