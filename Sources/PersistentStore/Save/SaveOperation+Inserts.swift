import CordialValues
import GRDB
import JSON
import ObjectModel
import PersistentHistory

/// New objects.
extension SaveOperation {
  mutating func insert(
    _ insert: SaveRequest.Insert,
    _ key: ObjectKey,
    at index: Int,
    _ writer: inout JSONWriter
  ) throws -> [Link] {
    let table = table(key)
    let entity = table.entity
    var row = table.defaults
    var given = Array(repeating: false, count: row.count)
    if let identity = entity.identity, let id = insert.id.flatMap({ WrappedID($0) }),
      let place = table.places[identity.name]
    {
      if case .temporary = id.key {
      } else {
        row[place] = try IdentityResolver.identityValue(id, entity)
        given[place] = true
      }
    }
    let problemsBefore = problems.count
    var later: [Link] = []
    // An object that has no ID yet, and may never have one, is named by its place.
    let label = insert.id ?? "insert[\(index)]"
    for (index, member) in insert.values.enumerated() {
      switch try decode(member, at: index, table, label) {
      case .attribute(let place, let value):
        if given[place], entity.attributes[place].name == entity.identity?.name, row[place] != value
        {
          problem(label, member.name, "identity", "The value differs from the one in the ID")
        }
        row[place] = value
        given[place] = true
      case .relationship(let relationship, let value):
        guard !relationship.toMany else {
          later.append((relationship, value))
          continue
        }
        let place = table.places[relationship.name] ?? 0
        given[place] = true
        let problemsBefore = problems.count
        let target = try target(value, relationship, label)
        guard problems.count == problemsBefore else {
          // It is told already; nobody's number keeps it from being told as missing too.
          row[place] = .integer(-1)
          continue
        }
        if let target { row[place] = .integer(target.object) }
        if relationship.inverse != nil { later.append((relationship, value)) }
      case nil: continue
      }
    }
    for (place, form, source) in table.derivedTexts {
      row[place] = form.applied(to: row[source])
    }
    validate(row, table, label)
    if problems.count == problemsBefore {
      try checkFamily(key, label, row)
      try write(row, of: key, label, later)
    }
    try writeInserted(insert, key, row, given, &writer)
    for name in table.wanted {
      touchedCounts.insert(CountedRelationship(object: key, relationship: name))
    }
    return later
  }

  /// Writes a new row, or has it wait for others of its kind.
  private mutating func write(
    _ row: [AttributeValue],
    of key: ObjectKey,
    _ label: String,
    _ later: [Link]
  ) throws {
    let table = table(key)
    let waits = !triggers.isOn && later.isEmpty && table.rowsAtOnce > 1
    // Rows are written in the order of the request.
    if !waits || waitingRows.first?.key.entity != key.entity { try writeWaitingRows() }
    if waits {
      waitingRows.append(EntityTable.WaitingRow(key: key, label: label, values: row))
      if waitingRows.count == table.rowsAtOnce { try writeWaitingRows() }
      return
    }
    // One-to-ones are claimed one after the other, when all objects are there.
    var inserted = row
    for (relationship, _) in later where !relationship.toMany && isOneToOne(relationship) {
      inserted[table.places[relationship.name] ?? 0] = .null
    }
    try constrained(key, label, row) { try table.insert(key.object, inserted) }
  }

  /// Writes the rows that wait.
  mutating func writeWaitingRows() throws {
    guard let first = waitingRows.first else { return }
    defer { waitingRows.removeAll(keepingCapacity: true) }
    let table = table(first.key)
    if waitingRows.count == table.rowsAtOnce {
      do {
        return try table.insert(waitingRows)
      } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
        // None of them is there now. Which one is refused shows when they come one by one.
      }
    }
    for row in waitingRows {
      try constrained(row.key, row.label, row.values) {
        try table.insert(row.key.object, row.values)
      }
    }
  }

  private mutating func validate(
    _ row: [AttributeValue],
    _ table: EntityTable,
    _ label: @autoclosure () -> String
  ) {
    for (place, attribute) in table.checked {
      if let violation = attribute.violation(by: row[place]) {
        problem(label(), attribute.name, violation.rule, violation.message)
      }
    }
    for (place, name) in table.required where row[place] == .null {
      problem(label(), name, "required", "\(name) must have a value")
    }
  }

  mutating func link(
    _ later: [Link],
    of key: ObjectKey,
    _ label: String
  ) throws {
    for (relationship, value) in later {
      if relationship.toMany {
        try setToMany(value, relationship, of: key, label)
      } else {
        try claim(value, relationship, of: key, label)
      }
    }
  }

  private mutating func writeInserted(
    _ insert: SaveRequest.Insert,
    _ key: ObjectKey,
    _ row: [AttributeValue],
    _ given: [Bool],
    _ writer: inout JSONWriter
  ) throws {
    writer.raw("{\"id\":")
    try writeID(of: key, insert, &writer)
    writer.raw(",\"version\":1")
    let table = table(key)
    var hasValues = false
    for (place, isCanonical) in table.told {
      if given[place] {
        guard isCanonical,
          Self.differs(row[place], from: insert.values, table.entity.attributes[place])
        else { continue }
      } else if row[place] == .null {
        continue
      }
      writer.raw(hasValues ? "," : ",\"values\":{")
      hasValues = true
      writer.name(table.entity.attributes[place].name)
      writer.value(WireValue.json(row[place]))
    }
    writer.raw(hasValues ? "}}" : "}")
    noteEnd(key, end: writer.bytes.count, hasValues: hasValues)
  }

  /// Whether a value is stored other than it was sent: in its canonical form, or rounded.
  static func differs(
    _ stored: AttributeValue,
    from sent: [JSONMember],
    _ attribute: AttributeDescription
  ) -> Bool {
    attribute.type.isCanonical
      && sent.last { $0.name == attribute.name }.map { $0.value != WireValue.json(stored) } ?? false
  }

  /// Runs a statement that a uniqueness constraint may refuse.
  private func constrained(
    _ key: ObjectKey,
    _ label: String,
    _ row: [AttributeValue],
    _ body: () throws -> Void
  ) throws {
    do {
      try body()
    } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
      throw try uniqueness(key, label, row) ?? error
    }
  }
}
