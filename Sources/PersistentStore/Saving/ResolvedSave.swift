import CordialValues
import JSON
import ObjectModel
import PersistentHistory

/// A value that a client sent for a relationship, read.
enum SentLink {
  case toOne(ObjectKey?)
  case members([ObjectKey])
  /// Members that are added and removed; the added ones go to a position of the order, or to its
  /// end.
  case edit(add: [ObjectKey], remove: [ObjectKey], at: Int?)
}

/// A relationship that a change sets.
struct RelationshipChange {
  let relationship: RelationshipLayout
  var link: SentLink
}

/// A new object, read.
struct ResolvedInsert {
  /// Its index in the request.
  let index: Int
  let key: ObjectKey
  /// What a problem calls it: the ID that the client sent.
  let label: String
  /// A value for each column; to-ones are null here and set by `links`.
  var row: [AttributeValue]
  /// Whether a value was sent for each of those.
  var given: [Bool]
  /// In the order in which they were sent.
  var links: [RelationshipChange]
}

/// A changed object, read.
struct ResolvedUpdate {
  /// Which change of the request it is.
  enum Origin {
    case update(Int)
    /// An insert that an existing object answers for.
    case insert(Int)
    /// An object that an update by predicate matched.
    case match
  }

  let origin: Origin
  let key: ObjectKey
  let label: String
  /// The version that the client knew; nil checks nothing.
  let known: Int64?
  /// The position at which the client read to-manys; nil where it named none.
  let asOf: String?
  /// The stored version.
  let version: Int64
  var columns: [ColumnChange]
  var links: [RelationshipChange]
}

/// A deleted object, read.
struct ResolvedDelete {
  let key: ObjectKey
  let label: String
  let known: Int64?
  let version: Int64
}

/// An insert that an existing object, or an earlier insert, answers for.
struct Adoption {
  /// The insert's index in the request.
  let index: Int
  let key: ObjectKey
  let label: String
  /// The names of the values that were sent.
  let names: [String]
}

/// A request whose names are keys and whose values are typed.
struct ResolvedSave {
  /// The object of each insert of the request, adopted ones included; nil for one that is a
  /// problem.
  var keys: [ObjectKey?] = []
  var inserts: [ResolvedInsert] = []
  var adoptions: [Adoption] = []
  /// Adopted inserts first, then the updates, each in the order of the request.
  var updates: [ResolvedUpdate] = []
  var deletes: [ResolvedDelete] = []
}
