import CordialValues
package import ObjectModel
import PersistentHistory
import SQLite
import StoreLayout

/// How a store of one version of a model becomes one of another: what has to hold, and the SQL.
///
/// Made of the two models alone; whether the data allows it, its checks tell.
package struct MigrationPlan: Sendable {
  /// Something that must not be so in the store, by a query for how many there are.
  package struct Check: Sendable {
    /// Answers a number.
    package let sql: String
    /// What of the new model it is about, as `Task.title`.
    package let path: String
    /// What is wrong when there are some.
    package let message: String
  }

  /// Statements that belong together.
  package struct Step: Sendable {
    package let title: String
    package internal(set) var statements: [String]
  }

  package let mapping: ModelMapping
  /// What cannot be inferred whatever the data; a plan with problems is not carried out.
  package private(set) var problems: [ModelProblem] = []
  package private(set) var checks: [Check] = []
  package internal(set) var steps: [Step] = []

  var from: Model { mapping.from }
  var to: Model { mapping.to }

  /// Infers a migration.
  ///
  /// - Parameters:
  ///   - from: The model that the store has.
  ///   - to: The model that it shall have, with the store's ranges of numbers.
  ///   - emptied: The entities that must have no objects, since they get other numbers.
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
    steps.append(Step(title: "Set the old tables aside", statements: asides(kept)))
    for entity in to.concrete where !kept.entities.contains(entity.number) {
      rebuild(entity, kept)
    }
    for entity in to.entities {
      for relationship in entity.ownedPairs where !kept.pairs.contains(pairsName(relationship)) {
        rebuild(relationship, of: entity, kept)
      }
    }
    steps.append(Step(title: "Put what is ordered in order", statements: order(kept)))
    steps.append(Step(title: "Carry the history over", statements: history()))
    steps.append(Step(title: "Remove the old tables", statements: removals(kept)))
    steps.append(
      Step(title: "Compute what is derived", statements: DerivedValues.statements(for: to))
    )
    // Those of tables that stay have names that the new ones may want.
    let untouched = untouched(kept)
    let dropped = from.entities.filter { !untouched.values.contains($0.number) }
      .flatMap { StoreSchema.indexNames(of: $0, from) }.map { "DROP INDEX IF EXISTS \($0)" }
    let made = to.entities.filter { untouched[$0.number] == nil }
      .flatMap { StoreSchema.upkeep(of: $0, to) }
    steps.append(Step(title: "Make indexes and triggers", statements: dropped + made))
    steps.removeAll { $0.statements.isEmpty }
  }

  mutating func problem(_ path: String, _ message: String) {
    // The same may be met on several ways.
    guard !problems.contains(where: { $0.path == path && $0.message == message }) else { return }
    problems.append(ModelProblem(path: path, message: message))
  }

  mutating func check(_ sql: String, _ path: String, _ message: String) {
    checks.append(Check(sql: sql, path: path, message: message))
  }

  // MARK: What cannot be

  /// Entities whose objects had the numbers of another's before they had an ancestor in common.
  private mutating func checkNumbers(_ emptied: Set<String>) {
    for name in emptied.sorted() {
      guard let old = to.entity(named: name).flatMap({ mapping.source(of: $0) }) else { continue }
      check(
        "SELECT count(*) FROM \(SQLNames.quoted(old.name))",
        name,
        "objects have numbers that others of the family have too, from before they had an ancestor "
          + "in common"
      )
    }
  }

  /// What belongs to the model, and not to the part of it that is asked for, does not go.
  private mutating func checkLeftOut() {
    for old in from.concrete where mapping.target(of: old) == nil && to.leftOut.contains(old.name) {
      check(
        "SELECT count(*) FROM \(SQLNames.quoted(old.name))",
        old.name,
        "objects are of the model and not of the configuration"
      )
    }
  }

  /// An entity that becomes abstract loses its objects.
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

  /// A model that has nothing in common with the store's is another model and no version of it.
  private mutating func checkSomethingStays() {
    let gone = from.concrete.filter { mapping.target(of: $0)?.isAbstract != false }
    guard gone.count == from.concrete.count, !gone.isEmpty else { return }
    let counts = gone.map { "(SELECT count(*) FROM \(SQLNames.quoted($0.name)))" }
    check(
      "SELECT \(counts.joined(separator: " + "))",
      to.name,
      "objects would be lost: no entity of the store is one of this model"
    )
  }

  // MARK: What stays as it is

  /// Tables that are the same in both models but for their names.
  struct Kept {
    /// By the numbers of entities of the new model.
    var entities: Set<Int> = []
    /// The names of new tables of pairs.
    var pairs: Set<String> = []
    /// Whether the tables have their old names still, as when checks are made.
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
    /// The old tables of pairs, each with the new ones that take from it.
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

  /// The entities of whose tables nothing changes, not even a trigger, with what they were.
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

  /// Names the table of pairs of an old relationship, whichever side it is.
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

  /// Whether every object that a relationship led to may be led to still.
  func leadsToTheSame(
    _ old: RelationshipDescription,
    _ relationship: RelationshipDescription
  ) -> Bool {
    staying(old.destination, within: relationship.destination) == nil
  }

  /// The numbers of those objects of an old entity that are of a new one or its descendants still;
  /// nil when all are.
  func staying(_ old: Int, within entity: Int) -> [ClosedRange<Int64>]? {
    let kinds = from.entity(old).place.kinds.map { from.entity($0) }
    let left = kinds.filter { kind in
      mapping.target(of: kind).map { to.isKind($0.number, of: entity) } ?? false
    }
    return left.count == kinds.count ? nil : left.map(\.numbers)
  }

  /// The condition that a number is in one of some ranges; nil for any number.
  static func condition(_ column: String, in ranges: [ClosedRange<Int64>]?) -> String? {
    guard let ranges else { return nil }
    let parts = ranges.map { "\(column) BETWEEN \($0.lowerBound) AND \($0.upperBound)" }
    return parts.isEmpty ? "0" : "(\(parts.joined(separator: " OR ")))"
  }

  func pairsName(_ relationship: RelationshipDescription) -> String {
    SQLNames.pairs(to.entity(relationship.owner), relationship.name)
  }

  // MARK: Old tables

  /// The name under which an old entity's table can be read while the new ones are made.
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

  /// The new name of a table of pairs that stays.
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

  /// Every table of the old model with the name that it gets first.
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
    // SQLite reads the whole schema again at each renaming; its names do not differ by case.
    let present = Set(oldTables(kept).map { $0.name.lowercased() })
    guard moves.contains(where: { present.contains($0.aside.lowercased()) }) else {
      return upkeep + moves.map { "ALTER TABLE \($0.name) RENAME TO \($0.aside)" }
    }
    // A name that is wanted is another's still, so everything goes through one that nothing has.
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
