import CordialProtocol
import CordialValues
import JSON
import ObjectModel
import PersistentStore

/// A query for objects by their IDs.
struct ObjectsQuery: LiveQuery {
  struct Result: QueryResult {
    /// The objects, in the order of the IDs.
    var named: [NamedObject] = []
    /// The digests of the objects' rows; empty unless rows have values of related objects.
    var digests: [UInt64] = []
    var extras = ResultExtras()

    var elementCount: Int { named.count }
    var bytes: Int { 8 * (2 * named.count + digests.count) + extras.bytes }
  }

  /// The object that an observed ID names.
  struct NamedObject: Sendable, Equatable {
    /// The object's key; nil for an identity value that no object has.
    var key: ObjectKey?
    /// Whether the object exists.
    var exists: Bool
  }

  let ids: [String]
  /// A plan for each entity of the IDs.
  let plans: [Int: FetchPlan]

  var usesCollation: Bool { plans.values.contains(where: \.usesCollation) }
  var mayRunOnLoop: Bool {
    plans.values.allSatisfy { $0.related.isEmpty && !$0.callsProgram }
  }
  var matching: Matching { .id }

  func interest(
    of result: Result,
    _ request: ObservedRequest,
    _ inclusion: Observation.Inclusion
  ) -> Interest {
    let named = result.named
    var related = inclusion.related(with: [:])
    for plan in plans.values { related.merge(plan.related) { $0.union($1) } }
    let isAwaiting = named.contains { $0.key == nil }
    // An object may receive a missing identity value by an insertion, or by a change of an external
    // client.
    for plan in plans.values where isAwaiting {
      guard let identity = plan.entity.identity else { continue }
      related[plan.entity.number, default: []].insert(identity.name)
    }
    return .objects(
      SmallSet(named.lazy.compactMap(\.key)),
      related: related,
      awaited: isAwaiting ? Set(plans.keys) : []
    )
  }

  func hasOtherInterest(_ result: Result, than old: Result) -> Bool { result.named != old.named }

  // MARK: Results

  func read(
    _ request: ObservedRequest,
    _ reader: ResultReader,
    to out: inout UpdateWriter
  ) throws -> Result {
    let snapshot = reader.snapshot
    var result = Result()
    let wantsDigests = request.mode != .ids && plans.values.contains { !$0.related.isEmpty }
    var missing: [JSONMember] = []
    out.beginList(request.mode == .ids ? .ids : .objects)
    for id in ids {
      let key = try snapshot.resolve(id)
      var exists = false
      var digest: UInt64 = 0
      if request.mode == .ids {
        exists = try key.map { try snapshot.exists($0) } ?? false
        if exists { try out.element { $0.string(id) } }
      } else {
        try out.element { writer in
          let start = writer.bytes.count
          if let key, let plan = plans[key.entity] {
            exists = try snapshot.write(key.object, as: plan, to: &writer)
          }
          if !exists { writer.null() }
          if wantsDigests { digest = UInt64(digestOf: writer.bytes[start...]) }
        }
      }
      if !exists { missing.append(try Self.reason(id, key, snapshot)) }
      result.named.append(NamedObject(key: key, exists: exists))
      if wantsDigests { result.digests.append(digest) }
    }
    out.endList()
    if !missing.isEmpty, request.mode != .ids {
      try out.member(.missing) { $0.value(.object(missing)) }
    }
    let count = request.mode == .ids ? result.named.count(where: \.exists) : ids.count
    try out.member(.count) { $0.integer(Int64(count)) }
    result.extras.included = try reader.readIncluded(
      request,
      try including(result, in: snapshot.model),
      &out
    )
    return result
  }

  private static func reason(
    _ id: String,
    _ key: ObjectKey?,
    _ snapshot: StoreSnapshot
  ) throws -> JSONMember {
    let existed = try key.map { try snapshot.wasAllocated($0) } ?? false
    return JSONMember(id, existed ? "deleted" : "unknown")
  }

  func refresh(_ result: Result, _ change: ResultChange) throws -> RefreshedResult<Result>? {
    let (reader, snapshot) = (change.reader, change.reader.snapshot)
    var result = result
    let rereadsDigests = change.verdict == .undecided && !result.digests.isEmpty
    for index in result.named.indices {
      let old = result.named[index]
      let kind = old.key.flatMap { change.changes.changes[$0]?.kind }
      var new = old
      switch kind {
      case .insert: new.exists = true
      case .delete: new.exists = false
      // An update does not prove that the object exists: it may come from a changed link row alone.
      case .update, nil: break
      }
      // The object of an identity value may differ or be missing now, because an external client
      // may change identities. An ID of the form `p` always names the same object.
      if !new.exists || kind != nil, try snapshot.entity(of: ids[index]).identity != nil {
        new.key = try snapshot.resolve(ids[index])
        new.exists = try new.key.map { try snapshot.exists($0) } ?? false
      }
      result.named[index] = new
      guard !result.digests.isEmpty, rereadsDigests || kind != nil || new != old else { continue }
      guard new.exists, let key = new.key, let plan = plans[key.entity] else {
        result.digests[index] = 0
        continue
      }
      result.digests[index] = try reader.digest(key.object, plan)
    }
    result.extras.included = try reader.included(
      change.request,
      try including(result, in: snapshot.model)
    )
    return RefreshedResult(result: result)
  }

  func inclusionStart(in model: Model) -> EntityDescription? {
    plans.keys.min().map { model.entity($0) }
  }

  func including(
    _ result: Result,
    in model: Model
  ) throws -> (entity: EntityDescription, objects: [Int64])? {
    let keys = result.named.compactMap { $0.exists ? $0.key : nil }
    guard Set(keys.map(\.entity)).count <= 1 else {
      throw StoreError(.invalidRequest, "observe: include requires ids of one entity")
    }
    return keys.first.map { (model.entity($0.entity), keys.map(\.object)) }
  }

  // MARK: Updates

  func isComparable(_ old: Result, with new: Result) -> Bool {
    new.digests.isEmpty || old.digests.count == old.named.count
  }

  func compare(
    _ old: Result,
    _ new: Result,
    _ comparison: ResultDifference.Comparison,
    _ difference: inout ResultDifference
  ) throws {
    let isIDs = comparison.observation.request.mode == .ids
    for (index, (before, after)) in zip(old.named, new.named).enumerated() {
      guard let key = after.key ?? before.key else { continue }
      let kind: ObjectChange.Kind
      switch (before.exists, after.exists) {
      case (false, false): continue
      case (false, true): kind = .insert
      case (true, false): kind = .delete
      case (true, true):
        let differs =
          !isIDs
          && (before.key != after.key
            || ResultDifference.reaches(comparison.changes.changes[key], plans[key.entity])
            || !new.digests.isEmpty && old.digests[index] != new.digests[index])
        guard differs else { continue }
        kind = .update
      }
      // The log has the last values of a deleted object under the object's former key.
      let changed = kind == .delete ? before.key ?? key : key
      difference.named.append(
        ResultDifference.NamedChange(
          index: index,
          kind: kind,
          key: changed,
          former: before.key ?? key
        )
      )
    }
  }

  func write(
    _ difference: ResultDifference,
    _ new: Result,
    _ builder: UpdateBuilder,
    _ out: inout UpdateWriter
  ) throws {
    guard !difference.named.isEmpty else { return }
    let isDetailed = builder.observation.request.mode != .ids
    let deleted = difference.named.filter { $0.kind == .delete }.map(\.key)
    let last = try isDetailed ? builder.tombstones(Set(deleted)) : [:]
    let updated = difference.named.filter { $0.kind == .update }.map(\.former)
    let before = try builder.formerValues(updated) { plans[$0.entity] }
    out.beginList(.objects)
    for change in difference.named {
      guard let plan = plans[change.key.entity] else { continue }
      try out.element { writer in
        writer.key(.id, after: "{")
        writer.string(ids[change.index])
        writer.key(.change, after: ",")
        writer.raw("\"")
        writer.raw(string: change.kind.rawValue)
        writer.raw("\"")
        if isDetailed {
          if change.kind == .update {
            builder.writeProperties(
              builder.names(change.key, plan),
              before[change.former],
              &writer
            )
          }
          if change.kind == .delete {
            writer.key(.last, after: ",")
            writer.value(last[change.key] ?? [:])
          } else {
            writer.key(.object, after: ",")
            try builder.writeObject(change.key.object, plan, &writer)
          }
        }
        writer.raw("}")
      }
    }
    out.endList()
  }

  // MARK: Explanations

  func isExplained(
    by change: ObjectChange,
    _ difference: ResultDifference,
    isCandidate: (_ entities: [Int]) -> Bool
  ) -> Bool {
    difference.named.contains { $0.key == change.key }
  }

  func part(_ property: String, _ inclusion: Observation.Inclusion) -> String? { "select" }
}
