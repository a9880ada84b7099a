import CordialValues
import JSON
import ObjectModel
import PersistentHistory
import StoreLayout

/// The parts of a group that cannot be reverted because another save changed them later.
struct RevertObstacles {
  /// The objects that the revert does not change.
  var objects: Set<ObjectKey> = []
  var properties: [ObjectKey: Set<String>] = [:]
  var links: Set<LinkRowIdentity> = []
  /// The to-ones of other objects that reference inserted objects, which the revert deletes.
  var referencesToDeleted: [(holder: ObjectKey, property: String)] = []

  /// Returns whether the revert leaves a membership, and its sort position, unchanged.
  func isKept(
    _ member: ObjectKey,
    in toMany: RelationshipLayout,
    of owner: ObjectKey
  ) -> Bool {
    if objects.contains(member) || objects.contains(owner) { return true }
    guard let link = LinkRowIdentity(toMany, owner.object, member.object) else {
      return properties[member]?.contains(toMany.description.inverse ?? "") ?? false
    }
    return links.contains(link)
  }
}

extension LinkRowIdentity {
  /// Creates the identity of the link row between an object and a member of one of its to-manys;
  /// nil for a to-many without link rows.
  init?(_ relationship: RelationshipLayout, _ owner: Int64, _ member: Int64) {
    guard case .linkTable(let owningEntity, let name, let owns) = relationship.description.storage
    else {
      return nil
    }
    self.init(
      entity: owningEntity,
      relationship: name,
      source: owns ? owner : member,
      target: owns ? member : owner
    )
  }
}

/// The first rows of the log in which a group wrote each property and each link row.
private struct FirstWrites {
  private var properties: [ObjectKey: [String: Int64]] = [:]
  private var links: [LinkRowIdentity: Int64] = [:]

  init() {}

  init(_ rows: [HistoryRow], _ layout: SaveLayout) {
    for row in rows where layout.model.hasEntity(row.entity) {
      switch row.kind {
      case .insert, .delete: break
      case .update:
        let key = layout.model.key(row.entity, row.object)
        for value in row.values {
          let known = properties[key]?[value.property] ?? .max
          properties[key, default: [:]][value.property] = min(known, row.number)
        }
      case .link, .unlink:
        let link = LinkRowIdentity(row)
        links[link] = min(links[link] ?? .max, row.number)
      }
    }
  }

  /// Returns the number of the first row that wrote a property; 0 if no row wrote it.
  func row(of key: ObjectKey, _ property: String) -> Int64 { properties[key]?[property] ?? 0 }

  /// Returns the number of the first log row that wrote a link row; 0 if none wrote it.
  func row(of link: LinkRowIdentity) -> Int64 { links[link] ?? 0 }
}

/// The search for the obstacles to the revert of a group.
struct RevertObstacleSearch {
  let layout: SaveLayout
  let stored: any StoredObjects
  let undoLog: UndoLog
  /// All groups that are reverted together.
  let groups: [RevertGroup]
  let group: RevertGroup
  let head: HistoryHead
  let author: String?
  /// Whether obstacles stay unchanged and are not reported as conflicts.
  let leavesConflicts: Bool
  private(set) var conflicts: [SaveConflict] = []
  private var obstacles = RevertObstacles()
  private var ownWrites = FirstWrites()

  init(
    _ layout: SaveLayout,
    _ stored: any StoredObjects,
    _ undoLog: UndoLog,
    groups: [RevertGroup],
    group: RevertGroup,
    head: HistoryHead,
    _ request: SaveRequest
  ) {
    self.layout = layout
    self.stored = stored
    self.undoLog = undoLog
    self.groups = groups
    self.group = group
    self.head = head
    author = request.author
    leavesConflicts = request.mergePolicy == .storeTrump
  }

  /// Finds the obstacles, and records conflicts unless `leavesConflicts` is true.
  ///
  /// - Parameters:
  ///   - net: The net change of each object by the group.
  ///   - rows: The rows of the log that the group wrote, oldest first.
  /// - Returns: The obstacles.
  /// - Throws: `SQLiteError`.
  mutating func find(_ net: [HistoryChange], _ rows: [HistoryRow]) throws -> RevertObstacles {
    // Other saves may write between the saves of a group. Such a write is an obstacle only after
    // the group's own first write of the same property or link row.
    if group.changes.count > 1 { ownWrites = FirstWrites(rows, layout) }
    var keys = Set(net.map(\.key))
    for change in net { for (_, target) in targets(of: change) { keys.insert(target) } }
    let later = try laterChanges(keys)
    let returning = Set(net.filter { $0.kind == .delete }.map(\.key))
    for change in net where change.kind != .insert {
      let key = change.key
      let exists = try stored.version(of: key) != nil
      if !exists, change.kind == .update, try isAlreadyDeleted(change, later) {
        obstacles.objects.insert(key)
        continue
      }
      guard exists == (change.kind == .update) else {
        try conflict(key, nil)
        obstacles.objects.insert(key)
        continue
      }
      try findValues(change, later)
      for (relationship, target) in targets(of: change)
      where obstacles.properties[key]?.contains(relationship.name) != true
        && !returning.contains(target) && later.deletes(target, since: group)
      {
        guard try stored.version(of: target) == nil else { continue }
        try conflict(key, relationship.name)
      }
    }
    try findLinks(net, later)
    try findKeptInserts(net, later)
    return obstacles
  }

  /// Returns whether a deleted object needs no revert, because the group changed none of its own
  /// values.
  ///
  /// In this case, the group changed only derived values of the object, or link rows that an
  /// external client left dangling.
  private func isAlreadyDeleted(_ change: HistoryChange, _ later: LaterChanges) throws -> Bool {
    let entity = layout.entity(change.key).entity
    guard change.before.allSatisfy({ entity.isDerived($0.property) }) else { return false }
    let hasLinks = !change.linked.isEmpty || !change.unlinked.isEmpty
    return !hasLinks || !later.deletes(change.key, since: group)
  }

  private func laterChanges(_ keys: Set<ObjectKey>) throws -> LaterChanges {
    try undoLog.laterChanges(since: groups, of: author, through: head, in: keys)
  }

  /// Finds the properties of an updated object that other saves wrote after the group.
  private mutating func findValues(_ change: HistoryChange, _ later: LaterChanges) throws {
    guard change.kind == .update else { return }
    let entity = layout.entity(change.key)
    for value in change.before where !entity.entity.isDerived(value.property) {
      guard entity.columns[value.property] != nil,
        let other = later.value(
          before: change.key,
          value.property,
          since: group,
          after: ownWrites.row(of: change.key, value.property)
        )
      else { continue }
      guard other.value != value.value else {
        // The group left the value unchanged, so nothing has to be reverted.
        obstacles.properties[change.key, default: []].insert(value.property)
        continue
      }
      try conflict(
        change.key,
        value.property,
        base: wire(other, entity.entity),
        client: wire(value, entity.entity)
      )
      obstacles.properties[change.key, default: []].insert(value.property)
    }
  }

  private mutating func conflict(
    _ key: ObjectKey,
    _ property: String?,
    base: JSONValue = .null,
    client: JSONValue = .null
  ) throws {
    guard !leavesConflicts else { return }
    conflicts.append(
      SaveConflict(
        id: try stored.name(of: key),
        property: property,
        base: base,
        store: try property.map { try StoredWire(layout: layout, stored: stored).json($0, key) }
          ?? .null,
        client: client,
        version: try stored.version(of: key)
      )
    )
  }

  private func wire(_ value: LoggedValue, _ entity: EntityDescription) throws -> JSONValue {
    try WireValue.json(value, of: entity) { relationship, object in
      try stored.name(of: layout.model.key(relationship.destination, object))
    }
  }

  /// Returns the objects that an object's changed to-ones referenced before the change.
  private func targets(of change: HistoryChange) -> [(RelationshipLayout, ObjectKey)] {
    guard change.kind != .insert else { return [] }
    let entity = layout.entity(change.key)
    return change.before.compactMap { value in
      guard let relationship = entity.relationship(named: value.property),
        !relationship.isToMany, let number = value.value.integer
      else { return nil }
      return (relationship, relationship.target(number))
    }
  }

  // MARK: Link rows

  private func link(_ key: ObjectKey, _ property: String, _ other: ObjectKey) -> LinkRowIdentity? {
    layout.entity(key).relationship(named: property)
      .flatMap { LinkRowIdentity($0, key.object, other.object) }
  }

  private mutating func findLinks(_ net: [HistoryChange], _ later: LaterChanges) throws {
    for change in net {
      for (lists, isLinked) in [(change.linked, true), (change.unlinked, false)] {
        for (property, others) in lists {
          for other in others {
            guard let link = link(change.key, property, other),
              later.changesLink(link, since: group, after: ownWrites.row(of: link)),
              try stored.version(of: change.key) != nil
            else { continue }
            // A later delete of the other object has deleted the link row, as the revert would.
            let isGone = try isLinked && stored.version(of: other) == nil
            guard obstacles.links.insert(link).inserted, !isGone else { continue }
            try conflict(change.key, property)
          }
        }
      }
    }
  }

  // MARK: Objects that were inserted

  /// Finds the inserted objects that stay.
  ///
  /// An inserted object stays if another save changed it, or referenced it from an object that
  /// stays. All inserted objects that it references stay too.
  private mutating func findKeptInserts(_ net: [HistoryChange], _ later: LaterChanges) throws {
    var deletable: Set<ObjectKey> = []
    var kept: [ObjectKey] = []
    for change in net where change.kind == .insert {
      guard try stored.version(of: change.key) != nil else { continue }
      deletable.insert(change.key)
      let entity = layout.entity(change.key).entity
      let written = later.properties(of: change.key, since: group)
        .filter { !entity.isDerived($0) }
      for property in written.sorted() { try conflict(change.key, property) }
      if !written.isEmpty { kept.append(change.key) }
    }
    var referenced: [ObjectKey: [ObjectKey]] = [:]
    var outside: [(holder: ObjectKey, property: String, key: ObjectKey)] = []
    for key in deletable.sorted() {
      for (holder, property) in try holders(of: key) {
        if deletable.contains(holder) {
          referenced[holder, default: []].append(key)
          guard let link = link(holder, property, key),
            later.changesLink(link, since: group, after: ownWrites.row(of: link))
          else {
            continue
          }
          kept += [holder, key]
          if obstacles.links.insert(link).inserted { try conflict(holder, property) }
        } else {
          outside.append((holder, property, key))
        }
      }
    }
    kept += try insertsReferencedLater(outside, net)
    while let key = kept.popLast() {
      guard deletable.remove(key) != nil else { continue }
      obstacles.objects.insert(key)
      kept += referenced[key] ?? []
    }
    try keepReferences(to: obstacles.objects, net)
  }

  /// Returns the inserted objects that other objects reference because of a save after the group.
  private mutating func insertsReferencedLater(
    _ outside: [(holder: ObjectKey, property: String, key: ObjectKey)],
    _ net: [HistoryChange]
  ) throws -> [ObjectKey] {
    guard !outside.isEmpty else { return [] }
    let later = try laterChanges(Set(outside.map(\.holder)))
    var own: [ObjectKey: Set<String>] = [:]
    for change in net where change.kind == .update {
      own[change.key] = Set(change.before.map(\.property))
    }
    var kept: [ObjectKey] = []
    for (holder, property, key) in outside {
      // The log has no values for a to-many; an entry with its name concerns the order of its
      // members.
      let isToOne = layout.entity(holder).columns[property] != nil
      let isLaterReference =
        later.inserts(holder, since: group)
        || isToOne && later.value(before: holder, property, since: group) != nil
        || link(holder, property, key).map { later.changesLink($0, since: group) } ?? false
      guard isLaterReference else {
        // The group's own references are reverted with the group.
        if own[holder]?.contains(property) != true {
          obstacles.referencesToDeleted.append((holder, property))
        }
        continue
      }
      try conflict(holder, property)
      kept.append(key)
    }
    return kept
  }

  /// Adds obstacles for the group's to-ones that reference kept objects, so that the revert leaves
  /// these to-ones unchanged.
  private mutating func keepReferences(
    to kept: Set<ObjectKey>,
    _ net: [HistoryChange]
  ) throws {
    guard !kept.isEmpty else { return }
    for change in net where change.kind == .update {
      for (column, toOne) in layout.entity(change.key).toOnes
      where change.before.contains(where: { $0.property == toOne.name }) {
        guard case .integer(let number)? = try stored.value(column, of: change.key),
          kept.contains(toOne.target(number))
        else { continue }
        obstacles.properties[change.key, default: []].insert(toOne.name)
      }
    }
  }

  /// Returns the objects that reference an object, each with the property that references it.
  private func holders(of key: ObjectKey) throws -> [(ObjectKey, String)] {
    var found: [(ObjectKey, String)] = []
    for relationship in layout.relationships
    where layout.model.isKind(key.entity, of: relationship.destination.number) {
      if relationship.isLinked, relationship.ownsLinks {
        found += try stored.linkSources(of: relationship, to: key.object)
          .map { (relationship.holder($0), relationship.name) }
      } else if !relationship.isToMany {
        found += try stored.holders(of: relationship, to: key.object)
          .map { ($0, relationship.name) }
      }
    }
    for relationship in layout.entity(key).relationships where relationship.isLinked {
      guard let inverse = relationship.inverse else { continue }
      found += try stored.members(of: relationship, key)
        .map { (relationship.target($0), inverse.name) }
    }
    return found
  }
}
