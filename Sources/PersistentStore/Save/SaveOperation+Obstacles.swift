import CordialValues
import JSON
import ObjectModel
import PersistentHistory

/// What of a group cannot be reverted, since somebody changed it later.
struct Obstacles {
  /// Objects that are not touched at all.
  var objects: Set<ObjectKey> = []
  var properties: [ObjectKey: Set<String>] = [:]
  var pairs: Set<PairName> = []
  /// What leads to inserted objects that go, of those that are there before and after.
  var cut: [(holder: ObjectKey, property: String)] = []

  /// Whether an object's membership in a to-many stays as others made it, and so its place.
  func keep(
    _ member: ObjectKey,
    in relationship: RelationshipDescription,
    of owner: ObjectKey
  ) -> Bool {
    if objects.contains(member) || objects.contains(owner) { return true }
    guard case .pairs(let keeper, let name, let owns) = relationship.storage else {
      return properties[member]?.contains(relationship.inverse ?? "") ?? false
    }
    let pair = PairName(
      entity: keeper,
      relationship: name,
      source: owns ? owner.object : member.object,
      target: owns ? member.object : owner.object
    )
    return pairs.contains(pair)
  }
}

/// Where it is looked up what others changed since a group.
struct LaterSearch {
  let undoLog: UndoLog
  /// All that are reverted together.
  let groups: [RevertGroup]
  let group: RevertGroup
  let head: HistoryHead
}

extension SaveOperation {
  /// Finds what stands in the way of reverting a group; each is a conflict too, where conflicts are
  /// not left.
  mutating func obstacles(
    to net: [HistoryChange],
    _ search: LaterSearch
  ) throws -> Obstacles {
    var keys = Set(net.map(\.key))
    for change in net { for (_, target) in targets(of: change) { keys.insert(target) } }
    let later = try laterChanges(search, keys)
    let group = search.group
    let comesBack = Set(net.filter { $0.kind == .delete }.map(\.key))
    var obstacles = Obstacles()
    for change in net where change.kind != .insert {
      let key = change.key
      let isThere = try table(key).version(of: key.object) != nil
      guard isThere == (change.kind == .update) else {
        try conflict(key, nil)
        obstacles.objects.insert(key)
        continue
      }
      let entity = model.entity(key.entity)
      for value in change.before where change.kind == .update && !entity.isDerived(value.property) {
        guard entity.columns.contains(value.property),
          let other = later.value(before: key, value.property, since: group)
        else { continue }
        try conflict(key, value.property, base: wire(other, entity), client: wire(value, entity))
        obstacles.properties[key, default: []].insert(value.property)
      }
      for (relationship, target) in targets(of: change)
      where !comesBack.contains(target) && later.deletes(target, since: group) {
        guard try table(target).version(of: target.object) == nil else { continue }
        try conflict(key, relationship.name)
      }
    }
    try findPairs(net, later, group, &obstacles)
    try keepInserts(net, later, search, &obstacles)
    return obstacles
  }

  private func laterChanges(
    _ search: LaterSearch,
    _ keys: Set<ObjectKey>
  ) throws -> LaterChanges {
    try search.undoLog.laterChanges(
      since: search.groups,
      of: request.author,
      through: search.head,
      in: keys
    )
  }

  private mutating func conflict(
    _ key: ObjectKey,
    _ property: String?,
    base: JSONValue = .null,
    client: JSONValue = .null
  ) throws {
    guard !leavesConflicts else { return }
    let version = try table(key).version(of: key.object)
    let store = try property.map { identityForm(try storedValue($0, key), $0, key) } ?? .null
    conflicts.append([
      "id": .string(name(key)), "property": property.map { .string($0) } ?? .null,
      "base": base, "store": store, "client": client,
      "version": version.map { .integer($0) } ?? .null,
    ])
  }

  private func wire(_ value: LoggedValue, _ entity: EntityDescription) -> JSONValue {
    WireValue.json(value, of: entity) { relationship, object in
      name(model.key(relationship.destination, object))
    }
  }

  /// The objects to which the to-ones led that a change altered.
  private func targets(
    of change: HistoryChange
  ) -> [(RelationshipDescription, ObjectKey)] {
    guard change.kind != .insert else { return [] }
    let entity = model.entity(change.key.entity)
    return change.before.compactMap { value in
      guard case .relationship(let relationship)? = entity.property(named: value.property),
        !relationship.toMany, let number = value.value.integer
      else { return nil }
      return (relationship, model.key(relationship.destination, number))
    }
  }

  // MARK: Pairs

  private func pairName(
    _ key: ObjectKey,
    _ property: String,
    _ other: ObjectKey
  ) -> PairName? {
    guard
      case .relationship(let relationship)? = model.entity(key.entity).property(named: property),
      case .pairs(let owner, let name, let owns) = relationship.storage
    else { return nil }
    return PairName(
      entity: owner,
      relationship: name,
      source: owns ? key.object : other.object,
      target: owns ? other.object : key.object
    )
  }

  private mutating func findPairs(
    _ net: [HistoryChange],
    _ later: LaterChanges,
    _ group: RevertGroup,
    _ obstacles: inout Obstacles
  ) throws {
    for change in net {
      for (property, others) in (Array(change.linked) + Array(change.unlinked)) {
        for other in others {
          guard let pair = pairName(change.key, property, other),
            later.touches(pair, since: group),
            try table(change.key).version(of: change.key.object) != nil,
            obstacles.pairs.insert(pair).inserted
          else { continue }
          try conflict(change.key, property)
        }
      }
    }
  }

  // MARK: Objects that were inserted

  /// Finds the inserted objects that stay: those that others changed, or put in relation with what
  /// stays, and what those lead to.
  private mutating func keepInserts(
    _ net: [HistoryChange],
    _ later: LaterChanges,
    _ search: LaterSearch,
    _ obstacles: inout Obstacles
  ) throws {
    var doomed: Set<ObjectKey> = []
    var kept: [ObjectKey] = []
    for change in net where change.kind == .insert {
      guard try table(change.key).version(of: change.key.object) != nil else { continue }
      doomed.insert(change.key)
      let entity = model.entity(change.key.entity)
      let written = later.properties(of: change.key, since: search.group)
        .filter { !entity.isDerived($0) }
      for property in written.sorted() { try conflict(change.key, property) }
      if !written.isEmpty { kept.append(change.key) }
    }
    var leads: [ObjectKey: [ObjectKey]] = [:]
    var outside: [(holder: ObjectKey, property: String, key: ObjectKey)] = []
    for key in doomed.sorted() {
      for (holder, property) in try holders(of: key) {
        if doomed.contains(holder) {
          leads[holder, default: []].append(key)
        } else {
          outside.append((holder, property, key))
        }
      }
    }
    kept += try keptByOthers(outside, net, search, &obstacles)
    while let key = kept.popLast() {
      guard doomed.remove(key) != nil else { continue }
      obstacles.objects.insert(key)
      kept += leads[key] ?? []
    }
    try keepWhatLeads(to: obstacles.objects, net, &obstacles)
  }

  /// The inserted objects to which others lead, where somebody wrote that since.
  private mutating func keptByOthers(
    _ outside: [(holder: ObjectKey, property: String, key: ObjectKey)],
    _ net: [HistoryChange],
    _ search: LaterSearch,
    _ obstacles: inout Obstacles
  ) throws -> [ObjectKey] {
    guard !outside.isEmpty else { return [] }
    let later = try laterChanges(search, Set(outside.map(\.holder)))
    var own: [ObjectKey: Set<String>] = [:]
    for change in net where change.kind == .update {
      own[change.key] = Set(change.before.map(\.property))
    }
    var kept: [ObjectKey] = []
    for (holder, property, key) in outside {
      let pair = pairName(holder, property, key)
      let isTheirs =
        later.inserts(holder, since: search.group)
        || later.value(before: holder, property, since: search.group) != nil
        || pair.map { later.touches($0, since: search.group) } ?? false
      guard isTheirs else {
        // What the group did itself it takes back.
        if own[holder]?.contains(property) != true { obstacles.cut.append((holder, property)) }
        continue
      }
      try conflict(holder, property)
      kept.append(key)
    }
    return kept
  }

  /// What leads to an object that stays goes on doing so.
  private func keepWhatLeads(
    to kept: Set<ObjectKey>,
    _ net: [HistoryChange],
    _ obstacles: inout Obstacles
  ) throws {
    guard !kept.isEmpty else { return }
    for change in net where change.kind == .update {
      for relationship in table(change.key).toOnes
      where change.before.contains(where: { $0.property == relationship.name }) {
        guard let number = try number(relationship, of: change.key),
          kept.contains(model.key(relationship.destination, number))
        else { continue }
        obstacles.properties[change.key, default: []].insert(relationship.name)
      }
    }
  }

  /// The objects that lead to one, each with the property that does.
  private func holders(of key: ObjectKey) throws -> [(ObjectKey, String)] {
    var found: [(ObjectKey, String)] = []
    for entity in model.entities {
      for relationship in entity.relationships
      where relationship.owner == entity.number
        && model.isKind(key.entity, of: relationship.destination)
      {
        if case .pairs(let owner, let name, true) = relationship.storage {
          let pairs = SQLNames.quoted(SQLNames.pairs(model.entity(owner), name))
          found += try table(key).numbers(
            "SELECT source FROM \(pairs) WHERE target = ?",
            key.object
          ).map { (model.key(entity.number, $0), relationship.name) }
        } else if !relationship.toMany {
          found += try holders(of: relationship, to: key).map { ($0, relationship.name) }
        }
      }
    }
    for relationship in model.entity(key.entity).relationships {
      guard case .pairs = relationship.storage, let inverse = relationship.inverse else { continue }
      found += try members(relationship, of: key).map {
        (model.key(relationship.destination, $0), inverse)
      }
    }
    return found
  }
}
