package import ObjectModel
import SQLite

/// Places of the members of ordered to-manys: triggers put what is new at the end and log what
/// moved or left, with its place, as a change of the owner without a version.
package struct OrderSchema {
  private let model: Model

  package init(_ model: Model) {
    self.model = model
  }

  /// How far apart places are, so that something goes between two without moving others.
  package static let gap: Int64 = 65536

  /// Statements for the end of a trigger behind an insert into an entity's table.
  package func afterInsert(into entity: EntityDescription) -> [String] {
    model.orderedInverses(of: entity).map { toOne, _ in
      let place = "NEW.\(SQLNames.quoted(SQLNames.place(toOne.name)))"
      return append(entity, toOne, when: "\(place) IS NULL")
    }
  }

  /// Statements for the end of a trigger behind an update of an entity's table.
  package func afterUpdate(of entity: EntityDescription) -> [String] {
    model.orderedInverses(of: entity).map { toOne, _ in
      let column = SQLNames.quoted(toOne.name)
      let place = SQLNames.quoted(SQLNames.place(toOne.name))
      let condition = "OLD.\(column) IS NOT NEW.\(column)"
      // Who arrives did not move: its place among the members that it left goes first.
      return """
        UPDATE \(SQLNames.quoted(entity.name)) SET \(place) = NULL
        WHERE "_id" = NEW."_id" AND \(condition);
        \(append(entity, toOne, when: condition))
        """
    }
  }

  /// Puts a row at the end of its owner's members.
  private func append(
    _ entity: EntityDescription,
    _ toOne: RelationshipDescription,
    when condition: String
  ) -> String {
    let column = SQLNames.quoted(toOne.name)
    let place = SQLNames.quoted(SQLNames.place(toOne.name))
    // One query for each table, which its index answers at once.
    let last = model.entity(toOne.owner).place.kinds.map { kind in
      "coalesce((SELECT max(\(place)) FROM \(SQLNames.quoted(model.entity(kind).name)) "
        + "WHERE \(column) = NEW.\(column) AND \"_id\" <> NEW.\"_id\"), 0)"
    }
    let greatest = last.count == 1 ? last[0] : "max(\(last.joined(separator: ", ")))"
    return """
      UPDATE \(SQLNames.quoted(entity.name)) SET \(place) = CASE WHEN NEW.\(column) IS NOT NULL THEN
        \(greatest) + \(Self.gap) END
      WHERE "_id" = NEW."_id" AND \(condition);
      """
  }

  /// The triggers that log what moved among an owner's members.
  package func moves(of entity: EntityDescription) -> [String] {
    model.orderedInverses(of: entity).map { toOne, toMany in
      let place = SQLNames.quoted(SQLNames.place(toOne.name))
      let column = SQLNames.quoted(toOne.name)
      let name = SQLNames.quoted("cordial_\(entity.name).move.\(toOne.name)")
      return """
        CREATE TRIGGER \(name) AFTER UPDATE OF \(place) ON \(SQLNames.quoted(entity.name))
        WHEN OLD.\(place) IS NOT NULL AND NEW.\(place) IS NOT NULL
          AND OLD.\(place) IS NOT NEW.\(place) AND NEW.\(column) IS NOT NULL BEGIN
          INSERT INTO cordial_change(entity, object, kind, before, other)
          VALUES (\(toOne.destination), NEW.\(column), 1,
            \(before(toMany, .moved, "OLD.\(place)")), NEW."_id");
        END
        """
    }
  }

  /// Statements in front of what logs that a row left, or leaves, its owners' members: where it
  /// stood among them.
  package func departures(of entity: EntityDescription, event: String) -> [String] {
    model.orderedInverses(of: entity).map { toOne, toMany in
      let place = "OLD.\(SQLNames.quoted(SQLNames.place(toOne.name)))"
      let column = SQLNames.quoted(toOne.name)
      let differs = event == "UPDATE" ? " AND OLD.\(column) IS NOT NEW.\(column)" : ""
      return """
        INSERT INTO cordial_change(entity, object, kind, before, other)
        SELECT \(toOne.destination), OLD.\(column), 1, \(before(toMany, .left, place)), OLD."_id"
        WHERE OLD.\(column) IS NOT NULL AND \(place) IS NOT NULL\(differs);
        """
    }
  }

  /// The same for rows that a statement displaces.
  ///
  /// Sealing removes them where the statement displaces nothing.
  package func departures(of entity: EntityDescription, where condition: String) -> [String] {
    model.orderedInverses(of: entity).map { toOne, toMany in
      let place = SQLNames.quoted(SQLNames.place(toOne.name))
      let column = SQLNames.quoted(toOne.name)
      return """
        INSERT INTO cordial_change(entity, object, kind, before, other)
        SELECT \(toOne.destination), \(column), 1, \(before(toMany, .left, place)), "_id"
        FROM \(SQLNames.quoted(entity.name))
        WHERE (\(condition)) AND \(column) IS NOT NULL AND \(place) IS NOT NULL;
        """
    }
  }

  /// The same for a pair that goes.
  package func pairDepartures(
    _ relationship: RelationshipDescription,
    of keeper: EntityDescription
  ) -> [String] {
    sides(relationship, keeper).map { own, place, ordered, entity in
      let place = "OLD.\(SQLNames.quoted(place))"
      return """
        INSERT INTO cordial_change(entity, object, kind, before, other)
        SELECT \(entity), OLD.\(own), 1, \(before(ordered, .left, place)), OLD.\(opposite(own))
        WHERE \(place) IS NOT NULL;
        """
    }
  }

  /// The column of the other side's object.
  private func opposite(_ own: String) -> String { own == "source" ? "target" : "source" }

  /// The triggers that keep the places of pairs.
  package func pairTriggers(
    _ relationship: RelationshipDescription,
    of keeper: EntityDescription
  ) -> [String] {
    let table = SQLNames.pairs(keeper, relationship.name)
    var triggers: [String] = []
    for (own, place, ordered, entity) in sides(relationship, keeper) {
      let column = SQLNames.quoted(place)
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

  /// The columns of places that the table of a many-to-many has.
  package func pairColumns(
    _ relationship: RelationshipDescription,
    of keeper: EntityDescription
  ) -> [String] {
    sides(relationship, keeper).map(\.place)
  }

  /// The columns of the indexes that the table of a many-to-many has for its places.
  package func pairIndexes(
    _ relationship: RelationshipDescription,
    of keeper: EntityDescription
  ) -> [[String]] {
    sides(relationship, keeper).map { [$0.own, $0.place] }
  }

  /// The ordered ones of the two sides of a many-to-many: the column of the side's own object, that
  /// of the places among its members, the relationship, and the number of its entity.
  private func sides(
    _ relationship: RelationshipDescription,
    _ keeper: EntityDescription
  ) -> [(own: String, place: String, ordered: RelationshipDescription, entity: Int)] {
    var sides: [(own: String, place: String, ordered: RelationshipDescription, entity: Int)] = []
    if relationship.ordered {
      sides.append(("source", SQLNames.pairPlaces.ofTarget, relationship, keeper.number))
    }
    if let name = relationship.inverse,
      case .relationship(let inverse)? = model.entity(relationship.destination)
        .property(named: name), inverse.ordered
    {
      sides.append(
        ("target", SQLNames.pairPlaces.ofSource, inverse, relationship.destination)
      )
    }
    return sides
  }

  /// What the log says of a member of a to-many that moved or left: where it stood.
  private func before(
    _ toMany: RelationshipDescription,
    _ event: MemberEvent,
    _ place: String
  ) -> String {
    SQLNames.literal(",\"\(toMany.name)\":{\"\(event.rawValue)\":") + " || \(place) || '}'"
  }
}
