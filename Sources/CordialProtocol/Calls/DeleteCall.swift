package import JSON
package import JSONRPC

/// The params of `delete`: removes objects by ID or by predicate, cascades included.
package struct DeleteCall: Call {
  package typealias Result = CountResult

  package static let name = MethodName.delete

  /// The IDs of the objects; nil for a delete by predicate.
  package var ids: [String]?
  /// The entity of a delete by predicate, nil for a delete by IDs.
  package var entity: String?
  package var predicate: String?
  package var arguments: JSONValue?
  package var author: String?
  package var context: String?
  package var isDurable = true
  /// Whether the result has the IDs of all deleted objects.
  package var returnsIDs = false
  package var isDryRun = false
  package var transaction: String?

  /// Creates a delete of objects.
  package init(ids: [String]) { self.ids = ids }

  /// Creates a delete of the objects of an entity that match a predicate.
  package init(entity: String, predicate: String) {
    self.entity = entity
    self.predicate = predicate
  }

  package init(_ json: JSONValue) throws(RPCError) {
    ids = json.strings(.ids)
    entity = json.string(.entity)
    predicate = json.string(.predicate)
    arguments = json[.arguments]
    author = try WriteRules.author(json.string(.author), "delete")
    context = try WriteRules.context(json.string(.context), "delete")
    isDurable = json.string(.durability) != WriteRules.normal
    returnsIDs = json.string(.returning) == "ids"
    isDryRun = json.bool(.dryRun)
    transaction = try WriteRules.transaction(json.string(.transaction), "delete")
    guard (ids == nil) != (entity == nil), (entity == nil) == (predicate == nil) else {
      throw RPCError(
        .invalidParams,
        "delete: name either ids, or an entity and a predicate (TRUEPREDICATE for all)"
      )
    }
  }

  package var json: JSONValue {
    .present([
      .ids: ids, .entity: entity, .predicate: predicate, .arguments: arguments, .author: author,
      .context: context, .durability: isDurable ? nil : WriteRules.normal,
      .dryRun: isDryRun.ifTrue, .returning: returnsIDs ? "ids" : nil, .transaction: transaction,
    ])
  }
}

/// The result of `delete` and `update`.
package struct CountResult: WireObject {
  /// The history position after the write; nil if a mock's script omits the token.
  package let token: String?
  /// The number of objects that the request names by ID, or that match its predicate; nil if a
  /// mock's script omits the count.
  package let count: Int64?
  /// The IDs of the objects that `delete` deleted, cascades included, or that `update` updated; nil
  /// if the request does not ask for IDs.
  package let ids: [String]?
  /// The effects that the request would have; nil unless it is a dry run.
  package let dryRun: DryRunResult?

  package init(_ json: JSONValue) throws(RPCError) {
    token = json.string(.token)
    count = json.integer(.count)
    ids = try json.optionalTexts(.ids)
    dryRun = try json.optional(.dryRun)
  }

  package var json: JSONValue {
    .present([.token: token, .count: count, .ids: ids, .dryRun: dryRun])
  }
}
