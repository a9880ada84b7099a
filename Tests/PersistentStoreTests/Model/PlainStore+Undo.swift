import JSON

/// An undo or redo, with the groups that it reverts and what each of them changed.
struct PlainUndo {
  var save: PlainSave
  let isUndo: Bool
  var groups: [PlainGroup] = []
  var changes: [[Int: PlainChange]] = []
}

/// Undo as stacks: what an author did that is not undone, and what it undid since.
extension PlainStore {
  /// What an undo or redo does; nothing of it is kept before `keep`.
  func undo(_ request: JSONValue) -> PlainUndo {
    let params = request["params"] ?? [:]
    let author = params["author"]?.string
    let isUndo = request["method"] == "undo"
    let count = Int(params["count"]?.integer ?? 1)
    let policy = params["mergePolicy"]?.string ?? "error"
    var undo = PlainUndo(save: PlainSave(self, policy: policy), isUndo: isUndo)
    let all =
      isUndo
      ? groups(undoable[author ?? ""] ?? [])
      : (redoable[author ?? ""] ?? []).reversed().map { PlainGroup(units: [$0]) }
    let only = params["context"]?.string
    undo.groups = Array(all.filter { only == nil || $0.context == only }.prefix(count))
    let own = Set(undo.groups.flatMap(\.units).map(\.id))
    let first = undo.groups.map(\.id).min() ?? .max
    let isAfterDelete = standing.contains { unit in
      unit.id >= first && unit.author == "external"
        && unit.changes.contains { $0.value.kind == .delete }
    }
    if isAfterDelete { undo.save.needs.insert(.undoAfterExternalDelete) }
    if standing.contains(where: { $0.id >= first && $0.writesUnchangedValues }) {
      undo.save.needs.insert(.netVersions)
    }
    for group in undo.groups {
      let later = PlainLaterChanges(
        standing.filter {
          $0.id > group.id && !own.contains($0.id) && $0.stands(after: group, author)
        },
        after: group
      )
      let before = undo.save.state
      let isTouched = group.changes.contains { key, change in
        change.kind == .insert && !before.exists(key) && isUpdated(key, since: group)
      }
      if isTouched { undo.save.open.insert("undo of an insert that others changed and deleted") }
      undo.save.revert(group, later, leaves: policy == "storeTrump")
      let changes = PlainChange.changes(from: before, to: undo.save.state)
      undo.changes.append(changes)
      undo.save.reverted.formUnion(changes.filter { $0.value.kind == .update }.keys)
    }
    undo.save.end()
    if !undo.groups.isEmpty { settleOrders(&undo) }
    if !ModelFeatures.has(.netVersions) {
      undo.save.openVersions.formUnion(state.objects.keys)
    }
    return undo
  }

  /// Whether a commit after a group's first updated an object, reverted or not.
  private func isUpdated(_ key: Int, since group: PlainGroup) -> Bool {
    let first = group.units.first?.number ?? 0
    return commits.indices.dropFirst(first + 1).contains { index in
      let change = PlainChange(key, from: commits[index - 1].state, to: commits[index].state)
      return commits[index].state.exists(key) && change.kind == .update && change.countsVersion
    }
  }

  /// The groups of what an author did, the newest first.
  private func groups(_ units: [PlainUnit?]) -> [PlainGroup] {
    var groups: [PlainGroup] = []
    var isOpen = false
    for unit in units.reversed() {
      guard let unit else {
        isOpen = false
        continue
      }
      if isOpen, unit.kind == .ordinary, let last = groups.last, last.context == unit.context {
        groups[groups.count - 1] = PlainGroup(units: [unit] + last.units)
      } else {
        groups.append(PlainGroup(units: [unit]))
      }
      isOpen = unit.kind == .ordinary && unit.context != nil
    }
    return groups
  }

  /// Orders are as before the reverted commits, where these are the newest; where others moved
  /// members since, the contract leaves the order open.
  private func settleOrders(_ undo: inout PlainUndo) {
    let numbers = Set(undo.groups.flatMap(\.units).map(\.number)).sorted()
    let first = numbers.first ?? 0
    let isNewest = numbers == Array(first...max(first, head)) && undo.save.conflicts.isEmpty
    for (key, object) in undo.save.state.objects {
      for relationship in model.entity(object.entity).toManys where relationship.ordered {
        let name = relationship.name
        if isNewest, first > 0, commits[first - 1].state.exists(key) {
          undo.save.state.objects[key]?.orders[name] = commits[first - 1].state.related(
            relationship,
            of: key
          )
        } else {
          undo.save.openOrders.insert(PlainProperty(key: key, name: name))
          undo.save.openVersions.insert(key)
        }
      }
    }
  }

  /// Keeps what an undo or redo did as a commit.
  mutating func keep(_ undo: PlainUndo, author: String?, token: String) {
    guard !undo.groups.isEmpty else {
      // Its `transaction` may be remembered.
      _ = enter(undo.save, token: token)
      return
    }
    let name = author ?? ""
    guard enter(undo.save, token: token) else { return }
    let reverted = Set(undo.groups.flatMap(\.units).map(\.id))
    let made = undo.groups.indices.map { index in
      PlainUnit(
        number: head,
        index: index,
        origin: undo.groups[index].origin,
        author: author,
        context: undo.groups[index].context,
        kind: undo.isUndo ? .undo : .redo,
        changes: undo.changes[index]
      )
    }
    standing.removeAll { reverted.contains($0.id) }
    standing += made
    if undo.isUndo {
      undoable[name] = undoable[name, default: []].map { unit in
        unit.flatMap { reverted.contains($0.id) ? nil : $0 }
      }
      // The undo separates what is left from what follows.
      undoable[name, default: []].append(nil)
      redoable[name, default: []] += made
    } else {
      redoable[name]?.removeAll { reverted.contains($0.id) }
      undoable[name, default: []] += made
    }
  }
}
