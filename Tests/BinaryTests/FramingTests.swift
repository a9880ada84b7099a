import Testing

@Suite struct `Framing and lifecycle` {
  /// Initialize and what follows it.
  private func begin(_ child: Child) throws -> Peer {
    let peer = Peer(child, hasHeaders: true)
    let result = try peer.call("initialize", ["processId": nil, "capabilities": [:]])
    #expect(result["serverInfo"]?["name"] == "cordial")
    #expect(result["capabilities"]?["cordial"]?["limits"]?["messageBytesMax"] != nil)
    #expect(result["store"]?["model"]?["name"] == "Todo")
    try peer.notify("initialized")
    return peer
  }

  // Evidence: P-011c
  @Test func `after shutdown and exit the code is 0`() throws {
    let fixture = try Fixture()
    let child = try Child(["serve", try fixture.store()])
    let peer = try begin(child)
    #expect(try peer.call("shutdown") == .null)
    #expect(try peer.errorCode("status") == -32600)
    try peer.notify("exit")
    #expect(try child.exitCode() == 0)
  }

  @Test func `exit without shutdown is 1`() throws {
    let fixture = try Fixture()
    let child = try Child(["serve", try fixture.store()])
    try begin(child).notify("exit")
    #expect(try child.exitCode() == 1)
  }

  // Evidence: P-013b
  @Test func `the end of input without shutdown is 1, with it 0`() throws {
    let fixture = try Fixture()
    let store = try fixture.store()
    for (shutsDown, code) in [(false, 1), (true, 0)] as [(Bool, Int32)] {
      let child = try Child(["serve", store])
      let peer = try begin(child)
      if shutsDown { try peer.call("shutdown") }
      child.stream.endInput()
      #expect(try child.exitCode() == code)
    }
  }

  // Evidence: P-011a
  @Test func `a request before initialize is -32002, a notification nothing`() throws {
    let fixture = try Fixture()
    let child = try Child(["serve", try fixture.store()])
    let peer = Peer(child, hasHeaders: true)
    try peer.notify("nonsense")
    #expect(try peer.errorCode("fetch", ["entity": "Task"]) == -32002)
    #expect(try peer.errorCode("shutdown") == -32002)
    #expect(try begin(child).call("fetch", ["entity": "Task"])["objects"] == [])
  }

  // Evidence: P-011b
  @Test func `a second initialize is -32600`() throws {
    let fixture = try Fixture()
    let peer = try begin(try Child(["serve", try fixture.store()]))
    #expect(try peer.errorCode("initialize", ["processId": nil, "capabilities": [:]]) == -32600)
  }

  // Evidence: P-012b
  @Test(arguments: [false, true])
  func `an initialize that failed may be sent again`(hasHeaders: Bool) throws {
    let fixture = try Fixture()
    let child = try Child(["serve", try fixture.store()])
    let peer = Peer(child, hasHeaders: hasHeaders)
    for params in [["cordial": ["coalesce": "x"]], ["nonsense": 1]] as [JSON] {
      #expect(try peer.errorCode("initialize", params) == -32602)
    }
    if hasHeaders { #expect(try peer.errorCode("status") == -32002) }
    try peer.call("initialize", ["capabilities": [:]])
    try peer.call("status")
    #expect(try peer.errorCode("initialize", ["capabilities": [:]]) == -32600)
  }

  // Evidence: P-007a
  @Test(arguments: [15, 2] as [Int32])
  func `a signal ends it with 0, with headers too`(number: Int32) throws {
    let fixture = try Fixture()
    let child = try Child(["serve", try fixture.store()])
    try begin(child).call("status")
    child.signal(number)
    #expect(try child.exitCode() == 0)
  }

  // Evidence: P-011d
  @Test func `a batch in header framing is one -32600`() throws {
    let fixture = try Fixture()
    let peer = try begin(try Child(["serve", try fixture.store()]))
    try peer.send(body: #"[{"jsonrpc":"2.0","id":7,"method":"status"}]"#)
    let answer = try peer.message()
    #expect(answer?["id"] == .null)
    #expect(answer?["error"]?["code"] == -32600)
    try peer.call("status")
  }

  @Test func `a whole conversation sent at once is answered in full`() throws {
    let fixture = try Fixture()
    let child = try Child(["serve", try fixture.store()])
    for body in [
      #"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{}}}"#,
      #"{"jsonrpc":"2.0","method":"initialized","params":{}}"#,
      #"{"jsonrpc":"2.0","id":2,"method":"fetch","params":{"entity":"Task"}}"#,
      #"{"jsonrpc":"2.0","id":3,"method":"shutdown"}"#,
      #"{"jsonrpc":"2.0","method":"exit"}"#,
    ] {
      try child.stream.send(Peer.frame(body, hasHeaders: true))
    }
    let peer = Peer(child, hasHeaders: true)
    var ids: [JSON?] = []
    while let message = try peer.message() { ids.append(message["id"]) }
    #expect(ids == [1, 2, 3], "everything read is answered, initialize first")
    #expect(try child.exitCode() == 0)
  }

  @Test(arguments: [
    "content-length: 44\r\n\r\n", "Content-Length:44\r\nX-Other: 1\r\n\r\n",
    "Content-Type: application/vscode-jsonrpc; charset=utf8\r\nContent-Length: 44\r\n\r\n",
  ])
  func `a header is read as liberally as HTTP's`(header: String) throws {
    let fixture = try Fixture()
    let peer = try begin(try Child(["serve", try fixture.store()]))
    try peer.stream.send(header + #"{"jsonrpc":"2.0","id":77,"method":"status"} "#)
    let answer = try peer.message()
    #expect(answer?["id"] == 77)
    #expect(answer?["result"] != nil)
  }

  @Test(arguments: [
    "Content-Length: -1\r\n\r\n", "Content-Length: x\r\n\r\n", "Content-Type: x\r\n\r\n{}",
    "Content-Length: 99999999999999999999\r\n\r\n", "Content-Length: 70000000\r\n\r\n",
    "Content-Length: 5\r\nContent-Length: 6\r\n\r\n",
    "Content-Length: 2\r\nContent-Type: a; charset=utf-16\r\n\r\n{}",
    "X-Long: " + String(repeating: "a", count: 9000),
  ])
  func `a header that cannot be read is one -32700, then the end`(header: String) throws {
    let fixture = try Fixture()
    let child = try Child(["serve", try fixture.store()])
    do { try child.stream.send(header) } catch is Failure {}
    let peer = Peer(child, hasHeaders: true)
    let answer = try peer.message()
    #expect(answer?["error"]?["code"] == -32700)
    #expect(answer?["id"] == .null)
    #expect(try peer.message() == nil)
    #expect(try child.exitCode() == 1)
  }

  /// Requests whose answers are the same in both framings, tokens and times apart.
  private static let script = [
    #"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{}}}"#,
    #"{"jsonrpc":"2.0","id":"two","method":"save","params":{"insert":[{"id":"Group/t1"}]}}"#,
    #"{"jsonrpc":"2.0","id":3,"method":"fetch","params":{"entity":"Group"}}"#,
    #"{"jsonrpc":"2.0","id":4,"method":"nope"}"#,
    #"{"jsonrpc":"2.0","id":5,"method":"fetch","params":{"entity":"Nope"}}"#,
    #"{"jsonrpc":"2.0","method":"nope"}"#,
    "{zz",
    #"{"jsonrpc":"2.0","id":"é😀","method":"unobserve","params":{"subscription":"s9"}}"#,
    #"{"jsonrpc":"2.0","id":9007199254740993,"method":"shutdown"}"#,
  ]

  /// What comes of the script, one message after the other.
  private func play(hasHeaders: Bool, byByte: Bool) throws -> [String] {
    let fixture = try Fixture()
    let child = try Child(["serve", try fixture.store()])
    let peer = Peer(child, hasHeaders: hasHeaders)
    var answers: [String] = []
    for body in Self.script {
      let bytes = Array(Peer.frame(body, hasHeaders: hasHeaders).utf8)
      if byByte {
        for byte in bytes { try child.stream.send([byte]) }
      } else {
        try child.stream.send(bytes)
      }
      guard !body.contains(#""2.0","method""#), let answer = try peer.message() else { continue }
      answers.append(summary(answer))
    }
    child.stream.endInput()
    #expect(try peer.message() == nil)
    #expect(try child.exitCode() == 0)
    return answers
  }

  private func summary(_ message: JSON) -> String {
    let id = message["id"]?.text ?? "-"
    if let code = message["error"]?["code"] { return "\(id) error \(code.text)" }
    let result = message["result"]
    return "\(id) \((result?["objects"] ?? result?["ids"] ?? result?["serverInfo"] ?? nil).text)"
  }

  // Evidence: P-010b
  @Test func `both framings answer one script alike, byte by byte too`() throws {
    let expected = try play(hasHeaders: false, byByte: false)
    #expect(expected.map { $0.prefix(12) }.count == 8)
    #expect(try play(hasHeaders: true, byByte: false) == expected)
    #expect(try play(hasHeaders: false, byByte: true) == expected)
    #expect(try play(hasHeaders: true, byByte: true) == expected)
  }

  // Evidence: P-012c, P-016b
  @Test func `a batch is answered in one array, and one of notifications not at all`() throws {
    let fixture = try Fixture()
    let outcome = try fixture.run(
      ["serve", try fixture.store()],
      input: """
        [{"jsonrpc":"2.0","id":1,"method":"status"},5,{"jsonrpc":"2.0","method":"x"},\
        {"jsonrpc":"2.0","id":2,"method":"nope"},[]]
        [{"jsonrpc":"2.0","method":"x"}]
        []
        [{"jsonrpc":"2.0","id":3,"method":"status"}]

        """
    )
    let lines = try outcome.lines
    #expect(lines.count == 3)
    let first = lines.at(0).array ?? []
    #expect(first.count == 4)
    #expect(first.count { $0["error"]?["code"] == -32600 && $0["id"] == .null } == 2)
    #expect(first.contains { $0["id"] == 1 && $0["result"] != nil })
    #expect(first.contains { $0["id"] == 2 && $0["error"]?["code"] == -32601 })
    #expect(lines.at(1)["error"]?["code"] == -32600)
    #expect(lines.at(2).array?.count == 1)
  }

  @Test func `a batch that ends with exit is answered`() throws {
    let fixture = try Fixture()
    let store = try fixture.store()
    let outcome = try fixture.run(
      ["serve", store],
      input: """
        [{"jsonrpc":"2.0","id":1,"method":"save","params":{"insert":[{"entity":"Task"}]}},\
        {"jsonrpc":"2.0","method":"exit"}]

        """
    )
    let lines = try outcome.lines
    #expect(lines.count == 1)
    #expect(lines.at(0)[0]?["id"] == 1)
    #expect(lines.at(0)[0]?["result"]?["objects"]?[0]?["id"] == "Task/p1")
    #expect(outcome.code == 1)
  }

  // Evidence: P-012a
  @Test func `errors after an unanswered initialize keep the order`() throws {
    let fixture = try Fixture()
    let script =
      line(1, "save", ["insert": .array((0..<500).map { task("t\($0)") })])
      + line(2, "initialize", ["capabilities": [:]]) + "{zz}\n" + line(4, "nope")
      + line(5, "initialize", ["capabilities": [:]]) + line(6, "status")
    let outcome = try fixture.run(["serve", try fixture.store()], input: script)
    let lines = try outcome.lines
    #expect(lines.map { $0["id"] } == [1, 2, .null, 4, 5, 6])
    #expect(
      lines.map { $0["error"]?["code"]?.integer } == [nil, nil, -32700, -32601, -32600, nil]
    )
  }

  // Evidence: P-012a
  @Test func `answers in line framing come in the order of the requests`() throws {
    let fixture = try Fixture()
    var script = line(1, "save", ["insert": .array((0..<500).map { task("t\($0)") })])
    for number in 2...200 {
      let methods = ["status", "fetch", "search", "nope", "index/status", "save"]
      let params: [JSON] = [[:], ["entity": "Task"], ["query": "t1"], [:], [:], ["insert": []]]
      script += line(number, methods[number % 6], params[number % 6])
    }
    let outcome = try fixture.run(["serve", try fixture.store()], input: script)
    #expect(try outcome.lines.map { $0["id"]?.integer } == Array(1...200))
  }
}

@Suite struct `The connection continues after any input` {
  /// A line, the code that answers it (nil: silence), and whether its ID comes back.
  static let rows: [(text: String, code: Int?)] = [
    ("{", -32700), ("{zz}", -32700), (#"{"jsonrpc":"2.0",}"#, -32700), ("[1,", -32700),
    (#"{"jsonrpc":"2.0","id":1,"method":"status"}{}"#, -32700),
    (#"{"jsonrpc":"2.0","id":1,"method":"status","params":{"a":NaN}}"#, -32700),
    (#"{"jsonrpc":"2.0","id":1,"method":"status","params":{"a":01}}"#, -32700),
    (#"{"jsonrpc":"2.0","id":1,"method":"\ud800"}"#, -32700),
    ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\tb\"}", -32700),
    (String(repeating: "[", count: 100_000), -32700),
    (String(repeating: "[", count: 200) + String(repeating: "]", count: 200), -32700),
    ("{}", -32600), ("[]", -32600), (#"{"id":1,"method":"status"}"#, -32600),
    (#"{"jsonrpc":"1.0","id":1,"method":"status"}"#, -32600),
    (#"{"jsonrpc":"2.0","id":{},"method":"status"}"#, -32600),
    (#"{"jsonrpc":"2.0","id":1.5,"method":"status"}"#, -32600),
    (#"{"jsonrpc":"2.0","id":1,"method":5}"#, -32600),
    (#"{"jsonrpc":"2.0","id":1}"#, -32600),
    (#"{"jsonrpc":"2.0","id":1,"method":"status","params":"x"}"#, -32600),
    (#"{"jsonrpc":"2.0","id":1,"method":"nope"}"#, -32601),
    (#"{"jsonrpc":"2.0","method":"nope"}"#, nil), ("   ", nil), ("", nil), ("\r", nil),
    (request("fetch", "{}"), -32602), (request("fetch", "[]"), -32602),
    (request("fetch", #"{"entity":5}"#), -32602),
    (request("fetch", #"{"entity":"Task","limit":-1}"#), -32602),
    (request("fetch", #"{"entity":"Task","ids":["Task/p1"]}"#), -32602),
    (request("fetch", #"{"entity":"Task","nonsense":1}"#), -32602),
    (request("fetch", #"{"entity":"Nope"}"#), 1002),
    (request("fetch", #"{"entity":"sqlite_master"}"#), 1002),
    (request("fetch", #"{"entity":"Task","sort":["nope"]}"#), 1003),
    (request("fetch", #"{"entity":"Task","predicate":"nope == 1"}"#), 1003),
    (request("fetch", #"{"entity":"Task","predicate":"title =="}"#), 1004),
    (request("fetch", #"{"entity":"Task","predicate":""}"#), 1004),
    (request("fetch", #"{"entity":"Task","predicate":"title == $x"}"#), 1004),
    (request("fetch", #"{"ids":["Task/p01"]}"#), 1104), (request("fetch", #"{"ids":[""]}"#), 1104),
    (request("fetch", #"{"ids":["Task/t1"]}"#), 1104),
    (request("fetch", #"{"ids":["cordial://elsewhere/Task/p1"]}"#), 1104),
    (request("save", #"{"insert":5}"#), -32602),
    (request("save", #"{"insert":[{"entity":"Nope"}]}"#), 1002),
    (request("save", #"{"insert":[{"entity":"Task","values":{"nope":1}}]}"#), 1003),
    (request("save", #"{"insert":[{"entity":"Task","values":{"title":5}}]}"#), 1102),
    (request("save", #"{"insert":[{"entity":"Task","values":{"priority":40000}}]}"#), 1102),
    (request("save", #"{"insert":[{"entity":"Task","values":{"completed":null}}]}"#), 1102),
    (request("save", #"{"insert":[{"entity":"Group","values":{"tasks":{"@add":5}}}]}"#), 1102),
    (request("save", #"{"insert":[{"entity":"Task","values":{"group":"Group/p9"}}]}"#), 1101),
    (request("save", #"{"update":[{"id":"Task/p9","values":{}}]}"#), 1101),
    (request("save", #"{"delete":["Task/p9"]}"#), 1101),
    (request("delete", "{}"), -32602), (request("delete", #"{"entity":"Task"}"#), -32602),
    (request("observe", "{}"), -32602),
    (request("observe", #"{"fetch":{"entity":"Task","after":"x"}}"#), -32602),
    (request("unobserve", #"{"subscription":"s9"}"#), 1301),
    (request("history", #"{"since":"aaaa-1-bbbb"}"#), 1201),
    (request("search", "{}"), -32602),
    (request("search", #"{"query":"\#(String(repeating: "a ", count: 3000))"}"#), 1302),
  ]

  private static func request(_ method: String, _ params: String) -> String {
    #"{"jsonrpc":"2.0","id":1,"method":"\#(method)","params":\#(params)}"#
  }

  @Test func `every malformed line has its error and the next one its answer`() throws {
    let fixture = try Fixture()
    let child = try Child(["serve", try fixture.store()])
    // Chosen by the first bytes, so that a malformed first line can't choose.
    try Peer(child).call("status")
    for (text, code) in Self.rows {
      let shown = text.prefix(90)
      try child.stream.send(text + "\n" + line(99, "fetch", ["entity": "Task"]))
      if let code {
        let answer = try JSON(try child.stream.line() ?? "null")
        #expect(answer["error"]?["code"]?.integer == code, "\(shown) \(answer.text.prefix(300))")
        #expect(
          answer["id"]
            == (text.contains(#"2.0","id":1,"#) && code != -32700
              && code != -32600 ? 1 : .null),
          "\(shown)"
        )
        if code > 0 { #expect(answer["error"]?["data"]?["code"]?.string != nil, "\(shown)") }
      }
      let after = try JSON(try child.stream.line() ?? "null")
      #expect(after["id"] == 99, "\(shown)")
      #expect(after["result"]?["objects"] == [], "\(shown): nothing half-written remains")
    }
  }

  // Evidence: P-021a
  @Test(arguments: [
    "status", "model", "rpc.discover", "index/status", "index/verify", "observe/flush",
    "history", "search", "unobserve",
  ])
  func `an unknown param is -32602, even for a method without params`(method: String) throws {
    let fixture = try Fixture()
    let peer = Peer(try Child(["serve", try fixture.store()]))
    let error = try peer.answer(try peer.request(method, ["nonsense": 1]))["error"]
    #expect(error?["code"] == -32602)
    #expect(error?["message"]?.string?.contains("nonsense") == true, "\(error?.text ?? "")")
  }

  @Test func `bytes that are not UTF-8 are -32700`() throws {
    let fixture = try Fixture()
    let child = try Child(["serve", try fixture.store()])
    for bytes in [[0xFF, 0xFE], [0xC0, 0xAF], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80]]
      as [[UInt8]]
    {
      let text = Array(#"{"jsonrpc":"2.0","id":1,"method":""#.utf8) + bytes + Array("\"}\n".utf8)
      try child.stream.send(text)
      #expect(try JSON(try child.stream.line() ?? "null")["error"]?["code"] == -32700)
    }
    try Peer(child).call("status")
  }

  // Evidence: P-015c
  @Test func `other first bytes are -32700, then on at the next line`() throws {
    let fixture = try Fixture()
    let outcome = try fixture.run(
      ["serve", try fixture.store()],
      input: "GET / HTTP/1.1\n" + line(1, "status")
    )
    let lines = try outcome.lines
    #expect(lines.map { $0["error"]?["code"]?.integer } == [-32700, nil])
    #expect(outcome.code == 0)
  }

  // Evidence: P-015b
  @Test func `a line of 65 MiB is 1302, then on`() throws {
    let fixture = try Fixture()
    let child = try Child(["serve", try fixture.store()])
    let chunk = [UInt8](repeating: UInt8(ascii: "x"), count: 1 << 20)
    try child.stream.send(#"{"jsonrpc":"2.0","id":1,"method":""#)
    for _ in 0..<65 { try child.stream.send(chunk) }
    try child.stream.send("\"}\n" + line(2, "status"))
    #expect(try JSON(try child.stream.line() ?? "null")["error"]?["code"] == 1302)
    #expect(try JSON(try child.stream.line() ?? "null")["id"] == 2)
  }

  @Test func `an error's message is one that a person can read, whatever was sent`() throws {
    let fixture = try Fixture()
    let child = try Child(["serve", try fixture.store()])
    let long = String(repeating: "x", count: 1 << 20)
    let peer = Peer(child)
    let rows: [(String, JSON)] = [
      ("fetch", ["entity": .string(long)]), ("fetch", ["ids": [.string(long)]]),
      (long, [:]), ("unobserve", ["subscription": .string(long)]),
      ("fetch", ["entity": "Task", "sort": [.string(long)]]),
    ]
    for (method, params) in rows {
      let answer = try peer.answer(try peer.request(method, params))
      #expect(answer.text.utf8.count < 10_000, "\(method.prefix(20)) echoes what was sent")
    }
  }
}
