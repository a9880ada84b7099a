import CordialValues
import ObjectModel
import PersistentHistory
import SQLite
import StoreLayout

/// The statements that rebuild tables from old tables.
extension MigrationPlan {
  mutating func rebuild(_ entity: EntityDescription, _ kept: UnchangedTables) {
    let table = SQLNames.quoted(entity.name)
    var statements = [StoreSchema.table(for: entity, to)]
    guard let old = mapping.source(of: entity), !old.isAbstract else {
      statements += StoreSchema.sequence(for: entity)
      steps.append(Step(title: "Create \(entity.name)", statements: statements))
      return
    }
    let source = oldTable(old, kept)
    var row = NewRow()
    for attribute in entity.attributes {
      addValue(of: attribute, entity, old, to: &row)
    }
    for relationship in entity.relationships where !relationship.toMany {
      addValue(of: relationship, entity, from: old, kept, to: &row)
    }
    for (toOne, toMany) in to.orderedInverses(of: entity) where keepsOrder(toOne, toMany, entity) {
      let column = SQLNames.positionColumn(toOne.name)
      let old = mapping.source(of: toOne, in: entity)?.name ?? toOne.name
      row.add("cordial_o.\(SQLNames.quoted(SQLNames.positionColumn(old)))", to: column)
    }
    statements += row.logStatements(of: old, source)
    let columns = [SQLNames.object, SQLNames.version] + row.columns
    let values = ["cordial_o.\(SQLNames.quoted(SQLNames.object))", row.version] + row.values
    statements.append(
      "INSERT INTO \(table)(\(columns.map(SQLNames.quoted).joined(separator: ", "))) "
        + "SELECT \(values.joined(separator: ", ")) FROM \(source) AS cordial_o"
    )
    statements += sequence(of: entity, after: source)
    steps.append(Step(title: "Create \(entity.name) from \(old.name)", statements: statements))
  }

  /// Returns statements that prevent an entity from reusing the numbers of deleted objects.
  ///
  /// - Parameters:
  ///   - entity: The entity.
  ///   - source: The old table of the entity's objects, nil if there is none.
  /// - Returns: The statements.
  func sequence(of entity: EntityDescription, after source: String?) -> [String] {
    let former = source.map { SQLNames.literal(String($0.dropFirst().dropLast())) } ?? "NULL"
    let sequence = "(SELECT seq FROM sqlite_sequence WHERE name = \(former))"
    let name = SQLNames.literal(entity.name)
    let last = "(SELECT max(\"_id\") FROM \(SQLNames.quoted(entity.name)))"
    return [
      "DELETE FROM sqlite_sequence WHERE name = \(name)",
      "INSERT INTO sqlite_sequence(name, seq) VALUES (\(name), max(coalesce(\(sequence), 0), "
        + "coalesce(\(last), 0), \(entity.numbers.lowerBound - 1)))",
    ]
  }

  /// The columns of a rebuilt table, each with SQL that computes its value from the row `cordial_o`
  /// of the old table.
  struct NewRow {
    /// SQL for the number of the new object.
    var number = "cordial_o.\"_id\""
    private(set) var columns: [String] = []
    private(set) var values: [String] = []
    /// The changed properties: the old name, the condition under which the value changes, and SQL
    /// for the former value in the log.
    private var changes: [(property: String, condition: String, former: String)] = []

    mutating func add(_ value: String, to column: String) {
      columns.append(column)
      values.append(value)
    }

    /// Records that a value differs from the old value if an SQL condition is true.
    mutating func noteChange(of property: String, when condition: String, former: String) {
      changes.append((property, condition, former))
    }

    /// SQL for the object's version, incremented if a property changes.
    var version: String {
      let version = "cordial_o.\(SQLNames.quoted(SQLNames.version))"
      return changes.isEmpty ? version : "\(version) + (\(condition))"
    }

    private var condition: String {
      changes.map(\.condition).joined(separator: " OR ")
    }

    /// SQL for the former values of the changed properties, in the log's JSON form.
    var before: String {
      let parts = changes.map { change in
        "CASE WHEN \(change.condition) THEN \(SQLNames.literal(",\"\(change.property)\":")) "
          + "|| \(change.former) ELSE '' END"
      }
      return parts.isEmpty ? "''" : parts.joined(separator: " || ")
    }

    /// Returns the statements that log the changes as ordinary updates.
    func logStatements(of old: EntityDescription, _ source: String) -> [String] {
      guard !changes.isEmpty else { return [] }
      return [
        "INSERT INTO cordial_change(entity, object, kind, version, before) "
          + "SELECT \(old.number), \"_id\", 1, \"_version\" + 1, "
          + "\(before) "
          + "FROM \(source) AS cordial_o WHERE \(condition)"
      ]
    }
  }

  // MARK: Attributes

  /// Adds an attribute's value to a row.
  ///
  /// If the old entity has no such attribute, the row gets no value, and SQLite stores the default.
  mutating func addValue(
    of attribute: AttributeDescription,
    _ entity: EntityDescription,
    _ old: EntityDescription,
    to row: inout NewRow
  ) {
    // A later step computes derived values, when all tables exist; a derived time keeps its value.
    if let derived = attribute.derived, derived != .now { return }
    let path = "\(entity.name).\(attribute.name)"
    guard let found = mapping.source(of: .attribute(attribute), in: entity, from: old) else {
      if !attribute.optional, attribute.defaultValue == .null {
        let isRuled = mapping.rules[entity.number] != nil
        check(
          isRuled
            ? "SELECT count(*) FROM \(PreparedTables.objects(of: entity)) "
              + "WHERE source = \(old.number)"
            : "SELECT count(*) FROM \(SQLNames.quoted(old.name))",
          path,
          "objects would lack it: it is required and has no default"
        )
      }
      return
    }
    guard case .attribute(let before) = found else {
      return problem(path, "It was a relationship, which cannot become an attribute")
    }
    let column = "cordial_o.\(SQLNames.quoted(before.name))"
    guard let value = conversion(of: column, before, attribute, entity, old, path) else { return }
    guard before.optional, !attribute.optional else { return row.add(value, to: attribute.name) }
    guard let literal = SQLLiteral.text(attribute.defaultValue) else {
      let name = SQLNames.quoted(before.name)
      check(
        "SELECT count(*) FROM \(SQLNames.quoted(old.name)) WHERE \(name) IS NULL"
          + taken(by: entity, old),
        path,
        "objects lack it: it becomes required and has no default"
      )
      return row.add(value, to: attribute.name)
    }
    row.noteChange(of: before.name, when: "\(column) IS NULL", former: "'null'")
    row.add("coalesce(\(value), \(literal))", to: attribute.name)
  }

  /// Returns the SQL condition that an object of an old table becomes an object of a new entity.
  ///
  /// The result is empty if all objects of the old table become objects of the new entity.
  private func taken(by entity: EntityDescription, _ old: EntityDescription) -> String {
    guard mapping.rules[entity.number] != nil, mapping.isMoved(old.number) else { return "" }
    return " AND \"_id\" IN (SELECT old FROM \(PreparedTables.objects(of: entity)) "
      + "WHERE source = \(old.number))"
  }

  /// Returns SQL that converts a column, nil if the types have no conversion.
  ///
  /// If the types have no conversion, the method adds a problem. If the conversion may lose some
  /// values, it adds a check.
  private mutating func conversion(
    of column: String,
    _ before: AttributeDescription,
    _ attribute: AttributeDescription,
    _ entity: EntityDescription,
    _ old: EntityDescription,
    _ path: String
  ) -> String? {
    let (from, to) = (before.type, attribute.type)
    if let value = Self.converted(column, from, to) { return value }
    guard case .checked? = to.codec.conversion(from: from) else {
      problem(path, "\(from.rawValue) is not converted to \(to.rawValue)")
      return nil
    }
    let name = SQLNames.quoted(before.name)
    let rows =
      "FROM \(SQLNames.quoted(old.name)) WHERE \(name) IS NOT NULL "
      + "AND \(ValueConversion.sql(name, to: to)) IS NULL\(taken(by: entity, old))"
    check(
      "SELECT count(*) \(rows)",
      path,
      "values of type \(from.rawValue) would not survive as \(to.rawValue)",
      examples: "SELECT \"_id\", \(LogTriggers.json(name, from.codec.storage)) \(rows) "
        + "ORDER BY \"_id\" LIMIT 5"
    )
    return ValueConversion.sql(column, to: to)
  }

  /// Returns SQL that converts a column to another type, nil if that type cannot represent every
  /// value.
  static func converted(
    _ column: String,
    _ old: AttributeType,
    _ new: AttributeType
  ) -> String? {
    if old == new { return column }
    return switch new.codec.conversion(from: old) {
    case .unchanged?: column
    case .cast(let storage)?: "CAST(\(column) AS \(storage.rawValue))"
    case .checked?, nil: nil
    }
  }
}
