import JSON

/// What a commit, or several that are one group, did to one object.
struct PlainChange {
  enum Kind {
    case insert, update, delete
  }

  var kind: Kind
  /// Attributes and to-ones that were written, as they were before.
  var before = PlainObject()
  /// Their names; of a delete all.
  var columns: Set<String> = []
  /// What a commit wrote though it left it as it was: taken back, it is written again.
  var wavered: Set<String> = []
  var linked: [String: Set<PlainKey>] = [:]
  var unlinked: [String: Set<PlainKey>] = [:]

  /// What happened between two states, with what was written in between.
  static func changes(
    from old: PlainState,
    to new: PlainState,
    written: [PlainKey: Set<String>]
  ) -> [PlainKey: PlainChange] {
    var changes: [PlainKey: PlainChange] = [:]
    for key in Set(old.objects.keys).union(new.objects.keys) {
      let (was, becomes) = (old.objects[key], new.objects[key])
      guard was != becomes || written[key] != nil, was != nil || becomes != nil else { continue }
      var change = PlainChange(kind: was == nil ? .insert : becomes == nil ? .delete : .update)
      change.before = was ?? PlainObject()
      let all = Set(old.columns(key.entity))
      if change.kind == .delete { change.columns = all }
      if change.kind == .update {
        change.columns = all.filter { name in
          written[key]?.contains(name) == true
            || old.logged(name, of: key) != new.logged(name, of: key)
        }
      }
      if change.kind == .update {
        change.wavered = (written[key] ?? []).filter { name in
          old.logged(name, of: key) == new.logged(name, of: key)
            && was?.pairs[name] == becomes?.pairs[name]
        }
      }
      for relationship in old.model.entity(key.entity).relationships
      where old.model.isPairs(relationship) {
        let name = relationship.name
        let (left, right) = (was?.pairs[name] ?? [], becomes?.pairs[name] ?? [])
        change.linked[name] = right.subtracting(left)
        change.unlinked[name] = left.subtracting(right)
      }
      changes[key] = change
    }
    return changes
  }

  /// The names of all that was changed by an update.
  var properties: Set<String> {
    columns.union(linked.filter { !$0.value.isEmpty }.keys)
      .union(unlinked.filter { !$0.value.isEmpty }.keys)
  }

  /// The pairs that came or went.
  func pairs(of key: PlainKey) -> Set<PlainPair> {
    Set(
      [linked, unlinked].joined().flatMap { name, others in
        others.map { PlainPair(key: key, name: name, other: $0) }
      }
    )
  }

  /// Adds what a later commit did to the same object; nil where the two are as nothing.
  func followed(by later: PlainChange) -> PlainChange? {
    var change = self
    for name in later.columns where !columns.contains(name) {
      change.columns.insert(name)
      change.before.values[name] = later.before.values[name]
      change.before.toOnes[name] = later.before.toOnes[name]
    }
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

/// A commit of an author, or one revert of a group.
struct PlainUnit {
  enum Kind {
    case ordinary, undo, redo
  }

  /// The commit.
  let number: Int
  /// Which of the reverts of a commit it is.
  let place: Int
  /// The commit that was undone or done again, through whatever was undone; its own for an ordinary
  /// one.
  let origin: Int
  let author: String?
  let context: String?
  let kind: Kind
  let changes: [PlainKey: PlainChange]

  var id: Int { number * 100 + place }

  /// Whether what an author reverts now has to mind this, which came later.
  ///
  /// Undoing something that came behind the group leads back to what the group left, and the
  /// author's own redo of something that came before it to what the group began with.
  func stands(behind group: PlainGroup, _ reverter: String?) -> Bool {
    switch kind {
    case .ordinary: true
    case .undo: origin < group.origin
    case .redo: author != reverter || origin > group.origin
    }
  }
}

/// An object as it came to a version, and what was written for that.
struct PlainVersion {
  let object: PlainObject
  let written: Set<String>
  /// Whether it came, or came back, with this version.
  let isNew: Bool
}
