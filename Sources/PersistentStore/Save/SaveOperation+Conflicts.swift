import CordialValues
import JSON
import ObjectModel
import PersistentHistory

/// What a save is based on that is not so any more.
extension SaveOperation {
  /// Compares the versions on which updates and deletes are based with the stored ones, before
  /// this save raises any.
  mutating func checkVersions() throws {
    var stale: [(index: Int, key: ObjectKey, version: Int64)] = []
    var versions: [ObjectKey: Int64] = [:]
    for (index, update) in request.updates.enumerated() {
      guard let known = update.version, let (key, version) = try stored(update.id) else { continue }
      if known < version {
        stale.append((index, key, version))
        versions[key] = known
      } else {
        checkNotAhead(known, version, update.id)
      }
    }
    let history = stale.isEmpty ? [:] : try log.rows(since: versions)
    for (index, key, version) in stale {
      let update = request.updates[index]
      let changed = try changes(of: key, since: update, history[key])
      if request.mergePolicy == .error {
        conflicts += try conflict(update, key, version, changed)
      } else {
        try merge(update, at: index, key, changed)
      }
    }
    for delete in request.deletes {
      guard let known = delete.version, let (_, version) = try stored(delete.id) else { continue }
      if known < version {
        switch request.mergePolicy {
        case .error: conflicts.append(Self.wholeConflict(delete.id, version))
        case .objectTrump, .overwrite: continue
        case .storeTrump, .rollback, .named: spared.insert(delete.id)
        }
      } else {
        checkNotAhead(known, version, delete.id)
      }
    }
  }

  private mutating func checkNotAhead(_ known: Int64, _ version: Int64, _ id: String) {
    guard known > version else { return }
    problem(id, nil, "version", "Version \(known) is ahead of the store's \(version)")
  }

  private func stored(_ id: String) throws -> (ObjectKey, version: Int64)? {
    guard let key = try resolve(id), !isInserted(key),
      let version = try table(key).version(of: key.object)
    else { return nil }
    return (key, version)
  }

  /// A conflict about an object as such.
  private static func wholeConflict(_ id: String, _ version: Int64) -> JSONValue {
    ["id": .string(id), "property": nil, "version": .integer(version)]
  }

  /// Puts what a client changed together with what others did since the version that it knew.
  private mutating func merge(
    _ update: SaveRequest.Update,
    at index: Int,
    _ key: ObjectKey,
    _ changed: [(property: String, base: JSONValue)]
  ) throws {
    var values = update.values
    var outcome: [JSONMember] = []
    for (property, base) in changed {
      let sent = values.contains { $0.name == property }
      switch request.mergePolicy {
      case .objectTrump where sent,
        .storeTrump where sent && isToMany(property, key) && base.array != nil:
        // To-manys are sets: what the client put in or took out holds beside what others did.
        let value = values.last { $0.name == property }?.value ?? .null
        let change = try setChange(value, base, property, key)
        values.removeAll { $0.name == property }
        let isToMany = self.isToMany(property, key)
        if isToMany, value.array != nil { mergedLists[key, default: []].insert(property) }
        // Who sends what it knew, or another order of it, has nothing for the store to take.
        guard !isToMany || change["@add"] != [] || change["@remove"] != [] else {
          outcome.append(JSONMember(property, "store"))
          continue
        }
        values.append(JSONMember(property, change))
        outcome.append(JSONMember(property, "client"))
      case .storeTrump where sent, .rollback:
        values.removeAll { $0.name == property }
        outcome.append(JSONMember(property, "store"))
      case .overwrite:
        let value = values.last { $0.name == property }?.value
        values.removeAll { $0.name == property }
        values.append(
          JSONMember(property, try overwriting(value, with: base, property, key))
        )
        outcome.append(JSONMember(property, sent ? "client" : "base"))
      case .named(let name):
        let conflict = PropertyConflict(
          id: update.id,
          property: property,
          base: base,
          store: identityForm(try storedValue(property, key), property, key),
          client: values.last { $0.name == property }?.value
        )
        outcome.append(try decide(name, conflict, &values))
      default: outcome.append(JSONMember(property, "store"))
      }
    }
    if request.mergePolicy == .rollback {
      let untouched = values.filter { member in !changed.contains { $0.property == member.name } }
      outcome += untouched.map { JSONMember($0.name, "store") }
      values = []
    }
    let kept = outcome.filter { $0.value == "store" }.map(\.name)
    // What the client sent and did not get is told with what is stored instead.
    followed[key, default: []].formUnion(
      kept.filter { name in update.values.contains { $0.name == name } }
    )
    followed[key, default: []].formUnion(
      outcome.filter { ["base", "policy"].contains($0.value.string) }.map(\.name)
    )
    mergedValues[index] = values
    guard !outcome.isEmpty else { return }
    merged.append(["id": .string(update.id), "properties": .object(outcome)])
  }

  /// Asks a policy of the program's own, and puts its answer among the values.
  private func decide(
    _ name: String,
    _ conflict: PropertyConflict,
    _ values: inout [JSONMember]
  ) throws -> JSONMember {
    guard let decision = environment.mergePolicies[name] else {
      throw StoreError(.invalidRequest, "There is no merge policy \(StoreError.short(name))")
    }
    let property = conflict.property
    switch decision(conflict) {
    case .client where conflict.client != nil: return JSONMember(property, "client")
    case .store, .client:
      values.removeAll { $0.name == property }
      return JSONMember(property, "store")
    case .base:
      values.removeAll { $0.name == property }
      values.append(JSONMember(property, conflict.base))
      return JSONMember(property, "base")
    case .value(let value):
      values.removeAll { $0.name == property }
      values.append(JSONMember(property, value))
      return JSONMember(property, "policy")
    }
  }

  private func isToMany(_ property: String, _ key: ObjectKey) -> Bool {
    guard
      case .relationship(let relationship)? = model.entity(key.entity).property(named: property)
    else { return false }
    return relationship.toMany
  }

  /// A whole list of a to-many as what it put in and took out, against the list that was known.
  ///
  /// One with an order is a whole list again: the client's, with what others put in behind it.
  private func setChange(
    _ value: JSONValue,
    _ base: JSONValue,
    _ property: String,
    _ key: ObjectKey
  ) throws -> JSONValue {
    guard
      case .relationship(let relationship)? = model.entity(key.entity).property(named: property),
      relationship.toMany, let list = value.array, let known = base.array
    else { return value }
    let sent = Set(try list.compactMap(target))
    let before = Set(try known.compactMap(target))
    let added = try list.filter { try target($0).map { !before.contains($0) } ?? true }
    guard relationship.ordered, request.mergePolicy == .objectTrump else {
      // What is gone since is in nobody's list any more.
      let removed = try known.filter { id in
        try target(id).map { try !sent.contains($0) && isThere(id) } ?? false
      }
      return ["@add": .array(added), "@remove": .array(removed)]
    }
    let present = try members(relationship, of: key)
      .map { model.key(relationship.destination, $0) }
    let now = Set(present)
    let kept = try list.filter { id in
      try target(id).map { !before.contains($0) || now.contains($0) } ?? true
    }
    let theirs = present.filter { !before.contains($0) && !sent.contains($0) }
    return .array(kept + theirs.map { .string(name($0)) })
  }

  /// What becomes of a property of an object that is to be as a client had it.
  private func overwriting(
    _ value: JSONValue?,
    with base: JSONValue,
    _ property: String,
    _ key: ObjectKey
  ) throws -> JSONValue {
    guard
      case .relationship(let relationship)? = model.entity(key.entity).property(named: property)
    else { return value ?? base }
    guard let known = base.array else {
      // A to-one to what is gone since leads nowhere.
      if let value { return value }
      return try base.isNull || isThere(base) ? base : .null
    }
    let there = try known.filter(isThere)
    guard let value else { return .array(there) }
    guard value.array == nil, value["@at"] == nil, relationship.toMany else { return value }
    // What is put in and taken out is so against what the client had.
    let removed = Set(try (value["@remove"]?.array ?? []).compactMap(target))
    let before = Set(try there.compactMap(target))
    let added = try (value["@add"]?.array ?? []).filter { id in
      try target(id).map { !before.contains($0) } ?? true
    }
    return .array(
      try there.filter { id in try target(id).map { !removed.contains($0) } ?? true } + added
    )
  }

  /// The object that an ID of a list names, in whatever form; nil for what is no ID of one.
  private func target(_ id: JSONValue) throws -> ObjectKey? {
    guard let text = id.string else { return nil }
    do {
      return try resolve(text)
    } catch is StoreError {
      // Whoever writes the list meets the same error and tells it.
      return nil
    }
  }

  private func isThere(_ id: JSONValue) throws -> Bool {
    try target(id).map(exists) ?? false
  }

  /// What changed since the version that a client knew, property by property, from the log.
  private func conflict(
    _ update: SaveRequest.Update,
    _ key: ObjectKey,
    _ version: Int64,
    _ changed: [(property: String, base: JSONValue)]
  ) throws -> [JSONValue] {
    // An older version is a conflict even when the log tells nothing of it.
    guard !changed.isEmpty else { return [Self.wholeConflict(update.id, version)] }
    return try changed.map { property, base in
      let stored = try storedValue(property, key)
      let client = update.values.last { $0.name == property }?.value ?? .null
      return [
        "id": .string(update.id), "property": .string(property),
        "base": base, "store": identityForm(stored, property, key),
        "client": client, "version": .integer(version),
      ]
    }
  }

  /// The ID of a to-one's object in the form in which it is answered.
  func identityForm(_ value: JSONValue, _ property: String, _ key: ObjectKey) -> JSONValue {
    guard case .relationship(let relationship)? = table(key).entity.property(named: property),
      !relationship.toMany, let text = value.string,
      case .object(let number)? = WrappedID(text)?.key
    else { return value }
    return .string(name(model.key(relationship.destination, number)))
  }

  func storedValue(_ property: String, _ key: ObjectKey) throws -> JSONValue {
    let table = table(key)
    if case .relationship(let relationship)? = table.entity.property(named: property),
      relationship.toMany
    {
      let there = try members(relationship, of: key).filter { number in
        try exists(model.key(relationship.destination, number))
      }
      return ids(there, relationship)
    }
    guard table.places[property] != nil else { return .null }
    let row = try table.query(
      "SELECT \(SQLNames.quoted(property)) FROM \(SQLNames.quoted(table.entity.name)) "
        + "WHERE \"_id\" = ?"
    )
    defer { row.reset() }
    row.bind(key.object, at: 1)
    guard try row.step() else { return .null }
    var writer = JSONWriter()
    WireValue.form(of: property, table.entity, model).write(row, 0, in: model, to: &writer)
    return try JSONParser.parse(writer.bytes.span)
  }

  /// What others changed since the version that an update is based on, with the values before.
  ///
  /// Where the log does not reach back to it, everything that was sent counts as changed, and
  /// nobody knows from what.
  private func changes(
    of key: ObjectKey,
    since update: SaveRequest.Update,
    _ history: [HistoryRow]?
  ) throws -> [(property: String, base: JSONValue)] {
    let known = update.version ?? 0
    guard let history else {
      guard request.mergePolicy != .overwrite else {
        throw StoreError(
          .historyExpired,
          "The history does not reach back to version \(known) of \(update.id)",
          hint: "Fetch the object again, or save with another merge policy",
          data: [JSONMember("oldest", .string(try oldestToken().description))]
        )
      }
      return update.values.map { ($0.name, .null) }
    }
    return try writtenColumns(key, since: known, history) + changedPairs(key, history)
  }

  /// The oldest position that is kept.
  func oldestToken() throws -> StoreToken {
    let row = try PreparedStatement(
      db,
      "SELECT number, mark FROM cordial_transaction ORDER BY number LIMIT 1"
    )
    defer { row.reset() }
    let isThere = try row.step()
    return StoreToken(
      generation: facts.generation,
      number: isThere ? row.integer(0) : 0,
      mark: UInt32(truncatingIfNeeded: isThere ? row.integer(1) : 0)
    )
  }

  /// The columns written since a version, each with the value before the first of those writes.
  private func writtenColumns(
    _ key: ObjectKey,
    since version: Int64,
    _ history: [HistoryRow]
  ) throws -> [(property: String, base: JSONValue)] {
    let table = table(key)
    var changes: [(property: String, base: JSONValue)] = []
    var returned: Set<String> = []
    for row in history {
      // An object that was deleted and is there again may be other in all it has.
      let isDelete = row.kind == .delete
      guard let reached = row.version, isDelete ? reached >= version : reached > version else {
        continue
      }
      for logged in row.values where !table.entity.isDerived(logged.property) {
        if !isDelete { returned.remove(logged.property) }
        guard !changes.contains(where: { $0.property == logged.property }) else { continue }
        let base = WireValue.json(logged, of: table.entity) { relationship, object in
          name(model.key(relationship.destination, object))
        }
        if isDelete { returned.insert(logged.property) }
        changes.append((logged.property, base))
      }
    }
    // What came back as it was did not change.
    return try changes.filter { change in
      guard returned.contains(change.property) else { return true }
      return try identityForm(storedValue(change.property, key), change.property, key)
        != change.base
    }
  }

  /// The many-to-manys that came to differ since a version, each with its members before.
  private func changedPairs(
    _ key: ObjectKey,
    _ history: [HistoryRow]
  ) throws -> [(property: String, base: JSONValue)] {
    var changes: [(property: String, base: JSONValue)] = []
    for relationship in model.entity(key.entity).relationships {
      guard case .pairs = relationship.storage else { continue }
      let now = try members(relationship, of: key)
      let base = try members(relationship, of: key, before: history)
      if base != (relationship.ordered ? now : now.sorted()) {
        changes.append((relationship.name, ids(base, relationship)))
      }
    }
    return changes
  }

  /// The members of a many-to-many before some rows of the log: in its order, or by number where it
  /// has none.
  private func members(
    _ relationship: RelationshipDescription,
    of key: ObjectKey,
    before history: [HistoryRow]
  ) throws -> [Int64] {
    guard case .pairs(let owner, let name, let owns) = relationship.storage else { return [] }
    var members: [Int64: Int64] = [:]
    if relationship.ordered {
      members = try places(relationship, key).mapValues { $0 ?? 0 }
    } else {
      for member in try self.members(relationship, of: key) { members[member] = 0 }
    }
    // Backwards: what came goes, what went comes back, what moved is where it was.
    for row in history.reversed() {
      if let former = row.formerPlace {
        guard former.property == relationship.name, model.key(row.entity, row.object) == key,
          members[row.other] != nil
        else { continue }
        members[row.other] = former.place
        continue
      }
      guard row.kind == .link || row.kind == .unlink, row.entity == owner, row.before == name
      else { continue }
      let isSource = relationship.isSymmetric ? row.object == key.object : owns
      guard (isSource ? row.object : row.other) == key.object else { continue }
      members[isSource ? row.other : row.object] = row.kind == .link ? nil : 0
    }
    return members.sorted { ($0.value, $0.key) < ($1.value, $1.key) }.map(\.key)
  }

  private func ids(_ numbers: [Int64], _ relationship: RelationshipDescription) -> JSONValue {
    .array(
      numbers.map { .string(name(model.key(relationship.destination, $0))) }
    )
  }
}
