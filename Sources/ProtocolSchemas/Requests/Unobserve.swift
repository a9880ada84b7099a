import CordialProtocol
import JSON

/// `unobserve`: ends a subscription.
extension UnobserveCall: DescribedCall {
  package static let method = Method.request(
    name,
    "Ends a subscription; no message after the response names it.",
    order: .alone,
    traits: [.isScripted, .hasShortResult],
    params: [.required(.subscription, .string, "the name that observe returned")],
    result: .object([]),
    example: ["subscription": "s1"],
    errors: [.unknownSubscription]
  )
}
