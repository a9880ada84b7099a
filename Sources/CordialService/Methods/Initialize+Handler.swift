import CordialProtocol
import CordialValues
import JSON
import JSONRPC
import ObjectModel
import PersistentStore
import ProtocolSchemas

extension Service {
  func initialize(_ call: InitializeCall, _ session: Session, _ request: Request) throws {
    session.author = call.author
    session.context = call.context
    session.coalesce = call.coalesce
    session.timeoutSeconds = call.timeoutSeconds
    session.positionEncoding = call.positionEncoding
    session.mergePolicy = try mergePolicy(call.mergePolicy) ?? .error
    let limits = limits.json
    let facts = facts
    let store = store
    read(request) { snapshot, writer in
      let result = InitializeCall.Result(
        name: facts.name,
        version: facts.version,
        protocolVersion: Int64(OpenRPC.protocolVersion),
        limits: limits.members ?? [],
        features: MethodTable.all.filter { $0.direction == .clientToServer }.map(\.name),
        positionEncoding: call.positionEncoding.rawValue,
        store: InitializeCall.Store(
          id: store.identifier,
          token: snapshot.token.description,
          modelName: store.model.name,
          modelVersion: store.model.version,
          modelHash: store.model.hash
        )
      )
      writer.value(result.json)
    }
  }
}
