import Algorithms
import PersistentHistory

/// The memory of observed results: those of the registry, and former ones that clients still have.
extension Service {
  /// Ends subscriptions until the limit of the memory of their results is kept: first those of
  /// clients that have a former result, then those with the largest results.
  func endLargest(
    _ caughtUp: Set<Int>,
    _ updates: inout [Int: [(number: Int, body: UpdateBody)]],
    _ outcome: SubscriptionStep.Outcome
  ) {
    let registry = observing.registry
    guard registry.bytes + keptBytesMax > limits.observedBytesMax else { return }
    var kept = keptResults()
    var keptBytes = kept.reduce(0) { $0 + $1.bytes }
    while registry.bytes + keptBytes > limits.observedBytesMax, let largest = kept.popLast() {
      keptBytes -= largest.bytes
      for subscriber in largest.subscribers {
        end(subscriber, .end(tooManyObservedBytes), caughtUp, &updates, outcome)
      }
    }
    var excess = registry.bytes - limits.observedBytesMax
    guard excess > 0 else { return }
    // Those of connections that have ended are removed in later turns.
    let (live, dead) = registry.bySize().partitioned { affected in
      !affected.subscribers.contains { sessions[$0.session] != nil }
    }
    excess -= dead.reduce(0) { $0 + $1.observation.bytes }
    for largest in live where excess > 0 {
      excess -= largest.observation.bytes
      end(largest.number, .end(tooManyObservedBytes), caughtUp, &updates, outcome)
    }
  }

  /// Returns whether there is memory for another observed result.
  ///
  /// - Parameter observation: The observation, whose result others may observe already.
  /// - Returns: Whether the limit is kept.
  func hasObservedRoom(for observation: Observation) -> Bool {
    let left = limits.observedBytesMax - observing.registry.bytes(with: observation)
    return keptBytesMax <= left || keptResults().reduce(0) { $0 + $1.bytes } <= left
  }

  /// The memory of the former results that clients have, if they shared none, in bytes.
  private var keptBytesMax: Int {
    observing.withNews.reduce(0) { sum, number in
      sum + (sessions[number]?.observed.formerBytes ?? 0)
    }
  }

  /// Returns the former results that clients have, in the order of their sizes.
  private func keptResults() -> [(bytes: Int, subscribers: [Subscriber])] {
    var found: [ObjectIdentifier: (bytes: Int, subscribers: [Subscriber])] = [:]
    for session in observing.withNews.compactMap({ sessions[$0] }) {
      for (subscription, result) in session.observed.formerViews {
        found[ObjectIdentifier(result), default: (result.bytes, [])].subscribers.append(
          Subscriber(session: session.number, number: subscription.number)
        )
      }
    }
    return found.values.sorted { $0.bytes < $1.bytes }
  }
}
