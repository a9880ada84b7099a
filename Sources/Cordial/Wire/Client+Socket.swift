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
    try await client { connection in
      try await SocketLink.connect(connection, path: path, loop: loop)
    }
  }

  /// Starts a service and connects to its standard input and output.
  ///
  ///     let client = try await Client.process("cordial", arguments: ["serve", "Todo.cordial"])
  ///
  /// The service exits when the client is closed or released. After a service has ended, the
  /// client starts another one.
  ///
  /// - Parameters:
  ///   - program: The path of the service's program, or its name in `PATH`.
  ///   - arguments: The arguments of the program.
  /// - Returns: The client.
  /// - Throws: `ClientError` where the program cannot be run or does not serve.
  public static func process(
    _ program: String,
    arguments: [String]
  ) async throws(ClientError) -> Client {
    try await client { connection in
      try await SocketLink.start(connection, program: program, arguments: arguments, loop: loop)
    }
  }

  private static func client(
    _ connect: @escaping @Sendable (ClientConnection) async throws -> Void
  ) async throws(ClientError) -> Client {
    try await Client(
      { connection throws(ClientError) in
        do {
          try await connect(connection)
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
