import JSONRPC

/// Whether a connection may be sent its next `changes`, and if not, what it waits for.
///
/// It is computed from the state of the connection, and never stored. What ends a wait marks the
/// session as changed, so that the end of the turn asks again:
///
/// | the wait | what ends it |
/// |---|---|
/// | `subscription` | an `observe` |
/// | `ended` | – |
/// | `memory` | messages that the process has sent, or that were dropped |
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
  /// The connection ends, and sends no notifications any more.
  case ended
  /// The messages of all connections use the memory of the process.
  case memory
  /// The peer does not read, or has not read a response that comes first.
  case peer
  /// An update of the connection is being built, or the first result of a subscription.
  case update
  /// The peer has not accepted all parts of the last message.
  case parts
  /// Changes are coalesced.
  case period
  /// An observation of the connection is read alone.
  case readAlone
  /// The connection's own save is reported after its response.
  case ownSave
}

extension Service {
  /// Returns what a connection waits for before its next `changes`, whatever these report.
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

  /// Returns what a connection waits for before it is notified of all commits up to a commit.
  ///
  /// A connection's own saves are reported after their responses.
  func readiness(_ session: Session, through commit: Int64) -> Readiness {
    let readiness = readiness(session)
    guard readiness == .ready else { return readiness }
    return hasUnansweredSave(session, through: commit) ? .ownSave : .ready
  }

  /// Returns whether the commits up to `commit` may include an unanswered save of the connection,
  /// and notes since when changes wait for its response.
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

  /// Returns whether a connection's next requests wait until the changes that wait for its own
  /// saves are reported.
  func waitsForChanges(_ session: Session) -> Bool {
    guard let since = session.observed.deferredSince else { return false }
    return session.queue.isWriting && facts.clock() - since > Self.deferredMicrosecondsMax
  }
}
