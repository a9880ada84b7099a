package import CordialValues
import ObjectModel
import PersistentHistory

/// The access to stored objects for the stages before writing.
///
/// Tests implement this protocol with values. All results are stored values before the save;
/// `PlannedGraph` adds the save's changes.
package protocol StoredObjects: AnyObject {
  /// The store's identifier, with which its URIs begin.
  var identifier: String { get }

  /// Returns the version of an object; nil if the object does not exist.
  func version(of key: ObjectKey) throws -> Int64?

  /// Returns the value in a column of an object; nil if the object does not exist.
  func value(_ column: Int, of key: ObjectKey) throws -> AttributeValue?

  /// Returns the values of all columns of an object; nil if the object does not exist.
  func row(of key: ObjectKey) throws -> [AttributeValue]?

  /// Returns the object of an entity or its descendants that has an identity value; nil for none.
  func object(of entity: EntityLayout, identity: AttributeValue) throws -> ObjectKey?

  /// Returns the objects that have these values in a unique set.
  func holders(of set: UniqueSet, _ values: [AttributeValue]) throws -> [ObjectKey]

  /// Returns the objects whose to-one references an object.
  func holders(of toOne: RelationshipLayout, to object: Int64) throws -> [ObjectKey]

  /// Returns the numbers of the members of a to-many, in order if the to-many is ordered.
  func members(of toMany: RelationshipLayout, _ owner: ObjectKey) throws -> [Int64]

  /// Returns the number of members of a to-many without loading them; the count may stop at the
  /// limit.
  func memberCount(
    of toMany: RelationshipLayout,
    _ owner: ObjectKey,
    upTo limit: Int
  ) throws
    -> Int

  /// Returns whether there is a link row between two objects.
  func isLinked(
    _ relationship: RelationshipLayout,
    _ owner: ObjectKey,
    _ member: Int64
  ) throws
    -> Bool

  /// Returns the numbers of the objects whose link rows of this relationship reference an object.
  func linkSources(of relationship: RelationshipLayout, to object: Int64) throws -> [Int64]

  /// Returns the sort positions of the members of an ordered to-many; nil for a missing position.
  func positions(of toMany: RelationshipLayout, _ owner: ObjectKey) throws -> [Int64: Int64?]

  /// Returns the greatest sort position among the members of an ordered to-many; 0 for none.
  func lastPosition(of toMany: RelationshipLayout, _ owner: ObjectKey) throws -> Int64

  /// Returns a number that no object of an entity ever had.
  func nextNumber(of entity: EntityLayout) throws -> Int64

  /// Returns the wrapped ID of an object: its identity if its entity has one.
  func name(of key: ObjectKey) throws -> String
}
