/// The time that the observations of a step may take.
///
/// All connections wait until a step ends. A step therefore leaves out an observation that takes
/// long, and the observations of one connection that take long together. The left-out observations
/// are read alone, while the other observations advance. The longer a connection has waited for
/// left-out observations, the more time its observations get in a step. A late connection therefore
/// receives its changes even if commits follow each other fast.
struct StepTime {
  /// The time of one observation, in seconds.
  private let oneMax: Double
  /// Whether several connections have subscriptions, so that one connection may delay the others.
  private let isShared: Bool
  /// The start of each connection's wait for left-out observations.
  private let lateSince: [Int: ContinuousClock.Instant]
  /// The used time in seconds: of each connection (`used`), of all connections together
  /// (`usedByAll`), and of the observations that the step began and then left out (`lost`).
  private var used: [Int: Double] = [:]
  private var usedByAll = 0.0
  private var lost = 0.0

  /// The maximum times of all observations, of one connection, and of an observation or connection
  /// that has waited long, as multiples of the time of one observation.
  private static let (allFactor, connectionFactor, lateFactor) = (40.0, 4.0, 32.0)
  /// The fraction of a connection's waiting time that the connection's observations may take.
  private static let lateness = 0.5
  /// The time in seconds that a connection always has, however long the other connections took.
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
    /// Whether an observation that exceeds the time is too slow for any step.
    let isWhole: Bool
    /// The connection to which the time is charged.
    fileprivate let connection: Int
  }

  /// Returns the time for which an observation may delay the others.
  func allowance(of candidate: SubscriptionRegistry.Affected) -> Allowance {
    // A shared observation is charged to the connection that has used the least time.
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
    // The observations that the step begins and then leaves out may together take twice the time of
    // one observation.
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
  ///   - allowance: The time that the observation was allowed.
  ///   - isDone: Whether the update ended in time; false if the observation was left out.
  mutating func charge(_ seconds: Double, _ allowance: Allowance, isDone: Bool) {
    used[allowance.connection, default: 0] += seconds
    usedByAll += seconds
    if !isDone { lost += seconds }
  }
}
