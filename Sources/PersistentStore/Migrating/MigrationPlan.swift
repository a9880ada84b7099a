import CordialValues
package import ObjectModel
import PersistentHistory
import SQLite
import StoreLayout

/// The plan of a store's migration between two versions of a model: the conditions and the SQL.
///
/// It depends on the two models only. Its checks find out whether the data allows the migration.
package struct MigrationPlan: Sendable {
  /// A condition on the store's data, as a query that counts violations.
  package struct Check: Sendable {
    /// The query, which returns one number.
    package let sql: String
    /// The part of the new model that the check concerns, as `Task.title`.
    package let path: String
    /// The problem that the check reports if there are violations.
    package let message: String
  }

  /// A group of statements with a title.
  package struct Step: Sendable {
    package let title: String
    package internal(set) var statements: [String]
  }

  package let mapping: ModelMapping
  /// The problems that do not depend on the data; a plan with problems is not executed.
  package private(set) var problems: [ModelProblem] = []
  package private(set) var checks: [Check] = []
  package internal(set) var steps: [Step] = []

  var from: Model { mapping.from }
  var to: Model { mapping.to }

  /// Infers a migration.
  ///
  /// - Parameters:
  ///   - from: The model that the store has.
  ///   - to: The new model, with the store's ranges of numbers.
  ///   - emptied: The entities that must have no objects, because they get other numbers.
  package init(from: Model, to: Model, emptied: Set<String> = []) {
    mapping = ModelMapping(from: from, to: to)
    checkNumbers(emptied)
    checkAbstract()
    checkSomethingStays()
    checkLeftOut()
    let kept = keptTables()
    checkRequired(kept)
    checkStrays(kept)
    for (path, message) in mapping.exchanges { problem(path, message) }
    steps.append(Step(title: "Rename the old tables", statements: asides(kept)))
    for entity in to.concrete where !kept.entities.contains(entity.number) {
      rebuild(entity, kept)
    }
    for entity in to.entities {
      for relationship in entity.ownedPairs where !kept.pairs.contains(pairsName(relationship)) {
        rebuild(relationship, of: entity, kept)
      }
    }
    steps.append(Step(title: "Set the sort positions", statements: order(kept)))
    steps.append(Step(title: "Migrate the history", statements: history()))
    steps.append(Step(title: "Remove the old tables", statements: removals(kept)))
    steps.append(
      Step(title: "Compute the derived values", statements: DerivedValues.statements(for: to))
    )
    // The indexes of kept tables are dropped, because new indexes may need their names.
    let untouched = untouched(kept)
    let dropped = from.entities.filter { !untouched.values.contains($0.number) }
      .flatMap { StoreSchema.indexNames(of: $0, from) }.map { "DROP INDEX IF EXISTS \($0)" }
    let made = to.entities.filter { untouched[$0.number] == nil }
      .flatMap { StoreSchema.upkeep(of: $0, to) }
    steps.append(Step(title: "Create indexes and triggers", statements: dropped + made))
    steps.removeAll { $0.statements.isEmpty }
  }

  mutating func problem(_ path: String, _ message: String) {
    // The planner may find the same problem more than once.
    guard !problems.contains(where: { $0.path == path && $0.message == message }) else { return }
    problems.append(ModelProblem(path: path, message: message))
  }

  mutating func check(_ sql: String, _ path: String, _ message: String) {
    checks.append(Check(sql: sql, path: path, message: message))
  }

  // MARK: Problems and checks

  /// Adds checks for objects with numbers that another entity of their new family has too.
  private mutating func checkNumbers(_ emptied: Set<String>) {
    for name in emptied.sorted() {
      guard let old = to.entity(named: name).flatMap({ mapping.source(of: $0) }) else { continue }
      check(
        "SELECT count(*) FROM \(SQLNames.quoted(old.name))",
        name,
        "objects have numbers that others of the family have too, from before they had a common "
          + "ancestor"
      )
    }
  }

  /// Adds checks for objects of entities that the model has and its configuration leaves out.
  private mutating func checkLeftOut() {
    for old in from.concrete where mapping.target(of: old) == nil && to.leftOut.contains(old.name) {
      check(
        "SELECT count(*) FROM \(SQLNames.quoted(old.name))",
        old.name,
        "objects belong to the model but not to the configuration"
      )
    }
  }

  /// Adds checks for objects of entities that become abstract.
  private mutating func checkAbstract() {
    for old in from.concrete {
      guard let entity = mapping.target(of: old), entity.isAbstract else { continue }
      check(
        "SELECT count(*) FROM \(SQLNames.quoted(old.name))",
        entity.name,
        "objects would be lost: it becomes abstract"
      )
    }
  }

  /// Adds a check that the models share an entity, because a version of a model does.
  private mutating func checkSomethingStays() {
    let gone = from.concrete.filter { mapping.target(of: $0)?.isAbstract != false }
    guard gone.count == from.concrete.count, !gone.isEmpty else { return }
    let counts = gone.map { "(SELECT count(*) FROM \(SQLNames.quoted($0.name)))" }
    check(
      "SELECT \(counts.joined(separator: " + "))",
      to.name,
      "objects would be lost: the store and this model have no entity in common"
    )
  }

  // MARK: Unchanged tables

  /// The tables that are equal in both models except for their names.
  struct Kept {
    /// The numbers of the entities in the new model.
    var entities: Set<Int> = []
    /// The names of the new link tables.
    var pairs: Set<String> = []
    /// Whether the tables still have their old names, which they have during the checks.
    var isBefore = false
  }

  private mutating func keptTables() -> Kept {
    var kept = Kept()
    for entity in to.concrete {
      guard let old = mapping.source(of: entity), !old.isAbstract,
        StoreSchema.columns(of: old, from) == StoreSchema.columns(of: entity, to),
        entity.properties.allSatisfy({ staysInPlace($0, entity) })
      else { continue }
      kept.entities.insert(entity.number)
    }
    /// The new link tables that copy from each old link table.
    var takers: [String: [String]] = [:]
    for entity in to.entities {
      for relationship in entity.ownedPairs {
        for origin in origins(of: relationship, in: entity) {
          takers[pairsKey(origin.relationship), default: []].append(pairsName(relationship))
        }
      }
    }
    for entity in to.entities {
      for relationship in entity.ownedPairs {
        let origins = origins(of: relationship, in: entity)
        guard origins.count == 1, let origin = origins.first,
          takers[pairsKey(origin.relationship)]?.count == 1, stays(relationship, origin, entity)
        else { continue }
        kept.pairs.insert(pairsName(relationship))
      }
    }
    return kept
  }

  /// Returns the entities whose tables and triggers are unchanged, each with its old number.
  private func untouched(_ kept: Kept) -> [Int: Int] {
    var untouched: [Int: Int] = [:]
    for entity in to.entities {
      guard let old = mapping.source(of: entity), old.name == entity.name,
        old.isAbstract == entity.isAbstract,
        entity.isAbstract || kept.entities.contains(entity.number),
        entity.ownedPairs.allSatisfy({ kept.pairs.contains(pairsName($0)) }),
        StoreSchema.upkeep(of: old, from) == StoreSchema.upkeep(of: entity, to)
      else { continue }
      untouched[entity.number] = old.number
    }
    return untouched
  }

  /// Returns a key for the link table of an old relationship, which is the same for both sides.
  private func pairsKey(_ old: RelationshipDescription) -> String {
    guard case .pairs(let keeper, let name, _) = old.storage else { return "" }
    return "\(keeper).\(name)"
  }

  private func staysInPlace(_ property: PropertyDescription, _ entity: EntityDescription) -> Bool {
    switch (property, mapping.source(of: property, in: entity)) {
    case (.relationship(let relationship), _) where relationship.toMany: true
    case (.relationship(let relationship), .relationship(let old)?):
      old.name == relationship.name && !old.toMany && leadsToTheSame(old, relationship)
    case (.attribute(let attribute), .attribute(let old)?):
      old.name == attribute.name && Self.converted("", old.type, attribute.type) == ""
    default: false
    }
  }

  private func stays(
    _ relationship: RelationshipDescription,
    _ origin: Origin,
    _ entity: EntityDescription
  ) -> Bool {
    let old = origin.relationship
    guard !origin.reversed, case .pairs(let keeper, _, owns: true) = old.storage else {
      return false
    }
    let order = OrderSchema(from).pairColumns(old, of: from.entity(keeper))
    return old.isSymmetric == relationship.isSymmetric && leadsToTheSame(old, relationship)
      && staying(old.owner, within: entity.number) == nil
      && order == OrderSchema(to).pairColumns(relationship, of: entity)
  }

  /// Returns whether a relationship may reference every object that the old one could reference.
  func leadsToTheSame(
    _ old: RelationshipDescription,
    _ relationship: RelationshipDescription
  ) -> Bool {
    staying(old.destination, within: relationship.destination) == nil
  }

  /// Returns the number ranges of an old entity's objects that still belong to a new entity or its
  /// descendants; nil when all objects do.
  func staying(_ old: Int, within entity: Int) -> [ClosedRange<Int64>]? {
    let kinds = from.entity(old).place.kinds.map { from.entity($0) }
    let left = kinds.filter { kind in
      mapping.target(of: kind).map { to.isKind($0.number, of: entity) } ?? false
    }
    return left.count == kinds.count ? nil : left.map(\.numbers)
  }

  /// Returns the condition that a number is in one of some ranges; nil when every number is
  /// allowed.
  static func condition(_ column: String, in ranges: [ClosedRange<Int64>]?) -> String? {
    guard let ranges else { return nil }
    let parts = ranges.map { "\(column) BETWEEN \($0.lowerBound) AND \($0.upperBound)" }
    return parts.isEmpty ? "0" : "(\(parts.joined(separator: " OR ")))"
  }

  func pairsName(_ relationship: RelationshipDescription) -> String {
    SQLNames.pairs(to.entity(relationship.owner), relationship.name)
  }

  // MARK: Old tables

  /// Returns the name of an old entity's table while the new tables are created.
  func oldTable(_ old: EntityDescription, _ kept: Kept) -> String {
    if kept.isBefore { return SQLNames.quoted(old.name) }
    if let target = mapping.target(of: old), kept.entities.contains(target.number) {
      return SQLNames.quoted(target.name)
    }
    return SQLNames.quoted("cordial_old \(old.name)")
  }

  func oldPairs(_ old: RelationshipDescription, _ kept: Kept) -> String {
    guard case .pairs(let keeper, let name, _) = old.storage else { return "" }
    if kept.isBefore { return SQLNames.quoted(SQLNames.pairs(from.entity(keeper), name)) }
    if let target = keptTarget(keeper, name, kept) { return SQLNames.quoted(target) }
    return SQLNames.quoted("cordial_old \(SQLNames.pairs(from.entity(keeper), name))")
  }

  /// Returns the new name of a link table that is kept.
  private func keptTarget(_ keeper: Int, _ name: String, _ kept: Kept) -> String? {
    for entity in to.entities {
      for relationship in entity.ownedPairs where kept.pairs.contains(pairsName(relationship)) {
        let isIt = entity.place.kinds.contains { kind in
          guard let old = mapping.source(of: relationship, in: to.entity(kind)) else {
            return false
          }
          if case .pairs(keeper, name, _) = old.storage { return true }
          return false
        }
        if isIt { return pairsName(relationship) }
      }
    }
    return nil
  }

  /// Returns every table of the old model with its name during the migration.
  private func oldTables(_ kept: Kept) -> [(name: String, aside: String)] {
    let entities = from.concrete.map { (SQLNames.quoted($0.name), oldTable($0, kept)) }
    let pairs = from.entities.flatMap { entity in
      entity.ownedPairs.map { relationship in
        (SQLNames.quoted(SQLNames.pairs(entity, relationship.name)), oldPairs(relationship, kept))
      }
    }
    return entities + pairs
  }

  private func asides(_ kept: Kept) -> [String] {
    let untouched = Set(untouched(kept).values)
    let upkeep = from.entities.filter { !untouched.contains($0.number) }
      .flatMap { StoreSchema.triggerNames(of: $0, from) }
      .map { "DROP TRIGGER IF EXISTS \($0)" }
    let moves = oldTables(kept).filter { $0.name != $0.aside }
    // At each renaming, SQLite reads the whole schema again; its names do not differ by case.
    let present = Set(oldTables(kept).map { $0.name.lowercased() })
    guard moves.contains(where: { present.contains($0.aside.lowercased()) }) else {
      return upkeep + moves.map { "ALTER TABLE \($0.name) RENAME TO \($0.aside)" }
    }
    // Another table still has a required name, so all tables are renamed through temporary names.
    let first = moves.enumerated().map { "ALTER TABLE \($1.name) RENAME TO \"cordial_move \($0)\"" }
    let second = moves.enumerated().map {
      "ALTER TABLE \"cordial_move \($0)\" RENAME TO \($1.aside)"
    }
    return upkeep + first + second
  }

  private func removals(_ kept: Kept) -> [String] {
    oldTables(kept).map(\.aside).filter { $0.hasPrefix("\"cordial_old ") }.map {
      "DROP TABLE \($0)"
    }
  }
}
