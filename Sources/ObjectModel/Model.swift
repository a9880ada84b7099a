// ObjectModel: the data model. Entities, attributes, relationships, the model file, and the
// predicate language as syntax trees. Pure functions only.
//
// Must not know: tables, callers, the time, files.
//
// What always holds:
// 1. Every `Model` is consistent: the destination and the inverse of each relationship exist.
// 2. The reader reports all faults of a model file at once, each with its path in the file.
// 3. The hash of a model does not depend on formatting or on the order of names in its file.

package import CordialValues
package import JSON

/// A complete model that has passed all checks.
///
/// A model and its entities are classes because many callers share them and they never change.
/// Each copy of a structure would retain and release all its parts.
package final class Model: Sendable {
  package let name: String
  package let version: String
  /// The entities in the order of the file; an entity's `number` is its index here plus 1.
  package let entities: [EntityDescription]
  /// The hash that identifies this version of the model, independent of formatting and order, as 64
  /// hexadecimal digits.
  package let hash: String
  /// The content of the model file.
  package let document: JSONValue
  /// Named selections.
  package let values: [ModelValues]
  /// Named requests.
  package let templates: [ModelTemplate]
  /// The names of the entities and properties that this version deletes with their data, such as
  /// `Memo` and `Task.color`.
  package let removed: Set<String>
  /// The rules by which objects of the previous version become objects of this version; nil if the
  /// migration is inferred.
  package let map: ObjectMap?

  /// The slots of entities that only earlier versions of the model had.
  private let retiredSlots: Set<Int>
  /// The entities that only earlier versions of the store's model had, by ascending number.
  package let retired: [RetiredEntity]
  /// The names of the model file's entities that the model's configuration leaves out.
  package let excludedEntities: Set<String>

  private let numbers: [String: Int]
  /// For each entity with descendants, by its number: the number of the entity that has each slot.
  private let entitiesBySlot: [Int: [Int: Int]]

  package init(
    name: String,
    version: String,
    entities: [EntityDescription],
    document: JSONValue,
    values: [ModelValues] = [],
    templates: [ModelTemplate] = [],
    removed: Set<String> = [],
    map: ObjectMap? = nil,
    retiredSlots: Set<Int> = [],
    retired: [RetiredEntity] = [],
    excludedEntities: Set<String> = []
  ) {
    self.retiredSlots = retiredSlots
    self.retired = retired
    self.excludedEntities = excludedEntities
    self.name = name
    self.version = version
    self.entities = entities
    self.document = document
    self.values = values
    self.templates = templates
    self.removed = removed
    self.map = map
    hash = ModelHash.hash(of: document)
    numbers = Dictionary(uniqueKeysWithValues: entities.map { ($0.name, $0.number) })
    entitiesBySlot = Dictionary(
      uniqueKeysWithValues: entities.filter(\.hasDescendants).map { entity in
        let slots = entity.familyPosition.concreteEntities.map {
          (entities[$0 - 1].familyPosition.slot, $0)
        }
        return (entity.number, Dictionary(uniqueKeysWithValues: slots))
      }
    )
  }

  /// The beginning of the hash, for messages.
  package var shortHash: Substring { hash.prefix(12) }

  /// Returns whether a hash from a store identifies this model.
  ///
  /// The hash may have the current form, or the form of an earlier Cordial version.
  package func isIdentified(by hash: String) -> Bool {
    hash == self.hash || ModelHash.earlierHashes(of: document).contains(hash)
  }

  /// Returns the key of an object of an entity or one of its descendants.
  ///
  /// - Parameters:
  ///   - entity: The number of an entity of this model, or of a retired entity.
  ///   - object: The number of an object.
  /// - Returns: The key, with the entity whose range contains the object's number, or with the
  ///   given entity if no range contains it.
  package func key(_ entity: Int, _ object: Int64) -> ObjectKey {
    guard entity > entities.count || entity > 0 && entities[entity - 1].hasDescendants else {
      return ObjectKey(entity: entity, object: object)
    }
    let slot = EntityDescription.slot(of: object)
    // Two families may have used the same slot, so an object in the retired entity's own slot
    // belongs to that entity.
    if isRetired(entity), slot == 0 || self.entity(entity).familyPosition.slot == slot {
      return ObjectKey(entity: entity, object: object)
    }
    let kind = entitiesBySlot[entity]?[slot] ?? retiredEntity(of: slot) ?? entity
    return ObjectKey(entity: kind, object: object)
  }

  /// Returns the key of an object that a table, a reference or a client names.
  ///
  /// Only the log has objects of retired entities. Clients may store or send a number in the range
  /// of a retired entity, but no stored object has such a number.
  ///
  /// - Parameters:
  ///   - entity: The number of an entity of this model.
  ///   - object: The number of an object.
  /// - Returns: The key, as `key(_:_:)` returns it, but never with a retired entity.
  package func storedKey(_ entity: Int, _ object: Int64) -> ObjectKey {
    let key = key(entity, object)
    return hasEntity(key.entity) ? key : ObjectKey(entity: entity, object: object)
  }

  /// Returns the number of the retired entity that had a slot; nil for the slot 0 of each family.
  private func retiredEntity(of slot: Int) -> Int? {
    guard slot > 0 else { return nil }
    return retired.first { $0.description.familyPosition.slot == slot }?.description.number
  }

  /// Returns whether each object of an entity is an object of the other entity: both entities are
  /// the same, or the other entity is an ancestor.
  package func isKind(_ entity: Int, of other: Int) -> Bool {
    entity == other
      || hasEntity(entity) && entities[entity - 1].familyPosition.ancestors.contains(other)
  }

  /// The slots by entity name, for entities in a family and for entities with a slot other than 0.
  ///
  /// Retired slots are listed under `retiredName(_:)`, so that no other entity gets them.
  package var slots: [String: Int] {
    Dictionary(
      uniqueKeysWithValues: entities.filter {
        $0.familyPosition.ancestors.count > 1 || $0.hasDescendants || $0.familyPosition.slot > 0
      }
      .map { ($0.name, $0.familyPosition.slot) } + retiredSlots.map { (Self.retiredName($0), $0) }
    )
  }

  /// Returns the name under which a store keeps the slot of a deleted entity; no entity has this
  /// name.
  package static func retiredName(_ slot: Int) -> String { "#\(slot)" }

  /// Returns the entity with that name, or nil if there is none.
  package func entity(named name: String) -> EntityDescription? {
    numbers[name].map { entities[$0 - 1] }
  }

  /// Returns the attribute at the end of a key path over relationships; nil for another path.
  package func attribute(at path: String, of entity: EntityDescription) -> AttributeDescription? {
    var entity = entity
    var names = path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    while !names.isEmpty {
      // The path of a composite's member has several names.
      let rest = names.joined(separator: ".")
      switch entity.property(named: rest) ?? entity.property(named: names[0]) {
      case .attribute(let attribute): return attribute.name == rest ? attribute : nil
      case .relationship(let relationship):
        entity = self.entity(relationship.destination)
        names.removeFirst()
      default: return nil
      }
    }
    return nil
  }

  /// Returns the entity with that number, which must be an entity of this model or a retired
  /// entity.
  package func entity(_ number: Int) -> EntityDescription {
    guard number < RetiredEntity.numberMin else {
      return retired[number - RetiredEntity.numberMin].description
    }
    return entities[number - 1]
  }

  /// The names of the functions that compute transient attributes.
  package var functions: Set<String> {
    Set(entities.flatMap { $0.computedAttributes.map(\.function) })
  }

  /// Returns whether an entity number from the log identifies an entity of this model.
  package func hasEntity(_ number: Int) -> Bool { number > 0 && number <= entities.count }

  /// Returns whether an entity number from the log identifies a retired entity.
  package func isRetired(_ number: Int) -> Bool {
    // The lower bound is checked first: the subtraction could overflow for the very small number of
    // a damaged log.
    number >= RetiredEntity.numberMin && number - RetiredEntity.numberMin < retired.count
  }
}

/// A named selection of a model: the properties of an entity's objects that a view shows.
package struct ModelValues: Sendable, Equatable {
  package let name: String
  package let entity: String
  /// The selection, in the form of a fetch's `select`.
  package let select: JSONValue
}

/// A named fetch request of a model.
package struct ModelTemplate: Sendable, Equatable {
  package let name: String
  /// The params of a fetch; params that a client sends replace those with the same name.
  package let params: [JSONMember]
}

/// An entity: one kind of object in a model.
package final class EntityDescription: Sendable {
  /// The position of the entity in the model, from 1.
  package let number: Int
  package let name: String
  /// The name of the entity in an earlier version of the model, if it was renamed.
  package let renamedFrom: String?
  /// The attribute that identifies objects on the wire, or nil for the store's own numbers.
  package let identity: AttributeDescription?
  /// The stored attributes, with inherited attributes first.
  package let attributes: [AttributeDescription]
  /// The names of the transient attributes, which the store does not keep: clients keep the values,
  /// or functions compute the values.
  package let transients: [String]
  /// The transient attributes that a function of the program computes, by name.
  private let computed: [String: ComputedAttribute]
  /// The composites, with inherited composites first; their members are among the attributes.
  package let composites: [CompositeDescription]
  /// The relationships, with inherited relationships first.
  package let relationships: [RelationshipDescription]
  /// The sets of properties whose combined values are unique.
  package let unique: [[String]]
  /// The indexed sets of properties, each in the form of an `IndexKey`.
  package let indexes: [[String]]
  /// The names of the attributes whose sort keys the store keeps for `:localized`.
  package let localizedAttributes: [String]
  /// The content of the search index for the entity's objects, or nil if they are not indexed.
  package let spotlight: SpotlightDescription?

  /// The position of the entity in its entity family.
  package let familyPosition: FamilyPosition

  /// The bytes before the object number in a reference to an object: `"Group/p`.
  package let referencePrefix: [UInt8]

  private let properties: [String: PropertyDescription]
  private let compositesByName: [String: CompositeDescription]

  package init(
    number: Int,
    name: String,
    renamedFrom: String?,
    identity: String?,
    attributes: [AttributeDescription],
    composites: [CompositeDescription],
    transients: [String],
    computed: [ComputedAttribute] = [],
    relationships: [RelationshipDescription],
    unique: [[String]],
    indexes: [[String]],
    spotlight: SpotlightDescription?,
    familyPosition: FamilyPosition
  ) {
    self.number = number
    self.transients = transients
    self.computed = Dictionary(computed.map { ($0.attribute.name, $0) }) { first, _ in first }
    self.familyPosition = familyPosition
    hasDescendants = familyPosition.concreteEntities != [number]
    self.name = name
    self.renamedFrom = renamedFrom
    referencePrefix = Array("\"\(name)/p".utf8)
    self.identity = identity.flatMap { name in attributes.first { $0.name == name } }
    self.attributes = attributes
    self.composites = composites
    // The model file may name a composite twice, which its reader reports.
    compositesByName = Dictionary(composites.map { ($0.name, $0) }) { first, _ in first }
    self.relationships = relationships
    self.unique = unique
    self.indexes = indexes
    let localized = Set(indexes.joined().map { IndexKey($0) }.filter(\.isLocalized).map(\.name))
    localizedAttributes =
      attributes.filter { $0.sortsLocalized || localized.contains($0.name) }.map(\.name)
    self.spotlight = spotlight
    var properties: [String: PropertyDescription] = [:]
    for attribute in attributes { properties[attribute.name] = .attribute(attribute) }
    for relationship in relationships {
      properties[relationship.name] = .relationship(relationship)
    }
    self.properties = properties
  }

  /// The position of an entity in its entity family, the entities with the same root ancestor.
  package struct FamilyPosition: Sendable {
    /// The numbers of the ancestors from the root to the parent, then the entity's own number.
    package let ancestors: [Int]
    /// Whether the entity has no objects of its own.
    package let isAbstract: Bool
    /// The numbers of all entities that are not abstract among this entity and its descendants.
    package let concreteEntities: [Int]
    /// The index of the entity's range of object numbers; see `EntityDescription.numbers`.
    package let slot: Int

    package init(ancestors: [Int], isAbstract: Bool, concreteEntities: [Int], slot: Int) {
      self.ancestors = ancestors
      self.isAbstract = isAbstract
      self.concreteEntities = concreteEntities
      self.slot = slot
    }
  }

  package var isAbstract: Bool { familyPosition.isAbstract }
  /// Whether the entity has descendants, so that an object of the entity may belong to a
  /// descendant.
  package let hasDescendants: Bool

  /// The greatest object number, 2^53 - 1, which every client can represent.
  package static let numberMax: Int64 = 9_007_199_254_740_991
  /// The size of a slot: each entity of a family has 2^`slotBits` object numbers.
  private static let slotBits: Int64 = 45
  /// The range of slots in a family.
  package static let slots = 0...Int(numberMax >> slotBits)

  /// The range of the entity's object numbers.
  package var numbers: ClosedRange<Int64> {
    guard familyPosition.ancestors.count > 1 || hasDescendants else { return 1...Self.numberMax }
    let slot = Int64(familyPosition.slot)
    return (slot << Self.slotBits) + 1...min((slot + 1) << Self.slotBits, Self.numberMax)
  }

  /// Returns the slot whose range contains an object number.
  static func slot(of object: Int64) -> Int { Int((object &- 1) >> slotBits) }

  /// Returns the attribute or relationship with that name, or nil if there is none.
  package func property(named name: String) -> PropertyDescription? {
    properties[name]
  }

  /// Returns the transient attribute of that name if a function of the program computes it.
  package func computed(named name: String) -> ComputedAttribute? { computed[name] }

  /// The transient attributes that a function of the program computes, which descendants inherit.
  var computedAttributes: [ComputedAttribute] { Array(computed.values) }

  /// Returns the composite with that path, or nil if there is none.
  package func composite(named name: String) -> CompositeDescription? {
    compositesByName[name]
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
