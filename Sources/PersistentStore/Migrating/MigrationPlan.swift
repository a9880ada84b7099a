import CordialValues
package import ObjectModel
import PersistentHistory
import SQLite
import StoreLayout

/// The plan that migrates a store from one model to another: the data checks and the SQL.
///
/// The plan depends on the two models only. Its checks determine whether the stored data allows the
/// migration.
package struct MigrationPlan: Sendable {
  /// A condition on the store's data, as a query that counts violations.
  package struct Check: Sendable {
    /// The query, which returns the count of violations.
    package let sql: String
    /// The part of the old or the new model that has the problem, such as `Task.title`.
    package let path: String
    /// The problem that the check reports if there are violations.
    package let message: String
    /// A query for the object numbers and values of some violating objects, nil if the check gives
    /// no examples.
    let examples: String?
  }

  /// A group of statements with a title.
  package struct Step: Sendable {
    package let title: String
    package internal(set) var statements: [String]
  }

  /// A group of statements with bound values and a title.
  package struct Preparation: Sendable {
    package let title: String
    let statements: [SQLFragment]

    /// The statements, with `?` for each bound value.
    package var sql: [String] { statements.map(\.sql) }
  }

  package let mapping: ModelMapping
  /// The problems that do not depend on the data; a plan with problems is not executed.
  package private(set) var problems: [ModelProblem] = []
  package private(set) var checks: [Check] = []
  package internal(set) var steps: [Step] = []
  /// The statements that run before the checks and compute temporary tables from the old tables.
  ///
  /// They are empty if the migration has neither a map nor a program.
  package internal(set) var preparation: [Preparation] = []
  /// The attributes whose values are computed from expressions.
  var mappedTargets: [MappedValues.Target] = []
  /// The relationships whose links are computed from expressions.
  var mappedReferences: [MappedValues.Reference] = []
  /// The checks of the new tables, which run after all steps.
  var lateChecks: [Check] = []
  /// Whether the migration may remove all data that the new model cannot store.
  ///
  /// The value is true between versions of one chain, and if a program makes the new objects.
  /// Otherwise the migration removes only the data that the model lists in `removed`.
  let givesUpEverything: Bool

  var from: Model { mapping.from }
  var to: Model { mapping.to }

  /// Plans a migration between two models.
  ///
  /// - Parameters:
  ///   - from: The model that the store has.
  ///   - to: The new model, with the store's ranges of object numbers.
  ///   - emptied: The entities whose ranges of object numbers change. The plan checks that they
  ///     have no objects.
  ///   - givesUpEverything: Whether the migration may remove all data that the new model cannot
  ///     store; if not, it removes only the data that the model lists in `removed`.
  ///   - hasProgram: Whether a program makes the new objects.
  package init(
    from: Model,
    to: Model,
    emptied: Set<String> = [],
    givesUpEverything: Bool = false,
    hasProgram: Bool = false
  ) {
    mapping = ModelMapping(from: from, to: to, hasProgram: hasProgram)
    self.givesUpEverything = givesUpEverything || hasProgram
    for found in mapping.ruleProblems { problem(found.path, found.message) }
    prepare()
    checkNumbers(emptied)
    checkAbstract()
    checkCommonEntity()
    checkExcludedEntities()
    checkLosses()
    let kept = keptTables()
    checkRequired(kept)
    checkInvalidTargets(kept)
    checkFamilyUniqueness()
    for (path, message) in mapping.exchanges + mapping.ignoredRenames + mapping.repeatedNames {
      problem(path, message)
    }
    steps.append(Step(title: "Rename the old tables", statements: renameStatements(kept)))
    for entity in to.concreteEntities where !kept.entities.contains(entity.number) {
      if let rule = mapping.rules[entity.number] {
        rebuild(entity, rule, kept)
      } else {
        rebuild(entity, kept)
      }
    }
    for entity in to.entities {
      for relationship in entity.linkRelationships
      where !kept.linkTables.contains(linkTableName(relationship)) {
        rebuild(relationship, of: entity, kept)
      }
    }
    steps.append(Step(title: "Set the sort positions", statements: order(kept)))
    steps.append(Step(title: "Log the removed objects", statements: tombstones(kept)))
    steps.append(Step(title: "Migrate the history", statements: history()))
    steps.append(Step(title: "Log the new objects", statements: newEntries(kept)))
    let removals = removals(kept) + removalsOfPreparation()
    steps.append(Step(title: "Remove the old tables", statements: removals))
    steps.append(
      Step(title: "Compute the derived values", statements: DerivedValues.statements(for: to))
    )
    // An unchanged table may have changed indexes. Its old indexes are dropped first, because new
    // indexes may need their names.
    let unchangedEntities = unchangedEntities(kept)
    let dropped = from.entities.filter { !unchangedEntities.values.contains($0.number) }
      .flatMap { StoreSchema.indexNames(of: $0, from) }.map { "DROP INDEX IF EXISTS \($0)" }
    let created = to.entities.filter { unchangedEntities[$0.number] == nil }
      .flatMap { StoreSchema.indexesAndTriggers(of: $0, to) }
    steps.append(Step(title: "Create indexes and triggers", statements: dropped + created))
    steps.removeAll { $0.statements.isEmpty }
  }

  mutating func problem(_ path: String, _ message: String) {
    // The planner may find the same problem more than once.
    guard !problems.contains(where: { $0.path == path && $0.message == message }) else { return }
    problems.append(ModelProblem(path: path, message: message))
  }

  mutating func check(
    _ sql: String,
    _ path: String,
    _ message: String,
    examples: String? = nil
  ) {
    checks.append(Check(sql: sql, path: path, message: message, examples: examples))
  }

  // MARK: Problems and checks

  /// Adds checks that an entity has no objects if another entity of its new family has the same
  /// range of object numbers.
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

  /// Adds problems for entities of the store that the model's configuration excludes.
  ///
  /// The migration does not remove such an entity, even without objects: otherwise the store could
  /// no longer be opened with the whole model.
  private mutating func checkExcludedEntities() {
    for old in from.concreteEntities
    where mapping.target(of: old) == nil && to.excludedEntities.contains(old.name) {
      problem(
        old.name,
        "the configuration does not have it, and the store does: serve the store without "
          + "--configuration, or create another store for the configuration"
      )
    }
  }

  /// Adds checks for objects of entities that become abstract.
  private mutating func checkAbstract() {
    for old in from.concreteEntities {
      guard let entity = mapping.target(of: old), entity.isAbstract, !isTaken(old) else {
        continue
      }
      check(
        "SELECT count(*) FROM \(SQLNames.quoted(old.name))",
        entity.name,
        "objects would be lost: it becomes abstract"
      )
    }
  }

  /// Adds a check that the store has no objects, if the models have no entity in common.
  ///
  /// The models are then not versions of one model.
  private mutating func checkCommonEntity() {
    let removed = from.concreteEntities.filter { !isTaken($0) }
    guard removed.count == from.concreteEntities.count, !removed.isEmpty else { return }
    let counts = removed.map { "(SELECT count(*) FROM \(SQLNames.quoted($0.name)))" }
    check(
      "SELECT \(counts.joined(separator: " + "))",
      to.name,
      "objects would be lost: the store and this model have no entity in common"
    )
  }

  /// Adds checks of the new tables for unique values that objects in several tables share.
  ///
  /// The unique index of a table finds equal values in that table only.
  private mutating func checkFamilyUniqueness() {
    for entity in to.entities where entity.familyPosition.concreteEntities.count > 1 {
      let parent = entity.familyPosition.ancestors.dropLast().last.map { to.entity($0) }
      for names in uniqueSets(entity) where !(parent.map(uniqueSets) ?? []).contains(names) {
        guard !wasUnique(names, in: entity) else { continue }
        let columns = names.map(SQLNames.quoted)
        let present = columns.map { "\($0) IS NOT NULL" }.joined(separator: " AND ")
        lateChecks.append(
          Check(
            sql: "SELECT count(*) FROM (SELECT 1 FROM \(to.source(entity)) s WHERE \(present) "
              + "GROUP BY \(columns.joined(separator: ", ")) HAVING count(*) > 1)",
            path: entity.name,
            message: "several objects of the family have the same \(names.joined(separator: ", "))",
            examples: nil
          )
        )
      }
    }
  }

  private func uniqueSets(_ entity: EntityDescription) -> [[String]] {
    entity.unique + (entity.identity.map { [[$0.name]] } ?? [])
  }

  /// Returns whether the old model already required unique values of the same objects.
  private func wasUnique(_ names: [String], in entity: EntityDescription) -> Bool {
    guard mapping.rules.isEmpty, let old = mapping.source(of: entity) else { return false }
    let former = names.map { name in
      entity.property(named: name).flatMap { mapping.source(of: $0, in: entity) }?.name ?? ""
    }
    return uniqueSets(old).contains(former)
      && entity.familyPosition.concreteEntities.allSatisfy { kind in
        mapping.source(of: to.entity(kind)).map { from.isKind($0.number, of: old.number) } ?? true
      }
  }

  // MARK: Unchanged tables

  /// The tables that are equal in both models except for their names.
  struct UnchangedTables {
    /// The new entity numbers of the unchanged entity tables.
    var entities: Set<Int> = []
    /// The new names of the unchanged link tables.
    var linkTables: Set<String> = []
    /// Whether queries use the old table names, because the checks run before the tables are
    /// renamed.
    var hasOldNames = false
  }

  private mutating func keptTables() -> UnchangedTables {
    var kept = UnchangedTables()
    for entity in to.concreteEntities {
      guard mapping.rules[entity.number] == nil,
        let old = mapping.source(of: entity), !old.isAbstract,
        StoreSchema.columns(of: old, from) == StoreSchema.columns(of: entity, to),
        entity.properties.allSatisfy({ isColumnUnchanged($0, entity) })
      else { continue }
      kept.entities.insert(entity.number)
    }
    /// The new link tables that copy rows from an old link table, by the key of the old link table.
    var copies: [String: [String]] = [:]
    for entity in to.entities {
      for relationship in entity.linkRelationships {
        for origin in origins(of: relationship, in: entity) {
          copies[linkTableKey(origin.relationship), default: []].append(linkTableName(relationship))
        }
      }
    }
    for entity in to.entities {
      for relationship in entity.linkRelationships {
        let origins = origins(of: relationship, in: entity)
        guard origins.count == 1, let origin = origins.first,
          copies[linkTableKey(origin.relationship)]?.count == 1,
          isLinkTableUnchanged(relationship, origin, entity)
        else { continue }
        kept.linkTables.insert(linkTableName(relationship))
      }
    }
    return kept
  }

  /// Returns the entities whose tables, indexes and triggers are unchanged: the old entity number
  /// by the new entity number.
  private func unchangedEntities(_ kept: UnchangedTables) -> [Int: Int] {
    var unchangedEntities: [Int: Int] = [:]
    for entity in to.entities {
      guard let old = mapping.source(of: entity), old.name == entity.name,
        old.isAbstract == entity.isAbstract,
        entity.isAbstract || kept.entities.contains(entity.number),
        entity.linkRelationships.allSatisfy({ kept.linkTables.contains(linkTableName($0)) }),
        StoreSchema.indexesAndTriggers(of: old, from)
          == StoreSchema.indexesAndTriggers(of: entity, to)
      else { continue }
      unchangedEntities[entity.number] = old.number
    }
    return unchangedEntities
  }

  /// Returns a key that identifies the link table of an old relationship and its inverse.
  private func linkTableKey(_ old: RelationshipDescription) -> String {
    guard case .linkTable(let owningEntity, let name, _) = old.storage else { return "" }
    return "\(owningEntity).\(name)"
  }

  private func isColumnUnchanged(
    _ property: PropertyDescription,
    _ entity: EntityDescription
  ) -> Bool {
    switch (property, mapping.source(of: property, in: entity)) {
    case (.relationship(let relationship), _) where relationship.toMany: true
    case (.relationship(let relationship), .relationship(let old)?):
      old.name == relationship.name && !old.toMany && mayReferenceSameObjects(old, relationship)
        && !isGiven(relationship)
    case (.attribute(let attribute), .attribute(let old)?):
      old.name == attribute.name && Self.converted("", old.type, attribute.type) == ""
    default: false
    }
  }

  private func isLinkTableUnchanged(
    _ relationship: RelationshipDescription,
    _ origin: Origin,
    _ entity: EntityDescription
  ) -> Bool {
    let old = origin.relationship
    guard !origin.reversed, case .linkTable(let owningEntity, _, owns: true) = old.storage else {
      return false
    }
    let order = OrderSchema(from).linkPositionColumns(old, of: from.entity(owningEntity))
    return old.isSymmetric == relationship.isSymmetric && mayReferenceSameObjects(old, relationship)
      && !isGiven(relationship) && !mapping.isMoved(old.owner)
      && remainingRanges(old.owner, within: entity.number) == nil
      && order == OrderSchema(to).linkPositionColumns(relationship, of: entity)
  }

  /// Returns whether a new relationship may reference every object that the old relationship could
  /// reference.
  func mayReferenceSameObjects(
    _ old: RelationshipDescription,
    _ relationship: RelationshipDescription
  ) -> Bool {
    remainingRanges(old.destination, within: relationship.destination) == nil
      && !mapping.isMoved(old.destination)
  }

  /// Returns whether objects of an old entity become objects of a concrete new entity.
  func isTaken(_ old: EntityDescription) -> Bool {
    mapping.takers(of: old).contains { !$0.isAbstract }
  }

  /// Returns the number ranges of an old entity's objects that may become objects of a new entity
  /// or its descendants; nil if all of them may.
  func usedRanges(_ old: Int, within entity: Int) -> [ClosedRange<Int64>]? {
    guard !mapping.rules.isEmpty else { return remainingRanges(old, within: entity) }
    let kinds = from.entity(old).familyPosition.concreteEntities.map { from.entity($0) }
    let used = kinds.filter { kind in
      mapping.takers(of: kind).contains { to.isKind($0.number, of: entity) }
    }
    return used.count == kinds.count ? nil : used.map(\.numbers)
  }

  /// Returns the number ranges of an old entity's objects that stay in a new entity or its
  /// descendants; nil if all of them stay.
  func remainingRanges(_ old: Int, within entity: Int) -> [ClosedRange<Int64>]? {
    let kinds = from.entity(old).familyPosition.concreteEntities.map { from.entity($0) }
    let remaining = kinds.filter { kind in
      mapping.target(of: kind).map { to.isKind($0.number, of: entity) } ?? false
    }
    return remaining.count == kinds.count ? nil : remaining.map(\.numbers)
  }

  /// Returns the SQL condition that a number is in one of the ranges; nil if `ranges` is nil.
  static func condition(_ column: String, in ranges: [ClosedRange<Int64>]?) -> String? {
    guard let ranges else { return nil }
    let parts = ranges.map { "\(column) BETWEEN \($0.lowerBound) AND \($0.upperBound)" }
    return parts.isEmpty ? "0" : "(\(parts.joined(separator: " OR ")))"
  }

  func linkTableName(_ relationship: RelationshipDescription) -> String {
    SQLNames.linkTable(to.entity(relationship.owner), relationship.name)
  }

  // MARK: Old tables

  /// Returns the name of an old entity's table while the new tables are created.
  func oldTable(_ old: EntityDescription, _ kept: UnchangedTables) -> String {
    if kept.hasOldNames { return SQLNames.quoted(old.name) }
    if let target = mapping.target(of: old), kept.entities.contains(target.number) {
      return SQLNames.quoted(target.name)
    }
    return SQLNames.quoted("cordial_old \(old.name)")
  }

  func oldLinkTable(_ old: RelationshipDescription, _ kept: UnchangedTables) -> String {
    guard case .linkTable(let owningEntity, let name, _) = old.storage else { return "" }
    if kept.hasOldNames {
      return SQLNames.quoted(SQLNames.linkTable(from.entity(owningEntity), name))
    }
    if let target = unchangedLinkTable(owningEntity, name, kept) { return SQLNames.quoted(target) }
    return SQLNames.quoted("cordial_old \(SQLNames.linkTable(from.entity(owningEntity), name))")
  }

  /// Returns the new name of an unchanged link table; nil if the migration rebuilds the link table.
  private func unchangedLinkTable(
    _ owningEntity: Int,
    _ name: String,
    _ kept: UnchangedTables
  ) -> String? {
    for entity in to.entities {
      for relationship in entity.linkRelationships
      where kept.linkTables.contains(linkTableName(relationship)) {
        let hasOldTable = entity.familyPosition.concreteEntities.contains { kind in
          guard let old = mapping.source(of: relationship, in: to.entity(kind)) else {
            return false
          }
          if case .linkTable(owningEntity, name, _) = old.storage { return true }
          return false
        }
        if hasOldTable { return linkTableName(relationship) }
      }
    }
    return nil
  }

  /// Returns every table of the old model with its name during the migration.
  private func oldTables(_ kept: UnchangedTables) -> [(name: String, temporaryName: String)] {
    let entities = from.concreteEntities.map { (SQLNames.quoted($0.name), oldTable($0, kept)) }
    let linkTables = from.entities.flatMap { entity in
      entity.linkRelationships.map { relationship in
        (
          SQLNames.quoted(SQLNames.linkTable(entity, relationship.name)),
          oldLinkTable(relationship, kept)
        )
      }
    }
    return entities + linkTables
  }

  private func renameStatements(_ kept: UnchangedTables) -> [String] {
    let unchangedEntities = Set(unchangedEntities(kept).values)
    let upkeep = from.entities.filter { !unchangedEntities.contains($0.number) }
      .flatMap { StoreSchema.triggerNames(of: $0, from) }
      .map { "DROP TRIGGER IF EXISTS \($0)" }
    let moves = oldTables(kept).filter { $0.name != $0.temporaryName }
    // Each rename makes SQLite read the whole schema, so tables are renamed only once if possible.
    // SQLite ignores the case of the names.
    let present = Set(oldTables(kept).map { $0.name.lowercased() })
    guard moves.contains(where: { present.contains($0.temporaryName.lowercased()) }) else {
      return upkeep + moves.map { "ALTER TABLE \($0.name) RENAME TO \($0.temporaryName)" }
    }
    // An existing table still has a required name, so all tables first get temporary names.
    let first = moves.enumerated().map { "ALTER TABLE \($1.name) RENAME TO \"cordial_move \($0)\"" }
    let second = moves.enumerated().map {
      "ALTER TABLE \"cordial_move \($0)\" RENAME TO \($1.temporaryName)"
    }
    return upkeep + first + second
  }

  private func removals(_ kept: UnchangedTables) -> [String] {
    oldTables(kept).map(\.temporaryName).filter { $0.hasPrefix("\"cordial_old ") }.map {
      "DROP TABLE \($0)"
    }
  }
}
