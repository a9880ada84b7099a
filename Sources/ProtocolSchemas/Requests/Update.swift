import CordialProtocol
import JSON

/// `update`: sets values of all objects that match a predicate.
extension UpdateCall: DescribedCall {
  package static let method = Method.request(
    name,
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
}
