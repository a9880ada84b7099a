// Cordial: the client's side of the wire. Calls, notifications, and the links that carry them.
//
// Must not know: all of storage. It links no SQLite.
//
// What always holds:
// 1. A call ends once: with its response, or with the end of the connection.
// 2. Notifications come in the order in which they were sent, on the link's thread.

package import JSON
import JSONRPC
import Synchronization

/// A carrier of a client's bytes.
package protocol ClientLink: Sendable {
  func send(_ bytes: [UInt8])
  func close()
}

/// One connection to a service.
package final class Client: Sendable {
  private struct State {
    var link: (any ClientLink)?
    var waiting: [RequestID: CheckedContinuation<JSONValue, any Error>] = [:]
    var nextID: Int64 = 1
    var frames: FrameDecoder
    var isClosed = false
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
    state.withLock { $0.link = link }
  }

  /// Calls a method.
  ///
  /// - Parameters:
  ///   - method: The method's name.
  ///   - params: The method's params.
  /// - Returns: The result.
  /// - Throws: `ClientError` with the service's code, or 0 when the connection ended.
  package func call(_ method: String, _ params: JSONValue) async throws -> JSONValue {
    try await withCheckedThrowingContinuation { continuation in
      let outcome = state.withLock { state -> (any ClientLink, RequestID)? in
        guard !state.isClosed, let link = state.link else { return nil }
        let id = RequestID.integer(state.nextID)
        state.nextID += 1
        state.waiting[id] = continuation
        return (link, id)
      }
      guard let (link, id) = outcome else {
        return continuation.resume(throwing: Self.ended)
      }
      let message = MessageWriter.request(id, method, params)
      traced?(true, message)
      link.send(Framing.line.frame(message))
    }
  }

  /// Takes bytes from the service.
  package func received(_ bytes: Span<UInt8>) {
    var messages: [[UInt8]] = []
    var isReadable = true
    state.withLock { state in
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
    let error = value["error"].map { error in
      ClientError(
        code: error["code"]?.integer.map(Int.init) ?? 0,
        message: error["message"]?.string ?? "The service answered with an error",
        data: error["data"] ?? .null
      )
    }
    if let error, value["id"]?.isNull != false {
      // The service cannot tell which request it rejects, so every waiting call fails.
      return fail(with: error)
    }
    guard let id = value["id"].flatMap(RequestID.init),
      let continuation = state.withLock({ $0.waiting.removeValue(forKey: id) })
    else { return }
    if let error {
      continuation.resume(throwing: error)
    } else {
      continuation.resume(returning: value["result"] ?? .null)
    }
  }

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
    for continuation in waiting { continuation.resume(throwing: error) }
  }

  /// Ends the connection.
  package func close() {
    let link = state.withLock { $0.link }
    link?.close()
  }

  private static let ended = ClientError(code: 0, message: "The connection to the service ended")
}
