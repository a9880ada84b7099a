import CordialValues
import JSON
import ObjectModel

/// The decoding of names: IDs, properties and the values of attributes.
extension Resolver {
  /// Returns the object that an ID names; nil for an invalid ID, which is reported.
  mutating func target(_ text: String) throws -> Target? {
    if let known = named[text] { return known }
    let found: Target
    do {
      if let stored = try storedTarget(text) {
        // The save may delete an object and insert a new object with the same identity.
        found = try isDeleted(stored) ? insertedTarget(text) ?? stored : stored
      } else if let inserted = try insertedTarget(text) {
        found = inserted
      } else {
        add(SaveProblem(.objectNotFound(text), rule: "exists", id: text))
        found = .failed
        named[text] = found
        return nil
      }
    } catch let error as StoreError {
      let rule = error.code == .unknownEntity ? "entity" : "identifier"
      add(SaveProblem(error, rule: rule, id: text))
      named[text] = .failed
      return nil
    }
    named[text] = found
    return found
  }

  private func isDeleted(_ target: Target) -> Bool {
    if case .object(let key) = target { deletedKeys.contains(key) } else { false }
  }

  /// Returns the stored object that an ID names; nil for an identity that no object has.
  func storedTarget(_ text: String) throws -> Target? {
    guard let id = ObjectID(text, store: stored.identifier) else {
      throw StoreError.invalidIdentifier(text, "it is malformed, or of another store")
    }
    guard let entity = model.entity(named: id.entity) else {
      throw StoreError.unknownEntity(id.entity, in: model)
    }
    switch id.key {
    case .temporary: throw StoreError.invalidIdentifier(text, "no insert of this save has it")
    case .object(let number): return .object(model.storedKey(entity.number, number))
    case .integer, .uuid, .string:
      guard let value = IdentityResolver.value(id, entity) else {
        throw StoreError.invalidIdentifier(text, "\(entity.name) has no identity of that form")
      }
      return try stored.object(of: layout.entities[entity.number - 1], identity: value)
        .map { .object($0) }
    }
  }

  /// Returns the new object that has the identity in an ID; nil if there is none.
  mutating func insertedTarget(_ text: String) throws -> Target? {
    guard let id = ObjectID(text, store: stored.identifier),
      let entity = model.entity(named: id.entity), let value = IdentityResolver.value(id, entity),
      let set = layout.entities[entity.number - 1].uniqueSets.first(where: \.isIdentity)
    else { return nil }
    if insertedIdentities == nil { insertedIdentities = try identities() }
    let name = UniqueValues(set, [value])
    guard let key = insertedIdentities?[name], model.isKind(key.entity, of: entity.number) else {
      return nil
    }
    return .object(key)
  }

  func identities() throws -> [UniqueValues: ObjectKey] {
    var identities: [UniqueValues: ObjectKey] = [:]
    for object in newObjects where !object.isAdopted {
      let entity = layout.entity(object.key)
      guard let set = entity.uniqueSets.first(where: \.isIdentity),
        let values = try values(of: set, request.inserts[object.index], object.id, entity)
      else { continue }
      // If several inserts have one identity, the identity names the first insert.
      let name = UniqueValues(set, values)
      if identities[name] == nil { identities[name] = object.key }
    }
    return identities
  }

  /// Reports a value for a composite that is neither an object nor null.
  ///
  /// - Returns: The columns of the composite's members; nil if the value is not for a composite.
  mutating func refusedColumns(
    of member: JSONMember,
    _ entity: EntityLayout,
    _ label: String
  ) -> [Int]? {
    guard let composite = entity.entity.composite(named: member.name) else { return nil }
    add(.invalid(label, member.name, "type", "\(member.name) must be \(composite.expectation)"))
    return entity.entity.attributes(of: composite).compactMap { entity.columns[$0.name] }
  }

  /// Returns the property of a sent member; nil for an unknown property, which is reported.
  mutating func property(
    _ member: JSONMember,
    at index: Int,
    _ entity: EntityLayout,
    _ label: String
  ) -> PropertyLayout? {
    if let property = entity.property(named: member.name, at: index) { return property }
    let error = StoreError.unknownProperty(member.name, of: entity.entity)
    add(SaveProblem(error, rule: "property", id: label, property: StoreError.short(member.name)))
    return nil
  }

  /// Returns the value of a sent attribute; nil for an invalid value, which is reported.
  mutating func value(
    _ member: JSONMember,
    _ property: PropertyLayout,
    _ label: String
  ) -> AttributeValue? {
    switch property.type?.decode(member.value) {
    case .value(let value)?:
      guard !property.isDerived else {
        add(.invalid(label, member.name, "derived", "The store computes \(member.name)"))
        return nil
      }
      return value
    case .expected(let what)?:
      add(.invalid(label, member.name, "type", "\(member.name) must be \(what)"))
      return nil
    case nil: return nil
    }
  }
}
