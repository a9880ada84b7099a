import JSON
import Testing

/// RFC 8259, in the order of its sections; rows in the spirit of "Parsing JSON is a Minefield"
/// (https://seriot.ch/projects/parsing_json.html).
@Suite struct `Any JSON text is accepted, nothing else` {
  @Test func `literals are three, in lower case`() {
    check("true", true)
    check("false", false)
    check("null", nil)
    for text in ["True", "TRUE", "NULL", "NaN", "Infinity", "undefined", "None", "'a'", "a"] {
      refuses(text, .unexpectedByte, at: 0)
    }
    refuses("tRue", .unexpectedByte, at: 1)
    refuses("nul1", .unexpectedByte, at: 3)
    refuses("nan", .unexpectedByte, at: 1)
    refuses("tru", .unexpectedEnd, at: 3)
    refuses("f", .unexpectedEnd, at: 1)
    refuses("truefalse", .trailingBytes, at: 4)
    refuses("nulll", .trailingBytes, at: 4)
    refuses("-Infinity", .invalidNumber, at: 1)
    refuses("-NaN", .invalidNumber, at: 1)
  }

  @Test func `a text holds exactly one value`() {
    refuses("", .unexpectedEnd, at: 0)
    refuses("  \n", .unexpectedEnd, at: 3)
    refuses("1 2", .trailingBytes, at: 2)
    refuses("{} {}", .trailingBytes, at: 3)
    refuses("[1]]", .trailingBytes, at: 3)
    refuses("{}}", .trailingBytes, at: 2)
    refuses("\"a\"\"b\"", .trailingBytes, at: 3)
    refuses("[],", .trailingBytes, at: 2)
    refuses("[]\0", .trailingBytes, at: 2)
    refuses("// a\n1", .unexpectedByte, at: 0)
    refuses("1/**/", .trailingBytes, at: 1)
    refuses("[1]#", .trailingBytes, at: 3)
  }

  @Test func `white space is four bytes and is allowed around tokens only`() {
    check(" \t\r\n1\n\r\t ", 1)
    check("[ \t\r\n1\n,\r2 ]", [1, 2])
    check(" { \"a\" \t:\n1 ,\r\"b\":[ ] } ", ["a": 1, "b": []])
    check("[ ]", [])
    check("{\n}", [:])
    refuses("\u{B}1", .unexpectedByte, at: 0)
    refuses("\u{C}1", .unexpectedByte, at: 0)
    refuses("[\u{A0}]", .unexpectedByte, at: 1)
    refuses("1\u{2028}", .trailingBytes, at: 1)
    refuses("\u{FEFF}1", .unexpectedByte, at: 0)
    refuses("[1,\u{85}2]", .unexpectedByte, at: 3)
    refuses("\u{0}", .unexpectedByte, at: 0)
    refuses("t rue", .unexpectedByte, at: 1)
    refuses("1 .5", .trailingBytes, at: 2)
    refuses("- 1", .invalidNumber, at: 1)
  }

  @Test func `arrays hold values between commas`() {
    check("[]", [])
    check("[1]", [1])
    check("[null,true,\"a\",[],{}]", [nil, true, "a", [], [:]])
    refuses("[", .unexpectedEnd, at: 1)
    refuses("[1", .unexpectedEnd, at: 2)
    refuses("[1,", .unexpectedEnd, at: 3)
    refuses("[1,]", .unexpectedByte, at: 3)
    refuses("[,1]", .unexpectedByte, at: 1)
    refuses("[,]", .unexpectedByte, at: 1)
    refuses("[1,,2]", .unexpectedByte, at: 3)
    refuses("[1 2]", .unexpectedByte, at: 3)
    refuses("[1:2]", .unexpectedByte, at: 2)
    refuses("[1}", .unexpectedByte, at: 2)
    refuses("]", .unexpectedByte, at: 0)
    refuses("[\"a\"", .unexpectedEnd, at: 4)
    refuses("[1;2]", .unexpectedByte, at: 2)
  }

  @Test func `objects hold names, colons and values`() {
    check("{}", [:])
    check("{\"a\":1}", ["a": 1])
    check("{\"\":0}", ["": 0])
    check("{\"a\":{\"b\":{}},\"c\":[{}]}", ["a": ["b": [:]], "c": [[:]]])
    check("{\"\\u0061\\n\":1}", ["a\n": 1])
    refuses("{", .unexpectedEnd, at: 1)
    refuses("{\"a\"", .unexpectedEnd, at: 4)
    refuses("{\"a\":", .unexpectedEnd, at: 5)
    refuses("{\"a\":1", .unexpectedEnd, at: 6)
    refuses("{\"a\":1,", .unexpectedEnd, at: 7)
    refuses("{\"a\":1,}", .unexpectedByte, at: 7)
    refuses("{,\"a\":1}", .unexpectedByte, at: 1)
    refuses("{\"a\":1,,\"b\":2}", .unexpectedByte, at: 7)
    refuses("{\"a\" 1}", .unexpectedByte, at: 5)
    refuses("{\"a\",1}", .unexpectedByte, at: 4)
    refuses("{\"a\"=1}", .unexpectedByte, at: 4)
    refuses("{\"a\"::1}", .unexpectedByte, at: 5)
    refuses("{\"a\":}", .unexpectedByte, at: 5)
    refuses("{\"a\":1 \"b\":2}", .unexpectedByte, at: 7)
    refuses("{a:1}", .unexpectedByte, at: 1)
    refuses("{'a':1}", .unexpectedByte, at: 1)
    refuses("{1:1}", .unexpectedByte, at: 1)
    refuses("{null:1}", .unexpectedByte, at: 1)
    refuses("{[]:1}", .unexpectedByte, at: 1)
    refuses("{\"a\":1]", .unexpectedByte, at: 6)
    refuses("}", .unexpectedByte, at: 0)
    refuses("{\"a\":1}#", .trailingBytes, at: 7)
  }

  @Test func `members keep their order and duplicates, and the last one wins`() throws {
    check("{\"b\":1,\"a\":2,\"b\":3}", .object([.init("b", 1), .init("a", 2), .init("b", 3)]))
    let value = try JSONParser.parse("{\"b\":1,\"a\":null,\"b\":3,\"\\u0062\":4}")
    #expect(value["b"] == 4)
    #expect(value["a"] == .null)
    #expect(value["c"] == nil)
    #expect(JSONValue.array([])["a"] == nil)
  }

  /// RFC 8259, section 8.3: names are compared code unit by code unit, not by canonical equivalence.
  @Test func `names that differ in code points are two names`() throws {
    let value = try JSONParser.parse("{\"\\u00e9\":1,\"e\\u0301\":2}")
    #expect(value["\u{E9}"] == 1)
    #expect(value["e\u{301}"] == 2)
  }

  /// For the same reason a change of a value from one form to the other is a change.
  @Test func `strings that differ in code points are two values`() {
    #expect(JSONValue.string("\u{E9}") != .string("e\u{301}"))
    #expect(JSONMember("\u{E9}", 1) != JSONMember("e\u{301}", 1))
    #expect(JSONValue.array(["\u{212B}"]) != ["\u{C5}"])
  }
}

@Suite struct `Depth is bounded` {
  private func nested(_ depth: Int, _ open: String, _ middle: String, _ close: String) -> String {
    String(repeating: open, count: depth) + middle + String(repeating: close, count: depth)
  }

  @Test func `the limit is accepted and one level more is refused`() {
    for limit in [1, 2, 7, 128, 512] {
      for (open, middle, close) in [("[", "", "]"), ("[", "1", "]"), ("{\"a\":", "1", "}")] {
        let taken = parsed(Array(nested(limit, open, middle, close).utf8), depthMax: limit)
        #expect(throws: Never.self) { try taken.get() }
        refuses(
          nested(limit + 1, open, middle, close),
          .tooDeep,
          at: limit * open.utf8.count,
          depthMax: limit
        )
      }
    }
  }

  @Test func `the default is 128`() {
    #expect(JSONParser.depthMaxDefault == 128)
    #expect(throws: Never.self) { try JSONParser.parse(nested(128, "[", "", "]")) }
    #expect(throws: JSONError(.tooDeep, at: 128)) {
      try JSONParser.parse(nested(129, "[", "", "]"))
    }
  }

  @Test func `depth 0 allows scalars only`() {
    #expect(parsed(Array("1".utf8), depthMax: 0) == .success(1))
    refuses("[]", .tooDeep, at: 0, depthMax: 0)
    refuses(" {}", .tooDeep, at: 1, depthMax: 0)
  }

  @Test func `a closed value frees its nesting level`() {
    #expect(
      parsed(Array("[[],[],{},{\"a\":[]}]".utf8), depthMax: 3)
        == .success([[], [], [:], ["a": []]])
    )
    #expect(parsed(Array("[[1],[2],[3]]".utf8), depthMax: 2) == .success([[1], [2], [3]]))
    refuses("[[1],[2],[[3]]]", .tooDeep, at: 10, depthMax: 2)
  }

  @Test func `a million open brackets are one error`() {
    refuses(String(repeating: "[", count: 1_000_000), .tooDeep, at: 128)
    refuses(String(repeating: "{\"a\":", count: 200_000), .tooDeep, at: 128 * 5)
  }
}
