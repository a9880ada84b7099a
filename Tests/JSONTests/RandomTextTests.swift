import JSON
import TestSeeds
import Testing

@Suite struct `Random texts` {
  @Test(arguments: Seeds.first(50))
  func `written JSON reads back equal`(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    for _ in 0..<40 {
      let value = JSONValue.random(&random, levels: 5)
      let text = value.text
      let back = parsed(Array(text.utf8))
      #expect(back == .success(value), "\(Seeds.repeating(seed))")
      #expect(parsed(Array(value.prettyText.utf8)) == back, "\(Seeds.repeating(seed))")
      #expect(try Array(back.get().text.utf8) == Array(text.utf8), "\(Seeds.repeating(seed))")
    }
  }

  @Test(arguments: Seeds.first(50))
  func `every prefix of a text is an error at an offset within it`(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    // In an array, because a number may be cut and still be one.
    let text = Array(JSONValue.array([.random(&random, levels: 3)]).text.utf8).prefix(400)
    for length in 0..<text.count {
      switch parsed(Array(text.prefix(length))) {
      case .success(let value): Issue.record("\(value) of \(length); \(Seeds.repeating(seed))")
      case .failure(let error):
        #expect(error.offset <= length, "\(Seeds.repeating(seed))")
      }
    }
  }

  /// Where the text is ASCII without half a surrogate pair, a beginning has no wrong byte.
  @Test func `a prefix is reported as incomplete`() {
    let text = Array(
      #"[{"a\n\u0041":[true,false,null,-12.5e+3,0],"b":{}},"\"\\",""," ",-9223372036854775808]"#
        .utf8
    )
    #expect(throws: Never.self) { try parsed(text).get() }
    for length in 0..<text.count {
      refuses(Array(text.prefix(length)), .unexpectedEnd, at: length)
    }
  }

  /// 50 seeds of 400 texts.
  @Test(arguments: Seeds.first(50))
  func `a changed text is an error or a value, never a trap`(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    for _ in 0..<10 {
      let original = Array(JSONValue.random(&random, levels: 4).text.utf8)
      for _ in 0..<40 {
        var bytes = original
        for _ in 0...random.below(3) { mutate(&bytes, &random) }
        switch parsed(bytes) {
        case .success(let value):
          #expect(parsed(Array(value.text.utf8)) == .success(value), "\(Seeds.repeating(seed))")
        case .failure(let error):
          #expect((0...bytes.count).contains(error.offset), "\(Seeds.repeating(seed))")
        }
      }
    }
  }

  private func mutate(_ bytes: inout [UInt8], _ random: inout SplitMix64) {
    let place = random.below(bytes.count + 1)
    switch random.below(7) {
    case 0 where place < bytes.count: bytes[place] ^= 1 << UInt8(random.below(8))
    case 1 where place < bytes.count: bytes[place] = UInt8(random.below(256))
    case 2 where place < bytes.count: bytes.remove(at: place)
    case 3: bytes.insert(UInt8(random.below(256)), at: place)
    case 4: bytes.removeLast(min(bytes.count, random.below(8)))
    case 5:
      let end = min(bytes.count, place + random.below(12))
      bytes.insert(contentsOf: bytes[place..<end], at: random.below(bytes.count + 1))
    default: bytes.insert(contentsOf: random.pick(Self.tokens), at: place)
    }
  }

  /// Pieces that a parser has opinions about.
  private static let tokens: [[UInt8]] =
    [
      "{", "}", "[", "]", ",", ":", "\"", "\\", "\\u", "\\ud83e", "\\udd5b", "\\u0000", "null",
      "true", "-", "-0", "0", "00", "1e", "1e400", "1e-400", ".", "9223372036854775808",
      "-9223372036854775809", "[[[[[[[[", "{\"a\":", "é", "🥛", "\u{FEFF}", " ", "\n", "\u{0}",
    ].map { Array($0.utf8) } + [
      [0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80],
    ]
}

extension JSONValue {
  /// A value of at most so many levels.
  static func random(_ random: inout SplitMix64, levels: Int) -> JSONValue {
    switch random.below(levels > 0 ? 8 : 5) {
    case 0: return random.oneIn(2) ? .null : .bool(random.oneIn(2))
    case 1: return .integer(Int64(bitPattern: random.next()) >> Int64(random.below(64)))
    case 2: return .number(randomDouble(&random))
    case 3, 4: return .string(randomText(&random))
    case 5: return .array((0..<random.below(5)).map { _ in .random(&random, levels: levels - 1) })
    default:
      return .object(
        (0..<random.below(5)).map { _ in
          JSONMember(randomText(&random), .random(&random, levels: levels - 1))
        }
      )
    }
  }

  private static func randomDouble(_ random: inout SplitMix64) -> Double {
    if random.oneIn(3) { return Double(random.below(2_000_000) - 1_000_000) / 64 }
    let number = Double(bitPattern: random.next())
    return number.isFinite ? number : 0.5
  }

  private static func randomText(_ random: inout SplitMix64) -> String {
    var text = ""
    for _ in 0..<random.below(24) {
      let range: Range<UInt32> =
        random.pick([
          0..<0x20, 0x20..<0x80, 0x20..<0x80, 0x22..<0x23, 0x5C..<0x5D, 0x80..<0x3000,
          0..<0x11_0000,
        ])
      let value = range.lowerBound + UInt32(random.below(range.count))
      text.unicodeScalars.append(Unicode.Scalar(value) ?? "\u{FFFD}")
    }
    return text
  }
}
