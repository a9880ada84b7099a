package import JSONRPC
package import Transport

/// An owner of channels that answers their requests: a service or a mock.
package protocol Responder: ByteChannelOwner {
  /// Becomes the owner of a channel whose peer may have sent messages already.
  ///
  /// - Parameters:
  ///   - channel: The channel, whose later events the responder receives.
  ///   - peer: The state of the connection, with the unanswered requests.
  func opened(_ channel: ByteChannel, _ peer: Peer)
}
