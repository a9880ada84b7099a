import Foundation
import ObjectModel
import TestSeeds
import Testing

/// Decimal arithmetic beside integers with a scale, worked out by school methods.
@Suite struct `Decimal arithmetic` {
  private func text(_ operation: String, _ first: String, _ second: String?) throws -> String? {
    let a = try #require(DecimalNumber(first))
    let b = try second.map { try #require(DecimalNumber($0)) }
    return DecimalNumber.compute(operation, a, b)?.text
  }

  private static let nines = String(repeating: "9", count: 38)

  @Test(arguments: [
    ("+", "0.1", "0.2", "0.3"), ("-", "0.3", "0.1", "0.2"), ("*", "0.3", "-0.3", "-0.09"),
    ("/", "1", "4", "0.25"), ("/", "2", "3", "0." + String(repeating: "6", count: 37) + "7"),
    ("/", "-2", "3", "-0." + String(repeating: "6", count: 37) + "7"),
    ("%", "7.5", "2", "1.5"), ("%", "-7.5", "2", "-1.5"),
    ("+", nines, "0.4", nines), ("-", nines, "0.6", String(nines.dropLast()) + "8"),
    (
      "*", "0.5", "0." + String(repeating: "0", count: 37) + "1",
      "0." + String(repeating: "0", count: 37) + "1"
    ),
    (
      "*", "-0.5", "0." + String(repeating: "0", count: 37) + "1",
      "-0." + String(repeating: "0", count: 37) + "1"
    ),
    ("/", "0", "7", "0"), ("-", "5", "5", "0"),
  ])
  func `an operation gives the rounded result`(
    operation: String,
    first: String,
    second: String,
    result: String
  ) throws {
    #expect(try text(operation, first, second) == result)
  }

  @Test func `what has no result has no value`() throws {
    #expect(try text("/", "1", "0") == nil)
    #expect(try text("%", "1", "0") == nil)
    #expect(try text("*", Self.nines, "10") == nil)
    #expect(try text("+", Self.nines, "0.5") == nil)
  }

  @Test(arguments: [
    ("floor", "-1.5", "-2"), ("floor", "1.5", "1"), ("ceiling", "-1.5", "-1"),
    ("ceiling", "1.2", "2"), ("trunc", "-1.9", "-1"), ("abs", "-0.1", "0.1"),
    ("floor", "-2", "-2"), ("ceiling", "2", "2"),
  ])
  func `a function gives the rounded result`(
    function: String,
    number: String,
    result: String
  ) throws {
    #expect(try text(function, number, nil) == result)
  }

  @Test func `a double is the decimal with its shortest digits`() {
    #expect(DecimalNumber(0.1)?.text == "0.1")
    #expect(DecimalNumber(1e20)?.text == "100000000000000000000")
    #expect(DecimalNumber(-1e-7)?.text == "-0.0000001")
    #expect(DecimalNumber(1e300)?.text == nil)
    #expect(DecimalNumber(Double.infinity) == nil)
  }

  @Test(arguments: Seeds.first(50))
  func `sums and products of small decimals agree with integers`(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    for _ in 0..<100 {
      let (a, b) = (random.below(2_000_000) - 1_000_000, random.below(2_000_000) - 1_000_000)
      func decimal(_ number: Int, _ scale: Int) -> String {
        let digits = String(abs(number))
        let padded = String(repeating: "0", count: max(0, scale + 1 - digits.count)) + digits
        let whole = padded.dropLast(scale)
        return (number < 0 ? "-" : "") + whole + "." + padded.suffix(scale)
      }
      func same(_ found: String?, _ number: Int, _ scale: Int) -> Bool {
        guard let found, let value = Double(found) else { return false }
        return abs(value - Double(number) / pow(10, Double(scale))) < 1e-6
      }
      let (x, y) = (decimal(a, 3), decimal(b, 3))
      #expect(same(try text("+", x, y), a + b, 3), "\(x) + \(y); \(Seeds.repeating(seed))")
      #expect(same(try text("-", x, y), a - b, 3), "\(x) - \(y); \(Seeds.repeating(seed))")
      #expect(same(try text("*", x, y), a * b, 6), "\(x) * \(y); \(Seeds.repeating(seed))")
    }
  }
}
