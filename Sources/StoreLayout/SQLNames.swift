package import ObjectModel
package import SQLite

/// The names of tables and columns.
extension SQLNames {
  /// The column of the number behind `p` in an object's wrapped ID.
  package static let object = "_id"
  /// The column that counts an object's own changes, from 1.
  package static let version = "_version"

  /// The column of an object's place among the members of its to-one's ordered inverse.
  package static func place(_ toOne: String) -> String { "_at_" + toOne }

  /// The columns of a pair's places: of the target among the source's, and the other way round.
  package static let pairPlaces = (ofTarget: "place", ofSource: "inversePlace")

  /// The table of pairs of a many-to-many, named by the side that keeps it; its columns are
  /// `source` and `target`.
  package static func pairs(_ entity: EntityDescription, _ relationship: String) -> String {
    "cordial_pairs_\(entity.name)_\(relationship)"
  }
}

extension EntityDescription {
  /// The columns of its table behind `_id` and `_version`: attributes, then to-ones.
  package var columns: [String] {
    attributes.map(\.name) + relationships.filter { !$0.toMany }.map(\.name)
  }

  /// Whether a column is the store's own to keep.
  package func isDerived(_ column: String) -> Bool {
    if case .attribute(let attribute)? = property(named: column) {
      return attribute.derived != nil
    }
    return false
  }

  /// The many-to-many relationships whose pairs are kept from this side; those that it inherits are
  /// its ancestor's.
  package var ownedPairs: [RelationshipDescription] {
    relationships.filter {
      if case .pairs(_, _, owns: true) = $0.storage { $0.owner == number } else { false }
    }
  }
}

extension Model {
  /// The entities that have a table.
  package var concrete: [EntityDescription] { entities.filter { !$0.isAbstract } }

  /// The to-ones of an entity whose inverse is an ordered to-many, with that.
  package func orderedInverses(
    of entity: EntityDescription
  ) -> [(toOne: RelationshipDescription, toMany: RelationshipDescription)] {
    entity.relationships.compactMap { toOne in
      guard !toOne.toMany, let name = toOne.inverse,
        case .relationship(let inverse)? = self.entity(toOne.destination).property(named: name),
        inverse.ordered
      else { return nil }
      return (toOne, inverse)
    }
  }

  /// The columns of places in the table of an entity.
  package func placeColumns(of entity: EntityDescription) -> [String] {
    orderedInverses(of: entity).map { SQLNames.place($0.toOne.name) }
  }

  /// The entities of which an entity is an ancestor, in the order of the model.
  package func descendants(of entity: EntityDescription) -> [EntityDescription] {
    entities.filter { $0.number != entity.number && isKind($0.number, of: entity.number) }
  }

  /// The columns that an entity does not inherit.
  package func ownColumns(of entity: EntityDescription) -> [String] {
    guard let parent = entity.place.ancestors.dropLast().last else { return entity.columns }
    let inherited = Set(self.entity(parent).columns)
    return entity.columns.filter { !inherited.contains($0) }
  }

  /// Where a query finds the objects of an entity: its table, or all of its descendants' together.
  ///
  /// - Parameters:
  ///   - entity: The entity.
  ///   - subentities: Whether objects of its descendants count.
  ///   - wide: Whether what the descendants have of their own is there too, named `Dog.weight`.
  ///   - condition: What has to hold of `cordial_k`, the row of one table; nil for all rows. SQLite
  ///     would not look for it in the tables by itself where it compares with another query's row.
  /// - Returns: What stands behind FROM; each object is there once, since no two entities of a
  ///   family have a number in common.
  package func source(
    _ entity: EntityDescription,
    subentities: Bool = true,
    wide: Bool = false,
    where condition: String? = nil
  ) -> String {
    let kinds = subentities ? entity.place.kinds : entity.isAbstract ? [] : [entity.number]
    if kinds == [entity.number], condition == nil { return SQLNames.quoted(entity.name) }
    let names = ([SQLNames.object, SQLNames.version] + entity.columns + placeColumns(of: entity))
      .map(SQLNames.quoted)
    guard !kinds.isEmpty else {
      return "(SELECT \(names.map { "NULL AS \($0)" }.joined(separator: ", ")) WHERE 0)"
    }
    let levels = wide ? descendants(of: entity) : []
    let parts = kinds.map { kind in
      let more = levels.flatMap { level in
        ownColumns(of: level).map { column in
          let name = SQLNames.quoted("\(level.name).\(column)")
          let value = isKind(kind, of: level.number) ? SQLNames.quoted(column) : "NULL"
          return "\(value) AS \(name)"
        }
      }
      return "SELECT \((names + more).joined(separator: ", ")) "
        + "FROM \(SQLNames.quoted(self.entity(kind).name))"
        + (condition.map { " AS cordial_k WHERE \($0)" } ?? "")
    }
    return "(\(parts.joined(separator: " UNION ALL ")))"
  }
}
