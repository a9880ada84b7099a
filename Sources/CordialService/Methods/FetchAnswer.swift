import CordialProtocol
import CordialValues
import JSON
import JSONRPC
import ObjectModel
import PersistentHistory
import PersistentStore

extension FetchCall {
  /// The request in the store's form.
  var storeRequest: FetchRequest {
    FetchRequest(
      entity: entity,
      predicate: predicate,
      arguments: PredicateArguments(arguments),
      sort: sort,
      limit: limit,
      offset: offset,
      select: storeSelection,
      after: after,
      sectionBy: sectionBy,
      groupBy: groupBy,
      having: having,
      distinct: distinct,
      subentities: subentities
    )
  }

  /// Checks that commits alone determine the result.
  ///
  /// - Parameters:
  ///   - snapshot: A snapshot of the store.
  ///   - purpose: The method and the feature that need a result of commits alone, for the error
  ///     message.
  /// - Throws: `invalidRequest` for a request that reads the time or random numbers, and the errors
  ///   of its compilation.
  func checkDeterminism(in snapshot: StoreSnapshot, of purpose: String) throws {
    guard ids == nil else { return }
    let isVolatile =
      try form == .values
      ? snapshot.valuesPlan(storeRequest).reads.isVolatile
      : snapshot.plan(storeRequest).reads.isVolatile
    guard isVolatile else { return }
    throw StoreError(
      .invalidRequest,
      "\(purpose): the values of now() and random: are not part of a commit",
      hint: "Send the time as an argument"
    )
  }

  var storeSelection: [FetchRequest.Selection]? {
    select?.map { .init(name: $0.name, path: $0.path, fallback: $0.fallback) }
  }
}

extension PredicateArguments {
  /// Creates the arguments from the value that a client sent.
  init(_ json: JSONValue?) {
    switch json {
    case .array(let values): self = .positional(values)
    case .object(let members): self = .named(members)
    default: self = .none
    }
  }
}

/// The encoding of a fetch's result.
enum FetchAnswer {
  /// Writes the result of a `fetch`.
  static func write(
    _ call: FetchCall,
    _ snapshot: StoreSnapshot,
    bytesMax: Int,
    to writer: inout JSONWriter
  ) throws {
    writer.key(.token, after: "{")
    writer.raw("\"")
    writer.raw(string: snapshot.token.description)
    writer.raw("\",")
    if let ids = call.ids {
      try writeObjects(ids, call.storeSelection, snapshot, bytesMax: bytesMax, to: &writer)
      try writeIncluded(ids, call, snapshot, bytesMax: bytesMax, to: &writer)
    } else if call.form == .values {
      try writeValues(call, snapshot, bytesMax: bytesMax, to: &writer)
    } else {
      try writeQuery(call, snapshot, bytesMax: bytesMax, to: &writer)
    }
    writer.raw("}")
  }

  /// Writes rows of values, then the cursor, the sections and the total if they are requested.
  private static func writeValues(
    _ call: FetchCall,
    _ snapshot: StoreSnapshot,
    bytesMax: Int,
    to writer: inout JSONWriter
  ) throws {
    let request = call.storeRequest
    writer.key(.rows)
    if let next = try snapshot.writeValues(request, bytesMax: bytesMax, to: &writer) {
      writer.key(.next, after: ",")
      writer.string(next)
    }
    var whole = request
    whole.after = nil
    if call.sectionBy != nil {
      writer.key(.sections, after: ",")
      try snapshot.writeValueSections(whole, bytesMax: bytesMax, to: &writer)
    }
    if call.total {
      writer.key(.total, after: ",")
      writer.integer(try snapshot.countValues(whole))
    }
  }

  /// Writes the result of a `fetch` of one existing object.
  ///
  /// - Returns: Whether the result was written; otherwise the caller needs a snapshot.
  static func write(
    _ id: String,
    _ reader: StoreReader,
    to writer: inout JSONWriter
  ) throws -> Bool {
    let exists = try reader.write(id, to: &writer) { token, writer in
      writer.key(.token, after: "{")
      writer.raw("\"")
      writer.raw(string: token)
      writer.key(.objects, after: "\",")
      writer.raw("[")
    }
    if exists { writer.raw("]}") }
    return exists
  }

  /// Writes `"objects":[…]`, and `"missing"` with the reason for each null.
  static func writeObjects(
    _ ids: [String],
    _ select: [FetchRequest.Selection]?,
    _ snapshot: StoreSnapshot,
    bytesMax: Int,
    to writer: inout JSONWriter
  ) throws {
    var missing: [JSONMember] = []
    var plans: [Int: FetchPlan] = [:]
    writer.key(.objects)
    writer.raw("[")
    for (index, id) in ids.enumerated() {
      if index > 0 { writer.raw(",") }
      writer.splitIfLong()
      try StoreSnapshot.check(writer, bytesMax)
      let key = try snapshot.resolve(id)
      if let key {
        let plan =
          try plans[key.entity]
          ?? snapshot.plan(of: snapshot.model.entity(key.entity), select: select)
        plans[key.entity] = plan
        if try snapshot.write(key.object, as: plan, to: &writer) { continue }
      }
      writer.null()
      let existed = try key.map { try snapshot.wasAllocated($0) } ?? false
      missing.append(JSONMember(id, existed ? "deleted" : "unknown"))
    }
    writer.raw("]")
    guard !missing.isEmpty else { return }
    writer.key(.missing, after: ",")
    writer.value(.object(missing))
  }

  private static func writeQuery(
    _ call: FetchCall,
    _ snapshot: StoreSnapshot,
    bytesMax: Int,
    to writer: inout JSONWriter
  ) throws {
    let plan = try snapshot.plan(call.storeRequest)
    var objects: [Int64] = []
    var hasMore = false
    switch call.form {
    case .objects:
      writer.key(.objects)
      let wantsNumbers = call.limit != nil || !call.include.isEmpty
      hasMore = try snapshot.writeObjects(plan, bytesMax: bytesMax, to: &writer) { object, _, _ in
        if wantsNumbers { objects.append(object) }
      }.hasMore
    case .ids:
      (objects, hasMore) = try snapshot.page(plan)
      writer.key(.ids)
      try writeIDs(objects, of: plan.entity, snapshot, bytesMax: bytesMax, to: &writer)
    case .count, .values:
      writer.key(.count)
      writer.integer(try snapshot.count(plan))
    }
    if hasMore, let last = objects.last, let next = try snapshot.cursor(plan, after: last) {
      writer.key(.next, after: ",")
      writer.string(next)
    }
    if call.sectionBy != nil {
      writer.key(.sections, after: ",")
      try snapshot.writeSections(plan, bytesMax: bytesMax, to: &writer)
    }
    if call.total {
      writer.key(.total, after: ",")
      writer.integer(try snapshot.count(plan))
    }
    guard !call.include.isEmpty else { return }
    writer.key(.included, after: ",")
    try snapshot.writeIncluded(
      call.include,
      of: plan.entity,
      objects,
      bytesMax: bytesMax,
      to: &writer
    )
  }

  /// Writes `,"included":{…}` for objects that were named by ID, which must be of one entity.
  private static func writeIncluded(
    _ ids: [String],
    _ call: FetchCall,
    _ snapshot: StoreSnapshot,
    bytesMax: Int,
    to writer: inout JSONWriter
  ) throws {
    guard !call.include.isEmpty else { return }
    // A dangling reference may still name a deleted object, so deleted objects are skipped.
    let keys = try ids.compactMap { try snapshot.resolve($0) }.filter { try snapshot.exists($0) }
    guard Set(keys.map(\.entity)).count <= 1 else {
      throw RPCError(.invalidParams, "fetch: include requires ids of one entity")
    }
    writer.key(.included, after: ",")
    guard let first = keys.first else { return writer.raw("{}") }
    try snapshot.writeIncluded(
      call.include,
      of: snapshot.model.entity(first.entity),
      keys.map(\.object),
      bytesMax: bytesMax,
      to: &writer
    )
  }

  /// Writes a JSON array of wrapped IDs.
  static func writeIDs(
    _ objects: [Int64],
    of entity: EntityDescription,
    _ snapshot: StoreSnapshot,
    bytesMax: Int,
    to writer: inout JSONWriter
  ) throws {
    writer.raw("[")
    for (index, object) in objects.enumerated() {
      if index > 0 { writer.raw(",") }
      writer.splitIfLong()
      try StoreSnapshot.check(writer, bytesMax)
      writer.string(
        try snapshot.wrappedID(snapshot.model.key(entity.number, object)).description
      )
    }
    writer.raw("]")
  }
}
