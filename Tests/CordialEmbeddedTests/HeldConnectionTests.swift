import CordialEmbedded
import JSON
import JSONRPC
import PersistentStore
import Synchronization
import Testing

// Evidence: P-017d, P-117r
@Suite struct `A client of a socket during a migration` {
  private static let status: JSONValue = ["state": "migrating"]
  private static let progress = MigrationProgress(
    from: "1",
    to: "2",
    title: "Create Task",
    done: 1,
    count: 4
  )

  private static let limits = Connection.Limits(
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
    var output: [UInt8] = []
    for start in stride(from: 0, to: bytes.count, by: min(portion, bytes.count)) {
      let end = min(bytes.count, start + min(portion, bytes.count))
      let part = Array(bytes[start..<end])
      output += held.receive(part.span, status: Self.status, deadline: 100)
    }
    return String(decoding: output, as: UTF8.self)
  }

  private func connection() -> HeldConnection {
    HeldConnection(framing: nil, limits: Self.limits)
  }

  private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

  @Test func `status and rpc.discover are answered at once`() {
    var held = connection()
    let output = send(Self.request(1, "status") + "\n", to: &held)
    #expect(output == #"{"jsonrpc":"2.0","id":1,"result":{"state":"migrating"}}"# + "\n")
    let discovered = send(Self.request(2, "rpc.discover") + "\n", to: &held)
    #expect(discovered.contains(#""openrpc":"#))
    #expect(held.remainingInput.isEmpty)
  }

  @Test(arguments: [1, 7, .max])
  func `other messages wait for the service, in their order`(portion: Int) {
    var held = connection()
    let lines =
      Self.request(1, "fetch") + "\n" + Self.request(2, "status") + "\n"
      + #"[{"jsonrpc":"2.0","id":5,"method":"fetch"}]"# + "\n" + "not JSON\n"
    let start = #"{"jsonrpc":"2.0","id":9,"#
    let output = send(lines + start, to: &held, portion: portion)
    #expect(output.hasPrefix(#"{"jsonrpc":"2.0","id":2,"result""#))
    #expect(
      text(held.remainingInput)
        == Self.request(1, "fetch") + "\n"
        + #"[{"jsonrpc":"2.0","id":5,"method":"fetch"}]"# + "\n" + "not JSON\n" + start
    )
  }

  @Test(arguments: [1, 7, .max])
  func `header framing is kept`(portion: Int) {
    func framed(_ body: String) -> String { "Content-Length: \(body.utf8.count)\r\n\r\n\(body)" }
    var held = connection()
    let first = framed(Self.request(1, "initialize"))
    let unfinished = String(framed(Self.request(3, "fetch")).dropLast(5))
    let output = send(
      first + framed(Self.request(2, "status")) + unfinished,
      to: &held,
      portion: portion
    )
    #expect(output == framed(#"{"jsonrpc":"2.0","id":2,"result":{"state":"migrating"}}"#))
    #expect(text(held.remainingInput) == first + unfinished)
  }

  @Test func `a request without a token fails after its time, with the progress`() throws {
    var held = connection()
    let waiting = Self.request(2, "fetch", #"{"workDoneToken":"w"}"#)
    let notified = #"{"jsonrpc":"2.0","method":"initialized"}"#
    _ = send(
      [Self.request(1, "fetch"), waiting, notified].joined(separator: "\n") + "\n",
      to: &held
    )
    #expect(held.expire(at: 99, Self.progress).isEmpty)
    let error = try JSONParser.parse(text(held.expire(at: 100, Self.progress)))["error"]
    #expect(error?["code"] == 1401)
    #expect(error?["data"]?["code"] == "storeBusy")
    #expect(
      error?["data"]?["migrating"]
        == ["from": "1", "to": "2", "title": "Create Task", "done": 1, "count": 4]
    )
    #expect(held.expire(at: .max, Self.progress).isEmpty)
    #expect(text(held.remainingInput) == waiting + "\n" + notified + "\n")
  }

  @Test func `a request with a token is notified of each step`() {
    var held = connection()
    _ = send(Self.request(1, "fetch", #"{"workDoneToken":7}"#) + "\n", to: &held)
    let first = text(held.report(Self.progress))
    #expect(
      first
        == #"{"jsonrpc":"2.0","method":"$/progress","params":{"token":7,"value":{"kind":"begin","#
        + #""title":"Migrating 1 to 2","percentage":25,"cancellable":false}}}"# + "\n"
        + #"{"jsonrpc":"2.0","method":"$/progress","params":{"token":7,"value":{"kind":"report","#
        + #""message":"Create Task","percentage":25}}}"# + "\n"
    )
    #expect(!text(held.report(Self.progress)).contains("begin"))
    #expect(text(held.end()).contains(#""kind":"end""#))
  }

  @Test func `a request that waits can be cancelled`() {
    var held = connection()
    _ = send(Self.request(1, "fetch") + "\n", to: &held)
    let cancel = #"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}"# + "\n"
    #expect(send(cancel, to: &held).contains("-32800"))
    #expect(held.remainingInput.isEmpty)
    #expect(held.heldBytes == 0)
  }

  @Test func `requests fail where the store cannot be opened`() throws {
    var held = connection()
    _ = send(Self.request(1, "fetch", #"{"workDoneToken":7}"#) + "\n", to: &held)
    let error = StoreError(.storeBusy, "Another process has it open")
    let answer = try JSONParser.parse(text(held.failures(error)))
    #expect(answer["id"] == 1)
    #expect(answer["error"]?["code"] == 1401)
  }

  @Test func `a client that waits for nothing is done when it sends nothing more`() {
    var held = connection()
    _ = send(Self.request(1, "status") + "\n", to: &held)
    #expect(!held.isDone)
    held.hasEnded = true
    #expect(held.isDone)
    _ = send(Self.request(2, "fetch") + "\n", to: &held)
    #expect(!held.isDone)
    #expect(!held.expire(at: 100, nil).isEmpty)
    #expect(held.isDone)
  }

  @Test func `bytes of no framing end the connection`() {
    var held = connection()
    #expect(send("\u{1}\u{2}\n", to: &held).contains("-32700"))
    #expect(held.isRefused)
    #expect(send(Self.request(1, "status") + "\n", to: &held).isEmpty)
  }

  // MARK: Limits

  // Evidence: P-019a
  @Test func `a message that is too long ends the connection`() {
    var held = connection()
    let output = send(String(repeating: "x", count: (1 << 20) + 1), to: &held)
    #expect(output.contains(#""error":{"code":-32700"#))
    #expect(held.isRefused)
  }

  // Evidence: P-019d
  @Test func `the largest unfinished message of all ends its connection`() {
    let budget = ByteBudget(bytesMax: 1_000_000)
    let dropped = Mutex(0)
    var connections = (0..<3).map { number in
      HeldConnection(
        framing: .line,
        limits: Self.limits,
        account: budget.open { dropped.withLock { $0 = number } }
      )
    }
    for (number, count) in [300_000, 500_000, 300_000].enumerated() {
      #expect(send(String(repeating: "x", count: count), to: &connections[number]) == "")
    }
    #expect(dropped.withLock { $0 } == 1)
    let output = text(connections[1].dropUnfinished())
    #expect(output.contains(#""error":{"code":1302"#))
    #expect(output.contains(#""limit":"processBytes""#))
    #expect(connections.map(\.isRefused) == [false, true, false])
    #expect(budget.bytes < 1_000_000)
  }

  // Evidence: P-019d
  @Test func `what waits counts until it is cancelled, fails or is released`() {
    let budget = ByteBudget(bytesMax: 1 << 20)
    var held = HeldConnection(framing: .line, limits: Self.limits, account: budget.open {})
    let long = String(repeating: "x", count: 10_000)
    let requests = (1...4).map { Self.request($0, "fetch", #"{"entity":"\#(long)"}"#) + "\n" }
    _ = send(requests.joined(), to: &held)
    #expect(held.heldBytes >= 40_000)
    #expect(budget.bytes == held.heldBytes)
    let cancelled = send(
      #"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":2}}"# + "\n",
      to: &held
    )
    #expect(cancelled.contains("-32800"))
    #expect((30_000..<40_000).contains(held.heldBytes))
    #expect(budget.bytes == held.heldBytes)
    _ = held.expire(at: 101, Self.progress)
    #expect(held.heldBytes == 0)
    #expect(budget.bytes == 0)
    _ = send(requests[0], to: &held)
    held.release()
    #expect(budget.bytes == 0)
  }

  @Test func `values beyond the limits are left to the service`() {
    var held = connection()
    let deep = String(repeating: "[", count: 200) + String(repeating: "]", count: 200)
    let message = Self.request(1, "status", deep) + "\n"
    #expect(send(message, to: &held) == "")
    #expect(text(held.remainingInput) == message)
  }
}
