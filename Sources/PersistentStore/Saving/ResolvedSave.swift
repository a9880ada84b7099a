package import CordialValues
import JSON
import ObjectModel
import PersistentHistory

/// A value that a client sent for a relationship, read.
package enum SentLink {
  case toOne(ObjectKey?)
  case members([ObjectKey])
  /// Members that are added and removed; the added ones go to a position of the order, or to its
  /// end.
  case edit(add: [ObjectKey], remove: [ObjectKey], at: Int?)
}

/// A relationship that a change sets.
package struct RelationshipChange {
  /// The relationship that is set.
  package let relationship: RelationshipLayout
  /// The value that was sent for it.
  package var link: SentLink
}

/// A new object, read.
package struct ResolvedInsert {
  /// Its index in the request.
  package let index: Int
  /// The object that the insert names.
  package let key: ObjectKey
  /// What a problem calls it: the ID that the client sent.
  package let label: String
  /// A value for each column; to-ones are null here and set by `links`.
  package var row: [AttributeValue]
  /// Whether a value was sent for each of those.
  package var given: [Bool]
  /// In the order in which they were sent.
  package var links: [RelationshipChange]
}

/// A changed object, read.
package struct ResolvedUpdate {
  /// Which change of the request it is.
  package enum Origin {
    case update(Int)
    /// An insert that an existing object answers for.
    case insert(Int)
    /// An object that an update by predicate matched.
    case match
  }

  /// The change of the request.
  package let origin: Origin
  /// The changed object.
  package let key: ObjectKey
  /// What a problem calls it: the ID that the client sent.
  package let label: String
  /// The version that the client knew; nil checks nothing.
  package let known: Int64?
  /// The position at which the client read to-manys; nil where it named none.
  package let asOf: String?
  /// The stored version.
  package let version: Int64
  /// Each column once, with its last value.
  package var columns: [ColumnChange]
  package var links: [RelationshipChange]
}

/// A deleted object, read.
package struct ResolvedDelete {
  /// The deleted object.
  package let key: ObjectKey
  /// What a problem calls it: the ID that the client sent.
  package let label: String
  /// The version that the client knew; nil checks nothing.
  package let known: Int64?
  /// The stored version.
  package let version: Int64
}

/// An insert that an existing object, or an earlier insert, answers for.
package struct Adoption {
  /// The insert's index in the request.
  package let index: Int
  /// The object that the insert names.
  package let key: ObjectKey
  package let label: String
  /// The names of the values that were sent.
  package let names: [String]
  /// The name of the identity, where the insert has another value of it than the object; nil else.
  let otherIdentity: String?
}

/// What of a request takes no part in the save because it is a problem.
///
/// What the end state then misses may be its: that is no problem of its own.
package struct LeftOut {
  /// Whether a whole change is left out.
  var isWholeChange = false
  /// The numbers of the relationships whose values are left out, and of their inverses.
  var relationships: Set<Int> = []

  package init() {}

  /// Whether nothing is left out.
  package var isEmpty: Bool { !isWholeChange && relationships.isEmpty }

  mutating func add(_ relationship: RelationshipLayout) {
    relationships.insert(relationship.number)
    if let inverse = relationship.inverse { relationships.insert(inverse.number) }
  }

  func adding(_ other: LeftOut) -> LeftOut {
    var sum = self
    sum.isWholeChange = isWholeChange || other.isWholeChange
    sum.relationships.formUnion(other.relationships)
    return sum
  }

  /// Whether what is left out may have set a relationship.
  func concerns(_ relationship: RelationshipLayout) -> Bool {
    isWholeChange || relationships.contains(relationship.number)
  }
}

/// A request whose names are keys and whose values are typed.
package struct ResolvedSave {
  /// The object of each insert of the request, adopted ones included; nil for one that is a
  /// problem.
  package var keys: [ObjectKey?] = []
  package var inserts: [ResolvedInsert] = []
  package var adoptions: [Adoption] = []
  /// Adopted inserts first, then the updates, each in the order of the request.
  package var updates: [ResolvedUpdate] = []
  package var deletes: [ResolvedDelete] = []
}
