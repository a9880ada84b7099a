import JSON
import JSONRPC
import Testing

@Suite struct `The lifecycle of a connection` {
  /// Sends methods, of which those that end in `!` are notifications, and compares what becomes of
  /// each: `ok`, a code, `dropped` or `exit n`.
  private func check(
    _ dialect: Dialect,
    _ methods: String,
    _ expected: String,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    var lifecycle = Lifecycle()
    var said: [String] = []
    for method in methods.split(separator: " ") {
      guard !method.hasSuffix("!") else {
        switch lifecycle.admit(notification: String(method.dropLast()), dialect) {
        case .dispatch: said.append("ok")
        case .drop: said.append("dropped")
        case .exit(let code): said.append("exit \(code)")
        }
        continue
      }
      switch lifecycle.admit(String(method), dialect) {
      case .dispatch: said.append("ok")
      case .answer(let result): said.append(result.text)
      case .reject(let error): said.append("\(error.code)")
      }
    }
    #expect(said.joined(separator: ", ") == expected, "\(methods)", sourceLocation: sourceLocation)
  }

  // Evidence: P-011a
  @Test func `with headers initialize comes first`() {
    check(.languageServer, "initialize initialized! fetch", "ok, ok, ok")
    check(.languageServer, "fetch initialize fetch", "-32002, ok, ok")
    check(.languageServer, "shutdown", "-32002")
    check(.languageServer, "rpc.discover", "-32002")
    check(.languageServer, "initialized! $/setTrace! initialize", "dropped, dropped, ok")
    check(.languageServer, "shutdown initialize fetch", "-32002, ok, ok")
  }

  // Evidence: P-012a
  @Test func `lines need no handshake`() {
    check(.lines, "fetch", "ok")
    check(.lines, "fetch note!", "ok, ok")
    check(.lines, "fetch initialize fetch", "ok, ok, ok")
    check(.lines, "shutdown exit!", "ok, exit 0")
  }

  @Test func `a dialect answers its own methods before the handshake, and none after the end`() {
    check(.pinging, "ping fetch initialize ping fetch", "{}, -32002, ok, {}, ok")
    check(.pinging, "shutdown bye! ping", "-32002, exit 1, -32600")
  }

  // Evidence: P-011b
  @Test func `initialize comes once`() {
    check(.languageServer, "initialize initialize fetch", "ok, -32600, ok")
    check(.lines, "initialize initialize fetch", "ok, -32600, ok")
  }

  // Evidence: P-011c
  @Test func `after shutdown only exit is accepted`() {
    check(
      .languageServer,
      "initialize shutdown fetch shutdown initialize note! exit!",
      "ok, ok, -32600, -32600, -32600, dropped, exit 0"
    )
    check(.lines, "shutdown fetch note! exit!", "ok, -32600, dropped, exit 0")
  }

  // Evidence: P-011c
  @Test func `exit is 0 after shutdown and 1 without`() {
    check(.languageServer, "exit!", "exit 1")
    check(.languageServer, "initialize exit!", "ok, exit 1")
    check(.languageServer, "initialize shutdown exit!", "ok, ok, exit 0")
    check(.languageServer, "shutdown exit!", "-32002, exit 1")
  }

  @Test func `the lifecycle reports its state`() {
    var lifecycle = Lifecycle()
    #expect(!lifecycle.isInitialized)
    #expect(!lifecycle.isShutDown)
    _ = lifecycle.admit("initialize", .languageServer)
    #expect(!lifecycle.isInitialized)
    lifecycle.initializeEnded(succeeded: true)
    #expect(lifecycle.isInitialized)
    _ = lifecycle.admit("shutdown", .languageServer)
    #expect(lifecycle.isShutDown)
  }

  @Test(arguments: Dialect.all)
  func `a failed handshake may be repeated`(dialect: Dialect) {
    var lifecycle = Lifecycle()
    #expect(lifecycle.admit("initialize", dialect) == .dispatch)
    lifecycle.initializeEnded(succeeded: false)
    #expect(!lifecycle.isInitialized)
    #expect(lifecycle.admit("initialize", dialect) == .dispatch)
    lifecycle.initializeEnded(succeeded: true)
    #expect(lifecycle.isInitialized)
    guard case .reject(let error) = lifecycle.admit("initialize", dialect) else {
      Issue.record("A second handshake was admitted")
      return
    }
    #expect(error.code == -32600)
  }
}

extension Dialect {
  /// A protocol of the tests, with a handshake, a method of its own and another end.
  fileprivate static let pinging = Dialect(
    framing: .line,
    needsHandshake: true,
    keepsOrder: false,
    allowsBatches: false,
    shutdown: nil,
    exit: "bye",
    needsShutdown: false,
    results: ["ping": [:]]
  )
}
