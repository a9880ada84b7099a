/// Where a connection stands between its first message and its end, as LSP's base protocol has it.
///
/// Transitions: `new` to `initializing` when `initialize` is admitted, and on to `ready` when it
/// was answered, or back when it failed; these (`new` in line framing only) to `shutDown` when
/// `shutdown` is admitted; any to `exited` at `exit`.
package struct Lifecycle: Sendable {
  /// What is to be done with a message.
  package enum Admission: Sendable, Equatable {
    case dispatch
    case reject(RPCError)
    case drop
    /// The conversation ends; the code is a stdio process's.
    case exit(code: Int32)
  }

  private enum State: Sendable {
    case new, initializing, ready, shutDown, exited
  }

  private var state = State.new

  package init() {}

  /// Whether `initialize` was answered.
  package private(set) var isInitialized = false

  /// Whether `shutdown` was admitted.
  package var isShutDown: Bool { state == .shutDown }

  /// Notes what became of `initialize`; one that failed may be sent again.
  package mutating func initializeEnded(succeeded: Bool) {
    if succeeded { isInitialized = true }
    if state == .initializing { state = succeeded ? .ready : .new }
  }

  /// Decides what becomes of a message, in the order in which messages come.
  ///
  /// - Parameters:
  ///   - message: The message.
  ///   - framing: The connection's framing; lines need no handshake.
  /// - Returns: What is to be done with it.
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
