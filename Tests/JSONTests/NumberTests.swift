import JSON
import Testing

/// RFC 8259, section 6, and 64 bits exactly.
@Suite struct `Numbers` {
  @Test func `integers within 64 bits keep every digit`() {
    check("0", .integer(0))
    check("1", .integer(1))
    check("-1", .integer(-1))
    check("10", .integer(10))
    check("9007199254740993", .integer(9_007_199_254_740_993))
    check("-9007199254740993", .integer(-9_007_199_254_740_993))
    check("1000000000000000000", .integer(1_000_000_000_000_000_000))
    check("9223372036854775807", .integer(.max))
    check("9223372036854775806", .integer(.max - 1))
    check("-9223372036854775807", .integer(.min + 1))
    check("-9223372036854775808", .integer(.min))
    check(
      "[4611686018427387904,-4611686018427387905]",
      [4_611_686_018_427_387_904, -4_611_686_018_427_387_905]
    )
  }

  @Test func `integers beyond 64 bits are the nearest double`() {
    check("9223372036854775808", .number(9_223_372_036_854_775_808))
    check("-9223372036854775809", .number(-9_223_372_036_854_775_808))
    check("9223372036854775817", .number(9_223_372_036_854_775_808))
    check("18446744073709551615", .number(18_446_744_073_709_551_616))
    check("18446744073709551616", .number(18_446_744_073_709_551_616))
    check("92233720368547758070", .number(92_233_720_368_547_758_080))
    check("100000000000000000000", .number(1e20))
    check("-100000000000000000000", .number(-1e20))
    check("1" + String(repeating: "0", count: 308), .number(1e308))
  }

  @Test func `a fraction or an exponent makes a double`() {
    check("1.0", .number(1))
    check("0.5", .number(0.5))
    check("-0.5", .number(-0.5))
    check("1e0", .number(1))
    check("1E2", .number(100))
    check("1e+2", .number(100))
    check("1e-2", .number(0.01))
    check("1e00002", .number(100))
    check("0e1", .number(0))
    check("0.0", .number(0))
    check("123.456e7", .number(123.456e7))
    check("0.1", .number(0.1))
    check("1.7976931348623157e308", .number(.greatestFiniteMagnitude))
    check("2.2250738585072014e-308", .number(.leastNormalMagnitude))
    check("5e-324", .number(.leastNonzeroMagnitude))
    check("2.2250738585072011e-308", .number(Double(bitPattern: 0x000F_FFFF_FFFF_FFFF)))
    check("0.000000000000000000000000000001", .number(1e-30))
    check("9007199254740993.0", .number(9_007_199_254_740_992))
  }

  @Test func `minus zero keeps its sign`() throws {
    for text in ["-0", "-0.0", "-0e0", "-0.0E-5"] {
      guard case .number(let number) = try JSONParser.parse(text) else {
        Issue.record("\(text) is no double")
        continue
      }
      #expect(number == 0 && number.sign == .minus, "\(text)")
      #expect(try JSONParser.parse(text).text == "-0.0")
    }
  }

  @Test func `a number too large for a double is refused`() {
    for text in ["1e400", "-1e400", "1e309", "1.8e308", "1e99999999999999999999", "123456789e302"] {
      refuses(text, .invalidNumber, at: 0)
      refuses("[\(text)]", .invalidNumber, at: 1)
    }
    refuses("1" + String(repeating: "0", count: 309), .invalidNumber, at: 0)
  }

  @Test func `a number too small for a double is zero`() {
    check("1e-400", .number(0))
    check("-1e-400", .number(-0.0))
    check("1e-99999999999999999999", .number(0))
  }

  @Test func `any other text is not a number`() {
    refuses("-", .unexpectedEnd, at: 1)
    refuses("+1", .unexpectedByte, at: 0)
    refuses(".5", .unexpectedByte, at: 0)
    refuses("--1", .invalidNumber, at: 1)
    refuses("-a", .invalidNumber, at: 1)
    refuses("-.5", .invalidNumber, at: 1)
    refuses("-e5", .invalidNumber, at: 1)
    refuses("1.", .unexpectedEnd, at: 2)
    refuses("[1.]", .invalidNumber, at: 3)
    refuses("[1.e5]", .invalidNumber, at: 3)
    refuses("1e", .unexpectedEnd, at: 2)
    refuses("1e+", .unexpectedEnd, at: 3)
    refuses("[1e]", .invalidNumber, at: 3)
    refuses("[1e-]", .invalidNumber, at: 4)
    refuses("[1e+-1]", .invalidNumber, at: 4)
    refuses("1.2.3", .trailingBytes, at: 3)
    refuses("1e5.5", .trailingBytes, at: 3)
    refuses("1e5e5", .trailingBytes, at: 3)
    refuses("1_000", .trailingBytes, at: 1)
    refuses("1f", .trailingBytes, at: 1)
    refuses("0x10", .trailingBytes, at: 1)
    refuses("0b1", .trailingBytes, at: 1)
    refuses("\u{FF11}", .unexpectedByte, at: 0)
    refuses("[1\u{0}]", .unexpectedByte, at: 2)
    refuses("[1-2]", .unexpectedByte, at: 2)
  }

  /// The offset may be the zero's or that of the digit behind it.
  @Test(arguments: ["00", "01", "-00", "-01", "007", "00.5", "-012e3", "0123456789012345678901"])
  func `a leading zero is refused`(text: String) {
    guard case .failure(let error) = parsed(Array(text.utf8)) else {
      Issue.record("\(text) was taken")
      return
    }
    #expect(error.code == .invalidNumber || error.code == .trailingBytes)
    #expect(error.offset < 3)
  }
}
