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
  /// The memory of the messages that wait, in bytes.
  package private(set) var heldBytes = 0
  /// The number of messages that wait.
  package var heldCount: Int { held.count }
  /// Whether the connection must be closed, after its last response.
  package private(set) var isRefused = false
  /// Whether the client sends nothing more.
  package var hasEnded = false

  private let limits: Connection.Limits
  /// Counts the memory of the messages that wait; nil for no common bound.
  private let account: ByteBudget.Account?

  /// Creates the connection of a new client.
  ///
  /// - Parameters:
  ///   - framing: The framing, nil to let the first bytes choose it.
  ///   - limits: The limits of the messages.
  ///   - account: Counts the memory of the messages that wait; nil for no common bound.
  package init(
    framing: Framing?,
    limits: Connection.Limits,
    account: ByteBudget.Account? = nil
  ) {
    decoder = FrameDecoder(
      framing: framing,
      messageBytesMax: limits.messageBytesMax,
      account: account
    )
    self.limits = limits
    self.account = account
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
    let memoryIsUsed = memoryIsUsed
    var failure: RPCError?
    decoder.receive(bytes) { event, frame in
      switch event {
      case .frame: messages.append(Self.copy(frame))
      case .dropped: failure = memoryIsUsed
      case .oversized, .unknownFraming, .fatal: failure = Self.unreadable
      }
    }
    var output = messages.reduce(into: [UInt8]()) { output, message in
      output += receive(message, status, deadline)
    }
    if let failure { output += refuse(failure) }
    return output
  }

  /// Drops the unfinished message, because the memory for messages is used up.
  ///
  /// - Returns: The bytes for the client, whose connection is refused.
  package mutating func dropUnfinished() -> [UInt8] {
    var isDropped = false
    decoder.dropUnfinished { _, _ in isDropped = true }
    return isDropped ? refuse(memoryIsUsed) : []
  }

  private mutating func refuse(_ error: RPCError) -> [UInt8] {
    isRefused = true
    return framing.frame(MessageWriter.error(.null, error))
  }

  private static let unreadable = RPCError(
    .parseError,
    "While the store is migrated, this cannot be read"
  )

  private var memoryIsUsed: RPCError {
    .exceeded(
      "processBytes",
      max: account?.announcedMax ?? .max,
      "The memory for the messages of all connections is used up; connect again later"
    )
  }

  private static func copy(_ frame: Span<UInt8>) -> [UInt8] {
    var message: [UInt8] = []
    message.reserveCapacity(frame.count)
    JSONBytes.append(frame, to: &message)
    return message
  }

  private mutating func receive(
    _ bytes: [UInt8],
    _ status: JSONValue,
    _ deadline: Int64
  ) -> [UInt8] {
    let value: JSONValue
    do {
      // The value is held during this call only.
      value = try JSONParser.measure(
        bytes.span,
        depthMax: limits.depthMax,
        valuesMax: limits.valuesMax,
        bytesMax: account?.messageBytesMax ?? .max
      ).value
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
    add(Self.memory(of: message))
  }

  private mutating func remove(_ index: Int) {
    add(-Self.memory(of: held[index]))
    held.remove(at: index)
  }

  /// The memory of a message beside its bytes.
  private static let overheadBytes = 256

  private static func memory(of message: Held) -> Int { message.bytes.count + overheadBytes }

  private mutating func add(_ bytes: Int) {
    heldBytes += bytes
    account?.addRequests(bytes)
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
    var output: [UInt8] = []
    let isExpired = { (message: Held) in message.deadline.map { $0 <= time } ?? false }
    for message in held where isExpired(message) {
      guard let id = message.id else { continue }
      output += framing.frame(MessageWriter.error(id, error))
      add(-Self.memory(of: message))
    }
    held.removeAll(where: isExpired)
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

  /// Releases the memory, because the service has the messages.
  package func release() { account?.close() }

  /// The bytes that the service receives: the messages that wait, and an incomplete one.
  package var remainingInput: [UInt8] {
    held.reduce(into: []) { $0 += framing.frame($1.bytes) } + decoder.incompleteBytes
  }
}
