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
    state.withLock { $0.isWritable = isWritable }
  }

  // MARK: ByteSink

  var isWritable: Bool { state.withLock { $0.isWritable } }

  func setReading(_ reads: Bool) {
    state.withLock { $0.events.append(.reading(reads)) }
  }

  func write(_ pieces: [[UInt8]]) {
    let bytes = Array(pieces.joined())
    state.withLock { $0.events.append(.wrote(bytes)) }
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
