package import ObjectModel
package import SQLite

/// The names of tables and columns.
extension SQLNames {
  /// The column of an object's number, which follows `p` in the object's wrapped ID.
  package static let object = "_id"
  /// The column of an object's version, which counts the object's own changes from 1.
  package static let version = "_version"

  /// The text with which the names of Cordial's triggers begin.
  package static let triggerPrefix = "cordial_"

  /// Returns the column that stores an object's sort position in the ordered to-many that is the
  /// inverse of the object's to-one.
  package static func positionColumn(_ toOne: String) -> String { "_at_" + toOne }

  /// The columns of a link row's sort positions: of the target among the source's members, and of
  /// the source among the target's members.
  package static let linkPositionColumns = (ofTarget: "place", ofSource: "inversePlace")

  /// Returns the column of a string attribute's sort key, which ICU's collation computes.
  package static func sortKeyColumn(_ attribute: String) -> String { attribute + ":localized" }

  /// Returns the name of a descendant's own column in a query over its family.
  ///
  /// The separator is `/`, because it occurs in no property name. A `.` occurs in the path of a
  /// composite's member.
  package static func descendantColumn(_ column: String, of level: EntityDescription) -> String {
    "\(level.name)/\(column)"
  }

  /// Returns SQL that computes the sort key of a text.
  package static func sortKey(of text: String) -> String { "cordial_sort_key(\(text))" }

  /// Returns the name of a many-to-many's link table, which contains the owning side's name.
  ///
  /// The columns of the table are `source` and `target`.
  package static func linkTable(_ entity: EntityDescription, _ relationship: String) -> String {
    "cordial_pairs_\(entity.name)_\(relationship)"
  }
}

extension EntityDescription {
  /// The columns of the sort keys for `:localized`.
  package var sortKeyColumns: [String] { localizedAttributes.map(SQLNames.sortKeyColumn) }

  /// The columns of the entity's table after `_id` and `_version`: attributes, then to-ones.
  package var columns: [String] {
    attributes.map(\.name) + relationships.filter { !$0.toMany }.map(\.name)
  }

  /// Returns whether a column is a derived attribute, which the store computes.
  package func isDerived(_ column: String) -> Bool {
    if case .attribute(let attribute)? = property(named: column) {
      return attribute.derived != nil
    }
    return false
  }

  /// The many-to-many relationships whose link tables the entity owns; an ancestor owns the link
  /// tables of inherited relationships.
  package var linkRelationships: [RelationshipDescription] {
    relationships.filter {
      if case .linkTable(_, _, owns: true) = $0.storage { $0.owner == number } else { false }
    }
  }
}

extension Model {
  /// The entities that have a table.
  package var concreteEntities: [EntityDescription] { entities.filter { !$0.isAbstract } }

  /// Returns the to-ones of an entity whose inverse is an ordered to-many, each with its inverse.
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

  /// Returns the columns of the sort positions in the table of an entity.
  package func positionColumns(of entity: EntityDescription) -> [String] {
    orderedInverses(of: entity).map { SQLNames.positionColumn($0.toOne.name) }
  }

  /// Returns the descendants of an entity at all levels, in the order of the model.
  package func descendants(of entity: EntityDescription) -> [EntityDescription] {
    entities.filter { $0.number != entity.number && isKind($0.number, of: entity.number) }
  }

  /// Returns the columns that an entity does not inherit.
  package func ownColumns(of entity: EntityDescription) -> [String] {
    guard let parent = entity.familyPosition.ancestors.dropLast().last else {
      return entity.columns
    }
    let inherited = Set(self.entity(parent).columns)
    return entity.columns.filter { !inherited.contains($0) }
  }

  /// Returns the SQL source of an entity's objects: the entity's table, or a query over the tables
  /// of the entity and its descendants.
  ///
  /// - Parameters:
  ///   - entity: The entity.
  ///   - subentities: Whether to include the objects of its descendants.
  ///   - wide: Whether to include the descendants' own columns, named like `Dog/weight`.
  ///   - condition: A condition on `cordial_k`, the row of one table; nil for all rows. SQLite does
  ///     not push a condition down into the tables if the condition refers to a row of another
  ///     query.
  /// - Returns: The text after `FROM`, which yields each object once, because the entities of a
  ///   family share no object numbers.
  package func source(
    _ entity: EntityDescription,
    subentities: Bool = true,
    wide: Bool = false,
    where condition: String? = nil
  ) -> String {
    let kinds =
      subentities
      ? entity.familyPosition.concreteEntities : entity.isAbstract ? [] : [entity.number]
    if kinds == [entity.number], condition == nil { return SQLNames.quoted(entity.name) }
    let names =
      ([SQLNames.object, SQLNames.version] + entity.columns + positionColumns(of: entity)
      + entity.sortKeyColumns)
      .map(SQLNames.quoted)
    guard !kinds.isEmpty else {
      return "(SELECT \(names.map { "NULL AS \($0)" }.joined(separator: ", ")) WHERE 0)"
    }
    let levels = wide ? descendants(of: entity) : []
    let parts = kinds.map { kind in
      let more = levels.flatMap { level in
        ownColumns(of: level).map { column in
          let name = SQLNames.quoted(SQLNames.descendantColumn(column, of: level))
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
