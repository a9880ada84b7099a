import Interruptions
import JSONRPC
import PersistentHistory
import PersistentStore

/// Observed requests that take long and are read alone, while the other requests move on.
///
/// The connections that observe such a request stay at their position during the read. The next
/// step then brings the request and these connections to the common position.
extension Service {
  /// Reads observations alone, from the positions of their results.
  ///
  /// The observations of one connection that take long together are read one after the other, and
  /// share one read of the changes.
  ///
  /// - Parameters:
  ///   - leftOut: The observations.
  ///   - position: The position of the observations' results.
  func readAlone(_ leftOut: [SubscriptionStep.LeftOut], from position: LogPosition) {
    /// The connections that have lost an observation in this call.
    var ended: Set<Int> = []
    // If a connection has waited too long, its first left-out observation ends. Slow observations
    // come first, so that a slow observation ends instead of a fast one.
    for one in leftOut where one.isSlow { leaveOut(one, at: position, &ended) }
    for one in leftOut where !one.isSlow { leaveOut(one, at: position, &ended) }
    for (subject, read) in observing.aloneReads where !read.isRunning { begin(subject) }
  }

  /// Makes an observation and its connections wait for a read of the observation alone.
  ///
  /// The observation ends instead if its connections have waited as long as a request may take.
  private func leaveOut(
    _ leftOut: SubscriptionStep.LeftOut,
    at position: LogPosition,
    _ ended: inout Set<Int>
  ) {
    let number = leftOut.number
    guard let affected = observing.registry.affected(number) else { return }
    observing.registry.leave(number, at: position, isReadAlone: true)
    let connections = Set(affected.subscribers.lazy.map(\.session))
    let observers = connections.compactMap { sessions[$0] }
    // The longest timeout of the connections that have this observation, in seconds.
    let wanted = observers.map { $0.timeoutSeconds ?? .infinity }.max() ?? .infinity
    let seconds = min(wanted, Double(limits.requestSecondsMax))
    let isOverdue =
      !observers.isEmpty
      && observers.allSatisfy { session in
        session.observed.lateSince.map { $0.duration(to: .now) > .seconds(seconds) } ?? false
      }
    // A connection loses at most one observation in each step, because the remaining observations
    // may then be fast enough.
    if isOverdue, ended.isDisjoint(with: connections) {
      ended.formUnion(connections)
      return end(number, .end(RPCError(any: Interrupted(.timedOut, secondsMax: seconds))))
    }
    for subscriber in affected.subscribers {
      guard let session = sessions[subscriber.session] else { continue }
      session.observed.leftOut.insert(subscriber.number)
      if session.observed.lateSince == nil { session.observed.lateSince = .now }
      session.observed.stay(at: position)
      observing.withNews.insert(session.number)
    }
    observing.alone[number] = Interruption(secondsMax: seconds)
    guard let connection = connections.min() else { return }
    let subject: AloneRead.Subject =
      leftOut.isSlow || connections.count > 1 ? .observation(number) : .connection(connection)
    observing.aloneReads[subject, default: AloneRead(for: connection)].add(number)
  }

  /// Begins to read the waiting observations of a subject.
  private func begin(_ subject: AloneRead.Subject) {
    guard let numbers = observing.aloneReads[subject]?.begin(),
      let read = observing.aloneReads[subject]
    else {
      observing.aloneReads[subject] = nil
      return
    }
    let reads = numbers.compactMap { number in
      observing.alone[number].map { (number: number, interruption: $0) }
    }
    let interruption =
      if case .observation(let number) = subject, let own = observing.alone[number] { own } else {
        read.interruption
      }
    let (registry, limits) = (observing.registry, limits)
    snapshot(for: ReadTurn(source: read.connection, interruption: interruption)) { snapshot in
      try SubscriptionStep.readAlone(reads, registry, snapshot, limits)
    } completion: { outcome in
      self.onLoop { service in service.end(subject, reads.map(\.number), outcome) }
    }
  }

  /// Ends a read, and begins a read of the remaining observations.
  private func end(
    _ subject: AloneRead.Subject,
    _ numbers: [Int],
    _ outcome: Result<[SubscriptionStep.Alone], RPCError>
  ) {
    var rest = numbers[...]
    switch outcome {
    case .success(let results):
      rest = rest.dropFirst(results.count)
      for (number, result) in zip(numbers, results) { record(result, of: number) }
    case .failure(let error):
      rest = []
      for number in numbers { record(.failure(error), of: number) }
    }
    observing.aloneReads[subject]?.end(leaving: rest)
    begin(subject)
    runAfterAlone()
  }

  /// Records the result of an observation that was read alone.
  private func record(_ result: SubscriptionStep.Alone, of number: Int) {
    observing.alone[number] = nil
    guard observing.registry.endReadAlone(number) else { return }
    let subscribers = observing.registry.subscribers(of: number)
    for subscriber in subscribers {
      guard let session = sessions[subscriber.session] else { continue }
      session.observed.leftOut.remove(subscriber.number)
      markChanged(session)
    }
    switch result {
    case .success(.change(let change)):
      let former = KeptResult(change.former, budget)
      for subscriber in subscribers {
        guard let session = sessions[subscriber.session] else { continue }
        session.observed.fallBehind(
          subscriber.number,
          with: former,
          at: session.observed.behindAt ?? change.observation.position
        )
        observing.withNews.insert(session.number)
      }
      // While a step is running, the position of the other observations is about to change.
      let others = observing.isStepping ? nil : observing.position ?? change.observation.position
      observing.registry.update(change.observation, number, at: others)
      observing.registry.add(change.costs, to: number)
    case .success(.end(_, let body)): end(number, body)
    case .success(nil): break
    case .failure(let error): end(number, .end(error))
    }
  }

  /// Ends an observation that could not be read, with all its subscriptions.
  private func end(_ number: Int, _ body: UpdateBody) {
    for subscriber in observing.registry.subscribers(of: number) {
      guard let session = sessions[subscriber.session] else { continue }
      end(subscriber.number, of: session, body)
    }
  }

  /// Ends a subscription outside of a step, with its last update.
  func end(_ number: Int, of session: Session, _ body: UpdateBody) {
    guard let token = session.observed.position else { return }
    remove(number, session)
    if session.observed.subscriptions.isEmpty {
      // Without other subscriptions, no later step reports the ends.
      let ended = session.observed.ended + [(number, body)]
      session.observed.ended = []
      send(ended.sorted { $0.number < $1.number }, by: [], through: token, to: session)
    } else {
      session.observed.ended.append((number, body))
      session.observed.stay(at: observing.position)
      observing.withNews.insert(session.number)
    }
    markChanged(session)
  }

  /// Whether several connections have subscriptions.
  var isObservingShared: Bool {
    sessions.values.lazy.filter { $0.observed.position != nil }.prefix(2).count > 1
  }

  /// Ends the wait of late connections if a step has brought all their observations to its
  /// position.
  func endLateness(after step: SubscriptionStep) {
    for number in step.lateWhole {
      guard let session = sessions[number], session.observed.leftOut.isEmpty else { continue }
      session.observed.lateSince = nil
    }
  }

  /// The late connections that have no observation being read alone.
  ///
  /// A connection is late while it waits for left-out observations.
  var lateWhole: Set<Int> {
    observing.withNews.filter { number in
      sessions[number].map { $0.observed.lateSince != nil && $0.observed.leftOut.isEmpty }
        ?? false
    }
  }

  /// The start of each connection's wait for observations that steps have left out.
  var lateSince: [Int: ContinuousClock.Instant] {
    observing.withNews.reduce(into: [:]) { late, number in
      late[number] = sessions[number]?.observed.lateSince
    }
  }

  /// Runs work after the next read alone, or when the interruption ends the wait.
  ///
  /// - Parameters:
  ///   - interruption: The interruption of the work; nil for none.
  ///   - work: Checks the interruption, and may wait again.
  func afterAlone(
    _ interruption: Interruption?,
    _ work: @escaping @Sendable (isolated Service) -> Void
  ) {
    observing.afterAlone.append(work)
    guard let interruption else { return }
    interruption.whenStopped { self.onLoop { service in service.runAfterAlone() } }
    guard let seconds = interruption.secondsMax else { return }
    onLoop(afterMilliseconds: Int(seconds * 1000) + 1) { service in service.runAfterAlone() }
  }

  private func runAfterAlone() {
    let waiting = observing.afterAlone
    observing.afterAlone = []
    for work in waiting { work(self) }
  }
}
