import CordialProtocol
package import JSON
package import JSONRPC

/// `delete`: removes objects by ID or by predicate, cascades included.
package struct DeleteCall: Call {
  package let ids: [String]
  /// The entity of a delete by predicate, nil for a delete by IDs.
  package let entity: String?
  package let predicate: String?
  package let arguments: JSONValue?
  package let author: String?
  package let context: String?
  package let isDurable: Bool
  package let returnsIDs: Bool
  package let isDryRun: Bool
  package let transaction: String?

  package static let method = Method.request(
    .delete,
    "Deletes objects by their IDs, or the objects of an entity that match a predicate.",
    order: .write,
    traits: [.isScripted],
    params: [
      .optional(.ids, .array(.wrappedID), "the objects"),
      .optional(.entity, .string, "the entity, for a delete by predicate"),
      .optional(.predicate, .string, "the condition; TRUEPREDICATE for all objects"),
      .optional(.arguments, .arguments, "the predicate's arguments"),
      WriteFields.author, WriteFields.context, WriteFields.durability, WriteFields.dryRun,
      WriteFields.returning, WriteFields.transaction,
    ],
    result: .object([
      .required(.token, .token, "the position after the delete"),
      .required(.count, .count, "the number of named or matched objects"),
      .optional(.ids, .array(.wrappedID), "all deleted objects, cascades included"),
      WriteFields.dryRunResult,
    ]),
    example: ["ids": ["Package/p4"], "returning": "ids"],
    errors: [
      .objectNotFound, .deleteDenied, .predicateInvalid, .invalidIdentifier, .limitExceeded,
    ]
  )

  package init(_ params: Params) throws(RPCError) {
    ids = params.strings(.ids) ?? []
    entity = params.string(.entity)
    predicate = params.string(.predicate)
    arguments = params[.arguments]
    author = try WriteFields.author(of: params, in: "delete")
    context = try WriteFields.context(of: params, in: "delete")
    isDurable = params.string(.durability) != "normal"
    returnsIDs = params.string(.returning) == "ids"
    isDryRun = params.bool(.dryRun)
    transaction = try WriteFields.transaction(of: "delete", params)
    guard (params[.ids] == nil) != (entity == nil), (entity == nil) == (predicate == nil) else {
      throw RPCError(
        .invalidParams,
        "delete: name either ids, or an entity and a predicate (TRUEPREDICATE for all)"
      )
    }
  }
}
