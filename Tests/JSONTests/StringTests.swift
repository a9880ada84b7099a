import JSON
import Testing

/// RFC 8259, section 7.
@Suite struct `Strings` {
  @Test func `plain text is read verbatim`() {
    check("\"\"", "")
    check("\"a\"", "a")
    check("\"/'\u{7F}\u{80}\u{2028}\u{2029}\"", "/'\u{7F}\u{80}\u{2028}\u{2029}")
    check(
      "\"\u{FFFD}\u{FFFE}\u{FFFF}\u{10FFFF}\u{E000}\u{FEFF}\"",
      "\u{FFFD}\u{FFFE}\u{FFFF}\u{10FFFF}\u{E000}\u{FEFF}"
    )
    check("\"牛乳を買う 🥛 e\u{301}\"", "牛乳を買う 🥛 e\u{301}")
    // One character of many code points, and a combining mark right behind the quote.
    check("\"\u{301}👩‍👩‍👧‍👦\"", "\u{301}👩‍👩‍👧‍👦")
    check("[\"a\",\"\u{301}\"]", ["a", "\u{301}"])
  }

  @Test func `there are nine escapes`() {
    check(#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{C}\n\r\t")
    check(#""\u0000\u001f\u0041\u00e9\u20AC\uFFFF""#, "\u{0}\u{1F}A\u{E9}\u{20AC}\u{FFFF}")
    check(#""\uABCD\uabcd\uAbCd""#, "\u{ABCD}\u{ABCD}\u{ABCD}")
    check(#""a\nb\u0063d""#, "a\nbcd")
    check(#""\\u0041""#, "\\u0041")
    check(#""e\u0301""#, "e\u{301}")
    check(#""\u000d\u000a""#, "\r\n")
  }

  @Test func `a surrogate pair is one code point`() {
    check(#""\ud83e\udd5b""#, "\u{1F95B}")
    check(#""\uD83E\uDD5B""#, "\u{1F95B}")
    check(#""\ud800\udc00\udbff\udfff""#, "\u{10000}\u{10FFFF}")
    check(#""\ud7ff\ue000""#, "\u{D7FF}\u{E000}")
    check(#""x\ud83e\udd5by""#, "x\u{1F95B}y")
  }

  @Test func `half a surrogate pair is refused where it begins`() {
    refuses(#""\ud800""#, .loneSurrogate, at: 1)
    refuses(#""\udbff""#, .loneSurrogate, at: 1)
    refuses(#""\udc00""#, .loneSurrogate, at: 1)
    refuses(#""\udfff""#, .loneSurrogate, at: 1)
    refuses(#""ab\ud800cd""#, .loneSurrogate, at: 3)
    refuses(#""\ud800\n""#, .loneSurrogate, at: 1)
    refuses(#""\ud800\u0041""#, .loneSurrogate, at: 1)
    refuses(#""\ud800\ud800""#, .loneSurrogate, at: 1)
    refuses(#""\ud800\ud800\udc00""#, .loneSurrogate, at: 1)
    refuses(#""\udc00\ud800""#, .loneSurrogate, at: 1)
    refuses(#""\ud83e\udd5b\udd5b""#, .loneSurrogate, at: 13)
    refuses(#"{"\ud800":1}"#, .loneSurrogate, at: 2)
    refuses(#""\ud800\\udc00""#, .loneSurrogate, at: 1)
  }

  /// The offset is that of the backslash, or of the first byte that can't follow it.
  @Test(arguments: [
    #""\a""#, #""\'""#, #""\0""#, #""\x41""#, #""\U0041""#, #""\ ""#, "\"\\\n\"", "\"\\\u{e9}\"",
    "\"\\\u{0}\"", #""\N""#, #""\v""#, #""\e""#,
  ])
  func `an unknown escape is refused`(text: String) {
    let result = parsed(Array(text.utf8))
    #expect([1, 2].contains { result == .failure(JSONError(.invalidString, at: $0)) })
  }

  @Test func `an escape has four hexadecimal digits of ASCII`() {
    refuses(#""\u""#, .invalidString, at: 3)
    refuses(#""\u00""#, .invalidString, at: 5)
    refuses(#""\u004""#, .invalidString, at: 6)
    refuses(#""\u00g0""#, .invalidString, at: 5)
    refuses(#""\u+041""#, .invalidString, at: 3)
    refuses(#""\u-041""#, .invalidString, at: 3)
    refuses(#""\u{41}""#, .invalidString, at: 3)
    refuses(#""\u 041""#, .invalidString, at: 3)
    refuses("\"\\u\u{FF10}041\"", .invalidString, at: 3)
    refuses("\"\\u004\u{FF21}\"", .invalidString, at: 6)
    refuses(#""\ud800\u""#, .invalidString, at: 9)
    refuses(#""\ud800\uzzzz""#, .invalidString, at: 9)
  }

  @Test func `a string that doesn't end is too short`() {
    refuses("\"", .unexpectedEnd, at: 1)
    refuses("\"a", .unexpectedEnd, at: 2)
    refuses("\"a\\", .unexpectedEnd, at: 3)
    refuses("\"a\\\"", .unexpectedEnd, at: 4)
    refuses("\"\\u", .unexpectedEnd, at: 3)
    refuses("\"\\u00", .unexpectedEnd, at: 5)
    refuses("\"\\u0041", .unexpectedEnd, at: 7)
    refuses("\"0123456789012345", .unexpectedEnd, at: 17)
    refuses("{\"a", .unexpectedEnd, at: 3)
  }

  @Test func `control characters must be escaped at each offset of a word`() {
    for control in UInt8(0)..<0x20 {
      for position in 0..<17 {
        var text = Array(#""0123456789abcdefg""#.utf8)
        text[position + 1] = control
        refuses(text, .invalidString, at: position + 1)
      }
    }
  }

  @Test func `an escape is found at each offset of a word`() {
    for length in 0..<20 {
      let before =
        String(repeating: "é", count: length / 2) + String(repeating: "x", count: length % 2)
      for after in ["", "y", "yyyyyyyy", "ÿÿÿÿÿÿÿÿ"] {
        check("\"\(before)\\\"\(after)\"", .string("\(before)\"\(after)"))
        check("\"\(before)\\\\\(after)\"", .string("\(before)\\\(after)"))
      }
    }
  }

  @Test func `every byte above the controls is left alone inside a run`() {
    for byte in UInt8(0x20)..<0x80 where byte != 0x22 && byte != 0x5C {
      let run = String(repeating: String(UnicodeScalar(byte)), count: 9)
      check("\"\(run)\"", .string(run))
    }
  }
}

/// Unicode 16, table 3-7: what a well-formed sequence of UTF-8 is.
@Suite struct `Text must be UTF-8` {
  private func quoted(_ bytes: [UInt8], before: String = "") -> [UInt8] {
    [0x22] + Array(before.utf8) + bytes + [0x22]
  }

  @Test func `each kind of malformed sequence is refused where it begins`() {
    let kinds: [(String, [UInt8])] = [
      ("a continuation byte alone", [0x80]),
      ("the last continuation byte alone", [0xBF]),
      ("a two byte sequence cut short", [0xC3]),
      ("a three byte sequence cut short", [0xE2, 0x82]),
      ("a four byte sequence cut short", [0xF0, 0x9F, 0xA5]),
      ("a lead byte before another", [0xC3, 0xC3, 0xA9]),
      ("an overlong slash of two bytes", [0xC0, 0xAF]),
      ("an overlong of C1", [0xC1, 0xBF]),
      ("an overlong slash of three bytes", [0xE0, 0x80, 0xAF]),
      ("the greatest overlong of three bytes", [0xE0, 0x9F, 0xBF]),
      ("an overlong slash of four bytes", [0xF0, 0x80, 0x80, 0xAF]),
      ("the greatest overlong of four bytes", [0xF0, 0x8F, 0xBF, 0xBF]),
      ("an overlong quote", [0xC0, 0xA2]),
      ("modified UTF-8's zero", [0xC0, 0x80]),
      ("the first surrogate", [0xED, 0xA0, 0x80]),
      ("the last surrogate", [0xED, 0xBF, 0xBF]),
      ("a pair of surrogates, as in CESU-8", [0xED, 0xA0, 0xBE, 0xED, 0xB5, 0x9B]),
      ("beyond U+10FFFF", [0xF4, 0x90, 0x80, 0x80]),
      ("far beyond U+10FFFF", [0xF7, 0xBF, 0xBF, 0xBF]),
      ("five bytes", [0xF8, 0x88, 0x80, 0x80, 0x80]),
      ("six bytes", [0xFC, 0x84, 0x80, 0x80, 0x80, 0x80]),
      ("FE", [0xFE]),
      ("FF", [0xFF]),
      ("Latin-1", [0xE9, 0x74, 0xE9]),
    ]
    for (_, bytes) in kinds {
      refuses(quoted(bytes), .invalidUTF8, at: 1)
      refuses(quoted(bytes, before: "aé€🥛"), .invalidUTF8, at: 11)
      refuses(quoted(bytes, before: "123456789"), .invalidUTF8, at: 10)
      refuses(quoted(bytes, before: "\\n"), .invalidUTF8, at: 3)
      refuses(quoted(bytes + Array("\\n".utf8)), .invalidUTF8, at: 1)
      refuses(Array("{\"".utf8) + bytes + Array("\":1}".utf8), .invalidUTF8, at: 2)
      // Outside of a string no byte beyond ASCII can stand.
      refuses(bytes, .unexpectedByte, at: 0)
      refuses(Array("[1".utf8) + bytes, .unexpectedByte, at: 2)
    }
  }

  /// The first wrong byte is the malformed one, not the missing quote behind it.
  @Test func `a malformed sequence is reported before the missing end of the string`() {
    refuses([0x22, 0xFF], .invalidUTF8, at: 1)
    refuses([0x22, 0x61, 0x80, 0x62], .invalidUTF8, at: 2)
    refuses([0x22, 0x5C, 0x6E, 0xFF], .invalidUTF8, at: 3)
  }

  @Test func `every sequence of a lead and continuation bytes is judged as by the table`() {
    for lead in UInt8(0x80)...0xFF {
      for second in UInt8(0)...0xFF where second >= 0x20 && second != 0x22 && second != 0x5C {
        for tail in [[], [0x80], [0xBF, 0x80], [0x80, 0xBF, 0x80]] as [[UInt8]] {
          let bytes = [lead, second] + tail
          let taken = if case .success = parsed(quoted(bytes)) { true } else { false }
          if taken != isWellFormed(bytes) {
            Issue.record("\(bytes) was \(taken ? "taken" : "refused")")
          }
        }
      }
    }
  }

  /// Table 3-7 of the Unicode standard, row by row.
  private func isWellFormed(_ bytes: [UInt8]) -> Bool {
    var rest = bytes[...]
    let tail: ClosedRange<UInt8> = 0x80...0xBF
    while let lead = rest.popFirst() {
      let ranges: [ClosedRange<UInt8>]
      switch lead {
      case 0x00...0x7F: ranges = []
      case 0xC2...0xDF: ranges = [tail]
      case 0xE0: ranges = [0xA0...0xBF, tail]
      case 0xE1...0xEC, 0xEE...0xEF: ranges = [tail, tail]
      case 0xED: ranges = [0x80...0x9F, tail]
      case 0xF0: ranges = [0x90...0xBF, tail, tail]
      case 0xF1...0xF3: ranges = [tail, tail, tail]
      case 0xF4: ranges = [0x80...0x8F, tail, tail]
      default: return false
      }
      for range in ranges {
        guard let byte = rest.popFirst(), range.contains(byte) else { return false }
      }
    }
    return true
  }
}
