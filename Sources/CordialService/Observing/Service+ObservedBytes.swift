import Algorithms
import PersistentHistory

/// The memory of the registry's results, and of former results that clients still have.
extension Service {
  /// Ends subscriptions until the memory of their results is within the limit.
  ///
  /// The method first ends subscriptions with the largest former results, then observations with
  /// the largest results.
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
    // Observations of ended connections are removed in later turns, so that their memory is not
    // part of the excess.
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
  /// - Parameter observation: The observation; it needs no further memory if other subscriptions
  ///   already share its result.
  /// - Returns: Whether the memory stays within the limit.
  func hasObservedRoom(for observation: Observation) -> Bool {
    let left = limits.observedBytesMax - observing.registry.bytes(with: observation)
    return keptBytesMax <= left || keptResults().reduce(0) { $0 + $1.bytes } <= left
  }

  /// The memory of the clients' former results in bytes, as if none were shared.
  private var keptBytesMax: Int {
    observing.withNews.reduce(0) { sum, number in
      sum + (sessions[number]?.observed.formerBytes ?? 0)
    }
  }

  /// Returns the former results that clients have, ordered by ascending size.
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
