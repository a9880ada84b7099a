import CordialProtocol
import JSON

/// `history/purge`: removes the oldest commits of the history.
extension PurgeCall: DescribedCall {
  package static let method = Method.request(
    name,
    "Removes the beginning of the log that no retention holder needs.",
    order: .write,
    hasTimeLimit: false,
    params: [
      .optional(.before, .string, "a token or a date; older commits are removed"),
      .optional(
        .keep,
        .object([
          .optional(.seconds, .count, "the age up to which commits are kept, in seconds"),
          .optional(.transactions, .count, "the number of newest commits to keep"),
          .optional(.bytes, .count, "the approximate number of newest bytes to keep"),
        ]),
        "the history to keep; if several are named, the least of them"
      ),
    ],
    result: .object([
      .required(.token, .token, "the oldest remaining position"),
      .required(.transactions, .count, "the number of removed commits"),
      .optional(.heldBy, .string, "the retention holder that kept more than requested"),
    ]),
    example: ["keep": ["seconds": 2_592_000]],
    errors: [.historyExpired, .storeReadOnly, .storeBusy]
  )
}

private let nameField = Field.required(.name, .string, "the follower's name, at most 200 bytes")
private let positionResult = Schema.object([
  .required(.token, .token, "the position of the follower")
])

/// `follower/register`: retains the history after the position of a follower.
extension RegisterFollowerCall: DescribedCall {
  package static let method = Method.request(
    name,
    "Retains the log for a follower, from a position until the follower acknowledges it.",
    order: .write,
    params: [
      nameField,
      .optional(.since, .token, "the position of a new or expired follower; absent means now"),
    ],
    result: positionResult,
    example: ["name": "mirror"],
    errors: [.historyExpired, .limitExceeded, .storeReadOnly]
  )
}

/// `follower/acknowledge`: records the position up to which a follower has read.
extension AcknowledgeCall: DescribedCall {
  package static let method = Method.request(
    name,
    "Records the position up to which a follower has read, which never goes back.",
    order: .write,
    params: [nameField, .required(.token, .token, "the position up to which it has read")],
    result: positionResult,
    example: ["name": "mirror", "token": "9e3779b1-4-f1bbcd88"],
    errors: [.historyExpired, .storeReadOnly]
  )
}

/// `follower/list`: lists the followers of the history.
extension ListFollowersCall: DescribedCall {
  package static let method = Method.request(
    name,
    "Lists the named followers of the log with their positions.",
    order: .read,
    result: .object([
      .required(.followers, .array(.follower), "the followers, ordered by name")
    ])
  )
}

/// `follower/remove`: removes a follower.
extension RemoveFollowerCall: DescribedCall {
  package static let method = Method.request(
    name,
    "Removes a follower, for which the log is then no longer retained.",
    order: .write,
    params: [nameField],
    result: .object([.required(.removed, .boolean, "whether the follower existed")]),
    example: ["name": "mirror"],
    errors: [.storeReadOnly]
  )
}

extension Schema {
  /// A named follower of the history.
  static let follower = Schema.object([
    .required(.name, .string, "the follower's name"),
    .required(.token, .nullable(.token), "its position; null if the log no longer reaches it"),
    .required(.behind, .count, "the number of commits that it has not acknowledged"),
    .required(.seen, .string, "the time of its last request, RFC 3339"),
    .required(.expired, .boolean, "whether nothing is retained for it after its long silence"),
  ])
}
