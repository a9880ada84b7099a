import CordialValues
import ObjectModel
import PersistentHistory
import SQLite
import StoreLayout

/// The resolution of wrapped IDs in a store.
enum IdentityResolver {
  /// Returns the object that a wrapped ID names; nil for an identity value that no object has.
  static func resolve(
    _ text: String,
    facts: StoreFile.Facts,
    statement: (String) throws -> PreparedStatement
  ) throws -> ObjectKey? {
    guard let id = ObjectID(text, store: facts.identifier) else {
      throw StoreError.invalidIdentifier(text, "it is malformed, or of another store")
    }
    return try resolve(id, model: facts.model, statement: statement)
  }

  static func resolve(
    _ id: ObjectID,
    model: Model,
    statement: (String) throws -> PreparedStatement
  ) throws -> ObjectKey? {
    guard let entity = model.entity(named: id.entity) else {
      throw StoreError.unknownEntity(id.entity, in: model)
    }
    switch id.key {
    case .object(let number): return model.storedKey(entity.number, number)
    case .temporary:
      throw StoreError.invalidIdentifier("\(id)", "temporary IDs are valid inside one save only")
    case .integer(let number): return try look(.integer(number), id, entity, model, statement)
    case .uuid(let uuid): return try look(.uuid(uuid), id, entity, model, statement)
    case .string(let text): return try look(.string(text), id, entity, model, statement)
    }
  }

  /// Returns the value of the identity attribute for an ID.
  static func identityValue(_ id: ObjectID, _ entity: EntityDescription) throws -> AttributeValue {
    guard let value = value(id, entity) else {
      throw StoreError.invalidIdentifier("\(id)", "\(entity.name) has no identity of that form")
    }
    return value
  }

  /// Returns the value of the identity attribute for an ID; nil if the entity's identities have a
  /// different form.
  static func value(_ id: ObjectID, _ entity: EntityDescription) -> AttributeValue? {
    entity.identity?.type.codec.identityForm?.value(id.key)
  }

  private static func look(
    _ value: AttributeValue,
    _ id: ObjectID,
    _ entity: EntityDescription,
    _ model: Model,
    _ statement: (String) throws -> PreparedStatement
  ) throws -> ObjectKey? {
    let value = try identityValue(id, entity)
    let column = SQLNames.quoted(entity.identity?.name ?? "")
    let row = try statement(
      "SELECT \"_id\" FROM \(model.source(entity)) WHERE \(column) = ?"
    )
    defer { row.reset() }
    row.bind(value, at: 1)
    guard try row.step() else { return nil }
    return model.storedKey(entity.number, row.integer(0))
  }
}
