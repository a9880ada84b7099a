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

/// What later commits that are not reverted did to objects.
struct PlainLaterChanges {
  private(set) var written: [Int: Set<String>] = [:]
  private(set) var inserted: Set<Int> = []
  private(set) var deleted: Set<Int> = []
  /// Both ways round.
  private(set) var pairs: Set<PlainLink> = []

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
