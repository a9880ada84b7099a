import CordialValues
import JSON
import ObjectModel
import TestSeeds
import Testing

@Suite struct `A value on the wire is read as its attribute's type` {
  private func check(
    _ type: AttributeType,
    _ value: JSONValue,
    _ expected: AttributeValue?,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    switch type.decode(value) {
    case .value(let decoded):
      #expect(decoded == expected, "\(type) \(value.text)", sourceLocation: sourceLocation)
    case .expected(let what):
      #expect(expected == nil, "\(type) \(value.text): \(what)", sourceLocation: sourceLocation)
      #expect(!what.isEmpty, sourceLocation: sourceLocation)
    }
  }

  @Test(arguments: AttributeType.allCases)
  func `null is read by every type`(type: AttributeType) {
    check(type, nil, .null)
  }

  // Evidence: P-040
  @Test func `integers are exact and within their range`() {
    check(.int16, 32767, .integer(32767))
    check(.int16, -32768, .integer(-32768))
    check(.int16, 32768, nil)
    check(.int16, -32769, nil)
    check(.int32, 2_147_483_647, .integer(2_147_483_647))
    check(.int32, -2_147_483_648, .integer(-2_147_483_648))
    check(.int32, 2_147_483_648, nil)
    check(.int32, -2_147_483_649, nil)
    check(.int64, .integer(.max), .integer(.max))
    check(.int64, .integer(.min), .integer(.min))
    check(.int64, 9.3e18, nil)
    check(.int16, 1.5, nil)
    check(.int16, "1", nil)
    check(.int16, true, nil)
    check(.int32, [], nil)
  }

  @Test func `-0 is the integer 0`() {
    for type in [.int16, .int32, .int64] as [AttributeType] {
      check(type, .number(-0.0), .integer(0))
      check(type, .number(0.5), nil)
    }
    check(.double, .number(-0.0), .double(-0.0))
  }

  /// A client that asked for `integers: "string"` sends what it is sent.
  @Test func `int64 is read from its decimal string`() {
    check(.int64, "9223372036854775807", .integer(.max))
    check(.int64, "-9223372036854775808", .integer(.min))
    check(.int64, "0", .integer(0))
    for text in ["", "01", "+1", "-0", " 1", "1.0", "9223372036854775808", "1e3", "\u{661}"] {
      check(.int64, .string(text), nil)
    }
  }

  @Test func `doubles and floats take every number they can hold`() {
    check(.double, 0.1, .double(0.1))
    check(.double, 5, .double(5))
    check(.double, .number(.greatestFiniteMagnitude), .double(.greatestFiniteMagnitude))
    check(.double, "1", nil)
    check(.double, false, nil)
    check(.float, 0.5, .double(0.5))
    check(.float, 0.1, .double(Double(Float(0.1))))
    check(.float, 16_777_217, .double(16_777_216))
    check(.float, 1e39, nil)
    check(
      .float,
      .number(Double(Float.greatestFiniteMagnitude)),
      .double(Double(Float.greatestFiniteMagnitude))
    )
  }

  @Test func `booleans are true and false only`() {
    check(.boolean, true, .boolean(true))
    check(.boolean, false, .boolean(false))
    for value in [0, 1, "true", "", [], [:]] as [JSONValue] { check(.boolean, value, nil) }
  }

  @Test func `texts are read verbatim`() {
    check(.string, "", .string(""))
    check(.string, "a\u{0}é🥛", .string("a\u{0}é🥛"))
    check(.string, 1, nil)
    check(.string, ["a"], nil)
    check(
      .uuid,
      "0B3C1F9E-5C7E-4A53-9E57-1F2F3A4B5C6D",
      .uuid("0b3c1f9e-5c7e-4a53-9e57-1f2f3a4b5c6d")
    )
    check(.uuid, "0b3c1f9e", nil)
    check(.date, "1970-01-01T01:00:00+01:00", .date(0))
    check(.date, "1970-01-01", nil)
    check(.date, 0, nil)
    check(.binary, "AAE=", .binary([0, 1]))
    check(.binary, "", .binary([]))
    check(.binary, "AAE", nil)
    check(.binary, [0, 1], nil)
  }

  @Test func `a URI has a scheme and no raw spaces`() {
    for text in [
      "https://example.org/a?b=c#d", "mailto:a@b", "urn:x", "x+y-z.1:", "cordial://s/Task/p1",
    ] {
      check(.uri, .string(text), .uri(text))
    }
    for text in [
      "", "example.org", "//a/b", "1x:y", ":a", "a b:c", "x:a b", "x:\n", "x:<a>", "é:a", "x:\"",
      "/a:b",
    ] {
      check(.uri, .string(text), nil)
    }
  }

  // Evidence: P-014c
  @Test func `the last of duplicate JSON names counts, at the position of the first`() throws {
    let text = #"{"a":1,"b":[{"c":1,"c":{"d":1,"d":2}}],"a":3}"#
    check(.json, try JSONParser.parse(text), .json(#"{"a":3,"b":[{"c":{"d":2}}]}"#))
  }

  @Test func `any JSON is a value of a json attribute`() {
    check(.json, ["a": [1, nil, true, 0.5]], .json(#"{"a":[1,null,true,0.5]}"#))
    check(.json, "a", .json("\"a\""))
    check(.json, false, .json("false"))
    check(.json, [], .json("[]"))
  }

  @Test func `a decimal is kept in its shortest plain notation`() {
    for (text, expected) in [
      ("0", "0"), ("-0", "0"), ("-0.00", "0"), ("1", "1"), ("-1", "-1"), ("12.50", "12.5"),
      ("007", "7"),
      ("0.10", "0.1"), ("00.010", "0.01"), ("100", "100"), ("-12.000", "-12"),
      ("99999999999999999999999999999999999999", "99999999999999999999999999999999999999"),
      ("0.00000000000000000000000000000000000001", "0.00000000000000000000000000000000000001"),
    ] {
      check(.decimal, .string(text), .decimal(expected))
    }
    for text in [
      "", "-", ".", "1.", ".5", "+1", "1e5", "1,5", "0x1", " 1", "1 ", "--1", "1.2.3", "NaN",
      "Infinity", "\u{661}",
      "999999999999999999999999999999999999999", "1.00000000000000000000000000000000000001",
    ] where text.count < 40 {
      check(.decimal, .string(text), nil)
    }
    check(.decimal, 5, .decimal("5"))
    check(.decimal, .integer(.min), .decimal("-9223372036854775808"))
    check(.decimal, 0.1, nil)
    check(.decimal, true, nil)
  }

  @Test func `decimals compare by value`() {
    let ordered = [
      "-100", "-12.5", "-12.49", "-12", "-9", "-1", "-0.5", "-0.25", "-0.05", "0", "0.05", "0.25",
      "0.3", "0.5",
      "1", "1.5", "9", "9.99", "10", "12.49", "12.5", "100",
      "99999999999999999999999999999999999999",
    ]
    for (first, a) in ordered.enumerated() {
      for (second, b) in ordered.enumerated() {
        let order = DecimalText.compare(a, b)
        #expect(order.signum() == (first - second).signum(), "\(a) \(b)")
      }
    }
  }
}

@Suite struct `A value is checked against the rules of its attribute` {
  private func attribute(
    _ type: AttributeType,
    optional: Bool = false,
    minimum: AttributeValue? = nil,
    maximum: AttributeValue? = nil,
    minimumLength: Int? = nil,
    maximumLength: Int? = nil,
    allowed: [AttributeValue]? = nil
  ) throws -> AttributeDescription {
    func member(_ name: String, _ value: AttributeValue?) -> JSONMember? {
      switch value {
      case .integer(let number)?: JSONMember(name, .integer(number))
      case .double(let number)?: JSONMember(name, .number(number))
      case .string(let text)?, .decimal(let text)?: JSONMember(name, .string(text))
      case .date(let moment)?: JSONMember(name, .string(DateText.text(moment) ?? ""))
      default: nil
      }
    }
    var members: [JSONMember] = [
      .init("name", "x"), .init("type", .string(type.rawValue)), .init("optional", .bool(optional)),
    ]
    members += [member("minimum", minimum), member("maximum", maximum)].compactMap { $0 }
    if let minimumLength { members.append(.init("minimumLength", .integer(Int64(minimumLength)))) }
    if let maximumLength { members.append(.init("maximumLength", .integer(Int64(maximumLength)))) }
    if let allowed {
      members.append(.init("enum", .array(allowed.compactMap { member("", $0)?.value })))
    }
    let document: JSONValue = [
      "name": "M", "entities": [["name": "A", "attributes": [.object(members)]]],
    ]
    let model = try ModelDocument.model(from: document)
    return try #require(model.entities.first?.attributes.first)
  }

  private func check(
    _ attribute: AttributeDescription,
    passes: [AttributeValue],
    breaks: [AttributeValue],
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    for value in passes {
      #expect(
        attribute.timedViolation(by: value)?.rule == nil,
        "\(value)",
        sourceLocation: sourceLocation
      )
    }
    for value in breaks {
      #expect(
        attribute.timedViolation(by: value)?.rule != nil,
        "\(value)",
        sourceLocation: sourceLocation
      )
    }
  }

  @Test func `null is a value of the optional ones only`() throws {
    check(try attribute(.string), passes: [.string("")], breaks: [.null])
    check(try attribute(.string, optional: true), passes: [.null, .string("")], breaks: [])
    check(
      try attribute(.int16, optional: true, minimum: .integer(1), allowed: [.integer(2)]),
      passes: [.null, .integer(2)],
      breaks: [.integer(3)]
    )
  }

  @Test func `minimum and maximum belong to the range`() throws {
    check(
      try attribute(.int16, minimum: .integer(-1), maximum: .integer(3)),
      passes: [.integer(-1), .integer(0), .integer(3)],
      breaks: [.integer(-2), .integer(4)]
    )
    check(
      try attribute(.double, minimum: .double(0.5)),
      passes: [.double(0.5), .double(1e300)],
      breaks: [.double(0.49), .double(-1)]
    )
    check(
      try attribute(.decimal, minimum: .decimal("9.9"), maximum: .decimal("10.1")),
      passes: [.decimal("9.9"), .decimal("10"), .decimal("10.1")],
      breaks: [.decimal("9.89"), .decimal("10.11"), .decimal("-10")]
    )
    check(
      try attribute(.date, minimum: .date(0), maximum: .date(1000)),
      passes: [.date(0), .date(1000)],
      breaks: [.date(-1), .date(1001)]
    )
    // By code point, as strings sort: "Z" is below "a".
    check(
      try attribute(.string, minimum: .string("a"), maximum: .string("f")),
      passes: [.string("a"), .string("bcd"), .string("f")],
      breaks: [.string("Z"), .string("fa"), .string("é")]
    )
  }

  @Test func `lengths count Unicode scalars, or bytes`() throws {
    check(
      try attribute(.string, minimumLength: 1, maximumLength: 3),
      passes: [.string("a"), .string("abc"), .string("🥛🥛🥛"), .string("e\u{301}x")],
      breaks: [.string(""), .string("abcd"), .string("e\u{301}xy"), .string("👩‍👩‍👧‍👦")]
    )
    check(
      try attribute(.binary, maximumLength: 2),
      passes: [.binary([]), .binary([1, 2])],
      breaks: [.binary([1, 2, 3])]
    )
  }

  @Test func `an enum lists all allowed values`() throws {
    check(
      try attribute(.string, allowed: [.string("open"), .string("done")]),
      passes: [.string("open"), .string("done")],
      breaks: [.string("Open"), .string(""), .string("open ")]
    )
    check(
      try attribute(.int32, allowed: [.integer(1), .integer(3)]),
      passes: [.integer(1), .integer(3)],
      breaks: [.integer(2)]
    )
  }
}
