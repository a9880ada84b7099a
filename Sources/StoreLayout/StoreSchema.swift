// StoreLayout: how tables store a model: columns, entity families, link tables, order columns,
// derived columns, triggers.
//
// Must not know: requests, callers.
//
// What always holds:
// 1. Any SQLite client can read and write the tables: no CHECK, index or trigger uses a function or
//    a collation of Cordial's.
// 2. The names and forms of tables and columns are the contract with external clients and with
//    existing stores.

package import ObjectModel
import SQLite

/// The SQL that creates a model's tables.
///
/// Any SQLite client can read and write the result: no CHECK, index or trigger uses a function or
/// collation of Cordial's.
package enum StoreSchema {
  /// Returns every statement, in the order in which they must run.
  package static func statements(for model: Model) -> [String] {
    var statements: [String] = []
    for entity in model.concreteEntities {
      statements += [table(for: entity, model)] + sequence(for: entity)
    }
    for entity in model.entities {
      statements += entity.linkRelationships.map { linkTable($0, of: entity, model) }
    }
    return statements + indexesAndTriggers(for: model)
  }

  /// Returns the statements that create all indexes and triggers, which must follow the tables.
  package static func indexesAndTriggers(for model: Model) -> [String] {
    model.entities.flatMap { indexesAndTriggers(of: $0, model) }
  }

  /// Returns the indexes and triggers of an entity's table and of its link tables.
  package static func indexesAndTriggers(of entity: EntityDescription, _ model: Model) -> [String] {
    indexStatements(of: entity, model) + LogTriggers.triggers(for: entity, in: model)
  }

  private static func indexStatements(of entity: EntityDescription, _ model: Model) -> [String] {
    (entity.isAbstract ? [] : indexes(for: entity, model))
      + entity.linkRelationships.flatMap { linkTableIndexes($0, of: entity, model) }
  }

  /// Returns the quoted names of all triggers of an entity.
  package static func triggerNames(of entity: EntityDescription, _ model: Model) -> [String] {
    names(LogTriggers.triggers(for: entity, in: model))
  }

  /// Returns the quoted names of all indexes of an entity.
  package static func indexNames(of entity: EntityDescription, _ model: Model) -> [String] {
    names(indexStatements(of: entity, model))
  }

  /// Returns the first quoted name of each statement, which names the created object.
  private static func names(_ statements: [String]) -> [String] {
    statements.compactMap { statement in
      let parts = statement.split(separator: "\"", maxSplits: 2, omittingEmptySubsequences: false)
      return parts.count == 3 ? "\"\(parts[1])\"" : nil
    }
  }

  package static func table(for entity: EntityDescription, _ model: Model) -> String {
    """
    CREATE TABLE \(SQLNames.quoted(entity.name))(
      \(columns(of: entity, model).joined(separator: ",\n  "))
    ) STRICT
    """
  }

  /// Returns the column definitions of an entity's table.
  package static func columns(of entity: EntityDescription, _ model: Model) -> [String] {
    var columns = [
      "\(SQLNames.quoted(SQLNames.object)) INTEGER PRIMARY KEY AUTOINCREMENT "
        + "CHECK (\(SQLNames.quoted(SQLNames.object)) BETWEEN \(entity.numbers.lowerBound) "
        + "AND \(entity.numbers.upperBound))",
      "\(SQLNames.quoted(SQLNames.version)) INTEGER NOT NULL DEFAULT 1",
    ]
    for attribute in entity.attributes { columns.append(column(for: attribute)) }
    for relationship in entity.relationships where !relationship.toMany {
      columns.append("\(SQLNames.quoted(relationship.name)) INTEGER")
    }
    for position in model.positionColumns(of: entity) {
      columns.append("\(SQLNames.quoted(position)) INTEGER")
    }
    for key in entity.sortKeyColumns { columns.append("\(SQLNames.quoted(key)) BLOB") }
    return columns
  }

  /// Returns the statement that makes SQLite number the objects from the start of the entity's
  /// range.
  package static func sequence(for entity: EntityDescription) -> [String] {
    guard entity.numbers.lowerBound > 1 else { return [] }
    return [
      "INSERT INTO sqlite_sequence(name, seq) "
        + "VALUES (\(SQLNames.literal(entity.name)), \(entity.numbers.lowerBound - 1))"
    ]
  }

  private static func column(for attribute: AttributeDescription) -> String {
    var text = "\(SQLNames.quoted(attribute.name)) \(attribute.type.codec.storage.rawValue)"
    if !attribute.optional { text += " NOT NULL" }
    if let literal = SQLLiteral.text(attribute.defaultValue) { text += " DEFAULT \(literal)" }
    return text
  }

  private static func indexes(for entity: EntityDescription, _ model: Model) -> [String] {
    var sets: [(columns: [String], unique: Bool)] = []
    if let identity = entity.identity { sets.append(([identity.name], true)) }
    sets += entity.unique.map { ($0, true) }
    // Each to-one has an index, because delete rules and to-manys search by the referenced object.
    let positions = Set(model.positionColumns(of: entity))
    sets += entity.relationships.filter { !$0.toMany }.map { relationship in
      let position = SQLNames.positionColumn(relationship.name)
      return ([relationship.name] + (positions.contains(position) ? [position] : []), false)
    }
    sets += entity.indexes.map { ($0, false) }
    sets += entity.attributes.filter(\.sortsLocalized).map {
      ([SQLNames.sortKeyColumn($0.name)], false)
    }
    var seen: Set<[String]> = []
    return sets.filter { seen.insert($0.columns).inserted }.map { columns, unique in
      let name = SQLNames.quoted("cordial_\(entity.name).\(columns.joined(separator: "."))")
      let list = columns.map(Self.indexed).joined(separator: ", ")
      return "CREATE \(unique ? "UNIQUE " : "")INDEX \(name) "
        + "ON \(SQLNames.quoted(entity.name))(\(list))"
    }
  }

  /// Returns the indexes that a model declares for an entity's sorts and conditions.
  ///
  /// The result omits indexes that also keep values unique or serve to-ones. Each element has the
  /// keys of an index and the name of this index in the store.
  package static func declaredIndexes(
    of entity: EntityDescription
  ) -> [(keys: [String], name: String)] {
    let kept =
      entity.unique + (entity.identity.map { [[$0.name]] } ?? [])
      + entity.relationships.filter { !$0.toMany }.map { [$0.name] }
    var seen: Set<String> = []
    let declared = entity.indexes.map { ($0, $0) }
    let sorted = entity.attributes.filter(\.sortsLocalized).map {
      (["\($0.name):localized"], [SQLNames.sortKeyColumn($0.name)])
    }
    return (declared.filter { !kept.contains($0.0) } + sorted).compactMap { keys, columns in
      let name = "cordial_\(entity.name).\(columns.joined(separator: "."))"
      return seen.insert(keys.joined(separator: " ")).inserted ? (keys, name) : nil
    }
  }

  private static func indexed(_ column: String) -> String {
    let key = IndexKey(column)
    let name = key.isLocalized ? SQLNames.sortKeyColumn(key.name) : key.name
    return SQLNames.quoted(name) + (key.descends ? " DESC" : "")
  }

  package static func linkTable(
    _ relationship: RelationshipDescription,
    of entity: EntityDescription,
    _ model: Model
  ) -> String {
    let table = SQLNames.linkTable(entity, relationship.name)
    let positions = OrderSchema(model).linkPositionColumns(relationship, of: entity)
      .map { " \(SQLNames.quoted($0)) INTEGER," }.joined()
    return """
      CREATE TABLE \(SQLNames.quoted(table))(
        source INTEGER NOT NULL, target INTEGER NOT NULL,\(positions) PRIMARY KEY (source, target)
      ) STRICT, WITHOUT ROWID
      """
  }

  private static func linkTableIndexes(
    _ relationship: RelationshipDescription,
    of entity: EntityDescription,
    _ model: Model
  ) -> [String] {
    let table = SQLNames.linkTable(entity, relationship.name)
    let sets =
      [["target", "source"]] + OrderSchema(model).linkPositionIndexes(relationship, of: entity)
    return sets.map { columns in
      let name = SQLNames.quoted("\(table).\(columns.joined(separator: "."))")
      return "CREATE INDEX \(name) ON \(SQLNames.quoted(table))"
        + "(\(columns.joined(separator: ", ")))"
    }
  }
}
