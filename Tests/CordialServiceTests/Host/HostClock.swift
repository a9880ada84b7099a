import PersistentStore
import Synchronization

/// The time and the randomness of a service host, the same in every run.
final class HostClock: Sendable {
  /// 2026-01-01T00:00:00Z, in milliseconds since 1970.
  private static let start: Int64 = 1_767_225_600_000

  private let elapsed = Atomic<Int64>(0)
  private let randomCounter = Atomic<UInt32>(0)

  /// The time, in milliseconds since 1970.
  var now: Int64 { Self.start + elapsed.load(ordering: .relaxed) }

  /// Advances the time.
  func advance(milliseconds: Int64) {
    elapsed.add(milliseconds, ordering: .relaxed)
  }

  /// The environment of a store: this time, and a sequence of numbers without repetitions.
  var environment: StoreEnvironment {
    StoreEnvironment(
      now: { self.now },
      random: { self.randomCounter.add(1, ordering: .relaxed).newValue &* 2_654_435_761 }
    )
  }
}
