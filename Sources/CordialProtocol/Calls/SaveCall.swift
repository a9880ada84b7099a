package import CordialValues
package import JSON
package import JSONRPC

/// The params of `save`: inserts, updates and deletes as one transaction.
package struct SaveCall: Call {
  package typealias Insert = InsertedObject<[JSONMember]>
  package typealias Update = UpdatedObject<[JSONMember]>
  package typealias Delete = DeletedObject

  package static let name = MethodName.save

  package var inserts: [Insert] = []
  package var updates: [Update] = []
  package var deletes: [Delete] = []
  /// The author in the history, nil for the author of the connection.
  package var author: String?
  /// The context in the history, nil for the context of the connection.
  package var context: String?
  /// The policy for properties that other saves changed, nil for the policy of the connection.
  package var mergePolicy: String?
  /// Whether the response waits until the changes are safe from a power failure.
  package var isDurable = true
  /// A UUID by which the service recognizes a repetition of the request; nil for none.
  package var transaction: String?
  /// Whether the service only reports the effects of the request and writes nothing.
  package var isDryRun = false

  /// Creates a request without changes.
  package init() {}

  package init(_ json: JSONValue) throws(RPCError) {
    inserts = try json.optionalList(.insert) ?? []
    updates = try json.optionalList(.update) ?? []
    deletes = try json.optionalList(.delete) ?? []
    mergePolicy = json.string(.mergePolicy)
    author = try WriteRules.author(json.string(.author), "save")
    context = try WriteRules.context(json.string(.context), "save")
    isDurable = json.string(.durability) != WriteRules.normal
    transaction = try WriteRules.transaction(json.string(.transaction), "save")
    isDryRun = json.bool(.dryRun)
  }

  package var json: JSONValue {
    .present([
      .insert: inserts.isEmpty ? nil : inserts, .update: updates.isEmpty ? nil : updates,
      .delete: deletes.isEmpty ? nil : deletes, .mergePolicy: mergePolicy, .author: author,
      .context: context, .durability: isDurable ? nil : WriteRules.normal,
      .dryRun: isDryRun.ifTrue, .transaction: transaction,
    ])
  }

  /// The number of requested changes.
  package var count: Int { inserts.count + updates.count + deletes.count }

  /// The result of a save.
  package struct Result: WireObject {
    /// The position after the save.
    package let token: String
    /// The stored IDs of inserts, by sent IDs; null in a dry run.
    package let ids: [JSONMember]
    /// The inserted objects, the updated objects, and the objects whose delete the merge policy
    /// skipped.
    package let objects: [WrittenObject]
    /// The decisions of the merge policy; nil for none.
    package let merged: [MergedObject]?
    /// The effects that the request would have; nil unless it is a dry run.
    package let dryRun: DryRunResult?

    package init(_ json: JSONValue) throws(RPCError) {
      token = try json.text(.token)
      ids = json.members(.ids) ?? []
      objects = try json.optionalList(.objects) ?? []
      merged = try json.optionalList(.merged)
      dryRun = try json.optional(.dryRun)
    }

    package var json: JSONValue {
      .present([
        .token: token, .ids: MemberList(ids), .objects: objects, .merged: merged, .dryRun: dryRun,
      ])
    }
  }

  /// The decision of a merge policy about an object.
  package struct MergedObject: WireObject {
    package let id: String
    /// The source of each property's new value, by the property's name; nil for a delete.
    package let properties: [JSONMember]?
    /// `client` if the delete was performed, `store` if it was skipped; nil for an update.
    package let delete: String?

    package init(_ json: JSONValue) throws(RPCError) {
      id = try json.text(.id)
      properties = json.members(.properties)
      delete = json.string(.delete)
    }

    package var json: JSONValue {
      .present([.id: id, .properties: MemberList(properties), .delete: delete])
    }
  }
}

/// An object that a write has stored.
package struct WrittenObject: WireObject {
  /// The ID; nil for an insert of a dry run.
  package let id: String?
  /// The new version; nil for a deleted object.
  package let version: Int64?
  /// The stored values that differ from the sent values, or that an undo restored; nil for none.
  package let values: [JSONMember]?

  package init(_ json: JSONValue) throws(RPCError) {
    id = json.string(.id)
    version = json.integer(.version)
    values = json.members(.values)
  }

  package var json: JSONValue {
    .present([
      .id: Nullable(id), .version: version, .values: MemberList(values),
      .deleted: version == nil ? true : nil,
    ])
  }
}

/// The effects that a request would have.
package struct DryRunResult: WireObject {
  /// The error of the request: code, message and data; nil if it would succeed.
  package let error: JSONValue?
  /// The objects to delete, cascades included.
  package let deletes: [String]
  /// The objects to update.
  package let updates: [String]
  /// The connection's subscriptions that the request could affect.
  package let subscriptions: [String]
  /// The number of subscriptions of other connections that the request could affect.
  package let otherCount: Int64

  /// Creates the result.
  package init(
    error: JSONValue?,
    deletes: [String],
    updates: [String],
    subscriptions: [String],
    otherCount: Int64
  ) {
    self.error = error
    self.deletes = deletes
    self.updates = updates
    self.subscriptions = subscriptions
    self.otherCount = otherCount
  }

  package init(_ json: JSONValue) throws(RPCError) {
    error = json[.error]
    deletes = try json.texts(.delete)
    updates = try json.texts(.update)
    subscriptions = try json.texts(.fire)
    otherCount = try json.count(.others)
  }

  package var json: JSONValue {
    .present([
      .error: error, .delete: deletes, .update: updates, .fire: subscriptions,
      .others: otherCount,
    ])
  }
}

// MARK: Changes

extension InsertedObject: JSONConvertible, WireObject where Values == [JSONMember] {
  package init(_ json: JSONValue) throws(RPCError) {
    self.init(
      id: json.string(.id),
      entity: json.string(.entity),
      values: json.members(.values) ?? []
    )
  }

  package var json: JSONValue {
    .present([.id: id, .entity: entity, .values: MemberList(values)])
  }
}

extension UpdatedObject: JSONConvertible, WireObject where Values == [JSONMember] {
  package init(_ json: JSONValue) throws(RPCError) {
    self.init(
      id: try json.text(.id),
      version: json.integer(.version),
      asOf: json.string(.asOf),
      values: json.members(.values) ?? []
    )
  }

  package var json: JSONValue {
    .present([.id: id, .version: version, .asOf: asOf, .values: MemberList(values)])
  }
}

extension DeletedObject: WireObject {
  package init(_ json: JSONValue) throws(RPCError) {
    if let id = json.string {
      self.init(id: id, version: nil)
    } else {
      self.init(id: try json.text(.id), version: json.integer(.version))
    }
  }

  package var json: JSONValue {
    version.map { .present([.id: id, .version: $0]) } ?? .string(id)
  }
}
