import CordialProtocol
import CordialValues
import JSON
import JSONRPC
import ObjectModel
import PersistentHistory
import PersistentStore
import Subscriptions

/// A builder of the `changes` message that moves a connection from its position to a snapshot.
struct UpdateBuilder {
  let snapshot: StoreSnapshot
  let observed: ObservedState
  let limits: Limits
  let changes: ChangeSet
  /// The effect of the changes on each subscription, or nil if all subscriptions start over.
  ///
  /// The subscriptions start over if there are too many changes, or if they have to be compiled
  /// again.
  private let verdicts: [(number: Int, verdict: Verdict)]?

  /// The result of an update.
  struct Outcome: Sendable {
    /// The complete message, or nil if there is nothing to report.
    let message: MessageBytes?
    /// The subscriptions that the update may have changed, in their new state.
    let subscriptions: [LiveSubscription]
    let token: StoreToken
    let examined: LogPosition
    /// The authors of commits that the client was not notified of.
    let unreportedAuthors: [String?]
    /// The numbers of the subscriptions that end, as the message reports.
    var ended: [Int] = []
  }

  /// Reads all changes since a connection was last examined.
  init(snapshot: StoreSnapshot, observed: ObservedState, limits: Limits) throws {
    self.snapshot = snapshot
    self.observed = observed
    self.limits = limits
    let known =
      Self.isCompiled(observed, for: snapshot)
      ? try snapshot.log.changeSet(
        from: observed.examined,
        to: snapshot.head,
        changesMax: limits.changesMax
      ) : nil
    changes =
      try known
      ?? snapshot.log.authors(from: observed.examined.commit, through: snapshot.head.number)
    verdicts = known.map { observed.table.verdicts(on: $0) }
  }

  /// Reads the changes, or returns nil if the update needs more than a few look-ups by key.
  init?(smallOf snapshot: StoreSnapshot, observed: ObservedState, limits: Limits) throws {
    self.snapshot = snapshot
    self.observed = observed
    self.limits = limits
    guard Self.isCompiled(observed, for: snapshot),
      let changes = try snapshot.log.changeSet(
        from: observed.examined,
        to: snapshot.head,
        changesMax: Self.lookUpsMax
      )
    else { return nil }
    let verdicts = observed.table.verdicts(on: changes)
    let isSmall = verdicts.allSatisfy { number, verdict in
      verdict != .undecided
        && observed.index(of: number).map { !observed.subscriptions[$0].readsRelated } ?? true
    }
    guard verdicts.count <= Self.lookUpsMax, isSmall else { return nil }
    self.changes = changes
    self.verdicts = verdicts
  }

  /// Returns whether a connection's subscriptions are compiled for the references in a snapshot.
  ///
  /// All subscriptions of a connection are compiled again together.
  private static func isCompiled(_ observed: ObservedState, for snapshot: StoreSnapshot) -> Bool {
    observed.subscriptions.first.map { $0.mayDangle == snapshot.mayDangle } ?? true
  }

  private static let lookUpsMax = 64
  /// The number of unreported authors at which a message without updates is sent.
  private static let unreportedAuthorsMax = 1000
  /// The maximum length of updates that are copied into one piece with the rest of the message.
  private static let shortMax = 4096

  /// Builds the update.
  func build() throws -> Outcome {
    var reported = Reported()
    let authors = authors
    let isSilent = verdicts?.isEmpty == true && authors.count < Self.unreportedAuthorsMax
    let message = isSilent ? nil : try message(&reported, authors)
    return Outcome(
      message: message,
      subscriptions: reported.subscriptions,
      token: snapshot.token,
      examined: snapshot.head.position,
      unreportedAuthors: message == nil ? authors : [],
      ended: reported.ended
    )
  }

  /// The subscriptions that a message updates, and those that end.
  private struct Reported {
    var subscriptions: [LiveSubscription] = []
    var ended: [Int] = []
  }

  /// Returns the whole message, or nil when no subscription has an update.
  private func message(_ reported: inout Reported, _ authors: [String?]) throws -> MessageBytes? {
    var updates = JSONWriter(reserving: 1024, pieceBytes: Service.pieceBytes)
    guard try writeUpdates(&reported, &updates) || authors.count >= Self.unreportedAuthorsMax else {
      return nil
    }
    var writer = JSONWriter(reserving: 256)
    writer.raw("{\"jsonrpc\":\"2.0\",\"method\":\"changes\",\"params\":{\"from\":\"")
    writer.raw(string: (observed.position ?? snapshot.token).description)
    writer.raw("\",\"token\":\"")
    writer.raw(string: snapshot.token.description)
    writer.raw("\",\"authors\":")
    writer.value(.array(authors.map { $0.map { .string($0) } ?? nil }))
    writer.raw(",\"updates\":[")
    guard updates.count > Self.shortMax else {
      for piece in updates.pieces { writer.raw(piece) }
      writer.raw("]}}")
      return MessageBytes(writer)
    }
    var message = MessageBytes(writer)
    message.append(MessageBytes(updates))
    message.append(Array("]}}".utf8))
    return message
  }

  /// Writes the updates of all subscriptions; returns whether there are any.
  private func writeUpdates(_ reported: inout Reported, _ writer: inout JSONWriter) throws -> Bool {
    let start = writer.count
    guard let verdicts else {
      for var subscription in observed.subscriptions {
        let piece = try piece(of: subscription.number, &reported) { writer in
          try writeFresh(&subscription, &writer)
          return true
        }
        reported.subscriptions.append(subscription)
        Self.append(piece, since: start, to: &writer)
      }
      return writer.count > start
    }
    for (number, verdict) in verdicts {
      guard let index = observed.index(of: number) else { continue }
      var subscription = observed.subscriptions[index]
      let piece = try piece(of: number, &reported) { writer in
        try write(&subscription, verdict, &writer)
      }
      reported.subscriptions.append(subscription)
      Self.append(piece, since: start, to: &writer)
    }
    return writer.count > start
  }

  private static func append(
    _ piece: JSONWriter?,
    since start: Int,
    to writer: inout JSONWriter
  ) {
    guard let piece else { return }
    if writer.count > start { writer.raw(",") }
    writer.raw(piece.bytes)
  }

  /// Writes the update of one subscription, or returns nil if there is none.
  ///
  /// A subscription whose fetch fails ends with the error. The connection and its other
  /// subscriptions continue.
  private func piece(
    of number: Int,
    _ reported: inout Reported,
    _ write: (inout JSONWriter) throws -> Bool
  ) throws -> JSONWriter? {
    var piece = JSONWriter()
    do {
      return try write(&piece) ? piece : nil
    } catch {
      let failure = StoreError(any: error)
      if error is UnsealedChanges { throw error }
      guard failure.code == .limitExceeded || failure.code == .internalError else { throw error }
      reported.ended.append(number)
      var end = JSONWriter()
      end.raw("{\"subscription\":\"s")
      end.integer(Int64(number))
      end.raw("\",\"error\":")
      end.value(RPCError(failure).json)
      end.raw("}")
      return end
    }
  }

  /// The authors of all commits after the position that the client knows, each once, in the order
  /// of their first commits.
  private var authors: [String?] {
    observed.unreportedAuthors
      + changes.authors.filter { !observed.unreportedAuthors.contains($0) }
  }

  private func writeFresh(
    _ subscription: inout LiveSubscription,
    _ writer: inout JSONWriter
  ) throws {
    try SubscriptionResult.recompile(&subscription, snapshot)
    writer.raw("{\"subscription\":\"")
    writer.raw(string: subscription.name)
    guard subscription.mode != .signal else {
      try SubscriptionResult.recordState(&subscription, snapshot, bytesMax: limits.answerBytesMax)
      return writer.raw("\",\"signal\":true}")
    }
    writer.raw("\",\"fresh\":true,\"result\":")
    try SubscriptionResult.write(
      &subscription,
      snapshot,
      bytesMax: limits.answerBytesMax,
      to: &writer
    )
    writer.raw("}")
  }

  /// Writes one subscription's update; returns false if there is none.
  private func write(
    _ subscription: inout LiveSubscription,
    _ verdict: Verdict,
    _ writer: inout JSONWriter
  ) throws -> Bool {
    var body = JSONWriter()
    let hasUpdate: Bool
    switch subscription.target {
    case .objects(let objects, let plans, _):
      hasUpdate = try writeObjects(&subscription, objects, plans, verdict, &body)
    case .fetch(let plan, _):
      hasUpdate = try writeSequence(&subscription, plan, verdict, &body)
    }
    guard hasUpdate else { return false }
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
    let now = try resolved(&subscription, objects)
    let touched = try touchedObjects(&subscription, now.map(\.key), plans, verdict)
    let deleted = objects.compactMap(\.key).filter { changes.changes[$0]?.kind == .delete }
    let last = try tombstones(Set(deleted))
    writer.raw("\"objects\":[")
    let start = writer.count
    for (index, (id, old)) in objects.enumerated() {
      let new = now[index].key
      guard let key = new ?? old, new != old || touched.contains(key),
        let plan = plans[key.entity]
      else { continue }
      let kind = kind(from: old, to: new)
      if subscription.mode == .ids, kind == .update { continue }
      if writer.count > start { writer.raw(",") }
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
    return writer.count > start + 1
  }

  /// Returns the kind of change of the object that an ID names.
  ///
  /// An identity value may have moved to another object.
  private func kind(from old: ObjectKey?, to new: ObjectKey?) -> ObjectChange.Kind {
    guard old == new, let key = new else {
      return old == nil ? .insert : new == nil ? .delete : .update
    }
    return changes.changes[key]?.kind ?? .update
  }

  /// Returns the objects that observed IDs name now.
  ///
  /// After a delete, an identity value may name no object or another one.
  private func resolved(
    _ subscription: inout LiveSubscription,
    _ objects: [(id: String, key: ObjectKey?)]
  ) throws -> [(id: String, key: ObjectKey?)] {
    var now = objects
    var awaited: Set<Int> = []
    var differs = false
    for (index, (id, old)) in objects.enumerated() {
      let isDeleted = old.map { changes.changes[$0]?.kind == .delete } ?? true
      guard isDeleted, try snapshot.entity(of: id).identity != nil else { continue }
      // An ID of the form `p` never names another object.
      let new = try snapshot.resolve(id)
      guard new != old || old == nil else { continue }
      now[index].key = new
      differs = differs || new != old
      if new == nil {
        awaited.formUnion(try snapshot.entity(of: id).familyPosition.concreteEntities)
      }
    }
    guard differs, case .objects(_, let plans, let call) = subscription.target else { return now }
    subscription.awaited = awaited
    subscription.revision += 1
    subscription.target = .objects(now, plans: plans, call: call)
    return now
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

  /// Returns the observed objects that changed, and updates their digests.
  private func touchedObjects(
    _ subscription: inout LiveSubscription,
    _ objects: [ObjectKey?],
    _ plans: [Int: FetchPlan],
    _ verdict: Verdict
  ) throws -> Set<ObjectKey> {
    var touched: Set<ObjectKey> = []
    if case .values(let keys) = verdict {
      touched = keys
    } else if case .objects(let keys, _, _) = subscription.interest {
      let own = Interest.objects(keys)
      if case .values(let keys) = own.verdict(on: changes) { touched = keys }
    }
    guard subscription.readsRelated else { return touched }
    let keys = objects.compactMap(\.self)
    let now = try SubscriptionResult.digests(keys, plans, snapshot)
    for key in keys where now[key] != subscription.digests[key] { touched.insert(key) }
    subscription.digests = now
    return touched
  }

  func tombstones(_ keys: Set<ObjectKey>) throws -> [ObjectKey: JSONValue] {
    try snapshot.log.tombstones(of: keys, from: observed.examined, to: snapshot.head)
      .reduce(into: [:]) { result, entry in
        let entity = snapshot.model.entity(entry.key.entity)
        result[entry.key] = .object(
          try entry.value.map { JSONMember($0.property, try snapshot.json($0, of: entity)) }.nested
        )
      }
  }

  // MARK: Objects

  func writeObject(
    _ object: Int64,
    _ plan: FetchPlan,
    _ writer: inout JSONWriter
  ) throws {
    if try !snapshot.write(object, as: plan, to: &writer) { writer.null() }
  }

  /// Returns the names of the returned values that may differ.
  func names(_ key: ObjectKey, _ plan: FetchPlan) -> JSONValue {
    let change = changes.changes[key]
    guard let change, change.kind != .delete else {
      return .array(plan.relatedNames.sorted().map { .string($0) })
    }
    if change.kind == .insert || change.properties.contains(ChangeSet.everyProperty) {
      let all = plan.valueNames.values.reduce(into: Set<String>()) { $0.formUnion($1) }
      return .array(all.sorted().map { .string($0) })
    }
    let own = change.properties.reduce(into: Set<String>()) { names, property in
      names.formUnion(plan.valueNames[property] ?? [])
    }
    let names = own.isEmpty || reachesRelated(plan) ? own.union(plan.relatedNames) : own
    return .array(names.sorted().map { .string($0) })
  }

  /// Returns whether the changes affect properties that a plan reads of related objects.
  private func reachesRelated(_ plan: FetchPlan) -> Bool {
    guard !plan.relatedNames.isEmpty else { return false }
    return changes.changes.values.contains { change in
      guard let read = plan.related[change.key.entity] else { return false }
      return change.kind != .update || read.contains(ChangeSet.everyProperty)
        || !read.isDisjoint(with: change.properties)
    }
  }
}
