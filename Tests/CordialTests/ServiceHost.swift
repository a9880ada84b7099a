import Cordial
import CordialProtocol
import Engine
import JSON
import Logging
import ObjectModel
import PersistentStore
import Synchronization
import TestStores

/// A service in this process, and clients of it whose connections the test can end.
final class ServiceHost: Sendable {
  let engine: Engine
  private let folder: TestFolder
  private let connections = Mutex<[ClientConnection]>([])

  init(_ model: String = TestModels.todo) throws {
    folder = try TestFolder()
    engine = try Engine(
      container: StoreContainer(path: folder.path + "/store"),
      model: try ModelDocument.parse(Array(model.utf8).span),
      mode: .readWrite,
      version: "0",
      log: Logger(label: "client") { _ in SwiftLogNoOpLogHandler() }
    )
  }

  /// Connects a client, whose pauses between two attempts are short.
  ///
  /// - Parameter method: A method whose first request reaches the service, while its response is
  ///   lost with the connection; nil for none.
  /// - Returns: The client.
  /// - Throws: The error of the first attempt.
  func client(losing method: String? = nil) async throws -> Client {
    let remaining = Mutex(method)
    return try await client { connection in
      guard let link = connection.link else { return }
      connection.connect(
        LossyLink(link: link) { bytes in
          let isLost = remaining.withLock { remaining in
            guard let method = remaining,
              String(decoding: bytes, as: UTF8.self).contains("\"method\":\"\(method)\"")
            else { return false }
            remaining = nil
            return true
          }
          if isLost { connection.ended() }
        }
      )
    }
  }

  private func client(
    _ connected: @escaping @Sendable (ClientConnection) -> Void
  ) async throws -> Client {
    try await Client(
      { [weak self] connection throws(ClientError) in
        guard let self else {
          throw ClientError(code: .connectionEnded, message: "The test has ended")
        }
        await engine.connect(connection)
        connected(connection)
        connections.withLock { $0.append(connection) }
      },
      pause: { _ in
        await pauseBriefly()
        return true
      }
    )
  }

  /// Ends all connections, as a service does that is killed.
  func drop() {
    let dropped = connections.withLock { connections in
      defer { connections = [] }
      return connections
    }
    for connection in dropped { connection.close() }
  }

  /// The number of subscriptions that the service has.
  func subscriptionCount(_ client: Client) async throws -> Int64 {
    try await client.call(StatusCall()).subscriptions
  }

  func close() async throws {
    drop()
    try await engine.close()
  }
}

/// A link that reports each message after it was sent.
private struct LossyLink: ClientLink {
  let link: any ClientLink
  let sent: @Sendable ([UInt8]) -> Void

  func send(_ bytes: [UInt8]) {
    link.send(bytes)
    sent(bytes)
  }

  func close() { link.close() }
}

/// Gives the thread to other tasks for a millisecond.
///
/// A task that only yields keeps the thread of its actor, and two of them all threads of a small
/// machine.
private func pauseBriefly() async {
  // The end of a cancelled task's pause is what its caller wants.
  try? await ContinuousClock().sleep(for: .milliseconds(1))
}

/// The reason why a wait ends without success.
struct WaitError: Error {}

/// Waits until a condition holds, for a number of attempts.
///
/// Attempts, and not time, limit the wait: beside many other tests, a minute may pass in which this
/// one and what it waits for do not run.
func wait(
  isolation: isolated (any Actor)? = #isolation,
  until condition: () async throws -> Bool
) async throws {
  for _ in 0..<60_000 {
    if try await condition() { return }
    try Task.checkCancellation()
    await pauseBriefly()
  }
  throw WaitError()
}

/// Runs a body with a service that has groups with titles.
func withService(
  model: String = TestModels.todo,
  groups: [String] = [],
  isolation: isolated (any Actor)? = #isolation,
  _ body: (ServiceHost, Client) async throws -> Void
) async throws {
  let host = try ServiceHost(model)
  let client = try await host.client()
  do {
    if !groups.isEmpty { try await client.insert(groups: groups) }
    try await body(host, client)
  } catch {
    client.close()
    try await host.close()
    throw error
  }
  client.close()
  try await host.close()
}

extension Client {
  /// Inserts groups with titles.
  func insert(groups titles: [String]) async throws {
    let inserts = titles.map { title -> JSONValue in
      ["entity": "Group", "values": ["title": .string(title)]]
    }
    _ = try await call(SaveCall(["insert": .array(inserts), "durability": "normal"]))
  }

  /// Changes the title of a group.
  func rename(_ id: String, _ title: JSONValue) async throws {
    let update: JSONValue = ["id": .string(id), "values": ["title": title]]
    _ = try await call(SaveCall(["update": [update], "durability": "normal"]))
  }

  func delete(_ ids: String...) async throws {
    _ = try await call(DeleteCall(ids: ids))
  }
}
