import CordialProtocol
import JSON

/// `fetch`: reads objects by ID, or the objects of an entity that match a predicate.
extension FetchCall: DescribedCall {
  package static let method = Method.request(
    name,
    "Reads objects by their IDs, or the objects of an entity that match a predicate.",
    order: .read,
    traits: [.isScripted, .overtakesIfSmall],
    params: FetchFields.all,
    result: .object([
      .required(.token, .token, "the position of the result"),
      .optional(.objects, .array(.nullable(.storedObject)), "null for an ID without an object"),
      .optional(.ids, .array(.wrappedID), "with result ids: the IDs"),
      .optional(.count, .count, "with result count: the number"),
      .optional(.rows, .array(.map(.any)), "with result values: the rows"),
      .optional(.next, .string, "with limit: the cursor for the next page, absent at the end"),
      .optional(.sections, .array(.section), "with sectionBy: the sections of the whole result"),
      .optional(.included, .map(.storedObject), "with include: objects by ID, each once"),
      .optional(.total, .count, "with total: the number without limit and offset"),
      .optional(.missing, .missing, "why each object is null, by ID"),
    ]),
    example: [
      "entity": "Package", "predicate": "section.name == $s", "arguments": ["s": "web"],
      "sort": ["name"], "limit": 3,
    ],
    errors: [
      .unknownEntity, .unknownProperty, .predicateInvalid, .invalidIdentifier,
      .historyExpired, .limitExceeded,
    ]
  )
}
