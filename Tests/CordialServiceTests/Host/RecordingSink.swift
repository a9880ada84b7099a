import CordialService
import Synchronization

/// A byte sink that keeps everything the service does with it, in order.
final class RecordingSink: ByteSink {
  /// One thing that a service did with a connection.
  enum Event: Equatable, Sendable {
    /// The bytes of one `write`.
    case wrote([UInt8])
    /// `setReading`.
    case reading(Bool)
    /// The connection was ended at once.
    case cut
    /// The connection ended after everything was sent, with this exit code.
    case closed(exitCode: Int32)
  }

  private struct State {
    var events: [Event] = []
    var isWritable = true
    var isClosed = false
  }

  private let state = Mutex(State())
  private let ended: @Sendable () -> Void
  private let wrote: @Sendable ([UInt8]) -> Void

  /// A sink that is open and writable.
  ///
  /// - Parameters:
  ///   - wrote: Called inside of each `write`, after it was recorded.
  ///   - ended: Called when the service ends the connection.
  init(
    wrote: @escaping @Sendable ([UInt8]) -> Void = { _ in },
    ended: @escaping @Sendable () -> Void
  ) {
    self.wrote = wrote
    self.ended = ended
  }

  /// Everything since the last call.
  func takeEvents() -> [Event] {
    state.withLock { state in
      defer { state.events = [] }
      return state.events
    }
  }

  /// Whether the service ended the connection.
  var isClosed: Bool { state.withLock { $0.isClosed } }

  /// Lets the peer take bytes, or not; the service is told by `ServiceHost.becameWritable`.
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

  func cut() {
    end(.cut)
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
