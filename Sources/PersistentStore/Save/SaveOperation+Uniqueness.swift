import CordialValues
import JSON
import ObjectModel
import PersistentHistory

/// What no two objects may have in common, and what becomes of an insert that has it.
extension SaveOperation {
  /// The object that an insert is about to repeat, where the merge policy says what becomes of it;
  /// nil where there is none, or where it is an error.
  func existing(
    _ insert: SaveRequest.Insert,
    _ id: WrappedID?,
    _ entity: EntityDescription
  ) throws -> ObjectKey? {
    switch request.mergePolicy {
    case .error, .named: return nil
    case .objectTrump, .overwrite, .storeTrump, .rollback: break
    }
    let table = tables[entity.number - 1]
    for set in uniqueSets(of: entity) {
      var values: [AttributeValue] = []
      for name in set {
        guard let value = try value(of: name, insert, id, entity), value != .null else { break }
        values.append(value)
      }
      guard values.count == set.count else { continue }
      let condition = set.map { "\(SQLNames.quoted($0)) = ?" }.joined(separator: " AND ")
      let found = try table.query(
        "SELECT \"_id\" FROM \(SQLNames.quoted(entity.name)) WHERE \(condition)"
      )
      defer { found.reset() }
      for (index, value) in values.enumerated() { found.bind(value, at: Int32(index + 1)) }
      if try found.step() { return ObjectKey(entity: entity.number, object: found.integer(0)) }
    }
    return nil
  }

  /// What an insert would give a property; nil where that cannot be told yet.
  private func value(
    of name: String,
    _ insert: SaveRequest.Insert,
    _ id: WrappedID?,
    _ entity: EntityDescription
  ) throws -> AttributeValue? {
    if let id, !id.isTemporary, name == entity.identity?.name {
      return try IdentityResolver.identityValue(id, entity)
    }
    let sent = insert.values.last { $0.name == name }?.value
    switch entity.property(named: name) {
    case .attribute(let attribute):
      guard let sent else { return attribute.defaultValue }
      if case .value(let value) = attribute.decode(sent) { return value }
      return nil
    case .relationship(let relationship):
      guard let text = sent?.string, let id = WrappedID(text), !id.isTemporary,
        let target = try resolve(text), model.isKind(target.entity, of: relationship.destination)
      else { return nil }
      return .integer(target.object)
    case nil: return nil
    }
  }

  /// Carries an insert out that an object answers for which is there already.
  mutating func adopt(_ insert: SaveRequest.Insert, _ key: ObjectKey) throws {
    let entity = model.entity(key.entity)
    let id = name(key)
    let isKept = [.storeTrump, .rollback].contains(request.mergePolicy)
    var values = isKept ? [] : insert.values
    if request.mergePolicy == .overwrite {
      let sent = Set(values.map(\.name))
      for attribute in entity.attributes
      where attribute.derived == nil && attribute.name != entity.identity?.name
        && !sent.contains(attribute.name)
      {
        values.append(JSONMember(attribute.name, WireValue.json(attribute.defaultValue)))
      }
      for relationship in table(key).toOnes where !sent.contains(relationship.name) {
        values.append(JSONMember(relationship.name, .null))
      }
    }
    let updated = try update(SaveRequest.Update(id: id, version: nil, values: values))
    let names = (isKept ? insert.values : values).map(\.name)
    var late = isKept ? Set(names) : []
    for column in updated.flatMap(\.columns) where column.place < entity.attributes.count {
      let attribute = entity.attributes[column.place]
      if Self.differs(column.value, from: values, attribute) { late.insert(attribute.name) }
    }
    followed[key, default: []].formUnion(late)
    let outcome: JSONValue = isKept ? "store" : "client"
    merged.append([
      "id": .string(id), "properties": .object(names.map { JSONMember($0, outcome) }),
    ])
  }

  private func uniqueSets(of entity: EntityDescription) -> [[String]] {
    (entity.identity.map { [[$0.name]] } ?? []) + entity.unique
  }

  /// Makes sure that what is unique among the objects of an ancestor is so in all tables of its
  /// family.
  func checkFamily(_ key: ObjectKey, _ label: String, _ row: [AttributeValue]) throws {
    let entity = model.entity(key.entity)
    guard entity.place.ancestors.count > 1 || entity.hasDescendants else { return }
    for set in uniqueSets(of: entity) {
      let owner = entity.place.ancestors.map { model.entity($0) }
        .first { $0.unique.contains(set) || set == $0.identity.map { [$0.name] } }
      guard let owner, owner.hasDescendants else { continue }
      let condition = set.map { "\(SQLNames.quoted($0)) = ?" }.joined(separator: " AND ")
      let found = try table(key).query(
        "SELECT \"_id\" FROM \(model.source(owner)) WHERE \(condition) AND \"_id\" <> ?"
      )
      defer { found.reset() }
      for (index, name) in set.enumerated() {
        found.bind(row[table(key).places[name] ?? 0], at: Int32(index + 1))
      }
      found.bind(key.object, at: Int32(set.count + 1))
      guard try found.step() else { continue }
      throw taken(set, by: model.key(owner.number, found.integer(0)), label)
    }
  }

  private func taken(_ set: [String], by key: ObjectKey, _ label: String) -> StoreError {
    // An insert of the same save has no name but that which the save gives it.
    let other = insertedLabel(of: key)
    let existing = other ?? name(key)
    return StoreError(
      .uniquenessViolation,
      existing == label
        ? "There is an object \(existing) already"
        : "\(existing) has the same \(set.joined(separator: ", ")) as \(label)",
      hint: other == nil
        ? "Update \(existing), or choose other values" : "Choose other values for one of the two",
      data: [
        JSONMember("id", .string(label)),
        JSONMember("properties", .array(set.map { .string($0) })),
        JSONMember("existing", .string(existing)),
      ]
    )
  }

  /// Which unique set of properties a row breaks, and who has its values.
  func uniqueness(
    _ key: ObjectKey,
    _ label: String,
    _ row: [AttributeValue]
  ) throws -> StoreError? {
    let table = table(key)
    for set in uniqueSets(of: table.entity) {
      let condition = set.map { "\(SQLNames.quoted($0)) = ?" }.joined(separator: " AND ")
      let found = try table.query(
        "SELECT \"_id\" FROM \(SQLNames.quoted(table.entity.name)) "
          + "WHERE \(condition) AND \"_id\" <> ?"
      )
      defer { found.reset() }
      for (index, name) in set.enumerated() {
        found.bind(row[table.places[name] ?? 0], at: Int32(index + 1))
      }
      found.bind(key.object, at: Int32(set.count + 1))
      guard try found.step() else { continue }
      return taken(set, by: ObjectKey(entity: key.entity, object: found.integer(0)), label)
    }
    return nil
  }
}
