import JSONRPC

/// The state of the loop's current turn.
struct Turn {
  /// Whether a turn is running, its end included.
  var isUnderWay = false
  /// The sessions that have messages to send or have to be closed, in order.
  var unsent: [Session] = []
}

/// Turns: state changes first, then their effects.
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
    guard !turn.isUnderWay else { return false }
    turn.isUnderWay = true
    return true
  }

  /// Sends the messages of the turn and closes connections, in the order of `turn.unsent`.
  func endTurn() {
    var next = 0
    // A loop over offsets does not access the array while a sink runs.
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

  /// Closes a connection at the end of the turn, after its messages are sent.
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
