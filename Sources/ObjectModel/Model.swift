// ObjectModel: what a model says. Entities, attributes, relationships, the model file, and the
// predicate language as syntax trees. Pure functions only.
//
// Must not know: tables, who asks, the time, files.
//
// What always holds:
// 1. A `Model` that exists is consistent: every destination and inverse names what is there.
// 2. A model file's faults are reported all at once, each with its path in the file.
// 3. The hash of a model does not depend on formatting or on the order of names in its file.

package import CordialValues
package import JSON

/// A whole model, checked.
///
/// A class, as its entities are: they are handed to everything and never change, and a copy of a
/// structure with so many parts would count references on every way.
package final class Model: Sendable {
  package let name: String
  package let version: String
  /// In the order of the file; an entity's `number` is its place here, from 1.
  package let entities: [EntityDescription]
  /// Names this version of the model, stable under formatting and order; 16 hexadecimal digits.
  package let hash: String
  /// The model as its file has it.
  package let document: JSONValue
  /// Named selections.
  package let values: [ModelValues]
  /// Named requests.
  package let templates: [ModelTemplate]

  /// The ranges of numbers of entities that earlier versions had.
  private let retiredSlots: Set<Int>
  /// The entities of the whole model of which this one is a part.
  package let leftOut: Set<String>

  private let numbers: [String: Int]
  /// By the number of an entity with descendants: the entity of each slot.
  private let kinds: [Int: [Int: Int]]

  package init(
    name: String,
    version: String,
    entities: [EntityDescription],
    document: JSONValue,
    values: [ModelValues] = [],
    templates: [ModelTemplate] = [],
    retiredSlots: Set<Int> = [],
    leftOut: Set<String> = []
  ) {
    self.retiredSlots = retiredSlots
    self.leftOut = leftOut
    self.name = name
    self.version = version
    self.entities = entities
    self.document = document
    self.values = values
    self.templates = templates
    hash = ModelHash.hash(of: document)
    numbers = Dictionary(uniqueKeysWithValues: entities.map { ($0.name, $0.number) })
    kinds = Dictionary(
      uniqueKeysWithValues: entities.filter(\.hasDescendants).map { entity in
        let slots = entity.place.kinds.map { (entities[$0 - 1].place.slot, $0) }
        return (entity.number, Dictionary(uniqueKeysWithValues: slots))
      }
    )
  }

  /// The beginning of the hash, for messages.
  package var shortHash: Substring { hash.prefix(12) }

  /// Whether a hash that a store remembers is this model's, in today's form or in that of earlier
  /// programs.
  package func isIdentified(by hash: String) -> Bool {
    hash == self.hash || hash.utf8.count == 16 && hash == ModelHash.earlierHash(of: document)
  }

  /// The object that has a number among those of an entity and its descendants.
  ///
  /// - Parameters:
  ///   - entity: The number of an entity of this model.
  ///   - object: The number of an object.
  /// - Returns: The object, of the entity in whose range its number is; of the given one where it
  ///   is in none.
  package func key(_ entity: Int, _ object: Int64) -> ObjectKey {
    guard entities[entity - 1].hasDescendants else {
      return ObjectKey(entity: entity, object: object)
    }
    let kind = kinds[entity]?[EntityDescription.slot(of: object)] ?? entity
    return ObjectKey(entity: kind, object: object)
  }

  /// Whether objects of one entity are objects of another: the same one, or an ancestor.
  package func isKind(_ entity: Int, of other: Int) -> Bool {
    entity == other || entities[entity - 1].place.ancestors.contains(other)
  }

  /// The ranges of numbers that entities do not have by themselves, by name; those of entities that
  /// are gone too, which no other gets.
  package var slots: [String: Int] {
    Dictionary(
      uniqueKeysWithValues: entities.filter {
        $0.place.ancestors.count > 1 || $0.hasDescendants || $0.place.slot > 0
      }
      .map { ($0.name, $0.place.slot) } + retiredSlots.map { (Self.retiredName($0), $0) }
    )
  }

  /// The name under which a range of numbers is kept whose entity is gone: no entity has it.
  package static func retiredName(_ slot: Int) -> String { "#\(slot)" }

  /// The entity of that name, nil where there is none.
  package func entity(named name: String) -> EntityDescription? {
    numbers[name].map { entities[$0 - 1] }
  }

  /// The entity of that number, which must come from this model.
  package func entity(_ number: Int) -> EntityDescription {
    entities[number - 1]
  }
}

/// A selection that a model names: what of an entity's objects a view shows.
package struct ModelValues: Sendable, Equatable {
  package let name: String
  package let entity: String
  /// As a fetch's `select`.
  package let select: JSONValue
}

/// A request that a model names.
package struct ModelTemplate: Sendable, Equatable {
  package let name: String
  /// The params of a fetch; those that a client sends take the place of the same ones here.
  package let params: [JSONMember]
}

/// One kind of object.
package final class EntityDescription: Sendable {
  /// Its place in the model, from 1.
  package let number: Int
  package let name: String
  /// The name of the entity of an earlier version that it was.
  package let renamedFrom: String?
  /// The attribute that names its objects on the wire, nil for the store's own numbers.
  package let identity: AttributeDescription?
  /// Its ancestors' first, then its own; of what is stored.
  package let attributes: [AttributeDescription]
  /// The names of attributes that are the clients' own and not stored.
  package let transients: [String]
  /// Its ancestors' first, then its own.
  package let relationships: [RelationshipDescription]
  /// Sets of properties whose values together stand once only.
  package let unique: [[String]]
  package let indexes: [[String]]
  /// What is indexed for search, nil for nothing.
  package let spotlight: SpotlightDescription?

  /// Where it stands among the entities that have an ancestor in common with it.
  package let place: Place

  /// What stands in front of the number in a reference to one of its objects: `"Group/p`.
  package let referencePrefix: [UInt8]

  private let properties: [String: PropertyDescription]

  package init(
    number: Int,
    name: String,
    renamedFrom: String?,
    identity: String?,
    attributes: [AttributeDescription],
    transients: [String],
    relationships: [RelationshipDescription],
    unique: [[String]],
    indexes: [[String]],
    spotlight: SpotlightDescription?,
    place: Place
  ) {
    self.number = number
    self.transients = transients
    self.place = place
    hasDescendants = place.kinds != [number]
    self.name = name
    self.renamedFrom = renamedFrom
    referencePrefix = Array("\"\(name)/p".utf8)
    self.identity = identity.flatMap { name in attributes.first { $0.name == name } }
    self.attributes = attributes
    self.relationships = relationships
    self.unique = unique
    self.indexes = indexes
    self.spotlight = spotlight
    var properties: [String: PropertyDescription] = [:]
    for attribute in attributes { properties[attribute.name] = .attribute(attribute) }
    for relationship in relationships {
      properties[relationship.name] = .relationship(relationship)
    }
    self.properties = properties
  }

  /// Where an entity stands in its family.
  package struct Place: Sendable {
    /// The numbers of its ancestors, the first one first, and its own at the end.
    package let ancestors: [Int]
    /// Whether it has no objects of its own.
    package let isAbstract: Bool
    /// The numbers of the entities whose objects are of it: itself, unless it is abstract, and
    /// its descendants that are not.
    package let kinds: [Int]
    /// Which range of numbers its objects have.
    package let slot: Int

    package init(ancestors: [Int], isAbstract: Bool, kinds: [Int], slot: Int) {
      self.ancestors = ancestors
      self.isAbstract = isAbstract
      self.kinds = kinds
      self.slot = slot
    }
  }

  package var isAbstract: Bool { place.isAbstract }
  /// Whether it has descendants, so that an object of it may be one of another entity.
  package let hasDescendants: Bool

  /// The greatest number of an object, which every client can hold.
  package static let numberMax: Int64 = 9_007_199_254_740_991
  /// How many numbers each entity of a family has, as a power of two.
  private static let slotBits: Int64 = 45

  /// The numbers that its objects have.
  package var numbers: ClosedRange<Int64> {
    guard place.ancestors.count > 1 || hasDescendants else { return 1...Self.numberMax }
    let slot = Int64(place.slot)
    return (slot << Self.slotBits) + 1...min((slot + 1) << Self.slotBits, Self.numberMax)
  }

  /// The slot in whose range a number is.
  static func slot(of object: Int64) -> Int { Int((object &- 1) >> slotBits) }

  /// The attribute or relationship of that name, nil where there is none.
  package func property(named name: String) -> PropertyDescription? {
    properties[name]
  }

  /// The names of all properties, attributes first, for messages.
  package var propertyNames: [String] {
    attributes.map(\.name) + relationships.map(\.name)
  }
}

/// An attribute or a relationship.
package enum PropertyDescription: Sendable {
  case attribute(AttributeDescription)
  case relationship(RelationshipDescription)

  package var name: String {
    switch self {
    case .attribute(let attribute): attribute.name
    case .relationship(let relationship): relationship.name
    }
  }

  package var isAttribute: Bool {
    if case .attribute = self { true } else { false }
  }
}

/// One attribute of an entity; never changed, and so an object, which is cheap to hand on.
package final class AttributeDescription: Sendable, Equatable {
  package let name: String
  /// The name of the property of an earlier version that it was.
  package let renamedFrom: String?
  package let type: AttributeType
  /// Whether null is a value of it.
  package let optional: Bool
  /// What an insert stores when it names no value; null for none.
  package let defaultValue: AttributeValue
  package let minimum: AttributeValue?
  package let maximum: AttributeValue?
  /// In Unicode scalars.
  package let minimumLength: Int?
  /// In Unicode scalars.
  package let maximumLength: Int?
  /// What the whole text has to match, nil for anything.
  package let pattern: TextPattern?
  /// The only values it may have, nil for any.
  package let allowed: [AttributeValue]?
  /// What the store keeps it equal to, nil for what clients write.
  package let derived: DerivedExpression?

  package init(
    name: String,
    renamedFrom: String?,
    type: AttributeType,
    optional: Bool,
    defaultValue: AttributeValue,
    minimum: AttributeValue?,
    maximum: AttributeValue?,
    minimumLength: Int?,
    maximumLength: Int?,
    pattern: TextPattern?,
    allowed: [AttributeValue]?,
    derived: DerivedExpression?
  ) {
    self.name = name
    self.renamedFrom = renamedFrom
    self.type = type
    self.optional = optional
    self.defaultValue = defaultValue
    self.minimum = minimum
    self.maximum = maximum
    self.minimumLength = minimumLength
    self.maximumLength = maximumLength
    self.pattern = pattern
    self.allowed = allowed
    self.derived = derived
  }

  package static func == (first: AttributeDescription, second: AttributeDescription) -> Bool {
    first === second
      || first.name == second.name
        && first.renamedFrom == second.renamedFrom
        && first.type == second.type
        && first.optional == second.optional
        && first.defaultValue == second.defaultValue
        && first.minimum == second.minimum
        && first.maximum == second.maximum
        && first.minimumLength == second.minimumLength
        && first.maximumLength == second.maximumLength
        && first.pattern == second.pattern
        && first.allowed == second.allowed
        && first.derived == second.derived
  }
}

/// The types that an attribute may have, by their names in a model file.
package enum AttributeType: String, Sendable, CaseIterable {
  case string, int16, int32, int64, double, float, decimal, boolean, date, uuid, uri, binary, json

  /// The values of an integer type, nil for the others.
  package var integerRange: ClosedRange<Int64>? {
    switch self {
    case .int16: Int64(Int16.min)...Int64(Int16.max)
    case .int32: Int64(Int32.min)...Int64(Int32.max)
    case .int64: Int64.min...Int64.max
    default: nil
    }
  }
}

/// One relationship of an entity.
package final class RelationshipDescription: Sendable, Equatable {
  package let name: String
  /// The name of the property of an earlier version that it was.
  package let renamedFrom: String?
  /// The number of the entity that has it of its own; the others inherit it.
  package let owner: Int
  /// The number of the entity it leads to, or to whose descendants.
  package let destination: Int
  package let toMany: Bool
  /// Whether the objects that it leads to have an order, which is its owner's.
  package let ordered: Bool
  /// The relationship of the destination that leads back.
  package let inverse: String?
  package let deleteRule: DeleteRule
  /// Whether null is a value of a to-one; says nothing about a to-many.
  package let optional: Bool
  package let minimumCount: Int
  package let maximumCount: Int?
  /// Where its links are kept.
  package let storage: RelationshipStorage

  package init(
    name: String,
    renamedFrom: String?,
    owner: Int,
    destination: Int,
    toMany: Bool,
    ordered: Bool,
    inverse: String?,
    deleteRule: DeleteRule,
    optional: Bool,
    minimumCount: Int,
    maximumCount: Int?,
    storage: RelationshipStorage
  ) {
    self.name = name
    self.renamedFrom = renamedFrom
    self.owner = owner
    self.destination = destination
    self.toMany = toMany
    self.ordered = ordered
    self.inverse = inverse
    self.deleteRule = deleteRule
    self.optional = optional
    self.minimumCount = minimumCount
    self.maximumCount = maximumCount
    self.storage = storage
  }

  package static func == (first: RelationshipDescription, second: RelationshipDescription) -> Bool {
    first === second
      || first.name == second.name
        && first.renamedFrom == second.renamedFrom
        && first.owner == second.owner
        && first.destination == second.destination
        && first.toMany == second.toMany
        && first.ordered == second.ordered
        && first.inverse == second.inverse
        && first.deleteRule == second.deleteRule
        && first.optional == second.optional
        && first.minimumCount == second.minimumCount
        && first.maximumCount == second.maximumCount
        && first.storage == second.storage
  }
}

extension RelationshipDescription {
  /// Whether it is its own inverse, as friendship is: a pair holds for both whoever said it.
  package var isSymmetric: Bool {
    if case .pairs(_, let kept, _) = storage {
      inverse == name && kept == name && destination == owner
    } else {
      false
    }
  }
}

/// Where the links of a relationship are kept.
package enum RelationshipStorage: Sendable, Equatable {
  /// A to-one: a column of its own entity.
  case column
  /// A to-many whose inverse is a to-one: that column, read backwards.
  case inverseColumn
  /// A many-to-many, or a to-many without inverse: pairs in a table of their own, kept from the
  /// side of the named entity and relationship. `owns` tells whether this side is that one.
  case pairs(entity: Int, relationship: String, owns: Bool)
}

/// What becomes of the objects at the other end when an object is deleted.
package enum DeleteRule: String, Sendable, CaseIterable {
  case nullify, cascade, deny, noAction
}

/// What of an entity's objects can be searched.
package struct SpotlightDescription: Sendable, Equatable {
  /// The attribute shown as a hit's title; always indexed.
  package let displayName: String?
  /// The indexed attributes with their weights, the display name among them, in order of name.
  package let weights: [(name: String, weight: Double)]

  package static func == (first: SpotlightDescription, second: SpotlightDescription) -> Bool {
    first.displayName == second.displayName
      && first.weights.elementsEqual(second.weights) { $0 == $1 }
  }
}
