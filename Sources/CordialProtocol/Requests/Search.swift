import JSON
package import JSONRPC

/// `search`: finds objects by a query that a person types, best match first.
package struct SearchCall: Call {
  package let query: String
  package let entities: [String]?
  package let limit: Int
  package let offset: Int
  package let isPrefix: Bool
  package let highlights: Bool
  package let withObjects: Bool
  package let at: String?

  package static let method = Method.request(
    "search",
    "Finds objects by their text: words, \"phrases\", -not, OR, name:word, word*.",
    order: .read,
    params: [
      .required("query", .string, "what a person types; any text is valid"),
      .optional("entities", .array(.string), "only objects of these"),
      .optional("limit", .integer(0...1000), "how many hits at most; 20 when absent"),
      .optional("offset", .integer(0...100_000), "how many hits to pass over"),
      .optional("prefix", .boolean, "the last word is unfinished: search as you type"),
      .optional("highlight", .boolean, "answer where the words stand, in UTF-16 code units"),
      .optional("objects", .boolean, "answer the whole objects too"),
      .optional("at", .token, "wait until the index shows at least this commit"),
    ],
    result: .object([
      .required("token", .token, "the position that the index shows"),
      .required("storeToken", .token, "the position of titles and objects"),
      .required("total", .count, "how many match"),
      .required(
        "hits",
        .array(
          .object([
            .required("id", .wrappedID, "the object"),
            .required("score", .number, "higher is better"),
            .required("title", .nullable(.string), "its display name"),
            .optional(
              "highlights",
              .map(.array(.array(.count))),
              "by property: [start, end) pairs"
            ),
            .optional("object", .storedObject, "when asked for"),
          ])
        ),
        "best first, then by ID"
      ),
      .optional("missing", .array(.string), "words that are in no document"),
      .required("tookMicroseconds", .count, "the time in the service"),
    ]),
    example: ["query": "json library", "highlight": true, "limit": 3],
    errors: [.unknownEntity, .limitExceeded, .storeBusy, .historyExpired]
  )

  package init(_ params: Params) throws(RPCError) {
    query = params.string("query") ?? ""
    entities = params.strings("entities")
    limit = params.int("limit") ?? 20
    offset = params.int("offset") ?? 0
    isPrefix = params.bool("prefix")
    highlights = params.bool("highlight")
    withObjects = params.bool("objects")
    at = params.string("at")
  }
}
