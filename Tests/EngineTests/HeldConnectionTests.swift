import Engine
import JSON
import JSONRPC
import PersistentStore
import Synchronization
import Testing

// Evidence: P-017d, P-117r
@Suite struct `A client of a socket during a migration` {
  /// The deadline of the requests is 100.
  private static let moment = HeldConnection.Moment(status: ["state": "migrating"], deadline: 100)
  private static let progress = MigrationProgress(
    from: "1",
    to: "2",
    title: "Create Task",
    done: 1,
    count: 4
  )

  private static let limits = MessageDecoder.Limits(
    messageBytesMax: 1 << 20,
    depthMax: 128,
    batchMax: 1000
  )

  private static func request(_ id: Int, _ method: String, _ params: String = "{}") -> String {
    #"{"jsonrpc":"2.0","id":\#(id),"method":"\#(method)","params":\#(params)}"#
  }

  /// Sends text in portions of some bytes, with 100 as the deadline, and returns the output.
  private func send(
    _ text: String,
    to held: inout HeldConnection,
    portion: Int = .max
  ) -> String {
    let bytes = Array(text.utf8)
    for start in stride(from: 0, to: bytes.count, by: min(portion, bytes.count)) {
      let end = min(bytes.count, start + min(portion, bytes.count))
      held.receive(bytes.span.extracting(start..<end), Self.moment)
    }
    return output(of: &held)
  }

  private func output(of held: inout HeldConnection) -> String {
    String(decoding: held.takeOutput().joined(), as: UTF8.self)
  }

  private func connection(
    _ framing: Framing? = nil,
    _ budget: ByteBudget = ByteBudget(bytesMax: 1 << 24)
  ) -> HeldConnection {
    let peer = Peer(
      framing: framing,
      limits: Self.limits,
      closesOnUnknownFraming: true,
      account: budget.open()
    )
    return HeldConnection(peer)
  }

  /// Returns the requests that the service has to answer, as `#1 fetch`, and the peer.
  private func release(_ held: inout HeldConnection) -> (requests: [String], peer: Peer) {
    let peer = held.release()
    var requests: [String] = []
    while let event = peer.next() {
      if case .request(let request) = event {
        requests.append("#\(request.id.json.text) \(request.method)")
      }
    }
    return (requests, peer)
  }

  @Test func `status and rpc.discover are answered at once`() {
    var held = connection()
    let output = send(Self.request(1, "status") + "\n", to: &held)
    #expect(output == #"{"jsonrpc":"2.0","id":1,"result":{"state":"migrating"}}"# + "\n")
    let discovered = send(Self.request(2, "rpc.discover") + "\n", to: &held)
    #expect(discovered.contains(#""openrpc":"#))
    #expect(held.heldCount == 0)
    #expect(release(&held).requests == [])
  }

  @Test(arguments: [1, 7, .max])
  func `other requests wait for the service, in their order`(portion: Int) {
    var held = connection()
    let lines =
      Self.request(1, "fetch") + "\n" + Self.request(2, "status") + "\n"
      + #"[{"jsonrpc":"2.0","id":5,"method":"fetch"}]"# + "\nnot JSON\n"
    let output = send(lines + #"{"jsonrpc":"2.0","#, to: &held, portion: portion)
    #expect(output == #"{"jsonrpc":"2.0","id":2,"result":{"state":"migrating"}}"# + "\n")
    let (requests, peer) = release(&held)
    #expect(requests == ["#1 fetch", "#5 fetch"])
    // The service gets the end of the unfinished message.
    peer.receive(Array((#""id":9,"method":"save"}"# + "\n").utf8).span)
    guard case .request(let request)? = peer.next() else {
      Issue.record("No request was received")
      return
    }
    #expect(request.method == "save")
  }

  @Test(arguments: [1, 7, .max])
  func `header framing is kept`(portion: Int) {
    func framed(_ body: String) -> String { "Content-Length: \(body.utf8.count)\r\n\r\n\(body)" }
    var held = connection()
    let output = send(
      framed(Self.request(1, "initialize")) + framed(Self.request(2, "status")),
      to: &held,
      portion: portion
    )
    #expect(output == framed(#"{"jsonrpc":"2.0","id":2,"result":{"state":"migrating"}}"#))
    #expect(release(&held).requests == ["#1 initialize"])
  }

  @Test func `a request without a token fails after its time, with the progress`() throws {
    var held = connection()
    let waiting = Self.request(2, "fetch", #"{"workDoneToken":"w"}"#)
    let notified = #"{"jsonrpc":"2.0","method":"initialized"}"#
    _ = send(
      [Self.request(1, "fetch"), waiting, notified].joined(separator: "\n") + "\n",
      to: &held
    )
    held.expire(at: 99, Self.progress)
    #expect(output(of: &held).isEmpty)
    held.expire(at: 100, Self.progress)
    let error = try JSONParser.parse(output(of: &held))["error"]
    #expect(error?["code"] == 1401)
    #expect(error?["data"]?["code"] == "storeBusy")
    #expect(
      error?["data"]?["migrating"]
        == ["from": "1", "to": "2", "title": "Create Task", "done": 1, "count": 4]
    )
    held.expire(at: .max, Self.progress)
    #expect(output(of: &held).isEmpty)
    #expect(release(&held).requests == ["#2 fetch"])
  }

  @Test func `a request with a token is notified of each step`() {
    var held = connection()
    _ = send(Self.request(1, "fetch", #"{"workDoneToken":7}"#) + "\n", to: &held)
    held.report(Self.progress)
    let first = output(of: &held)
    #expect(
      first
        == #"{"jsonrpc":"2.0","method":"$/progress","params":{"token":7,"value":{"kind":"begin","#
        + #""title":"Migrating 1 to 2","percentage":25,"cancellable":false}}}"# + "\n"
        + #"{"jsonrpc":"2.0","method":"$/progress","params":{"token":7,"value":{"kind":"report","#
        + #""message":"Create Task","percentage":25}}}"# + "\n"
    )
    held.report(Self.progress)
    #expect(!output(of: &held).contains("begin"))
    held.endProgress()
    #expect(output(of: &held).contains(#""kind":"end""#))
  }

  @Test func `a request that waits can be cancelled`() {
    var held = connection()
    _ = send(Self.request(1, "fetch") + "\n", to: &held)
    let cancel = #"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}"# + "\n"
    #expect(send(cancel, to: &held).contains("-32800"))
    #expect(held.heldCount == 0)
    #expect(held.requestBytes == 0)
  }

  @Test func `requests fail where the store cannot be opened`() throws {
    var held = connection()
    _ = send(Self.request(1, "fetch", #"{"workDoneToken":7}"#) + "\n", to: &held)
    let error = StoreError(.storeBusy, "Another process has it open")
    held.fail(error)
    let answer = try JSONParser.parse(output(of: &held))
    #expect(answer["id"] == 1)
    #expect(answer["error"]?["code"] == 1401)
  }

  @Test func `a client that waits for nothing is done when it sends nothing more`() {
    var held = connection()
    _ = send(Self.request(1, "status") + "\n" + Self.request(2, "fetch") + "\n", to: &held)
    #expect(held.takeEnd() == nil)
    held.endInput(Self.moment)
    #expect(held.takeEnd() == nil)
    held.expire(at: 100, nil)
    #expect(!output(of: &held).isEmpty)
    #expect(held.takeEnd() == 0)
    #expect(held.takeEnd() == nil)
  }

  @Test func `the responses of a batch wait for each other`() {
    var held = connection()
    let batch = "[\(Self.request(1, "status")),\(Self.request(2, "fetch"))]\n"
    #expect(send(batch, to: &held).isEmpty)
    #expect(send(Self.request(3, "status") + "\n", to: &held).contains(#""id":3"#))
    #expect(release(&held).requests == ["#1 status", "#2 fetch"])
  }

  // Evidence: P-011a
  @Test func `requests are refused whose handshake has failed`() {
    func framed(_ body: String) -> String { "Content-Length: \(body.utf8.count)\r\n\r\n\(body)" }
    var held = connection(.header)
    let waiting = Self.request(2, "save", #"{"workDoneToken":"w"}"#)
    _ = send(framed(Self.request(1, "initialize")) + framed(waiting), to: &held)
    held.expire(at: 100, Self.progress)
    let output = output(of: &held)
    #expect(output.contains(#""id":1,"error":{"code":1401"#))
    #expect(output.contains(#""id":2,"error":{"code":-32002"#))
    #expect(release(&held).requests == [])
  }

  // Evidence: P-013c
  @Test func `the last line needs no end`() {
    var held = connection(.line)
    #expect(send(Self.request(1, "status"), to: &held).isEmpty)
    held.endInput(Self.moment)
    #expect(output(of: &held).contains("migrating"))
    #expect(held.takeEnd() == 0)
  }

  @Test func `bytes of no framing end the connection`() {
    var held = connection()
    #expect(send("\u{1}\u{2}\n", to: &held).contains("-32700"))
    #expect(held.takeEnd() == 1)
    #expect(send(Self.request(1, "status") + "\n", to: &held).isEmpty)
  }

  // MARK: Limits

  // Evidence: P-019a
  @Test func `a message that is too long fails`() {
    var held = connection(.line)
    let output = send(String(repeating: "x", count: (1 << 20) + 1), to: &held)
    #expect(output.contains(#""error":{"code":1302"#))
    #expect(held.takeEnd() == nil)
    #expect(send("\n" + Self.request(1, "status") + "\n", to: &held).contains("migrating"))
  }

  // Evidence: P-019d
  @Test func `the largest unfinished message of all fails`() {
    let budget = ByteBudget(bytesMax: 1_000_000)
    let dropped = Mutex(0)
    var connections = (0..<3).map { number in
      let account = budget.open { dropped.withLock { $0 = number } }
      let peer = Peer(
        framing: .line,
        limits: Self.limits,
        closesOnUnknownFraming: true,
        account: account
      )
      return HeldConnection(peer)
    }
    for (number, count) in [300_000, 500_000, 300_000].enumerated() {
      #expect(send(String(repeating: "x", count: count), to: &connections[number]) == "")
    }
    #expect(dropped.withLock { $0 } == 1)
    connections[1].dropUnfinished(Self.moment)
    let output = output(of: &connections[1])
    #expect(output.contains(#""error":{"code":1302"#))
    #expect(output.contains(#""limit":"processBytes""#))
    #expect(budget.bytes < 1_000_000)
    let rest = send("xxx\n" + Self.request(1, "status") + "\n", to: &connections[1])
    #expect(rest.contains("migrating"))
  }

  // Evidence: P-019d
  @Test func `what waits counts until it is cancelled, fails or is answered`() {
    let budget = ByteBudget(bytesMax: 1 << 20)
    var held = connection(.line, budget)
    let long = String(repeating: "x", count: 10_000)
    let requests = (1...4).map { Self.request($0, "fetch", #"{"entity":"\#(long)"}"#) + "\n" }
    _ = send(requests.joined(), to: &held)
    #expect(held.requestBytes >= 40_000)
    #expect(budget.bytes == held.requestBytes)
    let cancelled = send(
      #"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":2}}"# + "\n",
      to: &held
    )
    #expect(cancelled.contains("-32800"))
    #expect((30_000..<40_000).contains(held.requestBytes))
    #expect(budget.bytes == held.requestBytes)
    held.expire(at: 101, Self.progress)
    #expect(held.requestBytes == 0)
    #expect(budget.bytes == 0)
    _ = send(requests[0], to: &held)
    #expect(budget.bytes >= 10_000)
    let peer = held.release()
    peer.disconnect()
    #expect(budget.bytes == 0)
  }

  @Test func `values beyond the limits fail`() {
    var held = connection()
    let deep = String(repeating: "[", count: 200) + String(repeating: "]", count: 200)
    #expect(send(Self.request(1, "status", deep) + "\n", to: &held).contains("-32700"))
    #expect(held.heldCount == 0)
  }
}
