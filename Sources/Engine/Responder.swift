package import JSONRPC
package import Transport

/// What answers the requests on channels: a service, or a mock.
package protocol Responder: ByteChannelOwner {
  /// Goes on with a channel whose peer may have sent something already.
  ///
  /// - Parameters:
  ///   - channel: The channel, whose further events follow.
  ///   - peer: The state of its connection, with the requests that have no response.
  func opened(_ channel: ByteChannel, _ peer: Peer)
}
