import JSON
import TestSeeds

/// The dates of the random graphs.
enum GraphDates {
  /// The dates, worked out by hand, in milliseconds since 1970.
  static let milliseconds: [String: Int64] = [
    "1970-01-01T00:00:00.000Z": 0, "1969-12-31T23:59:59.999Z": -1,
    "2001-01-01T00:00:00.000Z": reference, "2001-01-01T00:01:00.500Z": reference + 60_500,
    "2000-12-31T23:59:58.000Z": reference - 2_000, "2000-02-29T00:00:00.000Z": 951_782_400_000,
    "2026-01-01T00:00:00.000Z": 1_767_225_600_000, "9999-12-31T23:59:59.999Z": 253_402_300_799_999,
    "0001-01-01T00:00:00.000Z": -62_135_596_800_000,
  ]

  /// 2001-01-01, from which casts count.
  static let reference: Int64 = 978_307_200_000

  static let texts = milliseconds.keys.sorted()
}

/// The values of the random graphs, which often collide and are often extreme.
enum GraphSamples {
  static let integers: [Int64] = [0, 1, 2, 3, 5, 10, -1, -2, -7]
  static let largeIntegers: [Int64] = [
    9_007_199_254_740_991, 9_007_199_254_740_992, 9_007_199_254_740_993, -9_007_199_254_740_993,
    .max, .max - 1, .min, .min + 1, 4_611_686_018_427_387_904,
  ]
  static let doubles = [
    0.0, -0.0, 0.5, 1, 2.5, 3, -1.5, -2, 0.1, 0.2, 0.1 + 0.2, 0.3, 1e15, 9_007_199_254_740_992,
    9_007_199_254_740_994, 9_223_372_036_854_775_808, -9_223_372_036_854_775_808, 1e300, -1e300,
    .leastNonzeroMagnitude, 1e-300, 1.797_693_134_862_315_7e308,
  ]
  /// Floats that are exact in binary: how others are rounded is not in the contract.
  static let singles: [Double] = [0, 0.5, 1, 2.5, -1.5, 16_777_216, 0x1p100, 0.0009765625]
  static let decimals = [
    "0", "0.1", "0.2", "0.3", "1", "2.5", "-0.1", "-7", "3", "0.30000000000000004",
    "99999999999999999999999999999999999999", "-99999999999999999999999999999999999999",
    "0.0000000000000000000000000000000000001", "12345678901234567890.123456789012345678",
    "9007199254740993", "9223372036854775807", "-9223372036854775808", "0.3333333333333333333",
  ]
  /// Texts whose order in ICU's root collation `GraphCollation` knows.
  static let titles = [
    "", "a", "A", "á", "Á", "b", "B", "ab", "aB", "Ab", "áb", "a b", "e", "é", "E", "É", "eé", "z",
    "10", "9", "a2", "a10", "a02", "1",
  ]
  static let texts = [
    "", "a", "A", "ab", "aB", "Ab", "abc", "aXc", "ABC", "é", "É", "e", "eé", "ä", "Ä", "b*",
    "a?c", "x.y", "a b", "b'\"%_\\", "10", "9", "-1.5", "10a", "日本", "😀", "e\u{301}", "a\0B",
  ]
  static let codes = [
    "9f1c5b7e-0000-4000-8000-000000000001", "9f1c5b7e-0000-4000-8000-000000000002",
    "00000000-0000-0000-0000-000000000000",
  ]
  static let links = ["https://a.example/x", "https://a.example/y?q=%20", "mailto:a@b.example"]
  static let bytes = ["", "AA==", "AAEC", "/////w=="]

  /// A random value of an attribute, as it is sent.
  static func value(_ attribute: GraphSchema.Attribute, _ random: inout SplitMix64) -> JSONValue {
    switch attribute.type {
    case "int16": return .integer(random.pick(integers + [32_767, -32_768]))
    case "int32": return .integer(random.pick(integers + [2_147_483_647, -2_147_483_648]))
    case "int64": return .integer(random.pick(integers + largeIntegers))
    case "double": return .number(random.pick(doubles))
    case "float": return .number(random.pick(singles))
    case "decimal": return .string(random.pick(decimals))
    case "boolean": return .bool(random.oneIn(2))
    case "date": return .string(random.pick(GraphDates.texts))
    case "uuid": return .string(random.pick(codes))
    case "uri": return .string(random.pick(links))
    case "binary": return .string(random.pick(bytes))
    case "json": return facts(&random)
    default:
      return .string(random.pick(attribute.name == "title" ? titles : texts))
    }
  }

  /// A random JSON value in which some members are missing and some lists have several types.
  private static func facts(_ random: inout SplitMix64) -> JSONValue {
    var members: [JSONMember] = []
    if !random.oneIn(4) { members.append(JSONMember("name", scalar(&random))) }
    if !random.oneIn(4) {
      members.append(JSONMember("list", .array((0..<random.below(4)).map { _ in scalar(&random) })))
    }
    if !random.oneIn(3) {
      members.append(JSONMember("deep", .object([JSONMember("n", scalar(&random))])))
    }
    return .object(members)
  }

  static func scalar(_ random: inout SplitMix64) -> JSONValue {
    switch random.below(8) {
    case 0: .null
    case 1: .bool(random.oneIn(2))
    case 2, 3: .string(random.pick(["a", "A", "b", "10", "1", "é", ""]))
    case 4: .number(random.pick([0.5, -1.5, 2.5, 0.1, 1e300]))
    case 5: .integer(random.pick(largeIntegers))
    default: .integer(random.pick(integers))
    }
  }
}
