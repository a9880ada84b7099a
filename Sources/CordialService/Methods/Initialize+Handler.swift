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
      let features = MethodTable.all.filter { $0.direction == .clientToServer }
        .map { JSONValue.string($0.name) }
      writer.value(
        .object([
          .serverInfo: .object([.name: .string(facts.name), .version: .string(facts.version)]),
          .capabilities: .object([
            .cordial: .object([
              .protocolVersion: .integer(Int64(OpenRPC.protocolVersion)), .limits: limits,
              .features: .array(features),
              .positionEncoding: .string(call.positionEncoding.rawValue),
            ])
          ]),
          .store: .object([
            .id: .string(store.identifier), .token: .string(snapshot.token.description),
            .model: .object([
              .name: .string(store.model.name), .version: .string(store.model.version),
              .hash: .string(store.model.hash),
            ]),
          ]),
        ])
      )
    }
  }
}
