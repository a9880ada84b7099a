import Glibc

/// A blocking client of a Unix socket: sends bytes, receives replies of any format.
final class Connection {
  /// No single answer takes longer; a server that is stuck ends the measurement.
  static let answerSecondsMax = 60

  private let descriptor: CInt
  private var buffer: [UInt8]
  private var filled = 0

  /// Connects, trying again until the server accepts or the patience is over.
  init(
    to path: String,
    patience: Duration = .seconds(10),
    bufferBytes: Int = 262_144
  ) throws {
    buffer = [UInt8](repeating: 0, count: bufferBytes)
    let deadline = ContinuousClock.now + patience
    while true {
      if let descriptor = try Self.connected(to: path) {
        self.descriptor = descriptor
        break
      }
      guard ContinuousClock.now < deadline else {
        throw BenchmarkError("No server accepted a connection: \(lastError())")
      }
      usleep(2_000)
    }
    var limit = timeval(tv_sec: Self.answerSecondsMax, tv_usec: 0)
    let size = socklen_t(MemoryLayout<timeval>.size)
    guard unsafe setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, size) == 0 else {
      throw BenchmarkError("Cannot set the time limit of a socket: \(lastError())")
    }
  }

  deinit { close(descriptor) }

  func send(_ bytes: [UInt8]) throws {
    try Descriptors.writeAll(bytes, to: descriptor)
  }

  /// Receives one reply, whole.
  func receive(_ format: some ReplyFormat) throws -> [UInt8] {
    while true {
      if filled > 0, let end = format.endOfReply(buffer.span.extracting(0..<filled)) {
        let reply = Array(buffer[..<end])
        if end < filled { buffer.replaceSubrange(0..<(filled - end), with: buffer[end..<filled]) }
        filled -= end
        return reply
      }
      if filled == buffer.count { buffer += [UInt8](repeating: 0, count: buffer.count) }
      let count = try Descriptors.readSome(from: descriptor, into: &buffer, at: filled)
      guard count > 0 else { throw BenchmarkError("The server closed the connection") }
      filled += count
    }
  }

  /// One request, one reply, refused if it is an error.
  func exchange(_ request: [UInt8], _ format: some ReplyFormat) throws -> [UInt8] {
    try send(request)
    let reply = try receive(format)
    try format.refuseError(reply)
    return reply
  }

  /// Reads one reply of any size without keeping it; see `Drain`.
  func drain() throws -> Drain {
    try Drain(from: descriptor, until: .endOfLine)
  }

  /// Waits until some of several connections have something to read.
  ///
  /// - Returns: Their indices; none when the time is over.
  static func readable(
    among connections: [Connection],
    within milliseconds: CInt
  ) throws -> [Int] {
    var waiting = connections.map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
    while unsafe poll(&waiting, nfds_t(waiting.count), milliseconds) < 0 {
      guard errno == EINTR else { throw BenchmarkError("Cannot wait: \(lastError())") }
    }
    return waiting.indices.filter { waiting[$0].revents != 0 }
  }

  private static func connected(to path: String) throws -> CInt? {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    guard path.utf8.count < MemoryLayout.size(ofValue: address.sun_path) else {
      throw BenchmarkError("The path of the socket is too long")
    }
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path.utf8) }
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw BenchmarkError("Cannot make a socket: \(lastError())") }
    let size = socklen_t(MemoryLayout<sockaddr_un>.size)
    let result = unsafe withUnsafePointer(to: &address) {
      unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe connect(descriptor, $0, size)
      }
    }
    if result == 0 { return descriptor }
    close(descriptor)
    return nil
  }
}

/// `wait`: returns as soon as a server accepts connections.
enum WaitForServer {
  static func run(_ options: Options) throws -> Report {
    _ = try Connection(to: options.text("socket"))
    return Report()
  }
}
