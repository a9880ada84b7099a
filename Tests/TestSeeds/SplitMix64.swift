// TestSeeds: chance for tests, handed in and repeatable.
//
// Must not know: what is tested.
//
// What always holds:
// 1. One seed gives one sequence, on every machine and in every version.
// 2. A test that fails names its seed; `Seeds.repeating(_:)` is the command that runs it again.

import Foundation

/// The SplitMix64 generator (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number
/// Generators", 2014): small, and good enough to choose test inputs.
package struct SplitMix64: RandomNumberGenerator, Sendable {
  private var state: UInt64

  /// A generator whose sequence is given by the seed alone.
  package init(seed: UInt64) {
    state = seed
  }

  /// The next 64 bits.
  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// A number below the bound, which is positive.
  ///
  /// By remainder, so that the sequence doesn't depend on how the standard library draws; the bias
  /// is of no concern to a test.
  package mutating func below(_ bound: Int) -> Int {
    Int(next() % UInt64(bound))
  }

  /// One of the elements, of which there is at least one.
  package mutating func pick<Element>(_ elements: [Element]) -> Element {
    elements[below(elements.count)]
  }

  /// True once in so many times.
  package mutating func oneIn(_ count: Int) -> Bool {
    below(count) == 0
  }
}

/// The seeds that a random test runs.
package enum Seeds {
  /// Seeds 1 to `count`, or the one that the environment names in `CORDIAL_SEED`.
  package static func first(_ count: UInt64) -> [UInt64] {
    if let named = ProcessInfo.processInfo.environment["CORDIAL_SEED"].flatMap({ UInt64($0) }) {
      return [named]
    }
    return Array(1...count)
  }

  /// The command that runs a failed seed again, for the comment of an expectation.
  package static func repeating(_ seed: UInt64, _ test: String = #function) -> String {
    let sentence = test.prefix { $0 != "(" }
    return "Repeat with: CORDIAL_SEED=\(seed) swift test --filter '\(sentence)'"
  }
}
