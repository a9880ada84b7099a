import CordialValues
import JSON
import ObjectModel
import PersistentHistory

/// The values of a unique set, as a dictionary key that all entities of the family share.
struct UniqueValues: Hashable {
  let scope: Int
  let names: [String]
  let values: [AttributeValue]

  init(_ set: UniqueSet, _ values: [AttributeValue]) {
    scope = set.scope.number
    names = set.names
    self.values = values
  }
}

/// The matching of inserts with existing objects and with earlier inserts.
extension Resolver {
  /// The result of comparing an insert's unique values with existing objects.
  enum InsertMatch {
    case noObject
    case object(ObjectKey)
    /// The objects with the insert's unique values: several objects, or an object of another
    /// identity.
    case uniqueConflicts([(set: UniqueSet, key: ObjectKey)])
  }

  /// Returns the object that an insert matches, for merge policies that can adopt inserts.
  mutating func match(
    _ insert: SaveRequest.Insert,
    _ id: ObjectID?,
    _ entity: EntityLayout
  ) throws -> InsertMatch {
    var found: [(set: UniqueSet, key: ObjectKey)] = []
    for set in entity.uniqueSets {
      guard let values = try values(of: set, insert, id, entity),
        let holder = try holder(of: set, values)
      else { continue }
      found.append((set, holder))
    }
    guard let first = found.first?.key else { return .noObject }
    guard found.allSatisfy({ $0.key == first }) else { return .uniqueConflicts(found) }
    // The merge policy would store the insert's values in the object, but a save must not change an
    // identity.
    guard try !storesInserts || hasIdentity(of: first, insert, id) else {
      return .uniqueConflicts(found)
    }
    return .object(first)
  }

  /// Returns whether an insert has the same identity as an object.
  ///
  /// The result is also true if the insert has no identity.
  func hasIdentity(
    of key: ObjectKey,
    _ insert: SaveRequest.Insert,
    _ id: ObjectID?
  ) throws -> Bool {
    let entity = layout.entity(key)
    guard let identity = entity.entity.identity,
      id.map({ IdentityResolver.value($0, entity.entity) != nil }) ?? false
        || insert.values.contains(where: { $0.name == identity.name }),
      let own = try value(of: identity.name, insert, id, entity), own != .null
    else { return true }
    return try currentValue(of: identity.name, key) == own
  }

  /// Whether the policy stores the values of an insert that matches an object.
  var storesInserts: Bool {
    [.objectTrump, .overwrite].contains(request.mergePolicy)
  }

  /// Returns the object that has the values of a unique set after the inserts so far.
  private func holder(of set: UniqueSet, _ values: [AttributeValue]) throws -> ObjectKey? {
    if let known = insertedValues[UniqueValues(set, values)] { return known }
    return try stored.holders(of: set, values).first { !deletedKeys.contains($0) }
  }

  /// Records the unique values of a new object for later inserts.
  mutating func noteValues(
    _ insert: SaveRequest.Insert,
    _ id: ObjectID?,
    _ entity: EntityLayout,
    of key: ObjectKey
  ) throws {
    for set in entity.uniqueSets {
      guard let values = try values(of: set, insert, id, entity),
        try holder(of: set, values) == nil
      else { continue }
      insertedValues[UniqueValues(set, values)] = .some(key)
    }
  }

  /// Records the unique values that an insert gives to the object that it matches.
  mutating func noteValues(
    _ insert: SaveRequest.Insert,
    _ id: ObjectID?,
    ofExisting key: ObjectKey
  ) throws {
    guard storesInserts else { return }
    let entity = layout.entity(key)
    var adopted: [String: AttributeValue] = [:]
    for set in entity.uniqueSets where !set.isIdentity {
      let former = try set.names.map { try currentValue(of: $0, key) ?? .null }
      var values: [AttributeValue] = []
      for (name, old) in zip(set.names, former) {
        let isSent = insert.values.contains { $0.name == name }
        let isKept = !isSent && request.mergePolicy == .objectTrump
        values.append(isKept ? old : try value(of: name, insert, id, entity) ?? .null)
      }
      guard values != former else { continue }
      for (name, value) in zip(set.names, values) { adopted[name] = value }
      if !former.contains(.null) {
        // Another insert may already have recorded the former values for its own object.
        let name = UniqueValues(set, former)
        if insertedValues[name] == nil || insertedValues[name] == .some(key) {
          insertedValues[name] = .some(nil)
        }
      }
      if !values.contains(.null) { insertedValues[UniqueValues(set, values)] = .some(key) }
    }
    // Unique sets may share properties, so the values are recorded after all sets are compared.
    if !adopted.isEmpty { adoptedValues[key, default: [:]].merge(adopted) { _, new in new } }
  }

  /// Returns a value of an object after the inserts so far.
  private func currentValue(of name: String, _ key: ObjectKey) throws -> AttributeValue? {
    if let adopted = adoptedValues[key]?[name] { return adopted }
    let entity = layout.entity(key)
    guard let index = index(ofProvisional: key) else {
      return try entity.columns[name].flatMap { try stored.value($0, of: key) }
    }
    let insert = request.inserts[index]
    return try value(of: name, insert, insert.id.flatMap { ObjectID($0) }, entity)
  }

  /// Returns the values that an insert gives to a unique set; nil if a value is null or unknown.
  func values(
    of set: UniqueSet,
    _ insert: SaveRequest.Insert,
    _ id: ObjectID?,
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
    _ id: ObjectID?,
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
          // The resolver reports the invalid ID later, when it reads the insert's values.
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
