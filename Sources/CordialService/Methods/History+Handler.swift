import CordialProtocol
import CordialValues
import JSON
import JSONRPC
import ObjectModel
import PersistentHistory
import PersistentStore

extension Service {
  func history(_ call: HistoryCall, _ request: Request) throws {
    let since = try call.since.map { text in
      guard let token = StoreToken(text) else {
        throw RPCError(.invalidParams, "history: \"\(text)\" is no token")
      }
      return token
    }
    let bytesMax = limits.answerBytesMax
    read(request) { snapshot, writer in
      try HistoryAnswer(call: call, snapshot: snapshot)
        .write(since: since, bytesMax: bytesMax, to: &writer)
    }
  }
}

/// Writes what `history` answers.
private struct HistoryAnswer {
  let call: HistoryCall
  let snapshot: StoreSnapshot

  func write(since: StoreToken?, bytesMax: Int, to writer: inout JSONWriter) throws {
    let entities = try call.entities.map { try EntityNames.numbers($0, in: snapshot.model) }
    let start = try since.map { try snapshot.position(of: $0) } ?? snapshot.oldest().number
    var last = start
    var isFirst = true
    writer.raw("{\"transactions\":[")
    try snapshot.log.eachCommit(
      after: start,
      through: snapshot.head.number,
      limit: call.limit
    ) { transaction in
      last = transaction.number
      guard let json = try json(transaction, entities) else { return }
      if !isFirst { writer.raw(",") }
      isFirst = false
      writer.value(json)
      writer.cutIfLong()
      try StoreSnapshot.check(writer, bytesMax)
    }
    writer.raw("]")
    writer.raw(",\"token\":\"")
    writer.raw(string: try snapshot.token(of: last).description)
    writer.raw("\",\"more\":")
    writer.bool(last < snapshot.head.number)
    writer.raw("}")
  }

  /// nil for a commit that the filters leave nothing of.
  private func json(_ transaction: HistoryTransaction, _ entities: Set<Int>?) throws -> JSONValue? {
    if let authors = call.authors, !authors.contains(transaction.author) { return nil }
    let changes = transaction.changes.filter { entities?.contains($0.key.entity) ?? true }
    if entities != nil, changes.isEmpty { return nil }
    return [
      "token": .string(
        StoreToken(
          generation: snapshot.token.generation,
          number: transaction.number,
          mark: transaction.mark
        ).description
      ),
      "time": .string(DateText.text(transaction.time) ?? ""),
      "author": transaction.author.map { .string($0) } ?? nil,
      "context": transaction.context.map { .string($0) } ?? nil,
      "process": transaction.process.map { .string($0) } ?? nil,
      "changes": .array(try changes.map(json)),
    ]
  }

  private func json(_ change: HistoryChange) throws -> JSONValue {
    let entity = snapshot.model.entity(change.key.entity)
    var before = try change.before.map {
      JSONMember($0.property, try snapshot.json($0, of: entity))
    }
    for property in Set(change.linked.keys).union(change.unlinked.keys).sorted() {
      // What would undo the change: pairs that went come back, those that came go.
      before.append(
        JSONMember(
          property,
          [
            "@add": try ids(change.unlinked[property]), "@remove": try ids(change.linked[property]),
          ]
        )
      )
    }
    return [
      "id": .string(try snapshot.wrappedID(change.key).description),
      "change": .string(change.kind.rawValue),
      "properties": .array(
        change.kind == .update ? change.properties.sorted().map { .string($0) } : []
      ),
      "before": .object(change.kind == .insert ? [] : before),
    ]
  }

  private func ids(_ keys: Set<ObjectKey>?) throws -> JSONValue {
    .array(try (keys ?? []).sorted().map { .string(try snapshot.wrappedID($0).description) })
  }
}
