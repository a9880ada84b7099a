import ObjectModel
import PersistentHistory
import SQLite
import StoreLayout

/// Fetches of an entity that include the objects of its descendants.
extension FetchCompiler {
  /// The maximum number of a family's tables that a key path joins.
  ///
  /// A key path to a larger family reads the union of the family's tables. SQLite builds the whole
  /// union before it looks up an object.
  private static let joinedTablesMax = 8

  /// Returns the tables that a key path joins to find the objects of an entity; each object is in
  /// exactly one of them.
  func tables(of entity: EntityDescription) -> [String] {
    let kinds = entity.familyPosition.concreteEntities
    guard (2...Self.joinedTablesMax).contains(kinds.count) else { return [model.source(entity)] }
    return kinds.map { quote(model.entity($0).name) }
  }

  /// Returns SQL for a column of an alias; the alias names one table, or all tables of a family.
  func column(_ alias: String, _ name: String) -> String {
    if let computed = computed(of: alias, named: name) { return computed }
    guard let tables = scopes.lazy.compactMap({ $0.joins.families[alias] }).first else {
      return "\(alias).\(quote(name))"
    }
    return "coalesce(\(tables.map { "\($0).\(quote(name))" }.joined(separator: ", ")))"
  }

  /// Returns the number of entries that a column, or the call for a computed attribute, needs on
  /// the stack of SQLite's parser.
  func depth(of end: Resolved) -> Int {
    computed(of: end.alias, named: end.property.name) == nil ? 10 : 40
  }

  /// Returns the members of a to-many to a family, with the condition inside the query of each
  /// table.
  func familyMembers(
    _ relationship: RelationshipDescription,
    of number: String,
    as alias: String
  ) -> (from: String, condition: String, order: String) {
    let destination = model.entity(relationship.destination)
    let byNumber = "\(alias).\"_id\""
    let links = LinkTable(relationship, in: model)
    let condition: String
    var order = byNumber
    var join = ""
    if case .linkTable = relationship.storage {
      condition = "cordial_k.\"_id\" IN (\(links.members(of: "= \(number)")))"
      if let position = links.position {
        join =
          " JOIN \(links.table) \(alias)p ON \(alias)p.\(links.member) = \(byNumber) "
          + "AND \(alias)p.\(links.owner) = \(number)"
        order = "\(alias)p.\(position)"
      }
    } else {
      condition = "cordial_k.\(links.owner) = \(number)"
      if let position = links.position { order = "\(alias).\(position), \(byNumber)" }
    }
    return ("\(model.source(destination, where: condition)) \(alias)\(join)", "1", order)
  }

  /// Returns SQL for the name of an object in the protocol: its number, or its identity value.
  ///
  /// If the entity has an identity and descendants, the name is a JSON list of the number and the
  /// identity value. The number then determines the object's entity.
  func name(of entity: EntityDescription, _ alias: String) -> String {
    guard let identity = entity.identity else { return "\(alias).\"_id\"" }
    let value = "\(alias).\(quote(identity.name))"
    return entity.hasDescendants ? "json_array(\(alias).\"_id\", \(value))" : value
  }

  /// Returns whether the response includes columns that only the entity's descendants have.
  func isWide(_ request: FetchRequest) -> Bool {
    request.select == nil && request.subentities && entity.hasDescendants
  }

  /// Returns SQL for the identity value of each returned object; nil if no object has an identity.
  ///
  /// A descendant may have an identity that the fetched entity lacks.
  func identities(_ request: FetchRequest) -> String? {
    if let identity = entity.identity { return "t.\(quote(identity.name))" }
    guard request.subentities else { return nil }
    let values = entity.familyPosition.concreteEntities.compactMap { number -> String? in
      let kind = model.entity(number)
      return kind.identity.map { identity in
        "(SELECT cordial_d.\(quote(identity.name)) FROM \(model.source(kind)) cordial_d "
          + "WHERE cordial_d.\"_id\" = t.\"_id\")"
      }
    }
    guard let first = values.first else { return nil }
    return values.count == 1 ? first : "coalesce(\(values.joined(separator: ", ")))"
  }

  /// Returns the encoder of the rows, which writes each object with the columns of its own entity.
  func encoder(_ request: FetchRequest, _ columns: [SelectedColumn]) -> ObjectEncoder {
    let hasIdentities = identities(request) != nil
    guard request.subentities, entity.hasDescendants else {
      return ObjectEncoder(
        entity: entity,
        columns: columns,
        hasIdentityColumn: hasIdentities,
        model: model
      )
    }
    let encoders = entity.familyPosition.concreteEntities.map { number in
      let kind = model.entity(number)
      let indices = columns.indices.filter { index in
        columns[index].owner.map { model.isKind(number, of: $0) } ?? true
      }
      let own = ObjectEncoder(
        entity: kind,
        columns: indices.map { columns[$0] },
        indices: indices,
        hasIdentityColumn: hasIdentities,
        model: model
      )
      return (number, own)
    }
    return ObjectEncoder(
      entity: entity,
      columns: columns,
      hasIdentityColumn: hasIdentities,
      model: model,
      kinds: Dictionary(uniqueKeysWithValues: encoders)
    )
  }

  /// Returns the additional columns of the fetched entity's descendants.
  mutating func descendantColumns() -> [(sql: String, column: SelectedColumn)] {
    var columns: [(sql: String, column: SelectedColumn)] = []
    for level in model.descendants(of: entity) {
      for name in model.ownColumns(of: level) {
        reads.begin(.value(name))
        reads.note(own: name)
        let column = "t.\(quote(SQLNames.descendantColumn(name, of: level)))"
        let path = name.split(separator: ".").map(String.init)
        switch level.property(named: name) {
        case .attribute(let attribute):
          let form = ColumnForm(attribute.type)
          let selected = SelectedColumn(name: name, path: path, form: form, owner: level.number)
          columns.append((column, selected))
        case .relationship(let relationship):
          let property = PropertyDescription.relationship(relationship)
          noteTarget(of: Resolved(alias: "t", entity: level, property: property, origin: []))
          let form = reference(relationship)
          let sql = toOne(relationship, column: column)
          let selected = SelectedColumn(name: name, path: path, form: form, owner: level.number)
          columns.append((sql, selected))
        case nil: continue
        }
      }
    }
    return columns
  }
}
