import Interruptions
import JSONRPC
import PersistentHistory
import PersistentStore
import Subscriptions

/// Observed requests that take long, which are read alone while the others move on.
///
/// The connections of such a request wait at their position. When it has been read, the next step
/// brings it and them to the position of the others.
extension Service {
  /// Reads an observation alone, from the position of its result.
  ///
  /// - Parameters:
  ///   - number: The observation.
  ///   - position: The position of the observations' results.
  func readAlone(_ number: Int, from position: LogPosition) {
    guard let affected = observing.registry.postpone(number, at: position),
      let first = Array(affected.subscribers).first
    else { return }
    for subscriber in affected.subscribers {
      guard let session = sessions[subscriber.session] else { continue }
      session.observed.postponed.insert(subscriber.number)
      if session.observed.lag == nil { session.observed.lag = position }
      observing.waiting.insert(session.number)
    }
    // The longest time that one of its connections wants to wait.
    let wanted = Array(affected.subscribers).map { subscriber in
      sessions[subscriber.session]?.timeoutSeconds ?? .infinity
    }.max()
    let interruption = Interruption(
      secondsMax: min(wanted ?? .infinity, Double(limits.requestSecondsMax))
    )
    observing.alone[number] = interruption
    let (registry, limits) = (observing.registry, limits)
    snapshot(for: ReadTurn(source: first.session, interruption: interruption)) { snapshot in
      try SubscriptionStep.runAlone(number, registry, snapshot, limits)
    } completion: { outcome in
      self.onLoop { service in service.readAlone(number, outcome) }
    }
  }

  /// Records the result of an observation that was read alone.
  private func readAlone(_ number: Int, _ outcome: Result<SubscriptionStep.Outcome, RPCError>) {
    observing.alone[number] = nil
    guard observing.registry.endPostponement(number) else { return runAfterAlone() }
    let subscribers = observing.registry.subscribers(of: number)
    for subscriber in subscribers {
      guard let session = sessions[subscriber.session] else { continue }
      session.observed.postponed.remove(subscriber.number)
      markChanged(session)
    }
    switch outcome {
    case .success(let outcome):
      for change in outcome.changes {
        let former = KeptResult(change.former, budget)
        for subscriber in subscribers {
          guard let session = sessions[subscriber.session] else { continue }
          session.observed.fallBehind(
            subscriber.number,
            with: former,
            at: session.observed.lag ?? outcome.position
          )
          observing.waiting.insert(session.number)
        }
        let position = observing.position ?? outcome.position
        observing.registry.update(change.observation, number, at: position)
        observing.registry.add(change.costs, to: number)
      }
      for (number, body) in outcome.ended { endAlone(number, body) }
    case .failure(let error): endAlone(number, .end(error))
    }
    runAfterAlone()
  }

  /// Ends an observation that could not be read, with all its subscriptions.
  private func endAlone(_ number: Int, _ body: UpdateBody) {
    for subscriber in observing.registry.subscribers(of: number) {
      guard let session = sessions[subscriber.session],
        let known = session.observed.position
      else { continue }
      remove(subscriber.number, session)
      markChanged(session)
      // Without other subscriptions, no step reports the end.
      guard !session.observed.subscriptions.isEmpty else {
        send([(subscriber.number, body)], by: [], through: known, to: session)
        continue
      }
      session.observed.ended.append((subscriber.number, body))
      if session.observed.lag == nil { session.observed.lag = observing.position }
      observing.waiting.insert(session.number)
    }
  }

  /// Runs work after an observation was read alone, and when the work has to end.
  ///
  /// - Parameters:
  ///   - interruption: What stops the work; nil for nothing.
  ///   - work: Looks at the interruption, and may wait again.
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
