import CordialProtocol
import JSON

/// `suggest`: proposes queries for the text that a person types.
extension SuggestCall: DescribedCall {
  package static let method = Method.request(
    name,
    "Proposes queries: the last word completed, names of objects, and corrections.",
    order: .read,
    params: [
      .required(.query, .string, "the text that a person types; any text is valid"),
      .optional(.entities, .array(.string), "count only objects of these entities"),
      .optional(.limit, .integer(0...100), "the maximum number of suggestions; 10 when absent"),
    ],
    result: .object([
      .required(.token, .token, "the position of the index"),
      .required(
        .suggestions,
        .array(
          .object([
            .required(.text, .string, "the query"),
            .required(
              .kind,
              .choice(["word", "query", "correction"]),
              "the last word completed, the display name of an object, or words replaced"
            ),
            .required(.documents, .count, "the number of objects that this query finds"),
          ])
        ),
        "the suggestions: a correction, then words, most frequent first, then queries"
      ),
    ]),
    example: ["query": "web se"],
    errors: [.unknownEntity, .limitExceeded, .storeBusy]
  )
}
