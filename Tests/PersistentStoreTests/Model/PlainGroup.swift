/// What is undone or redone as one.
struct PlainGroup {
  /// Oldest first.
  let units: [PlainUnit]

  var context: String? { units.last?.context }
  var origin: Int { units.first?.origin ?? 0 }
  var id: Int { units.first?.id ?? 0 }

  /// What all of them did together.
  var changes: [Int: PlainChange] {
    var changes: [Int: PlainChange] = [:]
    for unit in units {
      for (key, change) in unit.changes {
        changes[key] = changes[key].map { $0.followed(by: change) } ?? change
      }
    }
    return changes
  }
}

/// What commits of others that are not reverted did to objects, each after the group's own first
/// change of the same property or link.
struct PlainLaterChanges {
  private(set) var written: [Int: Set<String>] = [:]
  private(set) var inserted: Set<Int> = []
  private(set) var deleted: Set<Int> = []
  /// Both ways round.
  private(set) var pairs: Set<PlainLink> = []

  /// - Parameters:
  ///   - units: The commits of others after the group's first one.
  ///   - group: The group.
  init(_ units: [PlainUnit], after group: PlainGroup) {
    for unit in units {
      let before = PlainGroup(units: group.units.filter { $0.id < unit.id }).changes
      let after = PlainGroup(units: group.units.filter { $0.id > unit.id }).changes
      for (key, change) in unit.changes {
        let (old, new) = (before[key], after[key])
        if change.kind == .insert {
          inserted.insert(key)
        } else {
          // What an inserted object has is the group's from then on.
          let first =
            old?.kind == .insert
            ? [] : (new?.columns ?? []).subtracting(old?.columns ?? [])
          written[key, default: []].formUnion(change.columns.subtracting(first))
        }
        if change.kind == .delete { deleted.insert(key) }
        let first = (new?.pairs(of: key) ?? []).subtracting(old?.pairs(of: key) ?? [])
        pairs.formUnion(change.pairs(of: key).subtracting(first))
      }
    }
  }
}
