import CordialProtocol
import JSON
package import JSONRPC

/// `history/purge`: removes the beginning of the log.
package struct PurgeCall: Call {
  /// A token or a date; nil when `keep` states what is retained.
  package let before: String?
  package let seconds: Int64?
  package let transactions: Int64?
  package let bytes: Int64?

  package static let method = Method.request(
    .purgeHistory,
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

  package init(_ params: Params) throws(RPCError) {
    before = params.string(.before)
    let keep = params[.keep]
    seconds = keep?[.seconds]?.integer
    transactions = keep?[.transactions]?.integer
    bytes = keep?[.bytes]?.integer
    guard (before == nil) != (keep?.members?.isEmpty ?? true) else {
      throw RPCError(.invalidParams, "history/purge: name either before or keep")
    }
  }
}

private let nameField = Field.required(.name, .string, "the follower's name, at most 200 bytes")
private let positionResult = Schema.object([
  .required(.token, .token, "the position of the follower")
])

/// Reads the name of a follower.
private func followerName(_ params: Params) throws(RPCError) -> String {
  let name = try params.text(.name)
  guard (1...200).contains(name.utf8.count), !name.utf8.contains(0) else {
    throw RPCError(.invalidParams, "A follower's name has 1 to 200 bytes, none of them 0")
  }
  guard name != "spotlight" else {
    throw RPCError(.invalidParams, "The name spotlight belongs to the search index: choose another")
  }
  return name
}

/// `follower/register`: retains the log for a follower until the follower acknowledges it.
package struct RegisterFollowerCall: Call {
  package let name: String
  package let since: String?

  package static let method = Method.request(
    .registerFollower,
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

  package init(_ params: Params) throws(RPCError) {
    name = try followerName(params)
    since = params.string(.since)
  }
}

/// `follower/acknowledge`: records the position up to which a follower has read.
package struct AcknowledgeCall: Call {
  package let name: String
  package let token: String

  package static let method = Method.request(
    .acknowledge,
    "Records the position up to which a follower has read, which never goes back.",
    order: .write,
    params: [nameField, .required(.token, .token, "the position up to which it has read")],
    result: positionResult,
    example: ["name": "mirror", "token": "9e3779b1-4-f1bbcd88"],
    errors: [.historyExpired, .storeReadOnly]
  )

  package init(_ params: Params) throws(RPCError) {
    name = try followerName(params)
    token = try params.text(.token)
  }
}

/// `follower/list`: lists the followers of the log.
package struct ListFollowersCall: Call {
  package static let method = Method.request(
    .listFollowers,
    "Lists the named followers of the log with their positions.",
    order: .read,
    result: .object([
      .required(.followers, .array(.follower), "the followers, ordered by name")
    ])
  )

  package init(_ params: Params) throws(RPCError) {}
}

/// `follower/remove`: removes a follower.
package struct RemoveFollowerCall: Call {
  package let name: String

  package static let method = Method.request(
    .removeFollower,
    "Removes a follower, for which the log is then no longer retained.",
    order: .write,
    params: [nameField],
    result: .object([.required(.removed, .boolean, "whether the follower existed")]),
    example: ["name": "mirror"],
    errors: [.storeReadOnly]
  )

  package init(_ params: Params) throws(RPCError) {
    name = try followerName(params)
  }
}

extension Schema {
  /// A named follower of the log.
  static let follower = Schema.object([
    .required(.name, .string, "the follower's name"),
    .required(.token, .nullable(.token), "its position; null if the log no longer reaches it"),
    .required(.behind, .count, "the number of commits that it has not acknowledged"),
    .required(.seen, .string, "the time of its last request, RFC 3339"),
    .required(.expired, .boolean, "whether nothing is retained for it after its long silence"),
  ])
}
