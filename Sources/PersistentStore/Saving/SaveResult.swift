package import CordialValues
import JSON
import ObjectModel
import PersistentHistory

/// The result of a transaction, as values.
///
/// The service encodes the values for each client.
package struct SaveResult: Sendable, Equatable {
  /// The IDs of inserts as sent, each with the name of the insert's object, in the order of the
  /// request.
  ///
  /// A new object of a dry run has no name unless its insert has a permanent ID.
  package var ids: [InsertedID] = []
  /// The inserts, then the updates, then objects whose delete a merge policy skipped; for an undo
  /// or redo, the changed objects.
  package var objects: [SavedObject] = []
  package var merged: [MergedObject] = []
  /// The number of objects that a delete names or a predicate matches, or of groups undone or
  /// redone.
  package var count = 0
  /// The deleted objects, including cascades, or the objects that matched an update; nil unless
  /// requested.
  package var matched: [ObjectName]?
  /// The number of groups undone or redone; nil for any other request.
  package var undone: Int?

  package init() {}
}

/// The ID of an insert as sent, with the name of the new object.
package struct InsertedID: Sendable, Equatable {
  package let sent: String
  package let name: ObjectName?
}

/// The name of an object in the protocol.
package enum ObjectName: Sendable, Equatable {
  /// A key, for an object that is named by its number in the store.
  case object(ObjectKey)
  /// A text: the object's identity, or the ID that a client sent.
  case text(String)
}

/// The returned values of one object.
package struct SavedObject: Sendable, Equatable {
  /// The object's name; nil for a new object of a dry run whose insert has no permanent ID.
  package let id: ObjectName?
  /// The object's version; nil for a deleted object.
  package let version: Int64?
  /// The properties whose stored values differ from the sent values.
  package var values: [SavedProperty] = []
}

/// A property with its stored value.
package struct SavedProperty: Sendable, Equatable {
  /// A value, by its kind in the protocol.
  package enum Value: Sendable, Equatable {
    case attribute(AttributeValue)
    case reference(ObjectName?)
    case references([ObjectName])
  }

  package let name: String
  package let value: Value
}

/// The builder of a save's result, used after all writes.
struct SaveResultBuilder {
  let tables: StoreTables
  let request: SaveRequest
  /// For each object, the properties that values sent for other objects changed, or that a merge
  /// decided.
  let reported: [ObjectKey: Set<String>]

  private var layout: SaveLayout { tables.layout }

  /// Returns the ID of an object; if the entity has an identity, the object's row must still exist.
  func name(of key: ObjectKey) throws -> ObjectName {
    layout.entity(key).entity.identity == nil
      ? .object(key) : .text(try tables[key].name(of: key.object))
  }

  /// Returns the ID of an object whose row is known.
  func name(of key: ObjectKey, _ row: [AttributeValue]) -> ObjectName {
    let entity = layout.entity(key)
    guard let identity = entity.entity.identity, let column = entity.columns[identity.name],
      let form = identity.type.codec.identityForm?.key(WireValue.json(row[column]))
    else { return .object(key) }
    return .text(ObjectID(entity: entity.entity.name, key: form).description)
  }

  /// Returns the result of a save.
  func result(
    of save: ResolvedSave,
    merged: [MergedObject],
    skipped: [ResolvedDelete]
  ) throws
    -> SaveResult
  {
    var result = SaveResult()
    result.objects.reserveCapacity(request.inserts.count + request.updates.count)
    let adopted = Set(save.adoptions.map(\.index))
    let later = overridden(by: save)
    var rows: [ObjectKey: [AttributeValue]] = [:]
    for adoption in save.adoptions { rows[adoption.key] = [] }
    for insert in save.inserts where rows[insert.key] != nil { rows[insert.key] = insert.row }
    var nextInsert = 0
    var nextAdoption = 0
    for (index, insert) in request.inserts.enumerated() {
      guard let key = save.keys[index] else { continue }
      let isAdopted = adopted.contains(index)
      let name =
        if isAdopted, let row = rows[key], !row.isEmpty {
          self.name(of: key, row)
        } else if isAdopted {
          try self.name(of: key)
        } else {
          newName(of: key, insert, save.inserts[nextInsert].row)
        }
      let returnedName = returnedName(name, insert, isAdopted)
      if let sent = insert.id { result.ids.append(InsertedID(sent: sent, name: returnedName)) }
      if isAdopted {
        // Adopted inserts are the first updates, in the same order.
        let update = save.updates[nextAdoption]
        nextAdoption += 1
        result.objects.append(
          SavedObject(
            id: returnedName,
            version: try tables[key].version(of: key.object) ?? max(update.version, 1),
            values: values(of: update)
          )
        )
      } else {
        let read = save.inserts[nextInsert]
        nextInsert += 1
        result.objects.append(
          SavedObject(id: returnedName, version: 1, values: values(of: read))
        )
      }
      try addComputedValues(key, also: later[index] ?? [], to: &result.objects)
      try addCompositeMembers(key, to: &result.objects)
    }
    if !adopted.isEmpty {
      // Inserts with one identity are one object, whose ID is returned once.
      var sent: Set<String> = []
      result.ids.removeAll { !sent.insert($0.sent).inserted }
    }
    for update in save.updates {
      guard case .update = update.origin else { continue }
      let version = try tables[update.key].version(of: update.key.object) ?? update.version
      result.objects.append(
        SavedObject(
          id: try currentName(of: update),
          version: version,
          values: values(of: update)
        )
      )
      try addComputedValues(update.key, to: &result.objects)
      try addCompositeMembers(update.key, to: &result.objects)
    }
    for delete in skipped {
      result.objects.append(
        SavedObject(
          id: try name(of: delete.key),
          version: try tables[delete.key].version(of: delete.key.object) ?? delete.version,
          values: try columns(nil, of: delete.key)
        )
      )
    }
    result.merged = try merged.map { object in
      guard case .object(let key) = object.id else { return object }
      // The save may delete an object that it inserted, so the name comes from the inserted row.
      let row = rows[key] ?? []
      let name = try row.isEmpty ? self.name(of: key) : self.name(of: key, row)
      return MergedObject(id: name, outcome: object.outcome)
    }
    return result
  }

  /// Returns, for each insert, the properties that later adopted inserts set on the same object.
  ///
  /// The keys are the indices of the inserts in the request.
  private func overridden(by save: ResolvedSave) -> [Int: Set<String>] {
    guard !save.adoptions.isEmpty else { return [:] }
    var names: [ObjectKey: Set<String>] = [:]
    var overridden: [Int: Set<String>] = [:]
    var setting: [Int: ResolvedUpdate] = [:]
    for update in save.updates {
      if case .insert(let index) = update.origin { setting[index] = update }
    }
    for (index, key) in save.keys.enumerated().reversed() {
      guard let key else { continue }
      overridden[index] = names[key]
      guard let update = setting[index] else { continue }
      let entity = layout.entity(key)
      names[key, default: []].formUnion(
        update.columns.map { entity.columnNames[$0.column] }
          + update.links.map(\.relationship.name)
      )
    }
    return overridden
  }

  /// Returns the ID of an updated object; if a cascade deleted it, the ID that was sent.
  private func currentName(of update: ResolvedUpdate) throws -> ObjectName {
    try tables[update.key].version(of: update.key.object) == nil
      ? .text(update.label) : name(of: update.key)
  }

  /// Returns the ID of a new object: its identity if its entity has one.
  private func newName(
    of key: ObjectKey,
    _ insert: SaveRequest.Insert,
    _ row: [AttributeValue]
  ) -> ObjectName {
    let entity = layout.entity(key).entity
    guard entity.identity != nil else { return .object(key) }
    if let text = insert.id, let id = ObjectID(text), !id.isTemporary { return .text(text) }
    return name(of: key, row)
  }

  /// Returns the name of an insert's object; nil for a new object of a dry run whose insert has no
  /// permanent ID.
  private func returnedName(
    _ name: ObjectName,
    _ insert: SaveRequest.Insert,
    _ isAdopted: Bool
  ) -> ObjectName? {
    guard request.isDryRun, !isAdopted, insert.id.flatMap({ ObjectID($0) })?.isTemporary ?? true
    else { return name }
    return nil
  }

  private func values(of read: ResolvedInsert) -> [SavedProperty] {
    let entity = layout.entity(read.key)
    var values: [SavedProperty] = []
    for (column, isCanonical) in entity.written {
      let value = read.row[column]
      let attribute = entity.entity.attributes[column]
      if read.given[column] {
        guard isCanonical, Self.differs(value, from: read.sent, attribute) else { continue }
      } else if value == .null {
        continue
      }
      values.append(SavedProperty(name: attribute.name, value: .attribute(value)))
    }
    return values
  }

  private func values(of update: ResolvedUpdate) -> [SavedProperty] {
    let attributes = layout.entity(update.key).entity.attributes
    let isInsert = if case .insert = update.origin { true } else { false }
    return update.columns.compactMap { change in
      guard change.column < attributes.count else { return nil }
      let attribute = attributes[change.column]
      guard attribute.derived == nil, reported[update.key]?.contains(attribute.name) != true else {
        return nil
      }
      // Under `overwrite`, an adopted insert sets attributes that were not sent to their defaults.
      let isDefault =
        isInsert && change.value != .null && !update.sent.contains { $0.name == attribute.name }
      guard
        isDefault
          || attribute.type.codec.isNormalized
            && Self.differs(change.value, from: update.sent, attribute)
      else { return nil }
      return SavedProperty(name: attribute.name, value: .attribute(change.value))
    }
  }

  /// Returns whether a value is stored in another form than it was sent, or rounded.
  private static func differs(
    _ stored: AttributeValue,
    from sent: [JSONMember],
    _ attribute: AttributeDescription
  ) -> Bool {
    sent.last { $0.name == attribute.name }.map { $0.value != WireValue.json(stored) } ?? false
  }

  /// Adds to the last element of `objects` the values that the client did not send: derived values,
  /// to-ones that other objects' values set, and decisions of a merge.
  private func addComputedValues(
    _ key: ObjectKey,
    also names: Set<String> = [],
    to objects: inout [SavedObject]
  ) throws {
    let entity = layout.entity(key)
    let more = names.union(reported[key] ?? [])
    guard entity.hasDerived || !more.isEmpty, !objects.isEmpty else { return }
    let names = Set(
      entity.columnNames.filter { entity.derived.contains($0) || more.contains($0) }
    )
    let added = try columns(names, of: key) + members(more, of: key)
    let last = objects.count - 1
    let addedNames = Set(added.map(\.name))
    objects[last].values.removeAll { addedNames.contains($0.name) }
    objects[last].values += added
  }

  /// Returns the stored values of columns, in order; no values if the object does not exist.
  ///
  /// - Parameters:
  ///   - names: The names of the columns; nil for all.
  ///   - key: The object.
  /// - Returns: The properties.
  /// - Throws: `SQLiteError`.
  func columns(_ names: Set<String>?, of key: ObjectKey) throws -> [SavedProperty] {
    guard names?.isEmpty != true, let row = try tables[key].row(of: key.object) else { return [] }
    return try columns(names, row, of: key)
  }

  /// Returns the values of columns of a known row.
  func columns(
    _ names: Set<String>?,
    _ row: [AttributeValue],
    of key: ObjectKey
  ) throws -> [SavedProperty] {
    let entity = layout.entity(key)
    let names = names.map { $0.union(entity.entity.compositeMembers(with: $0)) }
    return try entity.columnNames.enumerated().compactMap { column, name in
      guard names?.contains(name) != false else { return nil }
      guard let toOne = entity.toOnes.first(where: { $0.column == column })?.relationship else {
        return SavedProperty(name: name, value: .attribute(row[column]))
      }
      guard case .integer(let number) = row[column] else {
        return SavedProperty(name: name, value: .reference(nil))
      }
      return SavedProperty(name: name, value: .reference(try self.name(of: toOne.target(number))))
    }
  }

  /// Adds the missing members of composites to the last object, because the result returns each
  /// composite as a whole.
  private func addCompositeMembers(_ key: ObjectKey, to objects: inout [SavedObject]) throws {
    guard layout.hasComposites, let last = objects.indices.last else { return }
    let entity = layout.entity(key).entity
    let names = entity.compositeMembers(with: Set(objects[last].values.map(\.name)))
    guard !names.isEmpty else { return }
    objects[last].values.removeAll { names.contains($0.name) }
    objects[last].values += try columns(names, of: key)
  }

  private func members(_ names: Set<String>, of key: ObjectKey) throws -> [SavedProperty] {
    try layout.entity(key).relationships.filter { $0.isToMany && names.contains($0.name) }
      .sorted { $0.name < $1.name }.map { toMany in
        let members = try tables[toMany].members(of: key.object).map(toMany.target)
          .filter { try tables[$0].version(of: $0.object) != nil }
        return SavedProperty(name: toMany.name, value: .references(try members.map(name)))
      }
  }
}
