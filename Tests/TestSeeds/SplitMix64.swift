// TestSeeds: seeded, repeatable randomness for tests.
//
// Must not know: the code under test.
//
// What always holds:
// 1. One seed gives one sequence, on every machine and in every version.
// 2. A test that fails reports its seed; `Seeds.repeating(_:)` returns the command that repeats it.

import Foundation

/// The SplitMix64 generator (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number
/// Generators", 2014): small, and good enough to choose test inputs.
package struct SplitMix64: RandomNumberGenerator, Sendable {
  private var state: UInt64

  /// Creates a generator whose sequence depends on the seed alone.
  package init(seed: UInt64) {
    state = seed
  }

  /// Returns the next 64 bits.
  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// Returns a number from 0 up to, but not including, a positive bound.
  ///
  /// The remainder makes the sequence independent of the standard library. Its bias does not matter
  /// to a test.
  package mutating func below(_ bound: Int) -> Int {
    Int(next() % UInt64(bound))
  }

  /// Returns one element of an array, which must not be empty.
  package mutating func pick<Element>(_ elements: [Element]) -> Element {
    elements[below(elements.count)]
  }

  /// Returns true in one of `count` calls, on average.
  package mutating func oneIn(_ count: Int) -> Bool {
    below(count) == 0
  }
}

/// The seeds that a random test runs.
package enum Seeds {
  /// Returns the seeds 1 to `count`, or only the seed in the environment variable `CORDIAL_SEED`.
  ///
  /// `CORDIAL_SEEDS` sets another count, or the first and the last seed, as `5001-9000`.
  ///
  /// - Parameters:
  ///   - count: The number of seeds.
  ///   - known: Further seeds, which have found something.
  /// - Returns: The seeds.
  package static func first(_ count: UInt64, and known: [UInt64] = []) -> [UInt64] {
    let environment = ProcessInfo.processInfo.environment
    if let named = environment["CORDIAL_SEED"].flatMap({ UInt64($0) }) {
      return [named]
    }
    let ends = (environment["CORDIAL_SEEDS"] ?? "").split(separator: "-").compactMap { UInt64($0) }
    if ends.count == 2, ends[0] <= ends[1] { return Array(ends[0]...ends[1]) }
    let first = 1...max(ends.first ?? count, 1)
    return first + known.filter { !first.contains($0) }
  }

  /// Returns the command that repeats a failed seed, for the comment of an expectation.
  package static func repeating(_ seed: UInt64, _ test: String = #function) -> String {
    let sentence = test.prefix { $0 != "(" }
    return "Repeat with: CORDIAL_SEED=\(seed) swift test --filter '\(sentence)'"
  }
}
