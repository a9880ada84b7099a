package import CordialValues
import ObjectModel
import PersistentHistory

/// What the stages before writing ask about stored objects.
///
/// Tests answer with values.
/// Everything is as it is stored before the save; `PlannedGraph` adds what the save changes.
package protocol StoredObjects: AnyObject {
  /// The store's identifier, which its URIs begin with.
  var identifier: String { get }

  /// The version of an object; nil where it does not exist.
  func version(of key: ObjectKey) throws -> Int64?

  /// The value in a column of an object; nil where the object does not exist.
  func value(_ column: Int, of key: ObjectKey) throws -> AttributeValue?

  /// The values of all columns of an object; nil where it does not exist.
  func row(of key: ObjectKey) throws -> [AttributeValue]?

  /// The object of an entity or its descendants that has an identity value; nil for none.
  func object(of entity: EntityLayout, identity: AttributeValue) throws -> ObjectKey?

  /// The objects that have these values in a set that no two objects have in common.
  func holders(of set: UniqueSet, _ values: [AttributeValue]) throws -> [ObjectKey]

  /// The objects whose to-one references an object.
  func holders(of toOne: RelationshipLayout, to object: Int64) throws -> [ObjectKey]

  /// The numbers of the members of a to-many, in its order where it has one.
  func members(of toMany: RelationshipLayout, _ owner: ObjectKey) throws -> [Int64]

  /// How many members a to-many has, without loading them; a greater number than the limit may be
  /// returned as the limit.
  func memberCount(
    of toMany: RelationshipLayout,
    _ owner: ObjectKey,
    upTo limit: Int
  ) throws
    -> Int

  /// Whether there is a link row between two objects.
  func isLinked(
    _ relationship: RelationshipLayout,
    _ owner: ObjectKey,
    _ member: Int64
  ) throws
    -> Bool

  /// The numbers of the objects whose link rows of this relationship reference an object.
  func linkSources(of relationship: RelationshipLayout, to object: Int64) throws -> [Int64]

  /// The sort positions of the members of an ordered to-many; nil for a member without one.
  func positions(of toMany: RelationshipLayout, _ owner: ObjectKey) throws -> [Int64: Int64?]

  /// The greatest sort position among the members of an ordered to-many; 0 for none.
  func lastPosition(of toMany: RelationshipLayout, _ owner: ObjectKey) throws -> Int64

  /// A number that no object of an entity ever had.
  func nextNumber(of entity: EntityLayout) throws -> Int64

  /// The wrapped ID of an object: its identity where its entity has one.
  func name(of key: ObjectKey) throws -> String
}
