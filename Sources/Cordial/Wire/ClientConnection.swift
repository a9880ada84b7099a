// Cordial: the Swift client library. Values, live objects, fetched results, and the wire below.
//
// Must not know: all of storage. It links no SQLite.
//
// What always holds:
// 1. A call ends once: with its response, or with the end of the connection.
// 2. Notifications come in the order in which they were sent, on the link's thread.

package import CordialProtocol
package import JSON
import JSONRPC
import Synchronization

/// A carrier of a client's bytes.
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

  /// Creates a client that is not connected yet.
  ///
  /// - Parameters:
  ///   - messageBytesMax: The maximum length of a message from the service, in bytes; a longer one
  ///     ends the connection.
  ///   - traced: Called with every message, to show the wire traffic.
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

  /// Connects the client to a link, which then calls `received` and `ended`.
  package func connect(_ link: any ClientLink) {
    state.withLock { state in
      // A service that stops ends the connection before this.
      if !state.isClosed { state.link = link }
    }
  }

  /// The link; nil before the client is connected and after the connection has ended.
  package var link: (any ClientLink)? { state.withLock { $0.link } }

  /// Calls a method of the protocol.
  ///
  /// - Parameter call: The params.
  /// - Returns: The result.
  /// - Throws: `ClientError`, as the function that names the method; `internalError` for a result
  ///   that lacks a member.
  package func call<Params: Call>(_ call: Params) async throws(ClientError) -> Params.Result {
    try Params.result(try await reply(to: call))
  }

  /// Calls a method of the protocol.
  ///
  /// - Parameter call: The params.
  /// - Returns: The result as it was sent, which may have members that this library does not know.
  /// - Throws: `ClientError`, as the function that names the method.
  package func reply<Params: Call>(to call: Params) async throws(ClientError) -> JSONValue {
    try await self.call(Params.name.rawValue, call.json)
  }

  /// Calls a method.
  ///
  /// A call of a cancelled task is cancelled: its request is withdrawn where it has not begun.
  ///
  /// - Parameters:
  ///   - method: The method's name.
  ///   - params: The method's params.
  /// - Returns: The result.
  /// - Throws: `ClientError` with the service's code, or 0 when the connection ended.
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
  ///   - completion: Called once: on the link's thread in the order of the messages, or at once
  ///     where the connection has ended.
  /// - Returns: The ID of the request, by which it can be cancelled.
  @discardableResult
  package func start<Params: Call>(
    _ call: Params,
    _ completion: @escaping @Sendable (Outcome) -> Void
  ) -> Int64 {
    start(Params.name, call.json, completion)
  }

  /// Sends a request with params that this program did not make, which the service checks.
  ///
  /// - Parameters:
  ///   - method: The method.
  ///   - params: The params.
  ///   - completion: Called once, as that of the function without a method.
  /// - Returns: The ID of the request, by which it can be cancelled.
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

  /// Sends a notification, where the connection has not ended.
  package func notify(_ method: MethodName, _ params: JSONValue) {
    guard let link = state.withLock({ $0.isClosed ? nil : $0.link }) else { return }
    send(MessageWriter.notification(method.rawValue, Array(params.text.utf8)), link)
  }

  private func send(_ message: [UInt8], _ link: any ClientLink) {
    traced?(true, message)
    link.send(Framing.line.frame(message))
  }

  /// Takes bytes from the service.
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
    // Without the message that cannot be read, the call that waits for it would never end.
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
      // The service cannot tell which request it rejects, so every waiting call fails.
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
      // The link keeps its client, and what is below it.
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
