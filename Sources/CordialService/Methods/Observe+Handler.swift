import CordialProtocol
import CordialValues
import JSON
import JSONRPC
import PersistentHistory
import PersistentStore
import Spotlight
import Subscriptions

extension Service {
  func observe(_ call: ObserveCall, _ session: Session, _ request: Request) throws {
    let replaced = call.key.flatMap { key in
      session.observed.subscriptions.first { $0.key == key }?.number
    }
    guard replaced != nil || subscriptionCount < limits.subscriptionsMax else {
      throw tooManySubscriptions
    }
    let number = replaced ?? session.observed.nextNumber
    if replaced == nil { session.observed.nextNumber += 1 }
    afterUpdate(session) { service in
      service.register(call, number: number, isReplacement: replaced != nil, request)
    }
  }

  private var tooManySubscriptions: RPCError {
    Limits.exceeded(
      "subscriptions",
      max: limits.subscriptionsMax,
      "There are too many subscriptions"
    )
  }

  /// The result of registering a subscription, from one snapshot.
  private struct Registration: Sendable {
    let older: UpdateBuilder.Outcome?
    let subscription: LiveSubscription
    let message: MessageBytes
    let token: StoreToken
    let position: LogPosition
  }

  /// Registers a subscription at a snapshot.
  ///
  /// Snapshot and registration are one step: the connection gets no update in between.
  private func register(
    _ call: ObserveCall,
    number: Int,
    isReplacement: Bool,
    _ request: Request
  ) {
    guard let session = sessions[request.session] else { return }
    session.observed.beginUpdate()
    let observed = session.observed
    let limits = limits
    snapshot { snapshot in
      var older: UpdateBuilder.Outcome?
      if observed.position != nil, !observed.subscriptions.isEmpty {
        older = try UpdateBuilder(snapshot: snapshot, observed: observed, limits: limits).build()
      }
      var writer = JSONWriter(reserving: 4096, pieceBytes: Self.pieceBytes)
      MessageWriter.beginResult(request.id, &writer)
      let subscription = try Self.write(call, number, snapshot, limits, &writer)
      writer.raw("}")
      return Registration(
        older: older,
        subscription: subscription,
        message: MessageBytes(writer),
        token: snapshot.token,
        position: snapshot.head.position
      )
    } completion: { outcome in
      self.onLoop { service in service.registered(outcome, isReplacement, request) }
    }
  }

  /// Writes the result of an `observe`.
  private static func write(
    _ call: ObserveCall,
    _ number: Int,
    _ snapshot: StoreSnapshot,
    _ limits: Limits,
    _ writer: inout JSONWriter
  ) throws -> LiveSubscription {
    var subscription = try SubscriptionResult.make(call, number: number, snapshot)
    writer.raw("{\"subscription\":\"")
    writer.raw(string: subscription.name)
    writer.raw("\",\"token\":\"")
    writer.raw(string: snapshot.token.description)
    // The service cannot resume from a token yet, because it does not know the client's result.
    writer.raw("\",\"fresh\":true")
    if call.mode == .signal {
      try SubscriptionResult.recordState(&subscription, snapshot, bytesMax: limits.answerBytesMax)
    } else {
      writer.raw(",\"result\":")
      try SubscriptionResult.write(
        &subscription,
        snapshot,
        bytesMax: limits.answerBytesMax,
        to: &writer
      )
    }
    writer.raw("}")
    return subscription
  }

  private func registered(
    _ outcome: Result<Registration, RPCError>,
    _ isReplacement: Bool,
    _ request: Request
  ) {
    guard let session = sessions[request.session] else { return }
    switch outcome {
    case .success(let registration):
      if let older = registration.older { apply(older, session) }
      // Another connection may have taken the last subscription meanwhile.
      guard isReplacement || subscriptionCount < limits.subscriptionsMax else {
        finish(request, .failure(tooManySubscriptions))
        break
      }
      add(registration.subscription, isReplacement, session)
      session.observed.position = registration.token
      session.observed.examined = registration.position
      session.observed.unreportedAuthors = []
      updateLease()
      session.observed.wanted = max(session.observed.wanted, newestCommit)
      finish(request, .success(registration.message))
    case .failure(let error): finish(request, .failure(error))
    }
    endUpdate(session)
    markChanged(session)
  }

  private func add(_ subscription: LiveSubscription, _ isReplacement: Bool, _ session: Session) {
    if isReplacement,
      let index = session.observed.subscriptions.firstIndex(where: {
        $0.number == subscription.number
      })
    {
      session.observed.subscriptions[index] = subscription
    } else {
      session.observed.subscriptions.append(subscription)
      subscriptionCount += 1
    }
    session.observed.table.set(subscription.interest, for: subscription.number)
  }

  func unobserve(_ call: UnobserveCall, _ session: Session, _ request: Request) throws {
    guard
      let index = session.observed.subscriptions.firstIndex(where: {
        $0.name == call.subscription
      })
    else {
      throw RPCError(
        code: ErrorName.unknownSubscription.code,
        message: "This connection has no subscription \(call.subscription.prefix(100))",
        data: ["code": "unknownSubscription"]
      )
    }
    let number = session.observed.subscriptions[index].number
    afterUpdate(session) { service in
      guard let session = service.sessions[request.session] else { return }
      service.remove(number, session)
      if session.observed.subscriptions.isEmpty { session.observed.position = nil }
      service.finish(request, result: [:])
    }
  }

  /// Waits until every follower has reached the newest commit, then answers.
  ///
  /// Of the subscriptions, it waits for those of the connection only.
  func flush(_ session: Session, _ request: Request) {
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
      return finish(request, result: ["token": .string(token.description)])
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
