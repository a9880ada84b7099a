package import CordialValues
package import JSON
package import ObjectModel
package import PersistentHistory
import SQLite
import StoreLayout

/// The identities of objects.
extension StoreSnapshot {
  /// Returns the object that a wrapped ID names, whether or not it exists.
  ///
  /// - Parameter text: The wrapped ID.
  /// - Returns: The object's key; nil for an identity value that no object has.
  /// - Throws: `invalidIdentifier` or `unknownEntity`.
  package func resolve(_ text: String) throws -> ObjectKey? {
    try IdentityResolver.resolve(text, facts: reader.facts, statement: statement)
  }

  /// Returns the entity of a wrapped ID.
  ///
  /// - Parameter text: The wrapped ID.
  /// - Returns: The entity.
  /// - Throws: `invalidIdentifier` or `unknownEntity`.
  package func entity(of text: String) throws -> EntityDescription {
    guard let id = ObjectID(text, store: reader.facts.identifier) else {
      throw StoreError.invalidIdentifier(text, "it is malformed, or of another store")
    }
    guard let entity = model.entity(named: id.entity) else {
      throw StoreError.unknownEntity(id.entity, in: model)
    }
    return entity
  }

  /// Returns the wrapped ID of an object, whether or not the object still exists.
  ///
  /// - Parameter key: The object.
  /// - Returns: The ID.
  /// - Throws: `SQLiteError`.
  package func wrappedID(_ key: ObjectKey) throws -> ObjectID {
    let entity = model.entity(key.entity)
    guard let identity = entity.identity else {
      return ObjectID(entity: entity.name, key: .object(key.object))
    }
    guard !model.isRetired(key.entity) else { return try deletedID(key, entity, identity) }
    let row = try statement(
      "SELECT \(SQLNames.quoted(identity.name)) FROM \(model.source(entity, subentities: false)) "
        + "WHERE \"_id\" = ?"
    )
    defer { row.reset() }
    row.bind(key.object, at: 1)
    guard try row.step() else { return try deletedID(key, entity, identity) }
    return ObjectID(entity: entity.name, key: ColumnForm.identityKey(of: entity, row, 0))
  }

  /// Returns the wrapped ID of an object that no longer exists, from its tombstone.
  private func deletedID(
    _ key: ObjectKey,
    _ entity: EntityDescription,
    _ identity: AttributeDescription
  ) throws -> ObjectID {
    let last = try log.tombstone(of: key)?.first { $0.property == identity.name }?.value
    return ObjectID(
      entity: entity.name,
      key: last.flatMap { identity.type.codec.identityForm?.key($0) } ?? .object(key.object)
    )
  }

  /// Returns a logged value in the form of the protocol.
  ///
  /// - Parameters:
  ///   - logged: The value and its property.
  ///   - entity: The entity that has the property.
  /// - Returns: The value; null for a property that the model no longer has.
  /// - Throws: `SQLiteError`.
  package func json(_ logged: LoggedValue, of entity: EntityDescription) throws -> JSONValue {
    try WireValue.json(logged, of: entity) { relationship, object in
      try wrappedID(model.key(relationship.destination, object)).description
    }
  }

  /// Returns whether the store had allocated an object's number at this position.
  ///
  /// - Parameter key: The object.
  /// - Returns: Whether the number was allocated.
  /// - Throws: `SQLiteError`.
  package func wasAllocated(_ key: ObjectKey) throws -> Bool {
    let sequence = try statement("SELECT seq FROM sqlite_sequence WHERE name = ?")
    defer { sequence.reset() }
    sequence.bind(model.entity(key.entity).name, at: 1)
    guard try sequence.step(), key.object <= sequence.integer(0),
      model.entity(key.entity).numbers.contains(key.object)
    else { return false }
    // The sequence belongs to the newest commit, which may be later than this position.
    return try log.tombstone(of: key) != nil || !isInsertedLater(key)
  }

  /// Returns whether the first change of an object after this position is an insert.
  private func isInsertedLater(_ key: ObjectKey) throws -> Bool {
    let change = try statement(
      """
      SELECT kind FROM main.cordial_change
      WHERE number > ? AND entity = ? AND object = ? AND kind IN (0, 1, 2)
      ORDER BY number LIMIT 1
      """
    )
    defer { change.reset() }
    change.bind(head.lastChange, at: 1)
    change.bind(Int64(key.entity), at: 2)
    change.bind(key.object, at: 3)
    return try change.step() && change.integer(0) == ChangeKind.insert.rawValue
  }

  /// Returns whether an object exists.
  ///
  /// - Parameter key: The object.
  /// - Returns: Whether it exists.
  /// - Throws: `SQLiteError`.
  package func exists(_ key: ObjectKey) throws -> Bool {
    // A retired entity has no table.
    guard model.hasEntity(key.entity) else { return false }
    let table = model.source(model.entity(key.entity), subentities: false)
    let row = try statement("SELECT 1 FROM \(table) WHERE \"_id\" = ?")
    defer { row.reset() }
    row.bind(key.object, at: 1)
    return try row.step()
  }
}
