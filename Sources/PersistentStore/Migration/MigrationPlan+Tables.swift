import CordialValues
import ObjectModel
import PersistentHistory

/// Tables that are made anew from old ones.
extension MigrationPlan {
  mutating func rebuild(_ entity: EntityDescription, _ kept: Kept) {
    let table = SQLNames.quoted(entity.name)
    var statements = [StoreSchema.table(for: entity, to)]
    guard let old = mapping.source(of: entity), !old.isAbstract else {
      statements += StoreSchema.sequence(for: entity)
      steps.append(Step(title: "Make \(entity.name)", statements: statements))
      return
    }
    let source = oldTable(old, kept)
    var columns = [SQLNames.object, SQLNames.version]
    var values = columns.map { "o.\(SQLNames.quoted($0))" }
    for attribute in entity.attributes {
      guard let value = value(of: attribute, entity, old, source, &statements) else { continue }
      columns.append(attribute.name)
      values.append(value)
    }
    for relationship in entity.relationships where !relationship.toMany {
      guard let value = value(of: relationship, entity, source, kept) else { continue }
      columns.append(relationship.name)
      values.append(value)
    }
    statements.append(
      "INSERT INTO \(table)(\(columns.map(SQLNames.quoted).joined(separator: ", "))) "
        + "SELECT \(values.joined(separator: ", ")) FROM \(source) AS o"
    )
    for (toOne, toMany) in to.orderedInverses(of: entity) {
      statements.append(places(of: entity, toOne, toMany, source, kept))
    }
    // Numbers of objects that are gone are not given again.
    let former = SQLNames.literal(String(source.dropFirst().dropLast()))
    let sequence = "(SELECT seq FROM sqlite_sequence WHERE name = \(former))"
    let name = SQLNames.literal(entity.name)
    statements += [
      "DELETE FROM sqlite_sequence WHERE name = \(name)",
      "INSERT INTO sqlite_sequence(name, seq) "
        + "VALUES (\(name), coalesce(\(sequence), \(entity.numbers.lowerBound - 1)))",
    ]
    steps.append(Step(title: "Make \(entity.name) of \(old.name)", statements: statements))
  }

  // MARK: Attributes

  /// What an attribute is in the row `o` of the old table; nil for what its default says.
  private mutating func value(
    of attribute: AttributeDescription,
    _ entity: EntityDescription,
    _ old: EntityDescription,
    _ source: String,
    _ statements: inout [String]
  ) -> String? {
    // What is derived is computed when everything is there; a time goes on as it was.
    if let derived = attribute.derived, derived != .now { return nil }
    let path = "\(entity.name).\(attribute.name)"
    guard let found = mapping.source(of: .attribute(attribute), in: entity) else {
      if !attribute.optional, attribute.defaultValue == .null {
        check(
          "SELECT count(*) FROM \(SQLNames.quoted(old.name))",
          path,
          "objects would lack it: it is required and has no default"
        )
      }
      return nil
    }
    guard case .attribute(let before) = found else {
      problem(path, "It was a relationship, which no attribute can be made of")
      return nil
    }
    let column = "o.\(SQLNames.quoted(before.name))"
    guard let value = Self.converted(column, before.type, attribute.type) else {
      problem(path, "\(before.type.rawValue) does not become \(attribute.type.rawValue) by itself")
      return nil
    }
    guard before.optional, !attribute.optional else { return value }
    guard let literal = SQLLiteral.text(attribute.defaultValue) else {
      let name = SQLNames.quoted(before.name)
      check(
        "SELECT count(*) FROM \(SQLNames.quoted(old.name)) WHERE \(name) IS NULL",
        path,
        "objects lack it: it becomes required and has no default"
      )
      return value
    }
    // What is filled in is a change like others.
    let was = SQLNames.literal(",\"\(attribute.name)\":null")
    statements.append(
      "INSERT INTO cordial_change(entity, object, kind, version, before) "
        + "SELECT \(old.number), \"_id\", 1, \"_version\", \(was) "
        + "FROM \(source) AS o WHERE \(column) IS NULL"
    )
    return "coalesce(\(value), \(literal))"
  }

  /// A column of one type as one of another that has all its values; nil where it does not.
  private static func converted(
    _ column: String,
    _ old: AttributeType,
    _ new: AttributeType
  ) -> String? {
    if old == new { return column }
    switch (old, new) {
    case (.int16, .int32), (.int16, .int64), (.int32, .int64), (.boolean, .int16),
      (.boolean, .int32), (.boolean, .int64), (.float, .double), (.uuid, .string),
      (.uri, .string), (.decimal, .string):
      return column
    case (.int16, .double), (.int32, .double), (.int16, .float):
      return "CAST(\(column) AS REAL)"
    case (.int16, .decimal), (.int32, .decimal), (.int64, .decimal), (.int16, .string),
      (.int32, .string), (.int64, .string):
      return "CAST(\(column) AS TEXT)"
    default: return nil
    }
  }

  // MARK: Relationships

  /// What a to-one is in the row `o` of the old table; nil for nothing.
  private mutating func value(
    of relationship: RelationshipDescription,
    _ entity: EntityDescription,
    _ source: String,
    _ kept: Kept
  ) -> String? {
    let path = "\(entity.name).\(relationship.name)"
    let members = links(of: relationship, in: entity, kept)
    var inPlace = kept
    inPlace.isBefore = true
    let before = members == nil ? nil : links(of: relationship, in: entity, inPlace)
    if !relationship.optional {
      let have = before.map { " WHERE \"_id\" NOT IN (SELECT a FROM (\($0)))" } ?? ""
      let old = mapping.source(of: entity).map { SQLNames.quoted($0.name) } ?? ""
      check(
        "SELECT count(*) FROM \(old)\(have)",
        path,
        "objects lack it: it is required"
      )
    }
    guard let members, let before else { return nil }
    if let old = mapping.source(of: relationship, in: entity), !old.toMany {
      return "o.\(SQLNames.quoted(old.name))"
    }
    check(
      "SELECT count(*) FROM (SELECT a FROM (\(before)) GROUP BY a HAVING count(*) > 1)",
      path,
      "objects have several: it becomes a to-one"
    )
    return "(SELECT b FROM (\(members)) WHERE a = o.\"_id\")"
  }

  /// A query for what a relationship of an entity and its descendants led to: the columns `a`, an
  /// object of the entity, `b`, one that it leads to, and `place`, nil when there was nothing.
  private mutating func links(
    of relationship: RelationshipDescription,
    in entity: EntityDescription,
    _ kept: Kept
  ) -> String? {
    var seen: Set<String> = []
    var queries: [String] = []
    for kind in entity.place.kinds {
      let kind = to.entity(kind)
      guard let found = mapping.source(of: .relationship(relationship), in: kind) else { continue }
      guard case .relationship(let old) = found else {
        problem("\(entity.name).\(relationship.name)", "It was an attribute")
        return nil
      }
      guard mayLeadOn(old, relationship, entity), seen.insert("\(old.owner).\(old.name)").inserted
      else { continue }
      queries.append(contentsOf: links(of: old, kept, reversed: false))
    }
    if queries.isEmpty, let name = relationship.inverse {
      // What is new here may have been there from the other end.
      let destination = to.entity(relationship.destination)
      for kind in destination.place.kinds {
        let kind = to.entity(kind)
        guard case .relationship(let inverse)? = kind.property(named: name),
          let old = mapping.source(of: inverse, in: kind),
          mayLeadOn(old, inverse, kind), seen.insert("\(old.owner).\(old.name)").inserted
        else { continue }
        queries.append(contentsOf: links(of: old, kept, reversed: true))
      }
    }
    return queries.isEmpty ? nil : queries.joined(separator: " UNION ALL ")
  }

  /// Refuses a relationship that leads elsewhere now.
  private mutating func mayLeadOn(
    _ old: RelationshipDescription,
    _ relationship: RelationshipDescription,
    _ entity: EntityDescription
  ) -> Bool {
    let was = from.entity(old.destination)
    let stay = was.place.kinds.contains { kind in
      mapping.target(of: from.entity(kind))
        .map { to.isKind($0.number, of: relationship.destination) } ?? false
    }
    if !stay {
      problem(
        "\(entity.name).\(relationship.name)",
        "It led to \(was.name) and leads to \(to.entity(relationship.destination).name) now"
      )
    }
    return stay
  }

  /// What an old relationship led to, from its tables.
  private func links(
    of old: RelationshipDescription,
    _ kept: Kept,
    reversed: Bool
  ) -> [String] {
    let (a, b) = reversed ? ("b", "a") : ("a", "b")
    func column(_ name: String, of entity: EntityDescription, isOwner: Bool) -> [String] {
      let column = SQLNames.quoted(name)
      let (own, other) = isOwner ? (a, b) : (b, a)
      return entity.place.kinds.map { kind in
        let kind = from.entity(kind)
        let hasPlace = from.placeColumns(of: kind).contains(SQLNames.place(name))
        let place = hasPlace ? SQLNames.quoted(SQLNames.place(name)) : "NULL"
        return "SELECT \"_id\" AS \(own), \(column) AS \(other), \(place) AS place "
          + "FROM \(oldTable(kind, kept)) WHERE \(column) IS NOT NULL"
      }
    }
    switch old.storage {
    case .column: return column(old.name, of: from.entity(old.owner), isOwner: true)
    case .inverseColumn:
      let destination = from.entity(old.destination)
      return column(old.inverse ?? "", of: destination, isOwner: false)
    case .pairs(let keeper, _, let owns):
      let (own, other) = owns == !reversed ? ("source", "target") : ("target", "source")
      let ordered = OrderSchema(from).pairColumns(
        ownedSide(old, keeper),
        of: from.entity(keeper)
      )
      let wanted =
        own == "source" ? SQLNames.pairPlaces.ofTarget : SQLNames.pairPlaces.ofSource
      let place = ordered.contains(wanted) ? SQLNames.quoted(wanted) : "NULL"
      return [
        "SELECT \(own) AS a, \(other) AS b, \(place) AS place FROM \(oldPairs(old, kept))"
      ]
    }
  }

  /// The relationship by which the old table of pairs is named.
  private func ownedSide(
    _ old: RelationshipDescription,
    _ keeper: Int
  ) -> RelationshipDescription {
    guard case .pairs(_, let name, _) = old.storage,
      case .relationship(let owned)? = from.entity(keeper).property(named: name)
    else { return old }
    return owned
  }

  /// The places of an entity's objects among the members of its owner.
  private mutating func places(
    of entity: EntityDescription,
    _ toOne: RelationshipDescription,
    _ toMany: RelationshipDescription,
    _ source: String,
    _ kept: Kept
  ) -> String {
    let place = SQLNames.quoted(SQLNames.place(toOne.name))
    let column = SQLNames.quoted(toOne.name)
    let table = SQLNames.quoted(entity.name)
    let owners = links(of: toMany, in: to.entity(toMany.owner), kept)
    let old = owners.map { "(SELECT l.place FROM (\($0)) AS l WHERE l.b = m.\"_id\")" } ?? "NULL"
    return "UPDATE \(table) SET \(place) = (SELECT p.place FROM (SELECT m.\"_id\" AS member, "
      + "coalesce(\(old), \(OrderSchema.gap) * row_number() OVER (PARTITION BY m.\(column) "
      + "ORDER BY m.\"_id\")) AS place FROM \(table) AS m "
      + "WHERE m.\(column) IS NOT NULL) AS p WHERE p.member = \(table).\"_id\")"
  }

  /// A table of pairs.
  mutating func rebuild(
    _ relationship: RelationshipDescription,
    of entity: EntityDescription,
    _ kept: Kept
  ) {
    let name = pairsName(relationship)
    let table = SQLNames.quoted(name)
    var statements = [StoreSchema.pairsTable(relationship, of: entity, to)]
    if let links = links(of: relationship, in: entity, kept) {
      let columns = OrderSchema(to).pairColumns(relationship, of: entity)
      let values = columns.map { column in
        let own = column == SQLNames.pairPlaces.ofTarget ? "a" : "b"
        let other = own == "a" ? "b" : "a"
        let order = own == "a" ? "place IS NULL, place, \(other)" : other
        return ", \(OrderSchema.gap) * row_number() OVER (PARTITION BY \(own) ORDER BY \(order))"
      }
      statements.append(
        "INSERT OR IGNORE INTO \(table)"
          + "(\((["source", "target"] + columns).joined(separator: ", "))) "
          + "SELECT a, b\(values.joined()) FROM (\(links))"
      )
    }
    steps.append(Step(title: "Make \(entity.name).\(relationship.name)", statements: statements))
  }
}
