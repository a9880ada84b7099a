/// One relationship of an entity.
package final class RelationshipDescription: Sendable, Equatable {
  package let name: String
  /// The name of the relationship in an earlier version of the model, if it was renamed.
  package let renamedFrom: String?
  /// The number of the entity that declares the relationship; its descendants inherit it.
  package let owner: Int
  /// The number of the destination entity, whose descendants' objects it may reference too.
  package let destination: Int
  package let toMany: Bool
  /// Whether the referenced objects have an order, which belongs to the referencing object.
  package let ordered: Bool
  /// The name of the inverse relationship of the destination, or nil if there is none.
  package let inverse: String?
  package let deleteRule: DeleteRule
  /// Whether a to-one may be null; unused for a to-many.
  package let optional: Bool
  package let minimumCount: Int
  package let maximumCount: Int?
  /// The storage of the links.
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
  /// Whether the relationship is its own inverse, like friendship: one link row connects its two
  /// objects in both directions.
  package var isSymmetric: Bool {
    if case .linkTable(_, let kept, _) = storage {
      inverse == name && kept == name && destination == owner
    } else {
      false
    }
  }
}

/// The storage of a relationship's links.
package enum RelationshipStorage: Sendable, Equatable {
  /// A to-one: a column of the entity that has it.
  case column
  /// A to-many whose inverse is a to-one: the column of that to-one.
  case inverseColumn
  /// A many-to-many, or a to-many without inverse: link rows in a link table.
  ///
  /// The named entity and relationship are the side that owns the link table. `owns` is true if
  /// this relationship is that side.
  case linkTable(entity: Int, relationship: String, owns: Bool)
}

/// The rule for the objects at the other end of a relationship when an object is deleted.
package enum DeleteRule: String, Sendable, CaseIterable {
  case nullify, cascade, deny, noAction
}
