import CordialValues
import JSON
import ObjectModel

/// Stored values in the form of the protocol, as conflicts report them.
struct StoredWire {
  let layout: SaveLayout
  let stored: any StoredObjects

  /// Returns the stored value of a property in the form of the protocol.
  func json(_ name: String, _ key: ObjectKey) throws -> JSONValue {
    let entity = layout.entity(key)
    if let toMany = entity.relationship(named: name), toMany.isToMany {
      let members = try stored.members(of: toMany, key).map(toMany.target)
      return try json(.members(members.filter { try stored.version(of: $0) != nil }), of: name, key)
    }
    guard let column = entity.columns[name], let value = try stored.value(column, of: key) else {
      return .null
    }
    return try json(.column(column, value), of: name, key)
  }

  func json(
    _ base: ChangedProperty.Base,
    of name: String,
    _ key: ObjectKey
  ) throws -> JSONValue {
    switch base {
    case .unknown: return .null
    case .members(let members):
      return .array(try members.map { .string(try stored.name(of: $0)) })
    case .column(let column, let value):
      guard let toOne = layout.entity(key).toOnes.first(where: { $0.column == column }) else {
        return WireValue.json(value)
      }
      guard case .integer(let number) = value else { return .null }
      return .string(try stored.name(of: toOne.relationship.target(number)))
    }
  }
}
