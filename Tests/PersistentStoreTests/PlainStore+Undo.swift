import JSON

/// What is undone or done again as one.
struct PlainGroup {
  /// Oldest first.
  let units: [PlainUnit]

  var context: String? { units.last?.context }
  var origin: Int { units.first?.origin ?? 0 }
  var id: Int { units.first?.id ?? 0 }

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
    let author = request["author"]?.string
    let isUndo = request["undo"] != nil
    let count = Int((request["undo"] ?? request["redo"])?.integer ?? 1)
    var revert = PlainRevert(transaction: PlainTransaction(state), isUndo: isUndo)
    let all =
      isUndo
      ? groups(undoable[author ?? ""] ?? [])
      : (redoable[author ?? ""] ?? []).reversed().map { PlainGroup(units: [$0]) }
    let only = request["only"]?.string
    revert.groups = Array(all.filter { only == nil || $0.context == only }.prefix(count))
    let own = Set(revert.groups.flatMap(\.units).map(\.id))
    for group in revert.groups {
      let later = PlainLater(
        standing.filter {
          $0.id > group.id && !own.contains($0.id) && $0.stands(behind: group, author)
        }
      )
      let before = revert.transaction.state
      revert.transaction.written = [:]
      revert.transaction.revert(group, later, leaves: request["mergePolicy"] == "storeTrump")
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
      if isOpen, unit.kind == .ordinary, let last = groups.last, last.context == unit.context {
        groups[groups.count - 1] = PlainGroup(units: [unit] + last.units)
      } else {
        groups.append(PlainGroup(units: [unit]))
      }
      isOpen = unit.kind == .ordinary && unit.context != nil
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
        context: revert.groups[index].context,
        kind: revert.isUndo ? .undo : .redo,
        changes: revert.changes[index]
      )
    }
    standing.removeAll { reverted.contains($0.id) }
    standing += made
    if revert.isUndo {
      undoable[name] = undoable[name, default: []].map { unit in
        unit.flatMap { reverted.contains($0.id) ? nil : $0 }
      }
      // The undo stands between what is left and what comes.
      undoable[name, default: []].append(nil)
      redoable[name, default: []] += made
    } else {
      redoable[name]?.removeAll { reverted.contains($0.id) }
      undoable[name, default: []] += made
    }
  }
}
