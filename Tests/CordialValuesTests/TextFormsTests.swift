import CordialValues
import TestSeeds
import Testing

@Suite struct `Text forms of values` {
  @Test func `percent-encoding leaves unreserved bytes alone and no others`() {
    for byte in UInt8(0)..<0x80 {
      let character = String(UnicodeScalar(byte))
      let isUnreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
        .utf8.contains(byte)
      let hex = String(byte, radix: 16, uppercase: true)
      let encoded = "%" + (byte < 16 ? "0" : "") + hex
      #expect(PercentText.encode(character) == (isUnreserved ? character : encoded))
      #expect(PercentText.decode(isUnreserved ? character[...] : encoded[...]) == character)
      #expect(PercentText.decode(isUnreserved ? encoded[...] : character[...]) == nil, "\(byte)")
    }
    #expect(PercentText.encode("Größe 牛") == "Gr%C3%B6%C3%9Fe%20%E7%89%9B")
    #expect(PercentText.encode("") == "")
    #expect(PercentText.decode("") == "")
  }

  @Test func `a UUID is read in either case and kept in lower case`() {
    let lower = "0b3c1f9e-5c7e-4a53-9e57-1f2f3a4b5c6d"
    #expect(UUIDText.canonical(lower) == lower)
    #expect(UUIDText.canonical(lower.uppercased()) == lower)
    #expect(UUIDText.canonical("0B3c1F9e-5C7e-4a53-9E57-1f2F3a4B5c6D") == lower)
    #expect(
      UUIDText.canonical("FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF")
        == "ffffffff-ffff-ffff-ffff-ffffffffffff"
    )
    for text in [
      "", "0b3c1f9e", "{\(lower)}", "urn:uuid:\(lower)", "\(lower) ", " \(lower)", "\(lower)\n",
      "0b3c1f9e5c7e4a539e571f2f3a4b5c6d", "0b3c1f9e-5c7e-4a53-9e57-1f2f3a4b5c6",
      "0b3c1f9e-5c7e-4a53-9e57-1f2f3a4b5c6d0", "0b3c1f9g-5c7e-4a53-9e57-1f2f3a4b5c6d",
      "0b3c1f9e_5c7e_4a53_9e57_1f2f3a4b5c6d", "0b3c1f9-e5c7e-4a53-9e57-1f2f3a4b5c6d",
      "0b3c1f9e-5c7e-4a53-9e57-1f2f3a4b5cé", "0b3c1f9e-5c7e-4a53-9e57--f2f3a4b5c6d",
      "0b3c1f9e-5c7e-4a53-9e57-1f2f3a4b5c6@", "0b3c1f9e-5c7e-4a53-9e57-1f2f3a4b5c6`",
    ] {
      #expect(UUIDText.canonical(text) == nil, "\(text)")
    }
  }

  /// RFC 4648, section 10, and what section 3.5 says about bits that are left over.
  @Test func `base64 is the padded standard alphabet`() {
    for (bytes, text) in [
      ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="),
      ("fooba", "Zm9vYmE="), ("foobar", "Zm9vYmFy"),
    ] {
      #expect(Base64Text.encode(Array(bytes.utf8)) == text)
      #expect(Base64Text.decode(text) == Array(bytes.utf8))
    }
    #expect(Base64Text.encode([0xFB, 0xFF, 0xBF]) == "+/+/")
    #expect(Base64Text.decode("+/+/") == [0xFB, 0xFF, 0xBF])
    #expect(Base64Text.encode([0, 0, 0, 255]) == "AAAA/w==")
    for text in [
      "Z", "Zg", "Zg=", "Zg===", "Zg==Zg==", "=", "==", "===", "====", "Z===", "Zm=8", "=Zm8",
      "Zm8=Zm9v",
      // Left-over bits that aren't zero: two texts for the same bytes.
      "Zh==", "Zm9=", "Zv==", "//==", "///=",
      // Foreign alphabets, white space, anything else.
      "-_-_", "Zm9v\n", " Zm9v", "Zm 9v", "Zm9v====", "Zm9\u{0}", "Zmé=", "Zm9*", "Zm8\u{FF1D}",
    ] {
      #expect(Base64Text.decode(text) == nil, "\(text)")
    }
  }

  @Test(arguments: Seeds.first(50))
  func `what is encoded decodes to itself`(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    for _ in 0..<40 {
      let bytes = (0..<random.below(40)).map { _ in UInt8(random.below(256)) }
      let text = Base64Text.encode(bytes)
      #expect(text.utf8.count == (bytes.count + 2) / 3 * 4, "\(Seeds.repeating(seed))")
      #expect(Base64Text.decode(text) == bytes, "\(Seeds.repeating(seed))")

      let words = String(decoding: bytes, as: UTF8.self)
      let encoded = PercentText.encode(words)
      #expect(encoded.utf8.allSatisfy { $0 < 0x80 }, "\(Seeds.repeating(seed))")
      #expect(
        PercentText.decode(encoded[...]).map { Array($0.utf8) } == Array(words.utf8),
        "\(Seeds.repeating(seed))"
      )
    }
  }
}

@Suite struct `Values compare by content` {
  /// Strings are sorted and compared by code point; SQLite holds the two forms apart as well.
  @Test func `text that differs in code points is a different value`() {
    #expect(AttributeValue.string("\u{E9}") != .string("e\u{301}"))
    #expect(AttributeValue.json("\"\u{E9}\"") != .json("\"e\u{301}\""))
    #expect(AttributeValue.uri("x:\u{E9}") != .uri("x:e\u{301}"))
    #expect(
      Set<AttributeValue>([.string("\u{C5}"), .string("\u{212B}"), .string("A\u{30A}")]).count == 3
    )
  }

  @Test func `values of two types are two values`() {
    let values: [AttributeValue] = [
      .null, .string("1"), .integer(1), .double(1), .boolean(true), .decimal("1"), .date(1),
      .uuid("1"),
      .uri("1"), .binary([1]), .json("1"), .string(""), .binary([]), .integer(0), .boolean(false),
    ]
    #expect(Set(values).count == values.count)
  }

  @Test func `object keys sort by entity, then number`() {
    let keys = [(2, -1), (1, 9), (1, 10), (2, 3), (1, -5)].map {
      ObjectKey(entity: $0.0, object: $0.1)
    }
    #expect(
      keys.sorted().map { [Int64($0.entity), $0.object] } == [
        [1, -5], [1, 9], [1, 10], [2, -1], [2, 3],
      ]
    )
  }
}
