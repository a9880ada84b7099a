import CordialProtocol
import JSON
public import Logging
import Transport

extension Client {
  /// The event loop for the sockets of all clients.
  private static let loop = TransportLoop()

  /// Connects to the service on a Unix socket.
  ///
  /// - Parameters:
  ///   - path: The socket on which the service listens.
  ///   - logger: The logger for the beginnings and ends of connections; nil for none.
  /// - Returns: The client, which reconnects after its connection ends.
  /// - Throws: `ClientError` if the first attempt fails.
  public static func socket(
    _ path: String,
    logger: Logger? = nil
  ) async throws(ClientError) -> Client {
    try await client(logger) { connection in
      try await SocketLink.connect(connection, path: path, loop: loop)
    }
  }

  /// Starts a service and connects to its standard input and output.
  ///
  ///     let client = try await Client.process("cordial", arguments: ["serve", "Todo.cordial"])
  ///
  /// The service exits when the client is closed or released. If the service ends earlier, the
  /// client starts it again.
  ///
  /// - Parameters:
  ///   - program: The path of the service's program, or its name in `PATH`.
  ///   - arguments: The arguments of the program.
  ///   - logger: The logger for the beginnings and ends of connections; nil for none.
  /// - Returns: The client.
  /// - Throws: `ClientError` if the program cannot run or is not a service.
  public static func process(
    _ program: String,
    arguments: [String],
    logger: Logger? = nil
  ) async throws(ClientError) -> Client {
    try await client(logger) { connection in
      try await SocketLink.start(connection, program: program, arguments: arguments, loop: loop)
    }
  }

  private static func client(
    _ logger: Logger?,
    _ connect: @escaping @Sendable (ClientConnection) async throws -> Void
  ) async throws(ClientError) -> Client {
    try await Client(
      { connection throws(ClientError) in
        do {
          try await connect(connection)
        } catch {
          let cause = error as? TransportError
          throw ClientError(
            code: .connectionEnded,
            message: cause?.message ?? "\(error)",
            data: cause?.hint.map { .object([.hint: .string($0)]) } ?? .null
          )
        }
      },
      pause: pause,
      logger: logger
    )
  }

  /// Waits on a timer of the event loop, and returns whether the loop still runs.
  private static func pause(_ milliseconds: Int) async -> Bool {
    await loop.pause(milliseconds: milliseconds)
  }
}
