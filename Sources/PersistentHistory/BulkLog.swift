package import ObjectModel
import SQLite
import StoreLayout

/// The log of many rows that one statement of ours changes, written by one statement too.
///
/// It is what the triggers would have written, at a third of their cost; whoever else writes to the
/// store fires the triggers as ever.
package enum BulkLog {
  /// Whether the triggers of an update do nothing but log it.
  ///
  /// - Parameters:
  ///   - entity: The entity whose table is updated.
  ///   - model: The store's model.
  /// - Returns: Whether nothing derived and no order follows from it.
  package static func suffices(for entity: EntityDescription, in model: Model) -> Bool {
    DerivedSchema(model).afterUpdate(of: entity).isEmpty
      && OrderSchema(model).afterUpdate(of: entity).isEmpty
  }

  /// Whether the triggers of an insert do nothing but log it.
  ///
  /// - Parameters:
  ///   - entity: The entity into whose table is inserted.
  ///   - model: The store's model.
  /// - Returns: Whether nothing derived and no order follows from it.
  package static func sufficesForInserts(into entity: EntityDescription, in model: Model) -> Bool {
    DerivedSchema(model).afterInsert(into: entity).isEmpty
      && OrderSchema(model).afterInsert(into: entity).isEmpty
  }

  /// The statement that logs the inserts of an entity between two numbers, which are its arguments.
  package static func insertion(of entity: EntityDescription) -> String {
    """
    INSERT INTO cordial_change(entity, object, kind, version)
    SELECT \(entity.number), "_id", \(ChangeKind.insert.rawValue), "_version"
    FROM \(SQLNames.quoted(entity.name)) WHERE "_id" BETWEEN ? AND ?
    """
  }

  /// The statement that logs inserts of an entity; its argument is a JSON list of numbers.
  package static func insertions(of entity: EntityDescription) -> String {
    """
    INSERT INTO cordial_change(entity, object, kind, version)
    SELECT \(entity.number), "_id", \(ChangeKind.insert.rawValue), "_version"
    FROM \(SQLNames.quoted(entity.name)) WHERE "_id" IN (SELECT value FROM json_each(?))
    """
  }

  /// Whether the triggers of a link table do nothing but log its rows.
  ///
  /// - Parameters:
  ///   - relationship: The relationship that keeps the link rows.
  ///   - model: The store's model.
  /// - Returns: Whether nothing derived and no order follows from it.
  package static func sufficesForLinks(
    of relationship: RelationshipDescription,
    in model: Model
  ) -> Bool {
    let keeper = model.entity(relationship.owner)
    return DerivedSchema(model).afterPair(relationship, of: keeper, row: "NEW", sign: "+").isEmpty
      && OrderSchema(model).pairTriggers(relationship, of: keeper).isEmpty
  }

  /// The statement that logs an inserted link row; its arguments are source and target.
  package static func link(of relationship: RelationshipDescription) -> String {
    """
    INSERT INTO cordial_change(entity, object, kind, before, other)
    VALUES (\(relationship.owner), ?1, \(ChangeKind.link.rawValue),
      \(SQLNames.literal(relationship.name)), ?2)
    """
  }

  /// The statement that logs increments of versions; its argument is a JSON list of numbers.
  package static func increments(of entity: EntityDescription) -> String {
    """
    INSERT INTO cordial_change(entity, object, kind, version, before)
    SELECT \(entity.number), "_id", \(ChangeKind.update.rawValue), "_version", ''
    FROM \(SQLNames.quoted(entity.name)) WHERE "_id" IN (SELECT value FROM json_each(?))
    """
  }

  /// What the log says of the values before.
  ///
  /// - Parameters:
  ///   - columns: Each column that is set, with its new value as SQL.
  ///   - entity: The entity.
  ///   - row: What the row is called, as `t.`
  /// - Returns: SQL; the values of each column's stand in it once.
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
