import ObjectModel
import PersistentHistory
import SQLite
import StoreLayout

/// The data that a migration would remove.
///
/// A check counts each kind of data, unless the model lists the data in `removed`.
extension MigrationPlan {
  /// Adds checks for objects, values and links that the new model has no entity or property to
  /// store.
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

  /// Adds checks for objects from which the model's map makes no new object.
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

  /// Returns whether the migration may remove the objects of an old entity.
  ///
  /// The model permits this by listing the entity, or a removed ancestor, in `removed`.
  private func isGivenUp(_ old: EntityDescription) -> Bool {
    givesUpEverything
      || old.familyPosition.ancestors.map { from.entity($0) }.contains { ancestor in
        mapping.target(of: ancestor) == nil && to.removed.contains(ancestor.name)
      }
  }

  /// Returns whether the migration may remove the values of an old property.
  ///
  /// The model permits this by listing the property in `removed`, with the name of its entity or of
  /// an ancestor. If the new entities no longer have a composite, listing the composite's name
  /// permits the removal of all its members.
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

  /// Returns the concrete entities, among an entity and its descendants, whose remaining objects
  /// lose a property.
  private func losers(of property: String, declaredBy old: EntityDescription) -> [EntityDescription]
  {
    old.familyPosition.concreteEntities.map { from.entity($0) }.filter { kind in
      let takers = mapping.takers(of: kind).filter { !$0.isAbstract }
      let keepers = keepers(of: property, kind)
      // A map may make different new entities from different objects. Values are lost even if only
      // one of these new entities lacks the property.
      let isLost = mapping.isMoved(kind.number) ? keepers.count < takers.count : keepers.isEmpty
      return !takers.isEmpty && isLost && !isGivenUp(property, of: kind)
    }
  }

  /// Returns the new entities that keep a property of an old entity's objects.
  private func keepers(of property: String, _ old: EntityDescription) -> [EntityDescription] {
    mapping.takers(of: old).filter { taker in
      !taker.isAbstract
        && taker.properties.contains {
          mapping.source(of: $0, in: taker, from: old)?.name == property && !isRecomputed($0)
        }
    }
  }

  /// Returns the SQL condition that an object remains only in new entities that lack a property.
  ///
  /// The result is empty if the migration renumbers or omits no objects of the family.
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

  /// Returns whether the store computes a property from other properties, which replaces its former
  /// values.
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
    // The closure captures a copy, because `countLosses` has exclusive access to `self`.
    let plan = self
    countLosses(attribute.name, old, losers, "values") { kind in
      "SELECT count(*) FROM \(SQLNames.quoted(kind.name)) WHERE \(column) IS NOT NULL"
        + plan.lostCondition(attribute.name, kind)
    }
  }

  /// Adds checks that count the losses of several entities.
  ///
  /// If all concrete entities lose the property, one check counts the sum. Otherwise each entity
  /// has a check.
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
    // If the inverse remains, it supplies the same links, so that no link is lost.
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

  /// Returns whether the inverse of a relationship remains, or the model lists the inverse in
  /// `removed`.
  private func isInverseKept(_ relationship: RelationshipDescription) -> Bool {
    guard let inverse = relationship.inverse, !relationship.isSymmetric else { return false }
    let destination = from.entity(relationship.destination)
    let remaining = destination.familyPosition.concreteEntities.map { from.entity($0) }
      .filter(isTaken)
    return !remaining.isEmpty && losers(of: inverse, declaredBy: destination).isEmpty
  }

  /// Returns the number ranges of an old entity's remaining objects; nil if all objects remain.
  private func remainingRanges(of old: Int) -> [ClosedRange<Int64>]? {
    let kinds = from.entity(old).familyPosition.concreteEntities.map { from.entity($0) }
    let remaining = kinds.filter(isTaken)
    return remaining.count == kinds.count ? nil : remaining.map(\.numbers)
  }
}
