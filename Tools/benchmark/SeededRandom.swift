/// Numbers that look random and are the same in every run.
///
/// SplitMix64, from "Fast splittable pseudorandom number generators" (Steele, Lea, Flood, 2014).
struct SeededRandom: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// A number from zero up to and without the bound.
  mutating func below(_ bound: Int) -> Int {
    Int((next() >> 32).multipliedFullWidth(by: UInt64(bound) << 32).high)
  }

  /// A number from zero up to and without one.
  mutating func fraction() -> Double { Double(next() >> 11) / 9_007_199_254_740_992 }
}
