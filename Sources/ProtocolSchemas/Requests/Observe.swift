import CordialProtocol
import JSON

/// `observe`: returns a result, then reports the changes of that result.
extension ObserveCall: DescribedCall {
  package static let method = Method.request(
    name,
    "Returns a result, then reports the changes of that result.",
    order: .alone,
    subscription: (ChangesNotification.method.name, UnobserveCall.method.name),
    traits: [.isScripted, .endsSearchOfKey],
    params: [
      .optional(.ids, .array(.wrappedID), "the objects to observe"),
      .optional(.select, .selection, "with ids: the values to return"),
      .optional(.include, .array(.string), "with ids: relationships whose objects are returned"),
      .optional(.fetch, .object(FetchFields.all), "the fetch to observe"),
      .optional(.history, .object(HistoryCall.filters), "the commits to observe, by filters"),
      .optional(.search, .object(SearchCall.observable), "the search to observe"),
      .optional(.mode, .choice(["values", "ids", "signal"]), "the content of the updates"),
      .optional(.since, .token, "the position to resume from"),
      .optional(.key, .string, "a name; a second observe with it replaces the first"),
      .optional(.before, .boolean, "whether updates have the values before the change"),
      .optional(.explain, .boolean, "whether updates say why they are sent"),
      .optional(
        .first,
        .integer(0...100_000),
        "with a fetch in mode ids: the number of objects in the first result"
      ),
    ],
    result: .object([
      .required(.subscription, .string, "the name in changes and unobserve"),
      .required(.token, .token, "the position of the result"),
      .required(.fresh, .boolean, "whether the result is complete"),
      .optional(
        .why,
        .freshReason,
        "why the service does not resume from since"
      ),
      .optional(.result, .observedResult, "the whole result; absent with mode signal"),
      .optional(
        .update,
        .named("Difference", .object(UpdateFields.members)),
        "the changes since the sent token; without members where there are none"
      ),
    ]),
    example: [
      "fetch": [
        "entity": "Package", "sort": ["name"], "select": ["name", "version"], "limit": 50,
      ],
      "mode": "values",
    ],
    errors: [
      .unknownEntity, .unknownProperty, .predicateInvalid, .invalidIdentifier,
      .limitExceeded,
    ]
  )
}
