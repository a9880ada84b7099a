import JSONRPC

/// The state of the loop's current turn.
struct Turn {
  /// Whether a turn is running, including its end.
  var isRunning = false
  /// The sessions that the turn has changed, in order.
  var changedSessions: [Session] = []
  /// Whether a save was performed on the loop in the turn.
  ///
  /// The writer's thread performs the next saves, so that the turn stays short.
  var hasSaved = false
  /// The sequence number of the turn.
  var number = 0
  /// The maximum number of requests that each session may start in the turn.
  var startsMax = Turn.startsMax
  /// The numbers of the sessions whose remaining requests start in the next turn.
  var waitingSessions: Set<Int> = []

  /// The maximum number of requests that a session starts before other sessions continue.
  ///
  /// One read of a socket contains fewer requests than this maximum, so the waiting requests of a
  /// session do not accumulate.
  static let startsMax = 1024
}

/// The turns of the loop: a turn changes state, continues the changed sessions, and then writes to
/// the sinks.
extension Service {
  /// Runs work on the loop, as a turn of its own.
  nonisolated func onLoop(_ work: @escaping @Sendable (isolated Service) -> Void) {
    loop.execute { self.assumeIsolated { service in service.perform(work) } }
  }

  /// Runs work on the loop after a delay, as a turn of its own.
  nonisolated func onLoop(
    afterMilliseconds milliseconds: Int,
    _ work: @escaping @Sendable (isolated Service) -> Void
  ) {
    loop.schedule(milliseconds: milliseconds) {
      self.assumeIsolated { service in service.perform(work) }
    }
  }

  /// Runs work as a turn, then sends the messages of the turn.
  ///
  /// If a turn is already running, the work runs in a separate later turn. For example, a sink may
  /// report that its peer accepts bytes while the service writes to the sink.
  func perform(_ work: @escaping @Sendable (isolated Service) -> Void) {
    guard beginTurn() else { return onLoop(work) }
    work(self)
    endTurn()
  }

  func beginTurn() -> Bool {
    guard !turn.isRunning else { return false }
    turn.isRunning = true
    return true
  }

  /// Continues the sessions that the turn has changed, sends their messages, closes connections.
  ///
  /// Continuing a session may change the same session or another session again.
  func endTurn() {
    var next = 0
    repeat {
      while next < turn.changedSessions.count {
        let session = turn.changedSessions[next]
        next += 1
        session.isChanged = false
        continueSession(session)
      }
      advanceObservations()
    } while next < turn.changedSessions.count
    let changedSessions = turn.changedSessions
    turn.changedSessions.removeAll(keepingCapacity: true)
    for session in changedSessions {
      guard session.perform(), session.sink.isWritable else { continue }
      let number = session.number
      onLoop { $0.becameWritable(session: number) }
    }
    let waiting = turn.waitingSessions
    if !waiting.isEmpty {
      onLoop { service in
        // All waiting sessions continue in this turn, each with its share of the starts.
        service.turn.startsMax = max(1, Turn.startsMax / waiting.count)
        for session in waiting.compactMap({ service.sessions[$0] }) { service.markChanged(session) }
      }
    }
    turn.waitingSessions = []
    turn.startsMax = Turn.startsMax
    turn.number += 1
    turn.hasSaved = false
    turn.isRunning = false
  }

  /// Marks a session as changed, so that the end of the turn continues it.
  func markChanged(_ session: Session) {
    precondition(turn.isRunning, "A session was changed outside a turn")
    guard !session.isChanged else { return }
    session.isChanged = true
    turn.changedSessions.append(session)
  }

  /// Starts requests, adjusts reading, sends changes and closes the connection, as the session's
  /// state allows.
  private func continueSession(_ session: Session) {
    guard session.peer.sends else { return }
    // Changes that waited for the response to the connection's own save are sent before the
    // responses to the connection's next requests.
    if session.observed.deferredSince != nil { advanceObservations() }
    startRequests(session)
    updateReading(session)
    pump(session)
    closeIfDone(session)
  }
}
