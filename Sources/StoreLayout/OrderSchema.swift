package import ObjectModel
import SQLite

/// The sort positions of the members of ordered to-manys.
///
/// Triggers append new members. When a member moves within its list or leaves the list, triggers
/// log the member's former sort position. The log row is an update of the owner without a version.
package struct OrderSchema {
  private let model: Model

  package init(_ model: Model) {
    self.model = model
  }

  /// The distance between sort positions, so that a new member fits between two adjacent members
  /// whose sort positions stay unchanged.
  package static let gap: Int64 = 65536

  /// Returns the statements for the end of the trigger after an insert into an entity's table.
  package func afterInsert(into entity: EntityDescription) -> [String] {
    model.orderedInverses(of: entity).map { toOne, _ in
      let position = "NEW.\(SQLNames.quoted(SQLNames.positionColumn(toOne.name)))"
      return append(entity, toOne, when: "\(position) IS NULL")
    }
  }

  /// Returns the statements for the end of the trigger after an update of an entity's table.
  package func afterUpdate(of entity: EntityDescription) -> [String] {
    model.orderedInverses(of: entity).map { toOne, _ in
      let column = SQLNames.quoted(toOne.name)
      let position = SQLNames.quoted(SQLNames.positionColumn(toOne.name))
      let condition = "OLD.\(column) IS NOT NEW.\(column)"
      // The trigger first clears the member's former sort position, so that a member that joins a
      // list is not logged as moved within the list.
      return """
        UPDATE \(SQLNames.quoted(entity.name)) SET \(position) = NULL
        WHERE "_id" = NEW."_id" AND \(condition);
        \(append(entity, toOne, when: condition))
        """
    }
  }

  /// Returns the statement that puts a row at the end of its owner's members.
  private func append(
    _ entity: EntityDescription,
    _ toOne: RelationshipDescription,
    when condition: String
  ) -> String {
    let column = SQLNames.quoted(toOne.name)
    let position = SQLNames.quoted(SQLNames.positionColumn(toOne.name))
    // Each table has its own query, so that the query uses the table's index.
    let last = model.entity(toOne.owner).familyPosition.concreteEntities.map { kind in
      "coalesce((SELECT max(\(position)) FROM \(SQLNames.quoted(model.entity(kind).name)) "
        + "WHERE \(column) = NEW.\(column) AND \"_id\" <> NEW.\"_id\"), 0)"
    }
    let greatest = last.count == 1 ? last[0] : "max(\(last.joined(separator: ", ")))"
    return """
      UPDATE \(SQLNames.quoted(entity.name)) \
      SET \(position) = CASE WHEN NEW.\(column) IS NOT NULL THEN
        \(greatest) + \(Self.gap) END
      WHERE "_id" = NEW."_id" AND \(condition);
      """
  }

  /// Returns the triggers that log moves among an owner's members.
  package func moveTriggers(of entity: EntityDescription) -> [String] {
    model.orderedInverses(of: entity).map { toOne, toMany in
      let position = SQLNames.quoted(SQLNames.positionColumn(toOne.name))
      let column = SQLNames.quoted(toOne.name)
      let name = SQLNames.quoted("cordial_\(entity.name).move.\(toOne.name)")
      return """
        CREATE TRIGGER \(name) AFTER UPDATE OF \(position) ON \(SQLNames.quoted(entity.name))
        WHEN OLD.\(position) IS NOT NULL AND NEW.\(position) IS NOT NULL
          AND OLD.\(position) IS NOT NEW.\(position) AND NEW.\(column) IS NOT NULL BEGIN
          INSERT INTO cordial_change(entity, object, kind, before, other)
          VALUES (\(toOne.destination), NEW.\(column), 1,
            \(before(toMany, .moved, "OLD.\(position)")), NEW."_id");
        END
        """
    }
  }

  /// Returns the statements that log the sort position of a row that leaves its owners' lists.
  ///
  /// A trigger runs these statements before the statement that logs the row's change.
  package func removalStatements(of entity: EntityDescription, event: String) -> [String] {
    model.orderedInverses(of: entity).map { toOne, toMany in
      let position = "OLD.\(SQLNames.quoted(SQLNames.positionColumn(toOne.name)))"
      let column = SQLNames.quoted(toOne.name)
      let differs = event == "UPDATE" ? " AND OLD.\(column) IS NOT NEW.\(column)" : ""
      return """
        INSERT INTO cordial_change(entity, object, kind, before, other)
        SELECT \(toOne.destination), OLD.\(column), 1, \(before(toMany, .left, position)), OLD."_id"
        WHERE OLD.\(column) IS NOT NULL AND \(position) IS NOT NULL\(differs);
        """
    }
  }

  /// Returns the statements that log the sort positions of rows that a `REPLACE` may remove.
  ///
  /// If the `REPLACE` removes no row, sealing deletes the log rows of these statements.
  package func removalStatements(of entity: EntityDescription, where condition: String) -> [String]
  {
    model.orderedInverses(of: entity).map { toOne, toMany in
      let position = SQLNames.quoted(SQLNames.positionColumn(toOne.name))
      let column = SQLNames.quoted(toOne.name)
      return """
        INSERT INTO cordial_change(entity, object, kind, before, other)
        SELECT \(toOne.destination), \(column), 1, \(before(toMany, .left, position)), "_id"
        FROM \(SQLNames.quoted(entity.name))
        WHERE (\(condition)) AND \(column) IS NOT NULL AND \(position) IS NOT NULL;
        """
    }
  }

  /// Returns the statements that log the sort positions of a link row that is deleted or updated.
  package func linkRemovalStatements(
    _ relationship: RelationshipDescription,
    of owningEntity: EntityDescription
  ) -> [String] {
    sides(relationship, owningEntity).map { own, position, ordered, entity in
      let position = "OLD.\(SQLNames.quoted(position))"
      return """
        INSERT INTO cordial_change(entity, object, kind, before, other)
        SELECT \(entity), OLD.\(own), 1, \(before(ordered, .left, position)), OLD.\(opposite(own))
        WHERE \(position) IS NOT NULL;
        """
    }
  }

  /// Returns the column of the object at the other end of a link row.
  private func opposite(_ own: String) -> String { own == "source" ? "target" : "source" }

  /// Returns the triggers that set and log the sort positions of link rows.
  package func linkTriggers(
    _ relationship: RelationshipDescription,
    of owningEntity: EntityDescription
  ) -> [String] {
    let table = SQLNames.linkTable(owningEntity, relationship.name)
    var triggers: [String] = []
    for (own, position, ordered, entity) in sides(relationship, owningEntity) {
      let column = SQLNames.quoted(position)
      let name = SQLNames.quoted(table)
      triggers.append(
        """
        CREATE TRIGGER \(SQLNames.quoted("\(table).append.\(own)")) AFTER INSERT ON \(name)
        WHEN NEW.\(column) IS NULL BEGIN
          UPDATE \(name) SET \(column) = \(Self.gap) + coalesce(
            (SELECT max(\(column)) FROM \(name) WHERE \(own) = NEW.\(own)), 0)
          WHERE source = NEW.source AND target = NEW.target;
        END
        """
      )
      triggers.append(
        """
        CREATE TRIGGER \(SQLNames.quoted("\(table).move.\(own)")) AFTER UPDATE OF \(column)
        ON \(name) WHEN OLD.\(column) IS NOT NULL AND OLD.\(column) IS NOT NEW.\(column) BEGIN
          INSERT INTO cordial_change(entity, object, kind, before, other)
          VALUES (\(entity), NEW.\(own), 1,
            \(before(ordered, .moved, "OLD.\(column)")), NEW.\(opposite(own)));
        END
        """
      )
    }
    return triggers
  }

  /// Returns the columns of sort positions in the table of a many-to-many.
  package func linkPositionColumns(
    _ relationship: RelationshipDescription,
    of owningEntity: EntityDescription
  ) -> [String] {
    sides(relationship, owningEntity).map(\.position)
  }

  /// Returns the columns of the indexes on sort positions in the table of a many-to-many.
  package func linkPositionIndexes(
    _ relationship: RelationshipDescription,
    of owningEntity: EntityDescription
  ) -> [[String]] {
    sides(relationship, owningEntity).map { [$0.own, $0.position] }
  }

  /// Returns the ordered sides of a many-to-many.
  ///
  /// `own` is the column of the side's object. `position` is the column of the sort positions among
  /// the members of this object. `ordered` is the relationship, and `entity` is the number of its
  /// entity.
  private func sides(
    _ relationship: RelationshipDescription,
    _ owningEntity: EntityDescription
  ) -> [(own: String, position: String, ordered: RelationshipDescription, entity: Int)] {
    var sides: [(own: String, position: String, ordered: RelationshipDescription, entity: Int)] = []
    if relationship.ordered {
      sides.append(
        ("source", SQLNames.linkPositionColumns.ofTarget, relationship, owningEntity.number)
      )
    }
    if let name = relationship.inverse,
      case .relationship(let inverse)? = model.entity(relationship.destination)
        .property(named: name), inverse.ordered
    {
      sides.append(
        ("target", SQLNames.linkPositionColumns.ofSource, inverse, relationship.destination)
      )
    }
    return sides
  }

  /// Returns SQL for the `before` text of a log row: the to-many, the event of a member, and the
  /// member's sort position before the event.
  private func before(
    _ toMany: RelationshipDescription,
    _ event: MemberEvent,
    _ position: String
  ) -> String {
    SQLNames.literal(",\"\(toMany.name)\":{\"\(event.rawValue)\":") + " || \(position) || '}'"
  }
}
