import ObjectModel
import PersistentHistory
import SQLite
import StoreLayout

/// The tables of entities with rules, and the log of their objects.
extension MigrationPlan {
  /// Adds the step that creates the table of an entity from the prepared values and old tables.
  mutating func rebuild(
    _ entity: EntityDescription,
    _ rule: EntityRule,
    _ kept: UnchangedTables
  ) {
    var statements = [StoreSchema.table(for: entity, to)]
    for old in mapping.sources(of: entity) {
      statements += copies(of: old, to: entity, rule, kept)
    }
    if rule.isByProgram { statements.append(copyOfNewObjects(entity)) }
    let own = mapping.source(of: entity).map { oldTable($0, kept) }
    statements += sequence(of: entity, after: own)
    steps.append(Step(title: "Create \(entity.name) by the map", statements: statements))
  }

  /// Returns statements that copy the objects made of one old entity.
  ///
  /// For objects that stay in their entity, the statements also log the changes.
  private mutating func copies(
    of old: EntityDescription,
    to entity: EntityDescription,
    _ rule: EntityRule,
    _ kept: UnchangedTables
  ) -> [String] {
    let stays = mapping.source(of: entity)?.number == old.number
    var row = NewRow()
    row.number = "cordial_m.number"
    for attribute in entity.attributes {
      guard rule.gives(attribute.name), attribute.derived == nil else {
        addValue(of: attribute, entity, old, to: &row)
        continue
      }
      let value = "cordial_m.\(PreparedTables.column(attribute.name))"
      noteChange(of: .attribute(attribute), entity, old, value, in: &row)
      row.add(value, to: attribute.name)
    }
    for relationship in entity.relationships where !relationship.toMany {
      guard rule.gives(relationship.name), relationship.isColumn else {
        addValue(of: relationship, entity, from: old, kept, to: &row)
        continue
      }
      let value = "cordial_m.\(PreparedTables.column(relationship.name))"
      noteChange(of: .relationship(relationship), entity, old, value, in: &row)
      row.add(value, to: relationship.name)
    }
    let columns = [SQLNames.object, SQLNames.version] + row.columns
    let version = stays ? "cordial_o.\(SQLNames.quoted(SQLNames.version)) + 1" : "1"
    let rows =
      "FROM \(PreparedTables.objects(of: entity)) AS cordial_m "
      + "JOIN \(oldTable(old, kept)) AS cordial_o ON cordial_o.\"_id\" = cordial_m.old "
      + "WHERE cordial_m.source = \(old.number)"
    let entries =
      "INSERT INTO cordial_change(entity, object, kind, version, before) "
      + "SELECT \(old.number), cordial_m.number, 1, \(version), \(row.before) \(rows)"
    let copies =
      "INSERT INTO \(SQLNames.quoted(entity.name))"
      + "(\(columns.map(SQLNames.quoted).joined(separator: ", "))) "
      + "SELECT \(([row.number, version] + row.values).joined(separator: ", ")) \(rows)"
    return stays ? [entries, copies] : [copies]
  }

  /// Records that a rule may change a property's value, if the old property has the same type or
  /// destination.
  private func noteChange(
    of property: PropertyDescription,
    _ entity: EntityDescription,
    _ old: EntityDescription,
    _ value: String,
    in row: inout NewRow
  ) {
    guard let source = mapping.source(of: property, in: entity, from: old) else { return }
    let column = "cordial_o.\(SQLNames.quoted(source.name))"
    switch (source, property) {
    case (.attribute(let before), .attribute(let attribute)) where before.type == attribute.type:
      row.noteChange(
        of: before.name,
        when: "\(column) IS NOT \(value)",
        former: LogTriggers.json(column, before.type.codec.storage)
      )
    case (.relationship(let before), .relationship(let relationship))
    where !before.toMany
      && mapping.target(of: from.entity(before.destination))?.number == relationship.destination:
      row.noteChange(
        of: before.name,
        when: "\(column) IS NOT \(value)",
        former: LogTriggers.json(column, nil)
      )
    // The log reads former values as the new type, so a value of a different type or destination is
    // not logged.
    default: break
    }
  }

  /// Returns the statement that inserts the objects that a program made without an old object.
  private func copyOfNewObjects(_ entity: EntityDescription) -> String {
    let given = givenColumns(of: entity)
    let columns = [SQLNames.object, SQLNames.version] + given
    let values = ["number", "1"] + given.map(PreparedTables.column)
    return "INSERT INTO \(SQLNames.quoted(entity.name))"
      + "(\(columns.map(SQLNames.quoted).joined(separator: ", "))) "
      + "SELECT \(values.joined(separator: ", ")) FROM \(PreparedTables.objects(of: entity)) "
      + "WHERE source = 0"
  }

  /// Returns statements that log the new objects, the new links and the removed links.
  func newEntries(_ kept: UnchangedTables) -> [String] {
    guard !mapping.rules.isEmpty else { return [] }
    var statements = objectEntries()
    for entity in to.entities {
      for relationship in entity.linkRelationships
      where !kept.linkTables.contains(linkTableName(relationship)) {
        statements += linkEntries(relationship, of: entity, kept)
      }
    }
    return statements
  }

  private func objectEntries() -> [String] {
    to.concreteEntities.filter { mapping.rules[$0.number] != nil }.map { entity in
      let own = mapping.source(of: entity)?.number ?? -1
      return "INSERT INTO cordial_change(entity, object, kind, version) "
        + "SELECT \(entity.number), number, 0, 1 FROM \(PreparedTables.objects(of: entity)) "
        + "WHERE source <> \(own) ORDER BY number"
    }
  }

  /// Returns statements that log the differences between the old and the new links of a
  /// relationship.
  ///
  /// The statements compare only with old relationships that connect the same two entities.
  private func linkEntries(
    _ relationship: RelationshipDescription,
    of entity: EntityDescription,
    _ kept: UnchangedTables
  ) -> [String] {
    let origins = formerRelationships(relationship, of: entity).filter { old in
      mapping.target(of: from.entity(old.owner))?.number == entity.number
        && mapping.target(of: from.entity(old.destination))?.number == relationship.destination
    }
    .map { Origin(relationship: $0, reversed: false) }
    let before = origins.flatMap { links(of: $0, kept) }.map { "SELECT a, b FROM (\($0))" }
    let old = before.isEmpty ? "SELECT NULL, NULL" : before.joined(separator: " UNION ")
    let new =
      "SELECT source AS a, target AS b FROM \(SQLNames.quoted(linkTableName(relationship)))"
    func entries(_ kind: ChangeKind, _ rows: String, without others: String) -> String {
      "INSERT INTO cordial_change(entity, object, kind, before, other) "
        + "SELECT \(entity.number), a, \(kind.rawValue), \(SQLNames.literal(relationship.name)), b "
        + "FROM (SELECT * FROM (\(rows)) EXCEPT SELECT * FROM (\(others)))"
    }
    return (before.isEmpty ? [] : [entries(.unlink, old, without: new)])
      + [entries(.link, new, without: old)]
  }

  /// Returns the old relationships that correspond to a relationship, even if rules give its links.
  private func formerRelationships(
    _ relationship: RelationshipDescription,
    of entity: EntityDescription
  ) -> [RelationshipDescription] {
    var seen: Set<String> = []
    return entity.familyPosition.concreteEntities.compactMap { kind in
      guard let old = mapping.source(of: relationship, in: to.entity(kind)),
        seen.insert("\(old.owner).\(old.name)").inserted
      else { return nil }
      return old
    }
  }

  /// Returns statements that remove the temporary tables.
  func removalsOfPreparation() -> [String] {
    guard !mapping.rules.isEmpty else { return [] }
    let ruled = to.concreteEntities.filter { mapping.rules[$0.number] != nil }
    let tables = ruled.flatMap { entity in
      [PreparedTables.objects(of: entity)]
        + givenLinks(of: entity).map { PreparedTables.links($0.name, of: entity) }
    }
    return ([PreparedTables.made, PreparedTables.given] + tables).map { "DROP TABLE \($0)" }
  }
}
