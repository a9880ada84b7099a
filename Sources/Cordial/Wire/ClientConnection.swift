// Cordial: the Swift client library, with values, live objects, fetched results and the wire
// protocol.
//
// Must not know: storage. The module does not link SQLite.
//
// What always holds:
// 1. A call ends once: with its response, or with the end of the connection.
// 2. Notifications arrive in the order in which the service sent them, on the link's thread.

package import CordialProtocol
package import JSON
import JSONRPC
import Synchronization

/// A byte stream between a client and a service.
package protocol ClientLink: Sendable {
  func send(_ bytes: [UInt8])
  func close()
}

/// One connection to a service.
package final class ClientConnection: Sendable {
  /// The outcome of a call.
  package typealias Outcome = Result<JSONValue, ClientError>

  private struct State {
    var link: (any ClientLink)?
    var waiting: [RequestID: @Sendable (Outcome) -> Void] = [:]
    var nextID: Int64 = 1
    var frames: FrameDecoder
    var isClosed = false
    var hasReceived = false
  }

  private let state: Mutex<State>
  private let notified: @Sendable (String, JSONValue) -> Void
  private let traced: (@Sendable (_ isSent: Bool, [UInt8]) -> Void)?
  private let whenEnded: @Sendable () -> Void

  /// Creates a connection without a link.
  ///
  /// - Parameters:
  ///   - messageBytesMax: The maximum length of a message from the service, in bytes; a longer
  ///     message ends the connection.
  ///   - traced: Called with every sent or received message, for a display of the wire traffic.
  ///   - notified: Called with the method and the params of every notification.
  ///   - whenEnded: Called when the connection has ended, possibly more than once.
  package init(
    messageBytesMax: Int = 1 << 30,
    traced: (@Sendable (_ isSent: Bool, [UInt8]) -> Void)? = nil,
    notified: @escaping @Sendable (String, JSONValue) -> Void = { _, _ in },
    whenEnded: @escaping @Sendable () -> Void = {}
  ) {
    let frames = FrameDecoder(framing: .line, messageBytesMax: messageBytesMax)
    state = Mutex(State(frames: frames))
    self.traced = traced
    self.notified = notified
    self.whenEnded = whenEnded
  }

  /// Sets the link that sends this connection's bytes and calls `received` and `ended`.
  package func connect(_ link: any ClientLink) {
    state.withLock { state in
      // An ended connection gets no link: if the service stopped early, `ended` has already run.
      if !state.isClosed { state.link = link }
    }
  }

  /// The link; nil before the client is connected and after the connection has ended.
  package var link: (any ClientLink)? { state.withLock { $0.link } }

  /// Calls a method of the protocol.
  ///
  /// - Parameter call: The params.
  /// - Returns: The result.
  /// - Throws: The errors of `call(_:_:)`; `internalError` for a result that lacks a member.
  package func call<Params: Call>(_ call: Params) async throws(ClientError) -> Params.Result {
    try Params.result(try await reply(to: call))
  }

  /// Calls a method of the protocol, and returns the result verbatim.
  ///
  /// - Parameter call: The params.
  /// - Returns: The result, with members that this library may not know.
  /// - Throws: The errors of `call(_:_:)`.
  package func reply<Params: Call>(to call: Params) async throws(ClientError) -> JSONValue {
    try await self.call(Params.name.rawValue, call.json)
  }

  /// Calls a method.
  ///
  /// If the task is cancelled, the service stops a request that has not begun or that only reads.
  ///
  /// - Parameters:
  ///   - method: The method's name.
  ///   - params: The method's params.
  /// - Returns: The result.
  /// - Throws: `ClientError` with the service's code, or with `connectionEnded` if there is no
  ///   response.
  package func call(
    _ method: String,
    _ params: JSONValue
  ) async throws(ClientError) -> JSONValue {
    let id = nextID()
    let outcome = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        start(method, params, id: id) { continuation.resume(returning: $0) }
      }
    } onCancel: {
      notify(.cancelRequest, .object([.id: .integer(id)]))
    }
    return try outcome.get()
  }

  /// Sends a request.
  ///
  /// - Parameters:
  ///   - call: The params.
  ///   - completion: Called once: on the link's thread in the order of the messages, or at once if
  ///     the connection has ended.
  /// - Returns: The ID of the request, for its cancellation.
  @discardableResult
  package func start<Params: Call>(
    _ call: Params,
    _ completion: @escaping @Sendable (Outcome) -> Void
  ) -> Int64 {
    start(Params.name, call.json, completion)
  }

  /// Sends a request with params that only the service checks.
  ///
  /// - Parameters:
  ///   - method: The method.
  ///   - params: The params.
  ///   - completion: Called once, under the same conditions as in `start(_:_:)`.
  /// - Returns: The ID of the request, for its cancellation.
  @discardableResult
  package func start(
    _ method: MethodName,
    _ params: JSONValue,
    _ completion: @escaping @Sendable (Outcome) -> Void
  ) -> Int64 {
    let id = nextID()
    start(method.rawValue, params, id: id, completion)
    return id
  }

  private func nextID() -> Int64 {
    state.withLock { state in
      defer { state.nextID += 1 }
      return state.nextID
    }
  }

  private func start(
    _ method: String,
    _ params: JSONValue,
    id: Int64,
    _ completion: @escaping @Sendable (Outcome) -> Void
  ) {
    let link = state.withLock { state -> (any ClientLink)? in
      guard !state.isClosed, let link = state.link else { return nil }
      state.waiting[.integer(id)] = completion
      return link
    }
    guard let link else { return completion(.failure(Self.ended)) }
    send(MessageWriter.request(.integer(id), method, params), link)
  }

  /// Sends a notification, unless the connection has ended.
  package func notify(_ method: MethodName, _ params: JSONValue) {
    guard let link = state.withLock({ $0.isClosed ? nil : $0.link }) else { return }
    send(MessageWriter.notification(method.rawValue, Array(params.text.utf8)), link)
  }

  private func send(_ message: [UInt8], _ link: any ClientLink) {
    traced?(true, message)
    link.send(Framing.line.frame(message))
  }

  /// Handles bytes from the service.
  package func received(_ bytes: Span<UInt8>) {
    var messages: [[UInt8]] = []
    var isReadable = true
    state.withLock { state in
      state.hasReceived = true
      state.frames.receive(bytes) { event, frame in
        guard case .frame = event else {
          isReadable = false
          return
        }
        var message: [UInt8] = []
        message.reserveCapacity(frame.count)
        JSONBytes.append(frame, to: &message)
        messages.append(message)
      }
    }
    for message in messages { handle(message) }
    // Without this close, the call that waits for the unreadable message would never end.
    if !isReadable { close() }
  }

  private func handle(_ message: [UInt8]) {
    traced?(false, message)
    let value: JSONValue
    do {
      value = try JSONParser.parse(message.span, depthMax: 256)
    } catch {
      return close()
    }
    if let method = value["method"]?.string { return notified(method, value["params"] ?? .null) }
    let error = value[.error].map { ClientError(wire: $0) }
    if let error, value[.id]?.isNull != false {
      // The error names no request, so that every waiting call fails.
      return fail(with: error)
    }
    guard let id = value[.id].flatMap(RequestID.init),
      let completion = state.withLock({ $0.waiting.removeValue(forKey: id) })
    else { return }
    completion(error.map(Outcome.failure) ?? .success(value[.result] ?? .null))
  }

  /// Whether the connection has ended.
  package var hasEnded: Bool { state.withLock { $0.isClosed } }

  /// Whether the service has sent anything.
  package var hasReceived: Bool { state.withLock { $0.hasReceived } }

  /// Fails every waiting call, because the connection has ended.
  package func ended() {
    state.withLock { state in
      state.isClosed = true
      // The link retains this connection; releasing the link breaks this reference cycle.
      state.link = nil
    }
    fail(with: Self.ended)
    whenEnded()
  }

  private func fail(with error: ClientError) {
    let waiting = state.withLock { state in
      defer { state.waiting = [:] }
      return state.waiting.values.map { $0 }
    }
    for completion in waiting { completion(.failure(error)) }
  }

  /// Ends the connection.
  package func close() {
    let link = state.withLock { $0.link }
    link?.close()
  }

  private static let ended = ClientError(code: 0, message: "The connection to the service ended")
}
