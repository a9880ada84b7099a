import CPosix
import Glibc
import NIOCore
import NIOPosix

/// Standard input and standard output as one channel; each stream is a pipe, a terminal, a file or
/// closed.
package final class StandardStreams: Sendable {
  /// The pump that copies the output to a file; nil if the channel can write to standard output
  /// itself.
  private let outputPump: Pump?

  /// Moves standard input and output to a new channel, so that other code of the process cannot use
  /// them.
  ///
  /// Afterwards standard input is empty. Other output of the process to standard output goes to
  /// standard error.
  ///
  /// - Parameters:
  ///   - loop: The thread of the channel.
  ///   - owner: The receiver of the channel's events.
  ///   - stuckSecondsMax: The seconds after which a peer that accepts no bytes is disconnected.
  /// - Throws: `TransportError`.
  package init(
    loop: TransportLoop,
    owner: any ByteChannelOwner,
    stuckSecondsMax: Int
  ) async throws(TransportError) {
    let descriptors = try Descriptors(loop.eventLoop)
    outputPump = descriptors.outputPump
    do {
      _ = try await NIOPipeBootstrap(group: loop.eventLoop)
        .channelOption(.allowRemoteHalfClosure, value: true)
        .channelOption(.writeBufferWaterMark, value: writeWaterMarks)
        .channelInitializer { channel in
          channel.setUp(owner, number: 0, stuckSecondsMax: stuckSecondsMax)
        }
        .takingOwnershipOfDescriptors(input: descriptors.input, output: descriptors.output).get()
    } catch {
      throw TransportError(.cannotListen, "Standard input and output cannot be used: \(error)")
    }
  }

  /// Opens standard descriptors that are closed, so that no other file gets their numbers.
  ///
  /// A reopened standard input is empty, messages to a reopened standard error are lost, and writes
  /// to a reopened standard output fail as on a closed descriptor. The process must call this
  /// function before it opens any other file.
  package static func ensureOpen() {
    for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
      // The system gives the lowest number that is free.
      _ = unsafe open("/dev/null", descriptor == STDOUT_FILENO ? O_RDONLY : O_RDWR)
    }
  }

  /// Waits until all written bytes are copied.
  ///
  /// - Throws: `TransportError` if standard output cannot be written.
  package func finish() async throws(TransportError) {
    do {
      try await outputPump?.finish()
    } catch {
      let reason = (error as? IOError).map { unsafe String(cString: strerror($0.errnoCode)) }
      throw TransportError(
        .cannotListen,
        "Standard output cannot be written: \(reason ?? "\(error)")"
      )
    }
  }
}

/// The descriptors of a channel over standard streams.
private struct Descriptors {
  let input: CInt
  let output: CInt
  var outputPump: Pump?

  init(_ loop: any EventLoop) throws(TransportError) {
    let null = unsafe open("/dev/null", O_RDWR | O_CLOEXEC)
    guard null > 2 else { throw Self.failure("/dev/null cannot be opened") }
    defer { _ = close(null) }
    guard !Self.isFolder(0) else { throw Self.failure("standard input is a folder") }
    if posix_is_pollable(0) {
      input = Self.privateCopy(of: 0, O_RDONLY)
    } else {
      input = try Pump.reading(Self.privateCopy(of: 0, O_RDONLY), loop)
    }
    if posix_is_pollable(1) {
      output = Self.privateCopy(of: 1, O_WRONLY)
    } else {
      let (writing, pump) = try Pump.writing(fcntl(1, F_DUPFD_CLOEXEC, 3), loop)
      output = writing
      outputPump = pump
    }
    guard input > 2, output > 2 else { throw Self.failure("their descriptors cannot be copied") }
    dup2(null, 0)
    dup2(2, 1)
  }

  private static func isFolder(_ descriptor: CInt) -> Bool {
    var facts = stat()
    return unsafe fstat(descriptor, &facts) == 0 && facts.st_mode & S_IFMT == S_IFDIR
  }

  static func failure(_ reason: String) -> TransportError {
    TransportError(.cannotListen, "Standard input and output cannot be used: \(reason)")
  }

  /// Returns a descriptor for the same stream that no other process shares, if possible.
  ///
  /// NIO makes a descriptor non-blocking, which would affect every process that shares it. Pipes
  /// and terminals can be reopened; sockets can only be duplicated.
  private static func privateCopy(of descriptor: CInt, _ mode: CInt) -> CInt {
    var facts = stat()
    guard unsafe fstat(descriptor, &facts) == 0, facts.st_mode & S_IFMT != S_IFREG else {
      return fcntl(descriptor, F_DUPFD_CLOEXEC, 3)
    }
    // Without `O_NONBLOCK`, opening a named pipe waits for its other end, which may be closed.
    let opened = unsafe open(
      "/proc/self/fd/\(descriptor)",
      mode | O_CLOEXEC | O_NOCTTY | O_NONBLOCK
    )
    return opened >= 0 ? opened : fcntl(descriptor, F_DUPFD_CLOEXEC, 3)
  }
}

/// A copier between a file, which cannot be polled, and a pipe, which can.
///
/// The pump runs on its own thread, because its calls block.
private struct Pump {
  /// The future that completes when everything is copied.
  private let copied: EventLoopFuture<Void>

  /// Returns a pipe that carries the content of a file.
  static func reading(_ file: CInt, _ loop: any EventLoop) throws(TransportError) -> CInt {
    let (reading, writing) = try pipe()
    _ = Pump(from: file, to: writing, loop)
    return reading
  }

  /// Returns a pipe whose content is copied to a file.
  static func writing(
    _ file: CInt,
    _ loop: any EventLoop
  ) throws(TransportError) -> (CInt, Pump) {
    let (reading, writing) = try pipe()
    return (writing, Pump(from: reading, to: file, loop))
  }

  private static func pipe() throws(TransportError) -> (CInt, CInt) {
    var ends: [CInt] = [0, 0]
    guard unsafe Glibc.pipe(&ends) == 0 else {
      throw Descriptors.failure("a pipe cannot be made")
    }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return (ends[0], ends[1])
  }

  private init(from source: CInt, to target: CInt, _ loop: any EventLoop) {
    // Each pump has its own thread. On a shared thread, a pump that waits would block the other
    // pump.
    let pool = NIOThreadPool(numberOfThreads: 1)
    pool.start()
    copied = pool.runIfActive(eventLoop: loop) { try Self.copy(from: source, to: target) }
    copied.whenComplete { _ in pool.shutdownGracefully { _ in } }
  }

  /// Copies until the source ends, or until the target takes no more bytes.
  ///
  /// - Throws: `IOError` if the target cannot be written.
  private static func copy(from source: CInt, to target: CInt) throws {
    defer {
      close(source)
      close(target)
    }
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = unsafe Glibc.read(source, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { break }
      var done = 0
      while done < count {
        let written = unsafe buffer.withUnsafeBytes { bytes in
          unsafe Glibc.write(target, bytes.baseAddress.map { unsafe $0 + done }, count - done)
        }
        if written < 0, errno == EINTR { continue }
        guard written > 0 else {
          throw IOError(errnoCode: written < 0 ? errno : EIO, reason: "write")
        }
        done += written
      }
    }
  }

  /// Waits until everything is copied.
  ///
  /// - Throws: `IOError` if the target cannot be written.
  func finish() async throws {
    try await copied.get()
  }
}
