import CPosix
import Glibc
import NIOCore
import NIOPosix

/// Standard input and output as one channel, whatever they are: pipes, a terminal, files, nothing.
package final class StandardStreams: Sendable {
  /// Copies to a file, and has to be waited for at the end; nil for a pipe.
  private let outputPump: Pump?

  /// Takes standard input and output away from the rest of the process and opens a channel.
  ///
  /// Afterwards standard input is empty, and whatever else writes to standard output goes to
  /// standard error.
  ///
  /// - Parameters:
  ///   - loop: The thread of the channel.
  ///   - owner: Who is told what happens on it.
  ///   - stuckSecondsMax: How long a peer may take nothing before it is cut.
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
        .channelOption(.writeBufferWaterMark, value: writeMarks)
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
  /// To be called before anything else in the process opens a file.
  package static func ensureOpen() {
    var descriptor = unsafe open("/dev/null", O_RDWR)
    while descriptor >= 0, descriptor <= 2 { descriptor = unsafe open("/dev/null", O_RDWR) }
    if descriptor > 2 { _ = close(descriptor) }
  }

  /// Waits until everything that was written has arrived.
  ///
  /// - Throws: `TransportError` when the copying could not run.
  package func finish() async throws(TransportError) {
    do {
      try await outputPump?.finish()
    } catch {
      throw TransportError(.cannotListen, "Standard output cannot be written: \(error)")
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

  static func failure(_ why: String) -> TransportError {
    TransportError(.cannotListen, "Standard input and output cannot be used: \(why)")
  }

  /// NIO makes a descriptor non-blocking, which would hit whoever shares it: pipes and terminals
  /// can be opened anew, sockets only copied.
  private static func privateCopy(of descriptor: CInt, _ mode: CInt) -> CInt {
    var facts = stat()
    guard unsafe fstat(descriptor, &facts) == 0, facts.st_mode & S_IFMT != S_IFREG else {
      return fcntl(descriptor, F_DUPFD_CLOEXEC, 3)
    }
    // Opening a named pipe waits for its other end, which may have come and gone.
    let opened = unsafe open(
      "/proc/self/fd/\(descriptor)",
      mode | O_CLOEXEC | O_NOCTTY | O_NONBLOCK
    )
    return opened >= 0 ? opened : fcntl(descriptor, F_DUPFD_CLOEXEC, 3)
  }
}

/// Copies between a file, which cannot be polled, and a pipe, which can, on a thread for blocking
/// calls.
private struct Pump {
  /// Completes when everything is copied.
  private let copied: EventLoopFuture<Void>

  /// Returns a pipe that carries what a file holds.
  static func reading(_ file: CInt, _ loop: any EventLoop) throws(TransportError) -> CInt {
    let (reading, writing) = try pipe()
    _ = Pump(from: file, to: writing, loop)
    return reading
  }

  /// Returns a pipe whose content goes to a file.
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
    // Each pump has a thread of its own: where two shared one, input could wait for output.
    let pool = NIOThreadPool(numberOfThreads: 1)
    pool.start()
    copied = pool.runIfActive(eventLoop: loop) { Self.copy(from: source, to: target) }
    copied.whenComplete { _ in pool.shutdownGracefully { _ in } }
  }

  private static func copy(from source: CInt, to target: CInt) {
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
        guard written > 0 else { break }
        done += written
      }
      if done < count { break }
    }
    close(source)
    close(target)
  }

  /// Waits until everything is copied.
  func finish() async throws {
    try await copied.get()
  }
}
