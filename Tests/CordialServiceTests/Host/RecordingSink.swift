import CordialService
import Synchronization

/// A byte sink that records every call of the service.
final class RecordingSink: ByteSink {
  /// One call of the service.
  enum Event: Equatable, Sendable {
    /// `write`, with all of its bytes.
    case wrote([UInt8])
    /// `setReading`.
    case reading(Bool)
    /// `abort`.
    case abort
    /// `close`.
    case closed(exitCode: Int32)
  }

  private struct State {
    var events: [Event] = []
    var isWritable = true
    var isClosed = false
    /// The number of bytes after which the peer accepts no more; nil for no limit.
    var acceptedBytesMax: Int?
    /// The number of bytes that the peer has not accepted.
    var waitingBytes = 0

    /// Counts bytes that are written.
    mutating func count(_ bytes: Int) {
      guard isWritable else {
        waitingBytes += bytes
        return
      }
      guard let max = acceptedBytesMax else { return }
      acceptedBytesMax = Swift.max(0, max - bytes)
      waitingBytes += Swift.max(0, bytes - max)
      if waitingBytes > 0 || acceptedBytesMax == 0 { isWritable = false }
    }
  }

  private let state = Mutex(State())
  private let wrote: @Sendable ([UInt8]) -> Void
  private let ended: @Sendable () -> Void

  /// Creates an open, writable sink.
  ///
  /// - Parameters:
  ///   - wrote: Called inside each `write`, after the bytes were recorded.
  ///   - ended: Called inside `abort` and `close`.
  init(
    wrote: @escaping @Sendable ([UInt8]) -> Void = { _ in },
    ended: @escaping @Sendable () -> Void = {}
  ) {
    self.wrote = wrote
    self.ended = ended
  }

  /// Returns and removes the recorded events.
  func takeEvents() -> [Event] {
    state.withLock { state in
      defer { state.events = [] }
      return state.events
    }
  }

  /// Whether the service closed the connection.
  var isClosed: Bool { state.withLock { $0.isClosed } }

  /// Sets `isWritable`.
  ///
  /// Call `ServiceHost.becameWritable` after setting it to true.
  func setWritable(_ isWritable: Bool) {
    state.withLock { state in
      state.isWritable = isWritable
      state.acceptedBytesMax = nil
      if isWritable { state.waitingBytes = 0 }
    }
  }

  /// Lets the peer accept so many bytes, those that wait first, and then none.
  func accept(bytes: Int) {
    state.withLock { state in
      let taken = min(bytes, state.waitingBytes)
      state.waitingBytes -= taken
      state.acceptedBytesMax = bytes - taken
      state.isWritable = taken < bytes
    }
  }

  // MARK: ByteSink

  var isWritable: Bool { state.withLock { $0.isWritable } }

  var waitingBytes: Int { state.withLock { $0.waitingBytes } }

  func setReading(_ reads: Bool) {
    state.withLock { $0.events.append(.reading(reads)) }
  }

  func write(_ pieces: [[UInt8]]) {
    let bytes = Array(pieces.joined())
    state.withLock { state in
      state.events.append(.wrote(bytes))
      state.count(bytes.count)
    }
    wrote(bytes)
  }

  func abort() {
    end(.abort)
  }

  func close(exitCode: Int32) {
    end(.closed(exitCode: exitCode))
  }

  private func end(_ event: Event) {
    state.withLock { state in
      state.events.append(event)
      state.isClosed = true
    }
    ended()
  }
}
