import CordialValues
import ObjectModel
import PersistentHistory
import SQLite
import StoreLayout

/// The writer's statements for all tables of a store, each prepared at its first use.
final class StoreTables {
  let layout: SaveLayout
  let entities: [EntityTable]
  private let relationships: [RelationshipTable]
  private let db: SQLiteConnection
  private var identityQueries: [Int: PreparedStatement] = [:]
  private var uniqueQueries: [UniqueQueryName: PreparedStatement] = [:]

  private struct UniqueQueryName: Hashable {
    let scope: Int
    let names: [String]
  }

  init(
    _ db: SQLiteConnection,
    _ triggers: TriggerControl,
    _ layout: SaveLayout,
    rowsAtOnceMax: Int
  ) {
    self.db = db
    self.layout = layout
    entities = layout.entities.map { EntityTable(db, triggers, $0, rowsAtOnceMax: rowsAtOnceMax) }
    relationships = layout.relationships.map {
      RelationshipTable(db, triggers, $0, in: layout.model)
    }
  }

  subscript(key: ObjectKey) -> EntityTable { entities[key.entity - 1] }

  subscript(relationship: RelationshipLayout) -> RelationshipTable {
    relationships[relationship.number]
  }

  /// Discards the cached object numbers, which another process may have changed.
  func invalidate() {
    entities.forEach { $0.invalidate() }
  }

  /// Returns the query for an object of an entity or its descendants by its identity value.
  func identityQuery(of entity: EntityLayout) throws -> PreparedStatement {
    if let known = identityQueries[entity.entity.number] { return known }
    let column = SQLNames.quoted(entity.entity.identity?.name ?? "")
    let prepared = try PreparedStatement(
      db,
      "SELECT \"_id\" FROM \(layout.model.source(entity.entity)) WHERE \(column) = ?"
    )
    identityQueries[entity.entity.number] = prepared
    return prepared
  }

  /// Returns the objects that have these values in a unique set, from all tables of the set.
  func holders(of set: UniqueSet, _ values: [AttributeValue]) throws -> [ObjectKey] {
    let name = UniqueQueryName(scope: set.scope.number, names: set.names)
    let rows: PreparedStatement
    if let known = uniqueQueries[name] {
      rows = known
    } else {
      let condition = set.names.map { "\(SQLNames.quoted($0)) = ?" }.joined(separator: " AND ")
      rows = try PreparedStatement(
        db,
        "SELECT \"_id\" FROM \(layout.model.source(set.scope)) WHERE \(condition)"
      )
      uniqueQueries[name] = rows
    }
    defer { rows.reset() }
    for (index, value) in values.enumerated() { rows.bind(value, at: Int32(index + 1)) }
    var found: [ObjectKey] = []
    while try rows.step() {
      found.append(layout.model.storedKey(set.scope.number, rows.integer(0)))
    }
    return found
  }

  // MARK: Bulk

  /// Whether the triggers only log changes, so that a bulk write can turn the triggers off.
  ///
  /// Inserts and increments have one value for each entity. Link rows have one value for each
  /// relationship. Each list is computed at its first use.
  private lazy var insertsAreAlone = layout.entities.map {
    BulkLog.sufficesForInserts(into: $0.entity, in: layout.model)
  }
  private lazy var incrementsAreAlone = layout.entities.map {
    BulkLog.suffices(for: $0.entity, in: layout.model)
  }
  private lazy var linksAreAlone = layout.relationships.map {
    $0.linkNumber < 0
      || BulkLog.sufficesForLinks(
        of: layout.relationships[$0.linkNumber].description,
        in: layout.model
      )
  }

  /// Returns whether inserts, their link rows and increments can be written with triggers off.
  func logsInBulk(_ graph: PlannedGraph, _ increments: [ObjectKey]) -> Bool {
    graph.inserts.indices.allSatisfy { insertsAreAlone[graph.inserts[$0].key.entity - 1] }
      && graph.links.allSatisfy { $0.value && linksAreAlone[$0.key.relationship] }
      && increments.allSatisfy { incrementsAreAlone[$0.entity - 1] }
  }
}
