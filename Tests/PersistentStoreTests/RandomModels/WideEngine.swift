import Cordial
import Engine
import JSON
import Logging
import ObjectModel
import PersistentStore

/// Runs a body with a client of a store, which is created where a model is given.
func withWideEngine<Answer>(
  _ path: String,
  _ model: String?,
  _ client: ClientConnection = ClientConnection(),
  _ body: (ClientConnection) async throws -> Answer
) async throws -> Answer {
  let engine = try Engine(
    container: StoreContainer(path: path),
    model: try model.map { try ModelDocument.parse(Array($0.utf8).span) },
    mode: .readWrite,
    version: "0",
    log: Logger(label: "random") { _ in SwiftLogNoOpLogHandler() }
  )
  await engine.connect(client)
  do {
    let answer = try await body(client)
    try await engine.close()
    return answer
  } catch {
    try await engine.close()
    throw error
  }
}
