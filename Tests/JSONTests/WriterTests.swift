import JSON
import Testing

@Suite struct `What is written` {
  private func writes(
    _ value: JSONValue,
    _ expected: String,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    #expect(
      Array(value.text.utf8) == Array(expected.utf8),
      "\(value.text)",
      sourceLocation: sourceLocation
    )
  }

  @Test func `values are written compactly`() {
    writes(nil, "null")
    writes(true, "true")
    writes(false, "false")
    writes([], "[]")
    writes([:], "{}")
    writes([1, [2, []], [:]], "[1,[2,[]],{}]")
    writes(["b": 1, "a": ["c": nil]], #"{"b":1,"a":{"c":null}}"#)
    writes(.object([.init("a", 1), .init("a", 2)]), #"{"a":1,"a":2}"#)
    writes(["": ""], #"{"":""}"#)
    writes(["a\"\n": 1], #"{"a\"\n":1}"#)
  }

  @Test func `integers are written digit by digit`() {
    for number in [0, 1, -1, 9, 10, -10, 99, 100, 12_345_678_901, .max, .min, .min + 1] as [Int64] {
      writes(.integer(number), String(number))
    }
  }

  @Test func `doubles are written shortest, and as doubles`() throws {
    writes(.number(0.1), "0.1")
    writes(.number(-1.5), "-1.5")
    writes(.number(-0.0), "-0.0")
    for number in [
      1, 100, 1e15, 1e16, 1e21, -3e300, .leastNonzeroMagnitude, 0.1 + 0.2, .pi,
      9_007_199_254_740_994,
    ] {
      #expect(try JSONParser.parse(JSONValue.number(number).text) == .number(number))
      #expect(JSONValue.number(number).text.utf8.count <= 24)
    }
  }

  @Test func `quote, backslash and controls are escaped, nothing else`() {
    writes("\"\\/", #""\"\\/""#)
    writes("\n\r\t", #""\n\r\t""#)
    writes("\u{0}\u{1}\u{1F}", #""\u0000\u0001\u001f""#)
    writes("\r\n", #""\r\n""#)
    writes("\u{7F}\u{80}\u{2028}é🥛\u{10FFFF}", "\"\u{7F}\u{80}\u{2028}é🥛\u{10FFFF}\"")
    writes("", "\"\"")
  }

  @Test func `every control character reads back at each offset of a word`() throws {
    for control in UInt8(0)..<0x20 {
      for position in 0..<17 {
        var bytes = Array("0123456789abcdefg".utf8)
        bytes[position] = control
        let text = String(decoding: bytes, as: UTF8.self)
        let written = JSONValue.string(text).text
        #expect(!written.utf8.contains { $0 < 0x20 })
        #expect(try JSONParser.parse(written).string.map { Array($0.utf8) } == bytes)
      }
    }
  }

  @Test func `a text over several lines reads back as the same value`() throws {
    let value: JSONValue = ["a": [1, 2, ["b": []]], "c": [:], "d\n": "e"]
    #expect(
      value.prettyText == """
        {
          "a": [
            1,
            2,
            {
              "b": []
            }
          ],
          "c": {},
          "d\\n": "e"
        }
        """
    )
    #expect(try JSONParser.parse(value.prettyText) == value)
  }

  @Test func `pieces make the same text as a tree`() {
    var writer = JSONWriter(reserving: 64)
    writer.raw("{")
    writer.name("id\"")
    writer.string("Task/p1")
    writer.raw(byte: UInt8(ascii: ","))
    writer.raw(string: "\"version\":")
    writer.integer(.min)
    writer.raw(Array(",\"x\":[".utf8))
    writer.bool(true)
    writer.raw(",")
    writer.null()
    writer.raw(",")
    writer.double(0.5)
    writer.raw("]}")
    let tree: JSONValue = ["id\"": "Task/p1", "version": .integer(.min), "x": [true, nil, 0.5]]
    #expect(String(decoding: writer.bytes, as: UTF8.self) == tree.text)
  }

  @Test(arguments: [1, 7, 64, 100_000])
  func `pieces join to what one array would have been`(pieceBytes: Int) {
    var whole = JSONWriter()
    var cut = JSONWriter(reserving: 16, pieceBytes: pieceBytes)
    for number in 0..<500 {
      let value: JSONValue = ["id": .integer(Int64(number)), "title": .string("é\(number)\n")]
      whole.value(value)
      whole.splitIfLong()
      cut.value(value)
      cut.splitIfLong()
      #expect(cut.count == whole.count)
    }
    #expect(Array(cut.pieces.joined()) == whole.bytes)
    #expect(whole.pieces == [whole.bytes], "one that has no limit is never cut")
    #expect((cut.pieces.count > 1) == (pieceBytes < whole.count))
  }

  @Test func `what JSON has no form for becomes null`() {
    for number in [Double.nan, .infinity, -.infinity, .signalingNaN] {
      var writer = JSONWriter()
      writer.double(number)
      #expect(String(decoding: writer.bytes, as: UTF8.self) == "null")
    }
  }

  @Test func `a string bridged in pieces is written whole`() {
    let pieces = String(repeating: "ab\"é", count: 50)
    writes(
      .string(String(pieces.dropFirst(3).dropLast(2))),
      "\"" + pieces.dropFirst(3).dropLast(2).replacing("\"", with: "\\\"") + "\""
    )
  }
}
