import JSONRPC

/// The readiness of a connection for its next `changes`, or the reason why the connection waits.
///
/// The readiness is computed from the state of the connection, and never stored. An event that ends
/// a wait marks the session as changed, so that the end of the turn computes the readiness again:
///
/// | wait | event that ends the wait |
/// |---|---|
/// | `subscription` | an `observe` |
/// | `ended` | – |
/// | `memory` | messages of the process are sent or dropped |
/// | `peer` | the peer accepts bytes |
/// | `update` | the end of a step, a registration or a flush (`endUpdate`) |
/// | `parts` | the last part is sent (`pump`) |
/// | `period` | the timer of the period of coalescing |
/// | `readAlone` | the end of the read (`record`) |
/// | `ownSave` | the response to the connection's save |
enum Readiness {
  case ready
  /// The connection has no subscriptions.
  case subscription
  /// The connection is ending and sends no more notifications.
  case ended
  /// The messages of all connections use up the memory limit of the process.
  case memory
  /// The peer does not read, or a batch of responses is being sent.
  case peer
  /// An update of the connection, or the first result of a subscription, is being built.
  case update
  /// The peer has not accepted all parts of the last message.
  case parts
  /// The last message was sent less than one coalescing period ago.
  case period
  /// A step has left out an observation of the connection, and the observation is being read alone.
  case readAlone
  /// The changes of the connection's own save are reported after the response to the save.
  case ownSave
}

extension Service {
  /// Returns whether a connection is ready for its next `changes`, regardless of their content.
  func readiness(_ session: Session) -> Readiness {
    let observed = session.observed
    if observed.position == nil { return .subscription }
    if !session.peer.sends { return .ended }
    if budget.bytes >= budget.bytesMax { return .memory }
    if !session.acceptsNotifications { return .peer }
    if observed.isUpdating { return .update }
    if !observed.parts.isEmpty { return .parts }
    if observed.coalescing == .running { return .period }
    if !observed.leftOut.isEmpty { return .readAlone }
    return .ready
  }

  /// Returns whether a connection is ready for a report of all commits up to a commit.
  ///
  /// A connection's own saves are reported after their responses.
  func readiness(_ session: Session, through commit: Int64) -> Readiness {
    let readiness = readiness(session)
    guard readiness == .ready else { return readiness }
    return hasUnansweredSave(session, through: commit) ? .ownSave : .ready
  }

  /// Returns whether the commits up to `commit` may include an unanswered save of the connection.
  ///
  /// If so, the method records the time at which changes begin to wait for the response.
  func hasUnansweredSave(_ session: Session, through commit: Int64) -> Bool {
    guard session.queue.isWriting, commit > answeredCommit else {
      session.observed.deferredSince = nil
      return false
    }
    if session.observed.deferredSince == nil { session.observed.deferredSince = facts.clock() }
    return true
  }

  /// The maximum delay of notifications by a connection's own saves, in microseconds.
  private static let deferredMicrosecondsMax: Int64 = 50_000

  /// Returns whether the next requests of a connection wait until its deferred changes are
  /// reported.
  func waitsForChanges(_ session: Session) -> Bool {
    guard let since = session.observed.deferredSince else { return false }
    return session.queue.isWriting && facts.clock() - since > Self.deferredMicrosecondsMax
  }
}
