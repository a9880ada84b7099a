import CordialValues
import TestSeeds
import Testing

@Suite struct `A token names one position` {
  @Test func `what is written reads back`() {
    for generation in [0, 1, 0xABCDEF, .max] as [UInt32] {
      for number in [0, 1, 17, .max] as [Int64] {
        for mark in [0, 10, .max] as [UInt32] {
          let token = StoreToken(generation: generation, number: number, mark: mark)
          #expect(StoreToken(token.description) == token)
        }
      }
    }
  }

  @Test func `two are equal exactly when all of the position is`() {
    let token = StoreToken(generation: 1, number: 2, mark: 3)
    #expect(token == StoreToken(generation: 1, number: 2, mark: 3))
    for other in [(2, 2, 3), (1, 3, 3), (1, 2, 4), (3, 2, 1)] as [(UInt32, Int64, UInt32)] {
      let different = StoreToken(generation: other.0, number: other.1, mark: other.2)
      #expect(token != different)
      #expect(token.description != different.description)
    }
  }

  /// One position has one text, so that clients may compare texts.
  @Test func `texts in other forms are refused`() {
    let text = StoreToken(generation: 0xAB, number: 17, mark: 0xCD).description
    for changed in [
      "", "-", "--", "---", "0", "nonsense", " \(text)", "\(text) ", "\(text)-", "-\(text)",
      "\(text)0\u{301}",
      "\(text)\n", text.uppercased(), text + text, String(text.dropLast(3)),
      text.replacing("-", with: "_"),
      text.replacing("-", with: "--"), text.replacing("-", with: "-0"),
      text.replacing("-", with: "-+"),
      text.replacing("17", with: "-17"), text.replacing("17", with: "9223372036854775808"),
      "0" + text,
      text.replacing("17", with: ""), text.replacing("17", with: "\u{FF11}7"), "fffffffff" + text,
      text.replacing("-", with: "\u{2212}"), text.replacing("-", with: "-\u{301}"),
    ] where changed != text {
      #expect(StoreToken(changed) == nil, "\(changed)")
    }
  }

  @Test(arguments: Seeds.first(50))
  func `each position has its own text`(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    var texts: Set<String> = []
    var tokens: Set<StoreToken> = []
    for _ in 0..<100 {
      let token = StoreToken(
        generation: UInt32(truncatingIfNeeded: random.next()) >> UInt32(random.below(32)),
        number: Int64(random.next() >> 1) >> Int64(random.below(63)),
        mark: UInt32(truncatingIfNeeded: random.next()) >> UInt32(random.below(32))
      )
      #expect(StoreToken(token.description) == token, "\(Seeds.repeating(seed))")
      texts.insert(token.description)
      tokens.insert(token)
    }
    #expect(texts.count == tokens.count, "\(Seeds.repeating(seed))")
  }
}
