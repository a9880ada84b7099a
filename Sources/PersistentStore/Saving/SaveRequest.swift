package import CordialValues
package import Interruptions
package import JSON
import ObjectModel
package import PersistentHistory

/// The changes of one transaction, which are made together or not at all.
package struct SaveRequest: Sendable {
  package typealias Insert = InsertedObject<[JSONMember]>
  package typealias Update = UpdatedObject<[JSONMember]>
  package typealias Delete = DeletedObject

  /// The values that an update sets in all objects that match a predicate.
  package struct UpdateMatching: Sendable {
    package let fetch: FetchRequest
    /// The values by property; `{"@expression": "count + 1"}` is computed for each object, from its
    /// values before the update.
    package let values: [JSONMember]

    package init(fetch: FetchRequest, values: [JSONMember]) {
      self.fetch = fetch
      self.values = values
    }
  }

  /// Groups of the author's commits to undo or redo.
  package struct Revert: Sendable {
    package let direction: RevertDirection
    package let count: Int
    /// The context of the groups, nil for every context.
    package let context: String?

    package init(direction: RevertDirection, count: Int, context: String?) {
      self.direction = direction
      self.count = count
      self.context = context
    }
  }

  /// The method that a client called; only the same method may repeat a transaction.
  package enum Method: String, Sendable {
    case save, delete, update, undo, redo
  }

  /// Whether a response waits until the commit would survive a power failure.
  package enum Durability: String, Sendable {
    case full, normal
  }

  /// The decision about properties that other saves changed since the version that the client sent.
  package enum MergePolicy: Sendable, Equatable {
    /// Nothing is written, and every conflict is reported.
    case error
    /// The changed properties stay as stored; the client's other properties are written.
    case storeTrump
    /// The client's properties are written.
    case objectTrump
    /// The object gets the values that the client read, with the client's changes.
    case overwrite
    /// The object stays as stored.
    case rollback
    /// One of the program's own policies, by its name.
    case named(String)

    /// The policies that every store has, by their names.
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
  /// The fetch of further objects to delete.
  package var deleteMatching: FetchRequest?
  package var updateMatching: UpdateMatching?
  /// Whether the result lists the deleted objects, or the objects that match an update.
  package var wantsIDs = false
  package var revert: Revert?
  /// The client's connection; the writer serves connections in turn.
  package var source = 0
  /// Whether the save is performed and rolled back, only to return its effects.
  package var isDryRun = false
  /// The maximum number of objects that a predicate and cascades delete.
  ///
  /// It also limits the IDs that an update by predicate returns, and the changes that an undo or
  /// redo reverts.
  package var affectedMax = Int.max
  /// The maximum number of objects that an update by predicate reads one by one.
  package var changesMax = Int.max
  package var author: String?
  package var context: String?
  package var process: String?
  package var durability: Durability
  package var mergePolicy: MergePolicy
  /// The client's UUID of this transaction; a repeat changes nothing.
  package var transaction: String?
  /// The interruption, which can stop the save until it begins to write; nil if nothing can stop
  /// the save.
  package var interruption: Interruption?
  /// The maximum time, in seconds, for which a save may delay other saves while it evaluates a
  /// predicate or matches values with patterns of the model.
  package var readingSecondsMax = Self.defaultReadingSecondsMax
  static let defaultReadingSecondsMax = 2.0

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

/// The outcome of a transaction.
package struct SaveOutcome: Sendable {
  /// The position after the transaction.
  package let token: StoreToken
  package let result: SaveResult
  /// The effects of a dry run, nil for a save that was committed.
  package let dryRun: DryRun?
}

/// The effects that a rolled back transaction would have had.
package struct DryRun: Sendable {
  /// The error with which the transaction would have failed; nil if it would have succeeded.
  package let error: StoreError?
  /// The objects that would have been deleted, cascades included.
  package let deletes: [ObjectName]
  /// The objects that would have been changed.
  package let updates: [ObjectName]
  /// The changes that the transaction would have logged.
  package let changes: ChangeSet
}

extension SaveRequest {
  /// Whether a predicate selects objects of the save.
  package var isByPredicate: Bool { updateMatching != nil || deleteMatching != nil }

  /// Returns a copy of the request in which the inserts have values for the members of composites
  /// instead of composite values.
  ///
  /// Updates are expanded later, because only the stored object determines the entity of an update.
  func expandingInserts(in model: Model) -> SaveRequest {
    var expanded = self
    expanded.inserts = inserts.map { insert in
      let name = insert.entity ?? insert.id.flatMap { ObjectID($0) }?.entity
      guard let entity = name.flatMap({ model.entity(named: $0) }) else { return insert }
      let values = entity.expanded(insert.values)
      return Insert(id: insert.id, entity: insert.entity, values: values)
    }
    return expanded
  }
}
