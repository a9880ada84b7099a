import JSON

/// One insert of a save.
struct PlainInsert {
  let id: String?
  let entity: PlainModel.Entity
  let members: [JSONMember]
  var key: Int
  /// Whether it meets an object, which it updates or leaves.
  var isMet = false
  /// Whether it meets objects and cannot be one with them: others do not meet it.
  var isRefused = false
}

/// Inserts, and those that meet an object that has their unique values.
extension PlainSave {
  mutating func resolve(_ insert: JSONValue) -> PlainInsert? {
    let id = insert["id"]?.string
    if let id, !isWellFormed(id) { return nil }
    let name = id.map { String($0.prefix { $0 != "/" }) } ?? insert["entity"]?.string ?? ""
    guard model.isKnown(name) else {
      problems.append(PlainProblem(code: 1002, rule: "entity", id: name))
      return nil
    }
    let entity = model.entity(name)
    let key = nextKey
    nextKey += 1
    var members = insert["values"]?.members ?? []
    if let id, let identity = entity.identity {
      let form = id.drop { $0 != "/" }.dropFirst()
      if let first = form.first, let value = PlainState.identity(first, String(form.dropFirst())) {
        members.append(JSONMember(identity, value))
      }
    }
    if let id {
      if let twin = ids[id], id.contains("/t") {
        problems.append(PlainProblem(code: 1102, rule: "twice", key: twin))
      }
      ids[id] = key
    }
    return PlainInsert(id: id, entity: entity, members: members, key: key)
  }

  /// Finds the inserts that meet an object, which a policy then decides.
  ///
  /// What an insert meets may depend on what another one meets to which it refers, wherever in the
  /// request that is: all are found again until nothing changes.
  mutating func meet(_ inserts: inout [PlainInsert], deleted: Set<Int>, named: Set<Int>) {
    guard policy != "error" else { return }
    let (save, asSent) = (self, inserts)
    for _ in 0...inserts.count {
      let known = ids
      self = save
      ids = known
      inserts = asSent
      meetOnce(&inserts, deleted: deleted, named: named)
      if ids == known { return }
    }
    open.insert("inserts meet one another in a circle")
  }

  private mutating func meetOnce(
    _ inserts: inout [PlainInsert],
    deleted: Set<Int>,
    named: Set<Int>
  ) {
    // What the inserts so far make of the objects that they meet.
    var made: [Int: [String: JSONValue]] = [:]
    for index in inserts.indices {
      var found: Set<Int> = []
      for set in inserts[index].entity.unique {
        guard let own = values(set, of: inserts[index]) else { continue }
        if deleted.contains(where: { before.uniqueValues(set, of: $0) == own }) {
          needs.insert(.swaps)
        }
        let stored = before.objects.keys.filter {
          !deleted.contains($0) && model.isKind(before[$0]?.entity ?? "", of: set.entity)
            && values(set, ofStored: $0, made[$0] ?? [:]) == own
        }
        let earlier = inserts[..<index].filter {
          !$0.isMet && !$0.isRefused && model.isKind($0.entity.name, of: set.entity)
            && values(set, of: $0, made[$0.key] ?? [:]) == own
        }.map(\.key)
        let others = Set(stored).union(earlier)
        if others.isEmpty { continue }
        found.formUnion(others)
        if set.names.contains(where: { inserts[index].entity.relationship($0) != nil }) {
          needs.insert(.uniqueOverFamily)
        }
      }
      let isOther = found.first.map { hasOtherIdentity(inserts[index], than: $0, inserts) } ?? false
      meet(&inserts, index, found, isOther: isOther, named)
      guard ["objectTrump", "overwrite"].contains(policy), inserts[index].isMet else { continue }
      made[inserts[index].key, default: [:]].merge(effect(of: inserts[index], inserts)) { $1 }
    }
  }

  /// The unique values that an insert gives the object that it meets.
  private func effect(of insert: PlainInsert, _ inserts: [PlainInsert]) -> [String: JSONValue] {
    let entity =
      before[insert.key].map { model.entity($0.entity) }
      ?? inserts.first { $0.key == insert.key && !$0.isMet }?.entity ?? insert.entity
    var values: [String: JSONValue] = [:]
    for name in Set(entity.unique.flatMap(\.names)) where name != entity.identity {
      if let sent = insert.members.last(where: { $0.name == name })?.value {
        guard entity.relationship(name) != nil else {
          values[name] = sent
          continue
        }
        let target = sent.string.flatMap { ids[$0] ?? before.key($0) }
        values[name] = target.map { .integer(Int64($0)) } ?? .null
      } else if policy == "overwrite" {
        values[name] = entity.attribute(name)?.defaultValue ?? .null
      }
    }
    return values
  }

  /// Whether an insert would have to change the identity of the object that it meets.
  private func hasOtherIdentity(
    _ insert: PlainInsert,
    than key: Int,
    _ inserts: [PlainInsert]
  ) -> Bool {
    guard ["objectTrump", "overwrite"].contains(policy), let identity = insert.entity.identity,
      let own = insert.members.last(where: { $0.name == identity })?.value, !own.isNull
    else { return false }
    let other =
      before[key]?.values[identity]
      ?? inserts.first { $0.key == key && !$0.isMet }?.members
      .last { $0.name == identity }?.value
    return other != own
  }

  private mutating func meet(
    _ inserts: inout [PlainInsert],
    _ index: Int,
    _ found: Set<Int>,
    isOther: Bool,
    _ named: Set<Int>
  ) {
    guard let met = found.first else { return }
    let entities = found.compactMap { before[$0]?.entity }
    if entities.count < found.count
      || entities.contains(where: { $0 != inserts[index].entity.name })
    {
      needs.insert(.upsertsOfFamily)
    }
    guard found.count == 1, !isOther else {
      problems.append(
        PlainProblem(code: 1105, rule: "unique", key: inserts[index].key, others: found)
      )
      needs.insert(.upsertsOfFamily)
      inserts[index].isRefused = true
      return
    }
    if !found.isDisjoint(with: named) {
      open.insert("an insert meets an object that the save updates")
    }
    inserts[index].key = met
    inserts[index].isMet = true
    if let id = inserts[index].id { ids[id] = met }
  }

  /// The values of a unique set that a stored object has, but for those that inserts give it; nil
  /// where one is null.
  private func values(
    _ set: PlainModel.UniqueSet,
    ofStored key: Int,
    _ made: [String: JSONValue]
  ) -> [JSONValue]? {
    guard set.names.contains(where: { made[$0] != nil }) else {
      return before.uniqueValues(set, of: key)
    }
    var values: [JSONValue] = []
    for name in set.names {
      let value =
        made[name]
        ?? (before.entity(key).relationship(name) == nil
          ? before[key]?.values[name]
          : before.target(name, of: key).map { .integer(Int64($0)) })
      guard let value, !value.isNull else { return nil }
      values.append(value)
    }
    return values
  }

  /// The values of a unique set that an insert brings itself, but for those that later ones give
  /// its object; nil where one is null.
  private func values(
    _ set: PlainModel.UniqueSet,
    of insert: PlainInsert,
    _ made: [String: JSONValue] = [:]
  ) -> [JSONValue]? {
    var values: [JSONValue] = []
    for name in set.names {
      if let value = made[name] {
        guard !value.isNull else { return nil }
        values.append(value)
        continue
      }
      let sent = insert.members.last { $0.name == name }?.value
      if insert.entity.relationship(name) != nil {
        guard let id = sent?.string, let key = ids[id] ?? before.key(id) else { return nil }
        values.append(.integer(Int64(key)))
      } else {
        let value = sent ?? insert.entity.attribute(name)?.defaultValue ?? .null
        guard !value.isNull else { return nil }
        values.append(value)
      }
    }
    return values
  }

  // MARK: Applying

  mutating func insert(_ inserts: [PlainInsert]) {
    for insert in inserts where !insert.isMet {
      inserted.append(insert.key)
      var object = PlainObject(entity: insert.entity.name)
      for attribute in insert.entity.stored {
        object.values[attribute.name] = attribute.defaultValue
      }
      state.objects[insert.key] = object
    }
    answered += inserts.map(\.key)
    // Without the feature, inserts that meet an object come last.
    let ordered =
      ModelFeatures.has(.insertOrder)
      ? inserts : inserts.filter { !$0.isMet } + inserts.filter(\.isMet)
    for insert in ordered {
      if insert.isMet {
        adopt(insert)
      } else {
        for relationship in insert.entity.toOnes where !relationship.optional {
          let sent = insert.members.last { $0.name == relationship.name }?.value
          if sent?.isNull ?? true { noteCleared(relationship.name, of: insert.key) }
        }
        apply(insert.members, to: insert.key)
      }
      noteCollisions(insert.key)
    }
    for insert in inserts where state.exists(insert.key) { noteCollisions(insert.key) }
  }

  /// Makes of an object what an insert that met it says.
  private mutating func adopt(_ insert: PlainInsert) {
    let entity = state.entity(insert.key)
    var members = insert.members
    for member in members
    where entity.attribute(member.name) == nil && entity.relationship(member.name) == nil {
      problems.append(
        PlainProblem(code: 1003, rule: "property", key: insert.key, property: member.name)
      )
    }
    let isKept = ["storeTrump", "rollback"].contains(policy)
    for member in members where member.name != entity.identity {
      merged[insert.key, default: [:]][member.name] = .some(isKept ? "store" : "client")
    }
    if merged[insert.key] == nil { merged[insert.key] = [:] }
    if let name = entity.identity, let sent = members.last(where: { $0.name == name })?.value,
      sent != state[insert.key]?.values[name]
    {
      merged[insert.key, default: [:]][name] = .some("store")
    }
    guard !isKept else { return noteLeftOut(insert.members, of: entity) }
    if policy == "overwrite" {
      for name in entity.columns
      where name != entity.identity && !members.contains(where: { $0.name == name }) {
        members.append(JSONMember(name, entity.attribute(name)?.defaultValue ?? .null))
      }
    }
    apply(members, to: insert.key)
  }

  /// Under a policy that keeps the store's values, an update that takes the unique values of
  /// another object leaves them.
  ///
  /// An object that the save deletes has no values that another could take.
  mutating func leaveUniqueValues(_ keys: [Int], besides deleted: [Int]) {
    guard ["storeTrump", "rollback"].contains(policy) else { return }
    // Values that stay may be those that another update takes.
    var former: PlainState?
    while former?.objects != state.objects {
      former = state
      leaveUniqueValuesOnce(keys, besides: deleted)
    }
  }

  private mutating func leaveUniqueValuesOnce(_ keys: [Int], besides deleted: [Int]) {
    for key in keys where before.exists(key) && state.exists(key) {
      for set in state.entity(key).unique {
        let others = state.sharers(set, with: key).subtracting(deleted)
        guard !others.isEmpty else { continue }
        needs.insert(.updateTakesUnique)
        if !others.isDisjoint(with: keys) || !others.isDisjoint(with: inserted)
          || set.names.contains(where: { state.entity(key).relationship($0) != nil })
        {
          open.insert("an update takes unique values that the same save writes")
        }
        for name in set.names where state.entity(key).attribute(name) != nil {
          if state[key]?.values[name] != before[key]?.values[name] {
            merged[key, default: [:]][name] = .some("store")
          } else {
            // It may have been sent as it is stored.
            mayBeKept.insert(PlainProperty(key: key, name: name))
          }
          state.objects[key]?.values[name] = before[key]?.values[name]
        }
      }
    }
  }
}
