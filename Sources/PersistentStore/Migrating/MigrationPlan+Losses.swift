import ObjectModel
import PersistentHistory
import SQLite
import StoreLayout

/// The data that a migration would remove.
///
/// Each kind of data has a check that counts it, unless the model gives it up by name.
extension MigrationPlan {
  /// Adds checks for objects, values and links that the new model has no property or entity for.
  mutating func checkLosses() {
    for old in from.concreteEntities where mapping.target(of: old) == nil && !isTaken(old) {
      guard !isGivenUp(old) else { continue }
      lossCheck("SELECT count(*) FROM \(SQLNames.quoted(old.name))", old.name, "objects")
    }
    checkUntakenObjects()
    for old in from.entities {
      let parent = old.familyPosition.ancestors.dropLast().last.map { from.entity($0) }
      for attribute in old.attributes
      where parent?.property(named: attribute.name) == nil && attribute.derived == nil {
        checkLoss(of: attribute, declaredBy: old)
      }
      for relationship in old.relationships where relationship.owner == old.number {
        switch relationship.storage {
        case .column: checkColumnLoss(of: relationship, declaredBy: old)
        case .linkTable(_, _, owns: true): checkLinkLoss(of: relationship, declaredBy: old)
        case .inverseColumn, .linkTable: break
        }
      }
    }
  }

  /// Adds checks for objects that no entity of the model's map takes.
  mutating func checkUntakenObjects() {
    guard !givesUpEverything else { return }
    for old in from.concreteEntities where mapping.isMoved(old.number) && isTaken(old) {
      let made =
        "SELECT old FROM \(PreparedTables.made) WHERE family = \(mapping.family(old.number))"
      check(
        "SELECT count(*) FROM \(SQLNames.quoted(old.name)) WHERE \"_id\" NOT IN (\(made))",
        old.name,
        "objects would be removed, because no entity of the model's map takes them: let one take "
          + "them, or serve a folder with both versions"
      )
    }
  }

  private mutating func lossCheck(_ sql: String, _ path: String, _ what: String) {
    check(sql, path, "\(what) would be removed, which the model does not list in \"removed\"")
  }

  // MARK: What the model gives up

  /// Returns whether the model gives up an entity, by its name or by that of a removed ancestor.
  private func isGivenUp(_ old: EntityDescription) -> Bool {
    givesUpEverything
      || old.familyPosition.ancestors.map { from.entity($0) }.contains { ancestor in
        mapping.target(of: ancestor) == nil && to.removed.contains(ancestor.name)
      }
  }

  /// Returns whether the model gives up a property, by the name of its entity or of an ancestor; a
  /// member of a composite also by the composite's, if the model no longer has the composite.
  private func isGivenUp(_ property: String, of old: EntityDescription) -> Bool {
    let names = property.split(separator: ".")
    let composites = names.indices.dropLast().map { names[...$0].joined(separator: ".") }
      .filter { name in !mapping.takers(of: old).contains { $0.composite(named: name) != nil } }
    return givesUpEverything
      || old.familyPosition.ancestors.contains { ancestor in
        ([property] + composites).contains {
          to.removed.contains("\(from.entity(ancestor).name).\($0)")
        }
      }
  }

  // MARK: Values and links

  /// The entities, among one and its descendants, whose objects remain and lose a property.
  private func losers(of property: String, declaredBy old: EntityDescription) -> [EntityDescription]
  {
    old.familyPosition.concreteEntities.map { from.entity($0) }.filter { kind in
      let takers = mapping.takers(of: kind).filter { !$0.isAbstract }
      let keepers = keepers(of: property, kind)
      // Where a map selects among the objects, each one has takers of its own.
      let isLost = mapping.isMoved(kind.number) ? keepers.count < takers.count : keepers.isEmpty
      return !takers.isEmpty && isLost && !isGivenUp(property, of: kind)
    }
  }

  /// Returns the entities that keep a property of the objects that they are made of.
  private func keepers(of property: String, _ old: EntityDescription) -> [EntityDescription] {
    mapping.takers(of: old).filter { taker in
      !taker.isAbstract
        && taker.properties.contains {
          mapping.source(of: $0, in: taker, from: old)?.name == property && !isRecomputed($0)
        }
    }
  }

  /// Returns the condition that an object of a moved family is taken, and by no entity that keeps a
  /// property.
  private func lostCondition(
    _ property: String,
    _ old: EntityDescription,
    object: String = "\"_id\""
  ) -> String {
    guard mapping.isMoved(old.number) else { return "" }
    let made = "SELECT old FROM \(PreparedTables.made) WHERE family = \(mapping.family(old.number))"
    let keepers = keepers(of: property, old).map { String($0.number) }.joined(separator: ", ")
    return " AND \(object) IN (\(made)) AND \(object) NOT IN (\(made) AND entity IN (\(keepers)))"
  }

  /// Returns whether the store computes a property from others, so that former values are lost.
  private func isRecomputed(_ property: PropertyDescription) -> Bool {
    guard case .attribute(let attribute) = property else { return false }
    return attribute.derived.map { $0 != .now } ?? false
  }

  private mutating func checkLoss(
    of attribute: AttributeDescription,
    declaredBy old: EntityDescription
  ) {
    let column = SQLNames.quoted(attribute.name)
    let losers = losers(of: attribute.name, declaredBy: old)
    // A call of a method would access all of `self` while it changes.
    let plan = self
    countLosses(attribute.name, old, losers, "values") { kind in
      "SELECT count(*) FROM \(SQLNames.quoted(kind.name)) WHERE \(column) IS NOT NULL"
        + plan.lostCondition(attribute.name, kind)
    }
  }

  /// Counts what several entities lose: together if it is all of them, otherwise each.
  private mutating func countLosses(
    _ property: String,
    _ old: EntityDescription,
    _ losers: [EntityDescription],
    _ what: String,
    _ query: (EntityDescription) -> String
  ) {
    guard !losers.isEmpty else { return }
    if losers.count == old.familyPosition.concreteEntities.count {
      let counts = losers.map { "(\(query($0)))" }.joined(separator: " + ")
      lossCheck("SELECT \(counts)", "\(old.name).\(property)", what)
    } else {
      for kind in losers { lossCheck(query(kind), "\(kind.name).\(property)", what) }
    }
  }

  private mutating func checkColumnLoss(
    of relationship: RelationshipDescription,
    declaredBy old: EntityDescription
  ) {
    // The links may remain at the other end.
    guard !isInverseKept(relationship) else { return }
    let column = SQLNames.quoted(relationship.name)
    let remaining = Self.condition(column, in: remainingRanges(of: relationship.destination))
    let condition = remaining.map { " AND \($0)" } ?? ""
    let losers = losers(of: relationship.name, declaredBy: old)
    let plan = self
    countLosses(relationship.name, old, losers, "links") { kind in
      "SELECT count(*) FROM \(SQLNames.quoted(kind.name)) WHERE \(column) IS NOT NULL\(condition)"
        + plan.lostCondition(relationship.name, kind)
    }
  }

  private mutating func checkLinkLoss(
    of relationship: RelationshipDescription,
    declaredBy old: EntityDescription
  ) {
    guard !isInverseKept(relationship) else { return }
    let losers = losers(of: relationship.name, declaredBy: old)
    guard !losers.isEmpty else { return }
    let sources = losers.compactMap { kind in
      Self.condition("source", in: [kind.numbers]).map {
        $0 + lostCondition(relationship.name, kind, object: "source")
      }
    }
    let conditions = [
      "(\(sources.joined(separator: " OR ")))",
      Self.condition("target", in: remainingRanges(of: relationship.destination)),
    ].compactMap { $0 }
    lossCheck(
      "SELECT count(*) FROM \(SQLNames.quoted(SQLNames.linkTable(old, relationship.name))) "
        + "WHERE \(conditions.joined(separator: " AND "))",
      "\(old.name).\(relationship.name)",
      "links"
    )
  }

  /// Returns whether the inverse of a relationship remains, or is given up by its own name.
  private func isInverseKept(_ relationship: RelationshipDescription) -> Bool {
    guard let inverse = relationship.inverse, !relationship.isSymmetric else { return false }
    let destination = from.entity(relationship.destination)
    let remaining = destination.familyPosition.concreteEntities.map { from.entity($0) }
      .filter(isTaken)
    return !remaining.isEmpty && losers(of: inverse, declaredBy: destination).isEmpty
  }

  /// Returns the number ranges of the objects of an old entity that remain; nil when all do.
  private func remainingRanges(of old: Int) -> [ClosedRange<Int64>]? {
    let kinds = from.entity(old).familyPosition.concreteEntities.map { from.entity($0) }
    let remaining = kinds.filter(isTaken)
    return remaining.count == kinds.count ? nil : remaining.map(\.numbers)
  }
}
