import Foundation
import JSON
import ObjectModel
import TestSeeds

/// Random values of the attributes of a random model, as a client sends them.
struct WideValues {
  var random: SplitMix64
  /// Makes values of unique sets differ.
  private var count = 0

  init(random: SplitMix64) {
    self.random = random
  }

  /// A value that an attribute may have; null only where the attribute is optional.
  mutating func value(of attribute: WideAttribute) -> JSONValue {
    if attribute.optional, random.oneIn(4) { return .null }
    if attribute.isDistinct { return distinct(attribute.type) }
    if attribute.type == .string, let spelled = attribute.spelled {
      return .string(spelling(of: spelled))
    }
    switch attribute.rule {
    case .none: return value(of: attribute.type)
    case .range(let least, let most): return between(least, most)
    case .length(let least, let most):
      let length = Int(least) + random.below(Int(most - least) + 1)
      return .string((0..<length).map { _ in random.pick(["a", "Z", "é", "牛", "𝄞"]) }.joined())
    case .allowed(let values): return random.pick(values)
    case .pattern: return .string(random.pick(["a", "xyz"]) + "\(random.below(1000))")
    }
  }

  /// A value of a type.
  mutating func value(of type: AttributeType) -> JSONValue {
    switch type {
    case .string: .string(text())
    case .int16: .integer(random.pick([-32_768, 32_767, 0, random.int(9)]))
    case .int32: .integer(random.pick([-2_147_483_648, 2_147_483_647, -1, random.int(70_000)]))
    case .int64:
      .integer(random.pick([.min, .max, 1 << 53 + 1, -1, Int64(bitPattern: random.next()), 7]))
    case .double: .number(double())
    case .float:
      .number(Double(random.pick([Float.greatestFiniteMagnitude, 0.1, -0.5, 1e-30, 3, -0.0])))
    case .decimal: .string(decimal())
    case .boolean: .bool(random.oneIn(2))
    case .date: .string(date())
    case .uuid: .string(uuid())
    case .uri: .string(random.pick(["urn:x", "https://a.example/%C3%A4?q=%20#f", "a:b"]))
    case .binary: .string(random.pick(["", "AQID", "AA==", "////", "AAECAwQFBgcICQ=="]))
    case .json:
      random.pick([
        ["a": [1, 2.5, nil], "b": ["c": true, "d": ""]], "text", "", [], [:], 7, false, -1.5,
        [[[]]],
      ])
    }
  }

  /// A value that no other object has.
  private mutating func distinct(_ type: AttributeType) -> JSONValue {
    count += 1
    let number = Int64(count) * 1000 + random.int(1000)
    switch type {
    case .string: return .string(random.pick(["", "é", "a/b %", "牛"]) + "\(number)")
    case .int16: return .integer(Int64(count))
    case .int32, .int64: return .integer(number)
    case .uuid:
      return .string("0f0e0d0c-0000-4000-8000-\(String(100_000_000_000 + number))")
    case .decimal: return .string("\(number).5")
    case .date: return .string("20\(10 + number / 1000 % 90)-01-02T03:04:05.\(100 + number % 900)Z")
    default: return value(of: type)
    }
  }

  private mutating func between(_ least: JSONValue, _ most: JSONValue) -> JSONValue {
    if random.oneIn(3) { return random.pick([least, most]) }
    switch least {
    case .integer: return .integer(random.int(10))
    case .number: return .number(Double(random.below(80)) / 8)
    case .string(let text) where text.contains("T"): return "2026-01-02T03:04:05.678Z"
    default: return .string("\(random.below(10)).5")
    }
  }

  mutating func text() -> String {
    let pieces = [
      "a", "Z", "é", "e\u{301}", "牛乳", "𝄞", "\"", "\\", "\n", "'", "null", "ß", "i", "%_*", " ",
    ]
    return (0..<random.below(6)).map { _ in random.pick(pieces) }.joined()
  }

  private mutating func double() -> Double {
    let some: [Double] = [
      0, 0.1, -2, 1e20, .leastNonzeroMagnitude, .greatestFiniteMagnitude, 9_007_199_254_740_992,
      1e-7, 12.5,
    ]
    if random.oneIn(2) { return random.pick(some) }
    let number = Double(bitPattern: random.next())
    return number.isFinite ? number : -0.0
  }

  private mutating func decimal() -> String {
    let most = String(repeating: "9", count: 38)
    let least = "0." + String(repeating: "0", count: 36) + "1"
    let number = "\(random.oneIn(2) ? "-" : "")\(random.below(1000)).\(1 + random.below(9999))"
    return random.pick(["0", most, "-" + most, least, "12.5", number, number])
  }

  private mutating func date() -> String {
    let some = [
      "0001-01-01T00:00:00.000Z", "9999-12-31T23:59:59.999Z", "1969-12-31T23:59:59.999Z",
      "2024-02-29T12:00:00.001Z", "1970-01-01T00:00:00.000Z",
    ]
    return random.oneIn(2)
      ? random.pick(some) : "20\(10 + random.below(80))-02-03T04:05:06.\(100 + random.below(900))Z"
  }

  private mutating func uuid() -> String {
    let hex = (0..<16).map { _ in String(format: "%02x", random.below(256)) }
    return [0..<4, 4..<6, 6..<8, 8..<10, 10..<16].map { hex[$0].joined() }.joined(separator: "-")
  }

  /// A text that the wire accepts for a value of the type.
  private mutating func spelling(of type: AttributeType) -> String {
    switch type {
    case .date: date()
    case .uuid: uuid()
    case .uri: random.pick(["urn:x", "https://a.example/"])
    case .double: random.pick(["0.5", "-2", "12", "1000000"])
    case .decimal: random.pick(["12.5", "-7", "0", "0.001"])
    default: random.pick(["0", "12", "-7", "30000"])
    }
  }
}
