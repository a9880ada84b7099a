import CordialProtocol
import CordialService
package import JSON
package import JSONRPC
package import PersistentStore

/// A connection that waits for a migration: what it sent, and what it can be answered before the
/// service exists.
///
/// Transitions:
/// - open to refused at bytes that are not a message, after their error.
package struct HeldConnection {
  /// A message that waits for the service.
  private struct Held {
    let bytes: [UInt8]
    /// The ID of a request; nil for a notification and for a batch.
    let id: RequestID?
    /// The token by which the client asked for progress, nil if it did not.
    let progressToken: JSONValue?
    /// The time after which the request fails, in microseconds; nil if it waits to the end.
    let deadline: Int64?
    /// Whether the client was notified that the work began.
    var hasBegun = false
  }

  private var decoder: FrameDecoder
  private var held: [Held] = []
  /// The number of bytes of the messages that wait.
  package private(set) var heldBytes = 0
  /// Whether the connection must be closed, after its last response.
  package private(set) var isRefused = false
  /// Whether the client sends nothing more.
  package var hasEnded = false

  /// Creates the connection of a new client.
  package init(framing: Framing?, messageBytesMax: Int) {
    decoder = FrameDecoder(framing: framing, messageBytesMax: messageBytesMax)
  }

  private var framing: Framing { decoder.framing ?? .line }

  // MARK: Input

  /// Receives bytes, and returns the responses that they get at once, as bytes.
  ///
  /// - Parameters:
  ///   - bytes: The next bytes of the client.
  ///   - status: The result of `status`.
  ///   - deadline: The time after which other requests fail, in microseconds.
  /// - Returns: The bytes for the client.
  package mutating func receive(_ bytes: Span<UInt8>, status: JSONValue, deadline: Int64) -> [UInt8]
  {
    guard !isRefused else { return [] }
    var messages: [[UInt8]] = []
    var hasFailed = false
    decoder.receive(bytes) { event, frame in
      if case .frame = event {
        messages.append(frame.indices.map { frame[$0] })
      } else {
        hasFailed = true
      }
    }
    var output = messages.reduce(into: [UInt8]()) { output, message in
      output += receive(message, status, deadline)
    }
    if hasFailed {
      isRefused = true
      let error = RPCError(.parseError, "While the store is migrated, this cannot be read")
      output += framing.frame(MessageWriter.error(.null, error))
    }
    return output
  }

  private mutating func receive(
    _ bytes: [UInt8],
    _ status: JSONValue,
    _ deadline: Int64
  ) -> [UInt8] {
    let value: JSONValue
    do {
      value = try JSONParser.parse(bytes.span)
    } catch {
      // The service reads the message again, and answers it.
      hold(Held(bytes: bytes, id: nil, progressToken: nil, deadline: nil))
      return []
    }
    let id = value["id"].flatMap(RequestID.init)
    let method = value["method"]?.string
    if let id, method == StatusCall.method.name { return result(id, status) }
    if let id, method == DiscoverCall.method.name { return result(id, OpenRPC.document) }
    if method == CancelNotification.method.name, let id = value["params"]?["id"] {
      return cancel(RequestID(id))
    }
    let token = value["params"]?["workDoneToken"].flatMap { $0.isNull ? nil : $0 }
    hold(
      Held(
        bytes: bytes,
        id: id,
        progressToken: id == nil ? nil : token,
        deadline: id == nil || token != nil ? nil : deadline
      )
    )
    return []
  }

  private mutating func hold(_ message: Held) {
    held.append(message)
    heldBytes += message.bytes.count
  }

  private mutating func remove(_ index: Int) {
    heldBytes -= held[index].bytes.count
    held.remove(at: index)
  }

  private func result(_ id: RequestID, _ result: JSONValue) -> [UInt8] {
    framing.frame(MessageWriter.result(id, Array(result.text.utf8)))
  }

  private mutating func cancel(_ id: RequestID?) -> [UInt8] {
    guard let id, let index = held.firstIndex(where: { $0.id == id }) else { return [] }
    remove(index)
    let error = RPCError(.requestCancelled, "The request was cancelled before it began")
    return framing.frame(MessageWriter.error(id, error))
  }

  // MARK: Progress

  /// Returns the notifications of a step, for the requests that asked for them.
  package mutating func report(_ progress: MigrationProgress) -> [UInt8] {
    var output: [UInt8] = []
    for index in held.indices {
      guard let token = held[index].progressToken else { continue }
      if !held[index].hasBegun {
        held[index].hasBegun = true
        output += framing.frame(MigrationProgress.notification(token, progress.begin))
      }
      output += framing.frame(MigrationProgress.notification(token, progress.report))
    }
    return output
  }

  /// Fails the requests whose time is over, and returns the errors.
  package mutating func expire(at time: Int64, _ progress: MigrationProgress?) -> [UInt8] {
    var output: [UInt8] = []
    for index in held.indices.reversed() {
      guard let deadline = held[index].deadline, deadline <= time, let id = held[index].id else {
        continue
      }
      var data: [JSONMember] = [
        JSONMember("code", .string(ErrorName.storeBusy.rawValue)),
        JSONMember("hint", "status shows the progress; a request with a workDoneToken waits"),
      ]
      if let progress { data.append(JSONMember("migrating", progress.json)) }
      let error = RPCError(
        code: ErrorName.storeBusy.code,
        message: "The store is being migrated",
        data: .object(data)
      )
      output = framing.frame(MessageWriter.error(id, error)) + output
      remove(index)
    }
    return output
  }

  // MARK: The end

  /// Whether the client sends nothing more and waits for nothing.
  package var isDone: Bool { hasEnded && held.isEmpty && decoder.incompleteBytes.isEmpty }

  /// Returns the errors of the requests that wait, where the store cannot be opened.
  package func failures(_ error: StoreError) -> [UInt8] {
    held.compactMap(\.id).reduce(into: []) { output, id in
      output += framing.frame(MessageWriter.error(id, RPCError(error)))
    }
  }

  /// Returns the last notifications of the requests that asked for progress.
  package func end() -> [UInt8] {
    held.filter(\.hasBegun).reduce(into: []) { output, message in
      guard let token = message.progressToken else { return }
      output += framing.frame(MigrationProgress.notification(token, MigrationProgress.end))
    }
  }

  /// The bytes that the service receives: the messages that wait, and an incomplete one.
  package var remainingInput: [UInt8] {
    held.reduce(into: []) { $0 += framing.frame($1.bytes) } + decoder.incompleteBytes
  }
}
