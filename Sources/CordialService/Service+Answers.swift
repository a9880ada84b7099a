import CordialProtocol
import JSON
import JSONRPC

/// The ends of requests.
extension Service {
  /// Ends a request with its complete response, or with an error.
  func finish(_ request: Request, _ outcome: Result<MessageBytes, RPCError>) {
    defer { request.share?.end() }
    guard let session = sessions[request.session] else { return }
    session.running.remove(request.serial)
    let outcome = outcome.mapError { unfitting(request) ?? $0 }
    if case .failure(let error) = outcome, postpones(request, error, session) { return }
    session.queue.finish(request.serial)
    session.release(request)
    if request.method === InitializeCall.method {
      if case .success = outcome {
        initializeEnded(session, succeeded: true)
      } else {
        initializeEnded(session, succeeded: false)
      }
    }
    switch outcome {
    case .success(let message): answer(message, at: request.slot, of: request.method, session)
    case .failure(let error):
      answer(MessageWriter.error(request.id, error), at: request.slot, of: request.method, session)
    }
    session.countResponses()
    markChanged(session)
  }

  /// Updates the lifecycle after `initialize`.
  ///
  /// After a failure where a handshake is needed, the requests that wait for it are refused.
  private func initializeEnded(_ session: Session, succeeded: Bool) {
    session.lifecycle.initializeEnded(succeeded: succeeded)
    guard !succeeded, session.connection.dialect.needsHandshake else { return }
    let error = RPCError(.serverNotInitialized, "initialize comes first, but it failed")
    for waiting in session.queue.cancelAll() { end(waiting, error, session) }
  }

  /// Ends a request with a small result.
  func finish(_ request: Request, result: JSONValue) {
    var writer = JSONWriter()
    writer.value(result)
    finish(request, .success(MessageBytes(MessageWriter.result(request.id, writer.bytes))))
  }

  func answer(
    _ response: [UInt8],
    at slot: Int,
    of method: Method? = nil,
    _ session: Session
  ) {
    answer(MessageBytes(response), at: slot, of: method, session)
  }

  func answer(
    _ message: MessageBytes,
    at slot: Int,
    of method: Method?,
    _ session: Session
  ) {
    session.answers.answer(
      message,
      at: slot,
      isPreceded: method?.isPreceded == true,
      inOrder: session.answersInOrder
    )
    sendReady(session)
  }

  func sendReady(_ session: Session) {
    while let ready = session.answers.takeReady() {
      send(ready.bytes, isEnd: ready.isEnd, to: session)
    }
  }

  /// Sends a notification, after the end of an array that is open.
  func notify(_ message: MessageBytes, _ session: Session) {
    session.answers.insertNotification(message)
    sendReady(session)
    markChanged(session)
  }

  /// Closes a connection whose input has ended, after its last response and its last update.
  func closeIfDone(_ session: Session) {
    guard session.queue.isEmpty, !session.observed.isUpdating, session.observed.parts.isEmpty else {
      return
    }
    let isAbrupt = session.connection.dialect.needsShutdown && !session.lifecycle.isShutDown
    session.phase.drained(exitCode: isAbrupt ? 1 : 0)
  }

  /// Fails a request that has not begun.
  func end(_ request: Request, _ error: RPCError, _ session: Session) {
    session.release(request)
    answer(MessageWriter.error(request.id, error), at: request.slot, of: request.method, session)
  }
}
