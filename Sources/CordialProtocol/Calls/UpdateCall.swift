package import JSON
package import JSONRPC

/// The params of `update`: sets values of all objects that match a predicate.
package struct UpdateCall: Call {
  package typealias Result = CountResult

  package static let name = MethodName.update

  package var entity: String
  package var predicate: String
  package var arguments: JSONValue?
  /// The new values by property; `{"@expression": "count + 1"}` is computed for each object.
  package var values: [JSONMember]
  package var author: String?
  package var context: String?
  package var isDurable = true
  /// Whether the result has the IDs of the matched objects.
  package var returnsIDs = false
  package var isDryRun = false
  package var transaction: String?

  /// Creates an update of the objects of an entity that match a predicate.
  package init(entity: String, predicate: String, values: [JSONMember]) {
    self.entity = entity
    self.predicate = predicate
    self.values = values
  }

  package init(_ json: JSONValue) throws(RPCError) {
    entity = try json.text(.entity)
    predicate = try json.text(.predicate)
    arguments = json[.arguments]
    values = json.members(.set) ?? []
    author = try WriteRules.author(json.string(.author), "update")
    context = try WriteRules.context(json.string(.context), "update")
    isDurable = json.string(.durability) != WriteRules.normal
    returnsIDs = json.string(.returning) == "ids"
    isDryRun = json.bool(.dryRun)
    transaction = try WriteRules.transaction(json.string(.transaction), "update")
    guard !values.isEmpty else {
      throw RPCError(.invalidParams, "update: set names no property")
    }
  }

  package var json: JSONValue {
    .present([
      .entity: entity, .predicate: predicate, .arguments: arguments, .set: MemberList(values),
      .author: author, .context: context, .durability: isDurable ? nil : WriteRules.normal,
      .returning: returnsIDs ? "ids" : nil, .dryRun: isDryRun.ifTrue, .transaction: transaction,
    ])
  }
}
