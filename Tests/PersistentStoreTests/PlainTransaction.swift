import JSON

/// One save carried out on plain objects.
///
/// What is wrong is noted by its code and passed over: of several mistakes any may be told.
struct PlainTransaction {
  let model: PlainModel
  let before: PlainState
  var state: PlainState
  var policy = "error"
  var errors: Set<String> = []
  /// Why this is not asked of the store: this model is too plain for it, and `ModelFindingsTests`
  /// has a test of it.
  var notModelled: String?
  /// Objects that count a version, if they were there before.
  var touched: Set<PlainKey> = []
  /// The many-to-manys that were written, by object.
  var paired: [PlainKey: Set<String>] = [:]
  /// The properties that were written, also those that became what they were.
  var written: [PlainKey: Set<String>] = [:]
  var inserted: [PlainKey] = []
  var ids: [String: PlainKey] = [:]
  /// What the answer's `objects` are about.
  var answered: [PlainKey] = []
  var merged: [(key: PlainKey, outcome: [String: String])] = []
  var removed: [PlainKey] = []
  var matched: [PlainKey] = []
  var count = 0

  init(_ state: PlainState) {
    model = state.model
    before = state
    self.state = state
  }

  /// The versions go up, each once.
  mutating func end() {
    // A pair that came and went again changed nothing.
    for (key, names) in paired {
      let (now, then) = (state.objects[key]?.pairs ?? [:], before.objects[key]?.pairs ?? [:])
      if names.contains(where: { now[$0] ?? [] != then[$0] ?? [] }) { touched.insert(key) }
    }
    for key in touched {
      guard let old = before.objects[key] else { continue }
      state.objects[key]?.version = old.version + 1
    }
  }

  mutating func touch(_ key: PlainKey, _ property: String) {
    touched.insert(key)
    written[key, default: []].insert(property)
  }

  // MARK: Properties

  /// The object that an ID of this save names, which has to be there.
  mutating func target(_ value: JSONValue) -> PlainKey? {
    guard let text = value.string else { return nil }
    let key = ids[text] ?? state.key(text)
    guard let key, state.objects[key] != nil else {
      errors.insert("objectNotFound")
      return nil
    }
    return key
  }

  mutating func set(_ name: String, of key: PlainKey, to value: JSONValue) {
    let entity = model.entity(key.entity)
    if value.isNull, entity.required.contains(name) { errors.insert("validationFailed") }
    guard state.objects[key]?.values[name] != value else { return }
    if name == entity.identity, before.objects[key] != nil { errors.insert("validationFailed") }
    state.objects[key]?.values[name] = value
    touch(key, name)
  }

  /// Sets a to-one as it is stored, without the other end.
  mutating func setOne(_ name: String, of key: PlainKey, to target: PlainKey?) {
    guard state.objects[key] != nil, state.objects[key]?.toOnes[name] != target else { return }
    state.objects[key]?.toOnes[name] = target
    touch(key, name)
  }

  /// Sets a to-one with its other end: who had the target before loses it.
  mutating func link(
    _ relationship: PlainModel.Relationship,
    of key: PlainKey,
    to target: PlainKey?
  ) {
    if target == nil, !relationship.optional { errors.insert("validationFailed") }
    if let inverse = model.inverse(of: relationship), !inverse.toMany {
      if let old = state.objects[key]?.toOnes[relationship.name], old != target {
        setOne(inverse.name, of: old, to: nil)
      }
      if let target {
        if let rival = state.objects[target]?.toOnes[inverse.name], rival != key {
          setOne(relationship.name, of: rival, to: nil)
        }
        setOne(inverse.name, of: target, to: key)
      }
    }
    setOne(relationship.name, of: key, to: target)
  }

  mutating func pair(
    _ relationship: PlainModel.Relationship,
    _ key: PlainKey,
    _ other: PlainKey,
    _ isThere: Bool
  ) {
    let name = relationship.name
    guard (state.objects[key]?.pairs[name] ?? []).contains(other) != isThere else { return }
    for (object, property, member) in [(key, name, other), (other, relationship.inverse, key)] {
      if isThere {
        state.objects[object]?.pairs[property, default: []].insert(member)
      } else {
        state.objects[object]?.pairs[property]?.remove(member)
      }
      paired[object, default: []].insert(property)
      written[object, default: []].insert(property)
    }
  }

  mutating func setMany(
    _ relationship: PlainModel.Relationship,
    of key: PlainKey,
    to value: JSONValue
  ) {
    let isNew = inserted.contains(key)
    let present = isNew ? [] : state.members(relationship, of: key)
    var wanted = present
    if let list = value.array {
      wanted = Set(list.compactMap { target($0) })
    } else {
      let added = (value["@add"]?.array ?? []).compactMap { target($0) }
      let gone = (value["@remove"]?.array ?? []).compactMap { target($0) }
      wanted = present.union(added).subtracting(gone)
    }
    for member in wanted.subtracting(present).sorted() { join(relationship, key, member, true) }
    for member in present.subtracting(wanted).sorted() { join(relationship, key, member, false) }
  }

  private mutating func join(
    _ relationship: PlainModel.Relationship,
    _ key: PlainKey,
    _ member: PlainKey,
    _ isThere: Bool
  ) {
    guard !model.isPairs(relationship) else {
      return pair(relationship, key, member, isThere)
    }
    guard let inverse = model.inverse(of: relationship) else { return }
    link(inverse, of: member, to: isThere ? key : nil)
  }

  /// Whether nobody else has what has to be an object's own.
  func isUnique(_ key: PlainKey) -> Bool {
    let entity = model.entity(key.entity)
    return entity.unique.allSatisfy { set in
      let own = set.map { state.wire($0, of: key) }
      return own.contains(.null)
        || !state.keys(key.entity).contains { other in
          other != key && set.map { state.wire($0, of: other) } == own
        }
    }
  }

  // MARK: Inserts

  /// Adds an object as a foreign client does.
  mutating func add(_ entity: String, _ values: [String: JSONValue]) {
    let number = state.lastNumbers[entity, default: 0] + 1
    state.lastNumbers[entity] = number
    state.objects[PlainKey(entity: entity, number: number)] = PlainObject(
      values: model.entity(entity).defaults.merging(values) { $1 }
    )
  }

  mutating func insert(_ list: [JSONValue]) {
    var keys: [PlainKey] = []
    var adopted: Set<Int> = []
    for (index, insert) in list.enumerated() {
      let id = insert["id"]?.string
      let entity =
        id?.split(separator: "/").first.map(String.init)
        ?? insert["entity"]?.string ?? ""
      if policy != "error", let key = existing(insert, entity) {
        adopted.insert(index)
        keys.append(key)
      } else {
        let number = state.lastNumbers[entity, default: 0] + 1
        state.lastNumbers[entity] = number
        keys.append(PlainKey(entity: entity, number: number))
      }
      if let id, ids.updateValue(keys[index], forKey: id) != nil {
        errors.insert("validationFailed")
      }
    }
    answered += keys
    for (index, insert) in list.enumerated() where !adopted.contains(index) {
      let key = keys[index]
      inserted.append(key)
      state.objects[key] = PlainObject(values: values(insert, model.entity(key.entity)))
    }
    for (index, insert) in list.enumerated() where !adopted.contains(index) {
      complete(keys[index], insert)
    }
    for (index, insert) in list.enumerated() where !adopted.contains(index) {
      lead(keys[index], insert)
    }
    for (index, insert) in list.enumerated() where adopted.contains(index) {
      adopt(insert, keys[index])
    }
  }

  /// The attributes that an insert would make.
  private func values(_ insert: JSONValue, _ entity: PlainModel.Entity) -> [String: JSONValue] {
    var values = entity.defaults
    for member in insert["values"]?.members ?? [] where values[member.name] != nil {
      values[member.name] = member.value
    }
    if let identity = entity.identity, let id = insert["id"]?.string, id.contains("/s") {
      values[identity] = .string(String(id.drop { $0 != "/" }.dropFirst(2)))
    }
    return values
  }

  /// Checks a new object, and has its to-ones lead where they shall.
  private mutating func complete(_ key: PlainKey, _ insert: JSONValue) {
    let entity = model.entity(key.entity)
    for name in entity.required where state.wire(name, of: key).isNull {
      errors.insert("validationFailed")
    }
    if !isUnique(key) { errors.insert("uniquenessViolation") }
    let sent = insert["values"]?.members ?? []
    for relationship in entity.relationships where !relationship.toMany && !relationship.optional {
      if sent.last(where: { $0.name == relationship.name })?.value.isNull ?? true {
        errors.insert("validationFailed")
      }
    }
    for member in sent {
      guard let relationship = model.relationship(member.name, of: key.entity),
        !relationship.toMany, model.inverse(of: relationship)?.toMany == true
      else { continue }
      link(relationship, of: key, to: target(member.value))
    }
  }

  /// Has the relationships of a new object lead where they shall, one after the other: a list of an
  /// insert before it may have put it elsewhere.
  private mutating func lead(_ key: PlainKey, _ insert: JSONValue) {
    for member in insert["values"]?.members ?? [] {
      guard let relationship = model.relationship(member.name, of: key.entity) else { continue }
      if relationship.toMany {
        setMany(relationship, of: key, to: member.value)
      } else if model.inverse(of: relationship) != nil {
        link(relationship, of: key, to: target(member.value))
      }
    }
  }

  /// The object that an insert would repeat.
  private func existing(_ insert: JSONValue, _ entity: String) -> PlainKey? {
    let values = values(insert, model.entity(entity))
    for set in model.entity(entity).unique {
      let own = set.map { values[$0] ?? .null }
      guard !own.contains(.null) else { continue }
      let found = before.keys(entity).first { key in set.map { before.wire($0, of: key) } == own }
      if let found { return found }
    }
    return nil
  }

  private mutating func adopt(_ insert: JSONValue, _ key: PlainKey) {
    let entity = model.entity(key.entity)
    let isKept = ["storeTrump", "rollback"].contains(policy)
    var members = insert["values"]?.members ?? []
    if policy == "overwrite" {
      for name in state.columns(key.entity)
      where name != entity.identity && !members.contains(where: { $0.name == name }) {
        members.append(JSONMember(name, entity.defaults[name] ?? .null))
      }
    }
    let outcome = members.map { ($0.name, isKept ? "store" : "client") }
    merged.append((key, Dictionary(uniqueKeysWithValues: outcome)))
    if !isKept { update(key, members) }
  }

  // MARK: Updates

  mutating func update(_ key: PlainKey, _ members: [JSONMember]) {
    for member in members {
      guard let relationship = model.relationship(member.name, of: key.entity) else {
        set(member.name, of: key, to: member.value)
        continue
      }
      if relationship.toMany {
        setMany(relationship, of: key, to: member.value)
      } else {
        let target = target(member.value)
        if target != nil || member.value.isNull { link(relationship, of: key, to: target) }
      }
    }
    if !isUnique(key) { errors.insert("uniquenessViolation") }
  }

  // MARK: Deletes

  mutating func delete(_ named: [PlainKey]) {
    count = Set(named).count
    var doomed: [PlainKey] = []
    var rest = named
    while !rest.isEmpty {
      let key = rest.removeFirst()
      guard !doomed.contains(key) else { continue }
      doomed.append(key)
      for relationship in model.entity(key.entity).relationships
      where relationship.deleteRule == "cascade" {
        rest += state.related(relationship, of: key).sorted()
      }
    }
    for key in doomed {
      for relationship in model.entity(key.entity).relationships {
        let others = state.related(relationship, of: key).filter { !doomed.contains($0) }
        if relationship.deleteRule == "deny", !others.isEmpty { errors.insert("deleteDenied") }
      }
    }
    for key in doomed {
      for relationship in model.entity(key.entity).relationships {
        guard let inverse = model.inverse(of: relationship) else { continue }
        for other in state.related(relationship, of: key) where !doomed.contains(other) {
          if model.isPairs(relationship) {
            pair(relationship, key, other, false)
          } else if !inverse.toMany {
            if !inverse.optional { errors.insert("validationFailed") }
            setOne(inverse.name, of: other, to: nil)
          }
        }
      }
    }
    for key in doomed { state.objects[key] = nil }
    removed = doomed
  }
}
