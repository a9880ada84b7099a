package import Engine
package import JSONRPC
import Synchronization
package import Transport

/// A responder that connects all channels of a transport to one mock.
package final class MockOwner: Responder {
  private let stage: MockStage
  private let settings: PeerSettings
  private let closed: @Sendable (Int32) -> Void
  private let connections = Mutex<[Int: MockConnection]>([:])

  /// Creates an owner whose channels all use one mock.
  ///
  /// - Parameters:
  ///   - stage: The mock.
  ///   - settings: The common settings of the peers.
  ///   - closed: Called when a channel has ended, with the exit code of its connection.
  package init(
    stage: MockStage,
    settings: PeerSettings,
    closed: @escaping @Sendable (Int32) -> Void
  ) {
    self.stage = stage
    self.settings = settings
    self.closed = closed
  }

  package func opened(_ channel: ByteChannel) {
    opened(channel, settings.makePeer())
  }

  package func opened(_ channel: ByteChannel, _ peer: Peer) {
    let connection = stage.connect(channel, peer)
    connections.withLock { $0[channel.number] = connection }
    connection.open()
  }

  package func received(_ bytes: Span<UInt8>, on channel: ByteChannel) {
    connection(of: channel)?.receive(bytes)
  }

  package func inputEnded(on channel: ByteChannel) {
    connection(of: channel)?.endInput()
  }

  package func becameWritable(_ channel: ByteChannel) {
    connection(of: channel)?.becameWritable()
  }

  package func gaveUp(on channel: ByteChannel, unacceptedBytes: Int) {
    connection(of: channel)?.gaveUp(unacceptedBytes: unacceptedBytes)
  }

  package func closed(_ channel: ByteChannel) {
    let connection = connections.withLock { $0.removeValue(forKey: channel.number) }
    if let connection {
      stage.disconnected(connection)
      connection.closed()
    }
    closed(channel.exitCode ?? 0)
  }

  private func connection(of channel: ByteChannel) -> MockConnection? {
    connections.withLock { $0[channel.number] }
  }
}
