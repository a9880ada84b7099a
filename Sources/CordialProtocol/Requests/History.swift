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
      .optional("since", .token, "the position, exclusive; absent means the oldest one"),
      .optional("limit", .integer(1...10_000), "the maximum number of commits; 100 when absent"),
      .optional("entities", .array(.string), "return only changes of these entities"),
      .optional("authors", .array(.nullable(.string)), "return only commits of these authors"),
    ],
    result: .object([
      .required(
        "transactions",
        .array(
          .object([
            .required("token", .token, "the position after the commit"),
            .required("time", .string, "the time of the commit, RFC 3339"),
            .required("author", .nullable(.string), "the author"),
            .required("context", .nullable(.string), "the context"),
            .required("process", .nullable(.string), "the name of the process"),
            .required(
              "changes",
              .array(
                .object([
                  .required("id", .wrappedID, "the object"),
                  .required("change", .choice(["insert", "update", "delete"]), "the change kind"),
                  .required("properties", .array(.string), "the written properties of an update"),
                  .required("before", .map(.any), "the values before the change"),
                ])
              ),
              "one change for each object"
            ),
            .optional(
              "leftOut",
              .integer(1...Int64.max),
              "the number of changes, if they are too many for a response and are left out"
            ),
          ])
        ),
        "the commits, oldest first"
      ),
      .required("token", .token, "the position to continue from"),
      .required("more", .boolean, "whether more commits follow"),
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
