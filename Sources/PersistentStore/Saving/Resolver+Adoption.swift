import CordialValues
import JSON
import ObjectModel
import PersistentHistory

/// The values of a unique set.
struct UniqueValues: Hashable {
  let scope: Int
  let names: [String]
  let values: [AttributeValue]
}

/// Inserts that meet an existing object, or one another.
extension Resolver {
  /// The object that answers for an insert, where the merge policy decides about it; nil for none.
  mutating func existing(
    _ insert: SaveRequest.Insert,
    _ id: WrappedID?,
    _ entity: EntityLayout
  ) throws -> ObjectKey? {
    var found: ObjectKey?
    for set in entity.uniqueSets {
      guard let values = try values(of: set, insert, id, entity) else { continue }
      let name = UniqueValues(scope: set.scope.number, names: set.names, values: values)
      let holder =
        try insertedValues[name]
        ?? stored.holders(of: set, values).first { !doomed.contains($0) }
      guard let holder else { continue }
      // An insert that meets two objects violates one of the sets whatever is done.
      if let found, found != holder { return nil }
      found = holder
    }
    return found
  }

  /// Notes the unique values of a new object for the inserts after it.
  mutating func noteValues(
    _ insert: SaveRequest.Insert,
    _ id: WrappedID?,
    _ entity: EntityLayout,
    _ key: ObjectKey
  ) throws {
    for set in entity.uniqueSets {
      guard let values = try values(of: set, insert, id, entity) else { continue }
      insertedValues[
        UniqueValues(scope: set.scope.number, names: set.names, values: values)
      ] = key
    }
  }

  /// The values that an insert gives a unique set; nil where one is null or not known yet.
  func values(
    of set: UniqueSet,
    _ insert: SaveRequest.Insert,
    _ id: WrappedID?,
    _ entity: EntityLayout
  ) throws -> [AttributeValue]? {
    var values: [AttributeValue] = []
    for name in set.names {
      guard let value = try value(of: name, insert, id, entity), value != .null else { return nil }
      values.append(value)
    }
    return values
  }

  private func value(
    of name: String,
    _ insert: SaveRequest.Insert,
    _ id: WrappedID?,
    _ entity: EntityLayout
  ) throws -> AttributeValue? {
    if let id, name == entity.entity.identity?.name,
      let value = IdentityResolver.value(id, entity.entity)
    {
      return value
    }
    let sent = insert.values.last { $0.name == name }?.value
    switch entity.entity.property(named: name) {
    case .attribute(let attribute):
      guard let sent else { return attribute.defaultValue }
      if case .value(let value) = attribute.decode(sent) { return value }
      return nil
    case .relationship(let relationship):
      guard let text = sent?.string else { return nil }
      var target = named[text]
      if target == nil {
        do {
          target = try storedTarget(text)
        } catch is StoreError {
          // The insert's values are read later, which reports the ID.
          return nil
        }
      }
      guard case .object(let key)? = target,
        model.isKind(key.entity, of: relationship.destination)
      else { return nil }
      return .integer(key.object)
    case nil: return nil
    }
  }
}
