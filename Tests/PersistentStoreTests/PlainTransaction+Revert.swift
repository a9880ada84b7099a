import JSON

/// What became of objects behind a group, by commits that stand.
struct PlainLater {
  private(set) var written: [PlainKey: Set<String>] = [:]
  private(set) var inserted: Set<PlainKey> = []
  private(set) var deleted: Set<PlainKey> = []
  /// Both ways round.
  private(set) var pairs: Set<PlainPair> = []

  init(_ units: [PlainUnit]) {
    for (key, change) in units.flatMap(\.changes) {
      if change.kind == .insert {
        inserted.insert(key)
      } else {
        written[key, default: []].formUnion(change.columns)
      }
      if change.kind == .delete { deleted.insert(key) }
      pairs.formUnion(change.pairs(of: key))
    }
  }
}

/// A pair of a many-to-many as one of its ends has it.
struct PlainPair: Hashable {
  let key: PlainKey
  let name: String
  let other: PlainKey
}

/// What stays as it is, since somebody changed it later.
private struct PlainObstacles {
  var objects: Set<PlainKey> = []
  var properties: [PlainKey: Set<String>] = [:]
  var pairs: Set<PlainPair> = []

  func leaves(_ name: String, of key: PlainKey) -> Bool {
    properties[key]?.contains(name) == true
  }
}

extension PlainTransaction {
  /// Takes a group back, commit by commit and without a rule running.
  mutating func revert(_ group: PlainGroup, _ later: PlainLater, leaves: Bool) {
    let net = group.changes
    var obstacles = PlainObstacles()
    var isConflict = false
    for (key, change) in net where change.kind != .insert {
      guard (state.objects[key] == nil) == (change.kind == .delete) else {
        isConflict = true
        obstacles.objects.insert(key)
        continue
      }
      if change.kind == .update {
        obstacles.properties[key] = change.columns.intersection(later.written[key] ?? [])
      }
      for target in change.before.toOnes.filter({ change.columns.contains($0.key) }).values
      where net[target]?.kind != .delete && later.deleted.contains(target) {
        if state.objects[target] == nil { isConflict = true }
      }
    }
    var ofGone = false
    for (key, change) in net where state.objects[key] != nil {
      let standing = change.pairs(of: key).intersection(later.pairs)
      obstacles.pairs.formUnion(standing)
      if standing.contains(where: { state.objects[$0.other] != nil }) { isConflict = true }
      if standing.contains(where: { state.objects[$0.other] == nil }) { ofGone = true }
    }
    if obstacles.properties.contains(where: { !$0.value.isEmpty }) { isConflict = true }
    obstacles.objects.formUnion(staying(net, later))
    if !obstacles.objects.isEmpty { isConflict = true }
    for (key, change) in net where change.kind == .update {
      // What leads to something that stays goes on doing so.
      for (name, target) in state.objects[key]?.toOnes ?? [:]
      where change.columns.contains(name) && obstacles.objects.contains(target)
        && net[target]?.kind == .insert
      {
        obstacles.properties[key, default: []].insert(name)
      }
    }
    if waversBefore(later, group, net) {
      notModelled = "a pair that the group left as it was comes and goes again"
    }
    if isConflict || ofGone, !leaves { errors.insert("saveConflict") }
    for unit in group.units.reversed() { playBack(unit.changes, net, obstacles) }
    for (key, change) in net.sorted(by: { $0.key < $1.key })
    where change.kind != .insert && !obstacles.objects.contains(key) {
      for relationship in model.entity(key.entity).relationships
      where !relationship.toMany && change.columns.contains(relationship.name) {
        mend(relationship, key)
      }
    }
    if state.objects.values.contains(where: { object in
      object.toOnes.values.contains { state.objects[$0] == nil }
    }) {
      notModelled = "an insert that stays leads to what goes"
    }
  }

  /// Whether somebody changed a pair later that a group changed and left as it was.
  private func waversBefore(
    _ later: PlainLater,
    _ group: PlainGroup,
    _ net: [PlainKey: PlainChange]
  ) -> Bool {
    group.units.flatMap(\.changes).contains { key, change in
      let pairs = change.pairs(of: key).subtracting(net[key]?.pairs(of: key) ?? [])
      return !later.pairs.isDisjoint(with: pairs)
        || later.pairs.contains { $0.key == key && change.wavered.contains($0.name) }
    }
  }

  /// What was inserted and has to stay: what others changed or put in relation with what is not of
  /// the group, and all to which that leads.
  private func staying(_ net: [PlainKey: PlainChange], _ later: PlainLater) -> Set<PlainKey> {
    let inserted = Set(net.filter { $0.value.kind == .insert && state.objects[$0.key] != nil }.keys)
    var staying = inserted.filter { later.written[$0]?.isEmpty == false }
    for (holder, object) in state.objects where !inserted.contains(holder) {
      let ones = object.toOnes.filter { name, _ in
        later.inserted.contains(holder) || later.written[holder]?.contains(name) == true
      }
      let pairs = object.pairs.flatMap { name, others in
        others.filter { other in
          later.inserted.contains(holder)
            || later.pairs.contains(PlainPair(key: holder, name: name, other: other))
        }
      }
      staying.formUnion(inserted.intersection(ones.values))
      staying.formUnion(inserted.intersection(pairs))
    }
    var rest = staying
    while let key = rest.popFirst() {
      guard let object = state.objects[key] else { continue }
      let others = inserted.intersection(object.toOnes.values).union(
        inserted.intersection(object.pairs.values.joined())
      )
      rest.formUnion(others.subtracting(staying))
      staying.formUnion(others)
    }
    return staying
  }

  /// Takes one commit of a group back.
  private mutating func playBack(
    _ changes: [PlainKey: PlainChange],
    _ net: [PlainKey: PlainChange],
    _ obstacles: PlainObstacles
  ) {
    // What came and went again within the group was never there.
    let changes = changes.filter { net[$0.key] != nil && !obstacles.objects.contains($0.key) }
      .sorted { $0.key < $1.key }
    for (key, change) in changes where change.kind == .delete {
      guard state.objects[key] == nil else { continue }
      state.objects[key] = PlainObject(
        version: 0,
        values: change.before.values,
        toOnes: change.before.toOnes
      )
    }
    for (key, change) in changes where change.kind == .update && state.objects[key] != nil {
      for name in change.wavered where !obstacles.leaves(name, of: key) { touch(key, name) }
      for name in change.columns where !obstacles.leaves(name, of: key) {
        if model.relationship(name, of: key.entity) != nil {
          setOne(name, of: key, to: change.before.toOnes[name])
        } else {
          set(name, of: key, to: change.before.values[name] ?? .null)
        }
      }
    }
    for (key, change) in changes {
      for pair in change.pairs(of: key).subtracting(obstacles.pairs)
      where state.objects[pair.other] != nil && state.objects[key] != nil
        && !obstacles.objects.contains(pair.other)
      {
        guard let relationship = model.relationship(pair.name, of: key.entity) else { continue }
        let isThere = change.unlinked[pair.name]?.contains(pair.other) == true
        self.pair(relationship, key, pair.other, isThere)
      }
    }
    for (key, change) in changes where change.kind == .insert && state.objects[key] != nil {
      for relationship in model.entity(key.entity).relationships where model.isPairs(relationship) {
        for other in state.members(relationship, of: key) { pair(relationship, key, other, false) }
      }
      state.objects[key] = nil
      removed.append(key)
    }
    for (key, _) in changes where state.objects[key] != nil && !isUnique(key) {
      errors.insert("uniquenessViolation")
    }
  }

  /// A to-one that was put back has to lead to something, and a one-to-one to be led back.
  private mutating func mend(_ relationship: PlainModel.Relationship, _ key: PlainKey) {
    guard let target = state.objects[key]?.toOnes[relationship.name] else { return }
    var isWhole = state.objects[target] != nil
    if let inverse = model.inverse(of: relationship), !inverse.toMany {
      isWhole = isWhole && state.objects[target]?.toOnes[inverse.name] == key
    }
    guard !isWhole else { return }
    if !relationship.optional { errors.insert("validationFailed") }
    setOne(relationship.name, of: key, to: nil)
  }
}
