import ObjectModel
import PersistentHistory

/// The log's rows, which know entities by numbers and properties by names.
extension MigrationPlan {
  /// Statements that make the log speak of the new model.
  ///
  /// Rows of what is gone get the entity 0, which there is not: the commits stay, and nobody is
  /// told about it any more.
  func history() -> [String] {
    var statements: [String] = []
    for old in from.entities {
      guard let entity = mapping.target(of: old) else { continue }
      statements += renames(entity, old)
    }
    statements += pairs()
    let numbers = from.entities.map { ($0.number, mapping.target(of: $0)?.number ?? 0) }
    if numbers.contains(where: { $0 != $1 }) {
      let cases = numbers.map { "WHEN \($0) THEN \($1)" }.joined(separator: " ")
      statements.append(
        "UPDATE cordial_change SET entity = CASE entity \(cases) ELSE 0 END WHERE kind IN (0, 1, 2)"
      )
    }
    // Pairs were numbered by themselves, below zero until the others were through.
    statements.append("UPDATE cordial_change SET entity = -entity WHERE entity < 0")
    return statements
  }

  /// The names of properties, as keys of what was before: `,"title":` stands nowhere else, since a
  /// quote inside a text has a backslash.
  private func renames(_ entity: EntityDescription, _ old: EntityDescription) -> [String] {
    let renamed = entity.properties.compactMap { property -> (String, String)? in
      guard let source = mapping.source(of: property, in: entity), source.name != property.name
      else { return nil }
      return (source.name, property.name)
    }
    return renamed.map { before, after in
      let key = SQLNames.literal(",\"\(before)\":")
      return "UPDATE cordial_change SET before = "
        + "replace(before, \(key), \(SQLNames.literal(",\"\(after)\":"))) "
        + "WHERE entity = \(old.number) AND kind IN (1, 2) AND instr(before, \(key)) > 0"
    }
  }

  /// The pairs of many-to-manys, whose table may be kept from the other side now.
  private func pairs() -> [String] {
    from.entities.flatMap { keeper in
      keeper.ownedPairs.map { old in
        let here =
          "WHERE kind IN (3, 4) AND entity = \(keeper.number) "
          + "AND before = \(SQLNames.literal(old.name))"
        guard let (now, owns) = target(of: old, keptBy: keeper) else {
          return "UPDATE cordial_change SET entity = 0 \(here)"
        }
        let swap = owns ? "" : ", object = other, other = object"
        return "UPDATE cordial_change SET entity = -\(now.owner), "
          + "before = \(SQLNames.literal(now.name))\(swap) \(here)"
      }
    }
  }

  /// The relationship that keeps an old one's pairs now, and whether from the same side.
  private func target(
    of old: RelationshipDescription,
    keptBy keeper: EntityDescription
  ) -> (RelationshipDescription, owns: Bool)? {
    for entity in to.entities {
      for relationship in entity.ownedPairs {
        for kind in entity.place.kinds {
          guard let found = mapping.source(of: relationship, in: to.entity(kind)),
            case .pairs(keeper.number, old.name, let owns) = found.storage
          else { continue }
          return (relationship, owns)
        }
      }
    }
    return nil
  }
}
