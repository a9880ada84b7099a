import CordialProtocol
import CordialValues
import JSON
import JSONRPC
import ObjectModel
import PersistentHistory
package import PersistentStore

/// The encoder of the update that turns an earlier result of an observation into a later result.
package struct UpdateBuilder {
  package let observation: Observation
  package let snapshot: StoreSnapshot
  package let limits: Limits
  /// The position of the earlier result.
  let from: LogPosition
  /// All changes from the earlier position to the snapshot.
  let changes: ChangeSet
  /// The encoded rows that updates from the same position share; nil for a single update.
  var shared: EncodedRows?
  /// The rows of the changed objects; rows that were not read are missing.
  var rows: [ObjectKey: ChangedRow] = [:]
  /// The changed objects that may concern the observation; nil if all changed objects may.
  var candidates: Set<ObjectKey>?

  var reader: ResultReader { ResultReader(snapshot: snapshot, limits: limits) }

  /// Returns the update from an earlier result to the result of the observation.
  ///
  /// - Parameters:
  ///   - old: The earlier result.
  ///   - sequence: The difference of the sequences; nil if unknown.
  ///   - isLimited: Whether the client starts over if the difference has more elements than the
  ///     result.
  /// - Returns: The update; nil when the results are equal for the client.
  /// - Throws: `limitExceeded`; `SQLiteError`.
  func update(
    from old: any LiveResult,
    _ sequence: SequenceDifference? = nil,
    isLimited: Bool = false
  ) throws -> UpdateBody? {
    switch try observation.result.update(from: old, sequence, isLimited: isLimited, self) {
    case .same: nil
    case .difference(let body): body
    case .startsOver(let why): try fresh(why)
    }
  }

  /// Returns the update that contains the difference between two results.
  ///
  /// - Parameters:
  ///   - query: The query of the new result.
  ///   - old: The earlier result.
  ///   - new: The new result, which was read from the snapshot.
  ///   - sequence: The difference between the object sequences of the two results; nil if unknown.
  ///   - isLimited: Whether the size of the difference is limited. The client then starts over when
  ///     the difference has more elements than the new result.
  /// - Returns: The update.
  /// - Throws: `limitExceeded`; `SQLiteError`.
  func difference<Query: LiveQuery>(
    _ query: Query,
    from old: Query.Result,
    to new: Query.Result,
    _ sequence: SequenceDifference?,
    isLimited: Bool
  ) throws -> ResultUpdate {
    let comparison = ResultDifference.Comparison(
      observation: observation,
      changes: changes,
      candidates: candidates,
      sequence: sequence
    )
    let comparable = query.isComparable(old, with: new) ? old : try reread(query)
    let difference = try ResultDifference(query, from: comparable, to: new, comparison)
    guard !difference.isEmpty else { return .same }
    let explanation = try explanation(difference)
    guard observation.request.mode != .signal else { return .difference(.signal(explanation)) }
    if isLimited, difference.elementCount > new.elementCount { return .startsOver(.larger) }
    var body = try body { out in
      try query.write(difference, new, self, &out)
      try writeExtras(query, difference, new, &out)
      if let explanation { try out.member(.explanation) { $0.value(explanation) } }
    }
    body.explanation = explanation
    return .difference(body)
  }

  private func explanation(_ difference: ResultDifference) throws -> JSONValue? {
    guard observation.request.explains else { return nil }
    return try UpdateExplanation(
      observation: observation,
      snapshot: snapshot,
      from: from,
      changes: changes,
      rows: rows,
      candidates: candidates
    ).json(difference)
  }

  /// Returns the result at the earlier position, read with the plan of the later result.
  private func reread<Query: LiveQuery>(_ query: Query) throws -> Query.Result {
    try snapshot.earlier(from) { earlier in
      var out = UpdateWriter.discarding
      let reader = ResultReader(snapshot: earlier, limits: limits)
      return try query.read(observation.request, reader, to: &out)
    }
  }

  /// Returns an update with the members that a closure writes.
  ///
  /// - Parameter write: Writes the members.
  /// - Returns: The update, in fragments that can be sent in separate messages.
  /// - Throws: The errors of `write`.
  package func body(_ write: (inout UpdateWriter) throws -> Void) throws -> UpdateBody {
    var out = UpdateWriter(fragmentBytesMax: limits.fragmentBytesMax)
    try write(&out)
    return UpdateBody(fragments: out.fragments)
  }

  /// Returns the update for a client that starts over.
  func fresh(_ why: FreshReason) throws -> UpdateBody {
    guard observation.request.mode != .signal else { return .signal }
    return try body { out in
      try out.member(.fresh) { $0.bool(true) }
      try out.member(.why) { $0.string(why.rawValue) }
      try observation.result.writeAnew(observation.request, reader, to: &out)
    }
  }

  private func writeExtras<Query: LiveQuery>(
    _ query: Query,
    _ difference: ResultDifference,
    _ new: Query.Result,
    _ out: inout UpdateWriter
  ) throws {
    let extras = new.extras
    if difference.totalDiffers, let total = extras.total {
      try out.member(.total) { $0.integer(total) }
    }
    if difference.sectionsDiffer, let sections = extras.sections {
      try out.member(.sections) { FetchSection.write(sections, to: &$0) }
    }
    if !difference.included.isEmpty {
      out.beginList(.included, isObject: true)
      let starts = try query.including(new, in: snapshot.model)
      try reader.eachIncluded(observation.request, starts) { key, bytes in
        guard difference.included.contains(key) else { return }
        try out.element { $0.raw(Array(bytes)) }
      }
      out.endList()
    }
    let excluded = try difference.excluded.map { try snapshot.wrappedID($0).description }
      .filter { id in
        // If an included object now has the identity value of the deleted object, the ID is still
        // included.
        guard try snapshot.entity(of: id).identity != nil else { return true }
        return try snapshot.resolve(id).map { extras.included[$0] == nil } ?? true
      }
    guard !excluded.isEmpty else { return }
    out.beginList(.excluded)
    for id in excluded { try out.element { $0.string(id) } }
    out.endList()
  }

  /// Writes the names of the values that may differ, and their earlier values if the client wants
  /// them.
  func writeProperties(
    _ names: [String],
    _ before: JSONValue?,
    _ writer: inout JSONWriter
  ) {
    writer.key(.properties, after: ",")
    writer.value(.array(names.map { .string($0) }))
    guard observation.request.includesBefore else { return }
    writer.key(.before, after: ",")
    writer.value(
      .object(
        names.compactMap { name in Self.value(name, of: before).map { JSONMember(name, $0) } }
      )
    )
  }

  /// Returns the value of a name in a row; the name may be a path to a member of a composite.
  private static func value(_ name: String, of values: JSONValue?) -> JSONValue? {
    if let value = values?[name] { return value }
    return name.split(separator: ".").reduce(values) { $0?[String($1)] }
  }

  // MARK: Rows and objects

  /// Writes the offset and the ID of a row.
  func beginRow(_ offset: Int, _ key: ObjectKey, _ writer: inout JSONWriter) throws {
    writer.key(.offset, after: "{")
    writer.integer(Int64(offset))
    try writeID(key, &writer)
  }

  /// Writes the ID of a row.
  func writeID(_ key: ObjectKey, _ writer: inout JSONWriter) throws {
    writer.key(.id, after: ",")
    writer.string(try snapshot.wrappedID(key).description)
  }

  /// Returns the last values of deleted objects, which the log keeps.
  func tombstones(_ keys: Set<ObjectKey>) throws -> [ObjectKey: JSONValue] {
    try snapshot.log.tombstones(of: keys, from: from, to: snapshot.head)
      .reduce(into: [:]) { result, entry in
        let entity = snapshot.model.entity(entry.key.entity)
        result[entry.key] = .object(
          try entry.value.map { JSONMember($0.property, try snapshot.json($0, of: entity)) }.nested
        )
      }
  }

  /// Writes the row of an object, or null if the object is missing.
  func writeObject(
    _ object: Int64,
    _ plan: FetchPlan,
    _ writer: inout JSONWriter
  ) throws {
    if try !snapshot.write(object, as: plan, to: &writer) { writer.null() }
  }

  /// Returns the values that objects had at the earlier position, if the client wants them.
  func formerValues(
    _ keys: [ObjectKey],
    _ plan: (ObjectKey) -> FetchPlan?
  ) throws -> [ObjectKey: JSONValue] {
    guard observation.request.includesBefore, !keys.isEmpty else { return [:] }
    return try snapshot.earlier(from) { earlier in
      var values: [ObjectKey: JSONValue] = [:]
      for key in keys {
        guard let plan = plan(key) else { continue }
        var row = JSONWriter()
        guard try earlier.write(key.object, as: plan, to: &row) else { continue }
        values[key] = try JSONParser.parse(row.bytes.span)[.values]
      }
      return values
    }
  }

  /// Returns the names of the values in an object's row that may differ, ascending.
  func names(_ key: ObjectKey, _ plan: FetchPlan) -> [String] {
    let change = changes.changes[key]
    guard let change, change.kind != .delete else { return plan.reads.relatedNames.sorted() }
    if change.kind == .insert || change.properties.contains(ChangeSet.everyProperty) {
      let entity = snapshot.model.entity(key.entity)
      return plan.reads.valueNames.reduce(into: Set<String>()) { names, value in
        // The plan of an entity also has values of descendant entities, which this entity may lack.
        if entity.property(named: value.key) != nil { names.formUnion(value.value) }
      }.union(plan.reads.relatedNames).sorted()
    }
    let own = change.properties.reduce(into: Set<String>()) { names, property in
      names.formUnion(plan.reads.valueNames[property] ?? [])
    }
    return (own.isEmpty || reachesRelated(plan) ? own.union(plan.reads.relatedNames) : own).sorted()
  }

  /// Returns whether the changes affect properties that a plan reads from related objects.
  private func reachesRelated(_ plan: FetchPlan) -> Bool {
    guard !plan.reads.relatedNames.isEmpty else { return false }
    return changes.changes.values.contains { change in
      guard let read = plan.related[change.key.entity] else { return false }
      return change.kind != .update || read.contains(ChangeSet.everyProperty)
        || !read.isDisjoint(with: change.properties)
    }
  }
}

/// The reason why a client starts over.
package enum FreshReason: String, Sendable {
  /// The log does not have the client's position, or lacks changes after that position.
  case log
  /// The model has changed since the client's position.
  case model
  /// Another version of ICU sorted or folded the client's result.
  case collation
  /// The client's position is ahead of the store.
  case ahead
  /// The difference has more elements than the result.
  case larger
  /// The search index does not keep the documents of the client's position.
  case index
  /// A forgiving search has other synonyms than at the client's position.
  case synonyms
}

/// The members of one update after the name of its subscription, in fragments that can be sent in
/// separate messages.
package struct UpdateBody: Sendable {
  let fragments: [UpdateFragment]
  /// The explanation of the update, which is also in `fragments`; nil if the request wants none.
  var explanation: JSONValue?

  /// The update in mode `signal`, which reports only that the result differs.
  static let signal = UpdateBody(fragments: [
    UpdateFragment(MessageBytes(Array("\"\(MemberName.signal)\":true".utf8)))
  ])

  /// Returns the update in mode `signal` with an explanation.
  static func signal(_ explanation: JSONValue?) -> UpdateBody {
    guard let explanation else { return .signal }
    var writer = JSONWriter()
    writer.key(.signal)
    writer.key(.explanation, after: "true,")
    writer.value(explanation)
    return UpdateBody(fragments: [UpdateFragment(MessageBytes(writer))], explanation: explanation)
  }

  /// Returns the update that ends a subscription.
  static func end(_ error: RPCError) -> UpdateBody {
    var writer = JSONWriter()
    writer.key(.error)
    writer.value(error.json)
    return UpdateBody(fragments: [UpdateFragment(MessageBytes(writer))])
  }
}
