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
  /// Reads observations alone, from the positions of their results.
  ///
  /// Those of one connection are read one after the other, and share the changes.
  ///
  /// - Parameters:
  ///   - numbers: The observations.
  ///   - position: The position of the observations' results.
  func readAlone(_ numbers: [Int], from position: LogPosition) {
    for number in numbers { postpone(number, at: position) }
    for (source, read) in observing.aloneReads where !read.isRunning { readAlone(of: source) }
  }

  /// Has an observation and its connections wait until it has been read alone.
  private func postpone(_ number: Int, at position: LogPosition) {
    guard let affected = observing.registry.postpone(number, at: position) else { return }
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
    observing.alone[number] = Interruption(
      secondsMax: min(wanted ?? .infinity, Double(limits.requestSecondsMax))
    )
    observing.aloneReads[affected.source, default: AloneRead()].add(number)
  }

  /// Reads the waiting observations that one connection has added.
  private func readAlone(of source: Int) {
    guard let read = observing.aloneReads[source]?.begin() else {
      observing.aloneReads[source] = nil
      return
    }
    let reads = read.numbers.compactMap { number in
      observing.alone[number].map { (number: number, interruption: $0) }
    }
    let (registry, limits) = (observing.registry, limits)
    snapshot(for: ReadTurn(source: source, interruption: read.interruption)) { snapshot in
      try SubscriptionStep.readAlone(reads, registry, snapshot, limits)
    } completion: { outcome in
      self.onLoop { service in service.readAlone(reads.map(\.number), of: source, outcome) }
    }
  }

  /// Records the results of a read, and reads what it has left.
  private func readAlone(
    _ numbers: [Int],
    of source: Int,
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
    observing.aloneReads[source]?.end(leaving: rest)
    readAlone(of: source)
    runAfterAlone()
  }

  /// Records the result of an observation that was read alone.
  private func record(_ result: SubscriptionStep.Alone, of number: Int) {
    observing.alone[number] = nil
    guard observing.registry.endPostponement(number) else { return }
    let subscribers = observing.registry.subscribers(of: number)
    for subscriber in subscribers {
      guard let session = sessions[subscriber.session] else { continue }
      session.observed.postponed.remove(subscriber.number)
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
          at: session.observed.lag ?? change.observation.position
        )
        observing.waiting.insert(session.number)
      }
      let others = observing.position ?? change.observation.position
      observing.registry.update(change.observation, number, at: others)
      observing.registry.add(change.costs, to: number)
    case .success(.end(let number, let body)): endAlone(number, body)
    case .success(nil): break
    case .failure(let error): endAlone(number, .end(error))
    }
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
