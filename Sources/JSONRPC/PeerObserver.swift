package import JSON

/// An observer of the messages that a connection receives and sends, such as a recording.
package protocol PeerObserver: AnyObject, Sendable {
  /// Observes JSON that the peer has sent, which may be an invalid message of JSON-RPC.
  func received(_ message: JSONValue)

  /// Observes bytes of the peer that are not JSON; the bytes are valid during the call.
  func received(unreadable bytes: Span<UInt8>)

  /// Records that a message of the peer was omitted.
  ///
  /// - Parameter limit: The name of the limit that the message exceeds.
  func omitted(limit: String)

  /// Observes a message to the peer, or a part of such a message, without the framing.
  ///
  /// - Parameters:
  ///   - pieces: The bytes.
  ///   - isEnd: Whether the message ends with these bytes.
  func sent(_ pieces: [[UInt8]], isEnd: Bool)
}
