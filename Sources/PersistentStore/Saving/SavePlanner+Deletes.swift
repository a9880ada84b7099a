import CordialValues
import JSON
import ObjectModel
import OrderedCollections

/// Deletes of objects, with the model's delete rules.
///
/// Only `nullifyReferences` decides about a to-one whose target is deleted.
extension SavePlanner {
  /// The maximum number of referencing objects that the problem of a denied delete lists.
  private static let holdersMax = 100

  /// Deletes objects, and the objects to which delete rules cascade.
  ///
  /// Delete rules apply to the graph after the rest of the save: first cascades, then denials, then
  /// nullifications. If a relationship denies a delete, the references through the relationship
  /// stay, so that validation does not also report them as missing.
  mutating func delete(_ named: [ObjectKey], alsoDeleting matched: [ObjectKey]) throws {
    guard !named.isEmpty || !matched.isEmpty else { return }
    let deletedKeys = try closure(of: named + matched, namedCount: named.count)
    var denied: Set<PlannedList> = []
    for key in deletedKeys { try deny(key, deletedKeys, &denied) }
    for key in deletedKeys {
      try removeLinks(of: key) { !denied.contains(PlannedList($0, of: key)) }
      try nullifyReferences(to: key, deletedKeys) { !denied.contains(PlannedList($0, of: key)) }
    }
    for key in deletedKeys {
      try noteDeleted(key)
      try plan.graph.delete(key)
    }
  }

  /// Returns objects and all objects to which their deletes cascade, each once.
  private mutating func closure(
    of keys: [ObjectKey],
    namedCount: Int
  ) throws -> OrderedKeySet {
    var found = OrderedKeySet(keys)
    var next = 0
    while next < found.count {
      let key = found[next]
      next += 1
      for relationship in layout.entity(key).relationships
      where relationship.description.deleteRule == .cascade {
        for other in try related(relationship, key) { found.append(other) }
        guard found.count - namedCount <= affectedMax else {
          throw StoreError.tooMany("affected", affectedMax, "objects to delete")
        }
      }
    }
    return found
  }

  /// Returns the existing objects that a relationship of an object references.
  private mutating func related(
    _ relationship: RelationshipLayout,
    _ key: ObjectKey
  ) throws -> [ObjectKey] {
    let numbers: [Int64] =
      relationship.isToMany
      ? try plan.graph.members(of: relationship, key)
      : try plan.graph.target(of: relationship, key).map { [$0] } ?? []
    return try numbers.map(relationship.target).filter { try plan.graph.exists($0) }
  }

  /// Reports the relationships of an object that deny its delete.
  private mutating func deny(
    _ key: ObjectKey,
    _ deletedKeys: OrderedKeySet,
    _ denied: inout Set<PlannedList>
  ) throws {
    for relationship in layout.entity(key).relationships
    where relationship.description.deleteRule == .deny {
      let holders = try related(relationship, key).filter { !deletedKeys.contains($0) }
      guard !holders.isEmpty else { continue }
      denied.insert(PlannedList(relationship, of: key))
      let id = try label(of: key)
      add(
        SaveProblem(
          .deleteDenied,
          "deny",
          id,
          nil,
          "\(id) cannot be deleted while \(relationship.name) references \(holders.count)",
          hint: "Delete or move the holders first",
          details: [
            JSONMember("relationship", .string(relationship.name)),
            JSONMember(
              "holders",
              .array(try holders.prefix(Self.holdersMax).map { .string(try label(of: $0)) })
            ),
          ]
        )
      )
    }
  }

  /// Deletes the link rows of an object, for the relationships that a filter accepts.
  mutating func removeLinks(
    of key: ObjectKey,
    where isIncluded: (RelationshipLayout) -> Bool = { _ in true }
  ) throws {
    for relationship in layout.entity(key).relationships
    where relationship.isLinked && isIncluded(relationship) {
      for member in try plan.graph.members(of: relationship, key) {
        try leave(relationship.target(member), relationship, key)
      }
    }
    // The object may also be a member of to-manys without inverse.
    for relationship in layout.relationships
    where relationship.inverse == nil && relationship.isLinked
      && layout.model.isKind(key.entity, of: relationship.destination.number)
    {
      for source in try plan.graph.linkSources(of: relationship, to: key) {
        try leave(key, relationship, relationship.holder(source))
      }
    }
  }

  /// Nullifies the to-ones that reference a deleted object: inverses of its relationships, and
  /// to-ones without inverse.
  ///
  /// With the rule `noAction`, these to-ones stay unchanged. A required to-one is nullified too,
  /// and validation reports the missing value.
  private mutating func nullifyReferences(
    to key: ObjectKey,
    _ deletedKeys: OrderedKeySet,
    where isIncluded: (RelationshipLayout) -> Bool
  ) throws {
    for relationship in layout.entity(key).relationships
    where !relationship.isLinked && isIncluded(relationship) {
      if !relationship.isToMany, let inverse = relationship.inverse, inverse.isCounted,
        let owner = try plan.graph.target(of: relationship, key)
      {
        touch(inverse, of: relationship.target(owner))
      }
      guard relationship.description.deleteRule != .noAction else {
        plan.leavesDangling = true
        continue
      }
      guard let inverse = relationship.inverse, !inverse.isToMany else { continue }
      try nullify(inverse, to: key, deletedKeys)
    }
    for relationship in layout.relationships
    where relationship.inverse == nil && !relationship.isToMany
      && layout.model.isKind(key.entity, of: relationship.destination.number)
    {
      try nullify(relationship, to: key, deletedKeys)
    }
  }

  private mutating func nullify(
    _ toOne: RelationshipLayout,
    to key: ObjectKey,
    _ deletedKeys: OrderedKeySet
  ) throws {
    for holder in try plan.graph.holders(of: toOne, to: key) where !deletedKeys.contains(holder) {
      try setOneEnd(toOne, of: holder, to: nil)
    }
  }

  /// Returns the name of an object in problems: the ID that the client sent, or the stored object's
  /// ID.
  func label(of key: ObjectKey) throws -> String {
    if let index = plan.graph.insertIndex(of: key) { return plan.graph.inserts[index].label }
    return try labels[key] ?? plan.graph.stored.name(of: key)
  }
}
