import JSONRPC

/// The state of the loop's current turn.
struct Turn {
  /// Whether a turn is running, its end included.
  var isRunning = false
  /// The sessions that the turn has changed, in order.
  var changedSessions: [Session] = []
  /// Whether a save was performed in the turn: the next ones are left to the writer's thread, so
  /// that the turn stays short.
  var hasSaved = false
  /// The number of the turn.
  var number = 0
  /// The number of requests that each session may start in the turn.
  var startsMax = Turn.startsMax
  /// The sessions whose other requests start in the next turn.
  var waitingSessions: Set<Int> = []

  /// The number of requests after which a session waits for others: more than one read of its
  /// socket has, so that its requests do not pile up.
  static let startsMax = 1024
}

/// Turns: state changes first, then what follows from them, then their effects.
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
  /// During another turn, the work is postponed to a turn of its own. A sink, or the NIO channel
  /// below it, may report that it is writable while the service writes to it.
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
  /// Continuing a session may change it again, or another one.
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
        // All of them go on in this turn, each with its share.
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

  /// Has the end of the turn continue a session, because its state has changed.
  func markChanged(_ session: Session) {
    precondition(turn.isRunning, "A session was changed outside a turn")
    guard !session.isChanged else { return }
    session.isChanged = true
    turn.changedSessions.append(session)
  }

  /// Continues a session as its state allows.
  private func continueSession(_ session: Session) {
    guard session.peer.sends else { return }
    // Changes that had to wait for a response, as those of the connection's own save, precede the
    // responses to its next requests.
    if session.observed.deferredSince != nil { advanceObservations() }
    startRequests(session)
    updateReading(session)
    pump(session)
    closeIfDone(session)
  }
}
