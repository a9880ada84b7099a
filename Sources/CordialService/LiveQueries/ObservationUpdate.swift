import CordialProtocol
import CordialValues
import Interruptions
import JSONRPC
import PersistentStore

/// The part of a step that updates observations, one after the other.
struct ObservationUpdate {
  var advance: Advance
  /// Whether several updates of the step may have the same rows.
  var sharesRows = false
  /// Whether the step runs on the loop, so that a worker repeats the step if it fails.
  var isOnLoop = false
  /// The time for which observations may delay each other; nil for no limit.
  var time: StepTime?

  init(_ advance: Advance) {
    self.advance = advance
  }

  private var snapshot: StoreSnapshot { advance.snapshot }

  /// Updates an observation at the common position, or leaves out the observation if the update
  /// takes too long.
  ///
  /// The method adds the update, or the observation that is left out, to the outcome.
  ///
  /// - Parameters:
  ///   - candidate: The observation.
  ///   - span: The changes since the common position.
  ///   - outcome: The outcome of the step.
  ///   - verdict: Returns the effect of the changes on the observation; undecided if stopped.
  /// - Returns: Whether the observation was updated or left out; false if it is unaffected.
  /// - Throws: `Interrupted`; `UnsealedChanges`; the errors that concern the store, not the
  ///   request.
  mutating func run(
    _ candidate: SubscriptionRegistry.Affected,
    over span: Advance.Span,
    _ outcome: inout SubscriptionStep.Outcome,
    _ verdict: (_ isStopped: @escaping @Sendable () -> Bool) -> Verdict
  ) throws -> Bool {
    try timed(candidate, &outcome) { update, end in
      let verdict = verdict { end.map { ContinuousClock.now >= $0 } ?? false }
      guard verdict != .unaffected else { return nil }
      return try update.snapshot.stopping(at: end) {
        try update.update(candidate, verdict, over: span, isAligned: true)
      }
    }
  }

  /// Updates an observation that has a position of its own, like `run(_:over:_:_:)`.
  mutating func run(
    _ candidate: SubscriptionRegistry.Affected,
    _ outcome: inout SubscriptionStep.Outcome
  ) throws {
    _ = try timed(candidate, &outcome) { update, end in
      try update.snapshot.stopping(at: end) {
        try update.update(candidate) { end.map { ContinuousClock.now >= $0 } ?? false }
      }
    }
  }

  /// Updates an observation that has a position of its own, without a time limit.
  ///
  /// - Parameters:
  ///   - candidate: The observation.
  ///   - interruption: The interruption of the update.
  /// - Returns: The update; not nil, because the number of changes is not limited here.
  /// - Throws: `Interrupted`; the errors that concern the store.
  mutating func readAlone(
    _ candidate: SubscriptionRegistry.Affected,
    _ interruption: Interruption
  ) throws -> SubscriptionStep.Updated? {
    try snapshot.stopping(by: interruption) {
      try update(candidate) { interruption.reason != nil }
    }
  }

  /// Updates an observation within its allowed time, or leaves out the observation.
  ///
  /// - Parameters:
  ///   - candidate: The observation.
  ///   - outcome: The outcome of the step.
  ///   - body: Receives the end of the time, and returns the update; nil if the changes do not
  ///     concern the observation.
  /// - Returns: Whether the observation was updated or left out.
  /// - Throws: The errors of the body.
  private mutating func timed(
    _ candidate: SubscriptionRegistry.Affected,
    _ outcome: inout SubscriptionStep.Outcome,
    _ body: (inout Self, ContinuousClock.Instant?) throws -> SubscriptionStep.Updated?
  ) throws -> Bool {
    guard let allowance = time?.allowance(of: candidate) else {
      guard let updated = try body(&self, nil) else { return false }
      outcome.add(updated)
      return true
    }
    let start = ContinuousClock.now
    var isDone = true
    defer { time?.charge(start.duration(to: .now) / .seconds(1), allowance, isDone: isDone) }
    if allowance.seconds > 0 {
      do {
        guard let updated = try body(&self, start + .seconds(allowance.seconds)) else {
          return false
        }
        outcome.add(updated)
        return true
      } catch is Interrupted {
        advance.discardPartialReads()
      }
    }
    isDone = false
    outcome.leftOut.append(.init(number: candidate.number, isSlow: allowance.isWhole))
    return true
  }

  /// Updates an observation that has a position of its own.
  ///
  /// - Returns: The update; not nil, because the number of changes is not limited here.
  private mutating func update(
    _ candidate: SubscriptionRegistry.Affected,
    _ isStopped: @escaping @Sendable () -> Bool
  ) throws -> SubscriptionStep.Updated? {
    let observation = candidate.observation
    guard let span = try advance.span(since: observation.position) else { return nil }
    let verdict = observation.interest.verdict(
      on: span.changes,
      try advance.entries(of: span),
      nil,
      [:],
      observation.verdictLimits(isStopped)
    )
    return try update(candidate, verdict, over: span, isAligned: false)
  }

  /// Updates an observation, or ends the observation if its fetch fails.
  private mutating func update(
    _ candidate: SubscriptionRegistry.Affected,
    _ verdict: Verdict,
    over span: Advance.Span,
    isAligned: Bool
  ) throws -> SubscriptionStep.Updated {
    let former = candidate.observation.result
    let start = ContinuousClock.now
    let statements = snapshot.statementCount
    do {
      try snapshot.interruption?.check()
      let refreshed = try advance.refresh(candidate.observation, verdict, over: span)
      let body =
        try isAligned
        ? advance.update(refreshed, from: former, over: span, sharesRows: sharesRows) : nil
      return .change(
        SubscriptionStep.Change(
          number: candidate.number,
          former: former,
          observation: refreshed.observation,
          body: body,
          isAligned: isAligned,
          costs: ObservationCosts(
            wakes: 1,
            statements: snapshot.statementCount - statements,
            reruns: refreshed.isReread ? 1 : 0,
            microseconds: start.duration(to: .now).wholeMicroseconds,
            last: ObservationCosts.Wake(
              token: snapshot.token,
              change: verdict.first.flatMap { span.changes.changes[$0] },
              explanation: body?.explanation
            )
          )
        )
      )
    } catch {
      if isOnLoop { throw error }
      return .end(candidate.number, try advance.end(for: error))
    }
  }
}

extension StoreSnapshot {
  /// Runs a body, and interrupts its statements at a given time; nil means no limit.
  fileprivate func stopping<Result>(
    at end: ContinuousClock.Instant?,
    _ body: () throws -> Result
  ) throws -> Result {
    let left = end.map { ContinuousClock.now.duration(to: $0) / .seconds(1) }
    return try stopping(by: left.map { Interruption(secondsMax: $0) }, body)
  }
}

extension Duration {
  fileprivate var wholeMicroseconds: Int {
    Int(components.seconds) * 1_000_000 + Int(components.attoseconds / 1_000_000_000_000)
  }
}
