package import JSON

/// The rules of a protocol for its connections: framing, handshake, order, batches, cancellation
/// and the end.
///
/// To add a protocol, add a file with its `Dialect`, and code that selects this value. `Dialect` is
/// a class, so that a copy for each message costs only one reference.
package final class Dialect: Sendable {
  package let framing: Framing
  /// Whether `initialize` comes first: until it succeeds, other requests are refused, and
  /// notifications are dropped.
  package let needsHandshake: Bool
  /// Whether responses keep the order of the requests until `initialize` succeeds.
  package let keepsOrder: Bool
  /// Whether a peer may send several messages as one array.
  package let allowsBatches: Bool
  /// The request after which only `exit` may follow; nil for none.
  package let shutdown: String?
  /// The notification that ends the connection; nil for none.
  package let exit: String?
  /// Whether a peer that ends the connection without `shutdown` has failed.
  package let needsShutdown: Bool
  /// The notification that cancels a request, and the member of its params that has the ID.
  package let cancellation: Cancellation
  /// The fixed results of requests that only the protocol defines, by method.
  ///
  /// The connection answers these requests even before the handshake.
  package let results: [String: JSONValue]

  /// The form of the notification that cancels a request.
  package struct Cancellation: Sendable {
    package let method: String
    package let member: String

    package init(method: String, member: String) {
      self.method = method
      self.member = member
    }
  }

  package init(
    framing: Framing,
    needsHandshake: Bool,
    keepsOrder: Bool,
    allowsBatches: Bool,
    shutdown: String? = "shutdown",
    exit: String? = "exit",
    needsShutdown: Bool,
    cancellation: Cancellation = Cancellation(method: "$/cancelRequest", member: "id"),
    results: [String: JSONValue] = [:]
  ) {
    self.framing = framing
    self.needsHandshake = needsHandshake
    self.keepsOrder = keepsOrder
    self.allowsBatches = allowsBatches
    self.shutdown = shutdown
    self.exit = exit
    self.needsShutdown = needsShutdown
    self.cancellation = cancellation
    self.results = results
  }

  /// Returns the ID of the request that a notification cancels; nil for any other notification.
  package func cancelled(_ method: String, _ params: JSONValue) -> RequestID? {
    guard method == cancellation.method else { return nil }
    return params[cancellation.member].flatMap(RequestID.init)
  }
}

extension Dialect {
  /// The dialects from which a connection chooses by the framing of its first bytes.
  package static let all = [lines, languageServer]
}
