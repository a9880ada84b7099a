import CordialProtocol
import JSON

/// `delete`: removes objects by ID or by predicate, cascades included.
extension DeleteCall: DescribedCall {
  package static let method = Method.request(
    name,
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
}
