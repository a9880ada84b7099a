import JSON

/// What is undone or done again as one.
struct PlainGroup {
  /// Oldest first.
  let units: [PlainUnit]

  var context: String? { units.last?.context }
  var origin: Int { units.first?.origin ?? 0 }
  var first: Int { units.first?.number ?? 0 }

  /// What all of them did together, but for what others did in between.
  var changes: [PlainKey: PlainChange] {
    var changes: [PlainKey: PlainChange] = [:]
    for unit in units {
      for (key, change) in unit.changes {
        changes[key] = changes[key].map { $0.followed(by: change) } ?? change
      }
    }
    return changes
  }
}

/// A revert, with what it takes back and what each of that changed.
struct PlainRevert {
  var transaction: PlainTransaction
  let isUndo: Bool
  var groups: [PlainGroup] = []
  var changes: [[PlainKey: PlainChange]] = []
}

/// Undoing as stacks: what an author did that stands, and what it undid since.
extension PlainStore {
  /// What an undo or redo does; nothing of it is kept before `keep`.
  func revert(_ request: JSONValue) -> PlainRevert {
    var revert = revert(request, isLate: false)
    if revert.transaction.wasTaken, self.revert(request, isLate: true).transaction.isAllUnique {
      revert.transaction.knownIssue = "what is unique in the end is not so on the way"
    }
    if !revert.transaction.isLedBack {
      revert.transaction.knownIssue = "an insert that stays keeps its end of a one-to-one"
    }
    return revert
  }

  /// What it does when it is looked at what is unique on the way, or not at all.
  private func revert(_ request: JSONValue, isLate: Bool) -> PlainRevert {
    let author = request["author"]?.string
    let isUndo = request["undo"] != nil
    let count = Int((request["undo"] ?? request["redo"])?.integer ?? 1)
    var revert = PlainRevert(transaction: PlainTransaction(state), isUndo: isUndo)
    revert.transaction.passesTaken = isLate
    let all =
      isUndo
      ? groups(undoable[author ?? ""] ?? [])
      : (redoable[author ?? ""] ?? []).reversed().map { PlainGroup(units: [$0]) }
    let only = request["only"]?.string
    revert.groups = Array(all.filter { only == nil || $0.context == only }.prefix(count))
    for (index, group) in revert.groups.enumerated() {
      let own = Set(revert.groups[...index].flatMap(\.units).map(\.id))
      let later = standing.filter { unit in
        unit.number >= group.first && !own.contains(unit.id)
          && (unit.isOrdinary || unit.author != author || unit.origin > group.origin)
      }
      var written: [PlainKey: Set<String>] = [:]
      for (key, change) in later.flatMap(\.changes) where change.kind == .update {
        written[key, default: []].formUnion(change.columns)
      }
      let before = revert.transaction.state
      revert.transaction.written = [:]
      revert.transaction.revert(
        group.changes,
        written,
        leavesConflicts: request["mergePolicy"] == "storeTrump"
      )
      revert.changes.append(
        PlainChange.changes(
          from: before,
          to: revert.transaction.state,
          written: revert.transaction.written
        )
      )
    }
    revert.transaction.end()
    return revert
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
      if isOpen, unit.isOrdinary, let last = groups.last, last.context == unit.context {
        groups[groups.count - 1] = PlainGroup(units: [unit] + last.units)
      } else {
        groups.append(PlainGroup(units: [unit]))
      }
      isOpen = unit.isOrdinary && unit.context != nil
    }
    return groups
  }

  /// Keeps what a revert did as a commit.
  mutating func keep(_ revert: PlainRevert, author: String?) {
    guard !revert.groups.isEmpty else { return }
    let name = author ?? ""
    _ = enter(revert.transaction, author: author, context: nil, origin: 0)
    let reverted = Set(revert.groups.flatMap(\.units).map(\.id))
    let made = revert.groups.indices.map { index in
      PlainUnit(
        number: head,
        place: index,
        origin: revert.groups[index].origin,
        author: author,
        context: revert.groups.count == 1 ? revert.groups[index].context : nil,
        isOrdinary: false,
        changes: revert.changes[index]
      )
    }
    if revert.isUndo {
      undoable[name] = undoable[name, default: []].map { unit in
        unit.flatMap { reverted.contains($0.id) ? nil : $0 }
      }
      // The undo stands between what is left and what comes.
      undoable[name, default: []].append(nil)
      standing.removeAll { reverted.contains($0.id) }
      redoable[name, default: []] += made
    } else {
      redoable[name]?.removeAll { reverted.contains($0.id) }
      undoable[name, default: []] += made
      standing += made
    }
  }
}

extension PlainTransaction {
  /// Whether no two objects have what has to be an object's own.
  var isAllUnique: Bool { state.objects.keys.allSatisfy(isUnique) }

  /// Whether both ends of every one-to-one lead to one another.
  var isLedBack: Bool {
    state.objects.allSatisfy { key, object in
      model.entity(key.entity).relationships.allSatisfy { relationship in
        guard let target = object.toOnes[relationship.name],
          let inverse = model.inverse(of: relationship), !inverse.toMany
        else { return true }
        return state.objects[target]?.toOnes[inverse.name] == key
      }
    }
  }

  /// Puts back what a group changed, object by object, without a rule running.
  mutating func revert(
    _ changes: [PlainKey: PlainChange],
    _ later: [PlainKey: Set<String>],
    leavesConflicts: Bool
  ) {
    let changes = changes.sorted { $0.key < $1.key }
    for (key, change) in changes where change.kind == .delete {
      guard state.objects[key] == nil else {
        conflict(leavesConflicts)
        continue
      }
      state.objects[key] = PlainObject(
        version: 0,
        values: change.before.values,
        toOnes: change.before.toOnes
      )
      if !passesTaken, !isUnique(key) {
        wasTaken = true
        if leavesConflicts {
          state.objects[key] = nil
        } else {
          errors.insert("uniquenessViolation")
        }
      }
    }
    for (key, change) in changes where change.kind == .update {
      putBack(key, change, later[key] ?? [], leavesConflicts)
    }
    for (key, change) in changes where change.kind != .insert {
      for relationship in model.entity(key.entity).relationships
      where !relationship.toMany && change.columns.contains(relationship.name) {
        mend(relationship, key, leavesConflicts)
      }
    }
    for (key, change) in changes {
      for (others, isThere) in [(change.linked, false), (change.unlinked, true)] {
        for (name, members) in others {
          guard let relationship = model.relationship(name, of: key.entity) else { continue }
          for other in members where state.objects[other] != nil && state.objects[key] != nil {
            pair(relationship, key, other, isThere)
          }
        }
      }
    }
    removeInserted(changes.filter { $0.value.kind == .insert }.map(\.key), later, leavesConflicts)
  }

  private mutating func conflict(_ isLeft: Bool) {
    if !isLeft { errors.insert("saveConflict") }
  }

  private mutating func putBack(
    _ key: PlainKey,
    _ change: PlainChange,
    _ later: Set<String>,
    _ leavesConflicts: Bool
  ) {
    guard state.objects[key] != nil else { return conflict(leavesConflicts) }
    for name in change.columns {
      if later.contains(name) {
        conflict(leavesConflicts)
      } else if model.relationship(name, of: key.entity) != nil {
        setOne(name, of: key, to: change.before.toOnes[name])
      } else {
        set(name, of: key, to: change.before.values[name] ?? .null)
      }
    }
    guard !passesTaken, !isUnique(key) else { return }
    wasTaken = true
    errors.insert("uniquenessViolation")
  }

  /// A to-one that was put back has to lead to something, and a one-to-one to be led back.
  private mutating func mend(
    _ relationship: PlainModel.Relationship,
    _ key: PlainKey,
    _ leavesConflicts: Bool
  ) {
    guard let target = state.objects[key]?.toOnes[relationship.name] else { return }
    var isWhole = state.objects[target] != nil
    if let inverse = model.inverse(of: relationship), !inverse.toMany {
      isWhole = isWhole && state.objects[target]?.toOnes[inverse.name] == key
    }
    guard !isWhole else { return }
    conflict(leavesConflicts)
    if !relationship.optional { errors.insert("validationFailed") }
    setOne(relationship.name, of: key, to: nil)
  }

  /// What was inserted goes, unless others changed it or put something in relation with it.
  private mutating func removeInserted(
    _ keys: [PlainKey],
    _ later: [PlainKey: Set<String>],
    _ leavesConflicts: Bool
  ) {
    var doomed = Set(keys.filter { state.objects[$0] != nil })
    let changed = doomed.filter { later[$0]?.isEmpty == false }
    if !changed.isEmpty { conflict(leavesConflicts) }
    doomed.subtract(changed)
    var kept: Set<PlainKey> = []
    repeat {
      kept = doomed.filter { key in
        state.objects.contains { holder, object in
          !doomed.contains(holder)
            && (object.toOnes.values.contains(key)
              || object.pairs.values.contains { $0.contains(key) })
        }
      }
      if !kept.isEmpty { conflict(leavesConflicts) }
      doomed.subtract(kept)
    } while !kept.isEmpty
    for key in doomed { state.objects[key] = nil }
    removed += doomed
  }
}
