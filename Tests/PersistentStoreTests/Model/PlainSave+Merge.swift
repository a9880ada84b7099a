import JSON

/// Updates of an object that other saves changed since the version that the client knew.
extension PlainSave {
  /// The values that remain of an update.
  mutating func merge(_ update: JSONValue, _ key: Int) -> [JSONMember] {
    var members = update["values"]?.members ?? []
    guard let version = update["version"]?.integer, let stored = before[key]?.version else {
      return members
    }
    guard version <= stored else {
      problems.append(PlainProblem(code: 1102, key: key))
      return members
    }
    guard let base = past.firstIndex(where: { $0.state[key]?.version == version }) else {
      open.insert("a version that no commit left")
      return members
    }
    let changed = version < stored ? changes(of: key, since: base) : []
    let lists = mergeLists(&members, key, base: listBase(update, base))
    switch policy {
    case "error":
      guard version < stored || !lists.isEmpty else { return members }
      let names = changed + lists
      conflicts.formUnion(names.map { PlainConflict(key: key, name: $0) })
      if names.isEmpty { conflicts.insert(PlainConflict(key: key, name: nil)) }
      return members
    case "rollback":
      guard version < stored || !lists.isEmpty else { return members }
      for name in changed + lists + members.map(\.name) {
        merged[key, default: [:]][name] = .some("store")
      }
      noteLeftOut(members, of: before.entity(key))
      refuseIdentity(members, of: key)
      return []
    case "overwrite": return overwrite(key, members, changed, base: past[base].state)
    default: return trump(key, members, changed, lists, base: past[base].state)
    }
  }

  /// An identity is not changed, whatever a policy leaves out.
  private mutating func refuseIdentity(_ members: [JSONMember], of key: Int) {
    guard let name = before.entity(key).identity,
      let sent = members.last(where: { $0.name == name })?.value,
      sent != before[key]?.values[name]
    else { return }
    problems.append(PlainProblem(code: 1102, key: key, property: name))
  }

  /// The properties that other saves changed since a commit.
  private func changes(of key: Int, since base: Int) -> [String] {
    let entity = before.entity(key)
    var names: Set<String> = []
    var wasGone = false
    for index in past.indices where index > base {
      let (old, new) = (past[index - 1].state, past[index].state)
      guard old.exists(key), new.exists(key) else {
        wasGone = true
        continue
      }
      names.formUnion(PlainChange(key, from: old, to: new).columns)
    }
    let net = PlainChange(key, from: past[base].state, to: before)
    if wasGone { names.formUnion(net.columns) }
    for relationship in entity.toManys {
      let name = relationship.name
      let isLinked = net.linked[name]?.isEmpty == false || net.unlinked[name]?.isEmpty == false
      if isLinked || net.moved.contains(name) { names.insert(name) }
    }
    return names.sorted()
  }

  // MARK: Policies

  private mutating func overwrite(
    _ key: Int,
    _ members: [JSONMember],
    _ changed: [String],
    base: PlainState
  ) -> [JSONMember] {
    var members = members
    for name in changed {
      let sent = members.last { $0.name == name }?.value
      merged[key, default: [:]][name] = .some(sent == nil ? "base" : "client")
      guard let relationship = before.entity(key).relationship(name) else {
        if sent == nil { members.append(JSONMember(name, base.wire(name, of: key))) }
        continue
      }
      let known = base.related(relationship, of: key).filter(before.exists)
      if !relationship.toMany {
        let value = known.first.map { JSONValue.string(before.objectID($0)) }
        if sent == nil { members.append(JSONMember(name, value ?? .null)) }
        continue
      }
      if relationship.ordered { openOrders.insert(PlainProperty(key: key, name: name)) }
      guard model.isManyToMany(relationship), sent?.array == nil else { continue }
      let gone = (sent?["@remove"]?.array ?? []).compactMap(objectNamed(by:))
      let added = (sent?["@add"]?.array ?? []).filter { value in
        objectNamed(by: value).map { !known.contains($0) } ?? true
      }
      if let place = sent?["@at"]?.integer {
        let former = base.related(relationship, of: key).filter { !gone.contains($0) }
        let named = (sent?["@add"]?.array ?? []).map(objectNamed(by:))
        let adding = Set(named.compactMap(\.self))
        let isOfType = named.allSatisfy { other in
          let entity = other.flatMap { other in
            before[other]?.entity ?? newInserts.first { $0.key == other }?.entity.name
          }
          return entity.map { model.isKind($0, of: relationship.destination) } ?? false
        }
        if isOfType, place > former.count(where: { !adding.contains($0) }) {
          refuse("place", name, of: key)
          members.removeAll { $0.name == name }
          continue
        }
      }
      let list = known.filter { !gone.contains($0) }.map { JSONValue.string(before.objectID($0)) }
      members.removeAll { $0.name == name }
      members.append(JSONMember(name, .array(list + added)))
    }
    return members
  }

  private mutating func trump(
    _ key: Int,
    _ members: [JSONMember],
    _ changed: [String],
    _ lists: [String],
    base: PlainState
  ) -> [JSONMember] {
    var members = members
    for name in changed {
      let sent = members.last { $0.name == name }?.value
      let relationship = before.entity(key).relationship(name)
      guard let relationship, relationship.toMany, let sent else {
        let isStore = policy == "storeTrump" || sent == nil
        merged[key, default: [:]][name] = .some(isStore ? "store" : "client")
        if isStore {
          noteLeftOut(members.filter { $0.name == name }, of: before.entity(key))
          members.removeAll { $0.name == name }
        }
        continue
      }
      merged[key, default: [:]][name] = .some(nil)
      if relationship.ordered { openOrders.insert(PlainProperty(key: key, name: name)) }
      guard model.isManyToMany(relationship), let list = sent.array else { continue }
      mergedLists.insert(PlainProperty(key: key, name: name))
      let value = mergedList(list, relationship, key, base: base)
      members.removeAll { $0.name == name }
      members.append(JSONMember(name, value))
    }
    for name in lists { merged[key, default: [:]][name] = .some(nil) }
    return members
  }

  /// What a client's list adds and leaves out, applied to the members of now.
  private func mergedList(
    _ list: [JSONValue],
    _ relationship: PlainModel.Relationship,
    _ key: Int,
    base: PlainState
  ) -> JSONValue {
    let known = base.related(relationship, of: key)
    let now = before.related(relationship, of: key)
    let wanted = list.compactMap(objectNamed(by:))
    let left = known.filter { !wanted.contains($0) }
    let kept = now.filter { !left.contains($0) }.map { JSONValue.string(before.objectID($0)) }
    let added = list.filter { value in
      objectNamed(by: value).map { !known.contains($0) && !now.contains($0) } ?? true
    }
    return .array(kept + added)
  }

  /// The object that a sent value names, if there is one.
  private func objectNamed(by value: JSONValue) -> Int? {
    value.string.flatMap { ids[$0] ?? before.key($0) }
  }

  // MARK: Whole lists of one-to-manys

  private mutating func listBase(_ update: JSONValue, _ base: Int) -> PlainState {
    guard let token = update["asOf"]?.string else { return past[base].state }
    needs.insert(.asOf)
    return past.last { $0.token == token }?.state ?? past[base].state
  }

  /// Merges whole lists of one-to-manys with what other saves did to their members since.
  ///
  /// - Returns: The lists that contradict another save.
  private mutating func mergeLists(
    _ members: inout [JSONMember],
    _ key: Int,
    base: PlainState
  ) -> [String] {
    var contradictory: [String] = []
    for index in members.indices {
      guard let relationship = before.entity(key).relationship(members[index].name),
        relationship.toMany, !model.isManyToMany(relationship),
        let list = members[index].value.array
      else { continue }
      needs.insert(.oneToManyLists)
      let then = Set(base.related(relationship, of: key))
      let now = Set(before.related(relationship, of: key))
      let wanted = Set(list.compactMap(objectNamed(by:)))
      let joined = now.subtracting(then)
      let left = then.subtracting(now)
      guard !joined.isSubset(of: wanted) || !left.isDisjoint(with: wanted) else { continue }
      contradictory.append(relationship.name)
      guard policy != "overwrite" else { continue }
      if relationship.ordered {
        openOrders.insert(PlainProperty(key: key, name: relationship.name))
      }
      mergedLists.insert(PlainProperty(key: key, name: relationship.name))
      members[index].value = mergedList(list, relationship, key, base: base)
    }
    return contradictory
  }
}
