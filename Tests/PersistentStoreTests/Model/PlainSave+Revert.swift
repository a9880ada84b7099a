import JSON

/// What an undo leaves, since somebody changed it later.
private struct PlainObstacles {
  var objects: Set<Int> = []
  var properties: [Int: Set<String>] = [:]
  var pairs: Set<PlainLink> = []

  func leaves(_ name: String, of key: Int) -> Bool {
    properties[key]?.contains(name) == true
  }
}

extension PlainSave {
  /// Reverts a group, commit by commit and without delete rules.
  mutating func revert(_ group: PlainGroup, _ later: PlainLaterChanges, leaves: Bool) {
    let net = group.changes
    var obstacles = PlainObstacles()
    var isConflict = false
    for (key, change) in net where change.kind != .insert {
      guard state.exists(key) == (change.kind != .delete) else {
        isConflict = true
        obstacles.objects.insert(key)
        continue
      }
      if change.kind == .update {
        obstacles.properties[key] = change.columns.intersection(later.written[key] ?? [])
      }
      for (name, target) in change.before?.toOnes ?? [:] where change.columns.contains(name) {
        guard net[target]?.kind != .delete, later.deleted.contains(target) else { continue }
        if !state.exists(target) { isConflict = true }
      }
    }
    for (key, change) in net where state.exists(key) {
      // The link rows of an inserted object that somebody deleted since are no conflict.
      let standing = change.pairs(of: key).intersection(later.pairs).filter { pair in
        net[pair.other]?.kind != .insert || state.exists(pair.other)
      }
      for pair in standing {
        obstacles.pairs.insert(pair)
        guard let relationship = state.entity(key).relationship(pair.name) else { continue }
        let inverse = model.inverse(of: relationship).name
        obstacles.pairs.insert(PlainLink(key: pair.other, name: inverse, other: key))
      }
      if !standing.isEmpty { isConflict = true }
    }
    if obstacles.properties.contains(where: { !$0.value.isEmpty }) { isConflict = true }
    obstacles.objects.formUnion(staying(net, later))
    if !obstacles.objects.isEmpty { isConflict = true }
    for (key, change) in net where change.kind == .update {
      // A reference to an object that stays is kept.
      for (name, target) in state[key]?.toOnes ?? [:]
      where change.columns.contains(name) && obstacles.objects.contains(target)
        && net[target]?.kind == .insert
      {
        obstacles.properties[key, default: []].insert(name)
      }
    }
    if isAmbiguous(later, group, net) {
      open.insert("undo of a link row that the group left unchanged and others changed since")
    }
    if isConflict, !leaves { conflicts.insert(PlainConflict(key: 0, name: nil)) }
    for unit in group.units.reversed() { revert(unit.changes, net, obstacles) }
    for (key, change) in net.sorted(by: { $0.key < $1.key })
    where change.kind != .insert && !obstacles.objects.contains(key) && state.exists(key) {
      for relationship in state.entity(key).toOnes where change.columns.contains(relationship.name)
      {
        mend(relationship, key)
      }
    }
    let dangling = state.objects.filter { key, object in
      object.toOnes.contains { name, target in
        !state.exists(target) && before[key]?.toOnes[name] == target && before.exists(target)
      }
    }
    if !dangling.isEmpty { open.insert("undo leaves an insert that refers to what it deletes") }
  }

  /// Whether others changed a link row later that a group changed and changed back.
  private func isAmbiguous(
    _ later: PlainLaterChanges,
    _ group: PlainGroup,
    _ net: [Int: PlainChange]
  ) -> Bool {
    group.units.flatMap(\.changes).contains { key, change in
      let pairs = change.pairs(of: key).subtracting(net[key]?.pairs(of: key) ?? [])
      return !later.pairs.isDisjoint(with: pairs)
    }
  }

  /// The inserted objects that stay: those that others changed or referred to since, and all to
  /// which these refer.
  private func staying(_ net: [Int: PlainChange], _ later: PlainLaterChanges) -> Set<Int> {
    let inserted = Set(net.filter { $0.value.kind == .insert && state.exists($0.key) }.keys)
    var staying = inserted.filter { later.written[$0]?.isEmpty == false }
    for (holder, object) in state.objects {
      // An inserted object to which others wrote stays already, by `later.written`.
      let ones = object.toOnes.filter { name, _ in
        !inserted.contains(holder)
          && (later.inserted.contains(holder) || later.written[holder]?.contains(name) == true)
      }
      let pairs = object.links.flatMap { name, others in
        others.filter { other in
          later.inserted.contains(holder)
            || later.pairs.contains(PlainLink(key: holder, name: name, other: other))
        }
      }
      staying.formUnion(inserted.intersection(ones.values))
      staying.formUnion(inserted.intersection(pairs))
    }
    var rest = staying
    while let key = rest.popFirst() {
      guard let object = state[key] else { continue }
      let others = inserted.intersection(object.toOnes.values).union(
        inserted.intersection(object.links.values.joined())
      )
      rest.formUnion(others.subtracting(staying))
      staying.formUnion(others)
    }
    return staying
  }

  /// Reverts one commit of a group.
  private mutating func revert(
    _ changes: [Int: PlainChange],
    _ net: [Int: PlainChange],
    _ obstacles: PlainObstacles
  ) {
    // Objects inserted and deleted within the group are ignored.
    let changes = changes.filter { net[$0.key] != nil && !obstacles.objects.contains($0.key) }
      .sorted { $0.key < $1.key }
    for (key, change) in changes where change.kind == .delete && !state.exists(key) {
      guard var object = change.before else { continue }
      object.version = 0
      object.links = [:]
      object.orders = [:]
      state.objects[key] = object
    }
    for (key, change) in changes where change.kind == .update && state.exists(key) {
      for name in change.columns where !obstacles.leaves(name, of: key) {
        if state.entity(key).relationship(name) != nil {
          state.objects[key]?.toOnes[name] = change.before?.toOnes[name]
        } else {
          state.objects[key]?.values[name] = change.before?.values[name]
        }
      }
    }
    for (key, change) in changes {
      for pair in change.pairs(of: key).subtracting(obstacles.pairs)
      where state.exists(pair.other) && state.exists(key)
        && !obstacles.objects.contains(pair.other)
      {
        guard let relationship = state.entity(key).relationship(pair.name) else { continue }
        let isMember = change.unlinked[pair.name]?.contains(pair.other) == true
        state.pair(relationship, key, pair.other, isMember)
      }
    }
    for (key, change) in changes where change.kind == .insert && state.exists(key) {
      for relationship in state.entity(key).toManys where model.isManyToMany(relationship) {
        for other in state.related(relationship, of: key) {
          state.pair(relationship, key, other, false)
        }
      }
      state.objects[key] = nil
      removed.append(key)
    }
  }

  /// Ends a restored to-one whose target does not exist, or whose one-to-one target belongs to
  /// another object.
  private mutating func mend(_ relationship: PlainModel.Relationship, _ key: Int) {
    guard let target = state[key]?.toOnes[relationship.name] else { return }
    var isWhole = state.exists(target)
    let inverse = model.inverse(of: relationship)
    if !inverse.toMany { isWhole = isWhole && state[target]?.toOnes[inverse.name] == key }
    if !isWhole { state.objects[key]?.toOnes[relationship.name] = nil }
  }
}
