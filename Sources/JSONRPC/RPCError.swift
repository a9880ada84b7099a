package import JSON

/// An error object of JSON-RPC.
package struct RPCError: Error, Sendable, Equatable {
  /// The codes that JSON-RPC and LSP define.
  package enum Code: Int, Sendable {
    case parseError = -32700
    case invalidRequest = -32600
    case methodNotFound = -32601
    case invalidParams = -32602
    case internalError = -32603
    case serverNotInitialized = -32002
    case requestCancelled = -32800
  }

  package let code: Int
  package let message: String
  /// The details for programs; nil omits the member.
  package let data: JSONValue?

  package init(code: Int, message: String, data: JSONValue? = nil) {
    self.code = code
    self.message = message
    self.data = data
  }

  package init(_ code: Code, _ message: String, data: JSONValue? = nil) {
    self.init(code: code.rawValue, message: message, data: data)
  }

  /// The protocol's code for a request or a message that exceeds a limit.
  package static let limitExceededCode = 1302

  /// Returns the error of an exceeded limit.
  ///
  /// - Parameters:
  ///   - limit: The name of the limit.
  ///   - max: The value of the limit.
  ///   - message: One sentence that describes the error.
  /// - Returns: The error.
  package static func exceeded(_ limit: String, max: Int, _ message: String) -> RPCError {
    RPCError(
      code: limitExceededCode,
      message: message,
      data: ["code": "limitExceeded", "limit": .string(limit), "max": .integer(Int64(max))]
    )
  }

  /// The error object as JSON.
  package var json: JSONValue {
    var members: [JSONMember] = [
      JSONMember("code", .integer(Int64(code))), JSONMember("message", .string(message)),
    ]
    if let data { members.append(JSONMember("data", data)) }
    return .object(members)
  }
}
