package import CordialService
package import JSONRPC
import Synchronization
package import Transport

/// The owner that serves every channel of a transport.
package final class ServingOwner: ByteChannelOwner {
  private let service: Service
  private let framing: Framing?
  private let isSocket: Bool
  /// The bytes that the first channel's peer sent before the channel existed.
  private let initialInput: Mutex<[UInt8]>
  private let recorder: Recorder?
  private let closed: @Sendable (Int32) -> Void
  private let sessions = Mutex<[Int: Int]>([:])

  /// Creates an owner whose channels all use one service.
  ///
  /// - Parameters:
  ///   - service: The service.
  ///   - framing: The framing, nil to let each peer's first bytes choose it.
  ///   - isSocket: Whether bytes of no framing end a connection.
  ///   - initialInput: The bytes that the first channel's peer sent before the channel existed.
  ///   - recorder: Records all messages; nil for none.
  ///   - closed: Called when a channel has ended, with the exit code of its connection.
  package init(
    service: Service,
    framing: Framing?,
    isSocket: Bool,
    initialInput: [UInt8] = [],
    recorder: Recorder? = nil,
    closed: @escaping @Sendable (Int32) -> Void
  ) {
    self.service = service
    self.framing = framing
    self.isSocket = isSocket
    self.initialInput = Mutex(initialInput)
    self.recorder = recorder
    self.closed = closed
  }

  package func opened(_ channel: ByteChannel) {
    let sink = ChannelSink(channel, recorder)
    recorder?.opened(channel.number)
    let number = service.assumeIsolated { service in
      service.connect(sink, framing: framing, closesOnUnknownFraming: isSocket)
    }
    sessions.withLock { $0[channel.number] = number }
    let bytes = initialInput.withLock { initialInput in
      defer { initialInput = [] }
      return initialInput
    }
    guard let number, !bytes.isEmpty else { return }
    recorder?.record(bytes.span, .client, channel.number)
    service.assumeIsolated { $0.receive(bytes.span, session: number) }
  }

  package func received(_ bytes: Span<UInt8>, on channel: ByteChannel) {
    guard let number = session(of: channel) else { return }
    recorder?.record(bytes, .client, channel.number)
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
    recorder?.closed(channel.number)
    closed(channel.exitCode ?? 0)
  }

  private func session(of channel: ByteChannel) -> Int? {
    sessions.withLock { $0[channel.number] }
  }
}

/// An adapter that presents a channel as the sink of a service.
private final class ChannelSink: ByteSink {
  private let channel: ByteChannel
  private let recorder: Recorder?

  init(_ channel: ByteChannel, _ recorder: Recorder?) {
    self.channel = channel
    self.recorder = recorder
  }

  var isWritable: Bool { channel.isWritable }

  var waitingBytes: Int { channel.waitingBytes }

  func setReading(_ reads: Bool) {
    channel.setReading(reads)
  }

  func write(_ pieces: [[UInt8]]) {
    if let recorder {
      for piece in pieces { recorder.record(piece.span, .service, channel.number) }
    }
    channel.write(pieces)
  }

  func abort() {
    channel.abort()
  }

  func close(exitCode: Int32) {
    channel.close(exitCode: exitCode)
  }
}
