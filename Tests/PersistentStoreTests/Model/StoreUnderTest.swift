import CordialValues
import JSON
import ObjectModel
import PersistentHistory
import PersistentStore
import TestStores

/// What the newest commit says of one object.
struct StoreChange {
  let entity: String
  let number: Int64
  let kind: String
  let properties: Set<String>
  /// Attributes, to-ones as numbers, and the former order of an ordered to-many as numbers.
  let before: [String: JSONValue]
  /// The other ends of link rows that were made or removed, as `Entity number`.
  let linked: [String: Set<String>]
  let unlinked: [String: Set<String>]
}

/// A store as the model-based tests see it: requests and answers of the wire.
///
/// No other file of these tests uses the store's interface.
struct StoreUnderTest {
  private let store: TestStore

  /// Opens a new store with a model, or another process on the store of a first one.
  init(model: String, beside first: StoreUnderTest? = nil, rowsTogether: Bool) throws {
    var bulk = BulkLimits()
    if rowsTogether {
      bulk.rowsMin = 1
      bulk.rowsAtOnceMax = 2
    }
    store = try TestStore(first == nil ? model : nil, in: first?.store.folder, bulk: bulk)
  }

  /// Sends `{"method", "params"}`.
  ///
  /// - Returns: `{"result"}` or `{"error": {"code", "message", "data"}}` as on the wire.
  func answer(to request: JSONValue) async throws -> JSONValue {
    do {
      let outcome = try await store.outcome(try Self.text(of: request))
      var members = outcome.body.members ?? []
      members.append(JSONMember("token", .string(outcome.token.description)))
      if request["method"] != "save" {
        members.append(JSONMember("count", .integer(Int64(outcome.count))))
        members.append(JSONMember("ids", .array(outcome.ids.map { .string($0) })))
      }
      if let dryRun = outcome.dryRun {
        let value: JSONValue = [
          "error": dryRun.error.map(Self.wire) ?? .null,
          "delete": .array(dryRun.deletes.map { .string($0) }),
          "update": .array(dryRun.updates.map { .string($0) }),
        ]
        members.append(JSONMember("dryRun", value))
      }
      return ["result": .object(members)]
    } catch let error as StoreError {
      return ["error": Self.wire(error)]
    }
  }

  /// The request in the form of `SaveRequest.init(_:)`.
  ///
  /// - Throws: `invalidRequest` for a transaction that is no UUID, as the protocol refuses it.
  private static func text(of request: JSONValue) throws -> String {
    var params = request["params"]?.members ?? []
    params.append(JSONMember("method", request["method"] ?? "save"))
    if let text = request["params"]?["transaction"]?.string {
      guard let uuid = UUIDText.canonical(text) else {
        throw StoreError(.invalidRequest, "A transaction is a UUID")
      }
      params.removeAll { $0.name == "transaction" }
      params.append(JSONMember("transaction", .string(uuid)))
    }
    switch request["method"]?.string {
    case "delete" where params.contains { $0.name == "predicate" }:
      params.append(JSONMember("deleteMatching", .object(params)))
    case "delete":
      params.append(JSONMember("delete", request["params"]?["ids"] ?? []))
    case "update":
      params.append(JSONMember("updateMatching", .object(params)))
    case "undo", "redo":
      params.append(JSONMember(request["method"]?.string ?? "", request["params"]?["count"] ?? 1))
      if let only = request["params"]?["context"] {
        params.removeAll { $0.name == "context" }
        params.append(JSONMember("only", only))
      }
    default: break
    }
    return JSONValue.object(params).text
  }

  private static func wire(_ error: StoreError) -> JSONValue {
    let codes: [StoreError.Code: Int64] = [
      .unknownEntity: 1002, .unknownProperty: 1003, .predicateInvalid: 1004,
      .objectNotFound: 1101, .validationFailed: 1102, .saveConflict: 1103,
      .invalidIdentifier: 1104, .uniquenessViolation: 1105, .deleteDenied: 1106,
      .historyExpired: 1201, .invalidRequest: -32602,
    ]
    let problems = error.problems.map { $0.json(code: Int(codes[$0.code] ?? -32603)) }
    let more = problems.isEmpty ? [] : [JSONMember("problems", .array(problems))]
    return [
      "code": .integer(codes[error.code] ?? -32603), "message": .string(error.message),
      "data": .object(error.data + more),
    ]
  }

  // MARK: External clients

  /// Runs SQL as an external SQLite client, then has this process seal the changes.
  func external(_ sql: String) async throws {
    try store.foreign(sql)
    try await store.seal()
  }

  /// The rows of a query, columns separated by `|`.
  func rows(_ sql: String) throws -> [String] { try store.rows(sql) }

  // MARK: Reading

  func token() throws -> String { try store.snapshot { $0.token.description } }

  /// The number of the objectID of an object.
  func number(of id: String) throws -> Int64? {
    try store.snapshot { try $0.resolve(id)?.object }
  }

  /// All objects of an entity without its descendants, with all properties.
  func objects(_ entity: String, _ properties: [String]) throws -> [JSONValue] {
    let request: JSONValue = [
      "entity": .string(entity), "subentities": false,
      "select": .array(properties.map { .string($0) }),
    ]
    return try store.fetch(request.text)
  }

  func newestChanges() throws -> [StoreChange] {
    try store.snapshot { snapshot in
      let head = snapshot.head.number
      let commit = try snapshot.log.transactions(after: head - 1, through: head, limit: 1).first
      let model = snapshot.model
      func names(_ links: [String: Set<ObjectKey>]) -> [String: Set<String>] {
        links.mapValues { keys in
          Set(keys.map { "\(model.entity($0.entity).name) \($0.object)" })
        }
      }
      var orders = FormerOrders(snapshot, through: head)
      return try (commit?.changes ?? []).map { change in
        var before = Dictionary(change.before.map { ($0.property, $0.value) }) { $1 }
        for name in before.keys where change.kind == .update {
          guard let commit,
            let order = try orders.order(of: name, change.key, before: commit)
          else { continue }
          before[name] = .array(order.map { .integer($0.object) })
        }
        return StoreChange(
          entity: model.entity(change.key.entity).name,
          number: change.key.object,
          kind: "\(change.kind)",
          properties: change.properties,
          before: before,
          linked: names(change.linked),
          unlinked: names(change.unlinked)
        )
      }
    }
  }

  /// The problems that `store/verify` reports.
  func problems() throws -> JSONValue {
    try store.snapshot { snapshot in
      var verification = StoreVerification(snapshot)
      return try verification.run()["problems"] ?? .null
    }
  }
}
