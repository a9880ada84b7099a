import CordialProtocol
import CordialValues
import JSON
import ObjectModel
import PersistentHistory
import PersistentStore

/// The creation of subscriptions, and the encoding of complete results.
enum SubscriptionResult {
  /// Creates a subscription from the params of `observe`.
  static func make(
    _ call: ObserveCall,
    number: Int,
    _ snapshot: StoreSnapshot
  ) throws -> LiveSubscription {
    var awaited: Set<Int> = []
    let target: LiveSubscription.Target
    switch call.target {
    case .ids(let ids, let fetch):
      let objects = try resolve(ids, &awaited, snapshot)
      target = .objects(objects, plans: try plans(ids, fetch, snapshot), call: fetch)
    case .fetch(let fetch):
      let plan = try snapshot.plan(fetch.storeRequest)
      try fetch.checkDeterminism(in: snapshot, of: "observe")
      target = .fetch(plan, call: fetch)
    }
    return LiveSubscription(
      number: number,
      key: call.key,
      mode: call.mode,
      target: target,
      awaited: awaited,
      mayDangle: snapshot.mayDangle
    )
  }

  /// Returns the objects that IDs name, and adds the entities of IDs without an object to
  /// `awaited`.
  private static func resolve(
    _ ids: [String],
    _ awaited: inout Set<Int>,
    _ snapshot: StoreSnapshot
  ) throws -> [(id: String, key: ObjectKey?)] {
    try ids.map { id in
      let key = try snapshot.resolve(id)
      if key == nil {
        awaited.formUnion(try snapshot.entity(of: id).familyPosition.concreteEntities)
      }
      return (id, key)
    }
  }

  /// Returns a plan for each entity of the IDs.
  private static func plans(
    _ ids: [String],
    _ fetch: FetchCall,
    _ snapshot: StoreSnapshot
  ) throws -> [Int: FetchPlan] {
    var plans: [Int: FetchPlan] = [:]
    for number in Set(
      try ids.flatMap { try snapshot.entity(of: $0).familyPosition.concreteEntities }
    ) {
      let entity = snapshot.model.entity(number)
      plans[number] = try snapshot.plan(of: entity, select: fetch.storeSelection)
    }
    return plans
  }

  /// Compiles a subscription again for a snapshot, because its client starts over.
  static func recompile(_ subscription: inout LiveSubscription, _ snapshot: StoreSnapshot) throws {
    switch subscription.target {
    case .objects(let objects, _, let call):
      subscription.awaited = []
      let ids = objects.map(\.id)
      let objects = try resolve(ids, &subscription.awaited, snapshot)
      let plans = try plans(ids, call, snapshot)
      subscription.target = .objects(objects, plans: plans, call: call)
    case .fetch(_, let call):
      subscription.target = .fetch(try snapshot.plan(call.storeRequest), call: call)
    }
    subscription.mayDangle = snapshot.mayDangle
    subscription.revision += 1
  }

  /// Records the result of a snapshot as the state of a client that receives no values.
  static func recordState(
    _ subscription: inout LiveSubscription,
    _ snapshot: StoreSnapshot,
    bytesMax: Int
  ) throws {
    var unused = JSONWriter()
    try write(&subscription, snapshot, bytesMax: bytesMax, to: &unused)
  }

  /// Writes the complete result and records it as the state of the client.
  static func write(
    _ subscription: inout LiveSubscription,
    _ snapshot: StoreSnapshot,
    bytesMax: Int,
    to writer: inout JSONWriter
  ) throws {
    switch subscription.target {
    case .objects(let objects, let plans, let call):
      var count = objects.count
      writer.raw("{")
      if subscription.mode == .ids {
        let present = try objects.filter { try $0.key.map { try snapshot.exists($0) } ?? false }
        writer.raw("\"ids\":")
        writer.value(.array(present.map { .string($0.id) }))
        count = present.count
      } else {
        try FetchAnswer.writeObjects(
          objects.map(\.id),
          call.storeSelection,
          snapshot,
          bytesMax: bytesMax,
          to: &writer
        )
      }
      writer.raw(",\"count\":")
      writer.integer(Int64(count))
      writer.raw("}")
      subscription.digests = try digests(objects.compactMap(\.key), plans, snapshot)
    case .fetch(let plan, _):
      try write(&subscription, plan, snapshot, bytesMax, &writer)
    }
  }

  private static func write(
    _ subscription: inout LiveSubscription,
    _ plan: FetchPlan,
    _ snapshot: StoreSnapshot,
    _ bytesMax: Int,
    _ writer: inout JSONWriter
  ) throws {
    guard subscription.mode != .ids else {
      subscription.sequence = try snapshot.objects(plan)
      writer.raw("{\"ids\":")
      try FetchAnswer.writeIDs(
        subscription.sequence,
        of: plan.entity,
        snapshot,
        bytesMax: bytesMax,
        to: &writer
      )
      writer.raw(",\"count\":")
      writer.integer(Int64(subscription.sequence.count))
      return writer.raw("}")
    }
    var sequence: [Int64] = []
    var digests: [ObjectKey: ContentDigest] = [:]
    let wantsDigests = subscription.readsRelated
    writer.raw("{\"objects\":")
    _ = try snapshot.writeObjects(plan, bytesMax: bytesMax, to: &writer) { object, range, bytes in
      sequence.append(object)
      if wantsDigests {
        digests[plan.key(object)] = ContentDigest(bytes[range])
      }
    }
    subscription.sequence = sequence
    subscription.digests = digests
    writer.raw(",\"count\":")
    writer.integer(Int64(sequence.count))
    writer.raw("}")
  }

  /// Returns the digests of the rows of objects, for plans that read related objects.
  static func digests(
    _ keys: [ObjectKey],
    _ plans: [Int: FetchPlan],
    _ snapshot: StoreSnapshot
  ) throws -> [ObjectKey: ContentDigest] {
    var digests: [ObjectKey: ContentDigest] = [:]
    for key in keys {
      guard let plan = plans[key.entity], !plan.related.isEmpty else { continue }
      var row = JSONWriter()
      guard try snapshot.write(key.object, as: plan, to: &row) else { continue }
      digests[key] = ContentDigest(row.bytes)
    }
    return digests
  }
}
