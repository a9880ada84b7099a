/// The phase of a connection, from open input to the closed channel.
///
/// Transitions:
/// - `open` to `draining` when the input ends: at the end of the stream, at `exit`, at bytes that
///   cannot be read, or when the service stops. The connection reads no further message.
/// - `draining` to `closing` when every request is answered.
/// - `open` to `closing` when the service cannot continue the connection.
/// - `closing` to `closed` when the waiting messages are sent.
/// - Every state to `closed` when the peer has disconnected.
package enum ConnectionPhase: Sendable, Equatable {
  case open
  /// The input has ended, but requests are unanswered. The exit code is nil if the lifecycle
  /// determines it.
  case draining(exitCode: Int32?)
  case closing(exitCode: Int32)
  case closed

  /// Whether the connection reads messages.
  package var reads: Bool { self == .open }

  /// Whether the connection sends messages.
  package var sends: Bool {
    switch self {
    case .open, .draining: true
    case .closing, .closed: false
    }
  }

  /// Ends the input; the first exit code stays in effect.
  package mutating func endInput(exitCode: Int32? = nil) {
    switch self {
    case .open, .draining(nil): self = .draining(exitCode: exitCode)
    case .draining, .closing, .closed: break
    }
  }

  /// Ends a connection whose input has ended and whose requests are answered.
  ///
  /// - Parameter fallback: The exit code if the end of the input determined none.
  package mutating func drained(exitCode fallback: Int32) {
    guard case .draining(let exitCode) = self else { return }
    self = .closing(exitCode: exitCode ?? fallback)
  }

  /// Ends a connection that cannot be continued.
  package mutating func fail() {
    if sends { self = .closing(exitCode: 1) }
  }

  /// Ends a connection after its last message, or after its peer has disconnected.
  ///
  /// - Returns: The exit code with which the caller closes the channel, or nil if the caller does
  ///   not close it.
  package mutating func end() -> Int32? {
    defer { self = .closed }
    if case .closing(let exitCode) = self { return exitCode }
    return nil
  }
}
