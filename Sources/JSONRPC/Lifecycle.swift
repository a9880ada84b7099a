/// The state of a connection between its first message and its end, as in LSP's base protocol.
///
/// Transitions:
/// - `new` to `initializing` when `initialize` is admitted.
/// - `initializing` to `ready` when `initialize` succeeds, back to `new` when it fails.
/// - `initializing`, `ready`, and in line framing `new`, to `shutDown` when `shutdown` is admitted.
/// - Every state to `exited` at `exit`.
package struct Lifecycle: Sendable {
  /// The decision about a message.
  package enum Admission: Sendable, Equatable {
    case dispatch
    case reject(RPCError)
    case drop
    /// The end of the connection, with the exit code of a stdio process.
    case exit(code: Int32)
  }

  private enum State: Sendable {
    case new, initializing, ready, shutDown, exited
  }

  private var state = State.new

  package init() {}

  /// Whether `initialize` has succeeded.
  package private(set) var isInitialized = false

  /// Whether `shutdown` was admitted.
  package var isShutDown: Bool { state == .shutDown }

  /// Records the result of `initialize`; a client may send a failed one again.
  package mutating func initializeEnded(succeeded: Bool) {
    if succeeded { isInitialized = true }
    if state == .initializing { state = succeeded ? .ready : .new }
  }

  /// Decides how to handle a message; messages are passed in the order in which they arrive.
  ///
  /// - Parameters:
  ///   - message: The message.
  ///   - framing: The connection's framing; lines need no handshake.
  /// - Returns: The decision.
  package mutating func admit(_ message: Message, framing: Framing) -> Admission {
    switch message {
    case .response: return .drop
    case .notification(let method, _): return admit(notification: method, framing)
    case .request(_, let method, _): return admit(request: method, framing)
    }
  }

  private mutating func admit(notification method: String, _ framing: Framing) -> Admission {
    if method == "exit" {
      defer { state = .exited }
      return .exit(code: state == .shutDown ? 0 : 1)
    }
    switch state {
    case .new: return framing == .line ? .dispatch : .drop
    case .initializing, .ready: return .dispatch
    case .shutDown, .exited: return .drop
    }
  }

  private mutating func admit(request method: String, _ framing: Framing) -> Admission {
    switch state {
    case .shutDown, .exited:
      return .reject(
        RPCError(.invalidRequest, "The connection was shut down; only exit may follow")
      )
    case .initializing, .ready:
      if method == "initialize" {
        return .reject(RPCError(.invalidRequest, "initialize was sent already"))
      }
    case .new:
      if method == "initialize" {
        state = .initializing
        return .dispatch
      }
      guard framing == .line else {
        return .reject(RPCError(.serverNotInitialized, "initialize comes first"))
      }
    }
    if method == "shutdown" { state = .shutDown }
    return .dispatch
  }
}
