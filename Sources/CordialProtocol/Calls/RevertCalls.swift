package import JSON
package import JSONRPC

/// The params of `undo` and `redo`.
package struct RevertParams: Sendable {
  /// The number of commit groups to undo or redo.
  package var count = 1
  /// The author whose groups are reverted, nil for the author of the connection.
  package var author: String?
  /// The context of the groups, nil for groups of every context.
  package var context: String?
  /// The merge policy for properties that later saves changed; nil to fail on such a property.
  package var mergePolicy: String?
  package var isDurable = true
  package var isDryRun = false
  package var transaction: String?

  /// Creates the params that revert the newest group of the connection's author.
  package init() {}

  fileprivate init(_ json: JSONValue, _ method: MethodName) throws(RPCError) {
    let method = method.rawValue
    count = json.int(.count) ?? 1
    author = try WriteRules.limited(json.string(.author), "author", method)
    context = try WriteRules.context(json.string(.context), method)
    mergePolicy = json.string(.mergePolicy)
    isDurable = json.string(.durability) != WriteRules.normal
    isDryRun = json.bool(.dryRun)
    transaction = try WriteRules.transaction(json.string(.transaction), method)
  }

  fileprivate var json: JSONValue {
    .present([
      .count: count, .author: author, .context: context, .mergePolicy: mergePolicy,
      .durability: isDurable ? nil : WriteRules.normal, .dryRun: isDryRun.ifTrue,
      .transaction: transaction,
    ])
  }
}

/// The result of `undo` and `redo`.
package struct RevertResult: WireObject {
  /// The history position after the undo or redo; nil if a mock's script omits the token.
  package let token: String?
  /// The number of reverted commit groups.
  package let undone: Int64
  /// The reverted objects.
  package let objects: [WrittenObject]
  /// The effects that the request would have; nil unless it is a dry run.
  package let dryRun: DryRunResult?

  package init(_ json: JSONValue) throws(RPCError) {
    token = json.string(.token)
    undone = json.integer(.undone) ?? 0
    objects = try json.optionalList(.objects) ?? []
    dryRun = try json.optional(.dryRun)
  }

  package var json: JSONValue {
    .present([.token: token, .undone: undone, .objects: objects, .dryRun: dryRun])
  }
}

/// The params of `undo`: reverts the author's newest groups of commits.
package struct UndoCall: Call {
  package typealias Result = RevertResult

  package static let name = MethodName.undo

  package let params: RevertParams

  /// Creates a request.
  package init(_ params: RevertParams) { self.params = params }

  package init(_ json: JSONValue) throws(RPCError) { params = try RevertParams(json, Self.name) }

  package var json: JSONValue { params.json }
}

/// The params of `redo`: reapplies the commit groups that the author undid last.
package struct RedoCall: Call {
  package typealias Result = RevertResult

  package static let name = MethodName.redo

  package let params: RevertParams

  /// Creates a request.
  package init(_ params: RevertParams) { self.params = params }

  package init(_ json: JSONValue) throws(RPCError) { params = try RevertParams(json, Self.name) }

  package var json: JSONValue { params.json }
}
