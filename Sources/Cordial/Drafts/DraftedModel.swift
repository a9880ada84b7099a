import CordialValues
import JSON

/// The entities of a draft, and the decisions about them that a person has to make.
struct DraftedModel: Sendable {
  private(set) var entities: [DraftedEntity] = []
  private(set) var decisions: [String] = []

  /// Creates a draft without entities.
  init() {}

  /// Derives the entities from facts about their properties.
  ///
  /// - Parameters:
  ///   - facts: The facts about the properties.
  ///   - names: The names of the entities that the facts describe. The draft lists these entities
  ///     first, in this order.
  ///   - owners: The name of each known object's entity, by the object's ID.
  /// - Throws: `ClientError` with `valueMismatch` for a property whose facts contradict each other.
  init(
    _ facts: [PropertyFact],
    _ names: [String],
    _ owners: [WrappedID: String]
  ) throws(ClientError) {
    entities = names.map { DraftedEntity(name: $0) }
    // Direct properties come first, because a key path needs the destinations of relationships.
    for isPath in [false, true] {
      for fact in facts where fact.path.contains(".") == isPath { try add(fact, owners) }
    }
    pairInverses()
    decide()
  }

  // MARK: Properties

  private mutating func add(
    _ fact: PropertyFact,
    _ owners: [WrappedID: String]
  ) throws(ClientError) {
    var entity = fact.entity
    let names = fact.path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    for (place, name) in names.enumerated() {
      // An aggregate is computed from the path before it, and adds no property.
      if name.hasPrefix("@") { return }
      let index = self.index(of: entity)
      guard place < names.count - 1 else { return try add(fact, name, to: index, owners) }
      let isToMany = names[place + 1].hasPrefix("@")
      entity = relate(
        name,
        from: index,
        isToMany: isToMany,
        isOptional: fact.isOptional,
        to: []
      )
    }
  }

  private mutating func add(
    _ fact: PropertyFact,
    _ name: String,
    to index: Int,
    _ owners: [WrappedID: String]
  ) throws(ClientError) {
    switch PropertyForm(fact, owners) {
    case .relationship(let isToMany, let targets):
      _ = relate(
        name,
        from: index,
        isToMany: isToMany,
        isOptional: fact.isOptional,
        to: targets
      )
    case .attribute(let type):
      let attribute = DraftedAttribute(name: name, type: type, isOptional: fact.isOptional)
      guard let known = entities[index].attributes.firstIndex(where: { $0.name == name }) else {
        entities[index].attributes.append(attribute)
        return
      }
      guard entities[index].attributes[known].join(attribute) else {
        let other = entities[index].attributes[known].type ?? ""
        throw ClientError(
          code: .valueMismatch,
          message: "\(fact.source) is of type \(type ?? "string"), but another value of "
            + "\(entities[index].name).\(name) is of type \(other)"
        )
      }
    }
  }

  /// Returns the destination of a relationship, and adds the relationship if it is missing.
  private mutating func relate(
    _ name: String,
    from index: Int,
    isToMany: Bool,
    isOptional: Bool,
    to targets: [String]
  ) -> String {
    if let known = entities[index].relationships.first(where: { $0.name == name }) {
      return known.destination
    }
    let (destination, isGuess) = destination(name, isToMany: isToMany, targets)
    // An earlier fact without a value may have added an attribute with the relationship's name.
    entities[index].attributes.removeAll { $0.name == name && $0.type == nil }
    entities[index].relationships.append(
      DraftedRelationship(
        name: name,
        destination: destination,
        isToMany: isToMany,
        isOptional: isOptional,
        isGuess: isGuess
      )
    )
    _ = self.index(of: destination)
    return destination
  }

  private func destination(
    _ name: String,
    isToMany: Bool,
    _ targets: [String]
  ) -> (name: String, isGuess: Bool) {
    if let target = targets.first { return (target, false) }
    let lower = name.lowercased()
    let singular = isToMany && lower.hasSuffix("s") ? String(lower.dropLast()) : lower
    // Both `parentGroup` and `group` refer to the entity `Group`.
    let matches = entities.map(\.name).filter { singular.hasSuffix($0.lowercased()) }
    if let match = matches.max(by: { $0.count < $1.count }) { return (match, false) }
    let stem = isToMany && name.hasSuffix("s") ? String(name.dropLast()) : name
    return (stem.prefix(1).uppercased() + stem.dropFirst(), true)
  }

  private mutating func index(of entity: String) -> Int {
    if let index = entities.firstIndex(where: { $0.name == entity }) { return index }
    entities.append(DraftedEntity(name: entity))
    return entities.count - 1
  }

  // MARK: Inverses

  /// Pairs two relationships as inverses if no other relationship connects their entities.
  private mutating func pairInverses() {
    for (index, entity) in entities.enumerated() {
      for (place, relationship) in entity.relationships.enumerated() {
        guard let other = entities.firstIndex(where: { $0.name == relationship.destination }),
          other != index,
          entity.relationships.count(where: { $0.destination == relationship.destination }) == 1
        else { continue }
        let back = entities[other].relationships.indices.filter {
          entities[other].relationships[$0].destination == entity.name
        }
        guard let only = back.first, back.count == 1 else { continue }
        entities[index].relationships[place].inverse = entities[other].relationships[only].name
      }
    }
  }

  // MARK: Decisions

  private mutating func decide() {
    for entity in entities {
      for attribute in entity.attributes where attribute.type == nil {
        decisions.append(
          "\(entity.name).\(attribute.name): no sample has a value, so string is a guess"
        )
      }
      for relationship in entity.relationships {
        let place = "\(entity.name).\(relationship.name)"
        let destination = relationship.destination
        if relationship.isGuess {
          decisions.append("\(place): the entity \(destination) is a guess from the name")
        }
        if relationship.inverse == nil {
          decisions.append("\(place): whether \(destination) has an inverse of it")
        }
        decisions.append(
          "\(place): what becomes of the \(destination) when its \(entity.name) is deleted "
            + "(deleteRule: nullify keeps it; cascade, deny)"
        )
      }
      decisions.append("\(entity.name): what is unique, and whether it has an identity")
      decisions.append("\(entity.name): which orders and conditions are frequent (indexes)")
    }
  }
}

/// An entity of a draft.
struct DraftedEntity: Sendable {
  let name: String
  var attributes: [DraftedAttribute] = []
  var relationships: [DraftedRelationship] = []

  init(name: String) {
    self.name = name
  }

  /// The entity in a model file.
  var json: JSONValue {
    var members = [JSONMember("name", .string(name))]
    members.append(JSONMember("attributes", .array(attributes.map(\.json))))
    if !relationships.isEmpty {
      members.append(JSONMember("relationships", .array(relationships.map(\.json))))
    }
    return .object(members)
  }
}

/// An attribute of a draft.
struct DraftedAttribute: Sendable {
  let name: String
  /// The type in a model file; nil if no value is known.
  private(set) var type: String?
  private(set) var isOptional: Bool

  init(name: String, type: String?, isOptional: Bool) {
    (self.name, self.type, self.isOptional) = (name, type, isOptional)
  }

  /// Merges an attribute from a further fact, and returns whether the types are compatible.
  mutating func join(_ other: DraftedAttribute) -> Bool {
    isOptional = isOptional && other.isOptional
    switch (type, other.type) {
    case (_, nil): break
    case (nil, let known): type = known
    case (let first?, let second?) where first == second: break
    case ("int64", "double"), ("double", "int64"): type = "double"
    // If only some texts look like dates or UUIDs, the attribute is a string.
    case ("string", "date"), ("date", "string"), ("string", "uuid"), ("uuid", "string"),
      ("date", "uuid"), ("uuid", "date"):
      type = "string"
    default: return false
    }
    return true
  }

  /// The attribute in a model file.
  var json: JSONValue {
    var members = [
      JSONMember("name", .string(name)), JSONMember("type", .string(type ?? "string")),
    ]
    if isOptional { members.append(JSONMember("optional", true)) }
    return .object(members)
  }
}

/// A relationship of a draft.
struct DraftedRelationship: Sendable {
  let name: String
  let destination: String
  let isToMany: Bool
  let isOptional: Bool
  /// Whether no known entity fits, so that the destination is a guess from the name.
  let isGuess: Bool
  var inverse: String?

  /// The relationship in a model file.
  var json: JSONValue {
    var members = [
      JSONMember("name", .string(name)), JSONMember("destination", .string(destination)),
    ]
    if isToMany { members.append(JSONMember("toMany", true)) }
    if let inverse { members.append(JSONMember("inverse", .string(inverse))) }
    if isOptional, !isToMany { members.append(JSONMember("optional", true)) }
    return .object(members)
  }
}
