import JSON
package import JSONRPC

/// `observe/flush`: answered after the server has sent every change up to now.
package struct FlushCall: Call {
  package static let method = Method.request(
    "observe/flush",
    "Is answered after every change up to now was sent, the index included.",
    order: .alone,
    result: .object([.required("token", .token, "the position up to which all was sent")])
  )

  package init(_ params: Params) throws(RPCError) {}
}
