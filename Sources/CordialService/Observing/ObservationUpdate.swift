import CordialProtocol
import CordialValues
import Interruptions
import JSONRPC
import PersistentStore
import Subscriptions

/// The update of one observation after another.
struct ObservationUpdate {
  var advance: Advance
  /// Whether updates over the step's changes may have the same rows.
  var sharesRows = false
  /// Whether another thread repeats the step where it fails.
  var isOnLoop = false
  /// For how long the observations may delay each other; nil where none waits for another one.
  var time: StepTime?

  init(_ advance: Advance) {
    self.advance = advance
  }

  private var snapshot: StoreSnapshot { advance.snapshot }

  /// Updates an observation that has a position of its own.
  ///
  /// - Parameters:
  ///   - candidate: The observation.
  ///   - outcome: The outcome of the step.
  /// - Throws: As `run(_:over:isAligned:_:_:)`.
  mutating func run(
    _ candidate: SubscriptionRegistry.Affected,
    _ outcome: inout SubscriptionStep.Outcome
  ) throws {
    guard let span = try advance.span(since: candidate.observation.position) else { return }
    let entries = try advance.entries(of: span)
    _ = try run(candidate, over: span, isAligned: false, &outcome) { isStopped in
      candidate.verdict(over: span, entries, isStopped)
    }
  }

  /// Updates an observation and adds the change to the outcome, or leaves out one that takes long.
  ///
  /// - Parameters:
  ///   - candidate: The observation.
  ///   - span: The changes since the position of its result.
  ///   - isAligned: Whether the position is that of clients, for which the update is made.
  ///   - outcome: The outcome of the step.
  ///   - verdict: Returns the effect of the changes on it; undecided where it was stopped.
  /// - Returns: Whether it was updated or left out, and not unaffected.
  /// - Throws: `Interrupted`; `UnsealedChanges`; the errors that concern the store, not the
  ///   request.
  mutating func run(
    _ candidate: SubscriptionRegistry.Affected,
    over span: Advance.Span,
    isAligned: Bool,
    _ outcome: inout SubscriptionStep.Outcome,
    _ verdict: (_ isStopped: @escaping @Sendable () -> Bool) -> Verdict
  ) throws -> Bool {
    guard let seconds = time?.seconds(for: candidate) else {
      let verdict = verdict { false }
      guard verdict != .unaffected || !isAligned else { return false }
      outcome.add(try update(candidate, verdict, over: span, isAligned: isAligned))
      return true
    }
    let start = ContinuousClock.now
    let end = start + .seconds(seconds)
    var isDone = true
    defer { time?.charge(start.duration(to: .now) / .seconds(1), to: candidate, isDone: isDone) }
    if seconds > 0 {
      let verdict = verdict { ContinuousClock.now >= end }
      // One with a position of its own is brought to that of the others.
      guard verdict != .unaffected || !isAligned else { return false }
      do {
        let left = ContinuousClock.now.duration(to: end) / .seconds(1)
        let interruption = Interruption(secondsMax: left)
        outcome.add(
          try snapshot.stopping(by: interruption) {
            try update(candidate, verdict, over: span, isAligned: isAligned)
          }
        )
        return true
      } catch is Interrupted {
        advance.discardPartialReads()
      }
    }
    isDone = false
    outcome.postponed.append(candidate.number)
    return true
  }

  /// Updates an observation that has a position of its own, however long that takes.
  ///
  /// - Parameters:
  ///   - candidate: The observation.
  ///   - interruption: What stops it.
  /// - Returns: The update.
  /// - Throws: As `run(_:over:isAligned:_:_:)`.
  mutating func readAlone(
    _ candidate: SubscriptionRegistry.Affected,
    _ interruption: Interruption
  ) throws -> SubscriptionStep.Updated? {
    guard let span = try advance.span(since: candidate.observation.position) else { return nil }
    let entries = try advance.entries(of: span)
    let verdict = candidate.verdict(over: span, entries) { interruption.reason != nil }
    try interruption.check()
    return try update(candidate, verdict, over: span, isAligned: false)
  }

  /// Updates an observation, which ends where its fetch fails.
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

/// How long the observations of a step may take.
///
/// The connections wait for each other in a step. An observation that takes long, or those of a
/// connection that take long together, are left out and read alone, while the others move on. What
/// was left out gets more time the longer it has been behind: it comes to the position of the
/// others at last, however fast commits follow each other, and delays them for a part of the time.
struct StepTime {
  /// The time of one observation, in seconds.
  private let oneMax: Double
  /// Whether the observations of one connection delay those of others.
  private let isShared: Bool
  /// The time that was used, by connection and by all, and the part that led to no update.
  private var used: [Int: Double] = [:]
  private var usedByAll = 0.0
  private var lost = 0.0

  /// The time of the observations of one connection and of all, in those of one observation.
  private static let (connectionFactor, allFactor) = (2.0, 20.0)
  /// The time that a connection has, however long those of others took.
  private static let least = 0.001
  /// The part of the time for which an observation has been behind that it may take.
  private static let lateness = 0.25

  init(_ limits: Limits, isShared: Bool) {
    oneMax = Double(limits.stepMilliseconds) / 1000
    self.isShared = isShared
  }

  /// Returns the time for which an observation may delay the others, in seconds; 0 or less where
  /// it is left out at once.
  func seconds(for candidate: SubscriptionRegistry.Affected) -> Double {
    let behind = candidate.lateSince.map { $0.duration(to: .now) / .seconds(1) } ?? 0
    let own = max(oneMax, behind * Self.lateness)
    // Those that take long delay the others together by little more than two of them do.
    var left = 2 * own - lost
    if isShared {
      let used = used[candidate.source] ?? 0
      left = min(
        left,
        max(Self.connectionFactor * oneMax, own) - used,
        max(Self.allFactor * oneMax, own) - usedByAll
      )
      if used >= Self.least { return min(own, left) }
    }
    return min(own, max(Self.least, left))
  }

  /// Counts the time that an observation took.
  ///
  /// - Parameters:
  ///   - seconds: The time.
  ///   - candidate: The observation.
  ///   - isDone: Whether it was updated.
  mutating func charge(
    _ seconds: Double,
    to candidate: SubscriptionRegistry.Affected,
    isDone: Bool
  ) {
    used[candidate.source, default: 0] += seconds
    usedByAll += seconds
    if !isDone { lost += seconds }
  }
}

extension SubscriptionRegistry.Affected {
  /// Returns the effect of changes since the observation's position on it.
  fileprivate func verdict(
    over span: Advance.Span,
    _ entries: ChangeEntries,
    _ isStopped: @escaping @Sendable () -> Bool
  ) -> Verdict {
    let limits = observation.verdictLimits(isStopped)
    return observation.interest.verdict(on: span.changes, entries, nil, [:], limits)
  }
}

extension Duration {
  fileprivate var wholeMicroseconds: Int {
    Int(components.seconds) * 1_000_000 + Int(components.attoseconds / 1_000_000_000_000)
  }
}
