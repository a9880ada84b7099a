import ObjectModel
import PersistentHistory
import SQLite
import StoreLayout

/// The migration of the change log, whose rows contain entity numbers and property names.
extension MigrationPlan {
  /// Returns statements that adapt the log to the new model.
  ///
  /// Rows of removed entities get the numbers of retired entities. Rows of removed abstract
  /// entities and of removed links get the number 0, which no entity has.
  mutating func history() -> [String] {
    var statements: [String] = []
    for old in from.entities {
      guard let entity = mapping.target(of: old) else { continue }
      statements += renames(entity, old)
    }
    statements += linkRows()
    let numbers = from.entities.map { ($0.number, mapping.loggedNumber(of: $0)) }
    if numbers.contains(where: { $0 != $1 }) {
      let cases = numbers.map { "WHEN \($0) THEN \($1)" }.joined(separator: " ")
      statements.append(
        "UPDATE cordial_change SET entity = CASE entity \(cases) ELSE 0 END "
          + "WHERE kind IN (0, 1, 2) AND entity < \(RetiredEntity.numberMin)"
      )
    }
    // `linkRows` stores the new entity numbers as negative numbers, so that its later statements
    // skip the rows that it has already adapted.
    statements.append("UPDATE cordial_change SET entity = -entity WHERE entity < 0")
    return statements
  }

  /// Returns statements that log the deletion of each object that leaves its entity, with the
  /// object's former values.
  func tombstones(_ kept: UnchangedTables) -> [String] {
    from.concreteEntities.compactMap { old in
      var condition = ""
      if let target = mapping.target(of: old), !target.isAbstract {
        guard mapping.rules[target.number] != nil else { return nil }
        condition =
          " WHERE \"_id\" NOT IN (SELECT old FROM \(PreparedTables.objects(of: target)) "
          + "WHERE source = \(old.number))"
      }
      return "INSERT INTO cordial_change(entity, object, kind, version, before) "
        + "SELECT \(old.number), \"_id\", 2, \"_version\", \(LogTriggers.tombstone(old, row: "")) "
        + "FROM \(oldTable(old, kept))\(condition) ORDER BY \"_id\""
    }
  }

  /// Returns statements that rename properties in the former values of the log.
  ///
  /// The statements replace keys as text. In the log's JSON, `,"title":` can only be a key, because
  /// a quote inside a text follows a backslash. If a new name equals the old name of a different
  /// property, the statements first replace all names by temporary names that no property has.
  private func renames(_ entity: EntityDescription, _ old: EntityDescription) -> [String] {
    let renamed = entity.properties.compactMap { property -> (String, String)? in
      guard let source = mapping.source(of: property, in: entity), source.name != property.name
      else { return nil }
      return (source.name, property.name)
    }
    let formerNames = Set(old.properties.map(\.name))
    guard renamed.contains(where: { formerNames.contains($0.1) }) else {
      return renamed.map { rename($0, to: $1, in: old) }
    }
    let temporary = renamed.indices.map { "cordial \($0)" }
    return zip(renamed, temporary).map { rename($0.0, to: $1, in: old) }
      + zip(renamed, temporary).map { rename($1, to: $0.1, in: old) }
  }

  private func rename(_ before: String, to after: String, in old: EntityDescription) -> String {
    let key = SQLNames.literal(",\"\(before)\":")
    return "UPDATE cordial_change SET before = "
      + "replace(before, \(key), \(SQLNames.literal(",\"\(after)\":"))) "
      + "WHERE entity = \(old.number) AND kind IN (1, 2) AND instr(before, \(key)) > 0"
  }

  /// Returns statements that adapt the log's rows of links.
  ///
  /// In the new model, the inverse may own the link table, or the links may be in the link tables
  /// of several entities.
  private mutating func linkRows() -> [String] {
    var statements: [String] = []
    for entity in to.entities {
      for relationship in entity.linkRelationships {
        for origin in origins(of: relationship, in: entity) {
          guard case .linkTable(let owningEntity, let name, _) = origin.relationship.storage else {
            continue
          }
          let old = origin.relationship
          let (own, other) =
            origin.reversed ? (old.destination, old.owner) : (old.owner, old.destination)
          let isSame = ownerIsSource(origin)
          let conditions = [
            Self.condition(
              isSame ? "object" : "other",
              in: remainingRanges(own, within: entity.number)
            ),
            Self.condition(
              isSame ? "other" : "object",
              in: remainingRanges(other, within: relationship.destination)
            ),
          ].compactMap { $0.map { " AND \($0)" } }
          let swap = isSame ? "" : ", object = other, other = object"
          statements.append(
            "UPDATE cordial_change SET entity = -\(entity.number), "
              + "before = \(SQLNames.literal(relationship.name))\(swap) WHERE kind IN (3, 4) "
              + "AND entity = \(owningEntity) AND before = \(SQLNames.literal(name))"
              + conditions.joined()
          )
        }
      }
    }
    return statements + ["UPDATE cordial_change SET entity = 0 WHERE kind IN (3, 4) AND entity > 0"]
  }
}
