import CordialProtocol
import JSON

/// `search/explain`: explains why a search finds an object, or does not find it.
extension SearchExplainCall: DescribedCall {
  package static let method = Method.request(
    name,
    "Tells why a search finds an object, and at which place, or why it does not.",
    order: .read,
    params: SearchCall.observable.filter { deciding.map(\.rawValue).contains($0.name) } + [
      SearchCall.asOfField, .required(.id, .wrappedID, "the object"),
    ],
    result: .object([
      .required(.token, .token, "the position of the index"),
      .required(.found, .boolean, "whether the search finds the object"),
      .optional(.rank, .count, "the place among all hits, from 1"),
      .optional(.class, .integer(2...4), "2: other forms, 3: mistakes, 4: missing words"),
      .optional(.matched, SearchCall.matched, "the words that the object has in another form"),
      .optional(.missing, .array(.string), "the words that the object lacks"),
      .optional(.score, .number, "the score"),
      .optional(.explanation, SearchCall.explanation, "the terms of the object"),
      .optional(
        .reason,
        .choice(["unknown", "notIndexed", "missingWord", "excludedWord", "filtered"]),
        "why the object is not found"
      ),
      .optional(
        .rule,
        .choice(["entity", "exclude", "delegate", "empty"]),
        "why the object is not indexed"
      ),
      .optional(.word, .string, "the word that the object lacks, or has though it is excluded"),
      .optional(.nearest, .array(.string), "the nearest words that the object has"),
      .optional(.filter, .choice(["entities", "predicate"]), "what excludes the object"),
      .required(.postings, SearchCall.postings, "the entries of the index that were read"),
    ]),
    example: ["query": "json library", "id": "Package/p1"],
    errors: [
      .unknownEntity, .unknownProperty, .predicateInvalid, .invalidIdentifier, .limitExceeded,
      .storeBusy, .historyExpired,
    ]
  )
}
