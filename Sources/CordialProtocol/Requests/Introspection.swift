import JSON
package import JSONRPC

/// `model`: returns the store's model in the form of its file.
package struct ModelCall: Call {
  package static let method = Method.request(
    "model",
    "Answers the store's model.",
    order: .any,
    result: .map(.any)
  )

  package init(_ params: Params) throws(RPCError) {}
}

/// `status`: reports the state of the service.
package struct StatusCall: Call {
  package static let method = Method.request(
    "status",
    "Tells what the service is doing.",
    order: .read,
    result: .object([
      .required("token", .token, "the newest commit"),
      .optional("mismatch", .string, "why the store does not have the model that was asked for"),
      .required("store", .map(.any), "its folder, identifier and sizes"),
      .required("connections", .count, "how many there are"),
      .required("subscriptions", .count, "how many there are, of all connections"),
      .required(
        "followers",
        .array(
          .object([
            .required("name", .string, "who"), .required("token", .token, "up to where"),
            .required("behind", .count, "how many commits it has before it"),
          ])
        ),
        "who follows the log"
      ),
    ])
  )

  package init(_ params: Params) throws(RPCError) {}
}

/// `rpc.discover`: returns this protocol as an OpenRPC document.
package struct DiscoverCall: Call {
  package static let method = Method.request(
    "rpc.discover",
    "Answers this protocol as an OpenRPC document.",
    order: .any,
    result: .map(.any)
  )

  package init(_ params: Params) throws(RPCError) {}
}
