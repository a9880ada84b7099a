/// What happened to one object between two positions, all commits between them taken together.
package struct ObjectChange: Sendable, Equatable {
  /// Present or absent before and after.
  package enum Kind: String, Sendable {
    case insert
    case update
    case delete
  }

  package let key: ObjectKey
  package var kind: Kind
  /// The names of the properties that were written; of an insert or delete, none.
  package var properties: Set<String>

  package init(key: ObjectKey, kind: Kind, properties: Set<String> = []) {
    self.key = key
    self.kind = kind
    self.properties = properties
  }
}

/// Everything that changed between two positions in the log.
package struct ChangeSet: Sendable, Equatable {
  /// The number of the commit after which this begins.
  package let from: Int64
  /// The number of the last commit in it.
  package let through: Int64
  /// The authors of the commits in it, each once, in order of appearance; nil is one of them.
  package var authors: [String?]
  /// One change for each object; what was inserted and deleted again is not here.
  package var changes: [ObjectKey: ObjectChange]

  package init(
    from: Int64,
    through: Int64,
    authors: [String?] = [],
    changes: [ObjectKey: ObjectChange] = [:]
  ) {
    self.from = from
    self.through = through
    self.authors = authors
    self.changes = changes
  }

  /// Adds a later change of an object to what is known of it.
  package mutating func add(_ change: ObjectChange) {
    guard var known = changes[change.key] else {
      changes[change.key] = change
      return
    }
    switch (known.kind, change.kind) {
    case (.insert, .delete):
      changes[change.key] = nil
      return
    case (.insert, _): return
    case (.delete, .insert):
      // It was there before and is there again: any of its properties may differ.
      known.kind = .update
      known.properties.formUnion(change.properties)
      known.properties.insert(ChangeSet.everyProperty)
    case (_, .delete):
      known.kind = .delete
      known.properties = []
    default:
      known.properties.formUnion(change.properties)
    }
    changes[change.key] = known
  }

  /// Stands among the properties of an object that was deleted and came back.
  package static let everyProperty = "*"
}
