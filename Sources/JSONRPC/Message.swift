// JSONRPC: bytes to frames to messages and back; the connection's state machine. No I/O.
//
// Must not know: methods, objects, sockets, tasks, the time.
//
// What always holds:
// 1. The same bytes give the same events, however they are cut into pieces.
// 2. The limits bound memory before it is allocated: no length in a header is trusted.
// 3. A response has the ID of its request unchanged: `1` and `"1"` are different IDs.
// 4. A response has either a result or an error.

package import JSON

/// The ID that identifies a request within its connection.
package enum RequestID: Sendable {
  case integer(Int64)
  case string(String)
  case null

  /// The maximum length of a string ID, in bytes.
  ///
  /// Each request's ID is compared with the IDs of running requests, so a long ID would be slow.
  package static let bytesMax = 1024

  package init?(_ value: JSONValue) {
    switch value {
    case .integer(let number): self = .integer(number)
    case .string(let text) where text.utf8.count <= Self.bytesMax: self = .string(text)
    case .null: self = .null
    default: return nil
    }
  }

  /// The ID as it appears in a message.
  package var json: JSONValue {
    switch self {
    case .integer(let number): .integer(number)
    case .string(let text): .string(text)
    case .null: .null
    }
  }
}

extension RequestID: Hashable {
  /// Compares code points, as the peer that chose the ID does.
  package static func == (first: RequestID, second: RequestID) -> Bool {
    first.json == second.json
  }

  package func hash(into hasher: inout Hasher) {
    switch self {
    case .integer(let number): hasher.combine(number)
    case .string(let text): for byte in text.utf8 { hasher.combine(byte) }
    case .null: hasher.combine(0)
    }
  }
}

/// A message of a peer.
package enum Message: Sendable, Equatable {
  case request(id: RequestID, method: String, params: JSONValue)
  case notification(method: String, params: JSONValue)
  /// A response, which is ignored because the server sends no requests.
  case response

  /// The length above which a method's name is shortened to its beginning, in bytes.
  ///
  /// No method has such a long name. Comparing long names is slow, because Swift normalizes them.
  package static let methodBytesMax = 1024

  /// Reads a message from its JSON value.
  ///
  /// - Parameter value: One JSON text, or one element of a batch.
  /// - Throws: `RPCError` with the code `invalidRequest`.
  package init(_ value: JSONValue) throws(RPCError) {
    guard let members = value.members else {
      throw RPCError(.invalidRequest, "A request is an object, this is \(value.kind)")
    }
    guard value["jsonrpc"]?.string == "2.0" else {
      throw RPCError(.invalidRequest, "A request has \"jsonrpc\": \"2.0\"")
    }
    guard let method = value["method"] else {
      guard members.contains(where: { $0.name == "result" || $0.name == "error" }) else {
        throw RPCError(.invalidRequest, "A request has a method")
      }
      self = .response
      return
    }
    guard var name = method.string else {
      throw RPCError(.invalidRequest, "A method is a string, this is \(method.kind)")
    }
    if name.utf8.count > Self.methodBytesMax {
      name = String(String.UnicodeScalarView(name.unicodeScalars.prefix(100))) + "…"
    }
    let params = value["params"] ?? .null
    switch params {
    case .null, .object, .array: break
    default: throw RPCError(.invalidRequest, "Params are an object or an array")
    }
    guard let idValue = value["id"] else {
      self = .notification(method: name, params: params)
      return
    }
    guard let id = RequestID(idValue) else {
      guard idValue.string == nil else {
        throw RPCError(.invalidRequest, "An id has at most \(RequestID.bytesMax) bytes")
      }
      throw RPCError(.invalidRequest, "An id is a string, a 64-bit integer or null")
    }
    self = .request(id: id, method: name, params: params)
  }
}
