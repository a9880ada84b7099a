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
    "history/purge",
    "Removes the beginning of the log, as far as nobody needs it.",
    order: .write,
    params: [
      .optional("before", .string, "a token, or a date: what is older goes"),
      .optional(
        "keep",
        .object([
          .optional("seconds", .count, "the newest so many seconds"),
          .optional("transactions", .count, "the newest so many commits"),
          .optional("bytes", .count, "the newest about so many bytes"),
        ]),
        "how much stays; where several are named, the least of them"
      ),
    ],
    result: .object([
      .required("token", .token, "the oldest position that is kept"),
      .required("transactions", .count, "how many commits were removed"),
      .optional("heldBy", .string, "who or what kept more than was asked"),
    ]),
    example: ["keep": ["seconds": 2_592_000]],
    errors: [.historyExpired, .storeReadOnly, .storeBusy]
  )

  package init(_ params: Params) throws(RPCError) {
    before = params.string("before")
    let keep = params["keep"]
    seconds = keep?["seconds"]?.integer
    transactions = keep?["transactions"]?.integer
    bytes = keep?["bytes"]?.integer
    guard (before == nil) != (keep?.members?.isEmpty ?? true) else {
      throw RPCError(.invalidParams, "history/purge: name before, or what to keep")
    }
  }
}

private let nameField = Field.required("name", .string, "its name, of at most 200 bytes")
private let positionResult = Schema.object([
  .required("token", .token, "the position that it has")
])

/// Reads the name of a follower.
private func followerName(_ params: Params) throws(RPCError) -> String {
  let name = params.string("name") ?? ""
  guard (1...200).contains(name.utf8.count), !name.utf8.contains(0) else {
    throw RPCError(.invalidParams, "A follower's name has 1 to 200 bytes, none of them 0")
  }
  return name
}

/// `follower/register`: retains the log for a follower until the follower acknowledges it.
package struct RegisterFollowerCall: Call {
  package let name: String
  package let since: String?

  package static let method = Method.request(
    "follower/register",
    "Keeps the log for a name, from a position on, until it is acknowledged.",
    order: .write,
    params: [
      nameField,
      .optional("since", .token, "from where, for one that is new or expired; absent means now"),
    ],
    result: positionResult,
    example: ["name": "mirror"],
    errors: [.historyExpired, .limitExceeded, .storeReadOnly]
  )

  package init(_ params: Params) throws(RPCError) {
    name = try followerName(params)
    since = params.string("since")
  }
}

/// `follower/acknowledge`: records the position up to which a follower has read.
package struct AcknowledgeCall: Call {
  package let name: String
  package let token: String

  package static let method = Method.request(
    "follower/acknowledge",
    "Says that a follower has come to a position; it never goes back.",
    order: .write,
    params: [nameField, .required("token", .token, "up to where it has read")],
    result: positionResult,
    example: ["name": "mirror", "token": "5f1e-7-2a"],
    errors: [.historyExpired, .storeReadOnly]
  )

  package init(_ params: Params) throws(RPCError) {
    name = try followerName(params)
    token = params.string("token") ?? ""
  }
}

/// `follower/list`: lists the followers of the log.
package struct ListFollowersCall: Call {
  package static let method = Method.request(
    "follower/list",
    "Tells who follows the log by name, and how far each has come.",
    order: .read,
    result: .object([
      .required("followers", .array(.follower), "by name")
    ])
  )

  package init(_ params: Params) throws(RPCError) {}
}

/// `follower/remove`: removes a follower.
package struct RemoveFollowerCall: Call {
  package let name: String

  package static let method = Method.request(
    "follower/remove",
    "Ends a follower: the log is kept for it no more.",
    order: .write,
    params: [nameField],
    result: .object([.required("removed", .boolean, "whether there was one")]),
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
    .required("name", .string, "its name"),
    .required("token", .nullable(.token), "where it is; null when the log does not reach there"),
    .required("behind", .count, "how many commits it has not acknowledged"),
    .required("seen", .string, "when it said something last, RFC 3339"),
    .required("expired", .boolean, "whether it was silent for so long that nothing is kept for it"),
  ])
}
