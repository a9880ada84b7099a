import ObjectModel
import PersistentHistory
import SQLite
import StoreLayout

/// The last object numbers of retired entities, so that a later entity of the same name does not
/// reuse them.
struct GivenNumbers {
  private var last: [Int: Int64] = [:]
  /// The last object numbers of the entities that the current stage renames, by former name.
  private var lastByName: [String: Int64] = [:]

  init(_ model: Model) {
    for retired in model.retired { last[retired.description.number] = retired.lastObject }
  }

  /// Reads the last object numbers of the entities that a stage will remove or rename.
  mutating func read(_ plan: MigrationPlan, _ db: SQLiteConnection) throws {
    func number(_ old: EntityDescription) throws -> Int64? {
      try db.integer("SELECT seq FROM sqlite_sequence WHERE name = ?", [old.name])
    }
    for old in plan.mapping.newlyRetired {
      last[plan.mapping.loggedNumber(of: old)] = try number(old)
    }
    lastByName = [:]
    for old in plan.from.concreteEntities {
      guard let entity = plan.mapping.target(of: old), entity.name != old.name else { continue }
      lastByName[old.name] = try number(old)
    }
  }

  /// Returns the last object numbers of retired and renamed entities, by former name.
  private func given(_ model: Model) -> [(name: String, last: Int64?)] {
    model.retired.map { ($0.description.name, last[$0.description.number]) }
      + lastByName.map { ($0.key, $0.value) }
  }

  /// Returns the last used object number of an entity; the numbers of new objects must be greater.
  func last(
    of entity: EntityDescription,
    _ plan: MigrationPlan,
    _ target: Model,
    _ db: SQLiteConnection
  ) throws -> Int64 {
    let former = given(target).filter { $0.name == entity.name }.compactMap(\.last)
    let own = try plan.mapping.source(of: entity).flatMap { old in
      try db.integer("SELECT seq FROM sqlite_sequence WHERE name = ?", [old.name])
    }
    return (former + [own ?? 0]).filter(entity.numbers.contains).max()
      ?? entity.numbers.lowerBound - 1
  }

  /// Raises the last used number of each entity whose name a retired or renamed entity had.
  ///
  /// New objects of such an entity then get only numbers that the former entity never used.
  func skip(in model: Model, _ db: SQLiteConnection) throws {
    for (name, last) in given(model) {
      guard let entity = model.entity(named: name), !entity.isAbstract, let number = last,
        entity.numbers.contains(number)
      else { continue }
      try db.execute(
        "INSERT INTO sqlite_sequence(name, seq) SELECT ?1, 0 "
          + "WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = ?1)",
        [entity.name]
      )
      try db.execute(
        "UPDATE sqlite_sequence SET seq = max(seq, ?2) WHERE name = ?1",
        [entity.name, number]
      )
    }
  }

  func retired(_ model: Model) -> [RetiredEntity] {
    model.retired.map { $0.ending(at: last[$0.description.number] ?? $0.lastObject) }
  }
}
