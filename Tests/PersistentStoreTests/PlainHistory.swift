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

/// A commit of an author, or something done again, which is undone as one.
struct PlainUnit {
  /// The commit.
  let number: Int
  /// Which of the reverts of a commit it is.
  let place: Int
  /// The commit that was done again, through whatever was undone; its own for an ordinary one.
  let origin: Int
  let author: String?
  let context: String?
  let isOrdinary: Bool
  let changes: [PlainKey: PlainChange]

  var id: Int { number * 100 + place }
}

/// An object as it came to a version, and what was written for that.
struct PlainVersion {
  let object: PlainObject
  let written: Set<String>
  /// Whether it came, or came back, with this version.
  let isNew: Bool
}
