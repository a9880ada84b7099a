/// A process that serves the store of the torture, killed and started again.
final class TortureServer {
  private let store: String
  /// nil for one at its standard streams.
  private let socket: String?
  private var running: (child: Child, peer: Peer)?
  private(set) var isReady = false

  init(_ store: String, socket: String? = nil) {
    self.store = store
    self.socket = socket
  }

  var isRunning: Bool { running != nil }

  func start() throws {
    let child = try Child(
      ["serve", store] + (socket.map { ["--socket", $0] } ?? ["--stdio"]),
      input: socket == nil ? .pipe : .nothing
    )
    let peer = Peer(child)
    running = (child, peer)
    isReady = false
    if socket == nil { try peer.request("status") }
  }

  /// Where it says that it is ready: a note on standard error, or the answer to a first request.
  var readyOutput: ByteStream? { socket == nil ? running?.child.stream : running?.child.errors }

  /// Looks whether it has become ready.
  func checkReady() throws {
    guard let line = readyOutput?.availableLine() else { return try checkAlive(readyOutput) }
    isReady = line.contains(socket == nil ? "\"result\"" : "serving at")
    guard isReady else { throw Failure("a start: \(line)") }
  }

  /// A client of it; at standard streams it is always the same.
  func connect() throws -> Peer {
    guard let running else { throw Failure("the process does not run") }
    guard let socket else { return running.peer }
    return Peer(try ByteStream.connect(socket), of: running.child)
  }

  /// Nobody but the test ends it.
  func checkAlive(_ stream: ByteStream?) throws {
    guard let running, stream?.hasEnded != false else { return }
    let code = try running.child.exitCode()
    throw Failure("the process ended with \(code): \(try running.child.errorText())")
  }

  func kill() {
    running?.child.end()
    running = nil
  }

  /// Ends it in order, and answers its exit code.
  func stop() throws -> Int32 {
    defer { running = nil }
    running?.child.signal(15)
    return try running?.child.exitCode() ?? 0
  }
}
