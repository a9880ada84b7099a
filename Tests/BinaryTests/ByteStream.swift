import Glibc

/// What went wrong while a test waited for the program.
struct Failure: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

/// Two descriptors: one that is read with a deadline, one that is written while it is read, so
/// that neither side can wait for the other for ever.
final class ByteStream {
  /// How long anything may take before the test fails.
  static let secondsMax = 60

  private let reading: Int32
  private var writing: Int32
  private var buffer: [UInt8] = []
  private(set) var hasEnded = false

  init(reading: Int32, writing: Int32 = -1) {
    self.reading = reading
    self.writing = writing
    for descriptor in [reading, writing] where descriptor >= 0 {
      _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
    }
  }

  deinit { close() }

  /// The end of a Unix socket.
  static func connect(_ path: String) throws -> ByteStream {
    let descriptor = socket(
      AF_UNIX,
      Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue),
      0
    )
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { bytes in
      unsafe bytes.copyBytes(from: path.utf8.prefix(107))
    }
    let code = unsafe withUnsafePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    guard code == 0 else {
      _ = Glibc.close(descriptor)
      throw Failure("connecting to \(path): errno \(errno)")
    }
    return ByteStream(reading: descriptor, writing: descriptor)
  }

  func close() {
    if writing >= 0, writing != reading { _ = Glibc.close(writing) }
    if !isClosed { _ = Glibc.close(reading) }
    writing = -1
    isClosed = true
  }

  private var isClosed = false

  /// No more is written.
  func endInput() {
    guard writing >= 0 else { return }
    if writing == reading {
      shutdown(writing, Int32(SHUT_WR))
    } else {
      _ = Glibc.close(writing)
    }
    writing = -1
  }

  func send(_ text: String) throws { try send(Array(text.utf8)) }

  func send(_ bytes: [UInt8]) throws {
    var done = 0
    while done < bytes.count {
      let (readable, writable) = try wait(forWriting: true)
      if readable { receive() }
      guard writable else { continue }
      let count = unsafe bytes.withUnsafeBytes { bytes in
        unsafe write(writing, bytes.baseAddress.map { unsafe $0 + done }, bytes.count - done)
      }
      if count < 0 {
        guard errno == EAGAIN || errno == EINTR else { throw Failure("write: errno \(errno)") }
      } else {
        done += count
      }
    }
  }

  /// The next line without its end; nil at the end of the stream.
  func line() throws -> String? {
    var searched = 0
    while true {
      if let end = buffer[searched...].firstIndex(of: 0x0A) {
        let line = String(decoding: buffer[..<end], as: UTF8.self)
        buffer.removeFirst(end + 1)
        return line
      }
      searched = buffer.count
      guard !hasEnded else { return nil }
      _ = try wait(forWriting: false)
      receive()
    }
  }

  /// The next text up to an end, without the end; nil where the stream ends before it.
  func text(upTo end: String) throws -> String? {
    let end = Array(end.utf8)
    while true {
      if let found = buffer.firstRange(of: end) {
        let text = String(decoding: buffer[..<found.lowerBound], as: UTF8.self)
        buffer.removeFirst(found.upperBound)
        return text
      }
      guard !hasEnded else { return nil }
      _ = try wait(forWriting: false)
      receive()
    }
  }

  /// The next line without its end if all of it has come; nothing is waited for.
  func availableLine() -> String? {
    guard let end = buffer.firstIndex(of: 0x0A) else { return nil }
    let line = String(decoding: buffer[..<end], as: UTF8.self)
    buffer.removeFirst(end + 1)
    return line
  }

  /// Returns everything that has come, without waiting.
  func availableText() -> String {
    var poll = pollfd(fd: reading, events: Int16(POLLIN), revents: 0)
    while !hasEnded, unsafe Glibc.poll(&poll, 1, 0) > 0 { receive() }
    defer { buffer = [] }
    return String(decoding: buffer, as: UTF8.self)
  }

  /// Waits until something comes on one of several streams, or on another descriptor, and takes
  /// in what came on the streams.
  static func waitForAny(of streams: [ByteStream], or descriptor: Int32) throws {
    var polls = [pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)]
    for stream in streams {
      let reads = stream.hasEnded ? -1 : stream.reading
      polls.append(pollfd(fd: reads, events: Int16(POLLIN), revents: 0))
    }
    let count = unsafe poll(&polls, nfds_t(polls.count), Int32(secondsMax * 1000))
    guard count > 0 else { throw Failure("nothing came on any stream for \(secondsMax) s") }
    for (stream, poll) in zip(streams, polls.dropFirst()) where poll.revents != 0 {
      stream.receive()
    }
  }

  /// The next bytes; fewer at the end of the stream.
  func bytes(_ count: Int) throws -> [UInt8] {
    while buffer.count < count, !hasEnded {
      _ = try wait(forWriting: false)
      receive()
    }
    let bytes = Array(buffer.prefix(count))
    buffer.removeFirst(bytes.count)
    return bytes
  }

  /// Everything up to the end.
  func rest() throws -> String { String(decoding: try bytes(.max), as: UTF8.self) }

  /// Waits until there is something to do.
  private func wait(forWriting: Bool) throws -> (readable: Bool, writable: Bool) {
    let reads = hasEnded ? -1 : reading
    var polls = [pollfd(fd: reads, events: Int16(POLLIN), revents: 0)]
    if forWriting { polls.append(pollfd(fd: writing, events: Int16(POLLOUT), revents: 0)) }
    let count = unsafe poll(&polls, nfds_t(polls.count), Int32(Self.secondsMax * 1000))
    guard count > 0 else {
      throw Failure("nothing came for \(Self.secondsMax) s; held: \(buffer.prefix(200))")
    }
    return (polls[0].revents != 0, forWriting && polls[1].revents != 0)
  }

  private func receive() {
    var chunk = [UInt8](repeating: 0, count: 1 << 16)
    let count = unsafe read(reading, &chunk, chunk.count)
    if count > 0 {
      buffer += chunk[..<count]
    } else if count == 0 || (errno != EAGAIN && errno != EINTR) {
      hasEnded = true
    }
  }
}
