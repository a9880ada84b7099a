package import CordialValues
import ObjectModel
import OrderedCollections
import PersistentHistory
import StoreLayout

/// The third stage of a save: computes the graph after the whole save.
///
/// The protocol defines the order: inserts, updates and deletes, each in the order of the request,
/// then delete rules on the resulting graph.
package struct SavePlanner {
  let layout: SaveLayout
  /// The plan so far.
  package var plan: SavePlan
  /// The problems: denied deletes, and insertion indices outside of a list.
  package private(set) var problems = ProblemList()
  /// The ordered to-manys whose whole order is known, each with its order.
  var sequences: OrderedDictionary<PlannedList, Sequence> = [:]
  /// The members that join ordered to-manys at the end, in the order of joining.
  var appended: OrderedDictionary<PlannedList, Joining> = [:]

  /// The to-manys for which the request has a value.
  private var sentLists: Set<PlannedList> = []
  /// The to-many whose value is being applied.
  private var current: PlannedList?

  /// The members that join an ordered to-many.
  struct Joining {
    let toMany: RelationshipLayout
    let owner: ObjectKey
    var members = JoinedMembers()
  }

  /// The order of a to-many.
  struct Sequence {
    let toMany: RelationshipLayout
    let owner: ObjectKey
    var members: [Int64]
  }

  /// The names of the objects in the request.
  let labels: SaveLabels
  /// The maximum number of objects that a predicate and cascades delete.
  package var affectedMax = Int.max

  /// Prepares planning over stored objects.
  package init(_ layout: SaveLayout, _ stored: any StoredObjects, labels: SaveLabels = SaveLabels())
  {
    self.layout = layout
    self.labels = labels
    plan = SavePlan(graph: PlannedGraph(layout, stored))
  }

  mutating func add(_ problem: SaveProblem) { problems.add(problem) }

  /// Plans a resolved and merged save.
  package mutating func plan(_ save: ResolvedSave, alsoDeleting matched: [ObjectKey] = []) throws {
    plan.graph.reserve(inserts: save.inserts.count)
    for insert in save.inserts {
      plan.graph.insert(PlannedInsert(key: insert.key, label: insert.label, row: insert.row))
    }
    // An adopted insert is applied in its turn among the inserts.
    var updates = save.updates[...]
    for insert in save.inserts {
      while let update = updates.first, case .insert(let index) = update.origin,
        index < insert.index
      {
        try apply(updates.removeFirst())
      }
      for toMany in layout.entity(insert.key).wanted { touch(toMany, of: insert.key) }
      for change in insert.links { try apply(change, to: insert.key, insert.label) }
    }
    for update in updates { try apply(update) }
    try delete(save.deletes.map(\.key), alsoDeleting: matched)
    try finish()
  }

  /// Plans the increments of versions and the sort positions that follow from all changes together.
  mutating func finish() throws {
    try assignPositions()
    incrementLinkVersions()
  }

  private mutating func apply(_ update: ResolvedUpdate) throws {
    if let index = plan.graph.insertIndex(of: update.key) {
      // The insert matched an earlier insert of the save.
      for change in update.columns {
        plan.graph.set(change.column, to: change.value, ofInsert: index)
      }
    } else {
      plan.graph.set(update.columns, of: update.key)
    }
    for change in update.links { try apply(change, to: update.key, update.label) }
  }

  // MARK: Relationships

  /// Sets a relationship and its inverse.
  private mutating func apply(
    _ change: RelationshipChange,
    to key: ObjectKey,
    _ label: String
  ) throws {
    if change.relationship.isToMany {
      current = PlannedList(change.relationship, of: key)
      sentLists.insert(PlannedList(change.relationship, of: key))
    }
    defer { current = nil }
    switch change.link {
    case .toOne(let target): try set(change.relationship, of: key, to: target, follows: false)
    case .members(let members): try setMembers(members, of: change.relationship, key)
    case .edit(let add, let remove, let position):
      try edit(change.relationship, of: key, add, remove, at: position, label)
    }
  }

  /// Sets a to-one and its inverse; in a one-to-one, the former partners lose their references.
  ///
  /// - Parameters:
  ///   - toOne: The to-one.
  ///   - key: The object that has the to-one.
  ///   - target: The object that the to-one references; nil for none.
  ///   - follows: Whether a value sent for another object causes the change, so that the result
  ///     returns the to-one.
  /// - Throws: `SQLiteError`.
  mutating func set(
    _ toOne: RelationshipLayout,
    of key: ObjectKey,
    to target: ObjectKey?,
    follows: Bool
  ) throws {
    if follows { plan.followed[key, default: []].insert(toOne.name) }
    guard let inverse = toOne.inverse else {
      return try plan.graph.set(toOne, of: key, to: target?.object)
    }
    guard !inverse.isToMany else {
      if inverse.isCounted {
        if let old = try plan.graph.target(of: toOne, key) { touch(inverse, of: toOne.target(old)) }
        if let target { touch(inverse, of: target) }
      }
      if !sentLists.isEmpty {
        if let old = try plan.graph.target(of: toOne, key) { note(inverse, of: toOne.target(old)) }
        if let target { note(inverse, of: target) }
      }
      if inverse.description.ordered { try noteJoining(inverse, key, target) }
      return try plan.graph.set(toOne, of: key, to: target?.object)
    }
    for holder in try plan.graph.holders(of: inverse, to: key) where holder != target {
      try setOneEnd(inverse, of: holder, to: nil)
    }
    try plan.graph.set(toOne, of: key, to: target?.object)
    guard let target else { return }
    for otherHolder in try plan.graph.holders(of: toOne, to: target) where otherHolder != key {
      try setOneEnd(toOne, of: otherHolder, to: nil)
    }
    if try plan.graph.target(of: inverse, target) != key.object {
      try setOneEnd(inverse, of: target, to: key.object)
    }
  }

  /// Sets one end of a one-to-one.
  mutating func setOneEnd(
    _ toOne: RelationshipLayout,
    of key: ObjectKey,
    to target: Int64?
  ) throws {
    plan.followed[key, default: []].insert(toOne.name)
    try plan.graph.set(toOne, of: key, to: target)
  }

  private mutating func setMembers(
    _ members: [ObjectKey],
    of toMany: RelationshipLayout,
    _ owner: ObjectKey
  ) throws {
    let present = try plan.graph.members(of: toMany, owner)
    let current = Set(present)
    let wanted = Set(members.map(\.object))
    let added = members.filter { !current.contains($0.object) }
    // Members that join go to the end, in the order of the list.
    for member in toMany.description.ordered ? added : added.sorted() {
      try join(member, toMany, owner)
    }
    for member in current.subtracting(wanted).sorted() {
      try leave(toMany.target(member), toMany, owner)
    }
    touch(toMany, of: owner)
    guard toMany.description.ordered else { return }
    let list = PlannedList(toMany, of: owner)
    sequences[list] = Sequence(toMany: toMany, owner: owner, members: members.map(\.object))
  }

  private mutating func edit(
    _ toMany: RelationshipLayout,
    of owner: ObjectKey,
    _ add: [ObjectKey],
    _ remove: [ObjectKey],
    at position: Int?,
    _ label: String
  ) throws {
    let hasPosition = position != nil || sequences[PlannedList(toMany, of: owner)] != nil
    if toMany.description.ordered, hasPosition {
      return try editOrder(toMany, of: owner, add, remove, at: position, label)
    }
    for member in add where try !plan.graph.contains(member, in: toMany, of: owner) {
      try join(member, toMany, owner)
    }
    for member in remove where try plan.graph.contains(member, in: toMany, of: owner) {
      try leave(member, toMany, owner)
    }
  }

  private mutating func editOrder(
    _ toMany: RelationshipLayout,
    of owner: ObjectKey,
    _ add: [ObjectKey],
    _ remove: [ObjectKey],
    at position: Int?,
    _ label: String
  ) throws {
    let removedKeys = Set(remove.map(\.object))
    let adding = Set(add.map(\.object))
    var sequence = try sequence(of: toMany, owner)
    sequence.removeAll { removedKeys.contains($0) || position != nil && adding.contains($0) }
    guard 0...sequence.count ~= position ?? sequence.count else {
      return self.add(
        .invalidPosition(position ?? 0, of: sequence.count, in: toMany.name, of: label)
      )
    }
    let present = Set(sequence)
    sequence.insert(
      contentsOf: add.map(\.object).filter { !present.contains($0) },
      at: position ?? sequence.count
    )
    try setMembers(sequence.map(toMany.target), of: toMany, owner)
  }

  /// Returns the members of an ordered to-many in the planned order.
  private mutating func sequence(
    of toMany: RelationshipLayout,
    _ owner: ObjectKey
  ) throws -> [Int64] {
    let members = try plan.graph.members(of: toMany, owner)
    guard let planned = sequences[PlannedList(toMany, of: owner)]?.members else { return members }
    let present = Set(members)
    let known = Set(planned)
    let joined = appended[PlannedList(toMany, of: owner)]?.members ?? JoinedMembers()
    let others = members.filter { !known.contains($0) }
    return planned.filter { present.contains($0) } + others.filter { !joined.contains($0) }
      + joined.inOrder.filter { present.contains($0) && !known.contains($0) }
  }

  /// Adds a member that a to-many does not have.
  mutating func join(
    _ member: ObjectKey,
    _ toMany: RelationshipLayout,
    _ owner: ObjectKey
  ) throws {
    try setMember(member, toMany, owner, isMember: true)
  }

  /// Removes a member that a to-many has.
  mutating func leave(
    _ member: ObjectKey,
    _ toMany: RelationshipLayout,
    _ owner: ObjectKey
  ) throws {
    try setMember(member, toMany, owner, isMember: false)
  }

  private mutating func setMember(
    _ member: ObjectKey,
    _ toMany: RelationshipLayout,
    _ owner: ObjectKey,
    isMember: Bool
  ) throws {
    if toMany.isLinked {
      touch(toMany, of: owner)
      note(toMany, of: owner)
      if let inverse = toMany.inverse {
        touch(inverse, of: member)
        note(inverse, of: member)
      }
      plan.graph.setLink(isMember, toMany, of: owner, to: member)
      noteLink(toMany, of: owner, to: member, isMember)
      if let inverse = toMany.inverse { noteLink(inverse, of: member, to: owner, isMember) }
    } else if let inverse = toMany.inverse {
      try set(inverse, of: member, to: isMember ? owner : nil, follows: true)
    }
  }

  /// Records that a to-one makes an object join or leave ordered to-manys.
  private mutating func noteJoining(
    _ toMany: RelationshipLayout,
    _ member: ObjectKey,
    _ owner: ObjectKey?
  ) throws {
    guard let toOne = toMany.inverse else { return }
    let former = try plan.graph.target(of: toOne, member)
    guard former != owner?.object else { return }
    if let former {
      appended[PlannedList(toMany, of: toOne.target(former))]?.members.remove(member.object)
    }
    guard let owner else { return }
    appended[PlannedList(toMany, of: owner), default: Joining(toMany: toMany, owner: owner)]
      .members.append(member.object)
  }

  /// Records that a link row makes an object join or leave an ordered to-many.
  private mutating func noteLink(
    _ toMany: RelationshipLayout,
    of owner: ObjectKey,
    to member: ObjectKey,
    _ isMember: Bool
  ) {
    guard toMany.description.ordered else { return }
    let list = PlannedList(toMany, of: owner)
    if isMember {
      appended[list, default: Joining(toMany: toMany, owner: owner)].members.append(member.object)
    } else {
      appended[list]?.members.remove(member.object)
    }
  }

  /// Adds a to-many to the result if the request has a value for the to-many and a different change
  /// of the request alters the members.
  private mutating func note(_ toMany: RelationshipLayout, of owner: ObjectKey) {
    let list = PlannedList(toMany, of: owner)
    guard list != current, sentLists.contains(list) else { return }
    plan.followed[owner, default: []].insert(toMany.name)
  }

  /// Adds to the result the to-manys that a deleted object leaves.
  mutating func noteDeleted(_ key: ObjectKey) throws {
    guard !sentLists.isEmpty else { return }
    for (_, toOne) in layout.entity(key).toOnes {
      guard let inverse = toOne.inverse, inverse.isToMany,
        let owner = try plan.graph.target(of: toOne, key)
      else { continue }
      note(inverse, of: toOne.target(owner))
    }
  }

  /// Marks a to-many for the check of its number of members, if the model limits that number.
  mutating func touch(_ toMany: RelationshipLayout, of owner: ObjectKey) {
    guard toMany.isCounted else { return }
    plan.touched[PlannedList(toMany, of: owner)] = toMany
  }

  // MARK: Versions and positions

  /// Returns whether joining members are written in the order of joining.
  ///
  /// The triggers append members in the order of writing, so the plan then needs no sort positions.
  private func isWrittenInOrder(_ joining: Joining) -> Bool {
    var last = -1
    for member in joining.members.inOrder {
      let rank = plan.graph.writingRank(of: member, in: joining.toMany, of: joining.owner)
      guard rank > last else { return false }
      last = rank
    }
    return true
  }

  /// Increments the version of the source object of each changed link row, and of the target object
  /// if the relationship has an inverse.
  private mutating func incrementLinkVersions() {
    guard !plan.graph.links.isEmpty else { return }
    var counted = Set(plan.increments)
    for row in plan.graph.links.keys {
      let owningEntity = layout.relationships[row.relationship]
      var ends = [owningEntity.holder(row.source)]
      if owningEntity.inverse != nil { ends.append(owningEntity.target(row.target)) }
      for key in ends where counted.insert(key).inserted { plan.increments.append(key) }
    }
  }

  /// Gives members the sort positions of their order, with as few moves as possible.
  private mutating func assignPositions() throws {
    for sequence in sequences.values where try plan.graph.exists(sequence.owner) {
      let (toMany, owner) = (sequence.toMany, sequence.owner)
      // The delete of a member logs the stored position, so the plan leaves the position unchanged.
      let order = try self.sequence(of: toMany, owner)
        .filter { !plan.graph.deletes.contains(toMany.target($0)) }
      let present =
        plan.graph.isInserted(owner) ? [:] : try plan.graph.stored.positions(of: toMany, owner)
      let wanted = SortPositions.assign(order.map { present[$0] ?? nil }, gap: OrderSchema.gap)
      var moves = false
      var hasJoined = false
      for (member, position) in zip(order, wanted) {
        let isPresent = present[member] != nil
        // A member that joins before a present member changes the order of the present members.
        if isPresent, hasJoined || present[member] != .some(position) { moves = true }
        if !isPresent { hasJoined = true }
        guard present[member] != .some(position) else { continue }
        plan.positions.append(
          PositionChange(
            relationship: toMany,
            owner: owner,
            member: member,
            position: position,
            joins: !isPresent
          )
        )
      }
      if moves, !plan.graph.isInserted(owner) { plan.increments.append(owner) }
    }
    for joining in appended.values where joining.members.count > 1 {
      let (toMany, owner) = (joining.toMany, joining.owner)
      guard sequences[PlannedList(toMany, of: owner)] == nil, try plan.graph.exists(owner),
        !isWrittenInOrder(joining)
      else { continue }
      var position =
        plan.graph.isInserted(owner)
        ? 0 : try plan.graph.stored.lastPosition(of: toMany, owner)
      for member in joining.members.inOrder
      where try !plan.graph.deletes.contains(toMany.target(member))
        && plan.graph.contains(toMany.target(member), in: toMany, of: owner)
      {
        position += OrderSchema.gap
        plan.positions.append(
          PositionChange(
            relationship: toMany,
            owner: owner,
            member: member,
            position: position,
            joins: true
          )
        )
      }
    }
  }
}
