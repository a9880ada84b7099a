import CordialProtocol
import CordialValues
import JSON
import JSONRPC
import ObjectModel
import PersistentStore

extension Service {
  func save(_ call: SaveCall, _ session: Session, _ request: Request) throws {
    guard call.count <= limits.saveChangesMax else {
      throw Limits.exceeded(
        "saveChanges",
        max: limits.saveChangesMax,
        "A save has at most \(limits.saveChangesMax) changes, this one has \(call.count)"
      )
    }
    let changes = SaveRequest(
      inserts: call.inserts.map { .init(id: $0.id, entity: $0.entity, values: $0.values) },
      updates: call.updates.map { .init(id: $0.id, version: $0.version, values: $0.values) },
      deletes: call.deletes.map { .init(id: $0.id, version: $0.version) },
      author: call.author ?? session.author,
      context: call.context ?? session.context,
      process: facts.process,
      durability: call.isDurable ? .full : .normal,
      mergePolicy: call.mergePolicy.flatMap { .init(rawValue: $0) } ?? session.mergePolicy,
      transaction: call.transaction
    )
    write(changes, request) { outcome, writer in
      writer.raw("{\"token\":\"")
      writer.raw(string: outcome.token.description)
      writer.raw("\",")
      writer.raw(outcome.body)
      writer.raw("}")
    }
  }

  func delete(_ call: DeleteCall, _ session: Session, _ request: Request) throws {
    guard call.ids.count <= limits.saveChangesMax else {
      throw Limits.exceeded(
        "saveChanges",
        max: limits.saveChangesMax,
        "A delete names at most \(limits.saveChangesMax) objects"
      )
    }
    let matching = call.entity.map { entity in
      FetchRequest(
        entity: entity,
        predicate: call.predicate,
        arguments: PredicateArguments(call.arguments)
      )
    }
    let changes = SaveRequest(
      deletes: call.ids.map { .init(id: $0, version: nil) },
      deleteMatching: matching,
      author: call.author ?? session.author,
      context: call.context ?? session.context,
      process: facts.process,
      durability: call.isDurable ? .full : .normal
    )
    write(changes, request) { outcome, writer in
      writer.raw("{\"token\":\"")
      writer.raw(string: outcome.token.description)
      writer.raw("\",\"count\":")
      writer.integer(Int64(outcome.deleteCount))
      if call.returnsIDs {
        writer.raw(",\"ids\":")
        writer.value(.array(outcome.deleted.map { .string($0) }))
      }
      writer.raw("}")
    }
  }

  /// Hands a transaction to the writer; its answer goes out before anybody hears of it.
  private func write(
    _ changes: SaveRequest,
    _ request: Request,
    _ body: @escaping @Sendable (SaveOutcome, inout JSONWriter) -> Void
  ) {
    store.save(changes) { outcome in
      let answer: Result<MessageBytes, RPCError>
      switch outcome {
      case .success(let saved):
        var writer = JSONWriter(reserving: saved.body.count + 128)
        MessageWriter.beginResult(request.id, &writer)
        body(saved, &writer)
        writer.raw("}")
        answer = .success(MessageBytes(writer))
      case .failure(let error): answer = .failure(RPCError(error))
      }
      self.onLoop { service in
        if case .success(let saved) = outcome {
          service.answeredCommit = max(service.answeredCommit, saved.token.number)
        }
        service.finish(request, answer)
        service.sessions[request.session]?.flush()
        if case .success(let saved) = outcome { service.committed(saved.token.number) }
      }
    }
  }
}
