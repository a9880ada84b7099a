import JSON
import JSONRPC
import Testing

@Suite struct `The lifecycle of a connection` {
  /// Sends methods, of which those that end in `!` are notifications, and compares what becomes of
  /// each: `ok`, a code, `dropped` or `exit n`.
  private func check(
    _ framing: Framing,
    _ methods: String,
    _ expected: String,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    var lifecycle = Lifecycle()
    var said: [String] = []
    for (index, method) in methods.split(separator: " ").enumerated() {
      let message: Message =
        method.hasSuffix("!")
        ? .notification(method: String(method.dropLast()), params: .null)
        : .request(id: .integer(Int64(index)), method: String(method), params: .null)
      switch lifecycle.admit(message, framing: framing) {
      case .dispatch: said.append("ok")
      case .reject(let error): said.append("\(error.code)")
      case .drop: said.append("dropped")
      case .exit(let code): said.append("exit \(code)")
      }
    }
    #expect(said.joined(separator: ", ") == expected, "\(methods)", sourceLocation: sourceLocation)
  }

  // Evidence: P-011a
  @Test func `with headers initialize comes first`() {
    check(.header, "initialize initialized! fetch", "ok, ok, ok")
    check(.header, "fetch initialize fetch", "-32002, ok, ok")
    check(.header, "shutdown", "-32002")
    check(.header, "rpc.discover", "-32002")
    check(.header, "initialized! $/setTrace! initialize", "dropped, dropped, ok")
    check(.header, "shutdown initialize fetch", "-32002, ok, ok")
  }

  // Evidence: P-012a
  @Test func `lines need no handshake`() {
    check(.line, "fetch", "ok")
    check(.line, "fetch note!", "ok, ok")
    check(.line, "fetch initialize fetch", "ok, ok, ok")
    check(.line, "shutdown exit!", "ok, exit 0")
  }

  // Evidence: P-011b
  @Test func `initialize comes once`() {
    check(.header, "initialize initialize fetch", "ok, -32600, ok")
    check(.line, "initialize initialize fetch", "ok, -32600, ok")
  }

  // Evidence: P-011c
  @Test func `after shutdown only exit is accepted`() {
    check(
      .header,
      "initialize shutdown fetch shutdown initialize note! exit!",
      "ok, ok, -32600, -32600, -32600, dropped, exit 0"
    )
    check(.line, "shutdown fetch note! exit!", "ok, -32600, dropped, exit 0")
  }

  // Evidence: P-011c
  @Test func `exit is 0 after shutdown and 1 without`() {
    check(.header, "exit!", "exit 1")
    check(.header, "initialize exit!", "ok, exit 1")
    check(.header, "initialize shutdown exit!", "ok, ok, exit 0")
    check(.header, "shutdown exit!", "-32002, exit 1")
  }

  @Test func `responses are dropped at any time`() {
    var lifecycle = Lifecycle()
    for framing in Framing.allCases {
      #expect(lifecycle.admit(.response, framing: framing) == .drop)
    }
  }

  @Test func `the lifecycle reports its state`() {
    var lifecycle = Lifecycle()
    #expect(!lifecycle.isInitialized)
    #expect(!lifecycle.isShutDown)
    _ = lifecycle.admit(
      .request(id: .integer(1), method: "initialize", params: .null),
      framing: .header
    )
    #expect(!lifecycle.isInitialized)
    lifecycle.initializeEnded(succeeded: true)
    #expect(lifecycle.isInitialized)
    _ = lifecycle.admit(
      .request(id: .integer(2), method: "shutdown", params: .null),
      framing: .header
    )
    #expect(lifecycle.isShutDown)
  }

  @Test(arguments: Framing.allCases)
  func `a failed handshake may be repeated`(framing: Framing) {
    var lifecycle = Lifecycle()
    let initialize = Message.request(id: .integer(1), method: "initialize", params: .null)
    #expect(lifecycle.admit(initialize, framing: framing) == .dispatch)
    lifecycle.initializeEnded(succeeded: false)
    #expect(!lifecycle.isInitialized)
    #expect(lifecycle.admit(initialize, framing: framing) == .dispatch)
    lifecycle.initializeEnded(succeeded: true)
    #expect(lifecycle.isInitialized)
    guard case .reject(let error) = lifecycle.admit(initialize, framing: framing) else {
      Issue.record("A second handshake was admitted")
      return
    }
    #expect(error.code == -32600)
  }
}
