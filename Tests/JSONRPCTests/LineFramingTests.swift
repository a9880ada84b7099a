import JSON
import JSONRPC
import Testing

@Suite struct `Line framing` {
  @Test func `each line is a message`() {
    check("\(request(1))\n", ["#1 a null"], .line)
    check("\(request(1))\n\(request(2))\n", ["#1 a null", "#2 a null"], .line)
    check("\(request(1))\r\n\(request(2))\r\n", ["#1 a null", "#2 a null"], .line)
    check(#"{"jsonrpc":"2.0","method":"a","params":{"b":[1]}}"# + "\n", [#"a {"b":[1]}"#], .line)
    check("{\"jsonrpc\":\"2.0\",\"method\":\"牛🥛\"}\n", ["牛🥛 null"], .line)
  }

  /// At end of input everything that was read is answered.
  // Evidence: P-013c
  @Test func `the last line needs no end`() {
    check(request(1), ["#1 a null"], .line)
    check("\(request(1))\n\(request(2))", ["#1 a null", "#2 a null"], .line)
    check("\(request(1))\n{\"jsonrpc\":", ["#1 a null", "-32700"], .line)
    check("", [], .line)
    check("\n \r\n", [], .line)
  }

  // Evidence: P-010c
  @Test func `blank lines and white space are ignored`() {
    check("\n\r\n  \(request(1))\n\n \t\r\n\(request(2))\n\n", ["#1 a null", "#2 a null"], .line)
    check("        \n\(request(1))  \n", ["#1 a null"], .line)
  }

  // Evidence: P-010c
  @Test func `a byte order mark may precede the first message`() {
    check("\u{FEFF}\(request(1))\n", ["#1 a null"], .line)
    check("\u{FEFF} \n\(request(1))\n", ["#1 a null"], .line)
  }

  // Evidence: P-014a
  @Test func `a malformed line is -32700 and the next is read`() {
    for bad in [
      "{", "[", "{}}", "{\"a\":1,}", "[1", "{'a':1}", "{\"a\":01}", "{\"a\":\"\\ud800\"}",
    ] {
      check("\(bad)\n\(request(1))\n", ["-32700", "#1 a null"], .line)
    }
    for bad in ["x", "null x", "Content-Length: 5", "}", "GET / HTTP/1.1", "\u{FEFF}{}"] {
      check("\(request(1))\n\(bad)\n\(request(2))\n", ["#1 a null", "-32700", "#2 a null"], .line)
    }
    let invalid: [[UInt8]] = [[0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0x00]]
    for bytes in invalid {
      check(
        Array("{\"a\":\"".utf8) + bytes + Array("\"}\n\(request(1))\n".utf8),
        ["-32700", "#1 a null"],
        .line
      )
    }
  }

  // Evidence: P-014b
  @Test func `a text that is no request is -32600 and the next is read`() {
    check("{}\n\(request(1))\n", ["-32600", "#1 a null"], .line)
    for bad in ["null", "1", "\"a\"", "true"] {
      check("\(request(1))\n\(bad)\n\(request(2))\n", ["#1 a null", "-32600", "#2 a null"], .line)
    }
  }

  @Test func `nesting is taken exactly up to its limit`() {
    func nested(_ levels: Int) -> String {
      let open = String(repeating: "[", count: levels - 1)
      let close = String(repeating: "]", count: levels - 1)
      return "{\"jsonrpc\":\"2.0\",\"method\":\"a\",\"params\":\(open)\(close)}\n"
    }
    check(nested(8), ["a [[[[[[[]]]]]]]"], .line)
    check(nested(9) + request(1), ["-32700", "#1 a null"], .line)
    check(String(repeating: "[", count: 150) + "\n" + request(1), ["-32700", "#1 a null"], .line)
  }

  @Test func `a line is taken exactly up to its limit, and 1302 beyond`() {
    func line(_ length: Int) -> String {
      request(1) + String(repeating: " ", count: length - request(1).utf8.count)
    }
    check("\(line(200))\n\(request(2))\n", ["#1 a null", "#2 a null"], .line)
    check("\(line(201))\n\(request(2))\n", ["1302", "#2 a null"], .line)
    check("\(line(1000))\n\(request(2))\n", ["1302", "#2 a null"], .line)
    check("\(request(1))\n\(line(300))\n\(line(300))\n", ["#1 a null", "1302", "1302"], .line)
    check(line(201), ["1302"], .line)
    check(line(200), ["#1 a null"], .line)
  }

  // Evidence: P-019a
  @Test func `error 1302 names the limit and its value`() {
    var connection = MessageDecoder(limits: Conversation.limits, closesOnUnknownFraming: false)
    let bytes = Array(("{" + String(repeating: " ", count: 300)).utf8)
    var errors: [RPCError] = []
    for case .reject(let error) in connection.receive(bytes.span) { errors.append(error) }
    #expect(errors.map(\.code) == [1302])
    #expect(errors.first?.data?["code"] == "limitExceeded")
    #expect(errors.first?.data?["max"] == 200)
  }
}

@Suite struct `Batches` {
  private let notification = #"{"jsonrpc":"2.0","method":"n"}"#

  @Test func `a line may hold a batch`() {
    check("[\(request(1))]\n", ["batch[#1 a null]"], .line)
    check(
      "[\(request(1)),\(notification),\(request(2))]\n",
      ["batch[#1 a null, n null, #2 a null]"],
      .line
    )
    check(" [ \(request(1)) ] \n\(request(2))\n", ["batch[#1 a null]", "#2 a null"], .line)
    check("\(request(1))\n[\(request(2))]\n", ["#1 a null", "batch[#2 a null]"], .line)
  }

  // Evidence: P-012c
  @Test func `an empty batch is one -32600`() {
    check("[]\n\(request(1))\n", ["-32600", "#1 a null"], .line)
    check(" [ ] \n", ["-32600"], .line)
  }

  /// The examples of the JSON-RPC specification, section 7.
  // Evidence: P-012c
  @Test func `each element that is no request has its own -32600`() {
    check("[1]\n", ["batch[-32600]"], .line)
    check("[1,2,3]\n", ["batch[-32600, -32600, -32600]"], .line)
    check(
      "[\(request(1)),{\"foo\":\"boo\"},\(notification)]\n",
      ["batch[#1 a null, -32600, n null]"],
      .line
    )
    check("[[\(request(1))],null,{}]\n", ["batch[-32600, -32600, -32600]"], .line)
  }

  @Test func `a batch that is no JSON is one -32700`() {
    check(
      "[\(request(1)),{\"jsonrpc\":\"2.0\",\"method\"\n\(request(2))\n",
      ["-32700", "#2 a null"],
      .line
    )
    check("[\(request(1)),]\n", ["-32700"], .line)
  }

  @Test func `a batch is taken exactly up to its limit, and 1302 beyond`() {
    check("[1,1,1]\n", ["batch[-32600, -32600, -32600]"], .line)
    check("[1,1,1,1]\n\(request(1))\n", ["1302", "#1 a null"], .line)
  }

  // Evidence: P-011d
  @Test func `a batch in header framing is one -32600 in any state`() {
    check(framed("[]"), ["-32600"], .header)
    check(framed("[\(request(1))]"), ["-32600"], .header)
    check(
      framed("[\(request(1)),\(request(2))]") + framed(request(3)),
      ["-32600", "#3 a null"],
      .header
    )
    check(framed(request(1)) + framed("[\(request(2))]"), ["#1 a null", "-32600"], .header)
  }
}

@Suite struct `The first bytes choose the framing` {
  // Evidence: P-010a
  @Test func `a brace or bracket selects line framing, a header name selects header framing`() {
    check("{}", ["-32600"], .line)
    check("[]", ["-32600"], .line)
    check(framed("{}"), ["-32600"], .header)
    check(" \r\n \(framed(request(1)))", ["#1 a null"], .header)
    check("\u{FEFF}\(framed(request(1)))", ["#1 a null"], .header)
    check("content-length: 2\r\n\r\n{}", ["-32600"], .header)
    check("X-Trace: 1\r\nContent-Length: 2\r\n\r\n{}", ["-32600"], .header)
  }

  @Test func `the framing stays as selected`() {
    check(
      "\(request(1))\n\(framed(request(2)))\n\(request(3))\n",
      ["#1 a null", "-32700", "#2 a null", "#3 a null"],
      .line
    )
    check("\(framed(request(1)))\(request(2))\n", ["#1 a null", "-32700", "close"], .header)
  }

  @Test func `other first bytes are -32700, and the next line is read`() {
    for garbage in [
      "x", "hello there", "GET / HTTP/1.1", "<xml>", "\"a\"", "1", "\u{0}", "é", "-", ":",
      "\u{1}{}", "null",
      "Content-Length 5", "Content Length: 5", "// {}",
    ] {
      check("\(garbage)\n\(request(1))\n", ["-32700", "#1 a null"], .line)
      check(" \n\(garbage)\r\n\(request(1))\n", ["-32700", "#1 a null"], .line)
      check(garbage, ["-32700"], .line)
    }
    check([0xEF, 0xBB, 0x41, 0x0A] + Array(request(1).utf8), ["-32700", "#1 a null"], .line)
    check([0xFF, 0xFE, 0x7B, 0x00, 0x0A] + Array(request(1).utf8), ["-32700", "#1 a null"], .line)
  }

  @Test func `other first bytes end a socket connection`() {
    for garbage in ["x", "GET / HTTP/1.1\r\nHost: a", "\u{0}"] {
      check("\(garbage)\n\(request(1))\n\(request(2))", ["-32700", "close"], .line, isSocket: true)
    }
  }

  /// The same bytes say the same, wherever the stream is cut: white space, marks and marks again.
  @Test func `byte order marks after other bytes do not select a framing`() {
    for text in [
      "   \u{FEFF}\(request(1))\n", "\n\n\n\u{FEFF}\(request(1))\n",
      "\u{FEFF}\u{FEFF}\(request(1))\n",
      " \u{FEFF}\(request(1))\n", "\u{FEFF}   \u{FEFF}\(framed(request(1)))",
    ] {
      let bytes = Array(text.utf8)
      let whole = Conversation(bytes)
      for cut in 0...bytes.count {
        #expect(
          Conversation(bytes, cutAt: [cut]) == whole,
          "\(text.debugDescription) cut at \(cut)"
        )
      }
    }
  }

  /// In a process of its own, because the mistake it guards against ends the process.
  @Test func `a name of any length is no trap`() async {
    await #expect(processExitsWith: .success) {
      for length in 60...70 {
        let letters = [UInt8](repeating: UInt8(ascii: "a"), count: length)
        for cut in 0...length {
          let said = Conversation(letters, cutAt: [cut])
          guard said.lines == ["-32700"] else {
            fatalError("\(length) letters cut at \(cut) say \(said)")
          }
        }
      }
    }
  }
}
