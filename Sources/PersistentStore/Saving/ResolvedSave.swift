package import CordialValues
package import JSON
import ObjectModel
import PersistentHistory

/// The decoded value that a client sent for a relationship.
package enum SentLink {
  case toOne(ObjectKey?)
  case members([ObjectKey])
  /// Members to add and to remove; added members are inserted at an index of the list, or at its
  /// end.
  case edit(add: [ObjectKey], remove: [ObjectKey], at: Int?)
}

/// A relationship that a change sets.
package struct RelationshipChange {
  /// The relationship that is set.
  package let relationship: RelationshipLayout
  /// The value that was sent for the relationship.
  package var link: SentLink
}

/// A decoded insert.
package struct ResolvedInsert {
  /// The insert's index in the request.
  package let index: Int
  /// The key of the new object.
  package let key: ObjectKey
  /// The insert's name in problems: the ID that the client sent.
  package let label: String
  /// A value for each column; to-ones are null here, because `links` sets them.
  package var row: [AttributeValue]
  /// For each column, whether the client sent a value.
  package var given: [Bool]
  /// The changed relationships, in the order in which they were sent.
  package var links: [RelationshipChange]
  /// The values in the form that the client sent; members of composites are named by their paths.
  package var sent: [JSONMember] = []
}

/// A decoded update.
package struct ResolvedUpdate {
  /// The change of the request from which the update comes.
  package enum Origin {
    case update(Int)
    /// An adopted insert, by its index in the request.
    case insert(Int)
    /// An object that an update by predicate matched.
    case match
  }

  /// The change of the request from which the update comes.
  package let origin: Origin
  /// The changed object.
  package let key: ObjectKey
  /// The object's name in problems: the ID that the client sent.
  package let label: String
  /// The version that the client sent; nil for no check.
  package let known: Int64?
  /// The token of the commit at which the client read to-manys; nil if the client sent none.
  package let asOf: String?
  /// The stored version.
  package let version: Int64
  /// The changed columns, each once with its last value.
  package var columns: [ColumnChange]
  package var links: [RelationshipChange]
  /// The values in the form that the client sent; members of composites are named by their paths.
  package var sent: [JSONMember] = []
}

/// A decoded delete.
package struct ResolvedDelete {
  /// The deleted object.
  package let key: ObjectKey
  /// The object's name in problems: the ID that the client sent.
  package let label: String
  /// The version that the client sent; nil for no check.
  package let known: Int64?
  /// The stored version.
  package let version: Int64
}

/// An adopted insert, which becomes an update of the object that it matches.
///
/// An insert matches a stored object, or the object of an earlier insert, that has the same
/// identity or unique values.
package struct Adoption {
  /// The insert's index in the request.
  package let index: Int
  /// The object that the insert matches.
  package let key: ObjectKey
  package let label: String
  /// The names of the values that were sent.
  package let names: [String]
  /// The name of the identity attribute if the insert and the object differ in it; otherwise nil.
  let otherIdentity: String?
}

/// The parts of a request that the save skips because they have problems.
///
/// The state after the save may lack the values of these parts. Validation does not report such a
/// gap as a further problem.
package struct SkippedParts {
  /// Whether the save skips a whole change.
  var isWholeChange = false
  /// The numbers of the relationships with skipped values, and of their inverse relationships.
  var relationships: Set<Int> = []

  package init() {}

  /// Whether the save skips no part.
  package var isEmpty: Bool { !isWholeChange && relationships.isEmpty }

  mutating func add(_ relationship: RelationshipLayout) {
    relationships.insert(relationship.number)
    if let inverse = relationship.inverse { relationships.insert(inverse.number) }
  }

  func adding(_ other: SkippedParts) -> SkippedParts {
    var sum = self
    sum.isWholeChange = isWholeChange || other.isWholeChange
    sum.relationships.formUnion(other.relationships)
    return sum
  }

  /// Returns whether a skipped part may have set a relationship.
  func mayHaveSet(_ relationship: RelationshipLayout) -> Bool {
    isWholeChange || relationships.contains(relationship.number)
  }
}

/// A request whose names are resolved to keys, with typed values.
package struct ResolvedSave {
  /// The object of each insert of the request, including adopted inserts; nil for an insert with a
  /// problem.
  package var keys: [ObjectKey?] = []
  package var inserts: [ResolvedInsert] = []
  package var adoptions: [Adoption] = []
  /// The adopted inserts, then the updates, each in the order of the request.
  package var updates: [ResolvedUpdate] = []
  package var deletes: [ResolvedDelete] = []
}

extension AttributeValue {
  /// The placeholder for a value that the save could not read or compute.
  ///
  /// The save reports a problem for the value and fails, so that the placeholder is never written.
  /// Validation checks no rule for the placeholder.
  package static let refused = AttributeValue.json("\u{0}")
}
