import CordialProtocol
import JSON

/// `history`: reads the commits after a position, oldest first.
extension HistoryCall: DescribedCall {
  /// The params that select commits and changes.
  package static let filters: [Field] = [
    .optional(
      .entities,
      .array(.string),
      "return only changes of these entities, which only the log may still have"
    ),
    .optional(
      .authors,
      .array(
        .either([
          .nullable(.string),
          .object([.required(.prefix, .string, "the beginning of the author's name")]),
        ])
      ),
      "return only commits of these authors"
    ),
  ]

  /// A commit of the history.
  static let transaction = Schema.named(
    "Transaction",
    .object([
      .required(.token, .token, "the position after the commit"),
      .required(.time, .string, "the time of the commit, RFC 3339"),
      .required(.author, .nullable(.string), "the author"),
      .required(.context, .nullable(.string), "the context"),
      .required(.process, .nullable(.string), "the name of the process"),
      .required(
        .changes,
        .array(
          .object([
            .required(.id, .wrappedID, "the object"),
            .required(.change, .choice(["insert", "update", "delete"]), "the change kind"),
            .required(.properties, .array(.string), "the written properties of an update"),
            .required(.before, .map(.any), "the values before the change"),
          ])
        ),
        "one change for each object"
      ),
      .optional(
        .leftOut,
        .integer(1...Int64.max),
        "the number of changes, if they are too many for a response and are left out"
      ),
    ])
  )

  package static let method = Method.request(
    name,
    "Reads the log: commits after a position, oldest first, with their changes.",
    order: .read,
    params: [
      .optional(
        .since,
        .string,
        "a token, exclusive, or a date, at or after which commits are; absent means the oldest"
      ),
      .optional(.limit, .integer(1...10_000), "the maximum number of commits; 100 when absent"),
    ] + filters,
    result: .object([
      .required(
        .transactions,
        .array(transaction),
        "the commits, oldest first"
      ),
      .required(.token, .token, "the position to continue from"),
      .required(.more, .boolean, "whether more commits follow"),
    ]),
    example: ["limit": 2],
    errors: [.historyExpired, .unknownEntity]
  )
}
