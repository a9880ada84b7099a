package import CordialValues
import JSON
package import ObjectModel
import PersistentHistory
import StoreLayout

/// The information about a model that the stages of a save need.
///
/// A layout has the columns of each entity, and each relationship with both of its ends. It is
/// created once for a store and has no SQL statements.
package final class SaveLayout {
  /// The model that is laid out.
  package let model: Model
  /// Whether an entity has a composite.
  let hasComposites: Bool
  /// The entities, in the order of the model.
  package private(set) var entities: [EntityLayout] = []
  /// Every relationship once, at the index that equals its number; an inherited relationship
  /// belongs to the entity that declares it.
  package private(set) var relationships: [RelationshipLayout] = []

  /// Creates the layout of a model.
  package init(_ model: Model) {
    self.model = model
    hasComposites = model.entities.contains { !$0.composites.isEmpty }
    var known: [RelationshipName: RelationshipLayout] = [:]
    for entity in model.entities {
      for relationship in entity.relationships {
        let name = RelationshipName(owner: relationship.owner, name: relationship.name)
        guard known[name] == nil else { continue }
        let layout = RelationshipLayout(relationship, number: relationships.count, in: model)
        known[name] = layout
        relationships.append(layout)
      }
    }
    for layout in relationships {
      guard let inverse = layout.description.inverse,
        case .relationship(let description)? = layout.destination.property(named: inverse)
      else { continue }
      layout.inverse = known[RelationshipName(owner: description.owner, name: description.name)]
    }
    let byName = known
    entities = model.entities.map { entity in
      EntityLayout(entity, in: model) { relationship in
        byName[RelationshipName(owner: relationship.owner, name: relationship.name)]
      }
    }
    for layout in relationships { layout.linkNumber = linkNumber(of: layout) }
  }

  private struct RelationshipName: Hashable {
    let owner: Int
    let name: String
  }

  /// Returns the number of the relationship that owns the link rows; -1 if there are none.
  private func linkNumber(of layout: RelationshipLayout) -> Int {
    guard case .linkTable(let owner, let name, _) = layout.description.storage else { return -1 }
    return relationships.first { $0.description.owner == owner && $0.description.name == name }?
      .number ?? -1
  }

  /// Returns the layout of the entity of an object.
  package func entity(_ key: ObjectKey) -> EntityLayout { entities[key.entity - 1] }
}

/// A relationship, with the information for planning its changes.
package final class RelationshipLayout {
  package let description: RelationshipDescription
  /// The relationship's index in `SaveLayout.relationships`.
  package let number: Int
  /// The entity that declares the relationship.
  package let owner: EntityDescription
  /// The entity of the objects at the other end of the relationship.
  package let destination: EntityDescription
  /// The inverse relationship; nil for none.
  package fileprivate(set) weak var inverse: RelationshipLayout?
  /// The number of the relationship that owns the link rows: this relationship or its inverse; -1
  /// without link rows.
  package fileprivate(set) var linkNumber = -1
  /// Whether the relationship's owner is the source of its link rows.
  package let ownsLinks: Bool
  /// Whether the relationship has link rows.
  package let isLinked: Bool
  private let model: Model

  fileprivate init(_ description: RelationshipDescription, number: Int, in model: Model) {
    self.description = description
    self.number = number
    self.model = model
    owner = model.entity(description.owner)
    destination = model.entity(description.destination)
    if case .linkTable(_, _, let owns) = description.storage {
      isLinked = true
      ownsLinks = owns
    } else {
      isLinked = false
      ownsLinks = false
    }
  }

  /// The relationship's name in the model.
  package var name: String { description.name }
  /// Whether the relationship can reference several objects.
  package var isToMany: Bool { description.toMany }

  /// Whether each end of the relationship references at most one object.
  var isOneToOne: Bool { !description.toMany && inverse.map { !$0.isToMany } ?? false }

  /// Whether the model limits the number of members.
  var isCounted: Bool {
    description.toMany && (description.minimumCount > 0 || description.maximumCount != nil)
  }

  /// Returns the key of the object with a number at the other end of the relationship.
  package func target(_ object: Int64) -> ObjectKey { model.storedKey(destination.number, object) }

  /// Returns the key of the object with a number at this end of the relationship.
  package func holder(_ object: Int64) -> ObjectKey { model.storedKey(owner.number, object) }
}

/// An entity, with the information for planning changes of its objects.
package final class EntityLayout {
  /// The entity in the model.
  package let entity: EntityDescription
  /// The names of the entity's columns: attributes, then to-ones.
  let columnNames: [String]
  /// The columns of derived attributes.
  let derived: Set<String>
  /// The index of each property's column in `columnNames`, by the property's name.
  package let columns: [String: Int]
  /// All relationships, including inherited relationships, in the order of the model.
  package let relationships: [RelationshipLayout]
  /// The to-ones, each with the index of its column.
  package let toOnes: [(column: Int, relationship: RelationshipLayout)]
  /// The derived attributes that store a converted form of a string attribute: the derived column,
  /// the form, and the source column.
  let derivedTexts: [(column: Int, form: DerivedExpression.TextForm, source: Int)]
  let hasDerived: Bool
  /// Whether the validator must check an object's own values.
  var isChecked: Bool {
    !checked.isEmpty || !required.isEmpty || uniqueSets.contains(where: \.isOfFamily)
  }
  /// The attributes that have rules or must not be null, with their columns.
  let checked: [(column: Int, attribute: AttributeDescription)]
  /// The to-ones that must have a value, with their columns.
  let required: [(column: Int, name: String)]
  /// The to-manys that must have members in a new object.
  let wanted: [RelationshipLayout]
  /// The column values of a new object for which the client sends no values.
  package let defaults: [AttributeValue]
  /// The columns of attributes that clients write; `isCanonical` is true if the stored form of a
  /// value may differ from the sent form.
  let written: [(column: Int, isCanonical: Bool)]
  /// The sets of properties whose combined values are unique, including the identity.
  package let uniqueSets: [UniqueSet]
  /// The properties that were sent for the last object, in the order in which they were sent.
  ///
  /// The next object usually has the same properties, so that few properties are looked up by name.
  private var shape: [PropertyLayout] = []

  fileprivate init(
    _ entity: EntityDescription,
    in model: Model,
    _ layout: (RelationshipDescription) -> RelationshipLayout?
  ) {
    self.entity = entity
    let names = entity.columns
    columnNames = names
    derived = Set(names.filter { entity.isDerived($0) })
    let columns = Dictionary(uniqueKeysWithValues: names.enumerated().map { ($1, $0) })
    self.columns = columns
    relationships = entity.relationships.compactMap(layout)
    toOnes = relationships.filter { !$0.isToMany }.map { (columns[$0.name] ?? 0, $0) }
    hasDerived = entity.attributes.contains { $0.derived != nil }
    checked = entity.attributes.enumerated().filter { $0.element.isChecked }
      .map { (column: $0.offset, attribute: $0.element) }
    written = entity.attributes.enumerated().compactMap { column, attribute in
      attribute.derived == nil ? (column, attribute.type.codec.isNormalized) : nil
    }
    defaults = entity.attributes.map(\.defaultValue) + toOnes.map { _ in .null }
    required = toOnes.compactMap { column, relationship in
      relationship.description.optional ? nil : (column, relationship.name)
    }
    wanted = relationships.filter { $0.isToMany && $0.description.minimumCount > 0 }
    derivedTexts = entity.attributes.enumerated().compactMap { column, attribute in
      guard case .text(let form, let name)? = attribute.derived, let source = columns[name] else {
        return nil
      }
      return (column, form, source)
    }
    uniqueSets = ((entity.identity.map { [[$0.name]] } ?? []) + entity.unique).map { names in
      UniqueSet(names, of: entity, columns, in: model)
    }
  }

  /// Returns the property that a client named at an index of an object's values; nil for an unknown
  /// name.
  func property(named name: String, at index: Int) -> PropertyLayout? {
    if index < shape.count, JSONBytes.areEqual(shape[index].name, name) { return shape[index] }
    let property: PropertyLayout
    switch entity.property(named: name) {
    case .attribute(let attribute):
      property = PropertyLayout(attribute, column: columns[name] ?? 0)
    case .relationship:
      guard let relationship = relationship(named: name) else { return nil }
      property = PropertyLayout(relationship, column: columns[name] ?? -1)
    case nil: return nil
    }
    if index < shape.count {
      shape[index] = property
    } else if index == shape.count {
      shape.append(property)
    }
    return property
  }

  /// Returns the index of a property's column, which is usually the guessed index; nil for none.
  func column(named name: String, at guess: Int) -> Int? {
    if guess < columnNames.count, JSONBytes.areEqual(columnNames[guess], name) { return guess }
    return columns[name]
  }

  /// Returns the attribute of a column; nil for a to-one.
  func attribute(at column: Int) -> AttributeDescription? {
    column < entity.attributes.count ? entity.attributes[column] : nil
  }

  /// Returns the index of a to-one's column; nil if the entity does not have the to-one.
  func column(of toOne: RelationshipLayout) -> Int? {
    toOnes.first { $0.relationship === toOne }?.column
  }

  func relationship(named name: String) -> RelationshipLayout? {
    relationships.first { $0.name == name }
  }

  /// Adds changes of the derived text columns whose source columns change.
  func addDerivedTexts(to changes: inout [ColumnChange]) {
    for (column, form, source) in derivedTexts {
      if let change = changes.last(where: { $0.column == source }) {
        changes.set(column, to: form.applied(to: change.value))
      }
    }
  }
}

/// A property, with the information for writing it.
final class PropertyLayout {
  let name: String
  /// The index of the property's column; -1 for a to-many.
  let column: Int
  /// The attribute; nil for a relationship.
  let attribute: AttributeDescription?
  let type: AttributeType?
  let isDerived: Bool
  /// The relationship; nil for an attribute.
  let relationship: RelationshipLayout?

  init(_ attribute: AttributeDescription, column: Int) {
    name = attribute.name
    self.column = column
    self.attribute = attribute
    type = attribute.type
    isDerived = attribute.derived != nil
    relationship = nil
  }

  init(_ relationship: RelationshipLayout, column: Int) {
    name = relationship.name
    self.column = column
    attribute = nil
    type = nil
    isDerived = false
    self.relationship = relationship
  }
}

/// Properties whose combined values are unique among the objects of an entity and its descendants.
package struct UniqueSet {
  /// The names of the properties.
  package let names: [String]
  /// The indices of the properties' columns.
  package let columns: [Int]
  /// The entity among whose objects the set is unique: the first ancestor that declares the set.
  package let scope: EntityDescription
  /// Whether the set compares objects of several tables, which no index can do.
  let isOfFamily: Bool
  /// Whether the set is the identity, which never changes.
  let isIdentity: Bool

  fileprivate init(
    _ names: [String],
    of entity: EntityDescription,
    _ columns: [String: Int],
    in model: Model
  ) {
    self.names = names
    self.columns = names.map { columns[$0] ?? 0 }
    let identity = entity.identity.map { [$0.name] }
    isIdentity = names == identity
    scope =
      entity.familyPosition.ancestors.map { model.entity($0) }
      .first { $0.unique.contains(names) || names == $0.identity.map { [$0.name] } } ?? entity
    isOfFamily = scope.hasDescendants
  }
}

/// A column of an object, with its new value.
package struct ColumnChange {
  /// The index of the column.
  package let column: Int
  /// The new value of the column.
  package var value: AttributeValue
}

extension [ColumnChange] {
  /// Sets the value of a column, and replaces an earlier value of the same column.
  mutating func set(_ column: Int, to value: AttributeValue) {
    if let index = firstIndex(where: { $0.column == column }) {
      self[index].value = value
    } else {
      append(ColumnChange(column: column, value: value))
    }
  }

  subscript(column column: Int) -> AttributeValue? {
    first { $0.column == column }?.value
  }
}

extension AttributeDescription {
  /// Whether the attribute has rules or must not be null.
  fileprivate var isChecked: Bool {
    !optional || minimum != nil || maximum != nil || allowed != nil || pattern != nil
      || minimumLength != nil || maximumLength != nil
  }
}
