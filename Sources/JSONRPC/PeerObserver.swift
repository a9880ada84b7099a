/// What sees the messages of a connection as they are received and sent, as a recording does.
package protocol PeerObserver: AnyObject, Sendable {
  /// Sees a message of the peer without its framing; the bytes are valid during the call.
  func received(_ message: Span<UInt8>)

  /// Learns that a message of the peer was too long to be received.
  ///
  /// - Parameter bytesMax: The maximum length of a message, in bytes.
  func omitted(bytesMax: Int)

  /// Sees a message for the peer without its framing, or a part of one.
  ///
  /// - Parameters:
  ///   - pieces: The bytes.
  ///   - isEnd: Whether the message ends with them.
  func sent(_ pieces: [[UInt8]], isEnd: Bool)
}
