import JSON
import ObjectModel

/// A random model as a value that a test can change.
///
/// Entities and properties have numbers that stay when names and owners change, so that a test can
/// follow them from one version of the model to the next.
struct WideModel {
  var entities: [WideEntity] = []
  /// What the version gives up, as `Memo` and `Task.color`.
  var removed: [String] = []
  /// The expressions of the map from the version before, by entity and attribute.
  var map: [Int: [Int: String]] = [:]
  /// The number of the version.
  var version = 1
  private var lastNumber = 0

  mutating func newNumber() -> Int {
    lastNumber += 1
    return lastNumber
  }

  // MARK: Entities

  func index(_ number: Int) -> Int { entities.firstIndex { $0.number == number } ?? 0 }
  func entity(_ number: Int) -> WideEntity { entities[index(number)] }
  func has(_ number: Int) -> Bool { entities.contains { $0.number == number } }

  var concrete: [WideEntity] { entities.filter { !$0.isAbstract } }

  /// An entity after its ancestors, the root ancestor first.
  func lineage(_ number: Int) -> [WideEntity] {
    var lineage = [entity(number)]
    while let parent = lineage[0].parent { lineage.insert(entity(parent), at: 0) }
    return lineage
  }

  /// An entity and its descendants.
  func descendants(_ number: Int) -> [WideEntity] {
    entities.filter { entity in lineage(entity.number).contains { $0.number == number } }
  }

  /// The entities of the objects of an entity.
  func kinds(_ number: Int) -> [WideEntity] { descendants(number).filter { !$0.isAbstract } }

  // MARK: Properties

  /// The attributes of an entity, inherited ones first.
  func attributes(_ number: Int) -> [WideAttribute] { lineage(number).flatMap(\.attributes) }

  /// The relationships of an entity, inherited ones first.
  func relationships(_ number: Int) -> [WideRelationship] {
    lineage(number).flatMap(\.relationships)
  }

  /// The name of a property.
  func name(_ property: Int) -> String {
    let entity = entity(owner(property))
    return entity.attributes.first { $0.number == property }?.name
      ?? entity.relationships.first { $0.number == property }?.name ?? "?\(property)"
  }

  /// The entity that declares a property.
  func owner(_ property: Int) -> Int {
    entities.first { entity in
      entity.attributes.contains { $0.number == property }
        || entity.relationships.contains { $0.number == property }
    }?.number ?? 0
  }

  var relationships: [WideRelationship] { entities.flatMap(\.relationships) }

  func relationship(_ number: Int) -> WideRelationship? {
    relationships.first { $0.number == number }
  }

  func attribute(_ number: Int) -> WideAttribute? {
    entities.lazy.flatMap(\.attributes).first { $0.number == number }
  }

  mutating func change(attribute number: Int, _ change: (inout WideAttribute) -> Void) {
    let entity = index(owner(number))
    for place in entities[entity].attributes.indices
    where entities[entity].attributes[place].number == number {
      change(&entities[entity].attributes[place])
    }
  }

  mutating func change(relationship number: Int, _ change: (inout WideRelationship) -> Void) {
    let entity = index(owner(number))
    for place in entities[entity].relationships.indices
    where entities[entity].relationships[place].number == number {
      change(&entities[entity].relationships[place])
    }
  }

  /// Whether anything but its entity refers to a property: a derived attribute, a unique set.
  func isUsed(_ property: Int) -> Bool {
    entities.contains { entity in
      entity.identity == property || entity.unique.contains { $0.contains(property) }
        || entity.indexes.contains { $0.contains { $0.property == property } }
    } || isDerivedFrom(property)
  }

  func isDerivedFrom(_ property: Int) -> Bool {
    entities.contains { entity in
      entity.attributes.contains { $0.derived?.properties.contains(property) == true }
    }
  }

  // MARK: The model file

  var text: String { json.text }

  var json: JSONValue {
    [
      "name": "Wide", "version": .string("\(version)"),
      "removed": .array(removed.map { .string($0) }), "entities": .array(entities.map(json)),
      "map": map.isEmpty ? .null : .object(mapMembers),
    ]
  }

  private var mapMembers: [JSONMember] {
    [JSONMember("@from", .string("\(version - 1)"))]
      + map.sorted { $0.key < $1.key }.map { number, values in
        let members = values.sorted { $0.key < $1.key }.map {
          JSONMember(name($0.key), .string($0.value))
        }
        return JSONMember(entity(number).name, .object(members))
      }
  }

  private func json(_ entity: WideEntity) -> JSONValue {
    var members = [JSONMember("name", .string(entity.name))]
    func add(_ name: String, _ value: JSONValue?) {
      if let value { members.append(JSONMember(name, value)) }
    }
    add("renamedFrom", entity.renamedFrom.map { .string($0) })
    add("parent", entity.parent.map { .string(self.entity($0).name) })
    if entity.isAbstract { add("abstract", true) }
    add("identity", entity.identity.map { .string(name($0)) })
    // Two versions are never equal, because a store refuses to return to one that it had.
    if entity.number == entities[0].number {
      add("versionHashModifier", .string("\(version)"))
    }
    let transients = (0..<entity.transientCount).map { index -> JSONValue in
      ["name": .string("t\(entity.number)_\(index)"), "type": "int16", "transient": true]
    }
    add("attributes", .array(elements(entity.attributes) + transients))
    add("relationships", .array(entity.relationships.map(json)))
    add("unique", .array(entity.unique.map { .array($0.map { .string(name($0)) }) }))
    let indexes = entity.indexes.map { keys in
      keys.map { ($0.isDescending ? "-" : "") + name($0.property) + $0.suffix }
    }
    add("indexes", .array(indexes.map { .array($0.map { .string($0) }) }))
    return .object(members)
  }

  /// The element of a model file for an attribute.
  ///
  /// - Parameters:
  ///   - attribute: The attribute.
  ///   - name: Its name without the path of its composite.
  ///   - renaming: The member `renamedFrom`, nil if it is not renamed.
  /// - Returns: The element.
  func element(
    _ attribute: WideAttribute,
    named name: String,
    _ renaming: JSONMember?
  ) -> JSONValue {
    var members = [
      JSONMember("name", .string(name)), JSONMember("type", .string(attribute.type.rawValue)),
    ]
    if let renaming { members.append(renaming) }
    if let derived = attribute.derived {
      members.append(JSONMember("derived", .string(text(derived))))
      if derived.mayBeNull { members.append(JSONMember("optional", true)) }
      return .object(members)
    }
    members.append(JSONMember("optional", .bool(attribute.optional)))
    if let value = attribute.defaultValue { members.append(JSONMember("default", value)) }
    if attribute.isSorted { members.append(JSONMember("sorted", "localized")) }
    return .object(members + attribute.rule.members)
  }

  private func text(_ derived: WideDerived) -> String {
    switch derived {
    case .count(let many): "\(name(many)).@count"
    case .sum(let many, let summed): "\(name(many)).@sum.\(name(summed))"
    case .path(let one, let last): "\(name(one)).\(name(last))"
    case .form(let form, let text): "\(form):(\(name(text)))"
    case .now: "now()"
    }
  }

  private func json(_ relationship: WideRelationship) -> JSONValue {
    var members = [
      JSONMember("name", .string(relationship.name)),
      JSONMember("destination", .string(entity(relationship.destination).name)),
      JSONMember("toMany", .bool(relationship.toMany)),
      JSONMember("deleteRule", .string(relationship.deleteRule)),
    ]
    if let former = relationship.renamedFrom {
      members.append(JSONMember("renamedFrom", .string(former)))
    }
    if let inverse = relationship.inverse {
      members.append(JSONMember("inverse", .string(name(inverse))))
    }
    if relationship.toMany {
      members.append(JSONMember("ordered", .bool(relationship.ordered)))
      members.append(JSONMember("minimumCount", .integer(Int64(relationship.minimumCount))))
      if let most = relationship.maximumCount {
        members.append(JSONMember("maximumCount", .integer(Int64(most))))
      }
    } else {
      members.append(JSONMember("optional", .bool(relationship.optional)))
    }
    return .object(members)
  }
}

/// An entity of a random model.
struct WideEntity {
  let number: Int
  var name: String
  var renamedFrom: String?
  var parent: Int?
  var isAbstract = false
  var identity: Int?
  var attributes: [WideAttribute] = []
  /// The number of transient attributes, which only clients have.
  var transientCount = 0
  var relationships: [WideRelationship] = []
  var unique: [[Int]] = []
  var indexes: [[WideIndexKey]] = []

  init(number: Int, name: String, parent: Int? = nil) {
    self.number = number
    self.name = name
    self.parent = parent
  }
}

/// A key of an index.
struct WideIndexKey {
  var property: Int
  var isDescending = false
  var isLocalized = false

  var suffix: String { isLocalized ? ":localized" : "" }
}

/// An attribute of a random model.
struct WideAttribute {
  let number: Int
  /// The name; inside a composite the path, as `c1.a2`.
  var name: String
  var renamedFrom: String?
  var type: AttributeType
  var optional = true
  var defaultValue: JSONValue?
  var rule = WideRule.none
  var derived: WideDerived?
  var isSorted = false
  /// The type whose values the texts of a string spell, so that it can become the string's type.
  var spelled: AttributeType?
  /// Whether the values of different objects differ, for unique sets.
  var isDistinct = false

  init(number: Int, name: String, type: AttributeType) {
    self.number = number
    self.name = name
    self.type = type
  }
}

/// What the values of an attribute are checked for.
enum WideRule {
  case none
  case range(JSONValue, JSONValue)
  case length(Int64, Int64)
  case allowed([JSONValue])
  /// Small letters, then digits.
  case pattern

  var members: [JSONMember] {
    switch self {
    case .none: []
    case .range(let least, let most): [JSONMember("minimum", least), JSONMember("maximum", most)]
    case .length(let least, let most):
      [JSONMember("minimumLength", .integer(least)), JSONMember("maximumLength", .integer(most))]
    case .allowed(let values): [JSONMember("enum", .array(values))]
    case .pattern: [JSONMember("pattern", "[a-z]+[0-9]+")]
    }
  }

  var isNone: Bool { members.isEmpty }
}

/// The expression of a derived attribute.
enum WideDerived {
  case count(Int)
  case sum(Int, Int)
  case path(Int, Int)
  case form(String, Int)
  case now

  var properties: [Int] {
    switch self {
    case .count(let many): [many]
    case .sum(let many, let summed): [many, summed]
    case .path(let one, let last): [one, last]
    case .form(_, let text): [text]
    case .now: []
    }
  }

  var isTime: Bool {
    if case .now = self { true } else { false }
  }

  var mayBeNull: Bool {
    switch self {
    case .count, .sum: false
    default: true
    }
  }
}

/// A relationship of a random model.
struct WideRelationship {
  let number: Int
  var name: String
  var renamedFrom: String?
  var destination: Int
  var toMany: Bool
  var inverse: Int?
  var ordered = false
  var optional = true
  var deleteRule = "nullify"
  var minimumCount = 0
  var maximumCount: Int?

  init(number: Int, name: String, destination: Int, toMany: Bool) {
    self.number = number
    self.name = name
    self.destination = destination
    self.toMany = toMany
  }

  var isSymmetric: Bool { inverse == number }
}
