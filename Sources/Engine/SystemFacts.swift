import Glibc
import Indexing
package import PersistentStore
import Synchronization

extension StoreEnvironment {
  /// The system's clock and its source of randomness.
  package static let system = StoreEnvironment(
    now: SystemFacts.milliseconds,
    random: { SystemFacts.randomNumber() }
  )
}

extension StoreExtensions {
  /// The default extensions of an engine's store: a check of the model's `spotlight`.
  package static let standard = {
    var extensions = StoreExtensions()
    extensions.modelProblems = IndexRules.problems
    return extensions
  }()
}

/// The facts of the system that the engine passes to the modules below it.
package enum SystemFacts {
  /// Returns the milliseconds since 1970.
  @Sendable static func milliseconds() -> Int64 {
    var now = timespec()
    unsafe clock_gettime(CLOCK_REALTIME, &now)
    return Int64(now.tv_sec) * 1000 + Int64(now.tv_nsec) / 1_000_000
  }

  /// Returns the microseconds of a monotonic clock.
  @Sendable package static func microseconds() -> Int64 {
    var now = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &now)
    return Int64(now.tv_sec) * 1_000_000 + Int64(now.tv_nsec) / 1000
  }

  /// Returns an unpredictable number.
  static func randomNumber() -> UInt32 {
    randomNumbers.withLock { randomNumbers in
      // Each commit needs a number. A draw is a system call, so each refill draws many numbers.
      if randomNumbers.isEmpty {
        var generator = SystemRandomNumberGenerator()
        randomNumbers = (0..<128).flatMap { _ in
          let both: UInt64 = generator.next()
          return [UInt32(truncatingIfNeeded: both), UInt32(truncatingIfNeeded: both >> 32)]
        }
      }
      return randomNumbers.removeLast()
    }
  }

  private static let randomNumbers = Mutex<[UInt32]>([])

  /// The folder to which relative paths refer.
  package static var workingFolder: String {
    guard let path = unsafe getcwd(nil, 0) else { return "/" }
    defer { unsafe free(path) }
    return unsafe String(cString: path)
  }

  /// The name of this process in the history.
  static var process: String { "cordial \(getpid())" }
}
