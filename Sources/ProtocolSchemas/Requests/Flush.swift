import CordialProtocol
import JSON

/// `observe/flush`: waits until the service has sent all changes up to now.
extension FlushCall: DescribedCall {
  package static let method = Method.request(
    name,
    "Responds after all changes up to now are sent and indexed.",
    order: .alone,
    traits: [.isScripted, .hasShortResult],
    result: .object([.required(.token, .token, "the position up to which all changes were sent")])
  )
}
