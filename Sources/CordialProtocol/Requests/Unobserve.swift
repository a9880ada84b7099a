import JSON
package import JSONRPC

/// `unobserve`: ends a subscription.
package struct UnobserveCall: Call {
  package let subscription: String

  package static let method = Method.request(
    "unobserve",
    "Ends a subscription: after the answer nothing names it.",
    order: .alone,
    params: [.required("subscription", .string, "as observe answered it")],
    result: .object([]),
    example: ["subscription": "s1"],
    errors: [.unknownSubscription]
  )

  package init(_ params: Params) throws(RPCError) {
    subscription = params.string("subscription") ?? ""
  }
}
