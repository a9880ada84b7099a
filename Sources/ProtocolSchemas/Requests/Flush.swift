import CordialProtocol
import JSON
package import JSONRPC

/// `observe/flush`: answered after the server has sent every change up to now.
package struct FlushCall: Call {
  package static let method = Method.request(
    .flush,
    "Responds after all changes up to now are sent and indexed.",
    order: .alone,
    traits: [.isScripted, .hasShortResult],
    result: .object([.required(.token, .token, "the position up to which all changes were sent")])
  )

  package init(_ params: Params) throws(RPCError) {}
}
