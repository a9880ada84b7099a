import CordialProtocol
import JSON

/// `suggest`: completes the last word of a query.
extension SuggestCall: DescribedCall {
  package static let method = Method.request(
    name,
    "Completes the last word of a query by the most frequent words of the index.",
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
            .required(.text, .string, "the query with its last word completed"),
            .required(.documents, .count, "the number of objects that this query finds"),
          ])
        ),
        "the suggestions, most frequent first, then by text"
      ),
    ]),
    example: ["query": "web se"],
    errors: [.unknownEntity, .limitExceeded, .storeBusy]
  )
}
