import CordialProtocol
import JSON

/// `index/status`: reports the position and the state of the search index.
extension IndexStatusCall: DescribedCall {
  package static let method = Method.request(
    name,
    "Reports the position and the state of the search index.",
    order: .read,
    hasTimeLimit: false,
    result: .object([
      .required(.token, .token, "the position of the index"),
      .required(.behind, .count, "the number of commits after that position"),
      .required(.documents, .count, "the number of indexed objects"),
      .required(.dead, .number, "the part of all documents that are former ones, from 0 to 1"),
      .required(.bytes, .count, "the size on disk"),
      .required(
        .state,
        .choice(["ready", "catchingUp", "rebuilding", "paused", "failed"]),
        "the state"
      ),
      .optional(.reason, .choice(["requested", "diskFull"]), "why it is paused"),
      .optional(.activity, .string, "what the index does at the moment"),
      .required(.oldest, .token, "the oldest commit as of which a search is possible"),
      .required(.processorMicroseconds, .count, "the processor time that the index has used"),
      .optional(
        .synonyms,
        .object([
          .required(.lists, .count, "the number of lists that searches use"),
          .required(.read, .string, "when the service read the file"),
          .optional(.problem, .string, "why no list of the file is used"),
        ]),
        "the file synonyms.txt in the store's folder"
      ),
    ])
  )
}

/// `index/verify`: compares the index with the store.
extension IndexVerifyCall: DescribedCall {
  package static let method = Method.request(
    name,
    "Lets the index catch up, then compares it with the store.",
    order: .read,
    hasTimeLimit: false,
    traits: [.endsWithService],
    result: .object([
      .required(.token, .token, "the compared position"),
      .required(.checked, .count, "the number of compared objects"),
      .required(
        .differences,
        .array(
          .object([
            .required(.id, .wrappedID, "the object"),
            .required(.what, .string, "the kind: missing, leftover or different"),
          ])
        ),
        "the differences, at most 100"
      ),
    ])
  )
}

/// `index/rebuild`: builds a new index next to the old index.
extension IndexRebuildCall: DescribedCall {
  package static let method = Method.request(
    name,
    "Builds a new index beside the old one, which answers until the new one is complete.",
    order: .read,
    hasTimeLimit: false,
    result: .object([
      .required(.token, .token, "the position of the new index"),
      .required(.documents, .count, "the number of indexed objects"),
      .required(.bytes, .count, "the size on disk"),
    ])
  )
}

/// `index/pause`: stops the index at its position.
extension IndexPauseCall: DescribedCall {
  package static let method = Method.request(
    name,
    "Stops the index at its position, also after a restart, until index/resume.",
    order: .read,
    hasTimeLimit: false,
    result: .object([
      .required(.token, .token, "the position of the index"),
      .required(.state, .choice(["paused"]), "the state"),
    ])
  )
}

/// `index/resume`: lets a paused index follow the history again.
extension IndexResumeCall: DescribedCall {
  package static let method = Method.request(
    name,
    "Lets a paused index follow the history again.",
    order: .read,
    hasTimeLimit: false,
    result: .object([
      .required(.token, .token, "the position of the index"),
      .required(.state, .choice(["ready", "catchingUp"]), "the state"),
    ])
  )
}
