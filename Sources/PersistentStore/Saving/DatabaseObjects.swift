import CordialValues
import ObjectModel
import PersistentHistory
import SQLite
import StoreLayout

/// The stored objects of one save, read over the writer's connection.
///
/// Versions are read once, because a save may name the same object many times.
final class DatabaseObjects: StoredObjects {
  let identifier: String
  private let tables: StoreTables
  private var versions: [ObjectKey: Int64?] = [:]

  init(_ tables: StoreTables, identifier: String) {
    self.tables = tables
    self.identifier = identifier
  }

  /// Clears the cached versions.
  ///
  /// The save pipeline calls this method after its writes.
  func forget() { versions.removeAll() }

  func version(of key: ObjectKey) throws -> Int64? {
    if let known = versions[key] { return known }
    let version = try tables[key].version(of: key.object)
    versions[key] = .some(version)
    return version
  }

  func value(_ column: Int, of key: ObjectKey) throws -> AttributeValue? {
    try tables[key].value(column, of: key.object)
  }

  func row(of key: ObjectKey) throws -> [AttributeValue]? {
    try tables[key].row(of: key.object)
  }

  func object(of entity: EntityLayout, identity: AttributeValue) throws -> ObjectKey? {
    let statement = try tables.identityQuery(of: entity)
    defer { statement.reset() }
    statement.bind(identity, at: 1)
    guard try statement.step() else { return nil }
    return tables.layout.model.storedKey(entity.entity.number, statement.integer(0))
  }

  func holders(of set: UniqueSet, _ values: [AttributeValue]) throws -> [ObjectKey] {
    try tables.holders(of: set, values)
  }

  func holders(of toOne: RelationshipLayout, to object: Int64) throws -> [ObjectKey] {
    try tables[toOne].holders(to: object)
  }

  func members(of toMany: RelationshipLayout, _ owner: ObjectKey) throws -> [Int64] {
    try tables[toMany].members(of: owner.object)
  }

  func memberCount(
    of toMany: RelationshipLayout,
    _ owner: ObjectKey,
    upTo limit: Int
  ) throws -> Int {
    try tables[toMany].memberCount(of: owner.object, upTo: limit)
  }

  func isLinked(
    _ relationship: RelationshipLayout,
    _ owner: ObjectKey,
    _ member: Int64
  ) throws -> Bool {
    try tables[relationship].isLinked(owner.object, member)
  }

  func linkSources(of relationship: RelationshipLayout, to object: Int64) throws -> [Int64] {
    try tables[relationship].sources(of: object)
  }

  func positions(of toMany: RelationshipLayout, _ owner: ObjectKey) throws -> [Int64: Int64?] {
    try tables[toMany].positions(of: owner.object)
  }

  func lastPosition(of toMany: RelationshipLayout, _ owner: ObjectKey) throws -> Int64 {
    try tables[toMany].lastPosition(of: owner.object)
  }

  func nextNumber(of entity: EntityLayout) throws -> Int64 {
    try tables.entities[entity.entity.number - 1].allocateNumber()
  }

  func name(of key: ObjectKey) throws -> String {
    try tables[key].name(of: key.object)
  }
}
