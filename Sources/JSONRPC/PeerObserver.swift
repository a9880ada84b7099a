package import JSON

/// What sees the messages of a connection as they are received and sent, as a recording does.
package protocol PeerObserver: AnyObject, Sendable {
  /// Sees a message of the peer: JSON, though it may be no message of JSON-RPC.
  func received(_ message: JSONValue)

  /// Sees what the peer has sent that is no JSON; the bytes are valid during the call.
  func received(unreadable bytes: Span<UInt8>)

  /// Learns that a message of the peer was not received.
  ///
  /// - Parameter limit: The name of the limit that it exceeds.
  func omitted(limit: String)

  /// Sees a message for the peer without its framing, or a part of one.
  ///
  /// - Parameters:
  ///   - pieces: The bytes.
  ///   - isEnd: Whether the message ends with them.
  func sent(_ pieces: [[UInt8]], isEnd: Bool)
}
