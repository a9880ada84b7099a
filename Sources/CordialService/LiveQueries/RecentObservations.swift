import DequeModule

/// The observations whose last subscription ended a short time ago, for clients that observe the
/// same request again.
///
/// A result stays at the position at which its observation ended, and needs no work in steps.
struct RecentObservations: Sendable {
  private let countMax: Int
  private let bytesMax: Int

  init(_ limits: Limits) {
    countMax = limits.recentMax
    bytesMax = limits.recentBytesMax
  }

  private struct Entry {
    let observation: Observation
    /// The number of observations that ended before this observation.
    let age: Int
  }

  private var entries: [String: Entry] = [:]
  /// The requests in the order in which their observations ended; `entries` may lack some of them.
  private var order: Deque<(identity: String, age: Int)> = []
  /// The memory of the results, in bytes.
  private(set) var bytes = 0
  private var nextAge = 0
  /// The age of the first observation that ended after the last call of `expire`.
  private var firstOfPeriod = 0

  var isEmpty: Bool { entries.isEmpty }

  /// Adds an observation that has ended, if its kind keeps results.
  mutating func add(_ observation: Observation) {
    guard observation.query.isKept, observation.bytes <= bytesMax else { return }
    let identity = observation.request.identity
    remove(identity)
    entries[identity] = Entry(observation: observation, age: nextAge)
    order.append((identity, nextAge))
    nextAge += 1
    bytes += observation.bytes
    while entries.count > countMax || bytes > bytesMax { removeFirst() }
  }

  /// The observation of a request; nil if there is none.
  subscript(identity: String) -> Observation? { entries[identity]?.observation }

  /// Removes the observations that were added before the previous call.
  mutating func expire() {
    while let first = order.first, first.age < firstOfPeriod { removeFirst() }
    firstOfPeriod = nextAge
  }

  private mutating func removeFirst() {
    guard let first = order.popFirst() else { return }
    if entries[first.identity]?.age == first.age { remove(first.identity) }
  }

  /// Removes the observation of a request.
  mutating func remove(_ identity: String) {
    guard let entry = entries.removeValue(forKey: identity) else { return }
    bytes -= entry.observation.bytes
  }
}
