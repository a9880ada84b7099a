import Transport

extension Client {
  /// The thread of the sockets of all clients.
  private static let loop = TransportLoop()

  /// Connects to the service on a Unix socket.
  ///
  /// - Parameter path: The socket on which the service listens.
  /// - Returns: The client, which connects again after its connection has ended.
  /// - Throws: `ClientError` where the first attempt fails.
  public static func socket(_ path: String) async throws(ClientError) -> Client {
    try await Client(
      { connection throws(ClientError) in
        do {
          try await SocketLink.connect(connection, path: path, loop: loop)
        } catch {
          let message = (error as? TransportError)?.message ?? "\(error)"
          throw ClientError(code: .connectionEnded, message: message)
        }
      },
      pause: pause
    )
  }

  /// Waits on the thread of the sockets.
  private static func pause(_ milliseconds: Int) async {
    await withCheckedContinuation { continuation in
      loop.schedule(milliseconds: milliseconds) { continuation.resume() }
    }
  }
}
