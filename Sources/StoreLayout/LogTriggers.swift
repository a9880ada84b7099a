package import ObjectModel
import SQLite

/// The kind of change that a row of `cordial_change` logs.
package enum ChangeKind: Int64, Sendable {
  case insert = 0
  case update = 1
  case delete = 2
  /// A link row was inserted.
  ///
  /// The column `other` has the target's number, and the column `before` has the relationship's
  /// name.
  case link = 3
  /// A link row was removed; the columns are those of `link`.
  case unlink = 4
}

/// The event of a member of an ordered to-many, which `cordial_change` logs with the member's
/// former sort position.
package enum MemberEvent: String, Sendable {
  case moved, left
}

/// The triggers that write the log.
///
/// Triggers use SQLite's built-in functions only, so that they also log the changes of external
/// SQLite clients.
package enum LogTriggers {
  /// The version of the triggers' form; a store with triggers of another version gets these
  /// triggers.
  package static let formatVersion = "3"

  /// Returns the triggers of one entity's table and of its link tables.
  package static func triggers(for entity: EntityDescription, in model: Model) -> [String] {
    let derived = DerivedSchema(model)
    let order = OrderSchema(model)
    let linkTriggers = entity.linkRelationships.flatMap {
      self.linkTriggers(entity, $0, derived, order) + order.linkTriggers($0, of: entity)
    }
    guard !entity.isAbstract else { return linkTriggers }
    return [
      insertion(entity, derived, order), displacement(entity, order),
      update(entity, derived, order),
      renumbering(entity), deletion(entity, derived, order),
    ] + derivedUpdate(entity) + order.moveTriggers(of: entity) + updateDisplacement(entity, order)
      + linkTriggers
  }

  private static let object = SQLNames.quoted(SQLNames.object)
  private static let version = SQLNames.quoted(SQLNames.version)

  private static func name(_ entity: EntityDescription, _ event: String) -> String {
    SQLNames.quoted("cordial_\(entity.name).\(event)")
  }

  private static func insertion(
    _ entity: EntityDescription,
    _ derived: DerivedSchema,
    _ order: OrderSchema
  ) -> String {
    let more = order.afterInsert(into: entity) + derived.afterInsert(into: entity)
    return """
      CREATE TRIGGER \(name(entity, "insert")) AFTER INSERT ON \(SQLNames.quoted(entity.name)) BEGIN
        INSERT INTO cordial_change(entity, object, kind, version)
        VALUES (\(entity.number), NEW.\(object), 0, NEW.\(version));
        \(more.joined(separator: "\n  "))
      END
      """
  }

  /// Returns the trigger that logs the rows that an `INSERT OR REPLACE` removes.
  ///
  /// SQLite fires no delete trigger for these rows. If a statement replaces nothing, sealing
  /// deletes the log rows of this trigger.
  private static func displacement(
    _ entity: EntityDescription,
    _ order: OrderSchema
  ) -> String {
    let table = SQLNames.quoted(entity.name)
    let condition = sameKeys(entity)
    return """
      CREATE TRIGGER \(name(entity, "displace")) BEFORE INSERT ON \(table)
      WHEN EXISTS (SELECT 1 FROM \(table) WHERE \(condition)) BEGIN
        \(logDisplaced(entity, order, where: condition))
      END
      """
  }

  /// Returns the trigger that logs the rows that an `UPDATE OR REPLACE` removes; see
  /// `displacement`.
  private static func updateDisplacement(
    _ entity: EntityDescription,
    _ order: OrderSchema
  ) -> [String] {
    let condition = "\(object) <> OLD.\(object) AND (" + sameKeys(entity) + ")"
    let table = SQLNames.quoted(entity.name)
    let columns = Set(uniqueKeys(entity).flatMap { $0 }).sorted().map(SQLNames.quoted)
    return [
      """
      CREATE TRIGGER \(name(entity, "displace_update")) BEFORE UPDATE OF \
      \(columns.joined(separator: ", ")) ON \(table)
      WHEN EXISTS (SELECT 1 FROM \(table) WHERE \(condition)) BEGIN
        \(logDisplaced(entity, order, where: condition))
      END
      """
    ]
  }

  /// Returns the sets of columns whose values are unique among the rows of a table.
  private static func uniqueKeys(_ entity: EntityDescription) -> [[String]] {
    [[SQLNames.object]] + (entity.identity.map { [[$0.name]] } ?? []) + entity.unique
  }

  /// Returns the SQL condition for the stored rows that the new row replaces.
  private static func sameKeys(_ entity: EntityDescription) -> String {
    uniqueKeys(entity).map { columns in
      let same = columns.map { "\(SQLNames.quoted($0)) = NEW.\(SQLNames.quoted($0))" }
      return "(\(same.joined(separator: " AND ")))"
    }.joined(separator: " OR ")
  }

  /// Returns the statements that log a deletion of each row that satisfies a condition.
  private static func logDisplaced(
    _ entity: EntityDescription,
    _ order: OrderSchema,
    where condition: String
  ) -> String {
    """
    \(order.removalStatements(of: entity, where: condition).joined(separator: "\n  "))
      INSERT INTO cordial_change(entity, object, kind, version, before)
      SELECT \(entity.number), \(object), 2, \(version), \(tombstone(entity, row: ""))
      FROM \(SQLNames.quoted(entity.name)) WHERE \(condition);
    """
  }

  /// Returns the trigger that logs the former values of the changed columns:
  /// `,"title":"Old","done":0`.
  private static func update(
    _ entity: EntityDescription,
    _ derived: DerivedSchema,
    _ order: OrderSchema
  ) -> String {
    let more = order.afterUpdate(of: entity) + derived.afterUpdate(of: entity)
    let written = entity.columns.filter { !entity.isDerived($0) }
    let columns = ([SQLNames.object, SQLNames.version] + written).map(SQLNames.quoted)
    let before = differences(entity, written)
    return """
      CREATE TRIGGER \(name(entity, "update")) AFTER UPDATE OF \(columns.joined(separator: ", "))
      ON \(SQLNames.quoted(entity.name)) BEGIN
        \(order.removalStatements(of: entity, event: "UPDATE").joined(separator: "\n  "))
        INSERT INTO cordial_change(entity, object, kind, version, before)
        VALUES (\(entity.number), NEW.\(object), 1, NEW.\(version), \(before));
        \(more.joined(separator: "\n  "))
      END
      """
  }

  /// Returns the trigger that logs changes of derived values.
  ///
  /// These changes have no version, because they do not increment the object's version.
  private static func derivedUpdate(_ entity: EntityDescription) -> [String] {
    let derived = entity.columns.filter { entity.isDerived($0) }
    guard !derived.isEmpty else { return [] }
    let columns = derived.map(SQLNames.quoted)
    let differs = columns.map { "OLD.\($0) IS NOT NEW.\($0)" }.joined(separator: " OR ")
    return [
      """
      CREATE TRIGGER \(name(entity, "derive")) AFTER UPDATE OF \(columns.joined(separator: ", "))
      ON \(SQLNames.quoted(entity.name)) WHEN \(differs) BEGIN
        INSERT INTO cordial_change(entity, object, kind, before)
        VALUES (\(entity.number), NEW.\(object), 1, \(differences(entity, derived)));
      END
      """
    ]
  }

  /// Returns SQL for the former values of the columns that differ.
  private static func differences(_ entity: EntityDescription, _ columns: [String]) -> String {
    let pieces = columns.map { column in
      let quoted = SQLNames.quoted(column)
      return difference(
        column,
        of: entity,
        row: "OLD.",
        when: "OLD.\(quoted) IS NOT NEW.\(quoted)"
      )
    }
    return pieces.isEmpty ? "''" : pieces.joined(separator: "\n      || ")
  }

  /// Returns SQL for the former value of a column if a condition is true, otherwise for an empty
  /// text.
  package static func difference(
    _ column: String,
    of entity: EntityDescription,
    row: String,
    when condition: String
  ) -> String {
    "CASE WHEN \(condition) THEN "
      + "\(SQLNames.literal(",\"\(column)\":")) || \(json(column, of: entity, row: row))"
      + " ELSE '' END"
  }

  /// Returns the trigger for an external client that changes the number of a row.
  ///
  /// Such a change deletes one object and inserts another.
  private static func renumbering(_ entity: EntityDescription) -> String {
    """
    CREATE TRIGGER \(name(entity, "renumber"))
    BEFORE UPDATE OF \(object) ON \(SQLNames.quoted(entity.name))
    WHEN OLD.\(object) IS NOT NEW.\(object) BEGIN
      INSERT INTO cordial_change(entity, object, kind, version, before) VALUES
        (\(entity.number), OLD.\(object), 2, OLD.\(version), \(tombstone(entity, row: "OLD.")));
      INSERT INTO cordial_change(entity, object, kind, version)
      VALUES (\(entity.number), NEW.\(object), 0, NEW.\(version));
    END
    """
  }

  private static func deletion(
    _ entity: EntityDescription,
    _ derived: DerivedSchema,
    _ order: OrderSchema
  ) -> String {
    """
    CREATE TRIGGER \(name(entity, "delete")) AFTER DELETE ON \(SQLNames.quoted(entity.name)) BEGIN
      \(order.removalStatements(of: entity, event: "DELETE").joined(separator: "\n  "))
      INSERT INTO cordial_change(entity, object, kind, version, before) VALUES
        (\(entity.number), OLD.\(object), 2, OLD.\(version), \(tombstone(entity, row: "OLD.")));
      \(derived.afterDelete(from: entity).joined(separator: "\n  "))
    END
    """
  }

  private static func linkTriggers(
    _ entity: EntityDescription,
    _ relationship: RelationshipDescription,
    _ derived: DerivedSchema,
    _ order: OrderSchema
  ) -> [String] {
    let removals = order.linkRemovalStatements(relationship, of: entity).joined(separator: "\n  ")
    let table = SQLNames.linkTable(entity, relationship.name)
    func entry(_ kind: ChangeKind, _ row: String) -> String {
      """
        INSERT INTO cordial_change(entity, object, kind, before, other)
        VALUES (\(entity.number), \(row).source, \(kind.rawValue), \
      \(SQLNames.literal(relationship.name)), \(row).target);
        \(derived.afterLink(relationship, of: entity, row: row, sign: kind == .link ? "+" : "-")
          .joined(separator: "\n  "))
      """
    }
    func trigger(_ event: String, _ body: String) -> String {
      "CREATE TRIGGER \(SQLNames.quoted("\(table).\(event.prefix(6).lowercased())")) "
        + "AFTER \(event) ON "
        + "\(SQLNames.quoted(table)) BEGIN\n\(body)\nEND"
    }
    return [
      trigger("INSERT", entry(.link, "NEW")),
      trigger("DELETE", removals + entry(.unlink, "OLD")),
      trigger(
        "UPDATE OF source, target",
        removals + entry(.unlink, "OLD") + "\n" + entry(.link, "NEW")
      ),
    ]
  }

  /// Returns SQL for every attribute and to-one of a row, in the form that `update` logs.
  package static func tombstone(_ entity: EntityDescription, row: String) -> String {
    let pieces = entity.columns.map { column in
      "\(SQLNames.literal(",\"\(column)\":")) || \(json(column, of: entity, row: row))"
    }
    return pieces.isEmpty ? "''" : pieces.joined(separator: "\n      || ")
  }

  /// Returns SQL for a column's value as JSON text.
  ///
  /// `json_quote` writes reals with 15 digits only, so `quote` writes them without loss.
  /// `json_quote` refuses blobs, so `hex` writes them.
  package static func json(_ column: String, of entity: EntityDescription, row: String) -> String {
    let type = entity.attributes.first { $0.name == column }?.type
    return json(row + SQLNames.quoted(column), type?.codec.storage)
  }

  /// Returns SQL for a value as JSON text; the storage class is nil for a to-one.
  package static func json(_ value: String, _ storage: ColumnStorage?) -> String {
    switch storage {
    case .text: return "json_quote(\(value))"
    case .blob:
      return "CASE WHEN \(value) IS NULL THEN 'null' ELSE '\"' || hex(\(value)) || '\"' END"
    case .real:
      return
        "CASE WHEN abs(\(value)) <= 1.7976931348623157e308 THEN quote(\(value)) ELSE 'null' END"
    // The column of a to-one stores an object number.
    case .integer, nil: return "coalesce(\(value), 'null')"
    }
  }
}
