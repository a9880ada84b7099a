import CordialProtocol
import JSON
package import JSONRPC

/// `unobserve`: ends a subscription.
package struct UnobserveCall: Call {
  package let subscription: String

  package static let method = Method.request(
    .unobserve,
    "Ends a subscription; no message after the response names it.",
    order: .alone,
    traits: [.isScripted, .hasShortResult],
    params: [.required(.subscription, .string, "the name that observe returned")],
    result: .object([]),
    example: ["subscription": "s1"],
    errors: [.unknownSubscription]
  )

  package init(_ params: Params) throws(RPCError) {
    subscription = try params.text(.subscription)
  }
}
