import Testing

@Suite struct `Requests that are sent without waiting` {
  // Evidence: P-081e
  @Test func `saves are answered before their notifications`() throws {
    let fixture = try Fixture()
    let peer = try fixture.daemon(try fixture.store()).connect()
    let observed = try peer.call("observe", ["fetch": ["entity": "Task"]])
    let count = 300
    for number in 1...count {
      try peer.request("save", ["insert": [task("t\(number)")], "durability": "normal"])
    }
    var view = View(observed)
    var position = observed["token"]
    var answered: [JSON] = []
    while answered.count < count || position != answered.last {
      guard let message = try peer.message() else { throw Failure("the connection ended") }
      guard message["method"] == "changes" else {
        answered.append(message["result"]?["token"] ?? .null)
        continue
      }
      let params = message["params"]
      #expect(params?["from"] == position)
      position = params?["token"]
      let token = position ?? .null
      #expect(answered.contains(token), "news of a save that was not answered")
      try view.apply(params ?? .null)
    }
    #expect(view.objects.count == count)
    #expect(.array(view.objects) == (try peer.call("fetch", ["entity": "Task"])["objects"]))
  }

  /// What is answered at once starts the next, which must not be one call inside the other.
  @Test func `thousands of look-ups after one save are all answered`() throws {
    let fixture = try Fixture()
    let count = 4000
    var script = line(1, "save", ["insert": .array((0..<2000).map { task("t\($0)") })])
    for number in 2...count { script += line(number, "fetch", ["ids": ["Task/p1"]]) }
    let outcome = try fixture.run(["serve", try fixture.store()], input: script)
    let lines = try outcome.lines
    #expect(lines.map { $0["id"]?.integer } == Array(1...count))
    #expect(lines.last?["result"]?["objects"]?[0]?["values"]?["title"] == "t0")
    #expect(outcome.code == 0)
  }

  /// Refused at once too, which is no other way back.
  @Test func `thousands of invalid requests after one save are all answered`() throws {
    let fixture = try Fixture()
    var script = line(1, "save", ["insert": .array((0..<2000).map { task("t\($0)") })])
    for number in 2...4000 { script += line(number, "fetch", ["ids": ["nonsense"]]) }
    let outcome = try fixture.run(["serve", try fixture.store()], input: script)
    #expect(try outcome.lines.dropFirst().count { $0["error"]?["code"] == 1104 } == 3999)
    #expect(outcome.code == 0)
  }
}

@Suite struct `Long answers` {
  private static let text = String(repeating: "0123456789", count: 100_000)

  // Evidence: P-019a
  @Test func `a look-up whose result would be too long is refused`() throws {
    let fixture = try Fixture()
    let child = try Child(["serve", try fixture.store()])
    let peer = Peer(child)
    try peer.call("save", ["insert": [task(Self.text), task("short")]])
    let ids = [JSON](repeating: "Task/p1", count: 300)
    let refused = try peer.answer(try peer.request("fetch", ["ids": .array(ids)]))["error"]
    #expect(refused?["code"] == 1302)
    #expect(refused?["data"]?["limit"] == "answerBytes")
    #expect(refused?["data"]?["max"] == .integer(256 << 20))
    let after = try peer.call("fetch", ["ids": ["Task/p2"]])["objects"]?[0]?["values"]
    #expect(after?["title"] == "short")
  }

  @Test func `a peer that reads slowly gets them whole, in order`() throws {
    let fixture = try Fixture()
    let daemon = try fixture.daemon(try fixture.store())
    let other = try daemon.connect()
    let text = String(Self.text.prefix(100_000))
    try other.call("save", ["insert": .array((0..<60).map { task("\($0) \(text)") })])
    let peer = try daemon.connect()
    for _ in 0..<2 { try peer.request("fetch", ["entity": "Task"]) }
    try peer.request("status")
    var slow: [UInt8] = []
    for _ in 0..<80 {
      // As slow as another's conversation, which goes on meanwhile.
      try other.call("status")
      slow += try peer.stream.bytes(1 << 16)
    }
    let end = try #require(try peer.stream.line())
    let first = try JSON(String(decoding: slow, as: UTF8.self) + end)
    #expect(first["id"] == 1)
    let second = try peer.message()
    #expect(second?["id"] == 2)
    #expect(first["result"]?["objects"]?.array?.count == 60)
    #expect(first["result"] == second?["result"])
    #expect(try peer.message()?["id"] == 3)
  }
}
