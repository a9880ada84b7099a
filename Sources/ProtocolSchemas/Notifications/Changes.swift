import CordialProtocol
import JSON

/// The members of a subscription's update.
enum UpdateFields {
  private static let offset = Field.required(.offset, .count, "the position in the rows")
  private static let id = Field.required(.id, .wrappedID, "the object")
  private static let properties = "the returned values that may differ"
  private static let before = Field.optional(.before, .map(.any), "with before: their values")
  private static let last = Field.optional(.last, .map(.any), "the values that a deletion keeps")
  private static let object = "the object; of a search, the hit"

  /// An object of the result, or a hit of a search.
  private static let row = Schema.nullable(.either([.storedObject, SearchCall.hit]))

  private static let change = Schema.named(
    "ObjectUpdate",
    .object([
      .required(.id, .wrappedID, "the ID that the request names"),
      .required(.change, .choice(["insert", "update", "delete"]), "the change kind"),
      .optional(.properties, .array(.string), properties),
      before, .optional(.object, .nullable(.storedObject), "the object"), last,
    ])
  )

  private static let removal = Schema.named(
    "RowRemoval",
    .object([
      offset, id, .optional(.movedTo, .count, "the new position of a moved object"),
      .optional(.deleted, .boolean, "whether the object does not exist any more"), last,
    ])
  )

  private static let insertion = Schema.named(
    "RowInsertion",
    .object([
      offset, id, .optional(.movedFrom, .count, "the former position of a moved object"),
      .optional(.object, row, object),
    ])
  )

  private static let replacement = Schema.named(
    "RowUpdate",
    .object([
      offset, id, .required(.properties, .array(.string), properties), before,
      .required(.object, row, object),
    ])
  )

  /// A change that caused an update, and the effect of the change.
  static let explanation = Schema.named(
    "Explanation",
    .object([
      .required(.id, .wrappedID, "the object that changed"),
      .required(.path, .string, "its property, or the key path that ends with it"),
      .optional(.term, .string, "the term of the predicate that has another value"),
      .optional(.was, .boolean, "the former value of the term"),
      .optional(.is, .boolean, "the value of the term"),
      .optional(.decidedBy, .choice(["memory", "sql"]), "what has evaluated the term"),
      .optional(
        .reads,
        .choice(["predicate", "sort", "section", "select", "include"]),
        "the part of the fetch that reads the property, where no term has another value"
      ),
    ])
  )

  /// The members of a difference between two results.
  static let members: [Field] = [
    .optional(.objects, .array(change), "of ids: the objects that differ"),
    .optional(.remove, .array(removal), "of a fetch: the removed rows, by descending offset"),
    .optional(.insert, .array(insertion), "of a fetch: the new rows, by ascending offset"),
    .optional(.update, .array(replacement), "of a fetch: the rows that differ"),
    .optional(.count, .count, "of a fetch: the new number of objects"),
    .optional(.rows, .array(.map(.any)), "with result values: all rows"),
    .optional(.total, .count, "the new number without limit and offset"),
    .optional(.totalIsAtLeast, .boolean, "of a search: whether there may be more"),
    .optional(.totals, SearchCall.totals, "of a forgiving search: the numbers by class"),
    .optional(.sections, .array(.section), "the new sections"),
    .optional(.included, .map(.storedObject), "the included objects that differ, by ID"),
    .optional(.excluded, .array(.wrappedID), "the objects that are no longer included"),
    .optional(.transactions, .array(HistoryCall.transaction), "of history: the commits"),
    .optional(.index, .token, "of a search: the position of the index"),
    .optional(.signal, .boolean, "with mode signal: true"),
    .optional(.explanation, .array(explanation), "with explain: why the update is sent"),
  ]

  /// The members of an update that replaces the client's whole result.
  static let fresh: [Field] = [
    .optional(.fresh, .boolean, "true: the client starts over from result"),
    .optional(.why, .freshReason, "with fresh: why"),
    .optional(.result, .observedResult, "with fresh: the whole result"),
  ]
}

extension Schema {
  /// The reason why a client must replace its whole result.
  static let freshReason = Schema.named(
    "FreshReason",
    .choice(["log", "model", "collation", "ahead", "larger", "index", "synonyms"])
  )

  /// The whole result of an observed request.
  static let observedResult = Schema.named(
    "ObservedResult",
    .object([
      .optional(.objects, .array(.nullable(.storedObject)), "null for an ID without an object"),
      .optional(.ids, .array(.wrappedID), "with mode ids: the IDs"),
      .optional(.missing, .either([missing, .array(.string)]), "of ids: why objects are null"),
      .optional(.count, .count, "the number of objects, rows or hits"),
      .optional(.rows, .array(.map(.any)), "with result values: the rows"),
      .optional(.sections, .array(.section), "with sectionBy: the sections"),
      .optional(.included, .map(.storedObject), "with include: objects by ID, each once"),
      .optional(.total, .count, "with total, and of a search: the number of all objects"),
      .optional(.transactions, .array(HistoryCall.transaction), "of history: none"),
      .optional(.token, .token, "of a search: the position of the index"),
      .optional(.storeToken, .token, "of a search: the position of titles and objects"),
      .optional(.totalIsAtLeast, .boolean, "of a search: whether there may be more"),
      .optional(.totals, SearchCall.totals, "of a forgiving search: the numbers by class"),
      .optional(.notIndexed, .array(.string), "of a search: the entities that are not indexed"),
      .optional(.hits, .array(SearchCall.hit), "of a search: the hits, best first"),
      .optional(.omit, .map(.count), "of a search without hits: how many are without a word"),
      .optional(.instead, .map(.array(.string)), "of a search without hits: the nearest words"),
    ])
  )
}

extension ChangesNotification: DescribedMessage {
  private static let update = Schema.named(
    "SubscriptionUpdate",
    .object(
      [.required(.subscription, .string, "the name of the subscription")] + UpdateFields.members
        + UpdateFields.fresh + [.optional(.error, .error, "the error that ended the subscription")]
    )
  )

  package static let method = Method.notification(
    name,
    "Reports the changes of the connection's subscriptions between two positions.",
    direction: .serverToClient,
    params: [
      .required(.from, .token, "the position before the changes"),
      .optional(.token, .token, "the position after the changes; absent where more follows"),
      .optional(
        .authors,
        .array(.nullable(.string)),
        "the authors of the commits in between; absent where more follows"
      ),
      .optional(.more, .boolean, "whether another part of the same changes follows"),
      .required(.updates, .array(update), "the updates, ordered by subscription"),
    ],
    example: [
      "from": "9e3779b1-3-538453d7", "token": "9e3779b1-4-f1bbcd88", "authors": ["script"],
      "updates": [
        [
          "subscription": "s1", "remove": [], "insert": [],
          "update": [
            [
              "offset": 2, "id": "Package/p3", "properties": ["version"],
              "object": [
                "id": "Package/p3", "version": 2, "values": ["name": "nginx", "version": "1.24"],
              ],
            ]
          ],
          "count": 3,
        ]
      ],
    ]
  )
}
