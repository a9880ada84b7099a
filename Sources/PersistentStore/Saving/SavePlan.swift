package import CordialValues
import ObjectModel
import OrderedCollections

/// Objects, each once, in the order in which they were found.
typealias OrderedKeySet = OrderedSet<ObjectKey>

/// The output of planning, and the only input of `SaveWriter`.
package struct SavePlan {
  /// The objects after the save.
  package var graph: PlannedGraph
  /// The sort positions of members that differ from the positions that triggers assign.
  package var positions: [PositionChange] = []
  /// The objects whose versions increase because of a changed link row or order.
  ///
  /// An object whose columns change too is incremented once.
  package var increments: [ObjectKey] = []
  /// The to-manys whose count of members may now violate the model.
  package var touched: [PlannedList: RelationshipLayout] = [:]
  /// The properties of each object that changed because of values sent for other objects.
  package var followed: [ObjectKey: Set<String>] = [:]
  /// Whether a delete rule leaves a reference to a deleted object.
  package var leavesDangling = false
}

/// A relationship of one object; usually a to-many.
package struct PlannedList: Hashable, Comparable {
  package let owner: ObjectKey
  /// The `number` of the relationship in the layout.
  package let relationship: Int

  init(_ relationship: RelationshipLayout, of owner: ObjectKey) {
    self.owner = owner
    self.relationship = relationship.number
  }

  /// Orders lists by their owners, then by the numbers of their relationships.
  package static func < (first: PlannedList, second: PlannedList) -> Bool {
    (first.owner, first.relationship) < (second.owner, second.relationship)
  }
}

/// The sort position of one member of an ordered to-many.
package struct PositionChange {
  package let relationship: RelationshipLayout
  package let owner: ObjectKey
  package let member: Int64
  package let position: Int64
  /// Whether the member joins the to-many in this save, and so does not move within the order.
  package let joins: Bool
}
