import CPosix
import Glibc
import NIOCore
import NIOPosix

/// Standard input and output as one channel, whatever they are: pipes, a terminal, files, nothing.
package final class StandardStreams: Sendable {
  /// The thread that copies to a file, which has to be waited for at the end; nil for a pipe.
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
    let descriptors = try Descriptors()
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
  package func finish() {
    outputPump?.join()
  }
}

/// The descriptors of a channel over standard streams.
private struct Descriptors {
  let input: CInt
  let output: CInt
  var outputPump: Pump?

  init() throws(TransportError) {
    let null = unsafe open("/dev/null", O_RDWR | O_CLOEXEC)
    guard null > 2 else { throw Self.failure("/dev/null cannot be opened") }
    defer { _ = close(null) }
    if posix_is_pollable(0) {
      input = Self.privateCopy(of: 0, O_RDONLY)
    } else {
      input = try Pump.reading(Self.privateCopy(of: 0, O_RDONLY))
    }
    if posix_is_pollable(1) {
      output = Self.privateCopy(of: 1, O_WRONLY)
    } else {
      let (writing, pump) = try Pump.writing(fcntl(1, F_DUPFD_CLOEXEC, 3))
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

/// A thread that copies between a file, which cannot be waited for, and a pipe, which can.
private final class Pump: Sendable {
  private let thread: pthread_t

  /// A pipe that carries what a file holds.
  static func reading(_ file: CInt) throws(TransportError) -> CInt {
    let (reading, writing) = try pipe()
    let pump = try Pump(from: file, to: writing)
    pthread_detach(pump.thread)
    return reading
  }

  /// A pipe whose content goes to a file.
  static func writing(_ file: CInt) throws(TransportError) -> (CInt, Pump) {
    let (reading, writing) = try pipe()
    return (writing, try Pump(from: reading, to: file))
  }

  private static func pipe() throws(TransportError) -> (CInt, CInt) {
    var ends: [CInt] = [0, 0]
    guard unsafe Glibc.pipe(&ends) == 0 else {
      throw Descriptors.failure("a pipe cannot be made")
    }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return (ends[0], ends[1])
  }

  private init(from source: CInt, to target: CInt) throws(TransportError) {
    let ends = UnsafeMutablePointer<CInt>.allocate(capacity: 2)
    unsafe ends[0] = source
    unsafe ends[1] = target
    var thread = pthread_t()
    let code = unsafe pthread_create(
      &thread,
      nil,
      { ends in
        guard let ends = unsafe ends?.assumingMemoryBound(to: CInt.self) else { return nil }
        unsafe Pump.copy(from: ends[0], to: ends[1])
        unsafe ends.deallocate()
        return nil
      },
      ends
    )
    guard code == 0 else { throw Descriptors.failure("a thread cannot be started") }
    self.thread = thread
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

  func join() {
    pthread_join(thread, nil)
  }
}
