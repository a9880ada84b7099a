import CordialProtocol
import CordialValues
import Interruptions
import JSONRPC
import PersistentHistory
import PersistentStore

/// A client that is behind, with the results that it has.
struct BehindClient: Sendable {
  /// A subscription whose client has a former result.
  struct View: Sendable {
    let number: Int
    let observation: Int
    let result: any LiveResult
  }

  let session: Int
  /// The position of the client's results.
  let position: LogPosition
  /// The subscriptions whose results have changed since that position, ordered by number.
  let views: [View]
  /// Whether the client stopped reading.
  ///
  /// A client that stopped reading starts over if the whole result is shorter than the difference.
  let isBlocked: Bool
}

/// One step of all observations from a position to a snapshot: one read of the log, and one update
/// for each observation that the commits alter.
struct SubscriptionStep: Sendable {
  let from: LogPosition
  /// The commit after which the step reads authors, at or before the position.
  let authorsAfter: Int64
  let registry: SubscriptionRegistry
  /// The clients that are behind, and ready for the difference.
  let behind: [BehindClient]
  /// Whether several connections have subscriptions, so that one connection may delay the others.
  let isShared: Bool
  /// The start of each connection's wait for observations that earlier steps have left out.
  let lateSince: [Int: ContinuousClock.Instant]
  /// The late connections that have no observation being read alone.
  ///
  /// The step tries to update all observations of these connections.
  let lateWhole: Set<Int>
  let limits: Limits

  /// An observation with a new result.
  struct Change: Sendable {
    let number: Int
    /// The result before.
    let former: any LiveResult
    let observation: Observation
    /// The update from the former result; nil if that result is equal, or if `isAligned` is false.
    let body: UpdateBody?
    /// Whether the former result was at the position at which the step begins.
    ///
    /// Otherwise, the step builds no update for clients at that position.
    let isAligned: Bool
    let costs: ObservationCosts

    /// Whether the observation is a search.
    var isOfSearch: Bool { observation.query.followsIndex }
  }

  /// The outcome of the update of an observation.
  enum Updated: Sendable {
    case change(Change)
    /// The number of an observation that ended, and its last update, which states the reason.
    case end(Int, UpdateBody)
  }

  /// An observation that is left out, because it takes long.
  struct LeftOut: Sendable {
    let number: Int
    /// Whether this observation alone takes too long for a step.
    let isSlow: Bool
  }

  struct Outcome: Sendable {
    let token: StoreToken
    let position: LogPosition
    /// The authors of the commits, each with its last commit, in the order of their last commits.
    let authors: [(author: String?, commit: Int64)]
    var changes: [Change] = []
    /// The observations that ended, with their last updates, which state the reasons.
    var ended: [(number: Int, body: UpdateBody)] = []
    var leftOut: [LeftOut] = []
    /// The updates of the clients that were behind, ordered by subscription.
    var caughtUp: [(session: Int, updates: [(number: Int, body: UpdateBody)])] = []

    mutating func add(_ updated: Updated) {
      switch updated {
      case .change(let change): changes.append(change)
      case .end(let number, let body): ended.append((number, body))
      }
    }
  }

  /// The maximum number of logged changes, and of concerned observations, of a step on the loop.
  private static let lookUpsMax = 64
  /// The maximum number of comparisons of concerned requests with changes in a step on the loop.
  ///
  /// The comparisons that find the concerned requests do not count.
  private static let pairsMax = 4096
  /// The time after which a step on the loop is given up.
  private static let loopTimeMax = Duration.milliseconds(10)
  /// The maximum number of elements of a result that a step on the loop searches or compares.
  fileprivate static let loopElementsMax = 1 << 16

  /// Performs the step.
  ///
  /// - Parameters:
  ///   - snapshot: A snapshot at or after the position.
  ///   - isSmall: Whether to give up a step that needs more than a few look-ups by key.
  /// - Returns: The outcome; nil for a step that was given up.
  /// - Throws: `SQLiteError`.
  func run(_ snapshot: StoreSnapshot, isSmall: Bool) throws -> Outcome? {
    let head = snapshot.head
    let start = ContinuousClock.now
    let (table, joining, apart) = registry.start()
    var update = ObservationUpdate(Advance(snapshot, limits, table))
    guard
      let span = try update.advance.span(
        since: from,
        changesMax: isSmall ? Self.lookUpsMax : .max
      ), span.isComplete || !isSmall
    else { return nil }
    let entries = try update.advance.entries(of: span)
    let comparison = ChangeComparison(span.changes, entries, with: table)
    // An observation that a registration added meanwhile may be at a later commit than the
    // snapshot. Such an observation waits for a later step.
    let ready = joining.filter { $0.observation.position.commit <= head.number }
    let undangling = snapshot.mayDangle ? registry.compiledWithoutDangling() : []
    let recompiled = undangling.filter { table.contains($0.number) }
    // The comparison skips these observations: they have positions of their own, are read alone, or
    // are recompiled.
    let others = apart.union(recompiled.map(\.number))
    let concerned = comparison.concerned.filter { !others.contains($0.number) }
    var verdicts: [(SubscriptionRegistry.Affected, Verdict)]?
    if isSmall {
      guard joining.isEmpty, recompiled.isEmpty, comparison.pairCount <= Self.pairsMax,
        behind.allSatisfy({ isShort($0, head) })
      else { return nil }
      var small: [(SubscriptionRegistry.Affected, Verdict)] = []
      for concern in concerned {
        guard let (candidate, verdict) = self.verdict(on: concern, comparison) else { continue }
        guard small.count < Self.lookUpsMax, candidate.isSmall(verdict) else { return nil }
        small.append((candidate, verdict))
      }
      verdicts = small
    }
    var outcome = Outcome(
      token: snapshot.token,
      position: head.position,
      authors: try snapshot.lastCommits(after: authorsAfter)
    )
    update.isOnLoop = isSmall
    if !isSmall { update.time = StepTime(limits, isShared: isShared, lateSince: lateSince) }
    update.sharesRows = verdicts.map { $0.count > 1 } ?? (concerned.count > 1)
    var affected: [SubscriptionRegistry.Affected] = []
    func run(
      _ candidate: SubscriptionRegistry.Affected,
      _ verdict: (_ isStopped: @escaping @Sendable () -> Bool) -> Verdict
    ) throws {
      if try update.run(candidate, over: span, &outcome, verdict) { affected.append(candidate) }
    }
    if let verdicts {
      for (candidate, verdict) in verdicts {
        guard start.duration(to: .now) < Self.loopTimeMax else { return nil }
        try run(candidate) { _ in verdict }
      }
    } else {
      if !span.isComplete {
        // If changes are missing, any result may differ.
        for candidate in registry.fetches()
        where table.contains(candidate.number) && !others.contains(candidate.number) {
          try run(candidate) { _ in .undecided }
        }
      } else {
        // The step holds one verdict at a time, because the verdicts of a large commit take much
        // memory.
        for concern in concerned {
          guard let candidate = registry.affected(concern.number) else { continue }
          try run(candidate) { isStopped in
            comparison.verdict(on: concern, candidate.observation.verdictLimits(isStopped))
          }
        }
      }
      for candidate in recompiled where !apart.contains(candidate.number) {
        try run(candidate) { _ in .undecided }
      }
    }
    for candidate in ready { try update.run(candidate, &outcome) }
    try catchUp(affected + ready, &update.advance, &outcome)
    // The comparisons are counted last, because a step that fails is repeated.
    registry.countComparison(with: concerned.lazy.map(\.number))
    registry.countComparison(with: comparison.unaffected)
    return outcome
  }

  /// The result of an observation that was read alone; nil if it was removed meanwhile.
  typealias Alone = Result<Updated?, RPCError>

  /// The time after which a read leaves its remaining observations to a later snapshot.
  private static let aloneTimeMax = Duration.seconds(1)

  /// Brings observations from their own positions to a snapshot, one after the other.
  ///
  /// - Parameters:
  ///   - reads: The observations, each with the interruption of its read.
  ///   - registry: All observations.
  ///   - snapshot: A snapshot at or after their positions.
  ///   - limits: The limits of the service.
  /// - Returns: The results of the first observations. The read ends after about a second, but
  ///   returns at least one result.
  /// - Throws: The errors that concern the store.
  static func readAlone(
    _ reads: [(number: Int, interruption: Interruption)],
    _ registry: SubscriptionRegistry,
    _ snapshot: StoreSnapshot,
    _ limits: Limits
  ) throws -> [Alone] {
    var results: [Alone] = []
    var update = ObservationUpdate(Advance(snapshot, limits, registry.table()))
    let start = ContinuousClock.now
    for (number, interruption) in reads {
      guard results.isEmpty || start.duration(to: .now) < aloneTimeMax else { break }
      do {
        let candidate = registry.affected(number)
        results.append(.success(try candidate.flatMap { try update.readAlone($0, interruption) }))
      } catch let error where error is Interrupted || error is StoreError {
        // Only these errors concern the observation. Other errors concern the store, or report
        // changes of an external client that must be sealed.
        update.advance.discardPartialReads()
        results.append(.failure(RPCError(any: error)))
      }
    }
    return results
  }

  /// Returns the effect of the step's changes on an observation; nil if the observation is
  /// unaffected, or was removed meanwhile.
  private func verdict(
    on concern: ChangeComparison.Concern,
    _ comparison: ChangeComparison
  ) -> (SubscriptionRegistry.Affected, Verdict)? {
    guard let limits = registry.verdictLimits(of: concern.number),
      case let verdict = comparison.verdict(on: concern, limits), verdict != .unaffected
    else { return nil }
    return registry.affected(concern.number).map { ($0, verdict) }
  }

  /// Returns whether the updates of a connection need only a few look-ups by key.
  private func isShort(_ client: BehindClient, _ head: HistoryHead) -> Bool {
    head.lastChange - client.position.lastChange <= Int64(Self.lookUpsMax)
      && client.views.allSatisfy { view in
        guard let observation = registry.observation(view.observation) else { return true }
        return observation.query.mayRunOnLoop && observation.result.isSmall
          && view.result.isSmall && !observation.request.includesBefore
          && !observation.request.explains && observation.request.include.isEmpty
      }
  }

  // MARK: Clients that are behind

  private func catchUp(
    _ affected: [SubscriptionRegistry.Affected],
    _ advance: inout Advance,
    _ outcome: inout Outcome
  ) throws {
    guard !behind.isEmpty else { return }
    let changed = Dictionary(
      outcome.changes.map { ($0.number, $0.observation) },
      uniquingKeysWith: { first, _ in first }
    )
    let ended = Set(outcome.ended.map(\.number))
    for client in behind {
      var views = client.views
      let numbers = Set(views.map(\.number))
      for candidate in affected {
        for subscriber in candidate.subscribers
        where subscriber.session == client.session && !numbers.contains(subscriber.number) {
          views.append(
            BehindClient.View(
              number: subscriber.number,
              observation: candidate.number,
              result: candidate.observation.result
            )
          )
        }
      }
      var updates: [(number: Int, body: UpdateBody)] = []
      for view in views.sorted(by: { $0.number < $1.number })
      where !ended.contains(view.observation) {
        guard
          let observation = changed[view.observation] ?? registry.observation(view.observation),
          let span = try advance.span(since: client.position),
          let body = try advance.update(
            Advance.Refreshed(observation),
            from: view.result,
            over: span,
            isLimited: client.isBlocked
          )
        else { continue }
        updates.append((view.number, body))
      }
      outcome.caughtUp.append((client.session, updates))
    }
  }
}

extension SubscriptionRegistry.Affected {
  /// Returns whether the update needs only a few look-ups by key.
  fileprivate func isSmall(_ verdict: Verdict) -> Bool {
    guard observation.query.mayRunOnLoop, !observation.request.includesBefore,
      !observation.request.explains, observation.request.include.isEmpty
    else { return false }
    let result = observation.result
    guard result.isSmall else { return false }
    switch verdict {
    case .unaffected, .reaching, .undecided: return false
    case .values, .count: return true
    case .members(let members, _): return result.isShort(members)
    }
  }
}

extension LiveResult {
  /// Whether the result has so few elements that a step on the loop may search and compare them.
  fileprivate var isSmall: Bool { elementCount <= SubscriptionStep.loopElementsMax }
}
