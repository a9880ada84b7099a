package import CordialService
package import JSONRPC
import Synchronization
package import Transport

/// A responder that connects all channels of a transport to one service.
package final class ServingOwner: Responder {
  private let service: Service
  private let settings: PeerSettings
  /// The bytes that the first channel's peer sent before the channel existed.
  private let initialInput: Mutex<[UInt8]>
  private let closed: @Sendable (Int32) -> Void
  private let sessions = Mutex<[Int: Int]>([:])

  /// Creates an owner whose channels all use one service.
  ///
  /// - Parameters:
  ///   - service: The service.
  ///   - settings: The common settings of the peers.
  ///   - initialInput: The bytes that the first channel's peer sent before the channel existed.
  ///   - closed: Called when a channel has ended, with the exit code of its connection.
  package init(
    service: Service,
    settings: PeerSettings,
    initialInput: [UInt8] = [],
    closed: @escaping @Sendable (Int32) -> Void
  ) {
    self.service = service
    self.settings = settings
    self.initialInput = Mutex(initialInput)
    self.closed = closed
  }

  package func opened(_ channel: ByteChannel) {
    let peer = settings.makePeer()
    let bytes = initialInput.withLock { initialInput in
      defer { initialInput = [] }
      return initialInput
    }
    peer.receive(bytes.span)
    opened(channel, peer)
  }

  package func opened(_ channel: ByteChannel, _ peer: Peer) {
    let sink = ChannelSink(channel)
    let number = service.assumeIsolated { $0.connect(sink, peer) }
    sessions.withLock { $0[channel.number] = number }
    guard let number else { return }
    service.assumeIsolated { $0.proceed(session: number) }
  }

  package func received(_ bytes: Span<UInt8>, on channel: ByteChannel) {
    guard let number = session(of: channel) else { return }
    service.assumeIsolated { $0.receive(bytes, session: number) }
  }

  package func inputEnded(on channel: ByteChannel) {
    guard let number = session(of: channel) else { return }
    service.assumeIsolated { $0.endInput(session: number) }
  }

  package func becameWritable(_ channel: ByteChannel) {
    guard let number = session(of: channel) else { return }
    service.assumeIsolated { $0.becameWritable(session: number) }
  }

  package func gaveUp(on channel: ByteChannel, unacceptedBytes: Int) {
    guard let number = session(of: channel) else { return }
    service.assumeIsolated { $0.gaveUp(session: number, unacceptedBytes: unacceptedBytes) }
  }

  package func closed(_ channel: ByteChannel) {
    if let number = sessions.withLock({ $0.removeValue(forKey: channel.number) }) {
      service.assumeIsolated { $0.disconnected(session: number) }
    }
    closed(channel.exitCode ?? 0)
  }

  private func session(of channel: ByteChannel) -> Int? {
    sessions.withLock { $0[channel.number] }
  }
}

/// An adapter that presents a channel as the sink of a service.
private final class ChannelSink: ByteSink {
  private let channel: ByteChannel

  init(_ channel: ByteChannel) {
    self.channel = channel
  }

  var isWritable: Bool { channel.isWritable }

  var waitingBytes: Int { channel.waitingBytes }

  func setReading(_ reads: Bool) {
    channel.setReading(reads)
  }

  func write(_ pieces: [[UInt8]]) {
    channel.write(pieces)
  }

  func abort() {
    channel.abort()
  }

  func close(exitCode: Int32) {
    channel.close(exitCode: exitCode)
  }
}
