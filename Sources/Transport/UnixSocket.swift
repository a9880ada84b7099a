import CPosix
import Glibc
import NIOCore
import NIOPosix
import Synchronization

/// A Unix socket that serves peers of the process's own user.
package final class UnixSocketListener: Sendable {
  /// The longest path that fits a socket's address, in bytes.
  package static let pathBytesMax = 107

  package let path: String
  private let channel: any Channel
  /// The inode of the socket that this listener created, so that `close` removes no other file.
  private let inode: UInt64

  /// Listens at a path.
  ///
  /// No other user may write to the folder. A leftover socket that no process answers is replaced.
  /// The caller must hold the store's lock, so that two processes never replace a socket at once.
  ///
  /// - Parameters:
  ///   - path: The path of the socket, at most 107 bytes.
  ///   - loop: The thread of its channels.
  ///   - owner: The receiver of the channels' events.
  ///   - stuckSecondsMax: The seconds after which a peer that accepts no bytes is disconnected.
  /// - Throws: `TransportError` with one sentence for a person.
  package init(
    path: String,
    loop: TransportLoop,
    owner: any ByteChannelOwner,
    stuckSecondsMax: Int
  ) async throws(TransportError) {
    DescriptorLimit.raiseToMaximum()
    try DescriptorLimit.check(DescriptorLimit.listenerMin)
    try Self.check(path)
    try Self.clear(path)
    let numbers = Atomic<Int>(0)
    let counter = Counter(numbers: numbers)
    let bootstrap = ServerBootstrap(group: loop.eventLoop)
      .childChannelOption(.allowRemoteHalfClosure, value: true)
      .childChannelOption(.writeBufferWaterMark, value: writeWaterMarks)
      .childChannelInitializer { channel in
        Self.admit(channel).flatMap {
          channel.setUp(owner, number: counter.next(), stuckSecondsMax: stuckSecondsMax)
        }
      }
    let descriptor = try Self.bind(path)
    do {
      channel = try await bootstrap.withBoundSocket(descriptor).get()
      // SwiftNIO limits the waiting connections to 128, so a second `listen` call raises the limit.
      _ = listen(descriptor, Self.waitingMax)
    } catch {
      unsafe unlink(path)
      throw TransportError(.cannotListen, "Listening at \(path) failed: \(error)")
    }
    self.path = path
    inode = Self.facts(path)?.inode ?? 0
  }

  /// Stops accepting peers; connected peers stay.
  package func close() async throws {
    if Self.facts(path)?.inode == inode { unsafe unlink(path) }
    try await channel.close()
  }

  // MARK: Checks

  private static func check(_ path: String) throws(TransportError) {
    guard path.utf8.count <= pathBytesMax else {
      throw TransportError(
        .invalidPath,
        "The path \(path) is longer than a socket's address can be",
        hint: "At most \(pathBytesMax) bytes: name a shorter one, perhaps in XDG_RUNTIME_DIR"
      )
    }
    let folder = folder(of: path)
    guard let facts = facts(folder, followsLink: true) else {
      throw TransportError(.invalidPath, "There is no folder \(folder) for the socket")
    }
    guard facts.owner == geteuid() || facts.owner == 0, facts.mode & 0o022 == 0 else {
      throw TransportError(
        .insecureFolder,
        "Others may write to \(folder), and could put their socket there",
        hint: "Name a folder of your own"
      )
    }
  }

  private static func folder(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  private static func facts(
    _ path: String,
    followsLink: Bool = false
  ) -> (owner: uid_t, mode: mode_t, inode: UInt64)? {
    var facts = stat()
    guard unsafe (followsLink ? stat(path, &facts) : lstat(path, &facts)) == 0 else { return nil }
    return (facts.st_uid, facts.st_mode, UInt64(facts.st_ino))
  }

  /// Removes a socket that no process answers, and rejects any other file at the path.
  private static func clear(_ path: String) throws(TransportError) {
    guard let facts = facts(path) else { return }
    guard facts.mode & S_IFMT == S_IFSOCK else {
      throw TransportError(.invalidPath, "\(path) is there, and is no socket")
    }
    switch answer(path) {
    case .connected:
      throw TransportError(
        .alreadyServed,
        "Another process answers at \(path) already",
        hint: "Connect to it, or name another path"
      )
    case .refused: unsafe unlink(path)
    case .unknown(let number):
      let reason = unsafe String(cString: strerror(number))
      throw TransportError(
        .cannotListen,
        "It cannot be found out whether a process answers at \(path): \(reason)"
      )
    }
  }

  /// Creates a socket at a path, accessible only to this user from the start.
  ///
  /// Linux takes the mode of the file from the descriptor. A `umask` would also change the files
  /// that other threads and started programs create meanwhile. A later `chmod` would leave the
  /// socket accessible for a moment.
  ///
  /// - Returns: The descriptor of the socket, which does not listen yet.
  private static func bind(_ path: String) throws(TransportError) -> CInt {
    let descriptor = socket(AF_UNIX, socketType, 0)
    let isBound =
      unsafe descriptor >= 0 && fchmod(descriptor, 0o600) == 0
      && withAddress(path) { unsafe Glibc.bind(descriptor, $0, $1) } == 0
    guard isBound else {
      let reason = unsafe String(cString: strerror(errno))
      if descriptor >= 0 { _ = Glibc.close(descriptor) }
      throw TransportError(.cannotListen, "Listening at \(path) failed: \(reason)")
    }
    return descriptor
  }

  /// The maximum number of connections that wait to be accepted.
  private static let waitingMax: CInt = 256

  private static let socketType =
    CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)

  private static func withAddress(
    _ path: String,
    _ body: (UnsafePointer<sockaddr>, socklen_t) -> CInt
  ) -> CInt {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { bytes in
      unsafe bytes.copyBytes(from: path.utf8.prefix(pathBytesMax))
    }
    let size = socklen_t(MemoryLayout<sockaddr_un>.size)
    return unsafe withUnsafePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe body($0, size) }
    }
  }

  /// The result of connecting to a socket.
  private enum Answer {
    /// A process listens, even if its queue of connections is full.
    case connected
    /// No process listens.
    case refused
    /// The connection failed for a different reason, with this system error number.
    case unknown(CInt)
  }

  /// Connects to a socket without waiting.
  ///
  /// If a process listens but accepts no connections, its queue stays full, and a wait would never
  /// end.
  private static func answer(_ path: String) -> Answer {
    let descriptor = socket(AF_UNIX, socketType, 0)
    guard descriptor >= 0 else { return .unknown(errno) }
    defer { _ = Glibc.close(descriptor) }
    let code = unsafe withAddress(path) { unsafe connect(descriptor, $0, $1) }
    guard code != 0 else { return .connected }
    switch errno {
    case EAGAIN, EINPROGRESS: return .connected
    case ECONNREFUSED, ENOENT: return .refused
    case let number: return .unknown(number)
    }
  }

  /// Rejects a peer of a different user, and a peer with a descriptor that is reserved for the
  /// process.
  private static func admit(_ channel: any Channel) -> EventLoopFuture<Void> {
    do {
      let isAdmitted = try channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(
        of: NIOBSDSocket.Handle.self
      ) { DescriptorLimit.admits(peer: $0) }
      guard isAdmitted == true else { throw ChannelError.operationUnsupported }
    } catch {
      return channel.eventLoop.makeFailedFuture(error)
    }
    guard let provider = channel as? any SocketOptionProvider else {
      return channel.eventLoop.makeFailedFuture(ChannelError.operationUnsupported)
    }
    // The layout of `ucred` on Linux: process, user, group.
    typealias Credentials = (process: pid_t, user: uid_t, group: gid_t)
    let found: EventLoopFuture<Credentials> = provider.unsafeGetSocketOption(
      level: .socket,
      name: .init(rawValue: SO_PEERCRED)
    )
    return found.flatMapThrowing { credentials in
      guard credentials.user == geteuid() else { throw ChannelError.operationUnsupported }
    }
  }
}

/// The counter that numbers a listener's channels.
private final class Counter: Sendable {
  private let numbers: Atomic<Int>

  init(numbers: consuming Atomic<Int>) {
    self.numbers = numbers
  }

  func next() -> Int { numbers.add(1, ordering: .relaxed).newValue }
}

/// A client's end of a Unix socket.
package enum UnixSocketClient {
  /// Connects to a socket.
  ///
  /// - Parameters:
  ///   - path: The path of a socket on which a service listens.
  ///   - loop: The thread of the channel.
  ///   - owner: The receiver of the channel's events.
  /// - Throws: `TransportError`.
  package static func connect(
    path: String,
    loop: TransportLoop,
    owner: any ByteChannelOwner
  ) async throws(TransportError) {
    do {
      _ = try await ClientBootstrap(group: loop.eventLoop)
        .channelOption(.writeBufferWaterMark, value: writeWaterMarks)
        .channelInitializer { $0.setUp(owner, number: 0, stuckSecondsMax: 3600) }
        .connect(unixDomainSocketPath: path).get()
    } catch {
      throw TransportError(
        .cannotConnect,
        "No service answers at \(path): \(error)",
        path: path
      )
    }
  }
}
