import JSON
import TestSeeds

/// Makes requests that a store carries out, most of the time.
struct OperationGenerator {
  static let policies = ["error", "storeTrump", "objectTrump", "overwrite", "rollback"]
  private static let words: [JSONValue] = ["a", "b", "c", "d", "E", "f", "g", "h", nil]
  private static let codes = ["go", "run", "jump", "kick", "rest"]

  var random: SplitMix64
  let store: PlainStore
  private var temporary: [(id: String, entity: String)] = []

  init(_ random: SplitMix64, _ store: PlainStore) {
    self.random = random
    self.store = store
  }

  private var model: PlainModel { store.model }
  private var state: PlainState { store.state }

  /// A save, or a delete or update by IDs or by predicate.
  mutating func request() -> JSONValue {
    switch random.below(10) {
    case 0: return request("delete", matching())
    case 1: return request("delete", deleteByIDs())
    case 2, 3: return request("update", updateMatching())
    default: return request("save", save() + [JSONMember("mergePolicy", .string(policy()))])
    }
  }

  /// An undo or a redo.
  mutating func revert() -> JSONValue {
    let author: JSONValue = random.oneIn(6) ? "external" : self.author()
    var members = [JSONMember("author", author), JSONMember("durability", "normal")]
    if random.oneIn(4) { members.append(JSONMember("count", .integer(1 + random.int(3)))) }
    if random.oneIn(5) { members.append(JSONMember("context", context())) }
    if random.oneIn(3) { members.append(JSONMember("mergePolicy", "storeTrump")) }
    return ["method": random.oneIn(3) ? "redo" : "undo", "params": .object(members)]
  }

  private mutating func request(_ method: String, _ members: [JSONMember]) -> JSONValue {
    var members = members + [JSONMember("durability", "normal")]
    if !random.oneIn(5) { members.append(JSONMember("author", author())) }
    if random.oneIn(3) { members.append(JSONMember("context", context())) }
    return ["method": .string(method), "params": .object(members)]
  }

  private mutating func author() -> JSONValue { random.pick(["ann", "bob"]) }
  private mutating func context() -> JSONValue { random.pick(["typing", "import"]) }
  private mutating func policy() -> String { random.pick(Self.policies) }

  // MARK: Saves

  private mutating func save() -> [JSONMember] {
    let inserts = insertedIDs()
    temporary = inserts
    var named: [Int] = []
    let counts = inserts.isEmpty ? [1, 1, 2, 2, 3, 4] : [0, 0, 1, 1, 2, 3]
    for _ in 0..<random.pick(counts) {
      if let key = anyObject(), !named.contains(key) || random.oneIn(20) { named.append(key) }
    }
    let split = random.oneIn(2) ? named.count : random.below(named.count + 1)
    let insert = inserts.map { id, entity -> JSONValue in
      let values = JSONValue.object(insertValues(id, model.entity(entity)))
      return random.oneIn(30) && id.contains("/t") && !isUsed(id)
        ? ["entity": .string(entity), "values": values] : ["id": .string(id), "values": values]
    }
    let updates = named[..<split].map { update($0) }
    let deletes = named[split...].map { key -> JSONValue in
      random.oneIn(2)
        ? .string(id(key)) : .object([JSONMember("id", .string(id(key)))] + version(key))
    }
    return [
      JSONMember("insert", .array(insert)), JSONMember("update", .array(updates)),
      JSONMember("delete", .array(deletes)),
    ]
  }

  /// An ID that the values of the save may name is not left out.
  private func isUsed(_ id: String) -> Bool {
    temporary.contains { $0.id == id } && temporary.count > 1
  }

  private mutating func insertedIDs() -> [(id: String, entity: String)] {
    let room = state.objects.count < 30
    var inserts: [(id: String, entity: String)] = []
    for index
      in 0..<(room ? random.pick(state.objects.count < 6 ? [1, 2, 3, 4] : [0, 0, 1, 1, 2, 4]) : 0)
    {
      let entity = random.pick(model.concrete)
      var id = "\(entity.name)/t\(index)"
      if let identity = entity.identity, random.oneIn(2) {
        let isText = entity.attribute(identity)?.type == "string"
        id = "\(entity.name)/" + (isText ? "s\(random.pick(Self.codes))" : "i\(random.below(6))")
      }
      if !inserts.contains(where: { $0.id == id }) { inserts.append((id, entity.name)) }
    }
    if random.oneIn(80) { inserts.append(("Nobody/t9", model.concrete[0].name)) }
    return inserts
  }

  private mutating func insertValues(_ id: String, _ entity: PlainModel.Entity) -> [JSONMember] {
    var members = values(entity, [2, 3])
    if let identity = entity.identity, id.contains("/t") {
      members.append(JSONMember(identity, identityValue(entity.attribute(identity))))
    }
    for relationship in entity.toOnes
    where !relationship.optional && !members.contains(where: { $0.name == relationship.name }) {
      guard !random.oneIn(8), let target = reference(relationship.destination) else { continue }
      members.append(JSONMember(relationship.name, .string(target)))
    }
    for relationship in entity.toManys
    where relationship.minimumCount > 0
      && !members.contains(where: { $0.name == relationship.name })
    {
      guard let target = reference(relationship.destination) else { continue }
      members.append(JSONMember(relationship.name, [.string(target)]))
    }
    return members
  }

  private mutating func update(_ key: Int) -> JSONValue {
    let entity = state.entity(key)
    let version = version(key)
    var members = [JSONMember("id", .string(id(key)))] + version
    if let known = version.first?.value.integer, random.oneIn(4) {
      let commits = store.commits.filter { $0.state[key]?.version == known }
      if !commits.isEmpty {
        members.append(JSONMember("asOf", .string(random.pick(commits).token)))
      }
    }
    var values = values(entity, [2, 3])
    if let identity = entity.identity, random.oneIn(60) {
      values.append(JSONMember(identity, identityValue(entity.attribute(identity))))
    }
    return .object(members + [JSONMember("values", .object(values))])
  }

  // MARK: IDs

  private mutating func anyObject() -> Int? {
    let keys = state.objects.keys.sorted()
    return keys.isEmpty ? nil : random.pick(keys)
  }

  /// An ID of an object, seldom in another form that names the same object.
  private mutating func id(_ key: Int) -> String {
    if random.oneIn(60) { return "\(state.entity(key).name)/p\(random.below(20) + 4000)" }
    if random.oneIn(12) { return state.objectID(key) }
    if random.oneIn(12) {
      let name = random.pick(state.entity(key).lineage)
      return name + state.objectID(key).drop { $0 != "/" }
    }
    return state.id(key)
  }

  private mutating func reference(_ entity: String) -> String? {
    let new = temporary.filter { model.isKind($0.entity, of: entity) }
    if !new.isEmpty, random.oneIn(2) { return random.pick(new).id }
    if random.oneIn(150) { return random.pick(["\(entity)/x1", "Nobody/p1", "nonsense"]) }
    if random.oneIn(100), let other = anyObject() { return state.id(other) }
    let keys = state.keys(entity)
    return keys.isEmpty ? nil : id(random.pick(keys))
  }

  /// The version that the client says that it knows.
  private mutating func version(_ key: Int) -> [JSONMember] {
    guard random.oneIn(2), let object = state[key] else { return [] }
    let versions = Set(store.commits.compactMap { $0.state[key]?.version }).sorted()
    let ahead = random.oneIn(30) ? [object.version + 1] : []
    return [JSONMember("version", .integer(random.pick(versions + ahead)))]
  }

  // MARK: Values

  private mutating func values(_ entity: PlainModel.Entity, _ odds: [Int]) -> [JSONMember] {
    var members: [JSONMember] = []
    for attribute in entity.stored where attribute.name != entity.identity && random.oneIn(odds[0])
    {
      members.append(JSONMember(attribute.name, value(attribute)))
    }
    for relationship in entity.relationships where random.oneIn(odds[1]) {
      let isBothEnds = members.contains { $0.name == relationship.inverse }
      if isBothEnds, !random.oneIn(20) { continue }
      if let value = value(relationship) { members.append(JSONMember(relationship.name, value)) }
    }
    if random.oneIn(100) { members.append(JSONMember("nothing", 1)) }
    if let derived = entity.attributes.first(where: { $0.derived != nil }), random.oneIn(100) {
      members.append(JSONMember(derived.name, .null))
    }
    return members
  }

  private mutating func identityValue(_ attribute: PlainModel.Attribute?) -> JSONValue {
    attribute?.type == "string"
      ? .string(random.pick(Self.codes)) : .integer(random.int(6))
  }

  private mutating func value(_ attribute: PlainModel.Attribute) -> JSONValue {
    if random.oneIn(100) { return attribute.type == "string" ? 7 : "seven" }
    if random.oneIn(attribute.optional ? 6 : 80) { return nil }
    if let allowed = attribute.allowed { return random.oneIn(50) ? "w" : random.pick(allowed) }
    if attribute.maximumLength != nil {
      return random.oneIn(50) ? "long" : random.pick(["t", "uu"])
    }
    switch attribute.type {
    case "string": return random.pick(Self.words.filter { !$0.isNull })
    case "boolean": return .bool(random.oneIn(2))
    default: return .integer(random.oneIn(60) ? 12 : random.int(10))
    }
  }

  private mutating func value(_ relationship: PlainModel.Relationship) -> JSONValue? {
    if relationship.toMany { return list(relationship) }
    if random.oneIn(relationship.optional ? 5 : 40) { return .null }
    return reference(relationship.destination).map { .string($0) }
  }

  private mutating func list(_ relationship: PlainModel.Relationship) -> JSONValue {
    switch random.below(5) {
    case 0: return .object([JSONMember("@add", .array(references(relationship)))])
    case 1: return .object([JSONMember("@remove", .array(references(relationship)))])
    case 2:
      let add = references(relationship)
      let remove = references(relationship).filter { !names($0, in: add) }
      return .object([JSONMember("@add", .array(add)), JSONMember("@remove", .array(remove))])
    case 3 where relationship.ordered:
      let place = random.oneIn(30) ? 9 : random.int(2)
      return .object(
        [JSONMember("@add", .array(references(relationship))), JSONMember("@at", .integer(place))]
      )
    default: return .array(references(relationship))
    }
  }

  /// Whether a list names the object of an ID, in whatever form.
  private func names(_ id: JSONValue, in list: [JSONValue]) -> Bool {
    list.contains { other in
      other == id || state.key(other.string ?? "") == state.key(id.string ?? "")
    }
  }

  private mutating func references(_ relationship: PlainModel.Relationship) -> [JSONValue] {
    var list: [JSONValue] = []
    for _ in 0..<random.below(4) {
      guard let id = reference(relationship.destination) else { continue }
      let value = JSONValue.string(id)
      let isTwin =
        list.contains(value)
        || list.contains { other in
          let key = state.key(id)
          return key != nil && state.key(other.string ?? "") == key
        }
      if !isTwin { list.append(value) }
    }
    return list
  }

  // MARK: By IDs and predicates

  private mutating func deleteByIDs() -> [JSONMember] {
    let keys = (0..<(1 + random.below(2))).compactMap { _ in anyObject() }.uniqued
    return [
      JSONMember("ids", .array(keys.map { .string(id($0)) })), JSONMember("returning", "ids"),
    ]
  }

  private mutating func matching() -> [JSONMember] {
    let entity = random.pick(model.entities)
    var predicates: [String] = []
    for attribute in entity.stored {
      switch attribute.type {
      case "string": predicates += ["\(attribute.name) == 'a'", "\(attribute.name) != 'b'"]
      case "boolean": predicates += ["\(attribute.name) == nil"]
      default:
        predicates += ["\(attribute.name) > 6", "\(attribute.name) < 2", "\(attribute.name) == 4"]
      }
    }
    predicates += entity.toOnes.map { "\($0.name) == nil" }
    return [
      JSONMember("entity", .string(entity.name)),
      JSONMember("predicate", .string(random.pick(predicates))), JSONMember("returning", "ids"),
    ]
  }

  private mutating func updateMatching() -> [JSONMember] {
    temporary = []
    let members = matching()
    let entity = model.entity(members[0].value.string ?? "")
    var set = values(entity, [3, 5])
    let numbers = entity.stored.filter { $0.type.hasPrefix("int") && $0.name != entity.identity }
    if let number = numbers.first, random.oneIn(2) {
      set.removeAll { $0.name == number.name }
      let text = "\(number.name) + \(1 + random.below(2))"
      set.append(JSONMember(number.name, ["@expression": .string(text)]))
    }
    return members + [JSONMember("set", .object(set))]
  }
}
