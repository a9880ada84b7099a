import CordialValues
import JSON
import ObjectModel
import PersistentHistory

/// Removing objects and applying the model's delete rules to what they lead to.
extension SaveOperation {
  /// Removes the named and matched objects and what cascades from them.
  ///
  /// Rules look at the graph as the rest of the save left it. First the closure of the cascades,
  /// then what denies, then what is cut loose, then the rows.
  mutating func removeObjects() throws -> (count: Int, ids: [String]) {
    var named: [ObjectKey] = []
    for delete in request.deletes where !spared.contains(delete.id) {
      guard let key = try resolve(delete.id), try table(key).version(of: key.object) != nil
      else { throw StoreError.objectNotFound(delete.id) }
      named.append(key)
    }
    named += try matchedForRemoval()
    guard !named.isEmpty else { return (0, []) }
    let doomed = try closure(of: named)
    let doomedSet = Set(doomed)
    for key in doomed { try deny(key, doomedSet) }
    for key in doomed { try cutLoose(key, doomedSet) }
    var ids: [String] = []
    for key in doomed {
      let id = name(key)
      ids.append(id)
      // What this save itself inserted was never there.
      if !isInserted(key) { removedIDs.append(id) }
      try table(key).delete(key.object)
    }
    return (Set(named).count, ids)
  }

  /// The named objects and everything that goes with them, each once.
  private func closure(of named: [ObjectKey]) throws -> [ObjectKey] {
    var found: Set<ObjectKey> = []
    var order: [ObjectKey] = []
    for key in named where found.insert(key).inserted { order.append(key) }
    var next = 0
    while next < order.count {
      let key = order[next]
      next += 1
      for relationship in model.entity(key.entity).relationships
      where relationship.deleteRule == .cascade {
        for other in try related(relationship, key) where found.insert(other).inserted {
          order.append(other)
        }
      }
    }
    return order
  }

  /// The objects to which a relationship of an object leads, those that are there.
  private func related(
    _ relationship: RelationshipDescription,
    _ key: ObjectKey
  ) throws -> [ObjectKey] {
    let numbers: [Int64]
    if relationship.toMany {
      numbers = try members(relationship, of: key)
    } else {
      let entity = model.entity(key.entity)
      numbers = try table(key).numbers(
        "SELECT \(SQLNames.quoted(relationship.name)) FROM \(SQLNames.quoted(entity.name)) "
          + "WHERE \"_id\" = ?",
        key.object
      )
    }
    return try numbers.map { model.key(relationship.destination, $0) }
      .filter { try table($0).version(of: $0.object) != nil }
  }

  private func deny(_ key: ObjectKey, _ doomed: Set<ObjectKey>) throws {
    for relationship in model.entity(key.entity).relationships
    where relationship.deleteRule == .deny {
      let holders = try related(relationship, key).filter { !doomed.contains($0) }
      guard holders.isEmpty else {
        throw StoreError(
          .deleteDenied,
          "\(name(key)) cannot be deleted while \(relationship.name) leads to \(holders.count)",
          hint: "Delete or move those first",
          data: [
            JSONMember("id", .string(name(key))),
            JSONMember("relationship", .string(relationship.name)),
            JSONMember("holders", .array(holders.prefix(100).map { .string(name($0)) })),
          ]
        )
      }
    }
  }

  /// Ends what leads from and to a doomed object, but where the rule is `noAction`.
  private mutating func cutLoose(_ key: ObjectKey, _ doomed: Set<ObjectKey>) throws {
    for relationship in model.entity(key.entity).relationships {
      switch relationship.storage {
      case .pairs:
        for number in try members(relationship, of: key) { try part(number, relationship, key) }
      case .inverseColumn, .column:
        if !relationship.toMany { try touchOwner(relationship, of: key) }
        guard relationship.deleteRule != .noAction else {
          leftDangling = true
          continue
        }
        try nullify(relationship, key, doomed)
      }
    }
    try nullifyOneWay(key, doomed)
  }

  /// Cuts the to-ones at the other end that lead to a doomed object.
  private mutating func nullify(
    _ relationship: RelationshipDescription,
    _ key: ObjectKey,
    _ doomed: Set<ObjectKey>
  ) throws {
    guard let inverse = inverse(of: relationship), !inverse.toMany else { return }
    for holder in try holders(of: inverse, to: key) where !doomed.contains(holder) {
      try nullify(inverse, of: holder)
    }
  }

  /// To-ones and to-manys without inverse that lead to a doomed object from anywhere.
  private mutating func nullifyOneWay(_ key: ObjectKey, _ doomed: Set<ObjectKey>) throws {
    for entity in model.entities {
      for relationship in entity.relationships
      where relationship.owner == entity.number && relationship.inverse == nil
        && model.isKind(key.entity, of: relationship.destination)
      {
        if case .pairs(_, let name, _) = relationship.storage {
          let pairs = SQLNames.quoted(SQLNames.pairs(entity, name))
          let sources = try table(key).numbers(
            "SELECT source FROM \(pairs) WHERE target = ?",
            key.object
          )
          for source in sources {
            try part(key.object, relationship, model.key(entity.number, source))
          }
          continue
        }
        for holder in try holders(of: relationship, to: key) where !doomed.contains(holder) {
          try nullify(relationship, of: holder)
        }
      }
    }
  }

  /// Ends a to-one; one that must have a value is a problem, of which the reason may tell more.
  mutating func nullify(
    _ relationship: RelationshipDescription,
    of holder: ObjectKey,
    _ reason: String = ""
  ) throws {
    guard relationship.optional else {
      return problem(
        name(holder),
        relationship.name,
        "required",
        "\(relationship.name) must have a value\(reason)"
      )
    }
    try set(relationship, of: holder, to: nil)
  }
}
