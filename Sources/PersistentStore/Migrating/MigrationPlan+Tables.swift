import CordialValues
import ObjectModel
import PersistentHistory
import SQLite
import StoreLayout

/// Tables that are rebuilt from old ones.
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
    var columns = [SQLNames.object, SQLNames.version]
    var values = columns.map { "cordial_o.\(SQLNames.quoted($0))" }
    for attribute in entity.attributes {
      guard let value = value(of: attribute, entity, old, source, &statements) else { continue }
      columns.append(attribute.name)
      values.append(value)
    }
    for relationship in entity.relationships where !relationship.toMany {
      guard let value = value(of: relationship, entity, kept) else { continue }
      columns.append(relationship.name)
      values.append(value)
    }
    for (toOne, toMany) in to.orderedInverses(of: entity) where keepsOrder(toOne, toMany, entity) {
      let column = SQLNames.positionColumn(toOne.name)
      let old = mapping.source(of: toOne, in: entity)?.name ?? toOne.name
      columns.append(column)
      values.append("cordial_o.\(SQLNames.quoted(SQLNames.positionColumn(old)))")
    }
    statements.append(
      "INSERT INTO \(table)(\(columns.map(SQLNames.quoted).joined(separator: ", "))) "
        + "SELECT \(values.joined(separator: ", ")) FROM \(source) AS cordial_o"
    )
    // The numbers of deleted objects are not given again.
    let former = SQLNames.literal(String(source.dropFirst().dropLast()))
    let sequence = "(SELECT seq FROM sqlite_sequence WHERE name = \(former))"
    let name = SQLNames.literal(entity.name)
    statements += [
      "DELETE FROM sqlite_sequence WHERE name = \(name)",
      "INSERT INTO sqlite_sequence(name, seq) "
        + "VALUES (\(name), max(coalesce(\(sequence), 0), \(entity.numbers.lowerBound - 1)))",
    ]
    steps.append(Step(title: "Create \(entity.name) from \(old.name)", statements: statements))
  }

  // MARK: Attributes

  /// Returns SQL for an attribute's value in the row `cordial_o` of the old table; nil for the
  /// default.
  private mutating func value(
    of attribute: AttributeDescription,
    _ entity: EntityDescription,
    _ old: EntityDescription,
    _ source: String,
    _ statements: inout [String]
  ) -> String? {
    // Derived values are computed when all tables exist; a time keeps its value.
    if let derived = attribute.derived, derived != .now { return nil }
    let path = "\(entity.name).\(attribute.name)"
    guard let found = mapping.source(of: .attribute(attribute), in: entity) else {
      if !attribute.optional, attribute.defaultValue == .null {
        check(
          "SELECT count(*) FROM \(SQLNames.quoted(old.name))",
          path,
          "objects would lack it: it is required and has no default"
        )
      }
      return nil
    }
    guard case .attribute(let before) = found else {
      problem(path, "It was a relationship, which cannot become an attribute")
      return nil
    }
    let column = "cordial_o.\(SQLNames.quoted(before.name))"
    guard let value = Self.converted(column, before.type, attribute.type) else {
      problem(path, "\(before.type.rawValue) is not converted to \(attribute.type.rawValue)")
      return nil
    }
    guard before.optional, !attribute.optional else { return value }
    guard let literal = SQLLiteral.text(attribute.defaultValue) else {
      let name = SQLNames.quoted(before.name)
      check(
        "SELECT count(*) FROM \(SQLNames.quoted(old.name)) WHERE \(name) IS NULL",
        path,
        "objects lack it: it becomes required and has no default"
      )
      return value
    }
    // The filled-in default is logged as an ordinary change.
    let was = SQLNames.literal(",\"\(attribute.name)\":null")
    statements.append(
      "INSERT INTO cordial_change(entity, object, kind, version, before) "
        + "SELECT \(old.number), \"_id\", 1, \"_version\", \(was) "
        + "FROM \(source) AS cordial_o WHERE \(column) IS NULL"
    )
    return "coalesce(\(value), \(literal))"
  }

  /// Returns SQL that converts a column to another type; nil if that type does not have all its
  /// values.
  static func converted(
    _ column: String,
    _ old: AttributeType,
    _ new: AttributeType
  ) -> String? {
    if old == new { return column }
    return switch new.codec.conversion(from: old) {
    case .unchanged?: column
    case .cast(let storage)?: "CAST(\(column) AS \(storage.rawValue))"
    case nil: nil
    }
  }
}
