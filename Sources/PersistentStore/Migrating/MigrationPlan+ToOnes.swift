import ObjectModel
import SQLite
import StoreLayout

/// The to-ones of a migrated entity.
extension MigrationPlan {
  /// Adds a to-one's value to a row.
  ///
  /// If the to-one has no links in the old model, the row gets no value, and the column is null.
  mutating func addValue(
    of relationship: RelationshipDescription,
    _ entity: EntityDescription,
    from source: EntityDescription,
    _ kept: UnchangedTables,
    to row: inout NewRow
  ) {
    guard let members = links(of: relationship, in: entity, kept) else { return }
    let property = PropertyDescription.relationship(relationship)
    if case .relationship(let old)? = mapping.source(of: property, in: entity, from: source),
      !old.toMany, !isGiven(relationship)
    {
      let column = "cordial_o.\(SQLNames.quoted(old.name))"
      let value = translated(column, of: old.destination, within: relationship.destination)
      guard value != column else { return row.add(column, to: relationship.name) }
      // The objects of a removed entity are deleted, and references to them become null.
      row.noteChange(of: old.name, when: "\(column) IS NOT \(value)", former: column)
      return row.add(value, to: relationship.name)
    }
    var oldTables = kept
    oldTables.hasOldNames = true
    let before = links(of: relationship, in: entity, oldTables) ?? members
    check(
      "SELECT count(*) FROM (SELECT a FROM (\(before)) GROUP BY a HAVING count(*) > 1)",
      "\(entity.name).\(relationship.name)",
      "objects have several: it becomes a to-one"
    )
    row.add("(SELECT b FROM (\(members)) WHERE a = \(row.number))", to: relationship.name)
  }

  /// Adds checks for objects without a required to-one, even in tables that are kept unchanged.
  mutating func checkRequired(_ kept: UnchangedTables) {
    var oldTables = kept
    oldTables.hasOldNames = true
    for entity in to.concreteEntities {
      for relationship in entity.relationships
      where !relationship.toMany && !relationship.optional && dependsOnRules(relationship, entity) {
        checkRequiredLate(relationship, entity)
      }
      guard let old = mapping.source(of: entity), !old.isAbstract else { continue }
      for relationship in entity.relationships
      where !relationship.toMany && !relationship.optional
        && !dependsOnRules(relationship, entity)
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

  /// Returns whether rules may change the objects, the targets or the links of a relationship.
  private func dependsOnRules(
    _ relationship: RelationshipDescription,
    _ entity: EntityDescription
  ) -> Bool {
    guard !mapping.rules.isEmpty else { return false }
    let destination = to.entity(relationship.destination)
    return mapping.rules[entity.number] != nil || isGiven(relationship)
      || destination.familyPosition.concreteEntities.contains { kind in
        mapping.rules[kind] != nil
          || mapping.source(of: to.entity(kind)).map { mapping.isMoved($0.number) } ?? false
      }
  }

  /// Adds a check for objects of the new table that lack a required to-one; the check runs after
  /// all steps.
  private mutating func checkRequiredLate(
    _ relationship: RelationshipDescription,
    _ entity: EntityDescription
  ) {
    let condition: String
    if relationship.isColumn {
      condition = "\(SQLNames.quoted(relationship.name)) IS NULL"
    } else {
      let destination = to.source(to.entity(relationship.destination))
      condition =
        "\"_id\" NOT IN (SELECT \(SQLNames.quoted(relationship.inverse ?? "")) "
        + "FROM \(destination) d WHERE \(SQLNames.quoted(relationship.inverse ?? "")) NOT NULL)"
    }
    let rows = "FROM \(SQLNames.quoted(entity.name)) WHERE \(condition)"
    lateChecks.append(
      Check(
        sql: "SELECT count(*) \(rows)",
        path: "\(entity.name).\(relationship.name)",
        message: "objects lack it: it is required",
        examples: "SELECT \"_id\", 'null' \(rows) ORDER BY \"_id\" LIMIT 5"
      )
    )
  }

  /// Adds checks for links to remaining objects that the new relationship may not reference.
  ///
  /// Without these checks, the migration would remove such links silently.
  mutating func checkInvalidTargets(_ kept: UnchangedTables) {
    for entity in to.entities {
      for relationship in entity.relationships where relationship.owner == entity.number {
        for origin in origins(of: relationship, in: entity) where !origin.reversed {
          let old = origin.relationship
          let targets = from.entity(old.destination).familyPosition.concreteEntities.map {
            from.entity($0)
          }
          .filter { kind in
            let takers = mapping.takers(of: kind)
            return !takers.isEmpty
              && !takers.contains { to.isKind($0.number, of: relationship.destination) }
          }
          var oldTables = kept
          oldTables.hasOldNames = true
          let all = links(of: origin, oldTables).joined(separator: " UNION ALL ")
          if !givesUpEverything, mapping.isMoved(old.destination) {
            checkLostReferences(of: relationship, entity, old, all)
          }
          guard !targets.isEmpty, let condition = Self.condition("b", in: targets.map(\.numbers))
          else {
            continue
          }
          check(
            "SELECT count(*) FROM (\(all)) WHERE \(condition)",
            "\(entity.name).\(relationship.name)",
            "objects reference a \(targets.map(\.name).joined(separator: " or a ")), and must not"
          )
        }
      }
    }
  }

  /// Adds a check for references that the migration would remove.
  ///
  /// A reference is removed if the relationship may reference none of the objects that are made of
  /// the old target.
  private mutating func checkLostReferences(
    of relationship: RelationshipDescription,
    _ entity: EntityDescription,
    _ old: RelationshipDescription,
    _ links: String
  ) {
    let made =
      "SELECT old FROM \(PreparedTables.made) WHERE family = \(mapping.family(old.destination))"
    check(
      "SELECT count(*) FROM (\(links)) WHERE b IN (\(made)) "
        + "AND b NOT IN (\(made) AND entity IN (\(kinds(relationship.destination))))",
      "\(entity.name).\(relationship.name)",
      "references would be removed, because their objects become no "
        + to.entity(relationship.destination).name
    )
  }
}
