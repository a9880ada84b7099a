package import ObjectModel
import SQLite
import StoreLayout

/// The statements that log Cordial's own bulk changes, during which the triggers are off.
///
/// These statements write the same log rows as the triggers, at a third of the cost. The triggers
/// log all other changes.
package enum BulkLog {
  /// Returns whether logging is the only effect of an update's triggers.
  ///
  /// - Parameters:
  ///   - entity: The entity whose table is updated.
  ///   - model: The store's model.
  /// - Returns: Whether no derived value and no sort position depends on the update.
  package static func suffices(for entity: EntityDescription, in model: Model) -> Bool {
    DerivedSchema(model).afterUpdate(of: entity).isEmpty
      && OrderSchema(model).afterUpdate(of: entity).isEmpty
  }

  /// Returns whether logging is the only effect of an insert's triggers.
  ///
  /// - Parameters:
  ///   - entity: The entity of the inserted objects.
  ///   - model: The store's model.
  /// - Returns: Whether no derived value and no sort position depends on the insert.
  package static func sufficesForInserts(into entity: EntityDescription, in model: Model) -> Bool {
    DerivedSchema(model).afterInsert(into: entity).isEmpty
      && OrderSchema(model).afterInsert(into: entity).isEmpty
  }

  /// Returns the statement that logs the inserts of an entity; its arguments are the first and the
  /// last object number.
  package static func insertion(of entity: EntityDescription) -> String {
    """
    INSERT INTO cordial_change(entity, object, kind, version)
    SELECT \(entity.number), "_id", \(ChangeKind.insert.rawValue), "_version"
    FROM \(SQLNames.quoted(entity.name)) WHERE "_id" BETWEEN ? AND ?
    """
  }

  /// Returns the statement that logs inserts of an entity; its argument is a JSON list of object
  /// numbers.
  package static func insertions(of entity: EntityDescription) -> String {
    """
    INSERT INTO cordial_change(entity, object, kind, version)
    SELECT \(entity.number), "_id", \(ChangeKind.insert.rawValue), "_version"
    FROM \(SQLNames.quoted(entity.name)) WHERE "_id" IN (SELECT value FROM json_each(?))
    """
  }

  /// Returns whether logging is the only effect of a link table's triggers.
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

  /// Returns the statement that logs version increments; its argument is a JSON list of object
  /// numbers.
  package static func increments(of entity: EntityDescription) -> String {
    """
    INSERT INTO cordial_change(entity, object, kind, version, before)
    SELECT \(entity.number), "_id", \(ChangeKind.update.rawValue), "_version", ''
    FROM \(SQLNames.quoted(entity.name)) WHERE "_id" IN (SELECT value FROM json_each(?))
    """
  }

  /// Returns SQL for the former values in the log row of an update.
  ///
  /// - Parameters:
  ///   - columns: Each column that is set, with its new value as SQL.
  ///   - entity: The entity.
  ///   - row: The prefix of the row's columns, such as `t.`.
  /// - Returns: An SQL expression that contains each `value` exactly once.
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
