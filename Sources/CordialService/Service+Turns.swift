import JSONRPC

/// The state of the turn of the loop that is under way.
struct Turn {
  /// Whether there is one, its end included.
  var isUnderWay = false
  /// The sessions that have something to send or to close, in the order in which they got it.
  var unsent: [Session] = []
}

/// Turns: state changes first, then their effects.
extension Service {
  /// Runs work on the loop, as a turn of its own.
  nonisolated func onLoop(_ work: @escaping @Sendable (isolated Service) -> Void) {
    loop.execute { self.assumeIsolated { service in service.perform(work) } }
  }

  /// Runs work on the loop after so many milliseconds, as a turn of its own.
  nonisolated func onLoop(
    afterMilliseconds milliseconds: Int,
    _ work: @escaping @Sendable (isolated Service) -> Void
  ) {
    loop.schedule(milliseconds: milliseconds) {
      self.assumeIsolated { service in service.perform(work) }
    }
  }

  /// Runs work, then sends what it answered.
  ///
  /// While a turn is under way, the work waits for a turn of its own: a sink, or the NIO channel
  /// below it, may report that it takes bytes again while it is given some.
  func perform(_ work: @escaping @Sendable (isolated Service) -> Void) {
    guard beginTurn() else { return onLoop(work) }
    work(self)
    endTurn()
  }

  func beginTurn() -> Bool {
    guard !turn.isUnderWay else { return false }
    turn.isUnderWay = true
    return true
  }

  /// Performs what the turn left to do, in the order in which sessions got it.
  func endTurn() {
    var next = 0
    // By index: the array is not being accessed while a sink runs.
    while next < turn.unsent.count {
      let session = turn.unsent[next]
      next += 1
      guard session.perform(), session.sink.isWritable else { continue }
      let number = session.number
      onLoop { $0.becameWritable(session: number) }
    }
    turn.unsent.removeAll(keepingCapacity: true)
    turn.isUnderWay = false
  }

  /// Sends a message at the end of the turn.
  func send(_ message: MessageBytes, to session: Session) {
    session.append(message)
    markUnsent(session)
  }

  /// Ends a connection at the end of the turn, after what is sent before.
  func close(_ session: Session, exitCode: Int32) {
    session.endAfterSending(exitCode: exitCode)
    markUnsent(session)
  }

  private func markUnsent(_ session: Session) {
    guard !session.isUnsent else { return }
    session.isUnsent = true
    turn.unsent.append(session)
  }
}
