/// The combined change of one object by all commits between two positions of the log.
package struct ObjectChange: Sendable, Equatable {
  /// The kind of change, determined by the object's existence before and after the change.
  package enum Kind: String, Sendable {
    case insert
    case update
    case delete
  }

  package let key: ObjectKey
  package var kind: Kind
  /// The names of the written properties; empty for an insert or delete.
  package var properties: Set<String>
  /// Whether the change increments the object's version; changes of derived values and sort
  /// positions do not.
  package var countsVersion: Bool

  package init(
    key: ObjectKey,
    kind: Kind,
    properties: Set<String> = [],
    countsVersion: Bool = true
  ) {
    self.key = key
    self.kind = kind
    self.properties = properties
    self.countsVersion = countsVersion
  }
}

/// All changes between two positions in the log.
package struct ChangeSet: Sendable, Equatable {
  /// The number of the commit after which the change set begins.
  package let from: Int64
  /// The number of the last commit in the change set.
  package let through: Int64
  /// One change for each object; objects that were inserted and then deleted are absent.
  package var changes: [ObjectKey: ObjectChange]

  package init(
    from: Int64,
    through: Int64,
    changes: [ObjectKey: ObjectChange] = [:]
  ) {
    self.from = from
    self.through = through
    self.changes = changes
  }

  /// Combines a later change of an object with its earlier changes.
  package mutating func add(_ change: ObjectChange) {
    guard var known = changes[change.key] else {
      changes[change.key] = change
      return
    }
    known.countsVersion = known.countsVersion || change.countsVersion
    switch (known.kind, change.kind) {
    case (.insert, .delete):
      changes[change.key] = nil
      return
    case (.insert, _): return
    case (.update, .insert):
      // The object has an update before its insert if an external client inserts a link row of the
      // object first.
      known.kind = .insert
      known.properties = []
    case (.delete, .insert):
      // The object existed before and exists again: any of its properties may differ.
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

  /// The property name that marks an object as deleted and inserted again.
  package static let everyProperty = "*"
}
