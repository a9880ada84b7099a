import CordialProtocol
import CordialValues
import JSON
import JSONRPC
import ObjectModel
import PersistentHistory
import PersistentStore

extension Service {
  func history(_ call: HistoryCall, _ request: Request) throws {
    let since = try call.since.map { text in try HistoryStart(text) }
    let limits = limits
    read(request) { snapshot, writer in
      try HistoryAnswer(call: call, snapshot: snapshot, limits: limits)
        .write(since: since, to: &writer)
    }
  }
}

/// The position after which a result of `history` begins.
private enum HistoryStart {
  case token(StoreToken)
  /// Milliseconds since 1970.
  case date(Int64)

  init(_ text: String) throws(RPCError) {
    if let token = StoreToken(text) {
      self = .token(token)
    } else if let date = DateText.milliseconds(text) {
      self = .date(date)
    } else {
      throw RPCError(
        .invalidParams,
        "history: \"\(text.prefix(100))\" is neither a token nor a date"
      )
    }
  }

  /// Returns the number of the commit before the first one of the result.
  func position(in snapshot: StoreSnapshot) throws -> Int64 {
    switch self {
    case .token(let token): try snapshot.position(of: token)
    case .date(let time): try snapshot.lastCommit(before: time)
    }
  }
}

/// The encoder of a result of `history`.
private struct HistoryAnswer {
  let call: HistoryCall
  let snapshot: StoreSnapshot
  let limits: Limits

  func write(since: HistoryStart?, to writer: inout JSONWriter) throws {
    let entities = try call.entities.map { try EntityNames.loggedNumbers($0, in: snapshot.model) }
    let start = try since.map { try $0.position(in: snapshot) } ?? snapshot.oldest().number
    let pageEnd = start.addingReportingOverflow(Int64(call.limit))
    var orders = FormerOrders(snapshot, through: pageEnd.overflow ? .max : pageEnd.partialValue)
    var last = start
    var isFirst = true
    writer.raw("{\"transactions\":[")
    try snapshot.log.eachCommit(
      after: start,
      through: snapshot.head.number,
      limit: call.limit,
      changesMax: limits.historyChangesMax
    ) { transaction in
      if let json = try json(transaction, entities, &orders) {
        var commit = JSONWriter()
        commit.value(json)
        if writer.count + commit.count > limits.answerBytesMax {
          // The page ends before this commit. A commit that fits no page is returned without its
          // changes.
          guard isFirst,
            let short = try self.json(
              transaction,
              entities,
              &orders,
              omitsChanges: true
            )
          else {
            return false
          }
          commit = JSONWriter()
          commit.value(short)
        }
        if !isFirst { writer.raw(",") }
        isFirst = false
        for piece in commit.pieces { writer.raw(piece) }
        writer.splitIfLong()
      }
      last = transaction.number
      return true
    }
    writer.raw("]")
    writer.raw(",\"token\":\"")
    writer.raw(string: try snapshot.token(of: last).description)
    writer.raw("\",\"more\":")
    writer.bool(last < snapshot.head.number)
    writer.raw("}")
  }

  /// Returns a commit in its wire form, or nil if the filters exclude it.
  private func json(
    _ transaction: HistoryTransaction,
    _ entities: Set<Int>?,
    _ orders: inout FormerOrders,
    omitsChanges: Bool = false
  ) throws -> JSONValue? {
    if let authors = call.authors, !authors.contains(where: { $0.includes(transaction.author) }) {
      return nil
    }
    let omitsChanges = omitsChanges || transaction.changeCount > limits.historyChangesMax
    let changes = transaction.changes.filter { entities?.contains($0.key.entity) ?? true }
    // The entities of left-out changes are unknown, so that the filter cannot exclude the commit.
    if entities != nil, changes.isEmpty, !omitsChanges { return nil }
    let token = StoreToken(
      generation: snapshot.token.generation,
      number: transaction.number,
      mark: transaction.mark
    )
    func text(_ value: String?) -> JSONValue { value.map { .string($0) } ?? .null }
    let shown = omitsChanges ? [] : try changes.map { try json($0, of: transaction, &orders) }
    var members = [
      JSONMember("token", .string(token.description)),
      JSONMember("time", .string(DateText.text(transaction.time) ?? "")),
      JSONMember("author", text(transaction.author)),
      JSONMember("context", text(transaction.context)),
      JSONMember("process", text(transaction.process)),
      JSONMember("changes", .array(shown)),
    ]
    if omitsChanges {
      members.append(JSONMember("leftOut", .integer(Int64(transaction.changeCount))))
    }
    return .object(members)
  }

  private func json(
    _ change: HistoryChange,
    of transaction: HistoryTransaction,
    _ orders: inout FormerOrders
  ) throws -> JSONValue {
    let entity = snapshot.model.entity(change.key.entity)
    let linked = Set(change.linked.keys).union(change.unlinked.keys)
    var before: [JSONMember] = []
    // A tombstone has the preserved attributes only, if the entity has any.
    let preserved = Set(entity.attributes.filter(\.isPreserved).map(\.name))
    let hidesOthers = change.kind == .delete && !preserved.isEmpty
    // A list with changed links and a changed order is listed once, with its links.
    for value in change.before
    where !linked.contains(value.property) && (!hidesOthers || preserved.contains(value.property)) {
      // The type of a property that the model no longer has is not known, and null would be wrong.
      guard entity.property(named: value.property) != nil else { continue }
      guard case .relationship(let list)? = entity.property(named: value.property), list.toMany
      else {
        before.append(JSONMember(value.property, try snapshot.json(value, of: entity)))
        continue
      }
      // A delete logs attributes and to-ones only.
      guard change.kind == .update,
        let order = try orders.order(of: list.name, change.key, before: transaction)
      else { continue }
      before.append(JSONMember(list.name, try ids(order)))
    }
    for property in linked.sorted() {
      // The value that would revert the change: it adds removed links and removes added links.
      before.append(
        JSONMember(
          property,
          [
            "@add": try ids((change.unlinked[property] ?? []).sorted()),
            "@remove": try ids((change.linked[property] ?? []).sorted()),
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

  private func ids(_ keys: [ObjectKey]) throws -> JSONValue {
    .array(try keys.map { .string(try snapshot.wrappedID($0).description) })
  }
}
