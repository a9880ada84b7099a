import JSON

/// What a commit, or several that are one group, did to one object.
struct PlainChange {
  enum Kind: String {
    case insert, update, delete
  }

  var kind: Kind
  var before: PlainObject?
  /// The attributes and to-ones that have another value; of a delete all.
  var columns: Set<String> = []
  var linked: [String: Set<Int>] = [:]
  var unlinked: [String: Set<Int>] = [:]
  /// The ordered to-manys of which members that stayed have another order.
  var moved: Set<String> = []
  /// The ordered one-to-manys that have new members before members that stayed.
  var placed: Set<String> = []

  init(_ key: Int, from old: PlainState, to new: PlainState) {
    let (was, becomes) = (old[key], new[key])
    before = was
    kind = was == nil ? .insert : becomes == nil ? .delete : .update
    let model = old.model
    let entity = model.entity(was?.entity ?? becomes?.entity ?? "")
    if kind == .delete { columns = Set(entity.columns) }
    if kind == .update {
      columns = Set(
        entity.columns.filter {
          was?.values[$0] != becomes?.values[$0] || was?.toOnes[$0] != becomes?.toOnes[$0]
        }
      )
    }
    for relationship in entity.toManys {
      let name = relationship.name
      if model.isManyToMany(relationship) {
        let (left, right) = (was?.links[name] ?? [], becomes?.links[name] ?? [])
        linked[name] = right.subtracting(left)
        unlinked[name] = left.subtracting(right)
      }
      guard kind == .update, relationship.ordered else { continue }
      let (then, now) = (old.related(relationship, of: key), new.related(relationship, of: key))
      let stayed = then.filter(now.contains)
      if stayed != now.filter(then.contains) {
        moved.insert(name)
      } else if !model.isManyToMany(relationship), Array(now.prefix(stayed.count)) != stayed {
        placed.insert(name)
      }
    }
  }

  /// Every object that is not as it was.
  static func changes(from old: PlainState, to new: PlainState) -> [Int: PlainChange] {
    var changes: [Int: PlainChange] = [:]
    for key in Set(old.objects.keys).union(new.objects.keys) {
      let change = PlainChange(key, from: old, to: new)
      if change.kind != .update || change.countsVersion { changes[key] = change }
    }
    return changes
  }

  /// Whether the object itself changed: a change of the inverse of a to-one does not count.
  var countsVersion: Bool {
    !columns.isEmpty || !moved.isEmpty || linked.contains { !$0.value.isEmpty }
      || unlinked.contains { !$0.value.isEmpty }
  }

  /// The names of all properties that were changed by an update.
  var properties: Set<String> {
    columns.union(linked.filter { !$0.value.isEmpty }.keys)
      .union(unlinked.filter { !$0.value.isEmpty }.keys).union(moved)
  }

  /// The link rows that were made or removed, as this object has them.
  func pairs(of key: Int) -> Set<PlainLink> {
    Set(
      [linked, unlinked].joined().flatMap { name, others in
        others.map { PlainLink(key: key, name: name, other: $0) }
      }
    )
  }

  /// Adds what a later commit did to the same object; nil where the two cancel out.
  func followed(by later: PlainChange) -> PlainChange? {
    var change = self
    for name in later.columns where !columns.contains(name) {
      change.columns.insert(name)
      change.before?.values[name] = later.before?.values[name]
      change.before?.toOnes[name] = later.before?.toOnes[name]
    }
    change.moved.formUnion(later.moved)
    change.placed.formUnion(later.placed)
    for (name, members) in later.linked {
      let back = members.intersection(unlinked[name] ?? [])
      change.unlinked[name]?.subtract(back)
      change.linked[name, default: []].formUnion(members.subtracting(back))
    }
    for (name, members) in later.unlinked {
      let back = members.intersection(linked[name] ?? [])
      change.linked[name]?.subtract(back)
      change.unlinked[name, default: []].formUnion(members.subtracting(back))
    }
    switch (kind, later.kind) {
    case (.insert, .delete): return nil
    case (.update, .delete): change.kind = .delete
    case (.delete, .insert): change.kind = .update
    default: break
    }
    return change
  }
}

/// A link row of a many-to-many as one of its ends has it.
struct PlainLink: Hashable {
  let key: Int
  let name: String
  let other: Int
}
