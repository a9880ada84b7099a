import CordialProtocol
import JSON
import JSONRPC

/// The responses to requests, and the close of a connection after its last response.
extension Service {
  /// Ends a request with its complete response, or with an error.
  func finish(_ request: Request, _ outcome: Result<MessageBytes, RPCError>) {
    defer { request.share?.end() }
    guard let session = sessions[request.session] else { return }
    session.running.remove(request.serial)
    let outcome = outcome.mapError { unfitting(request) ?? $0 }
    if case .failure(let error) = outcome, postpones(request, error, session) { return }
    session.queue.finish(request.serial)
    session.endReserving(request)
    session.peer.respond(outcome, to: request.received)
    if case .failure = outcome, request.received.isHandshake, session.peer.needsHandshake {
      // The requests that waited for `initialize` are refused.
      let error = RPCError(.serverNotInitialized, "initialize comes first, but it failed")
      for waiting in session.queue.cancelAll() { end(waiting, error, session) }
    }
    session.countResponses()
    markChanged(session)
  }

  /// Ends a request with a small result.
  func finish(_ request: Request, result: JSONValue) {
    var writer = JSONWriter()
    writer.value(result)
    finish(request, .success(MessageBytes(MessageWriter.result(request.id, writer.bytes))))
  }

  /// Sends a notification; while the array of a batch response is open, the notification waits
  /// until the array is closed.
  func notify(_ message: MessageBytes, _ session: Session) {
    session.peer.notify(message)
    markChanged(session)
  }

  /// Closes a connection whose input has ended, after its last response and its last update.
  func closeIfDone(_ session: Session) {
    guard session.queue.isEmpty, !session.observed.isUpdating, session.observed.parts.isEmpty else {
      return
    }
    session.peer.endIfDone()
  }

  /// Fails a request that has not begun.
  func end(_ request: Request, _ error: RPCError, _ session: Session) {
    session.endReserving(request)
    session.peer.respond(.failure(error), to: request.received)
    markChanged(session)
  }
}
