package import CordialValues
package import JSON

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
    package let values: [JSONMember]

    package init(id: String, version: Int64?, values: [JSONMember]) {
      self.id = id
      self.version = version
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

  /// Whether an answer waits until the commit would survive a loss of power.
  package enum Durability: String, Sendable {
    case full, normal
  }

  /// What becomes of properties that others changed since the version that a client knew.
  package enum MergePolicy: String, Sendable, CaseIterable {
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
  }

  package var inserts: [Insert]
  package var updates: [Update]
  package var deletes: [Delete]
  /// Objects that match are removed too.
  package var deleteMatching: FetchRequest?
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
    deleteMatching: FetchRequest? = nil,
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
    self.deleteMatching = deleteMatching
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
  /// `"ids":{…},"objects":[…]` of a save's answer, as it stands on the wire.
  package let body: [UInt8]
  /// How many objects a delete named or matched.
  package let deleteCount: Int
  /// What was removed, cascades included.
  package let deleted: [String]
}
