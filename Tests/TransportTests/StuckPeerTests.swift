import Foundation
import Synchronization
import TestStores
import Testing
import Transport

/// Writes more than a socket holds to each peer, and reports the end of its channel.
private final class FloodingOwner: ByteChannelOwner {
  let closed: AsyncStream<Void>
  private let continuation: AsyncStream<Void>.Continuation
  private let received = Mutex(0)

  init() {
    (closed, continuation) = AsyncStream.makeStream(of: Void.self)
  }

  /// How many bytes peers sent.
  var receivedCount: Int { received.withLock { $0 } }

  func opened(_ channel: ByteChannel) {
    channel.write([[UInt8](repeating: 0x61, count: 16 << 20)])
  }

  func received(_ bytes: Span<UInt8>, on channel: ByteChannel) {
    received.withLock { $0 += bytes.count }
  }

  /// The number of bytes that a peer had not accepted when it was given up; nil before that.
  var unaccepted: Int? { unacceptedBytes.withLock { $0 } }
  private let unacceptedBytes = Mutex<Int?>(nil)

  func inputEnded(on channel: ByteChannel) {}
  func becameWritable(_ channel: ByteChannel) {}

  func gaveUp(on channel: ByteChannel, unacceptedBytes bytes: Int) {
    unacceptedBytes.withLock { $0 = bytes }
  }

  func closed(_ channel: ByteChannel) {
    continuation.yield()
    continuation.finish()
  }
}

/// Counts what its peer sends, and closes the channel when all of it is there.
private final class ReadingOwner: ByteChannelOwner {
  let ended: AsyncStream<Int>
  private let continuation: AsyncStream<Int>.Continuation
  private let count = Mutex(0)

  init() {
    (ended, continuation) = AsyncStream.makeStream(of: Int.self)
  }

  func opened(_ channel: ByteChannel) {}

  func received(_ bytes: Span<UInt8>, on channel: ByteChannel) {
    let total = count.withLock { count in
      count += bytes.count
      return count
    }
    if total == 16 << 20 {
      continuation.yield(total)
      continuation.finish()
      channel.close(exitCode: 0)
    }
  }

  func inputEnded(on channel: ByteChannel) {}
  func becameWritable(_ channel: ByteChannel) {}
  func gaveUp(on channel: ByteChannel, unacceptedBytes: Int) {}
  func closed(_ channel: ByteChannel) { continuation.finish() }
}

// All tests run at once on a few threads, so that a test may wait for its turn for many minutes. The
// limits are for tests that never end.
@Suite(.timeLimit(.minutes(60))) struct `A peer of a Unix socket` {
  /// Runs a body with a socket whose every peer is sent 16 MiB.
  private func withListener(
    stuckSecondsMax: Int,
    _ body: (_ path: String, TransportLoop, FloodingOwner) async throws -> Void
  ) async throws {
    let folder = try TestFolder()
    let loop = TransportLoop()
    let owner = FloodingOwner()
    let path = folder.path + "/s"
    let listener = try await UnixSocketListener(
      path: path,
      loop: loop,
      owner: owner,
      stuckSecondsMax: stuckSecondsMax
    )
    try await body(path, loop, owner)
    try await listener.close()
    try await loop.shutdown()
  }

  // Evidence: P-085b, P-085f
  @Test
  func `is disconnected when it reads nothing for stuckSecondsMax`() async throws {
    try await withListener(stuckSecondsMax: 1) { path, _, owner in
      // A socket that is never read: its buffer fills up, and nothing more is accepted.
      let peer = try PlainSocket(path)
      var ends = owner.closed.makeAsyncIterator()
      await ends.next()
      #expect(owner.receivedCount == 0)
      let unaccepted = try #require(owner.unaccepted)
      #expect(unaccepted > 0 && unaccepted < 16 << 20)
      peer.close()
    }
  }

  @Test
  func `gets every byte when it reads`() async throws {
    try await withListener(stuckSecondsMax: 60) { path, loop, owner in
      let reader = ReadingOwner()
      try await UnixSocketClient.connect(path: path, loop: loop, owner: reader)
      var ends = reader.ended.makeAsyncIterator()
      #expect(await ends.next() == 16 << 20)
      var closed = owner.closed.makeAsyncIterator()
      await closed.next()
    }
  }
}

/// A connected socket on which nothing is read.
private struct PlainSocket {
  private let descriptor: Int32

  init(_ path: String) throws {
    descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8)
    try #require(bytes.count < 108)
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { place in
      for (index, byte) in bytes.enumerated() { unsafe place[index] = byte }
    }
    let size = socklen_t(MemoryLayout<sockaddr_un>.size)
    let descriptor = descriptor
    let code = unsafe withUnsafePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe connect(descriptor, $0, size)
      }
    }
    try #require(code == 0)
  }

  func close() { _ = Foundation.close(descriptor) }
}
