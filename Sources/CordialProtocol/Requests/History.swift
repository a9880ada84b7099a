import JSON
package import JSONRPC

/// `history`: reads the commits after a position, oldest first.
package struct HistoryCall: Call {
  package let since: String?
  package let limit: Int
  package let entities: [String]?
  package let authors: [String?]?

  package static let method = Method.request(
    "history",
    "Reads the log: commits after a position, oldest first, with their changes.",
    order: .read,
    params: [
      .optional("since", .token, "exclusive; absent means from the oldest kept"),
      .optional("limit", .integer(1...10_000), "how many commits at most; 100 when absent"),
      .optional("entities", .array(.string), "only changes of these"),
      .optional("authors", .array(.nullable(.string)), "only commits of these"),
    ],
    result: .object([
      .required(
        "transactions",
        .array(
          .object([
            .required("token", .token, "the position after it"),
            .required("time", .string, "when, RFC 3339"),
            .required("author", .nullable(.string), "who"),
            .required("context", .nullable(.string), "what for"),
            .required("process", .nullable(.string), "through which process"),
            .required(
              "changes",
              .array(
                .object([
                  .required("id", .wrappedID, "the object"),
                  .required("change", .choice(["insert", "update", "delete"]), "what happened"),
                  .required("properties", .array(.string), "which were written"),
                  .required("before", .map(.any), "their values before"),
                ])
              ),
              "one for each object"
            ),
            .optional(
              "leftOut",
              .integer(1...Int64.max),
              "how many changes it has, where those are too many for an answer and none is told"
            ),
          ])
        ),
        "oldest first"
      ),
      .required("token", .token, "where to go on"),
      .required("more", .boolean, "whether commits follow"),
    ]),
    example: ["limit": 2],
    errors: [.historyExpired, .unknownEntity]
  )

  package init(_ params: Params) throws(RPCError) {
    since = params.string("since")
    limit = params.int("limit") ?? 100
    entities = params.strings("entities")
    authors = params["authors"]?.array?.map(\.string)
  }
}
