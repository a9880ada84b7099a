import Glibc

/// A connection that a poll loop drives: descriptors only, nothing is waited for.
final class RawConnection {
  private let descriptor: Int32
  private var output: [UInt8] = []
  private var written = 0
  private var reader: AnswerReader
  private var isClosed = false
  /// Whether no more is written.
  private(set) var endedInput = false
  /// Whether the service ended the connection.
  private(set) var hasEnded = false
  /// Why bytes could not be written; nil while they can.
  private(set) var writeError: Int32?
  /// Why nothing more could be read; nil at the end of the stream.
  private(set) var readError: Int32?

  private static let chunkBytes = 1 << 18
  private var chunk = [UInt8](repeating: 0, count: chunkBytes)

  /// Connects to a Unix socket.
  init(_ path: String, hasHeaders: Bool) throws {
    let type = SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue
    descriptor = socket(AF_UNIX, Int32(type), 0)
    reader = AnswerReader(hasHeaders: hasHeaders)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { bytes in
      unsafe bytes.copyBytes(from: path.utf8.prefix(107))
    }
    let target = address
    // A full backlog of a Unix socket is EAGAIN.
    for _ in 0..<10_000 {
      let code = unsafe withUnsafePointer(to: target) { pointer in
        unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          unsafe Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
        }
      }
      if code == 0 { return }
      guard errno == EAGAIN || errno == EINTR else { break }
      _ = Glibc.poll(nil, 0, 1)
    }
    throw Failure("connecting to \(path): errno \(errno)")
  }

  deinit { close() }

  /// How many bytes were not written yet.
  var pending: Int { output.count - written }

  /// Whether the service has sent whole messages only.
  var isAtBoundary: Bool { reader.isAtBoundary }

  /// Appends bytes that are written when the socket takes them.
  func enqueue(_ bytes: [UInt8]) {
    if written == output.count {
      output.removeAll(keepingCapacity: true)
      written = 0
    } else if written > 1 << 20 {
      output.removeFirst(written)
      written = 0
    }
    output += bytes
  }

  /// What a poll should wait for.
  func poll(reads: Bool) -> pollfd {
    var events: Int16 = 0
    if pending > 0 { events |= Int16(POLLOUT) }
    if reads { events |= Int16(POLLIN) }
    return pollfd(fd: isClosed || hasEnded ? -1 : descriptor, events: events, revents: 0)
  }

  /// Writes what the socket takes.
  ///
  /// - Returns: How many bytes it took.
  func write() -> Int {
    guard pending > 0, !hasEnded else { return 0 }
    let count = unsafe output.withUnsafeBytes { bytes in
      unsafe send(
        descriptor,
        bytes.baseAddress.map { unsafe $0 + written },
        bytes.count - written,
        Int32(MSG_NOSIGNAL)
      )
    }
    if count > 0 {
      written += count
    } else if errno != EAGAIN, errno != EINTR {
      // What the service still said can be read; nothing more goes out.
      writeError = errno
      written = output.count
    }
    return max(0, count)
  }

  /// Reads what is there, once.
  ///
  /// - Parameters:
  ///   - max: How many bytes at most.
  ///   - each: Called for each message that is complete.
  /// - Returns: How many bytes came.
  /// - Throws: What `each` throws, and `Failure` for a header that cannot be read.
  func read(max: Int = chunkBytes, _ each: (AnswerReader.Answer) throws -> Void) throws -> Int {
    guard !hasEnded else { return 0 }
    let wanted = min(max, chunk.count)
    let count = unsafe Glibc.read(descriptor, &chunk, wanted)
    if count > 0 {
      try unsafe chunk.withUnsafeBytes { bytes in
        try unsafe reader.take(UnsafeRawBufferPointer(rebasing: bytes[..<count]), each)
      }
    } else if count == 0 || (errno != EAGAIN && errno != EINTR) {
      readError = count < 0 ? errno : nil
      hasEnded = true
    }
    return Swift.max(0, count)
  }

  /// No more is written; the service answers what it read, then ends the connection.
  func endInput() {
    guard !endedInput else { return }
    endedInput = true
    shutdown(descriptor, Int32(SHUT_WR))
  }

  /// Cuts the connection, whatever is under way.
  func close() {
    guard !isClosed else { return }
    isClosed = true
    _ = Glibc.close(descriptor)
  }
}
