import ObjectModel
import PersistentHistory
import SQLite
import StoreLayout

/// The old links of relationships, and their new storage.
extension MigrationPlan {
  /// An old relationship that supplies the links of a new one.
  struct Origin {
    let relationship: RelationshipDescription
    /// Whether the old relationship is the inverse, because only the inverse existed.
    let reversed: Bool
  }

  /// Returns the old relationships that supply the links of a relationship of an entity and its
  /// descendants.
  mutating func origins(
    of relationship: RelationshipDescription,
    in entity: EntityDescription
  ) -> [Origin] {
    var seen: Set<String> = []
    var origins: [Origin] = []
    for kind in entity.familyPosition.concreteEntities {
      let kind = to.entity(kind)
      guard let found = mapping.source(of: .relationship(relationship), in: kind) else { continue }
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
    // The links of a new relationship may have existed from the other end only.
    for kind in to.entity(relationship.destination).familyPosition.concreteEntities {
      let kind = to.entity(kind)
      guard case .relationship(let inverse)? = kind.property(named: name),
        let old = mapping.source(of: inverse, in: kind), mayReferenceOldTargets(old, inverse, kind),
        seen.insert("\(old.owner).\(old.name)").inserted
      else { continue }
      origins.append(Origin(relationship: old, reversed: true))
    }
    return origins
  }

  /// Returns whether a relationship may still reference old targets, and adds a problem if not.
  private mutating func mayReferenceOldTargets(
    _ old: RelationshipDescription,
    _ relationship: RelationshipDescription,
    _ entity: EntityDescription
  ) -> Bool {
    guard remainingRanges(old.destination, within: relationship.destination)?.isEmpty == true else {
      return true
    }
    problem(
      "\(entity.name).\(relationship.name)",
      "It referenced \(from.entity(old.destination).name) and references "
        + "\(to.entity(relationship.destination).name) now"
    )
    return false
  }

  // MARK: Queries for links

  /// Returns a query for the old links of a relationship of an entity and its descendants.
  ///
  /// The query is nil when there were no links. It omits objects that now belong to another entity,
  /// or to none. Its columns are:
  /// - `a`, an object of the entity
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
      let conditions = [
        Self.condition("a", in: remainingRanges(own, within: entity.number)),
        Self.condition("b", in: remainingRanges(other, within: relationship.destination)),
      ].compactMap { $0 }
      let all = links(of: origin, kept).joined(separator: " UNION ALL ")
      guard !conditions.isEmpty else { return all }
      return "SELECT a, b, place, back FROM (\(all)) WHERE \(conditions.joined(separator: " AND "))"
    }
    return queries.isEmpty ? nil : queries.joined(separator: " UNION ALL ")
  }

  private func links(of origin: Origin, _ kept: UnchangedTables) -> [String] {
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

  /// Returns whether the object that has a relationship is the source of its old link rows.
  func ownerIsSource(_ origin: Origin) -> Bool {
    if case .linkTable(_, _, let owns) = origin.relationship.storage {
      owns != origin.reversed
    } else {
      true
    }
  }

  /// Returns queries for the links in a to-one's column; `a` is the object with the column, or the
  /// referenced object.
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
      // The sort position belongs to the object with the column, among the members of the other
      // object.
      let (forth, back) = holdsOwner ? ("NULL", place) : (place, "NULL")
      return "SELECT \"_id\" AS \(own), \(column) AS \(other), \(forth) AS place, "
        + "\(back) AS back FROM \(oldTable(kind, kept)) WHERE \(column) IS NOT NULL"
    }
  }

  // MARK: To-ones

  /// Adds a to-one's value to a row; a column that is left out has no value.
  mutating func addValue(
    of relationship: RelationshipDescription,
    _ entity: EntityDescription,
    _ kept: UnchangedTables,
    to row: inout NewRow
  ) {
    guard let members = links(of: relationship, in: entity, kept) else { return }
    if let old = mapping.source(of: relationship, in: entity), !old.toMany {
      let column = "cordial_o.\(SQLNames.quoted(old.name))"
      let ranges = remainingRanges(old.destination, within: relationship.destination)
      guard let condition = Self.condition(column, in: ranges) else {
        return row.add(column, to: relationship.name)
      }
      // The objects of a removed entity are deleted, and references to them become null.
      row.noteChange(
        of: old.name,
        when: "(\(column) IS NOT NULL AND NOT \(condition))",
        former: column
      )
      return row.add("CASE WHEN \(condition) THEN \(column) END", to: relationship.name)
    }
    var oldTables = kept
    oldTables.hasOldNames = true
    let before = links(of: relationship, in: entity, oldTables) ?? members
    check(
      "SELECT count(*) FROM (SELECT a FROM (\(before)) GROUP BY a HAVING count(*) > 1)",
      "\(entity.name).\(relationship.name)",
      "objects have several: it becomes a to-one"
    )
    row.add("(SELECT b FROM (\(members)) WHERE a = cordial_o.\"_id\")", to: relationship.name)
  }

  /// Adds checks for objects without a required to-one, even in tables that are kept unchanged.
  mutating func checkRequired(_ kept: UnchangedTables) {
    var oldTables = kept
    oldTables.hasOldNames = true
    for entity in to.concreteEntities {
      guard let old = mapping.source(of: entity), !old.isAbstract else { continue }
      for relationship in entity.relationships where !relationship.toMany && !relationship.optional
      {
        if let before = mapping.source(of: relationship, in: entity), !before.toMany,
          !before.optional, mayReferenceSameObjects(before, relationship)
        {
          continue
        }
        let links = links(of: relationship, in: entity, oldTables)
        // A target may be missing, if an external client deleted it.
        let targets = from.concreteEntities.filter { kind in
          mapping.target(of: kind).map { to.isKind($0.number, of: relationship.destination) }
            ?? false
        }
        .map { "SELECT \"_id\" FROM \(SQLNames.quoted($0.name))" }.joined(separator: " UNION ALL ")
        let condition =
          links.map {
            " WHERE \"_id\" NOT IN (SELECT a FROM (\($0)) "
              + "WHERE b IN (\(targets.isEmpty ? "NULL" : targets)))"
          } ?? ""
        check(
          "SELECT count(*) FROM \(SQLNames.quoted(old.name))\(condition)",
          "\(entity.name).\(relationship.name)",
          "objects lack it: it is required"
        )
      }
    }
  }

  /// Adds checks for links to existing objects that a relationship may no longer reference.
  ///
  /// Such links are not dropped silently.
  mutating func checkInvalidTargets(_ kept: UnchangedTables) {
    for entity in to.entities {
      for relationship in entity.relationships where relationship.owner == entity.number {
        for origin in origins(of: relationship, in: entity) where !origin.reversed {
          let old = origin.relationship
          let targets = from.entity(old.destination).familyPosition.concreteEntities.map {
            from.entity($0)
          }
          .filter { kind in
            mapping.target(of: kind)
              .map { !to.isKind($0.number, of: relationship.destination) } ?? false
          }
          guard !targets.isEmpty, let condition = Self.condition("b", in: targets.map(\.numbers))
          else {
            continue
          }
          var oldTables = kept
          oldTables.hasOldNames = true
          let all = links(of: origin, oldTables).joined(separator: " UNION ALL ")
          check(
            "SELECT count(*) FROM (\(all)) WHERE \(condition)",
            "\(entity.name).\(relationship.name)",
            "objects reference a \(targets.map(\.name).joined(separator: " or a ")), and must not"
          )
        }
      }
    }
  }

  // MARK: Order

  /// Returns whether the sort positions of a to-one's ordered inverse are copied with the to-one.
  func keepsOrder(
    _ toOne: RelationshipDescription,
    _ toMany: RelationshipDescription,
    _ entity: EntityDescription
  ) -> Bool {
    guard let old = mapping.source(of: toOne, in: entity), !old.toMany,
      let owner = mapping.source(of: entity)
    else { return false }
    return from.positionColumns(of: owner).contains(SQLNames.positionColumn(old.name))
  }

  /// Returns statements that number the members of to-manys that were not ordered, or ordered
  /// otherwise.
  mutating func order(_ kept: UnchangedTables) -> [String] {
    var statements: [String] = []
    for entity in to.concreteEntities {
      for (toOne, toMany) in to.orderedInverses(of: entity)
      where mapping.source(of: entity) != nil && !keepsOrder(toOne, toMany, entity) {
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
