import ObjectModel
import PersistentHistory
import SQLite
import StoreLayout

/// The old links of relationships, and their new storage.
extension MigrationPlan {
  /// An old relationship that supplies the links of a new relationship.
  struct Origin {
    let relationship: RelationshipDescription
    /// Whether the old relationship became the inverse of the new relationship, because the old
    /// model had no relationship in the new direction.
    let reversed: Bool
  }

  /// Returns the old relationships that supply the links of a relationship, for an entity and its
  /// descendants.
  mutating func origins(
    of relationship: RelationshipDescription,
    in entity: EntityDescription
  ) -> [Origin] {
    var seen: Set<String> = []
    var origins: [Origin] = []
    for (kind, source) in sources(of: entity, without: relationship.name) {
      let property = PropertyDescription.relationship(relationship)
      guard let found = mapping.source(of: property, in: kind, from: source) else { continue }
      guard case .relationship(let old) = found else {
        problem("\(entity.name).\(relationship.name)", "It was an attribute")
        return []
      }
      guard mayReferenceOldTargets(old, relationship, entity),
        seen.insert("\(old.owner).\(old.name)").inserted
      else { continue }
      origins.append(Origin(relationship: old, reversed: false))
    }
    guard origins.isEmpty, let name = relationship.inverse else { return origins }
    // The old model may have had only the inverse of the relationship.
    for (kind, source) in sources(of: to.entity(relationship.destination), without: name) {
      guard let property = kind.property(named: name), case .relationship(let inverse) = property,
        case .relationship(let old)? = mapping.source(of: property, in: kind, from: source),
        mayReferenceOldTargets(old, inverse, kind),
        seen.insert("\(old.owner).\(old.name)").inserted
      else { continue }
      origins.append(Origin(relationship: old, reversed: true))
    }
    return origins
  }

  /// Returns each concrete entity among an entity and its descendants, paired with each old entity
  /// from which it is made.
  ///
  /// The result omits entities whose rules give the property.
  private func sources(
    of entity: EntityDescription,
    without property: String
  ) -> [(kind: EntityDescription, source: EntityDescription)] {
    entity.familyPosition.concreteEntities.map { to.entity($0) }
      .filter { mapping.rules[$0.number]?.gives(property) != true }
      .flatMap { kind in mapping.sources(of: kind).map { (kind, $0) } }
  }

  /// Returns whether a new relationship may reference targets of an old relationship, and adds a
  /// problem if not.
  private mutating func mayReferenceOldTargets(
    _ old: RelationshipDescription,
    _ relationship: RelationshipDescription,
    _ entity: EntityDescription
  ) -> Bool {
    guard usedRanges(old.destination, within: relationship.destination)?.isEmpty == true else {
      return true
    }
    // The destination entity itself may remain, even if the migration removes all its concrete
    // descendants.
    let target = mapping.target(of: from.entity(old.destination))
    if let target, to.isKind(target.number, of: relationship.destination) { return true }
    problem(
      "\(entity.name).\(relationship.name)",
      "It referenced \(from.entity(old.destination).name) and references "
        + "\(to.entity(relationship.destination).name) now"
    )
    return false
  }

  // MARK: Queries for links

  /// Returns a query for all links of a relationship, for an entity and its descendants.
  ///
  /// The links come from the old model and from rules. The result is nil if there are no such
  /// links. The query omits objects that are removed, and objects that now belong to a different
  /// entity. Its columns are:
  /// - `b`, an object that `a` references
  /// - `place`, the sort position of `b` among the members of `a`
  /// - `back`, the sort position of `a` among the members of `b`
  mutating func links(
    of relationship: RelationshipDescription,
    in entity: EntityDescription,
    _ kept: UnchangedTables
  ) -> String? {
    let queries = origins(of: relationship, in: entity).map { origin in
      let old = origin.relationship
      let (own, other) =
        origin.reversed ? (old.destination, old.owner) : (old.owner, old.destination)
      let ends = [
        newEnd("a", of: own, within: entity.number),
        newEnd("b", of: other, within: relationship.destination),
      ]
      let conditions = ends.compactMap(\.condition) + ungiven(relationship, entity, ends)
      let all = links(of: origin, kept).joined(separator: " UNION ALL ")
      guard !conditions.isEmpty || ends.contains(where: { $0.join != nil }) else { return all }
      let condition = conditions.isEmpty ? "" : " WHERE \(conditions.joined(separator: " AND "))"
      return "SELECT \(ends[0].number) AS a, \(ends[1].number) AS b, place, back "
        + "FROM (\(all)) AS cordial_e\(ends.compactMap(\.join).joined())\(condition)"
    }
    let all = queries + givenLinks(relationship, entity)
    return all.isEmpty ? nil : all.joined(separator: " UNION ALL ")
  }

  /// The SQL for the new object at one end of an old link.
  private struct NewEnd {
    let number: String
    /// The join that finds the number, nil if the object keeps its old number.
    let join: String?
    /// The condition that the new object belongs to the entity; nil if all new objects do.
    let condition: String?
  }

  private func newEnd(_ column: String, of old: Int, within entity: Int) -> NewEnd {
    guard mapping.isMoved(old) else {
      let condition = Self.condition("cordial_e.\(column)", in: usedRanges(old, within: entity))
      return NewEnd(number: "cordial_e.\(column)", join: nil, condition: condition)
    }
    let alias = "cordial_\(column)"
    return NewEnd(
      number: "\(alias).number",
      join: " JOIN \(PreparedTables.made) \(alias) ON \(alias).family = \(mapping.family(old)) "
        + "AND \(alias).old = cordial_e.\(column) AND \(alias).entity IN (\(kinds(entity)))",
      condition: nil
    )
  }

  /// Returns the conditions that exclude old links of objects whose links a rule gives.
  private func ungiven(
    _ relationship: RelationshipDescription,
    _ entity: EntityDescription,
    _ ends: [NewEnd]
  ) -> [String] {
    let given = givers(of: relationship, entity).map { giver, isReversed in
      let number = ends[isReversed ? 1 : 0].number
      let range = giver.numbers
      return "\(number) NOT BETWEEN \(range.lowerBound) AND \(range.upperBound)"
    }
    return given
  }

  /// Returns the entities whose rules give links of a relationship.
  ///
  /// `isReversed` is true if the rule gives the links through the inverse of the relationship.
  private func givers(
    of relationship: RelationshipDescription,
    _ entity: EntityDescription
  ) -> [(entity: EntityDescription, isReversed: Bool)] {
    func kinds(_ entity: EntityDescription, _ name: String) -> [EntityDescription] {
      entity.familyPosition.concreteEntities.map { to.entity($0) }
        .filter { mapping.rules[$0.number]?.gives(name) ?? false }
    }
    guard !mapping.rules.isEmpty else { return [] }
    let own = kinds(entity, relationship.name).map { ($0, false) }
    guard let inverse = relationship.inverse, !relationship.isSymmetric else { return own }
    return own + kinds(to.entity(relationship.destination), inverse).map { ($0, true) }
  }

  /// Returns queries for the links of a relationship that rules give.
  private func givenLinks(
    _ relationship: RelationshipDescription,
    _ entity: EntityDescription
  ) -> [String] {
    let givers = givers(of: relationship, entity)
    // A program supplies an ordered to-many as a list, which contains all links of the inverse
    // column and their order. The query therefore reads only these lists.
    let lists = givers.filter { giver, isReversed in
      mapping.rules[giver.number]?.isByProgram == true && !isReversed && relationship.ordered
        && relationship.storage == .inverseColumn
    }
    return (lists.isEmpty ? givers : lists).compactMap { giver, isReversed in
      let name = isReversed ? relationship.inverse ?? "" : relationship.name
      let (own, other) = isReversed ? ("b", "a") : ("a", "b")
      let place = isReversed ? "back AS place, place AS back" : "place, back"
      if givenLinks(of: giver).contains(where: { $0.name == name }) {
        return "SELECT a AS \(own), b AS \(other), \(place) "
          + "FROM \(PreparedTables.links(name, of: giver))"
      }
      guard givenColumns(of: giver).contains(name) else { return nil }
      let column = PreparedTables.column(name)
      return "SELECT number AS \(own), \(column) AS \(other), NULL AS place, NULL AS back "
        + "FROM \(PreparedTables.objects(of: giver)) WHERE \(column) IS NOT NULL"
    }
  }

  func links(of origin: Origin, _ kept: UnchangedTables) -> [String] {
    let old = origin.relationship
    switch old.storage {
    case .column:
      return columnLinks(old.name, of: old.owner, holdsOwner: !origin.reversed, kept)
    case .inverseColumn:
      return columnLinks(
        old.inverse ?? "",
        of: old.destination,
        holdsOwner: origin.reversed,
        kept
      )
    case .linkTable(let owningEntity, let name, _):
      let (own, other) = ownerIsSource(origin) ? ("source", "target") : ("target", "source")
      var ordered: [String] = []
      if case .relationship(let owned)? = from.entity(owningEntity).property(named: name) {
        ordered = OrderSchema(from).linkPositionColumns(owned, of: from.entity(owningEntity))
      }
      let places = [SQLNames.linkPositionColumns.ofTarget, SQLNames.linkPositionColumns.ofSource]
        .map { ordered.contains($0) ? SQLNames.quoted($0) : "NULL" }
      let (place, back) = own == "source" ? (places[0], places[1]) : (places[1], places[0])
      return [
        "SELECT \(own) AS a, \(other) AS b, \(place) AS place, \(back) AS back "
          + "FROM \(oldLinkTable(old, kept))"
      ]
    }
  }

  /// Returns whether the source of an origin's link rows is the owner of the new relationship.
  func ownerIsSource(_ origin: Origin) -> Bool {
    if case .linkTable(_, _, let owns) = origin.relationship.storage {
      owns != origin.reversed
    } else {
      true
    }
  }

  /// Returns queries for the links in a to-one's column.
  ///
  /// Column `a` is the object that has the to-one if `holdsOwner` is true, otherwise the referenced
  /// object.
  private func columnLinks(
    _ name: String,
    of entity: Int,
    holdsOwner: Bool,
    _ kept: UnchangedTables
  ) -> [String] {
    let column = SQLNames.quoted(name)
    let (own, other) = holdsOwner ? ("a", "b") : ("b", "a")
    return from.entity(entity).familyPosition.concreteEntities.map { kind in
      let kind = from.entity(kind)
      let hasPosition = from.positionColumns(of: kind).contains(SQLNames.positionColumn(name))
      let place = hasPosition ? SQLNames.quoted(SQLNames.positionColumn(name)) : "NULL"
      // The sort position is the position of the object with the to-one among the members of the
      // referenced object.
      let (forth, back) = holdsOwner ? ("NULL", place) : (place, "NULL")
      return "SELECT \"_id\" AS \(own), \(column) AS \(other), \(forth) AS place, "
        + "\(back) AS back FROM \(oldTable(kind, kept)) WHERE \(column) IS NOT NULL"
    }
  }

  // MARK: Order

  /// Returns whether the sort positions of a to-one's ordered inverse are copied with the to-one.
  func keepsOrder(
    _ toOne: RelationshipDescription,
    _ toMany: RelationshipDescription,
    _ entity: EntityDescription
  ) -> Bool {
    // If a rule makes objects of any member entity, all members get new sort positions.
    let members = to.entity(toOne.owner).familyPosition.concreteEntities
    guard !members.contains(where: { mapping.rules[$0] != nil }), !isGiven(toOne),
      let old = mapping.source(of: toOne, in: entity), !old.toMany,
      let owner = mapping.source(of: entity)
    else { return false }
    return from.positionColumns(of: owner).contains(SQLNames.positionColumn(old.name))
  }

  /// Returns whether no objects of an entity come from the old model.
  private func hasOnlyNewObjects(_ entity: EntityDescription) -> Bool {
    mapping.rules[entity.number] == nil && mapping.source(of: entity) == nil
  }

  /// Returns statements that set the sort positions of members whose old positions are not copied.
  mutating func order(_ kept: UnchangedTables) -> [String] {
    var statements: [String] = []
    for entity in to.concreteEntities {
      for (toOne, toMany) in to.orderedInverses(of: entity)
      where !hasOnlyNewObjects(entity) && !keepsOrder(toOne, toMany, entity) {
        let table = SQLNames.quoted(entity.name)
        let place = SQLNames.quoted(SQLNames.positionColumn(toOne.name))
        let column = SQLNames.quoted(toOne.name)
        let members = to.source(to.entity(toOne.owner))
        let old = links(of: toMany, in: to.entity(toMany.owner), kept)
        let join = old.map {
          " LEFT JOIN (\($0)) AS cordial_l ON cordial_l.b = cordial_m.\"_id\""
        }
        let order = old == nil ? "" : "cordial_l.place IS NULL, cordial_l.place, "
        let rank =
          "row_number() OVER (PARTITION BY cordial_m.\(column) ORDER BY \(order)cordial_m.\"_id\")"
        let number = "\(OrderSchema.gap) * \(rank)"
        let numbered =
          "SELECT cordial_m.\"_id\" AS member, \(number) AS place FROM \(members) AS cordial_m"
          + "\(join ?? "") WHERE cordial_m.\(column) IS NOT NULL"
        statements.append(
          "UPDATE \(table) SET \(place) = cordial_p.place FROM (\(numbered)) AS cordial_p "
            + "WHERE cordial_p.member = \(table).\"_id\""
        )
      }
    }
    return statements
  }

  /// Adds the step that creates a link table.
  mutating func rebuild(
    _ relationship: RelationshipDescription,
    of entity: EntityDescription,
    _ kept: UnchangedTables
  ) {
    let name = linkTableName(relationship)
    let table = SQLNames.quoted(name)
    var statements = [StoreSchema.linkTable(relationship, of: entity, to)]
    if let links = links(of: relationship, in: entity, kept) {
      let columns = OrderSchema(to).linkPositionColumns(relationship, of: entity)
      let values = columns.map { column in
        let own = column == SQLNames.linkPositionColumns.ofTarget ? "a" : "b"
        let other = own == "a" ? "b" : "a"
        let place = own == "a" ? "place" : "back"
        let order = "\(place) IS NULL, \(place), \(other)"
        return ", \(OrderSchema.gap) * row_number() OVER (PARTITION BY \(own) ORDER BY \(order))"
      }
      statements.append(
        "INSERT OR IGNORE INTO \(table)"
          + "(\((["source", "target"] + columns).joined(separator: ", "))) "
          + "SELECT a, b\(values.joined()) FROM (\(links))"
      )
    }
    steps.append(Step(title: "Create \(entity.name).\(relationship.name)", statements: statements))
  }
}
