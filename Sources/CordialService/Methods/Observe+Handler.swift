import Algorithms
import CordialProtocol
import CordialValues
import Interruptions
import JSON
import JSONRPC
import PersistentHistory
import PersistentStore
import Spotlight

extension Service {
  func observe(
    _ call: ObserveCall,
    _ text: String,
    _ session: Session,
    _ request: Request
  ) throws {
    var call = call
    call.set(session.positionEncoding)
    try register(call, text, session, request)
  }

  private func register(
    _ call: ObserveCall,
    _ text: String,
    _ session: Session,
    _ request: Request
  ) throws {
    let since = try call.since.map { text throws(RPCError) in
      guard let token = StoreToken(text) else {
        throw RPCError(.invalidParams, "observe: \"\(text.excerpt)\" is not a token")
      }
      return token
    }
    guard
      Observation.bytes(ofIdentity: ObservedRequest.identity(call.mode, text))
        <= limits.observedBytesMax
    else {
      throw tooManyObservedBytes
    }
    let replaced = call.key.flatMap { session.observed.numbersByKey[$0] }
    guard replaced != nil || subscriptionCount < limits.subscriptionsMax else {
      throw tooManySubscriptions
    }
    let number = replaced ?? session.observed.nextNumber
    if replaced == nil { session.observed.nextNumber += 1 }
    guard case .search(let search) = call.target else {
      return afterUpdate(session) { service in
        service.register(call, text, nil, nil, number: number, since: since, request)
      }
    }
    try find(search, key: call.key, since: since, request) { service, found, former in
      guard let session = service.sessions[request.session] else { return }
      service.afterUpdate(session) { service in
        service.register(call, text, found, former, number: number, since: since, request)
      }
    }
  }

  private var tooManySubscriptions: RPCError {
    Limits.exceeded(
      "subscriptions",
      max: limits.subscriptionsMax,
      "There are too many subscriptions"
    )
  }

  /// The error of a subscription whose result exceeds the memory for observed results.
  var tooManyObservedBytes: RPCError {
    Limits.exceeded(
      "observedBytes",
      max: limits.observedBytesMax,
      "The results of all subscriptions take too much memory; observe fewer objects"
    )
  }

  /// Registers a subscription at a snapshot.
  ///
  /// The service sends the connection no update between the snapshot and the registration.
  private func register(
    _ call: ObserveCall,
    _ text: String,
    _ found: ObservedSearch?,
    _ former: ObservedSearch?,
    number: Int,
    since: StoreToken?,
    _ request: Request
  ) {
    guard let session = sessions[request.session] else { return }
    session.observed.beginUpdate()
    let moment = observing.registry.beginReading()
    let observed = session.observed
    let registration = Registration(
      call: call,
      text: text,
      subscriber: Subscriber(session: session.number, number: number),
      former: former?.live,
      since: since,
      id: request.id,
      share: request.share,
      older: (observed.behindAt ?? observing.position).flatMap { position in
        observed.position.map { known in
          Registration.Older(
            session: session.number,
            known: known.number,
            authors: observing.lastCommits,
            recorded: observing.authorsAfter ?? observing.position?.commit ?? position.commit,
            position: position,
            moment: moment,
            results: observed.formerViews.reduce(into: [:]) { results, view in
              results[view.subscription.number] = view.result.result
            },
            searches: olderSearches(of: observed)
          )
        }
      },
      known: since == nil && found == nil
        ? observing.registry.known(
          ObservedRequest.identity(call.mode, text),
          at: observing.isStepping ? nil : observing.position
        ) : nil,
      added: addedKind,
      found: found.map(HitsQuery.kind),
      registry: observing.registry,
      limits: limits
    )
    let completion = { @Sendable (outcome: Result<Registration.Outcome, RPCError>) in
      self.onLoop { service in service.registered(outcome, call, number, request) }
    }
    snapshot(
      for: request,
      of: since != nil && found == nil ? .past : .present,
      { try registration.perform($0) },
      completion: completion
    )
  }

  private func registered(
    _ outcome: Result<Registration.Outcome, RPCError>,
    _ call: ObserveCall,
    _ number: Int,
    _ request: Request
  ) {
    observing.registry.endReading()
    guard let session = sessions[request.session] else { return }
    switch outcome {
    case .success(let registration):
      moveOlder(to: registration, session)
      let isReplacement = session.observed.index(of: number) != nil
      // Another connection may have reached the limit in the meantime.
      guard isReplacement || subscriptionCount < limits.subscriptionsMax else {
        finish(request, .failure(tooManySubscriptions))
        break
      }
      guard hasObservedRoom(for: registration.observation) else {
        finish(request, .failure(tooManyObservedBytes))
        break
      }
      add(registration, call, number, session)
      session.observed.position = registration.token
      updateLease()
      observing.wanted = max(observing.wanted, newestCommit)
      sendParts(to: session)
      finish(request, .success(registration.message))
      // The index may have advanced since the search.
      if call.isSearch { refreshSearches() }
    case .failure(let error): finish(request, .failure(error))
    }
    endUpdate(session)
    markChanged(session)
  }

  /// Sends the updates of the connection's earlier subscriptions, so that all its subscriptions
  /// reach the position of the new subscription.
  private func moveOlder(to registration: Registration.Outcome, _ session: Session) {
    let updates = registration.older.compactMap { older -> (number: Int, body: UpdateBody)? in
      guard session.observed.index(of: older.number) != nil else { return nil }
      return older.body.map { (older.number, $0) }
    }
    let ended = session.observed.ended
    session.observed.ended = []
    for older in registration.older {
      if older.isEnded { remove(older.number, session) }
      guard session.observed.index(of: older.number) != nil else { continue }
      session.observed.receive(KeptResult(older.result, budget), of: older.number)
    }
    let all = (updates + ended).sorted { $0.number < $1.number }
    if !all.isEmpty, session.observed.position != nil {
      send(all, by: registration.authors, through: registration.token, to: session)
    }
    guard session.observed.position != nil || !session.observed.subscriptions.isEmpty else {
      return
    }
    if observing.isAt(registration.position), session.observed.leftOut.isEmpty {
      session.observed.catchUp()
    } else {
      session.observed.move(to: registration.position)
      // The client now has all changes up to the registration. If slow observations remain, the
      // connection's wait for them starts again now.
      session.observed.lateSince = session.observed.leftOut.isEmpty ? nil : .now
      observing.withNews.insert(session.number)
    }
  }

  private func add(
    _ registration: Registration.Outcome,
    _ call: ObserveCall,
    _ number: Int,
    _ session: Session
  ) {
    if session.observed.index(of: number) != nil { remove(number, session) }
    if observing.position == nil { observing.begin(at: registration.position) }
    observing.needAuthors(after: registration.position.commit)
    let isAligned = observing.isAt(registration.position)
    let (observation, isNew, isApart) = observing.registry.add(
      Subscriber(session: session.number, number: number),
      to: registration.observation,
      isAligned: isAligned
    )
    session.observed.insert(
      LiveSubscription(number: number, key: call.key, observation: observation)
    )
    if observing.alone[observation] != nil { session.observed.leftOut.insert(number) }
    if !isAligned || isApart {
      if !isNew {
        session.observed.receive(KeptResult(registration.observation.result, budget), of: number)
      }
      session.observed.stay(at: registration.position)
      observing.withNews.insert(session.number)
    }
    subscriptionCount += 1
  }

  func unobserve(_ call: UnobserveCall, _ session: Session, _ request: Request) throws {
    let number = call.subscription.wholeMatch(of: /s([1-9][0-9]*)/).flatMap { Int($0.1) }
    guard let number, session.observed.index(of: number) != nil else {
      throw RPCError(
        code: ErrorName.unknownSubscription.code,
        message: "This connection has no subscription \(call.subscription.excerpt)",
        data: .object([.code: "unknownSubscription"])
      )
    }
    afterUpdate(session) { service in
      guard let session = service.sessions[request.session] else { return }
      service.sendParts(to: session)
      service.remove(number, session)
      if session.observed.subscriptions.isEmpty { session.observed.position = nil }
      service.finish(request, result: EmptyResult().json)
    }
  }

  /// Waits until every follower has reached the newest commit, then answers.
  ///
  /// `observe/flush` waits only for the subscriptions of its own connection.
  func flush(_ session: Session, _ request: Request) {
    interruption(of: request).begin()
    snapshot {
      $0.token
    } completion: { outcome in
      self.onLoop { service in
        switch outcome {
        case .success(let token): service.flush(service.followers[...], to: token, request)
        case .failure(let error): service.finish(request, .failure(error))
        }
      }
    }
  }

  private func flush(
    _ followers: ArraySlice<any LogFollower>,
    to token: StoreToken,
    _ request: Request
  ) {
    guard let follower = followers.first else {
      return flushSearches(of: request.session) { service, error in
        if let error { return service.finish(request, .failure(RPCError(late: error))) }
        if let session = service.sessions[request.session] { service.sendParts(to: session) }
        service.finish(request, result: PositionResult(token: token.description).json)
      }
    }
    let cancelWait = follower.reach(token, for: request.session) { error in
      self.onLoop { service in
        if let error { return service.finish(request, .failure(RPCError(late: error))) }
        service.flush(followers.dropFirst(), to: token, request)
      }
    }
    if let cancelWait { loop.schedule(milliseconds: limits.waitMax, cancelWait) }
  }
}
