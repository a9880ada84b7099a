import JSON
import JSONRPC
import Testing

@Suite struct `A message is a request, a notification or a response` {
  /// Expects a text to be this message, or nil for -32600.
  private func check(
    _ text: String,
    _ expected: String?,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let value = try JSONParser.parse(text)
    do throws(RPCError) {
      let said = Conversation.text(try Message(value))
      #expect(said == expected, "\(text)", sourceLocation: sourceLocation)
    } catch {
      #expect(expected == nil, "\(text)", sourceLocation: sourceLocation)
      #expect(error.code == -32600, sourceLocation: sourceLocation)
    }
  }

  @Test func `an id makes a request, null among them`() throws {
    try check(#"{"jsonrpc":"2.0","id":1,"method":"a"}"#, "#1 a null")
    try check(#"{"jsonrpc":"2.0","id":"1","method":"a"}"#, "#\"1\" a null")
    try check(#"{"jsonrpc":"2.0","id":"","method":"a"}"#, "#\"\" a null")
    try check(#"{"jsonrpc":"2.0","id":0,"method":""}"#, "#0  null")
    try check(#"{"jsonrpc":"2.0","id":-1,"method":"a/b"}"#, "#-1 a/b null")
    try check(#"{"jsonrpc":"2.0","id":null,"method":"a"}"#, "#null a null")
    try check(#"{"jsonrpc":"2.0","method":"a"}"#, "a null")
    for id in ["true", "[]", "{}", "[1]"] {
      try check(#"{"jsonrpc":"2.0","id":\#(id),"method":"a"}"#, nil)
    }
  }

  // Evidence: P-016a
  @Test func `an id has a limited length`() throws {
    let longest = String(repeating: "a", count: RequestID.bytesMax)
    try check(#"{"jsonrpc":"2.0","id":"\#(longest)","method":"a"}"#, "#\"\(longest)\" a null")
    try check(#"{"jsonrpc":"2.0","id":"\#(longest)a","method":"a"}"#, nil)
  }

  @Test func `of a long method only the beginning is kept`() throws {
    let longest = String(repeating: "a", count: Message.methodBytesMax)
    let beginning = String(repeating: "a", count: 100)
    try check(#"{"jsonrpc":"2.0","method":"\#(longest)"}"#, "\(longest) null")
    try check(#"{"jsonrpc":"2.0","id":1,"method":"\#(longest)a"}"#, "#1 \(beginning)… null")
  }

  @Test func `params are an object, an array or nothing`() throws {
    for params in ["{}", "[]", "null", "[1,2]", "{\"a\":{}}"] {
      try check(#"{"jsonrpc":"2.0","id":1,"method":"a","params":\#(params)}"#, "#1 a \(params)")
    }
    for params in ["1", "\"bar\"", "true"] {
      try check(#"{"jsonrpc":"2.0","id":1,"method":"a","params":\#(params)}"#, nil)
    }
  }

  @Test func `its bytes are the same in pieces`() {
    var writer = JSONWriter(reserving: 8, pieceBytes: 4)
    for number in 0..<50 {
      writer.integer(Int64(number))
      writer.splitIfLong()
    }
    let text = (0..<50).map { "\($0)" }.joined()
    var message = MessageBytes(Array("[".utf8))
    #expect(!message.isEmpty && MessageBytes([]).isEmpty)
    message.append(MessageBytes(writer))
    message.append(Array("]".utf8))
    #expect(String(decoding: message.pieces.joined(), as: UTF8.self) == "[\(text)]")
    #expect(message.count == text.utf8.count + 2)
    #expect(message.pieces.count > 3)
  }

  @Test func `a method and the version are required`() throws {
    try check(#"{"jsonrpc":"2.0","id":1}"#, nil)
    try check(#"{"jsonrpc":"2.0"}"#, nil)
    try check(#"{"jsonrpc":"2.0","method":1,"params":"bar"}"#, nil)
    try check(#"{"jsonrpc":"2.0","id":1,"method":null}"#, nil)
    try check(#"{"id":1,"method":"a"}"#, nil)
    try check(#"{"jsonrpc":"1.0","id":1,"method":"a"}"#, nil)
    try check(#"{"jsonrpc":2.0,"id":1,"method":"a"}"#, nil)
    try check(#"{"JSONRPC":"2.0","id":1,"method":"a"}"#, nil)
    for text in ["{}", "[]", "null", "1", "\"a\"", "true"] { try check(text, nil) }
  }

  @Test func `a result or error without a method is a response without a request`() throws {
    try check(#"{"jsonrpc":"2.0","id":1,"result":null}"#, "response")
    try check(#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}"#, "response")
  }

  @Test func `the last of duplicate members counts and unknown members are ignored`() throws {
    try check(
      #"{"jsonrpc":"1.0","jsonrpc":"2.0","id":1,"id":2,"method":"a","method":"b"}"#,
      "#2 b null"
    )
    try check(#"{"jsonrpc":"2.0","id":1,"method":"a","_meta":{},"extra":1}"#, "#1 a null")
  }
}

@Suite struct `A response has the ID of its request verbatim` {
  // Evidence: P-016a
  @Test func `each kind of ID is returned unchanged`() throws {
    for id in [
      "1", "\"1\"", "0", "-1", "9223372036854775807", "-9223372036854775808", "null", "\"\"",
      "\"a\\\"b\\n\"",
      "\"é\"", "\"e\u{301}\"", "9007199254740993",
    ] {
      let value = try JSONParser.parse("{\"jsonrpc\":\"2.0\",\"id\":\(id),\"method\":\"a\"}")
      guard case .request(let read, _, _) = try Message(value) else {
        Issue.record("\(id) makes no request")
        continue
      }
      let result = String(decoding: MessageWriter.result(read, Array("{}".utf8)), as: UTF8.self)
      #expect(
        result.utf8.elementsEqual("{\"jsonrpc\":\"2.0\",\"id\":\(id),\"result\":{}}".utf8),
        "\(result)"
      )
    }
  }

  /// Answered exactly or refused, but never answered under another number.
  @Test(arguments: [
    "18446744073709551615", "9223372036854775808", "-9223372036854775809", "1.5", "0.1", "1e3",
  ])
  func `a number beyond 64 bits or with a fraction is kept or refused`(id: String) throws {
    let value = try JSONParser.parse("{\"jsonrpc\":\"2.0\",\"id\":\(id),\"method\":\"a\"}")
    do throws(RPCError) {
      guard case .request(let read, _, _) = try Message(value) else {
        Issue.record("\(id) does not make a request")
        return
      }
      #expect(read.json.text == id)
    } catch {
      #expect(error.code == -32600)
    }
  }

  @Test func `IDs that are written differently are different IDs`() {
    let ids: [RequestID] = [
      .integer(1), .string("1"), .string("1.5"), .null, .string("null"), .string(""),
      .string("\u{E9}"), .string("e\u{301}"), .integer(0), .integer(-1),
    ]
    #expect(Set(ids).count == ids.count)
  }
}

@Suite struct `What is sent` {
  private func check(
    _ bytes: [UInt8],
    _ expected: String,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    #expect(String(decoding: bytes, as: UTF8.self) == expected, sourceLocation: sourceLocation)
    #expect(!bytes.contains(0x0A), "a line is one line", sourceLocation: sourceLocation)
  }

  @Test func `a response has a result or an error, never both and never neither`() {
    check(
      MessageWriter.result(.integer(1), Array("null".utf8)),
      #"{"jsonrpc":"2.0","id":1,"result":null}"#
    )
    check(
      MessageWriter.error(.string("a"), RPCError(.methodNotFound, "There is no method b")),
      #"{"jsonrpc":"2.0","id":"a","error":{"code":-32601,"message":"There is no method b"}}"#
    )
    check(
      MessageWriter.error(
        .null,
        RPCError(code: 1302, message: "a\nb", data: ["code": "limitExceeded"])
      ),
      #"{"jsonrpc":"2.0","id":null,"error":{"code":1302,"message":"a\nb","data":{"code":"limitExceeded"}}}"#
    )
  }

  @Test func `a notification has no ID, and a request has one`() {
    check(
      MessageWriter.notification("changes", Array(#"{"from":"1"}"#.utf8)),
      #"{"jsonrpc":"2.0","method":"changes","params":{"from":"1"}}"#
    )
    check(
      MessageWriter.request(.integer(7), "fetch", ["entity": "Task"]),
      #"{"jsonrpc":"2.0","id":7,"method":"fetch","params":{"entity":"Task"}}"#
    )
  }

  @Test func `the codes are those of JSON-RPC and LSP`() {
    let codes: [(RPCError.Code, Int)] = [
      (.parseError, -32700), (.invalidRequest, -32600), (.methodNotFound, -32601),
      (.invalidParams, -32602),
      (.internalError, -32603), (.serverNotInitialized, -32002), (.requestCancelled, -32800),
    ]
    for (code, number) in codes { #expect(RPCError(code, "x").code == number) }
  }
}
