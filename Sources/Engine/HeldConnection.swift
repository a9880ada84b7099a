import CordialProtocol
import CordialService
package import JSON
package import JSONRPC
package import PersistentStore
import ProtocolSchemas

/// A connection of a client while the store is migrated.
///
/// The connection keeps the requests that need the service, and answers the other requests.
package struct HeldConnection {
  /// A request that waits for the service.
  private struct Held {
    let request: Peer.Request
    /// The `workDoneToken` of the request; nil without a token.
    let progressToken: JSONValue?
    /// The time after which the request fails, in microseconds; nil if the request waits without a
    /// limit.
    let deadline: Int64?
    /// Whether the client was notified that the work began.
    var hasBegun = false
  }

  private let peer: Peer
  private var held: [Held] = []

  /// The number of waiting requests.
  package var heldCount: Int { held.count }

  /// The memory of the waiting requests, in bytes.
  package var requestBytes: Int { peer.requestBytes }

  /// Creates the connection of a new peer.
  package init(_ peer: Peer) {
    self.peer = peer
  }

  /// Removes and returns the bytes for the client, in pieces.
  package mutating func takeOutput() -> [[UInt8]] { peer.takeOutput() }

  // MARK: Requests

  /// The facts about the migration that a new request needs.
  package struct Moment {
    /// The result of `status`.
    let status: JSONValue
    /// The time after which a new request fails if it still waits, in microseconds.
    let deadline: Int64

    package init(status: JSONValue, deadline: Int64) {
      self.status = status
      self.deadline = deadline
    }
  }

  /// Receives the next bytes of the client.
  package mutating func receive(_ bytes: Span<UInt8>, _ moment: Moment) {
    peer.receive(bytes)
    handlePending(moment)
  }

  /// Receives the end of the client's input.
  package mutating func endInput(_ moment: Moment) {
    peer.endInput()
    handlePending(moment)
  }

  /// Drops the unfinished message, because the memory for messages is used up.
  package mutating func dropUnfinished(_ moment: Moment) {
    peer.dropUnfinished()
    handlePending(moment)
  }

  private mutating func handlePending(_ moment: Moment) {
    while let event = peer.next() {
      switch event {
      case .request(let request): begin(request, moment)
      case .cancellation(let id):
        let error = RPCError(.requestCancelled, "The request was cancelled before it began")
        fail(error) { $0.request.id == id }
      }
    }
  }

  private mutating func begin(_ request: Peer.Request, _ moment: Moment) {
    switch request.method {
    // The responses of a batch are sent as one message after the last response. A request in a
    // batch therefore always waits.
    case StatusCall.method.name where !request.isInBatch: answer(request, moment.status)
    case DiscoverCall.method.name where !request.isInBatch: answer(request, OpenRPC.document)
    default:
      let token = request.params[.workDoneToken].flatMap { $0.isNull ? nil : $0 }
      held.append(
        Held(
          request: request,
          progressToken: token,
          deadline: token == nil ? moment.deadline : nil
        )
      )
    }
  }

  private mutating func answer(_ request: Peer.Request, _ result: JSONValue) {
    let response = MessageWriter.result(request.id, Array(result.text.utf8))
    peer.respond(.success(MessageBytes(response)), to: request, atOnce: true)
  }

  /// Fails the requests that satisfy a condition.
  private mutating func fail(_ error: RPCError, where isFailed: (Held) -> Bool) {
    let failed = held.filter(isFailed)
    held.removeAll(where: isFailed)
    for message in failed { peer.respond(.failure(error), to: message.request, atOnce: true) }
    guard failed.contains(where: \.request.isHandshake), peer.needsHandshake else { return }
    // The requests that waited for `initialize` are refused.
    let refusal = RPCError(.serverNotInitialized, "initialize comes first, but it failed")
    for message in held { peer.respond(.failure(refusal), to: message.request, atOnce: true) }
    held = []
  }

  // MARK: Progress

  /// Reports a step to the client, for each request with a progress token.
  package mutating func report(_ progress: MigrationProgress) {
    for index in held.indices {
      guard let token = held[index].progressToken else { continue }
      if !held[index].hasBegun {
        held[index].hasBegun = true
        notify(token, progress.begin)
      }
      notify(token, progress.report)
    }
  }

  /// Ends the progress of each request for which a step was reported.
  package mutating func endProgress() {
    for message in held where message.hasBegun {
      if let token = message.progressToken { notify(token, MigrationProgress.end) }
    }
  }

  private mutating func notify(_ token: JSONValue, _ value: JSONValue) {
    peer.notify(MessageBytes(MigrationProgress.notification(token, value)))
  }

  /// Fails the requests whose deadline has passed.
  package mutating func expire(at time: Int64, _ progress: MigrationProgress?) {
    var data: [JSONMember] = [
      JSONMember(.code, .string(ErrorName.storeBusy.rawValue)),
      JSONMember(.hint, "status shows the progress; a request with a workDoneToken waits"),
    ]
    if let progress { data.append(JSONMember(.migrating, progress.wire.json)) }
    let error = RPCError(
      code: ErrorName.storeBusy.code,
      message: "The store is being migrated",
      data: .object(data)
    )
    fail(error) { message in message.deadline.map { $0 <= time } ?? false }
  }

  // MARK: The end

  /// Fails all requests, because the store cannot be opened.
  package mutating func fail(_ error: StoreError) {
    fail(RPCError(error)) { _ in true }
  }

  /// Returns the exit code with which the gate has to close the connection; nil if it stays open.
  package mutating func takeEnd() -> Int32? {
    if held.isEmpty { peer.endIfDone() }
    return peer.takeEnd()
  }

  /// Returns the peer with its waiting requests, which a `Responder` answers from now on.
  package mutating func release() -> Peer {
    peer.putBack(held.map(\.request))
    held = []
    return peer
  }
}
