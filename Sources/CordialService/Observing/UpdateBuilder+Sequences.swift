import CordialProtocol
import CordialValues
import JSON
import ObjectModel
import PersistentHistory
import PersistentStore
import Subscriptions

/// Updates of observed fetches: the difference between the old and the new sequence.
extension UpdateBuilder {
  func writeSequence(
    _ subscription: inout LiveSubscription,
    _ plan: FetchPlan,
    _ verdict: Verdict,
    _ writer: inout JSONWriter
  ) throws -> Bool {
    let old = subscription.sequence
    var difference = SequenceDifference(from: [], to: [])
    var touched: Set<ObjectKey>
    switch verdict {
    case .unaffected: return false
    case .values(let keys): touched = keys
    case .undecided:
      let new = try snapshot.objects(plan)
      difference = SequenceDifference(from: old, to: new)
      subscription.sequence = new
      touched = ownChanges(plan)
    }
    if subscription.readsRelated { try compareRows(&subscription, plan, &touched) }
    if subscription.mode == .ids { touched = [] }
    let inserted = Set(difference.insertions.map(\.element))
    let updates = offsets(of: touched, in: subscription.sequence, except: inserted, plan)
    guard !difference.isEmpty || !updates.isEmpty else { return false }
    try writeRemovals(difference, plan, &writer)
    try writeInsertions(difference, subscription.mode, plan, &writer)
    if subscription.mode != .ids { try writeUpdates(updates, plan, &writer) }
    writer.raw(",\"count\":")
    writer.integer(Int64(subscription.sequence.count))
    return true
  }

  /// Returns the updated objects of the plan's entities.
  private func ownChanges(_ plan: FetchPlan) -> Set<ObjectKey> {
    Set(
      changes.changes.values
        .filter { $0.kind == .update && plan.resultEntities.contains($0.key.entity) }.map(\.key)
    )
  }

  /// Compares every row of the window with its digest, and adds changed objects to `touched`.
  private func compareRows(
    _ subscription: inout LiveSubscription,
    _ plan: FetchPlan,
    _ touched: inout Set<ObjectKey>
  ) throws {
    var now: [ObjectKey: ContentDigest] = [:]
    var differing: Set<ObjectKey> = []
    let before = subscription.digests
    var rows = JSONWriter()
    _ = try snapshot.writeObjects(plan, bytesMax: limits.answerBytesMax, to: &rows) {
      object,
      range,
      bytes in
      let key = plan.key(object)
      let digest = ContentDigest(bytes[range])
      now[key] = digest
      if before[key] != digest { differing.insert(key) }
    }
    subscription.digests = now
    touched.formUnion(differing)
  }

  /// Returns the offsets of objects in a sequence, ascending.
  private func offsets(
    of keys: Set<ObjectKey>,
    in sequence: [Int64],
    except inserted: Set<Int64>,
    _ plan: FetchPlan
  ) -> [(offset: Int, key: ObjectKey)] {
    let wanted = keys.filter {
      plan.resultEntities.contains($0.entity) && !inserted.contains($0.object)
    }
    guard !wanted.isEmpty else { return [] }
    let numbers = Set(wanted.map(\.object))
    return sequence.indices.filter { numbers.contains(sequence[$0]) }
      .map { ($0, plan.key(sequence[$0])) }
  }

  private func writeRemovals(
    _ difference: SequenceDifference,
    _ plan: FetchPlan,
    _ writer: inout JSONWriter
  ) throws {
    let deleted = difference.removals.filter { $0.movedTo == nil }
      .map { plan.key($0.element) }
      .filter { changes.changes[$0]?.kind == .delete }
    let last = try tombstones(Set(deleted))
    writer.raw("\"remove\":[")
    for (index, removal) in difference.removals.enumerated() {
      if index > 0 { writer.raw(",") }
      let key = plan.key(removal.element)
      writer.raw("{\"offset\":")
      writer.integer(Int64(removal.offset))
      writer.raw(",\"id\":")
      writer.string(try snapshot.wrappedID(key).description)
      if let offset = removal.movedTo {
        writer.raw(",\"movedTo\":")
        writer.integer(Int64(offset))
      } else if changes.changes[key]?.kind == .delete {
        writer.raw(",\"deleted\":true,\"last\":")
        writer.value(last[key] ?? [:])
      }
      writer.raw("}")
    }
    writer.raw("]")
  }

  private func writeInsertions(
    _ difference: SequenceDifference,
    _ mode: ObserveCall.Mode,
    _ plan: FetchPlan,
    _ writer: inout JSONWriter
  ) throws {
    writer.raw(",\"insert\":[")
    for (index, insertion) in difference.insertions.enumerated() {
      if index > 0 { writer.raw(",") }
      let key = plan.key(insertion.element)
      writer.raw("{\"offset\":")
      writer.integer(Int64(insertion.offset))
      writer.raw(",\"id\":")
      writer.string(try snapshot.wrappedID(key).description)
      if let offset = insertion.movedFrom {
        writer.raw(",\"movedFrom\":")
        writer.integer(Int64(offset))
      }
      if mode != .ids {
        writer.raw(",\"object\":")
        try writeObject(insertion.element, plan, &writer)
      }
      writer.raw("}")
    }
    writer.raw("]")
  }

  private func writeUpdates(
    _ updates: [(offset: Int, key: ObjectKey)],
    _ plan: FetchPlan,
    _ writer: inout JSONWriter
  ) throws {
    writer.raw(",\"update\":[")
    for (index, update) in updates.enumerated() {
      if index > 0 { writer.raw(",") }
      writer.raw("{\"offset\":")
      writer.integer(Int64(update.offset))
      writer.raw(",\"id\":")
      writer.string(try snapshot.wrappedID(update.key).description)
      writer.raw(",\"properties\":")
      writer.value(names(update.key, plan))
      writer.raw(",\"object\":")
      try writeObject(update.key.object, plan, &writer)
      writer.raw("}")
    }
    writer.raw("]")
  }
}
