package import JSON

/// The state of a connection from its first message to its end, by the rules of its dialect.
///
/// Transitions:
/// - `new` to `initializing` when `initialize` is admitted.
/// - `initializing` to `ready` when `initialize` succeeds, back to `new` when it fails.
/// - `initializing` or `ready` to `shutDown` when `shutdown` is admitted; also `new`, if the
///   dialect needs no handshake.
/// - Every state to `exited` at `exit`.
package struct Lifecycle: Sendable {
  /// The method of the first request of a connection.
  package static let handshake = "initialize"

  /// The decision about a request.
  package enum Admission: Sendable, Equatable {
    case dispatch
    /// The dialect defines the result of the request.
    case answer(JSONValue)
    case reject(RPCError)
  }

  /// The decision about a notification.
  package enum NotificationAdmission: Sendable, Equatable {
    case dispatch
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

  /// Returns whether the dialect needs a handshake that has not begun or has failed.
  package func isBeforeHandshake(_ dialect: Dialect) -> Bool {
    dialect.needsHandshake && state == .new
  }

  private var hasEnded: Bool { state == .shutDown || state == .exited }

  /// Records the result of `initialize`; a client may repeat an `initialize` that failed.
  package mutating func initializeEnded(succeeded: Bool) {
    if succeeded { isInitialized = true }
    if state == .initializing { state = succeeded ? .ready : .new }
  }

  /// Decides about a notification; the caller passes messages in the order of their arrival.
  ///
  /// - Parameters:
  ///   - method: The method of the notification.
  ///   - dialect: The connection's dialect.
  /// - Returns: The decision.
  package mutating func admit(
    notification method: String,
    _ dialect: Dialect
  ) -> NotificationAdmission {
    if method == dialect.exit {
      defer { state = .exited }
      return .exit(code: state == .shutDown ? 0 : 1)
    }
    switch state {
    case .new: return dialect.needsHandshake ? .drop : .dispatch
    case .initializing, .ready: return .dispatch
    case .shutDown, .exited: return .drop
    }
  }

  /// Decides about a request; the caller passes messages in the order of their arrival.
  ///
  /// - Parameters:
  ///   - method: The method of the request.
  ///   - dialect: The connection's dialect.
  /// - Returns: The decision.
  package mutating func admit(_ method: String, _ dialect: Dialect) -> Admission {
    if !dialect.results.isEmpty, let result = dialect.results[method], !hasEnded {
      return .answer(result)
    }
    switch state {
    case .shutDown, .exited:
      return .reject(
        RPCError(.invalidRequest, "The connection was shut down; only exit may follow")
      )
    case .initializing, .ready:
      if method == Self.handshake {
        return .reject(RPCError(.invalidRequest, "initialize was sent already"))
      }
    case .new:
      if method == Self.handshake {
        state = .initializing
        return .dispatch
      }
      guard !dialect.needsHandshake else {
        return .reject(RPCError(.serverNotInitialized, "initialize comes first"))
      }
    }
    if method == dialect.shutdown { state = .shutDown }
    return .dispatch
  }
}
