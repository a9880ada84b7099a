import Synchronization
package import Transport

/// A client's byte stream to a service that listens on a socket or runs as a child process.
package final class SocketLink: ClientLink, ByteChannelOwner {
  private let client: ClientConnection
  private let channel = Mutex<ByteChannel?>(nil)

  /// Connects a client to a service.
  ///
  /// - Parameters:
  ///   - client: The client.
  ///   - path: The socket on which the service listens.
  ///   - loop: The event loop whose thread carries the bytes.
  /// - Throws: `TransportError`.
  package static func connect(
    _ client: ClientConnection,
    path: String,
    loop: TransportLoop
  ) async throws {
    let link = SocketLink(client)
    try await UnixSocketClient.connect(path: path, loop: loop, owner: link)
    client.connect(link)
  }

  /// Starts a service and connects a client to its standard input and output.
  ///
  /// - Parameters:
  ///   - client: The client.
  ///   - program: The path of the service's program, or its name in `PATH`.
  ///   - arguments: The arguments of the program, without its name.
  ///   - loop: The event loop whose thread carries the bytes.
  /// - Throws: `TransportError`.
  static func start(
    _ client: ClientConnection,
    program: String,
    arguments: [String],
    loop: TransportLoop
  ) async throws {
    let link = SocketLink(client)
    try await ServiceProcess.start(program, arguments: arguments, loop: loop, owner: link)
    client.connect(link)
  }

  private init(_ client: ClientConnection) {
    self.client = client
  }

  package func send(_ bytes: [UInt8]) {
    channel.withLock { $0 }?.onLoop { $0.write([bytes]) }
  }

  package func close() {
    channel.withLock { $0 }?.onLoop { $0.close(exitCode: 0) }
  }

  package func opened(_ channel: ByteChannel) {
    self.channel.withLock { $0 = channel }
  }

  package func received(_ bytes: Span<UInt8>, on channel: ByteChannel) {
    client.received(bytes)
  }

  package func inputEnded(on channel: ByteChannel) {
    client.ended()
    channel.close(exitCode: 0)
  }

  package func becameWritable(_ channel: ByteChannel) {}

  package func gaveUp(on channel: ByteChannel, unacceptedBytes: Int) {}

  package func closed(_ channel: ByteChannel) {
    client.ended()
  }
}
