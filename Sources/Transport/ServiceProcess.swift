import Glibc
import NIOCore
import NIOPosix

/// A program that this process starts, and whose standard input and output are one channel.
package enum ServiceProcess {
  /// Starts a program and opens the channel.
  ///
  /// When the channel ends, the input of the program ends, and a program that is a service then
  /// exits. The program shares the standard error of this process.
  ///
  /// - Parameters:
  ///   - program: The path of the program; a name without a slash is searched in `PATH`.
  ///   - arguments: The arguments after the name.
  ///   - loop: The thread of the channel.
  ///   - owner: The receiver of the channel's events.
  /// - Throws: `TransportError`.
  package static func start(
    _ program: String,
    arguments: [String],
    loop: TransportLoop,
    owner: any ByteChannelOwner
  ) async throws(TransportError) {
    let (ours, theirs) = try sockets(program)
    let child: pid_t
    do throws(TransportError) {
      child = try spawn(program, arguments, on: theirs)
    } catch {
      close(ours)
      throw error
    }
    reap(child)
    do {
      _ = try await ClientBootstrap(group: loop.eventLoop)
        .channelOption(.writeBufferWaterMark, value: writeWaterMarks)
        .channelInitializer { $0.setUp(owner, number: 0, stuckSecondsMax: 3600) }
        .withConnectedSocket(ours).get()
    } catch {
      throw failure(program, "\(error)")
    }
  }

  private static func failure(_ program: String, _ reason: String) -> TransportError {
    TransportError(.cannotConnect, "\(program) cannot be run: \(reason)")
  }

  private static func sockets(_ program: String) throws(TransportError) -> (CInt, CInt) {
    var ends: [CInt] = [0, 0]
    // A program that a different thread starts at the same time must not inherit the sockets.
    let type = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
    guard unsafe socketpair(AF_UNIX, type, 0, &ends) == 0 else {
      throw failure(program, unsafe String(cString: strerror(errno)))
    }
    return (ends[0], ends[1])
  }

  /// Starts the program with a socket as its standard input and output, and closes the socket.
  private static func spawn(
    _ program: String,
    _ arguments: [String],
    on socket: CInt
  ) throws(TransportError) -> pid_t {
    defer { close(socket) }
    let (child, code) = ProgramStart.start(program, arguments, input: socket, output: socket)
    guard code == 0 else { throw failure(program, unsafe String(cString: strerror(code))) }
    return child
  }

  /// Collects the exit code of a program, so that no zombie process remains.
  private static func reap(_ child: pid_t) {
    let pool = NIOThreadPool(numberOfThreads: 1)
    pool.start()
    pool.submit { _ in
      var status: CInt = 0
      while unsafe waitpid(child, &status, 0) < 0, errno == EINTR {}
      pool.shutdownGracefully { _ in }
    }
  }
}
