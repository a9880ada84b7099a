/// How long the observations of a step may take.
///
/// The connections wait for each other in a step. An observation that takes long, or those of a
/// connection that take long together, are left out and read alone, while the others move on. The
/// longer a connection has waited for what was left out, the more time its observations have in a
/// step: it receives its changes at last, although commits follow each other fast.
struct StepTime {
  /// The time of one observation, in seconds.
  private let oneMax: Double
  /// Whether the observations of one connection delay those of others.
  private let isShared: Bool
  /// Since when connections have waited for what was left out.
  private let lateSince: [Int: ContinuousClock.Instant]
  /// The time that was used, by connection and by all, and the part that led to no update.
  private var used: [Int: Double] = [:]
  private var usedByAll = 0.0
  private var lost = 0.0

  /// The times of all observations, of those of one connection, and of those of one that has waited
  /// long, in those of one observation.
  private static let (allFactor, connectionFactor, lateFactor) = (40.0, 4.0, 32.0)
  /// The part of the time that a connection has waited which its observations may take.
  private static let lateness = 0.5
  /// The time that a connection has, however long those of others took.
  private static let least = 0.001

  init(_ limits: Limits, isShared: Bool, lateSince: [Int: ContinuousClock.Instant]) {
    oneMax = Double(limits.stepMilliseconds) / 1000
    self.isShared = isShared
    self.lateSince = lateSince
  }

  /// The time for which one observation may delay the others.
  struct Allowance {
    /// The time, in seconds; 0 or less for an observation that is left out at once.
    let seconds: Double
    /// Whether an observation that takes longer takes too long for any step.
    let isWhole: Bool
    /// The connection whose time it is.
    fileprivate let connection: Int
  }

  /// Returns the time for which an observation may delay the others.
  func allowance(of candidate: SubscriptionRegistry.Affected) -> Allowance {
    // An observation that several connections share takes the time of one which has used least.
    var connection = 0
    var least = Double.infinity
    var waited = 0.0
    for subscriber in candidate.subscribers {
      if let since = lateSince[subscriber.session] {
        waited = max(waited, since.duration(to: .now) / .seconds(1))
      }
      let used = used[subscriber.session] ?? 0
      if used < least { (connection, least) = (subscriber.session, used) }
    }
    let late = min(Self.lateFactor * oneMax, Self.lateness * waited)
    let own = max(oneMax, late)
    // Those that take long delay the others together by little more than two of them do.
    var left = 2 * own - lost
    if isShared {
      left = min(
        left,
        max(Self.connectionFactor * oneMax, late) - least,
        Self.allFactor * oneMax - usedByAll
      )
    }
    if !isShared || least < Self.least { left = max(left, Self.least) }
    return Allowance(seconds: min(own, left), isWhole: left >= own, connection: connection)
  }

  /// Counts the time that an observation took.
  ///
  /// - Parameters:
  ///   - seconds: The time.
  ///   - allowance: What the observation was allowed.
  ///   - isDone: Whether it was updated.
  mutating func charge(_ seconds: Double, _ allowance: Allowance, isDone: Bool) {
    used[allowance.connection, default: 0] += seconds
    usedByAll += seconds
    if !isDone { lost += seconds }
  }
}
