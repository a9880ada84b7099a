package import CordialValues
package import JSON
import ObjectModel
import PersistentHistory

/// The second stage of a save: compares the state that updates and deletes are based on with the
/// stored state, property by property, and applies the merge policy.
///
/// `Resolver` decides whether an insert matches an existing object; this stage reports the
/// decision.
package struct SaveMerger {
  let layout: SaveLayout
  let stored: any StoredObjects
  let history: any SaveHistory
  let request: SaveRequest
  let decisions: [String: MergeDecision]
  /// The save that remains to be planned.
  package private(set) var save: ResolvedSave
  /// The conflicts that the policy `error` reports.
  package private(set) var conflicts: [SaveConflict] = []
  /// The problems of list positions that do not exist in the lists that clients read.
  package internal(set) var problems = ProblemList()
  /// The decisions of the policy, one entry for each object.
  package private(set) var merged: [MergedObject] = []
  /// The index in `merged` of each object's property decisions.
  private var mergedIndices: [ObjectKey: Int] = [:]
  /// The properties whose stored values the result returns because of the merge policy.
  package private(set) var reported: [ObjectKey: Set<String>] = [:]
  /// The deletes that the policy skips; the result returns all values of their objects.
  package private(set) var skippedDeletes: [ResolvedDelete] = []

  /// Prepares the merging of a resolved request.
  package init(
    _ save: ResolvedSave,
    _ request: SaveRequest,
    _ layout: SaveLayout,
    _ stored: any StoredObjects,
    _ history: any SaveHistory,
    decisions: [String: MergeDecision]
  ) {
    self.save = save
    self.request = request
    self.layout = layout
    self.stored = stored
    self.history = history
    self.decisions = decisions
  }

  var policy: SaveRequest.MergePolicy { request.mergePolicy }
  private var wire: StoredWire { StoredWire(layout: layout, stored: stored) }

  /// Merges all updates and deletes.
  ///
  /// - Throws: `historyExpired` when a policy needs history that is no longer retained.
  package mutating func merge() throws {
    reportAdoptions()
    let stale = save.updates.filter(\.isStale)
    let rows =
      stale.isEmpty
      ? [:]
      : try history.rows(
        since: Dictionary(stale.map { ($0.key, $0.known ?? 0) }, uniquingKeysWith: min)
      )
    let changedMembers = try changedMembers()
    for index in save.updates.indices where save.updates[index].known != nil {
      var update = save.updates[index]
      let isStale = update.isStale
      var changed = isStale ? try changes(of: update, rows[update.key]) : []
      changed += changedMembers[index] ?? []
      guard isStale || !changed.isEmpty else { continue }
      if policy == .error {
        try note(conflicts: changed, of: update)
      } else {
        try decide(&update, changed)
        save.updates[index] = update
      }
    }
    try mergeDeletes()
    if [.storeTrump, .rollback].contains(policy) { try removeTakenUniqueValues() }
  }

  /// Removes unique values from updates if another object has these values.
  ///
  /// The object of such an update keeps its stored values. These values may equal the values of a
  /// third object's update, so the passes repeat until a pass removes no property.
  private mutating func removeTakenUniqueValues() throws {
    while try removeTakenUniqueValuesOnce() {}
  }

  /// Performs one pass of `removeTakenUniqueValues`.
  ///
  /// - Returns: Whether the pass removed a property from an update.
  private mutating func removeTakenUniqueValuesOnce() throws -> Bool {
    var hasRemoved = false
    let deletedKeys = Set(save.deletes.map(\.key))
    for index in save.updates.indices {
      var update = save.updates[index]
      for set in layout.entity(update.key).uniqueSets where !set.isIdentity {
        let sent = Set(propertyNames(of: update))
        guard set.names.contains(where: sent.contains), !takesOneToOne(set, update),
          let values = try values(of: set, update),
          try stored.holders(of: set, values).contains(where: { holder in
            try holder != update.key && !deletedKeys.contains(holder)
              && !changesUniqueValues(set, holder, values)
          })
        else { continue }
        let kept = set.names.filter(sent.contains)
        for name in kept { update.remove(name, layout) }
        hasRemoved = true
        reported[update.key, default: []].formUnion(kept)
        report(kept.map { MergedProperty(name: $0, outcome: .store) }, of: update.key)
      }
      save.updates[index] = update
    }
    return hasRemoved
  }

  /// Returns whether an update sets a one-to-one of a unique set, so that the former holder loses
  /// the values.
  private func takesOneToOne(_ set: UniqueSet, _ update: ResolvedUpdate) -> Bool {
    update.links.contains { change in
      guard change.relationship.isOneToOne, case .toOne(.some) = change.link else { return false }
      return set.names.contains(change.relationship.name)
    }
  }

  /// Returns the values of a unique set after an update; nil if a value is null.
  private func values(of set: UniqueSet, _ update: ResolvedUpdate) throws -> [AttributeValue]? {
    var values: [AttributeValue] = []
    for (name, column) in zip(set.names, set.columns) {
      var value = try update.columns[column: column] ?? stored.value(column, of: update.key)
      if case .toOne(let target)? = update.links.last(where: { $0.relationship.name == name })?.link
      {
        value = target.map { .integer($0.object) }
      }
      guard let value, value != .null else { return nil }
      values.append(value)
    }
    return values
  }

  /// Returns whether an update of the same save changes an object's values in a unique set, so that
  /// the object no longer has the taken values.
  private func changesUniqueValues(
    _ set: UniqueSet,
    _ holder: ObjectKey,
    _ taken: [AttributeValue]
  ) throws -> Bool {
    guard let update = save.updates.last(where: { $0.key == holder }),
      let own = layout.entity(holder).uniqueSets.first(where: { $0.names == set.names })
    else { return false }
    return try values(of: own, update) != taken
  }

  private mutating func mergeDeletes() throws {
    var kept: [ResolvedDelete] = []
    for delete in save.deletes {
      guard let known = delete.known, known < delete.version else {
        kept.append(delete)
        continue
      }
      switch policy {
      case .error: conflicts.append(SaveConflict(delete.label, delete.version))
      case .objectTrump, .overwrite:
        // The name is read while the object exists.
        let name = ObjectName.text(try stored.name(of: delete.key))
        merged.append(MergedObject(id: name, outcome: .delete(.client)))
        kept.append(delete)
      case .storeTrump, .rollback, .named:
        merged.append(MergedObject(id: .object(delete.key), outcome: .delete(.store)))
        skippedDeletes.append(delete)
      }
    }
    save.deletes = kept
  }

  private mutating func reportAdoptions() {
    let outcome: MergeOutcome =
      [.storeTrump, .rollback].contains(policy) ? .store : .client
    // Adopted inserts are the first updates, in the same order.
    for (adoption, update) in zip(save.adoptions, save.updates) {
      let identity = layout.entity(adoption.key).entity.identity?.name
      // The identity is reported only if the identities of the insert and of the matched object
      // differ.
      let names =
        (policy == .overwrite ? propertyNames(of: update) : adoption.names)
        .filter { $0 != identity } + (adoption.otherIdentity.map { [$0] } ?? [])
      report(
        names.map { MergedProperty(name: $0, outcome: outcome) },
        of: adoption.key
      )
      if outcome == .store { reported[adoption.key, default: []].formUnion(names) }
    }
  }

  private func propertyNames(of update: ResolvedUpdate) -> [String] {
    let entity = layout.entity(update.key)
    return update.columns.map { entity.columnNames[$0.column] }
      .filter { !entity.derived.contains($0) }
      + update.links.map(\.relationship.name)
  }

  // MARK: Policies

  /// Merges the changes of a client with the changes of other saves since the client read the
  /// object.
  private mutating func decide(
    _ update: inout ResolvedUpdate,
    _ changed: [ChangedProperty]
  ) throws {
    let sent = Set(propertyNames(of: update))
    var outcomes: [MergedProperty] = []
    for change in changed {
      let isSent = sent.contains(change.name)
      let outcome: MergeOutcome
      switch policy {
      case .objectTrump where isSent, .storeTrump where isSent && change.isMembership:
        outcome = try combine(&update, change)
      case .storeTrump where isSent, .rollback:
        update.remove(change.name, layout)
        outcome = .store
      case .overwrite:
        try overwrite(&update, change)
        outcome = isSent ? .client : .base
      case .named(let name): outcome = try ask(name, &update, change)
      case .error, .objectTrump, .storeTrump: outcome = .store
      }
      outcomes.append(MergedProperty(name: change.name, outcome: outcome))
    }
    if policy == .rollback {
      outcomes += propertyNames(of: update).map {
        MergedProperty(name: $0, outcome: .store)
      }
      update.columns = []
      update.links = []
    }
    for decided in outcomes {
      let name = decided.name
      switch decided.outcome {
      // A property that the client sent and did not get is returned with its stored value.
      case .store: if sent.contains(name) { reported[update.key, default: []].insert(name) }
      case .base, .policy: reported[update.key, default: []].insert(name)
      case .client: break
      }
    }
    if !outcomes.isEmpty { report(outcomes, of: update.key) }
  }

  /// Reports the decisions about properties of an object, in one entry for each object.
  private mutating func report(_ properties: [MergedProperty], of key: ObjectKey) {
    guard let index = mergedIndices[key], case .properties(let known) = merged[index].outcome
    else {
      mergedIndices[key] = merged.count
      return merged.append(MergedObject(id: .object(key), outcome: .properties(properties)))
    }
    let names = Set(properties.map(\.name))
    merged[index] = MergedObject(
      id: .object(key),
      outcome: .properties(known.filter { !names.contains($0.name) } + properties)
    )
  }

  /// Keeps the client's value; for a to-many, combines the changes of the client and of other
  /// saves.
  private mutating func combine(
    _ update: inout ResolvedUpdate,
    _ change: ChangedProperty
  ) throws -> MergeOutcome {
    guard let index = update.links.firstIndex(where: { $0.relationship.name == change.name }),
      case .members(let base) = change.base
    else { return .client }
    let toMany = update.links[index].relationship
    // The result returns the list, because the client does not know the changes of other saves.
    reported[update.key, default: []].insert(change.name)
    guard case .members(let list) = update.links[index].link else { return .client }
    let before = Set(base)
    let sent = Set(list)
    let added = list.filter { !before.contains($0) }
    // A member that was deleted after the client read the list does not have to be removed.
    let removed = try base.filter { try !sent.contains($0) && stored.version(of: $0) != nil }
    if toMany.description.ordered, policy == .objectTrump {
      let present = try stored.members(of: toMany, update.key).map(toMany.target)
      let now = Set(present)
      let kept = list.filter { !before.contains($0) || now.contains($0) }
      let others = present.filter { !before.contains($0) && !sent.contains($0) }
      update.links[index].link = .members(kept + others)
      return .client
    }
    // A client that sends the members that it read, in any order, changed no membership.
    guard !added.isEmpty || !removed.isEmpty else {
      update.links.remove(at: index)
      return .store
    }
    update.links[index].link = .edit(add: added, remove: removed, at: nil)
    return .client
  }

  /// Calls one of the program's own merge policies.
  private mutating func ask(
    _ name: String,
    _ update: inout ResolvedUpdate,
    _ change: ChangedProperty
  ) throws -> MergeOutcome {
    guard let decision = decisions[name] else {
      throw StoreError(.invalidRequest, "There is no merge policy \(StoreError.short(name))")
    }
    let client = sentValue(of: change.name, update)
    let conflict = PropertyConflict(
      id: update.label,
      property: change.name,
      base: try wire.json(change.base, of: change.name, update.key),
      store: try wire.json(change.name, update.key),
      client: client
    )
    switch decision(conflict) {
    case .client where client != nil: return .client
    case .store, .client:
      update.remove(change.name, layout)
      return .store
    case .base:
      try set(change.name, to: conflict.base, in: &update)
      return .base
    case .value(let value):
      try set(change.name, to: value, in: &update)
      return .policy
    }
  }

  /// Sets a value in an update as if the client had sent it.
  private mutating func set(
    _ name: String,
    to value: JSONValue,
    in update: inout ResolvedUpdate
  ) throws {
    update.remove(name, layout)
    var resolver = Resolver(SaveRequest(), layout, stored)
    var read = update
    read.columns = []
    read.links = []
    try resolver.read([JSONMember(name, value)], layout.entity(update.key), &read)
    if let error = resolver.problems.error { throw error }
    for column in read.columns { update.columns.set(column.column, to: column.value) }
    update.links += read.links
  }

  /// Returns the value that the client sent for a property, verbatim.
  private func sentValue(of name: String, _ update: ResolvedUpdate) -> JSONValue? {
    guard case .update = update.origin else { return nil }
    return update.sent.last { $0.name == name }?.value
  }

  private mutating func note(
    conflicts changed: [ChangedProperty],
    of update: ResolvedUpdate
  ) throws {
    // An older version is a conflict even if the log has no change of the object.
    guard !changed.isEmpty else {
      return conflicts.append(SaveConflict(update.label, update.version))
    }
    for change in changed {
      conflicts.append(
        SaveConflict(
          id: update.label,
          property: change.name,
          base: try wire.json(change.base, of: change.name, update.key),
          store: try wire.json(change.name, update.key),
          client: sentValue(of: change.name, update) ?? .null,
          version: update.version,
          isMembership: change.isOneToMany
        )
      )
    }
  }
}

extension ResolvedUpdate {
  /// Whether another save changed the object since the client read it.
  fileprivate var isStale: Bool { known.map { $0 < version } ?? false }

  /// Removes the values that were sent for a property.
  fileprivate mutating func remove(_ name: String, _ layout: SaveLayout) {
    let entity = layout.entity(key)
    links.removeAll { $0.relationship.name == name }
    guard let column = entity.columns[name] else { return }
    columns.removeAll { change in
      change.column == column
        || entity.derivedTexts.contains { $0.column == change.column && $0.source == column }
    }
  }
}

/// The origin of the value of a property that several saves changed.
package enum MergeOutcome: String, Sendable {
  case client, store, base, policy
}

/// A property that several saves changed.
package struct MergedProperty: Sendable, Equatable {
  package let name: String
  package let outcome: MergeOutcome
}

/// The outcome of the merge for an object that several saves changed.
package struct MergedObject: Sendable, Equatable {
  /// The decisions about the object.
  package enum Outcome: Sendable, Equatable {
    case properties([MergedProperty])
    /// The result of a delete: `client` if it was performed, `store` if it was skipped.
    case delete(MergeOutcome)
  }

  package let id: ObjectName
  package let outcome: Outcome
}

/// A property, or a whole object, that other saves changed since the version that the client sent.
package struct SaveConflict {
  /// The object's ID as the client sent it.
  package let id: String
  /// The property; nil for the whole object.
  package var property: String?
  /// The value in the version that the client sent.
  package var base: JSONValue = .null
  /// The stored value.
  package var store: JSONValue = .null
  /// The value that the client sent.
  package var client: JSONValue = .null
  /// The stored version of the object.
  package var version: Int64?
  /// Whether the conflict concerns the members of a one-to-many; the error's hint then names
  /// `asOf`.
  package var isMembership = false
  /// Whether the conflict names only the object and its version.
  package var isWhole = false

  init(
    id: String,
    property: String?,
    base: JSONValue,
    store: JSONValue,
    client: JSONValue,
    version: Int64?,
    isMembership: Bool = false
  ) {
    self.id = id
    self.property = property
    self.base = base
    self.store = store
    self.client = client
    self.version = version
    self.isMembership = isMembership
  }

  /// Creates a conflict about a whole object.
  init(_ id: String, _ version: Int64) {
    self.id = id
    self.version = version
    isWhole = true
  }

  var json: JSONValue {
    let version: JSONValue = version.map { .integer($0) } ?? .null
    guard !isWhole else { return ["id": .string(id), "property": nil, "version": version] }
    return [
      "id": .string(id), "property": property.map { .string($0) } ?? .null,
      "base": base, "store": store, "client": client, "version": version,
    ]
  }
}
