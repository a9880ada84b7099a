import CordialProtocol
package import JSON
package import JSONRPC

/// `update`: sets values of all objects that match a predicate.
package struct UpdateCall: Call {
  package let entity: String
  package let predicate: String
  package let arguments: JSONValue?
  /// The new values by property.
  package let values: [JSONMember]
  package let author: String?
  package let context: String?
  package let isDurable: Bool
  package let returnsIDs: Bool
  package let isDryRun: Bool
  package let transaction: String?

  package static let method = Method.request(
    .update,
    "Sets properties of all objects of an entity that match a predicate.",
    order: .write,
    traits: [.isScripted],
    params: [
      .required(.entity, .string, "the entity"),
      .required(.predicate, .string, "the condition; TRUEPREDICATE for all objects"),
      .optional(.arguments, .arguments, "the predicate's arguments"),
      .required(
        .set,
        .map(.any),
        "values by property; {\"@expression\": \"count + 1\"} is computed for each object"
      ),
      WriteFields.author, WriteFields.context, WriteFields.durability, WriteFields.returning,
      WriteFields.dryRun, WriteFields.transaction,
    ],
    result: .object([
      .required(.token, .token, "the position after the update"),
      .required(.count, .count, "the number of matched objects"),
      .optional(.ids, .array(.wrappedID), "the matched objects"),
      WriteFields.dryRunResult,
    ]),
    example: [
      "entity": "Package", "predicate": "section.name == \"web\"",
      "set": ["summary": "On the web", "installedSize": ["@expression": "installedSize + 1"]],
      "dryRun": true,
    ],
    errors: [
      .unknownEntity, .unknownProperty, .predicateInvalid, .validationFailed, .objectNotFound,
      .uniquenessViolation, .limitExceeded, .storeFull, .storeReadOnly, .storeBusy,
    ]
  )

  package init(_ params: Params) throws(RPCError) {
    entity = try params.text(.entity)
    predicate = try params.text(.predicate)
    arguments = params[.arguments]
    values = params[.set]?.members ?? []
    author = try WriteFields.author(of: params, in: "update")
    context = try WriteFields.context(of: params, in: "update")
    isDurable = params.string(.durability) != "normal"
    returnsIDs = params.string(.returning) == "ids"
    isDryRun = params.bool(.dryRun)
    transaction = try WriteFields.transaction(of: "update", params)
    guard !values.isEmpty else {
      throw RPCError(.invalidParams, "update: set names no property")
    }
  }
}
