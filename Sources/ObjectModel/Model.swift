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

  private let numbers: [String: Int]

  package init(
    name: String,
    version: String,
    entities: [EntityDescription],
    document: JSONValue,
    values: [ModelValues] = [],
    templates: [ModelTemplate] = []
  ) {
    self.name = name
    self.version = version
    self.entities = entities
    self.document = document
    self.values = values
    self.templates = templates
    hash = ModelHash.hash(of: document)
    numbers = Dictionary(uniqueKeysWithValues: entities.map { ($0.name, $0.number) })
  }

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
  /// The attribute that names its objects on the wire, nil for the store's own numbers.
  package let identity: AttributeDescription?
  package let attributes: [AttributeDescription]
  package let relationships: [RelationshipDescription]
  /// Sets of properties whose values together stand once only.
  package let unique: [[String]]
  package let indexes: [[String]]
  /// What is indexed for search, nil for nothing.
  package let spotlight: SpotlightDescription?

  /// What stands in front of the number in a reference to one of its objects: `"Group/p`.
  package let referencePrefix: [UInt8]

  private let properties: [String: PropertyDescription]

  package init(
    number: Int,
    name: String,
    identity: String?,
    attributes: [AttributeDescription],
    relationships: [RelationshipDescription],
    unique: [[String]],
    indexes: [[String]],
    spotlight: SpotlightDescription?
  ) {
    self.number = number
    self.name = name
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

/// One attribute of an entity.
package struct AttributeDescription: Sendable, Equatable {
  package let name: String
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
  /// The only values it may have, nil for any.
  package let allowed: [AttributeValue]?
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
package struct RelationshipDescription: Sendable, Equatable {
  package let name: String
  /// The number of the entity it leads to.
  package let destination: Int
  package let toMany: Bool
  /// The relationship of the destination that leads back.
  package let inverse: String?
  package let deleteRule: DeleteRule
  /// Whether null is a value of a to-one; says nothing about a to-many.
  package let optional: Bool
  package let minimumCount: Int
  package let maximumCount: Int?
  /// Where its links are kept.
  package let storage: RelationshipStorage
}

extension RelationshipDescription {
  /// Whether it is its own inverse, as friendship is: a pair holds for both whoever said it.
  package var isSymmetric: Bool {
    if case .pairs(_, let owner, _) = storage { inverse == name && owner == name } else { false }
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
