import ObjectModel
import TestSeeds
import Testing

@Suite struct `A normalized predicate is equivalent` {
  /// The truth of `a == 0`, `b == 0` and so on, by name.
  private typealias Facts = [String: Bool]

  private static let names = ["a", "b", "c", "d"]

  private func holds(_ predicate: Predicate, _ facts: Facts) -> Bool {
    switch predicate {
    case .constant(let flag): return flag
    case .not(let inner): return !holds(inner, facts)
    case .and(let terms): return terms.allSatisfy { holds($0, facts) }
    case .or(let terms): return terms.contains { holds($0, facts) }
    case .comparison(let comparison):
      guard case .keyPath(let path, _) = comparison.left.form else { return false }
      return facts[path[0]] ?? false
    }
  }

  /// NOT at comparisons only, no AND directly within AND, no OR directly within OR.
  private func isNormal(_ predicate: Predicate) -> Bool {
    switch predicate {
    case .constant, .comparison, .not(.comparison): return true
    case .not: return false
    case .and(let terms):
      return terms.allSatisfy { if case .and = $0 { false } else { isNormal($0) } }
    case .or(let terms):
      return terms.allSatisfy { if case .or = $0 { false } else { isNormal($0) } }
    }
  }

  private func text(_ random: inout SplitMix64, levels: Int) -> String {
    switch random.below(levels > 0 ? 8 : 3) {
    case 0, 1: return "\(random.pick(Self.names)) == 0"
    case 2: return random.oneIn(2) ? "TRUEPREDICATE" : "FALSEPREDICATE"
    case 3, 4: return "NOT (\(text(&random, levels: levels - 1)))"
    case let choice:
      let terms = (0..<2 + random.below(3)).map { _ in "(\(text(&random, levels: levels - 1)))" }
      return terms.joined(separator: choice == 5 ? " AND " : " OR ")
    }
  }

  @Test(arguments: Seeds.first(20))
  func `for all values`(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    for _ in 0..<40 {
      let text = text(&random, levels: 5)
      let predicate = try PredicateParser.parse(text, arguments: .none)
      let normal = predicate.normalized()
      let opposite = predicate.normalized(negated: true)
      #expect(isNormal(normal) && isNormal(opposite), "\(text) \(Seeds.repeating(seed))")
      for bits in 0..<(1 << Self.names.count) {
        let facts = Facts(
          uniqueKeysWithValues: Self.names.enumerated().map { ($1, bits >> $0 & 1 == 1) }
        )
        let truth = holds(predicate, facts)
        #expect(holds(normal, facts) == truth, "\(text) \(facts) \(Seeds.repeating(seed))")
        #expect(holds(opposite, facts) != truth, "\(text) \(facts) \(Seeds.repeating(seed))")
      }
    }
  }
}
