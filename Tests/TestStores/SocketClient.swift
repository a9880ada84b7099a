import Synchronization
package import Transport

/// A client of a socket that collects what it is sent, until the connection ends.
package final class SocketClient: ByteChannelOwner {
  private let channel = Mutex<ByteChannel?>(nil)
  private let text = Mutex("")
  private let changes: AsyncStream<Bool>
  private let changed: AsyncStream<Bool>.Continuation

  package init() {
    (changes, changed) = AsyncStream.makeStream()
  }

  package func send(_ bytes: [UInt8]) {
    channel.withLock { $0 }?.onLoop { $0.write([bytes]) }
  }

  /// Waits for the next text of the service; nil at the end of the connection.
  package func next() async -> String? {
    var iterator = changes.makeAsyncIterator()
    guard await iterator.next() == true else { return nil }
    return text.withLock { text in
      defer { text = "" }
      return text
    }
  }

  package func opened(_ channel: ByteChannel) { self.channel.withLock { $0 = channel } }

  package func received(_ bytes: Span<UInt8>, on channel: ByteChannel) {
    text.withLock { text in
      text += String(decoding: bytes.indices.map { bytes[$0] }, as: UTF8.self)
    }
    changed.yield(true)
  }

  package func inputEnded(on channel: ByteChannel) {}
  package func becameWritable(_ channel: ByteChannel) {}
  package func gaveUp(on channel: ByteChannel, unacceptedBytes: Int) {}

  package func closed(_ channel: ByteChannel) {
    changed.yield(false)
    changed.finish()
  }
}
