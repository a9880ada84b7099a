package import CordialValues
package import JSON
package import PersistentHistory

/// What one transaction shall do: all of it or none of it.
package struct SaveRequest: Sendable {
  /// A new object.
  package struct Insert: Sendable {
    /// A temporary or identity ID, nil when only the entity is named.
    package let id: String?
    /// The entity, nil when the ID names it.
    package let entity: String?
    package let values: [JSONMember]

    package init(id: String?, entity: String?, values: [JSONMember]) {
      self.id = id
      self.entity = entity
      self.values = values
    }
  }

  /// Changed properties of an object.
  package struct Update: Sendable {
    package let id: String
    /// The version that the client knew; nil checks nothing.
    package let version: Int64?
    /// The token of the response in which the client read to-manys; nil for none.
    package let asOf: String?
    package let values: [JSONMember]

    package init(id: String, version: Int64?, asOf: String? = nil, values: [JSONMember]) {
      self.id = id
      self.version = version
      self.asOf = asOf
      self.values = values
    }
  }

  /// An object to remove.
  package struct Delete: Sendable {
    package let id: String
    package let version: Int64?

    package init(id: String, version: Int64?) {
      self.id = id
      self.version = version
    }
  }

  /// Values for all objects that match.
  package struct UpdateMatching: Sendable {
    package let fetch: FetchRequest
    /// By property; `{"@expression": "count + 1"}` is computed for each object, from its values
    /// before.
    package let values: [JSONMember]

    package init(fetch: FetchRequest, values: [JSONMember]) {
      self.fetch = fetch
      self.values = values
    }
  }

  /// Groups of the author's commits to undo, or to do again.
  package struct Revert: Sendable {
    package let direction: RevertDirection
    package let count: Int
    /// Only groups of this context, nil for all.
    package let context: String?

    package init(direction: RevertDirection, count: Int, context: String?) {
      self.direction = direction
      self.count = count
      self.context = context
    }
  }

  /// The method that a client called; a transaction is repeated by the same one.
  package enum Method: String, Sendable {
    case save, delete, update, undo, redo
  }

  /// Whether an answer waits until the commit would survive a loss of power.
  package enum Durability: String, Sendable {
    case full, normal
  }

  /// What becomes of properties that others changed since the version that a client knew.
  package enum MergePolicy: Sendable, Equatable {
    /// Nothing is written, and every conflict is told.
    case error
    /// They stay as they are stored; the client's others are written.
    case storeTrump
    /// The client's are written.
    case objectTrump
    /// The object becomes what the client had: what it did not send goes back to what it knew.
    case overwrite
    /// The object stays as it is stored.
    case rollback
    /// One of the program's own, by its name.
    case named(String)

    /// Those that every store has, by their names.
    package static let standard: [(String, MergePolicy)] = [
      ("error", .error), ("storeTrump", .storeTrump), ("objectTrump", .objectTrump),
      ("overwrite", .overwrite), ("rollback", .rollback),
    ]

    package init(_ name: String) {
      self = Self.standard.first { $0.0 == name }?.1 ?? .named(name)
    }
  }

  package var method = Method.save
  package var inserts: [Insert]
  package var updates: [Update]
  package var deletes: [Delete]
  /// Objects that match are removed too.
  package var deleteMatching: FetchRequest?
  package var updateMatching: UpdateMatching?
  /// Whether the objects that match an update are to be told.
  package var wantsIDs = false
  package var revert: Revert?
  /// Who asks: of those who do, each is served in turn.
  package var source = 0
  /// Whether it is carried out and taken back, to tell what it would do.
  package var isDryRun = false
  package var author: String?
  package var context: String?
  package var process: String?
  package var durability: Durability
  package var mergePolicy: MergePolicy
  /// The client's own name of this transaction: sent again, it changes nothing.
  package var transaction: String?

  package init(
    inserts: [Insert] = [],
    updates: [Update] = [],
    deletes: [Delete] = [],
    author: String? = nil,
    context: String? = nil,
    process: String? = nil,
    durability: Durability = .full,
    mergePolicy: MergePolicy = .error,
    transaction: String? = nil
  ) {
    self.inserts = inserts
    self.updates = updates
    self.deletes = deletes
    self.author = author
    self.context = context
    self.process = process
    self.durability = durability
    self.mergePolicy = mergePolicy
    self.transaction = transaction
  }
}

/// What a transaction did.
package struct SaveOutcome: Sendable {
  /// The position after it.
  package let token: StoreToken
  package let result: SaveResult
  /// What it would have done, nil when it did it.
  package let dryRun: DryRun?
}

/// What a transaction that was taken back would have done.
package struct DryRun: Sendable {
  /// Why it would have failed; then it would have done nothing.
  package let error: StoreError?
  /// The objects that would have been removed, cascades included.
  package let deletes: [ObjectName]
  /// The objects that would have been changed.
  package let updates: [ObjectName]
  /// What would have stood in the log.
  package let changes: ChangeSet
}

/// A property that others changed since the version that a client knew.
package struct PropertyConflict: Sendable {
  /// The object.
  package let id: String
  package let property: String
  /// Its value in the version that the client knew.
  package let base: JSONValue
  /// Its value now.
  package let store: JSONValue
  /// What the client sent, nil when it did not change it.
  package let client: JSONValue?

  /// What becomes of it.
  package enum Resolution: Sendable {
    case store
    /// What the client sent; the store's where it sent nothing.
    case client
    case base
    /// Another value, as it would be sent.
    case value(JSONValue)
  }
}

/// Decides what becomes of a property; it runs inside the writer's transaction, so it has to be
/// quick and to ask nobody.
package typealias MergeDecision = @Sendable (PropertyConflict) -> PropertyConflict.Resolution
