package import JSONRPC
import Synchronization
package import Transport

/// The owner that connects every channel of a transport with a mock.
package final class MockOwner: ByteChannelOwner {
  private let stage: MockStage
  private let framing: Framing?
  private let closed: @Sendable (Int32) -> Void
  private let connections = Mutex<[Int: MockConnection]>([:])

  /// Creates an owner whose channels all use one mock.
  ///
  /// - Parameters:
  ///   - stage: The mock.
  ///   - framing: The framing, nil to let each peer's first bytes choose it.
  ///   - closed: Called when a channel has ended, with the exit code of its connection.
  package init(
    stage: MockStage,
    framing: Framing?,
    closed: @escaping @Sendable (Int32) -> Void
  ) {
    self.stage = stage
    self.framing = framing
    self.closed = closed
  }

  package func opened(_ channel: ByteChannel) {
    let connection = stage.connect(channel, framing: framing)
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
