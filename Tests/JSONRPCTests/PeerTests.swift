import JSON
import JSONRPC
import TestSeeds
import Testing

/// A peer whose requests a test answers when it likes.
private struct Exchange {
  var peer: Peer
  /// The requests without a response, by the texts of their IDs.
  var waiting: [String: Peer.Request] = [:]
  /// What the peer was sent, in order.
  var sent = ""

  init(
    _ framing: Framing? = .line,
    dialects: [Dialect] = Dialect.all,
    account: ByteBudget.Account = ByteBudget(bytesMax: 1 << 20).open()
  ) {
    peer = Peer(
      framing: framing,
      dialects: dialects,
      limits: Conversation.limits,
      closesOnUnknownFraming: true,
      account: account,
      isPreceded: { $0 == "observe" }
    )
  }

  /// Receives a line, and returns what it asks for: `#1 fetch`, or `cancel 1`.
  mutating func receive(_ line: String) -> [String] {
    receive(bytes: Array(line.utf8) + [0x0A])
  }

  mutating func receive(bytes: [UInt8]) -> [String] {
    peer.receive(bytes.span)
    return takeAll()
  }

  mutating func takeAll() -> [String] {
    var events: [String] = []
    while let event = peer.next() {
      switch event {
      case .request(let request):
        waiting[request.id.json.text] = request
        events.append("#\(request.id.json.text) \(request.method)")
      case .cancellation(let id): events.append("cancel \(id.json.text)")
      }
    }
    flush()
    return events
  }

  /// Answers a request with its method as the result.
  mutating func answer(_ id: Int, atOnce: Bool = false) {
    guard let request = waiting.removeValue(forKey: "\(id)") else {
      Issue.record("No request \(id) waits")
      return
    }
    let result = MessageWriter.result(request.id, Array("\"\(request.method)\"".utf8))
    peer.respond(.success(MessageBytes(result)), to: request, atOnce: atOnce)
    flush()
  }

  mutating func fail(_ id: Int) {
    guard let request = waiting.removeValue(forKey: "\(id)") else {
      Issue.record("No request \(id) waits")
      return
    }
    peer.respond(.failure(RPCError(.invalidParams, "No")), to: request)
    flush()
  }

  private mutating func flush() {
    for piece in peer.takeOutput() { sent += String(decoding: piece, as: UTF8.self) }
  }

  /// Returns what was sent since the last call, a line for each message: IDs, codes and methods.
  mutating func takeSent() -> [String] {
    defer { sent = "" }
    return sent.split(separator: "\n").map { line in
      do {
        let value = try JSONParser.parse(String(line))
        guard let elements = value.array else { return Self.short(value) }
        return "[" + elements.map(Self.short).joined(separator: ", ") + "]"
      } catch {
        return "no JSON: \(line)"
      }
    }
  }

  private static func short(_ message: JSONValue) -> String {
    if let method = message["method"]?.string { return method }
    let id = message["id"]?.text ?? "none"
    return message["error"].map { "\(id): \($0["code"]?.text ?? "")" } ?? id
  }

  static func request(_ id: Int, _ method: String) -> String {
    #"{"jsonrpc":"2.0","id":\#(id),"method":"\#(method)"}"#
  }

  static func notification(_ method: String, _ params: String = "{}") -> String {
    #"{"jsonrpc":"2.0","method":"\#(method)","params":\#(params)}"#
  }
}

@Suite struct `A peer` {
  private typealias Line = Exchange

  @Test func `is sent responses in the order of its requests until it has initialized`() {
    var exchange = Exchange()
    #expect(exchange.receive(Line.request(1, "fetch")) == ["#1 fetch"])
    #expect(exchange.receive(Line.request(2, "fetch")) == ["#2 fetch"])
    exchange.answer(2)
    #expect(exchange.takeSent() == [])
    #expect(exchange.peer.heldBytes > 0)
    exchange.answer(1)
    #expect(exchange.takeSent() == ["1", "2"])
    #expect(exchange.peer.heldBytes == 0)

    #expect(exchange.receive(Line.request(3, "initialize")) == ["#3 initialize"])
    exchange.answer(3)
    _ = exchange.receive(Line.request(4, "fetch"))
    _ = exchange.receive(Line.request(5, "fetch"))
    exchange.answer(5)
    exchange.answer(4)
    #expect(exchange.takeSent() == ["3", "5", "4"])
    #expect(exchange.peer.unansweredCount == 0)
  }

  @Test func `is sent a response at once where that is asked for`() {
    var exchange = Exchange()
    _ = exchange.receive(Line.request(1, "fetch"))
    _ = exchange.receive(Line.request(2, "status"))
    exchange.answer(2, atOnce: true)
    #expect(exchange.takeSent() == ["2"])
    exchange.answer(1)
    #expect(exchange.takeSent() == ["1"])
  }

  @Test func `is refused before the handshake, and where the handshake fails`() {
    var exchange = Exchange(dialects: [.strict])
    #expect(exchange.receive(Line.request(1, "fetch")) == [])
    #expect(exchange.receive(Line.request(2, "ping")) == [])
    #expect(exchange.takeSent() == ["1: -32002", "2"])
    _ = exchange.receive(Line.request(3, "initialize"))
    exchange.fail(3)
    #expect(exchange.peer.needsHandshake)
    #expect(exchange.receive(Line.request(4, "fetch")) == [])
    #expect(exchange.takeSent() == ["3: -32602", "4: -32002"])
    _ = exchange.receive(Line.request(5, "initialize"))
    exchange.answer(5)
    #expect(!exchange.peer.needsHandshake)
    #expect(exchange.receive(Line.request(6, "fetch")) == ["#6 fetch"])
  }

  @Test(arguments: [Framing.line, .header])
  func `is refused a second handshake, which does not end the first one`(framing: Framing) {
    var exchange = Exchange(framing)
    func send(_ id: Int, _ method: String) -> [String] {
      exchange.receive(bytes: framing.frame(Array(Line.request(id, method).utf8)))
    }
    #expect(send(1, "initialize") == ["#1 initialize"])
    #expect(send(2, "initialize") == [])
    #expect(send(3, "fetch") == ["#3 fetch"])
    exchange.answer(1)
    #expect(!exchange.peer.needsHandshake)
    #expect(send(4, "initialize") == [])
    #expect(send(5, "fetch") == ["#5 fetch"])
    exchange.answer(3)
    exchange.answer(5)
    let refusals = exchange.sent.split(separator: "-32600").count - 1
    #expect(refusals == 2, "\(exchange.sent)")
  }

  @Test func `drops its unfinished message although it is not read any more`() {
    let budget = ByteBudget(bytesMax: 1 << 20)
    let peer = Peer(
      framing: .line,
      limits: MessageDecoder.Limits(messageBytesMax: 1 << 20, depthMax: 8, batchMax: 3),
      closesOnUnknownFraming: true,
      account: budget.open()
    )
    peer.receive([UInt8](repeating: UInt8(ascii: "x"), count: 200_000).span)
    #expect(budget.bytes >= 200_000)
    peer.stop()
    peer.dropUnfinished()
    #expect(budget.bytes == 0)
    if peer.next() != nil { Issue.record("The peer asks for something") }
    #expect(peer.takeOutput().isEmpty)
  }

  @Test func `cancels by the notification of its dialect`() {
    var exchange = Exchange()
    _ = exchange.receive(Line.request(1, "fetch"))
    #expect(exchange.receive(Line.notification("$/cancelRequest", #"{"id":1}"#)) == ["cancel 1"])
    #expect(exchange.receive(Line.notification("$/cancelRequest", #"{"id":{}}"#)) == [])
    #expect(exchange.receive(Line.notification("other")) == [])
    #expect(exchange.takeSent() == [])
  }

  @Test func `may cancel after shutdown`() {
    var exchange = Exchange()
    _ = exchange.receive(Line.request(1, "fetch"))
    #expect(exchange.receive(Line.request(2, "shutdown")) == ["#2 shutdown"])
    #expect(exchange.receive(Line.notification("$/cancelRequest", #"{"id":1}"#)) == ["cancel 1"])
    #expect(exchange.receive(Line.notification("other")) == [])
  }

  @Test func `is sent one message for each batch, where the elements are known`() {
    var exchange = Exchange()
    let elements = [Line.request(1, "a"), "7", Line.request(2, "b")]
    #expect(exchange.receive("[" + elements.joined(separator: ",") + "]") == ["#1 a", "#2 b"])
    exchange.answer(2)
    #expect(exchange.takeSent() == [])
    exchange.answer(1)
    #expect(exchange.takeSent() == ["[null: -32600, 2, 1]"])
    #expect(exchange.receive("[" + Line.notification("note") + "]") == [])
    #expect(exchange.takeSent() == [])
    #expect(exchange.receive("[]") == [])
    #expect(exchange.takeSent() == ["null: -32600"])
  }

  @Test func `is read until exit, and then only answered`() {
    var exchange = Exchange()
    #expect(exchange.receive(Line.request(1, "fetch")) == ["#1 fetch"])
    let rest = [
      Line.request(2, "shutdown"), Line.notification("exit"), Line.request(3, "fetch"),
    ]
    #expect(exchange.receive(rest.joined(separator: "\n")) == ["#2 shutdown"])
    #expect(!exchange.peer.reads)
    #expect(exchange.peer.takeEnd() == nil)
    exchange.answer(1)
    exchange.answer(2)
    #expect(exchange.takeSent() == ["1", "2"])
    exchange.peer.endIfDone()
    #expect(exchange.peer.takeEnd() == 0)
    #expect(exchange.peer.takeEnd() == nil)
  }

  @Test func `ends with 1 where its dialect needs a shutdown, and with 0 where not`() {
    for (framing, code) in [(Framing.line, 0), (.header, 1)] {
      var exchange = Exchange(framing)
      exchange.peer.endInput()
      #expect(exchange.takeAll() == [])
      exchange.peer.endIfDone()
      #expect(exchange.peer.takeEnd() == Int32(code), "\(framing)")
    }
  }

  @Test func `ends after bytes of no framing, with their error`() {
    var exchange = Exchange(nil)
    #expect(exchange.receive("\u{1}\u{2}") == [])
    #expect(exchange.takeSent() == ["null: -32700"])
    exchange.peer.endIfDone()
    #expect(exchange.peer.takeEnd() == 1)
  }

  @Test func `asks again for requests that are put back, before all others`() {
    var exchange = Exchange()
    _ = exchange.receive([1, 2].map { Line.request($0, "fetch") }.joined(separator: "\n"))
    let line = Line.request(3, "fetch") + "\n"
    exchange.peer.receive(Array(line.utf8).span)
    exchange.peer.putBack(["1", "2"].compactMap { exchange.waiting[$0] })
    #expect(exchange.takeAll() == ["#1 fetch", "#2 fetch", "#3 fetch"])
    for id in [3, 2, 1] { exchange.answer(id) }
    #expect(exchange.takeSent() == ["1", "2", "3"])
  }

  @Test func `is refused what was put back behind a handshake that has failed`() {
    var exchange = Exchange(.header)
    let methods = ["initialize", "fetch"]
    for (id, method) in zip([1, 2], methods) {
      _ = exchange.receive(bytes: Framing.header.frame(Array(Line.request(id, method).utf8)))
    }
    exchange.peer.putBack(["1", "2"].compactMap { exchange.waiting.removeValue(forKey: $0) })
    guard case .request(let handshake)? = exchange.peer.next() else {
      Issue.record("The handshake was not put back")
      return
    }
    exchange.peer.respond(.failure(RPCError(.invalidParams, "No")), to: handshake)
    #expect(exchange.takeAll() == [])
    #expect(exchange.sent.contains(#""id":2,"error":{"code":-32002"#), "\(exchange.sent)")
  }

  @Test func `keeps messages that are not taken, and counts them until they are answered`() {
    let budget = ByteBudget(bytesMax: 1 << 20)
    var exchange = Exchange(account: budget.open())
    let line = Line.request(1, "fetch") + "\n" + Line.notification("note") + "\n"
    exchange.peer.receive(Array(line.utf8).span)
    #expect(exchange.peer.pendingCount == 2)
    #expect(exchange.peer.requestBytes >= line.utf8.count - 2)
    #expect(budget.bytes == exchange.peer.requestBytes)
    #expect(exchange.takeAll() == ["#1 fetch"])
    #expect(exchange.peer.pendingCount == 0)
    #expect(budget.bytes == exchange.peer.requestBytes)
    exchange.answer(1)
    #expect(exchange.peer.requestBytes == 0)
    #expect(budget.bytes == 0)

    // A batch counts as its requests.
    _ = exchange.receive("[\(Line.request(2, "a")),7,\(Line.request(3, "b"))]")
    for id in [2, 3] {
      #expect(budget.bytes > 0)
      exchange.answer(id)
    }
    #expect(budget.bytes == 0)

    _ = exchange.receive(Line.request(4, "fetch"))
    exchange.peer.disconnect()
    #expect(budget.bytes == 0)
    #expect(exchange.peer.isClosed)
  }

  /// Whatever the requests, their order and the pieces of the stream.
  @Test func `is sent one response for each request`() {
    for seed in Seeds.first(300) { Self.exchangeAtRandom(seed, Seeds.repeating(seed)) }
  }

  private static func exchangeAtRandom(_ seed: UInt64, _ comment: String) {
    var random = SplitMix64(seed: seed)
    var exchange = Exchange()
    var expected: [String] = []
    var text = ""
    for id in 1...20 {
      if random.oneIn(4) {
        text += "[\(Line.request(100 + id, "a")),\(Line.request(200 + id, "observe"))]\n"
        expected += ["\(100 + id)", "\(200 + id)"]
      } else {
        text += Line.request(id, "fetch") + "\n"
        expected.append("\(id)")
      }
    }
    let bytes = Array(text.utf8)
    var start = 0
    while start < bytes.count || !exchange.waiting.isEmpty {
      if start < bytes.count, exchange.waiting.isEmpty || random.oneIn(2) {
        let end = min(bytes.count, start + 1 + random.below(200))
        _ = exchange.receive(bytes: Array(bytes[start..<end]))
        start = end
      } else if !exchange.waiting.isEmpty {
        exchange.answer(Int(random.pick(exchange.waiting.keys.sorted())) ?? 0)
      }
    }
    let responses = exchange.takeSent().flatMap { line in
      line.filter { $0 != "[" && $0 != "]" }.split(separator: ", ").map(String.init)
    }
    #expect(responses.sorted() == expected.sorted(), "\(comment)")
    #expect(exchange.peer.requestBytes == 0)
    #expect(exchange.peer.unansweredCount == 0)
  }
}

extension Dialect {
  /// A protocol of the tests with a handshake, on lines.
  fileprivate static let strict = Dialect(
    framing: .line,
    needsHandshake: true,
    keepsOrder: false,
    allowsBatches: false,
    needsShutdown: false,
    results: ["ping": [:]]
  )
}
