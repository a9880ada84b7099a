import ArgumentParser
import Cordial
import CordialProtocol
import Engine
import Glibc
import JSON
import Logging
import ObjectModel
import PersistentStore
import Transport

/// The store that a command works on.
struct StoreArgument: ParsableArguments {
  @Argument(help: "The store's folder, or the socket of a running service.")
  var store: String

  init() {}

  /// Creates the argument from a store's folder.
  init(_ container: StoreContainer) { store = container.path }

  /// Whether the argument names a socket.
  var isSocket: Bool {
    var facts = stat()
    return unsafe stat(store, &facts) == 0 && facts.st_mode & S_IFMT == S_IFSOCK
  }

  /// Whether any file exists at the path, such as a store's folder or a socket.
  var exists: Bool { unsafe access(store, F_OK) == 0 }

  /// Opens the store, or connects to its service, for the duration of a call.
  ///
  /// `purpose` states what the command does with a store that it opens itself.
  func with<Result>(
    model: String? = nil,
    creating: Model? = nil,
    for purpose: Engine.Purpose = .command,
    traced: (@Sendable (Bool, [UInt8]) -> Void)? = nil,
    notified: @escaping @Sendable (String, JSONValue) -> Void = { _, _ in },
    whenEnded: @escaping @Sendable () -> Void = {},
    _ body: (ClientConnection) async throws -> Result
  ) async throws -> Result {
    let client = ClientConnection(traced: traced, notified: notified, whenEnded: whenEnded)
    if isSocket {
      let loop = TransportLoop()
      do {
        try await SocketLink.connect(client, path: store, loop: loop)
        let result = try await body(client)
        client.close()
        try await loop.shutdown()
        return result
      } catch {
        client.close()
        try await loop.shutdown()
        throw error
      }
    }
    let engine = try engine(model: model, creating: creating, for: purpose)
    await engine.connect(client)
    do {
      let result = try await body(client)
      try await engine.close()
      return result
    } catch {
      try await engine.close()
      throw error
    }
  }
}

extension StoreArgument {
  /// Connects a client to the store for the duration of a call.
  ///
  /// A client of a socket connects again when its connection ends.
  func withClient<Result>(_ body: (Client) async throws -> Result) async throws -> Result {
    guard !isSocket else {
      let client = try await Client.socket(store)
      defer { client.close() }
      return try await body(client)
    }
    let engine = try engine(for: .service)
    do {
      let client = try await Client(
        { connection throws(ClientError) in await engine.connect(connection) },
        pause: { _ in false }
      )
      let result = try await body(client)
      client.close()
      try await engine.close()
      return result
    } catch {
      try await engine.close()
      throw error
    }
  }

  /// Opens the store's folder.
  private func engine(
    model: String? = nil,
    creating: Model? = nil,
    for purpose: Engine.Purpose
  ) throws -> Engine {
    try Engine(
      container: StoreContainer(path: Paths.absolute(store)),
      model: try model.map { try ModelFile.read($0) } ?? creating,
      earlier: { try ModelFile.earlier(model) },
      mode: .readWrite,
      purpose: purpose,
      version: CordialProgram.version,
      log: Logging.quiet
    )
  }
}

/// Functions that make paths of a user absolute, and the path of temporary files.
enum Paths {
  /// The folder of temporary files: `TMPDIR`, or `/tmp` without it.
  static var temporary: String {
    let named = unsafe getenv("TMPDIR").map { unsafe String(cString: $0) } ?? ""
    return named.isEmpty ? "/tmp" : absolute(named)
  }

  static func absolute(_ path: String) -> String {
    guard !path.hasPrefix("/") else { return trimmed(path) }
    guard let folder = unsafe getcwd(nil, 0) else { return path }
    defer { unsafe free(folder) }
    return trimmed(unsafe String(cString: folder) + "/" + path)
  }

  private static func trimmed(_ path: String) -> String {
    var path = path
    while path.count > 1, path.hasSuffix("/") { path.removeLast() }
    return path
  }
}

/// Loggers of the program.
enum Logging {
  /// Returns a logger to standard error, for a service.
  static func service(_ level: Logger.Level) -> Logger {
    var logger = Logger(label: "cordial") { StreamLogHandler(label: $0, stream: LogStream()) }
    logger.logLevel = level
    return logger
  }

  /// The logger of errors only, for a command that opens the store itself.
  static var quiet: Logger { service(.error) }
}

/// The log on standard error, with visible control characters on a terminal.
private struct LogStream: TextOutputStream, Sendable {
  mutating func write(_ text: String) { Terminal.log(text) }
}

extension ClientConnection {
  /// The maximum number of times that a command waits for the index; all waits together take at
  /// most five minutes.
  private static let catchUpMax = 60

  /// Waits until the index of a store that a command has just opened has caught up.
  ///
  /// - Throws: The error of the last wait, if the index is neither catching up nor being rebuilt,
  ///   or after `catchUpMax` waits.
  func catchUp() async throws {
    for attempt in 1... {
      do {
        _ = try await call(FlushCall())
        return
      } catch {
        let status = try await call(IndexStatusCall())
        let isBusy = ["catchingUp", "rebuilding"].contains(status.state)
        guard isBusy, attempt < Self.catchUpMax else { throw error }
        if let activity = status.activity {
          Terminal.note("Waiting for the index, \(activity)\n")
        }
      }
    }
  }
}
