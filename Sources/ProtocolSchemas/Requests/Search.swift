import CordialProtocol
import JSON

/// `search`: finds objects by a query that a person types, best match first.
extension SearchCall: DescribedCall {
  /// The params of a search that are also valid for an observed search.
  package static let observable: [Field] = [
    .required(.query, .string, "the text that a person types; any text is valid"),
    .optional(.entities, .array(.string), "return only objects of these entities"),
    .optional(.limit, .integer(0...1000), "the maximum number of hits; 20 when absent"),
    .optional(.offset, .integer(0...100_000), "the number of hits to skip"),
    .optional(
      .match,
      .choice(SearchCall.Match.allCases.map(\.rawValue)),
      "the words that an object must have: all, also in other forms, else most of them "
        + "(forgiving, the default); all as typed (all); one as typed (any)"
    ),
    .optional(
      .prefix,
      .boolean,
      "whether the last word is a prefix; with forgiving true when absent, and then of all words"
    ),
    .optional(
      .fuzzy,
      .boolean,
      "find words with typing mistakes too, after the others; with forgiving true when absent"
    ),
    .optional(
      .readings,
      .boolean,
      "find Chinese by pinyin, kana by romaji and Korean by initials too, after the others; "
        + "with forgiving true when absent"
    ),
    .optional(.highlight, .boolean, "return the ranges of the words"),
    .optional(.objects, .boolean, "return the complete objects too"),
    .optional(.predicate, .string, "return only objects that match this condition"),
    .optional(
      .arguments,
      .arguments,
      "the values of %@ and %K, or of $names, in the predicate"
    ),
    .optional(.select, .selection, "return these values of each object"),
    .optional(.snippet, .boolean, "return the part of a text that shows the words"),
  ]

  static let asOfField = Field.optional(.asOf, .token, "search as of this past commit")

  /// The terms of an object, each with its share of the object's score.
  static let explanation = Schema.array(
    .object([
      .required(.term, .string, "the words as the index has them"),
      .required(.count, .count, "how many times the object has the term"),
      .required(.frequency, .count, "the number of objects with the term"),
      .required(.bound, .number, "the greatest score that the term can add"),
      .required(.share, .number, "the score that the term adds"),
    ])
  )

  /// The numbers of matches by class.
  static let totals = Schema.object([
    .optional(.exact, .count, "with all words as typed"),
    .optional(.forms, .count, "with other forms of words"),
    .optional(.mistakes, .count, "with typing mistakes"),
    .optional(.partial, .count, "with most words"),
  ])

  /// The words of a query that an object has in another form.
  static let matched = Schema.array(
    .object([
      .required(.word, .string, "the word as it was typed"),
      .required(.as, .string, "the form as the object has it"),
      .required(
        .how,
        .choice([
          "prefix", "inflection", "joined", "split", "part", "spelling", "synonym", "mistake",
          "reading",
        ]),
        "the kind of the form"
      ),
    ])
  )

  /// The numbers of index entries that a search reads and skips.
  static let postings = Schema.object([
    .required(.read, .count, "the entries that were read"),
    .required(.skipped, .count, "the entries that were passed over"),
  ])

  /// An object that a search finds.
  static let hit = Schema.named(
    "Hit",
    .object([
      .required(.id, .wrappedID, "the object"),
      .required(.score, .number, "the score; higher is better"),
      .required(.title, .nullable(.string), "the object's display name"),
      .optional(
        .highlights,
        .map(.array(.array(.count))),
        "by property: [start, end) pairs"
      ),
      .optional(
        .snippet,
        .object([
          .required(.property, .string, "the name of the property"),
          .required(.text, .string, "the part, with … where the text goes on"),
          .required(.highlights, .array(.array(.count)), "[start, end) pairs in the part"),
        ]),
        "with snippet: absent where no text has a word any more"
      ),
      .optional(.object, .storedObject, "with objects or select: the object"),
      .optional(.explanation, explanation, "with explain: the terms of the object"),
      .optional(.class, .integer(2...4), "2: other forms, 3: mistakes, 4: missing words"),
      .optional(.matched, matched, "the words that the object has in another form"),
      .optional(.missing, .array(.string), "the words that the object lacks"),
    ])
  )

  package static let method = Method.request(
    name,
    "Finds objects by their text: words, \"phrases\", -not, OR, name:word, word*.",
    order: .read,
    params: observable + [
      .optional(
        .facets,
        .object([
          .optional(.properties, .array(.string), "attributes whose values to count")
        ]),
        "count all hits by entity and by the values of properties"
      ),
      .optional(.at, .token, "wait until the index has reached this commit"),
      asOfField,
      .optional(.explain, .boolean, "return how the score of each hit was made"),
    ],
    result: .object([
      .required(.token, .token, "the position of the index"),
      .required(.storeToken, .token, "the position of titles and objects"),
      .required(.total, .count, "the number of matching objects"),
      .optional(.totalIsAtLeast, .boolean, "whether there may be more"),
      .optional(
        .totals,
        totals,
        "with forgiving: the numbers of the classes that were read"
      ),
      .optional(.notIndexed, .array(.string), "the entities of the search that are not indexed"),
      .required(
        .hits,
        .array(hit),
        "the hits, best first, then by ID"
      ),
      .optional(
        .facets,
        .map(
          .either([
            .map(.count),
            .array(
              .object([
                .required(.value, .any, "a value of the property"),
                .required(.count, .count, "the number of hits with it"),
              ])
            ),
          ])
        ),
        "numbers of hits: by entity, and by value for each property of each entity"
      ),
      .optional(.omit, .map(.count), "without hits: how many there are without a word"),
      .optional(.postings, postings, "with explain: the entries of the index that were read"),
      .optional(.missing, .array(.string), "the words that are in no document"),
      .optional(
        .instead,
        .map(.array(.string)),
        "without hits: for missing words, the nearest words of the index"
      ),
      .required(.tookMicroseconds, .count, "the time in the service, in microseconds"),
    ]),
    example: ["query": "json library", "highlight": true, "limit": 3],
    errors: [
      .unknownEntity, .unknownProperty, .predicateInvalid, .limitExceeded, .storeBusy,
      .historyExpired,
    ]
  )
}
