import JSON
package import JSONRPC

/// `index/status`: reports the position and the state of the search index.
package struct IndexStatusCall: Call {
  package static let method = Method.request(
    "index/status",
    "Tells how far the search index is.",
    order: .read,
    result: .object([
      .required("token", .token, "up to where it goes"),
      .required("behind", .count, "how many commits it has before it"),
      .required("documents", .count, "how many objects it holds"),
      .required("bytes", .count, "its size on disk"),
      .required("state", .choice(["ready", "catchingUp", "failed"]), "what it does"),
    ])
  )

  package init(_ params: Params) throws(RPCError) {}
}

/// `index/verify`: compares the index with the store.
package struct IndexVerifyCall: Call {
  package static let method = Method.request(
    "index/verify",
    "Lets the index catch up, then compares it with the store.",
    order: .read,
    result: .object([
      .required("token", .token, "the position that was compared"),
      .required("checked", .count, "how many objects"),
      .required(
        "differences",
        .array(
          .object([
            .required("id", .wrappedID, "the object"),
            .required("what", .string, "missing, leftover or different"),
          ])
        ),
        "at most a hundred"
      ),
    ])
  )

  package init(_ params: Params) throws(RPCError) {}
}
