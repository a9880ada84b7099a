import CordialValues
import GRDB
import JSON
import ObjectModel
import PersistentHistory

/// Changes of objects that are there.
extension SaveOperation {
  /// An update that was carried out.
  struct Updated {
    let update: SaveRequest.Update
    let key: ObjectKey
    /// Its version before.
    let version: Int64
    let columns: [(place: Int, value: AttributeValue)]
  }

  /// Carries an update out; nothing comes of one that is a problem, which is noted.
  mutating func update(_ update: SaveRequest.Update) throws -> [Updated] {
    guard let key = try resolve(update.id) else { throw StoreError.objectNotFound(update.id) }
    guard !isInserted(key) else {
      problem(update.id, nil, "once", "An object is inserted or updated, not both in a save")
      return []
    }
    guard let version = try table(key).version(of: key.object) else {
      throw StoreError.objectNotFound(update.id)
    }
    let columns = try columns(of: update, key)
    if problems.isEmpty, conflicts.isEmpty,
      try write(columns, to: key, update.id, counting: !counted.contains(key))
    {
      counted.insert(key)
    }
    return [Updated(update: update, key: key, version: version, columns: columns)]
  }

  /// Writes what an update came to; of an object that a cascade removed, the version it had.
  mutating func write(_ updated: Updated, _ writer: inout JSONWriter) throws {
    let table = table(updated.key)
    writer.raw("{\"id\":")
    writer.string(updated.update.id)
    writer.raw(",\"version\":")
    writer.integer(try table.version(of: updated.key.object) ?? updated.version)
    let stored = updated.columns.filter { column in
      guard column.place < table.entity.attributes.count else { return false }
      let attribute = table.entity.attributes[column.place]
      return attribute.derived == nil
        && Self.differs(column.value, from: updated.update.values, attribute)
    }
    if !stored.isEmpty {
      writer.raw(",\"values\":")
      writer.value(
        .object(
          stored.map {
            JSONMember(table.entity.attributes[$0.place].name, WireValue.json($0.value))
          }
        )
      )
    }
    writer.raw("}")
    noteEnd(updated.key, end: writer.bytes.count, hasValues: !stored.isEmpty)
  }

  /// Reads the members of an update: its columns, with to-manys and inverses carried out.
  mutating func columns(
    of update: SaveRequest.Update,
    _ key: ObjectKey
  ) throws -> [(place: Int, value: AttributeValue)] {
    let table = table(key)
    var columns: [(place: Int, value: AttributeValue)] = []
    var later: [Link] = []
    for (index, member) in update.values.enumerated() {
      switch try decode(member, at: index, table, update.id) {
      case .attribute(let place, let value):
        let attribute = table.entity.attributes[place]
        if attribute.name == table.entity.identity?.name {
          try checkIdentity(value, attribute, key, update.id)
        }
        if let violation = attribute.violation(by: value) {
          problem(update.id, attribute.name, violation.rule, violation.message)
        }
        columns.append((place, value))
      case .relationship(let relationship, let value):
        guard !relationship.toMany else {
          later.append((relationship, value))
          continue
        }
        let problemsBefore = problems.count
        let target = try target(value, relationship, update.id)
        // What was no ID is a problem already, and leads nowhere.
        guard problems.count == problemsBefore else { continue }
        if relationship.inverse != nil { later.append((relationship, value)) }
        if value.isNull, !relationship.optional {
          problem(
            update.id,
            relationship.name,
            "required",
            "\(relationship.name) must have a value"
          )
        }
        try touchOwner(relationship, of: key)
        columns.append(
          (table.places[relationship.name] ?? 0, target.map { .integer($0.object) } ?? .null)
        )
      case nil: continue
      }
    }
    addDerivedTexts(to: &columns, table)
    if conflicts.isEmpty { try link(later, of: key, update.id) }
    return columns
  }

  /// Adds the columns that are other forms of those.
  func addDerivedTexts(
    to columns: inout [(place: Int, value: AttributeValue)],
    _ table: EntityTable
  ) {
    for (place, form, source) in table.derivedTexts {
      if let column = columns.last(where: { $0.place == source }) {
        columns.append((place, form.applied(to: column.value)))
      }
    }
  }

  mutating func checkIdentity(
    _ value: AttributeValue,
    _ attribute: AttributeDescription,
    _ key: ObjectKey,
    _ label: String
  ) throws {
    let table = table(key)
    let row = try table.query(
      "SELECT 1 FROM \(SQLNames.quoted(table.entity.name)) "
        + "WHERE \"_id\" = ? AND \(SQLNames.quoted(attribute.name)) IS ?"
    )
    defer { row.reset() }
    row.bind(key.object, at: 1)
    row.bind(value, at: 2)
    if try !row.step() {
      problem(label, attribute.name, "identity", "An identity cannot be changed")
    }
  }

  func write(
    _ columns: [(place: Int, value: AttributeValue)],
    to key: ObjectKey,
    _ label: @autoclosure () -> String,
    counting: Bool
  ) throws -> Bool {
    let table = table(key)
    if table.entity.place.ancestors.count > 1 || table.entity.hasDescendants,
      case let written = Set(columns.map({ table.entity.columns[$0.place] })),
      table.entity.unique.contains(where: { !written.isDisjoint(with: $0) })
    {
      var row = try wholeRow(key)
      for column in columns { row[column.place] = column.value }
      try checkFamily(key, label(), row)
    }
    do {
      return try table.update(key.object, columns, counting: counting)
    } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
      var row = try wholeRow(key)
      for column in columns { row[column.place] = column.value }
      throw try uniqueness(key, label(), row) ?? error
    }
  }

  /// The stored values of an object, for finding whom a uniqueness constraint means.
  private func wholeRow(_ key: ObjectKey) throws -> [AttributeValue] {
    let table = table(key)
    let names = table.entity.columns
    let list = names.map(SQLNames.quoted).joined(separator: ", ")
    let row = try table.query(
      "SELECT \(list) FROM \(SQLNames.quoted(table.entity.name)) WHERE \"_id\" = ?"
    )
    defer { row.reset() }
    row.bind(key.object, at: 1)
    guard try row.step() else { return [] }
    return names.indices.map { row.value(Int32($0)) }
  }
}
