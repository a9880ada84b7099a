import CordialProtocol
import CordialValues
import JSON
import JSONRPC
import ObjectModel
import PersistentHistory
import PersistentStore
import Subscriptions

/// Makes the one `changes` of a connection between its position and a snapshot.
struct UpdateBuilder {
  let snapshot: StoreSnapshot
  let observed: ObservedState
  let limits: Limits
  private let changes: ChangeSet
  /// What the changes mean for each subscription; nil when there are too many to look at.
  private let verdicts: [(number: Int, verdict: Verdict)]?

  /// What an update leads to.
  struct Outcome: Sendable {
    /// The whole message; nil when nothing is to be told.
    let message: MessageBytes?
    /// Those subscriptions that may differ from what they were, as they are after it.
    let subscriptions: [LiveSubscription]
    let token: StoreToken
    let examined: LogPosition
  }

  /// Reads what happened since a connection was last looked at.
  init(snapshot: StoreSnapshot, observed: ObservedState, limits: Limits) throws {
    self.snapshot = snapshot
    self.observed = observed
    self.limits = limits
    let known = try snapshot.log.changeSet(
      from: observed.examined,
      to: snapshot.head,
      changesMax: limits.changesMax
    )
    changes =
      try known
      ?? snapshot.log.authors(from: observed.examined.commit, through: snapshot.head.number)
    verdicts = known.map { observed.table.verdicts(on: $0) }
  }

  /// Reads what happened, if an update about it needs nothing but a few look-ups by key.
  init?(smallOf snapshot: StoreSnapshot, observed: ObservedState, limits: Limits) throws {
    self.snapshot = snapshot
    self.observed = observed
    self.limits = limits
    let changes = try snapshot.log.changeSet(
      from: observed.examined,
      to: snapshot.head,
      changesMax: Self.lookUpsMax
    )
    guard let changes else { return nil }
    let verdicts = observed.table.verdicts(on: changes)
    guard verdicts.count <= Self.lookUpsMax,
      verdicts.allSatisfy({ $0.verdict != .undecided })
    else { return nil }
    self.changes = changes
    self.verdicts = verdicts
  }

  private static let lookUpsMax = 64

  /// Makes the update.
  func build() throws -> Outcome {
    var subscriptions: [LiveSubscription] = []
    return Outcome(
      message: verdicts?.isEmpty == true ? nil : try message(&subscriptions),
      subscriptions: subscriptions,
      token: snapshot.token,
      examined: snapshot.head.position
    )
  }

  /// Writes the whole message; nil when none of the subscriptions has anything to say.
  private func message(_ subscriptions: inout [LiveSubscription]) throws -> MessageBytes? {
    var writer = JSONWriter(reserving: 1024)
    writer.raw("{\"jsonrpc\":\"2.0\",\"method\":\"changes\",\"params\":{\"from\":\"")
    writer.raw(string: (observed.position ?? snapshot.token).description)
    writer.raw("\",\"token\":\"")
    writer.raw(string: snapshot.token.description)
    writer.raw("\",\"authors\":")
    writer.value(.array(try authors().map { $0.map { .string($0) } ?? nil }))
    writer.raw(",\"updates\":[")
    guard try writeUpdates(&subscriptions, &writer) else { return nil }
    writer.raw("]}}")
    return MessageBytes(writer)
  }

  /// Writes what each subscription has to say; answers whether anything was.
  private func writeUpdates(
    _ subscriptions: inout [LiveSubscription],
    _ writer: inout JSONWriter
  ) throws -> Bool {
    let start = writer.count
    guard let verdicts else {
      for var subscription in observed.subscriptions {
        if writer.count > start { writer.raw(",") }
        try writeFresh(&subscription, &writer)
        subscriptions.append(subscription)
      }
      return writer.count > start
    }
    for (number, verdict) in verdicts {
      guard let place = observed.place(of: number) else { continue }
      var subscription = observed.subscriptions[place]
      var piece = JSONWriter()
      let says = try write(&subscription, verdict, &piece)
      subscriptions.append(subscription)
      guard says else { continue }
      if writer.count > start { writer.raw(",") }
      writer.raw(piece.bytes)
    }
    return writer.count > start
  }

  /// The authors of everything after the position that the client knows.
  private func authors() throws -> [String?] {
    guard let position = observed.position, position.number < observed.examined.commit else {
      return changes.authors
    }
    return try snapshot.log.authors(from: position.number, through: snapshot.head.number).authors
  }

  private func writeFresh(
    _ subscription: inout LiveSubscription,
    _ writer: inout JSONWriter
  ) throws {
    writer.raw("{\"subscription\":\"")
    writer.raw(string: subscription.name)
    guard subscription.mode != .signal else { return writer.raw("\",\"signal\":true}") }
    writer.raw("\",\"fresh\":true,\"result\":")
    try SubscriptionResult.write(
      &subscription,
      snapshot,
      bytesMax: limits.answerBytesMax,
      to: &writer
    )
    writer.raw("}")
  }

  /// Writes one subscription's update; false when there is nothing to say.
  private func write(
    _ subscription: inout LiveSubscription,
    _ verdict: Verdict,
    _ writer: inout JSONWriter
  ) throws -> Bool {
    var body = JSONWriter()
    let says: Bool
    switch subscription.target {
    case .objects(let objects, let plans, _):
      says = try writeObjects(&subscription, objects, plans, verdict, &body)
    case .fetch(let plan, _):
      says = try writeSequence(&subscription, plan, verdict, &body)
    }
    guard says else { return false }
    writer.raw("{\"subscription\":\"")
    writer.raw(string: subscription.name)
    writer.raw("\",")
    if subscription.mode == .signal {
      writer.raw("\"signal\":true")
    } else {
      writer.raw(body.bytes)
    }
    writer.raw("}")
    return true
  }

  // MARK: By IDs

  private func writeObjects(
    _ subscription: inout LiveSubscription,
    _ objects: [(id: String, key: ObjectKey?)],
    _ plans: [Int: FetchPlan],
    _ verdict: Verdict,
    _ writer: inout JSONWriter
  ) throws -> Bool {
    let touched = try touchedObjects(&subscription, objects, plans, verdict)
    let gone = touched.filter { changes.changes[$0]?.kind == .delete }
    let last = try tombstones(gone)
    writer.raw("\"objects\":[")
    let start = writer.bytes.count
    for (id, key) in objects {
      guard let key, touched.contains(key), let plan = plans[key.entity] else { continue }
      let kind = changes.changes[key]?.kind ?? .update
      if subscription.mode == .ids, kind == .update { continue }
      if writer.bytes.count > start { writer.raw(",") }
      writer.raw("{\"id\":")
      writer.string(id)
      writer.raw(",\"change\":\"")
      writer.raw(string: kind.rawValue)
      writer.raw("\"")
      if subscription.mode != .ids {
        try writeDetails(key, kind, plan, last[key], &writer)
      }
      writer.raw("}")
    }
    writer.raw("]")
    return writer.bytes.count > start + 1
  }

  private func writeDetails(
    _ key: ObjectKey,
    _ kind: ObjectChange.Kind,
    _ plan: FetchPlan,
    _ last: JSONValue?,
    _ writer: inout JSONWriter
  ) throws {
    if kind == .update {
      writer.raw(",\"properties\":")
      writer.value(names(key, plan))
    }
    if kind == .delete {
      writer.raw(",\"last\":")
      writer.value(last ?? [:])
    } else {
      writer.raw(",\"object\":")
      try writeObject(key.object, plan, &writer)
    }
  }

  /// The observed objects that differ, and their fingerprints as they are now.
  private func touchedObjects(
    _ subscription: inout LiveSubscription,
    _ objects: [(id: String, key: ObjectKey?)],
    _ plans: [Int: FetchPlan],
    _ verdict: Verdict
  ) throws -> Set<ObjectKey> {
    var touched: Set<ObjectKey> = []
    if case .values(let keys) = verdict {
      touched = keys
    } else {
      let interest = subscription.interest
      if case .objects(let keys, let values, _) = interest {
        let own = Interest.objects(keys, values: values, related: [:])
        if case .values(let keys) = own.verdict(on: changes) { touched = keys }
      }
    }
    guard subscription.readsRelated else { return touched }
    let keys = objects.compactMap(\.key)
    let now = try SubscriptionResult.fingerprints(keys, plans, snapshot)
    for key in keys where now[key] != subscription.fingerprints[key] { touched.insert(key) }
    subscription.fingerprints = now
    return touched
  }

  private func tombstones(_ keys: Set<ObjectKey>) throws -> [ObjectKey: JSONValue] {
    try snapshot.log.tombstones(of: keys, from: observed.examined, to: snapshot.head)
      .reduce(into: [:]) { result, entry in
        let entity = snapshot.model.entity(entry.key.entity)
        result[entry.key] = .object(
          entry.value.map {
            JSONMember($0.property, WireValue.json($0, of: entity, in: snapshot.model))
          }
        )
      }
  }

  // MARK: By fetch

  private func writeSequence(
    _ subscription: inout LiveSubscription,
    _ plan: FetchPlan,
    _ verdict: Verdict,
    _ writer: inout JSONWriter
  ) throws -> Bool {
    let old = subscription.sequence
    var difference = SequenceDifference(from: [], to: [])
    var touched: Set<ObjectKey>
    switch verdict {
    case .untouched: return false
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
    let updates = places(of: touched, in: subscription.sequence, except: inserted, plan)
    guard !difference.isEmpty || !updates.isEmpty else { return false }
    try writeRemovals(difference, plan, &writer)
    try writeInsertions(difference, subscription.mode, plan, &writer)
    if subscription.mode != .ids { try writeUpdates(updates, plan, &writer) }
    writer.raw(",\"count\":")
    writer.integer(Int64(subscription.sequence.count))
    return true
  }

  /// The objects of the entity whose answered values were written.
  private func ownChanges(_ plan: FetchPlan) -> Set<ObjectKey> {
    let own = Interest.fetch(
      entity: plan.entity.number,
      membership: [],
      values: Set(plan.valueNames.keys),
      related: [:]
    )
    var keys: Set<ObjectKey> = []
    for change in changes.changes.values where change.kind == .update {
      let single = ChangeSet(
        from: changes.from,
        through: changes.through,
        changes: [change.key: change]
      )
      if case .values(let found) = own.verdict(on: single) { keys.formUnion(found) }
    }
    return keys
  }

  /// Reads every row of a window whose values may have changed behind a key path.
  private func compareRows(
    _ subscription: inout LiveSubscription,
    _ plan: FetchPlan,
    _ touched: inout Set<ObjectKey>
  ) throws {
    var now: [ObjectKey: UInt64] = [:]
    var differing: Set<ObjectKey> = []
    let entity = plan.entity.number
    let before = subscription.fingerprints
    var rows = JSONWriter()
    _ = try snapshot.writeObjects(plan, bytesMax: limits.answerBytesMax, to: &rows) {
      object,
      range,
      bytes in
      let key = ObjectKey(entity: entity, object: object)
      let print = Fingerprint.of(bytes[range])
      now[key] = print
      if before[key] != print { differing.insert(key) }
    }
    subscription.fingerprints = now
    touched.formUnion(differing)
  }

  /// The places of objects in a sequence, ascending.
  private func places(
    of keys: Set<ObjectKey>,
    in sequence: [Int64],
    except inserted: Set<Int64>,
    _ plan: FetchPlan
  ) -> [(offset: Int, key: ObjectKey)] {
    let wanted = keys.filter { $0.entity == plan.entity.number && !inserted.contains($0.object) }
    guard !wanted.isEmpty else { return [] }
    let numbers = Set(wanted.map(\.object))
    return sequence.indices.filter { numbers.contains(sequence[$0]) }
      .map { ($0, ObjectKey(entity: plan.entity.number, object: sequence[$0])) }
  }

  private func writeRemovals(
    _ difference: SequenceDifference,
    _ plan: FetchPlan,
    _ writer: inout JSONWriter
  ) throws {
    let entity = plan.entity.number
    let gone = difference.removals.filter { $0.movedTo == nil }
      .map { ObjectKey(entity: entity, object: $0.element) }
      .filter { changes.changes[$0]?.kind == .delete }
    let last = try tombstones(Set(gone))
    writer.raw("\"remove\":[")
    for (index, removal) in difference.removals.enumerated() {
      if index > 0 { writer.raw(",") }
      let key = ObjectKey(entity: entity, object: removal.element)
      writer.raw("{\"offset\":")
      writer.integer(Int64(removal.offset))
      writer.raw(",\"id\":")
      writer.string(try snapshot.wrappedID(key).description)
      if let place = removal.movedTo {
        writer.raw(",\"movedTo\":")
        writer.integer(Int64(place))
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
      let key = ObjectKey(entity: plan.entity.number, object: insertion.element)
      writer.raw("{\"offset\":")
      writer.integer(Int64(insertion.offset))
      writer.raw(",\"id\":")
      writer.string(try snapshot.wrappedID(key).description)
      if let place = insertion.movedFrom {
        writer.raw(",\"movedFrom\":")
        writer.integer(Int64(place))
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

  // MARK: Objects

  private func writeObject(
    _ object: Int64,
    _ plan: FetchPlan,
    _ writer: inout JSONWriter
  ) throws {
    if try !snapshot.write(object, as: plan, to: &writer) { writer.null() }
  }

  /// The names of the answered values that may differ.
  private func names(_ key: ObjectKey, _ plan: FetchPlan) -> JSONValue {
    guard let change = changes.changes[key], change.kind == .update else {
      return .array(plan.relatedNames.sorted().map { .string($0) })
    }
    if change.properties.contains(ChangeSet.everyProperty) {
      let all = plan.valueNames.values.reduce(into: Set<String>()) { $0.formUnion($1) }
      return .array(all.sorted().map { .string($0) })
    }
    let own = change.properties.reduce(into: Set<String>()) { names, property in
      names.formUnion(plan.valueNames[property] ?? [])
    }
    return .array(own.union(own.isEmpty ? plan.relatedNames : []).sorted().map { .string($0) })
  }
}
