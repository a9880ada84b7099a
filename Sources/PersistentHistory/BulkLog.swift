package import ObjectModel
import SQLite
import StoreLayout

/// The log of many rows that one statement of Cordial's changes, also written by one statement.
///
/// It equals the log that the triggers would write, at a third of their cost. For every other
/// writer, the triggers write the log.
package enum BulkLog {
  /// Returns whether the triggers of an update only log it.
  ///
  /// - Parameters:
  ///   - entity: The entity whose table is updated.
  ///   - model: The store's model.
  /// - Returns: Whether no derived value and no sort position depends on the update.
  package static func suffices(for entity: EntityDescription, in model: Model) -> Bool {
    DerivedSchema(model).afterUpdate(of: entity).isEmpty
      && OrderSchema(model).afterUpdate(of: entity).isEmpty
  }

  /// Returns whether the triggers of an insert only log it.
  ///
  /// - Parameters:
  ///   - entity: The entity of the inserted objects.
  ///   - model: The store's model.
  /// - Returns: Whether no derived value and no sort position depends on the insert.
  package static func sufficesForInserts(into entity: EntityDescription, in model: Model) -> Bool {
    DerivedSchema(model).afterInsert(into: entity).isEmpty
      && OrderSchema(model).afterInsert(into: entity).isEmpty
  }

  /// Returns the statement that logs the inserts of an entity between two numbers, its arguments.
  package static func insertion(of entity: EntityDescription) -> String {
    """
    INSERT INTO cordial_change(entity, object, kind, version)
    SELECT \(entity.number), "_id", \(ChangeKind.insert.rawValue), "_version"
    FROM \(SQLNames.quoted(entity.name)) WHERE "_id" BETWEEN ? AND ?
    """
  }

  /// Returns the statement that logs inserts of an entity; its argument is a JSON list of numbers.
  package static func insertions(of entity: EntityDescription) -> String {
    """
    INSERT INTO cordial_change(entity, object, kind, version)
    SELECT \(entity.number), "_id", \(ChangeKind.insert.rawValue), "_version"
    FROM \(SQLNames.quoted(entity.name)) WHERE "_id" IN (SELECT value FROM json_each(?))
    """
  }

  /// Returns whether the triggers of a link table only log its rows.
  ///
  /// - Parameters:
  ///   - relationship: The relationship that owns the link table.
  ///   - model: The store's model.
  /// - Returns: Whether no derived value and no sort position depends on the link rows.
  package static func sufficesForLinks(
    of relationship: RelationshipDescription,
    in model: Model
  ) -> Bool {
    let owningEntity = model.entity(relationship.owner)
    return DerivedSchema(model).afterLink(relationship, of: owningEntity, row: "NEW", sign: "+")
      .isEmpty
      && OrderSchema(model).linkTriggers(relationship, of: owningEntity).isEmpty
  }

  /// Returns the statement that logs an inserted link row; its arguments are source and target.
  package static func link(of relationship: RelationshipDescription) -> String {
    """
    INSERT INTO cordial_change(entity, object, kind, before, other)
    VALUES (\(relationship.owner), ?1, \(ChangeKind.link.rawValue),
      \(SQLNames.literal(relationship.name)), ?2)
    """
  }

  /// Returns the statement that logs increments of versions; its argument is a JSON list of
  /// numbers.
  package static func increments(of entity: EntityDescription) -> String {
    """
    INSERT INTO cordial_change(entity, object, kind, version, before)
    SELECT \(entity.number), "_id", \(ChangeKind.update.rawValue), "_version", ''
    FROM \(SQLNames.quoted(entity.name)) WHERE "_id" IN (SELECT value FROM json_each(?))
    """
  }

  /// Returns SQL for the former values that the log gets.
  ///
  /// - Parameters:
  ///   - columns: Each column that is set, with its new value as SQL.
  ///   - entity: The entity.
  ///   - row: The prefix of the row's columns, as `t.`.
  /// - Returns: SQL that contains the new value of each column once.
  package static func before(
    _ columns: [(name: String, value: String)],
    of entity: EntityDescription,
    row: String
  ) -> String {
    columns.map { name, value in
      LogTriggers.difference(
        name,
        of: entity,
        row: row,
        when: "\(row)\(SQLNames.quoted(name)) IS NOT \(value)"
      )
    }.joined(separator: " || ")
  }
}
