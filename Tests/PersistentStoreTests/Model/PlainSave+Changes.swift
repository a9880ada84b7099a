import JSON

/// Applying values: each property by itself, with both ends of a relationship.
extension PlainSave {
  mutating func apply(_ members: [JSONMember], to key: Int) {
    let names = Set(members.map(\.name))
    for relationship in state.entity(key).relationships
    where relationship.inverse != relationship.name && names.contains(relationship.name)
      && names.contains(relationship.inverse)
      && state.entity(key).relationship(relationship.inverse) != nil
    {
      open.insert("a change of both ends of a self-relationship")
    }
    changing = key
    for member in members {
      apply(member, to: key)
      noteCollisions()
    }
  }

  private mutating func apply(_ member: JSONMember, to key: Int) {
    let entity = state.entity(key)
    noteSent(member.name, of: key)
    changingProperty = member.name
    if let attribute = entity.attribute(member.name) {
      set(attribute, of: key, to: member.value)
    } else if let relationship = entity.relationship(member.name) {
      if relationship.toMany {
        setMany(relationship, of: key, to: member.value)
      } else {
        setOne(relationship, of: key, to: member.value)
      }
    } else {
      problems.append(PlainProblem(code: 1003, rule: "property", key: key, property: member.name))
    }
  }

  // MARK: Attributes

  private mutating func set(
    _ attribute: PlainModel.Attribute,
    of key: Int,
    to value: JSONValue
  ) {
    guard attribute.derived == nil else {
      return refuse("derived", attribute.name, of: key)
    }
    guard value.isNull || Self.isOfType(value, attribute.type) else {
      return refuse("type", attribute.name, of: key)
    }
    let isIdentity = attribute.name == state.entity(key).identity
    if isIdentity, before.exists(key), before[key]?.values[attribute.name] != value {
      return refuse(nil, attribute.name, of: key)
    }
    if state[key]?.values[attribute.name] != value { noteWritten(attribute.name, of: key) }
    state.objects[key]?.values[attribute.name] = value
    if state.isInvalid(attribute, value) { noteInvalid(attribute.name, of: key) }
  }

  mutating func refuse(_ rule: String?, _ name: String, of key: Int) {
    problems.append(PlainProblem(code: 1102, rule: rule, key: key, property: name))
    refusedValues.insert(PlainProperty(key: key, name: name))
  }

  static func isOfType(_ value: JSONValue, _ type: String) -> Bool {
    switch type {
    case "string": value.string != nil
    case "boolean": value.bool != nil
    case "int16": value.integer.flatMap { Int16(exactly: $0) } != nil
    case "int32": value.integer.flatMap { Int32(exactly: $0) } != nil
    default: value.integer != nil
    }
  }

  // MARK: To-ones

  mutating func setOne(
    _ relationship: PlainModel.Relationship,
    of key: Int,
    to value: JSONValue
  ) {
    if value.isNull { return link(relationship, of: key, to: nil) }
    guard let target = target(value) else { return }
    guard model.isKind(state[target]?.entity ?? "", of: relationship.destination) else {
      return refuse("type", relationship.name, of: key)
    }
    link(relationship, of: key, to: target)
  }

  /// Sets a to-one with its other end: the object that referred to the target before loses it.
  mutating func link(
    _ relationship: PlainModel.Relationship,
    of key: Int,
    to target: Int?
  ) {
    let inverse = model.inverse(of: relationship)
    let old = state[key]?.toOnes[relationship.name]
    guard !inverse.toMany else {
      if old != target {
        if let old { state.objects[old]?.orders[inverse.name]?.removeAll { $0 == key } }
        if let target {
          state.append(key, to: inverse, of: target)
          // Whether a member that leaves and joins again keeps its place is open.
          if inverse.ordered, before.related(inverse, of: target).contains(key) {
            openOrders.insert(PlainProperty(key: target, name: inverse.name))
          }
        }
      }
      return write(relationship, of: key, target)
    }
    if let old, old != target, state[old]?.toOnes[inverse.name] == key {
      write(inverse, of: old, nil)
      noteLost(inverse.name, of: old)
    }
    if let target {
      if let rival = state[target]?.toOnes[inverse.name], rival != key {
        write(relationship, of: rival, nil)
        noteLost(relationship.name, of: rival)
      }
      write(inverse, of: target, key)
    }
    write(relationship, of: key, target)
  }

  private mutating func write(
    _ relationship: PlainModel.Relationship,
    of key: Int,
    _ target: Int?
  ) {
    if state[key]?.toOnes[relationship.name] != target { noteWritten(relationship.name, of: key) }
    state.objects[key]?.toOnes[relationship.name] = target
    if target == nil, !relationship.optional { noteCleared(relationship.name, of: key) }
  }

  // MARK: To-manys

  mutating func setMany(
    _ relationship: PlainModel.Relationship,
    of key: Int,
    to value: JSONValue
  ) {
    let present = state.related(relationship, of: key)
    let gone = (value["@remove"]?.array ?? []).compactMap { $0.string.flatMap { ids[$0] } }
    let isPlaced = value["@at"] != nil && !present.isEmpty
    if inserted.contains(key), isPlaced || gone.contains(where: present.contains) {
      open.insert("an insert's list leaves out what an earlier insert put into it")
    }
    guard let list = value.array else { return change(relationship, of: key, value) }
    let wanted = list.compactMap { member($0, relationship, key) }
    guard wanted.count == list.count else { return }
    if inserted.contains(key), !Set(present).isSubset(of: wanted) {
      open.insert("an insert's list leaves out what an earlier insert put into it")
    }
    if mergedLists.contains(PlainProperty(key: key, name: relationship.name)),
      present != before.related(relationship, of: key)
    {
      open.insert("a list that is merged was changed by the same save before")
    }
    replace(relationship, of: key, present, with: wanted.uniqued)
  }

  private mutating func change(
    _ relationship: PlainModel.Relationship,
    of key: Int,
    _ value: JSONValue
  ) {
    guard value.members != nil else { return refuse("type", relationship.name, of: key) }
    let present = state.related(relationship, of: key)
    let add = value["@add"]?.array ?? []
    let remove = value["@remove"]?.array ?? []
    let found = add.compactMap { member($0, relationship, key) }
    let added = found.uniqued
    let gone = remove.compactMap { member($0, relationship, key) }
    if !Set(gone).isDisjoint(with: added) { open.insert("an object in both @add and @remove") }
    guard found.count == add.count, gone.count == remove.count else { return }
    guard let place = value["@at"]?.integer.map({ Int($0) }) else {
      let kept = present.filter { !gone.contains($0) }
      return replace(
        relationship,
        of: key,
        present,
        with: kept + added.filter { !kept.contains($0) }
      )
    }
    var kept = present.filter { !gone.contains($0) && !added.contains($0) }
    guard place <= kept.count else { return refuse("place", relationship.name, of: key) }
    kept.insert(contentsOf: added, at: place)
    replace(relationship, of: key, present, with: kept)
  }

  private mutating func member(
    _ value: JSONValue,
    _ relationship: PlainModel.Relationship,
    _ key: Int
  ) -> Int? {
    guard value.string != nil else {
      refuse("type", relationship.name, of: key)
      return nil
    }
    guard let target = target(value) else { return nil }
    guard model.isKind(state[target]?.entity ?? "", of: relationship.destination) else {
      refuse("type", relationship.name, of: key)
      return nil
    }
    return target
  }

  mutating func replace(
    _ relationship: PlainModel.Relationship,
    of key: Int,
    _ present: [Int],
    with wanted: [Int]
  ) {
    for member in present where !wanted.contains(member) { join(relationship, key, member, false) }
    for member in wanted where !present.contains(member) { join(relationship, key, member, true) }
    if relationship.ordered { state.objects[key]?.orders[relationship.name] = wanted }
  }

  private mutating func join(
    _ relationship: PlainModel.Relationship,
    _ key: Int,
    _ member: Int,
    _ isMember: Bool
  ) {
    if model.isManyToMany(relationship) {
      state.pair(relationship, key, member, isMember)
    } else {
      link(model.inverse(of: relationship), of: member, to: isMember ? key : nil)
    }
  }
}

extension PlainState {
  func isInvalid(_ attribute: PlainModel.Attribute, _ value: JSONValue) -> Bool {
    rule(attribute, value) != nil
  }

  /// Puts a new member at the end of an ordered to-many.
  mutating func append(_ member: Int, to relationship: PlainModel.Relationship, of key: Int) {
    guard relationship.ordered else { return }
    var order = related(relationship, of: key)
    order.removeAll { $0 == member }
    objects[key]?.orders[relationship.name] = order + [member]
  }

  /// Makes or removes a link row of a many-to-many, at both ends.
  mutating func pair(
    _ relationship: PlainModel.Relationship,
    _ key: Int,
    _ other: Int,
    _ isMember: Bool
  ) {
    let inverse = model.inverse(of: relationship)
    for (owner, side, member) in [(key, relationship, other), (other, inverse, key)] {
      let has = objects[owner]?.links[side.name]?.contains(member) == true
      guard has != isMember else { continue }
      if isMember {
        append(member, to: side, of: owner)
        objects[owner]?.links[side.name, default: []].insert(member)
      } else {
        objects[owner]?.links[side.name]?.remove(member)
        objects[owner]?.orders[side.name]?.removeAll { $0 == member }
      }
    }
  }
}

extension [Int] {
  /// Each number once, where it is first.
  var uniqued: [Int] {
    var seen: Set<Int> = []
    return filter { seen.insert($0).inserted }
  }
}
