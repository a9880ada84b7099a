import PersistentStore
import Synchronization

/// The time of a service host: it goes on only when a test says so.
final class HostClock: Sendable {
  /// 2026-01-01T00:00:00Z, in milliseconds since 1970.
  private static let start: Int64 = 1_767_225_600_000

  private let passed = Atomic<Int64>(0)
  private let drawn = Atomic<UInt32>(0)

  /// Milliseconds since 1970.
  var now: Int64 { Self.start + passed.load(ordering: .relaxed) }

  /// Lets time go by.
  func advance(milliseconds: Int64) {
    passed.add(milliseconds, ordering: .relaxed)
  }

  /// This time, and numbers that come once and are the same in each run.
  var environment: StoreEnvironment {
    StoreEnvironment(
      now: { self.now },
      random: { self.drawn.add(1, ordering: .relaxed).newValue &* 2_654_435_761 }
    )
  }
}
