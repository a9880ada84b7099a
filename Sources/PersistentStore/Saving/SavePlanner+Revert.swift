import CordialValues
import ObjectModel
import OrderedCollections
import PersistentHistory
import StoreLayout

/// The planning of the reverse of a group of commits.
///
/// The plan restores values from the log, separately for each end of a relationship. A graph that
/// was valid before the group is therefore valid again, and no delete rule runs a second time.
/// Obstacles protect the later changes of other saves. The plan also nullifies references that
/// became invalid.
extension SavePlanner {
  /// Plans the revert of a group.
  ///
  /// - Parameters:
  ///   - rows: The rows of the log that the group wrote, oldest first.
  ///   - net: The net change of each object.
  ///   - obstacles: The parts of the group that the plan does not revert.
  ///   - isNewest: Whether no change follows the group. Deleted objects are then restored without a
  ///     search for later versions.
  ///   - hasOwnLinks: Whether no change follows the group, and the group logged all link rows of
  ///     the objects that it inserted.
  ///   - lastVersion: Returns the version that an object had when it was last deleted.
  /// - Throws: `SQLiteError`.
  mutating func plan(
    reverting rows: [HistoryRow],
    _ net: [HistoryChange],
    _ obstacles: RevertObstacles,
    isNewest: Bool,
    hasOwnLinks: Bool,
    lastVersion: (ObjectKey) throws -> Int64
  ) throws {
    var oneToOneEnds: Set<ObjectKey> = []
    let changes =
      obstacles.objects.isEmpty ? net : net.filter { !obstacles.objects.contains($0.key) }
    plan.graph.reserve(restored: changes.count { $0.kind == .delete })
    // Objects are restored before any reference to them, and deleted after all such references are
    // removed.
    // The loops use indices, so that a change is copied only when it is used.
    for index in changes.indices where changes[index].kind == .delete {
      let change = changes[index]
      // An object that the newest commit deleted does not exist, and no later delete is logged.
      if isNewest, let version = change.deletedVersion {
        try restore(change, version: version &+ 1, &oneToOneEnds)
      } else if try !plan.graph.exists(change.key) {
        try restore(change, version: try lastVersion(change.key) &+ 1, &oneToOneEnds)
      }
    }
    for index in changes.indices where changes[index].kind == .update {
      let change = changes[index]
      try restoreValues(change, obstacles.properties[change.key] ?? [], &oneToOneEnds)
    }
    for index in changes.indices
    where !changes[index].linked.isEmpty || !changes[index].unlinked.isEmpty {
      try revertLinks(changes[index], obstacles)
    }
    plan.graph.reserve(deletes: changes.count { $0.kind == .insert })
    for index in changes.indices where changes[index].kind == .insert {
      try remove(changes[index].key, hasOwnLinks: hasOwnLinks, &oneToOneEnds)
    }
    for index in changes.indices where changes[index].kind != .insert {
      try nullifyInvalidToOnes(changes[index])
    }
    for (holder, property) in obstacles.referencesToDeleted {
      try nullifyDanglingReference(property, of: holder)
    }
    for key in oneToOneEnds.sorted() { try nullifyInvalidOneToOnes(key) }
    try restorePositions(rows, obstacles)
    try finish()
  }

  private mutating func restore(
    _ change: HistoryChange,
    version: Int64,
    _ oneToOneEnds: inout Set<ObjectKey>
  ) throws {
    let key = change.key
    let entity = layout.entity(key)
    var row = entity.defaults
    // The log has all columns of a deleted object, in their order.
    for (index, value) in change.before.enumerated() {
      guard let column = entity.column(named: value.property, at: index),
        case let attribute = entity.attribute(at: column), attribute?.derived == nil
      else { continue }
      row[column] = value.stored(as: attribute)
    }
    for (column, form, source) in entity.derivedTexts {
      row[column] = form.applied(to: row[source])
    }
    plan.graph.restore(
      PlannedInsert(
        key: key,
        label: Self.label(of: change, entity.entity),
        row: row,
        version: version
      )
    )
    for relationship in entity.relationships where relationship.isToMany {
      touch(relationship, of: key)
    }
    for (column, toOne) in entity.toOnes {
      if case .integer(let number) = row[column] { touchInverse(of: toOne, number) }
    }
    try noteOneToOneEnds(of: key, &oneToOneEnds)
  }

  /// Returns the ID of a deleted object, from its logged values.
  private static func label(of change: HistoryChange, _ entity: EntityDescription) -> String {
    let number = ObjectID(entity: entity.name, key: .object(change.key.object)).description
    guard let identity = entity.identity,
      let value = change.before.first(where: { $0.property == identity.name }),
      let key = identity.type.codec.identityForm?.key(value.value)
    else { return number }
    return ObjectID(entity: entity.name, key: key).description
  }

  private mutating func restoreValues(
    _ change: HistoryChange,
    _ left: Set<String>,
    _ oneToOneEnds: inout Set<ObjectKey>
  ) throws {
    let key = change.key
    let entity = layout.entity(key)
    var columns: [ColumnChange] = []
    for value in change.before
    where !left.contains(value.property) && !entity.entity.isDerived(value.property) {
      guard let column = entity.columns[value.property] else { continue }
      columns.set(column, to: value.stored(in: entity.entity))
    }
    entity.addDerivedTexts(to: &columns)
    let references = columns.contains { $0.column >= entity.entity.attributes.count }
    if references { try noteOneToOneEnds(of: key, &oneToOneEnds) }
    for (column, toOne) in entity.toOnes {
      guard let value = columns[column: column] else { continue }
      if let old = try plan.graph.target(of: toOne, key) { touchInverse(of: toOne, old) }
      var target: Int64?
      if case .integer(let number) = value {
        touchInverse(of: toOne, number)
        target = number
      }
      try plan.graph.set(toOne, of: key, to: target)
      columns.removeAll { $0.column == column }
    }
    plan.graph.set(columns, of: key)
    if references { try noteOneToOneEnds(of: key, &oneToOneEnds) }
  }

  private mutating func touchInverse(of toOne: RelationshipLayout, _ owner: Int64) {
    guard let inverse = toOne.inverse, inverse.isToMany else { return }
    touch(inverse, of: toOne.target(owner))
  }

  /// Deletes the link rows that the group inserted, and inserts the link rows that the group
  /// deleted.
  private mutating func revertLinks(_ change: HistoryChange, _ obstacles: RevertObstacles) throws {
    for (property, others) in change.linked.sorted(by: { $0.key < $1.key }) {
      for other in others.sorted() {
        try revertLink(change.key, property, other, isLinked: false, obstacles)
      }
    }
    for (property, others) in change.unlinked.sorted(by: { $0.key < $1.key }) {
      for other in others.sorted() {
        try revertLink(change.key, property, other, isLinked: true, obstacles)
      }
    }
  }

  private mutating func revertLink(
    _ key: ObjectKey,
    _ property: String,
    _ other: ObjectKey,
    isLinked: Bool,
    _ obstacles: RevertObstacles
  ) throws {
    guard let toMany = layout.entity(key).relationship(named: property), toMany.isLinked,
      !obstacles.objects.contains(other),
      LinkRowIdentity(toMany, key.object, other.object).map({ !obstacles.links.contains($0) })
        ?? true,
      try plan.graph.exists(key), try plan.graph.exists(other),
      try plan.graph.contains(other, in: toMany, of: key) != isLinked
    else { return }
    if isLinked {
      try join(other, toMany, key)
    } else {
      try leave(other, toMany, key)
    }
  }

  /// Deletes an object that the group inserted, without delete rules.
  ///
  /// With `hasOwnLinks`, the object exists, and its link rows are already deleted.
  private mutating func remove(
    _ key: ObjectKey,
    hasOwnLinks: Bool,
    _ oneToOneEnds: inout Set<ObjectKey>
  ) throws {
    guard try hasOwnLinks || plan.graph.exists(key) else { return }
    try noteOneToOneEnds(of: key, &oneToOneEnds)
    for (_, toOne) in layout.entity(key).toOnes where toOne.inverse?.isCounted == true {
      if let owner = try plan.graph.target(of: toOne, key) { touchInverse(of: toOne, owner) }
    }
    if !hasOwnLinks { try removeLinks(of: key) }
    try plan.graph.delete(key)
  }

  // MARK: References that no longer fit

  /// Records the objects at both ends of an object's one-to-ones.
  private func noteOneToOneEnds(of key: ObjectKey, _ oneToOneEnds: inout Set<ObjectKey>) throws {
    for (_, toOne) in layout.entity(key).toOnes where toOne.isOneToOne {
      oneToOneEnds.insert(key)
      if let number = try plan.graph.target(of: toOne, key) {
        oneToOneEnds.insert(toOne.target(number))
      }
    }
  }

  /// Nullifies restored to-ones whose target no longer exists, or whose inverse references another
  /// object.
  private mutating func nullifyInvalidToOnes(_ change: HistoryChange) throws {
    let key = change.key
    for (_, toOne) in layout.entity(key).toOnes
    where change.before.contains(where: { $0.property == toOne.name }) {
      guard let number = try plan.graph.target(of: toOne, key), try plan.graph.exists(key) else {
        continue
      }
      let target = toOne.target(number)
      if try plan.graph.exists(target) {
        guard toOne.isOneToOne, let inverse = toOne.inverse,
          try plan.graph.target(of: inverse, target) != key.object
        else { continue }
      }
      try setOneEnd(toOne, of: key, to: nil)
    }
  }

  /// Nullifies each one-to-one of an object if the object at the other end references a third
  /// object.
  private mutating func nullifyInvalidOneToOnes(_ key: ObjectKey) throws {
    guard try plan.graph.exists(key) else { return }
    for (_, toOne) in layout.entity(key).toOnes where toOne.isOneToOne {
      guard let inverse = toOne.inverse, let number = try plan.graph.target(of: toOne, key) else {
        continue
      }
      let target = toOne.target(number)
      let isDeleted = try !plan.graph.exists(target)
      if isDeleted, inverse.description.deleteRule == .noAction { continue }
      guard try isDeleted || plan.graph.target(of: inverse, target) != key.object else { continue }
      try setOneEnd(toOne, of: key, to: nil)
    }
  }

  /// Nullifies a to-one that references a deleted object, unless the inverse's rule is `noAction`.
  private mutating func nullifyDanglingReference(_ property: String, of holder: ObjectKey) throws {
    guard let toOne = layout.entity(holder).relationship(named: property), !toOne.isToMany,
      try plan.graph.exists(holder), let number = try plan.graph.target(of: toOne, holder),
      try !plan.graph.exists(toOne.target(number))
    else { return }
    if toOne.inverse?.description.deleteRule == .noAction {
      plan.leavesDangling = true
    } else {
      try setOneEnd(toOne, of: holder, to: nil)
    }
  }

  // MARK: Sort positions

  /// Restores the former sort positions of objects that are members of ordered to-manys.
  private mutating func restorePositions(
    _ rows: [HistoryRow],
    _ obstacles: RevertObstacles
  ) throws {
    var lists: OrderedDictionary<PlannedList, FormerOrder> = [:]
    for row in rows.reversed() {
      guard let former = row.formerPosition, layout.model.hasEntity(row.entity),
        case let owner = layout.model.key(row.entity, row.object),
        let toMany = layout.entity(owner).relationship(named: former.property),
        toMany.description.ordered, case let member = toMany.target(row.other),
        !obstacles.isKept(member, in: toMany, of: owner),
        try plan.graph.exists(owner), try plan.graph.contains(member, in: toMany, of: owner)
      else { continue }
      lists[
        PlannedList(toMany, of: owner),
        default: FormerOrder(toMany: toMany, owner: owner)
      ].positions[row.other] = (former.position, former.event == .moved)
    }
    for list in lists.values { try restoreOrder(list) }
  }

  /// The former sort positions of the members of one to-many.
  private struct FormerOrder {
    let toMany: RelationshipLayout
    let owner: ObjectKey
    /// The position of each member, by the member's object number; `moved` is false if the position
    /// changed because the member joined or left.
    var positions: OrderedDictionary<Int64, (position: Int64, moved: Bool)> = [:]
  }

  private mutating func restoreOrder(_ list: FormerOrder) throws {
    let (toMany, owner) = (list.toMany, list.owner)
    let present =
      plan.graph.isInserted(owner) ? [:] : try plan.graph.stored.positions(of: toMany, owner)
    let members = try plan.graph.members(of: toMany, owner)
    var positions: [Int64: Int64] = [:]
    for member in members { positions[member] = present[member] ?? nil }
    var moves = false
    for (member, former) in list.positions {
      // Only a member that stayed in the to-many and moved changes the owner's order. A member that
      // left the to-many, and that the revert adds again, leaves the owner's order unchanged.
      if former.moved, positions[member] != former.position { moves = true }
      positions[member] = former.position
    }
    if Set(positions.values).count < positions.count {
      // Two members would have the same position, so all members get new positions in their order.
      let order = positions.sorted { ($0.value, $0.key) < ($1.value, $1.key) }.map(\.key)
      let wanted = SortPositions.assign(order.map { present[$0] ?? nil }, gap: OrderSchema.gap)
      for (member, position) in zip(order, wanted) { positions[member] = position }
      moves = true
    }
    for (member, position) in positions.sorted(by: { $0.key < $1.key })
    where present[member] != .some(position) {
      plan.positions.append(
        PositionChange(
          relationship: toMany,
          owner: owner,
          member: member,
          position: position,
          joins: present[member] == nil
        )
      )
    }
    if moves { plan.increments.append(owner) }
  }
}
