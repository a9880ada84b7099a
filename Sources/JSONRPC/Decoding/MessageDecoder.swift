import JSON

/// An element of a batch.
package enum BatchElement: Sendable, Equatable {
  case message(Message)
  case invalid(RPCError)
}

/// A decoder of received bytes into messages, however the bytes are cut into pieces.
package struct MessageDecoder: Sendable {
  /// A result of decoding received bytes.
  package enum Event: Sendable, Equatable {
    /// A message and its memory in bytes: the memory of its text or of its value, whichever is
    /// greater.
    ///
    /// The connection's account counts the memory until the caller subtracts it.
    case message(Message, bytes: Int)
    /// The elements of a batch in order, and the memory of all elements; an invalid element carries
    /// its error.
    case batch([BatchElement], bytes: Int)
    /// An error that the connection sends without the ID of a request.
    case reject(RPCError)
    /// The end of the connection, after the responses to all earlier messages were sent.
    case close

    /// The memory of the messages, in bytes.
    package var bytes: Int {
      switch self {
      case .message(_, let bytes), .batch(_, let bytes): bytes
      case .reject, .close: 0
      }
    }
  }

  /// The limits of a connection's messages.
  package struct Limits: Sendable {
    package let messageBytesMax: Int
    package let depthMax: Int
    package let batchMax: Int
    /// The maximum number of values of a message, arrays and objects included.
    package let valuesMax: Int

    package init(
      messageBytesMax: Int,
      depthMax: Int,
      batchMax: Int,
      valuesMax: Int = valuesMaxDefault
    ) {
      self.messageBytesMax = messageBytesMax
      self.depthMax = depthMax
      self.batchMax = batchMax
      self.valuesMax = valuesMax
    }

    /// The default for `valuesMax`; a save of 200,000 objects with 20 properties has fewer values.
    package static let valuesMaxDefault = 5_000_000
  }

  private let dialects: [Dialect]
  private let reader: FrameReader
  private var frames: FrameDecoder
  /// Whether `close` was reported; no event follows it.
  private var isClosed = false

  /// Creates a decoder for a new connection.
  ///
  /// - Parameters:
  ///   - framing: The framing if it is known in advance, otherwise nil.
  ///   - dialects: The dialects that the peer may use, one for each framing.
  ///   - limits: The limits of the connection's messages.
  ///   - closesOnUnknownFraming: Whether bytes of neither framing end the connection, as on a
  ///     socket.
  ///   - account: The account of the connection's messages; nil if their memory has no limit.
  ///   - observer: The observer of the messages; nil for none.
  package init(
    framing: Framing? = nil,
    dialects: [Dialect] = Dialect.all,
    limits: Limits,
    closesOnUnknownFraming: Bool,
    account: ByteBudget.Account? = nil,
    observer: (any PeerObserver)? = nil
  ) {
    self.dialects = dialects
    dialect = Self.dialect(of: framing ?? .line, dialects)
    reader = FrameReader(
      dialects: dialects,
      limits: limits,
      closesOnUnknownFraming: closesOnUnknownFraming,
      account: account,
      observer: observer
    )
    frames = FrameDecoder(
      framing: framing,
      messageBytesMax: limits.messageBytesMax,
      account: account
    )
  }

  /// The peer's framing; `line` until the first bytes choose it.
  package var framing: Framing { frames.framing ?? .line }

  /// The peer's dialect; the dialect for lines until the first bytes choose the framing.
  package private(set) var dialect: Dialect

  private static func dialect(of framing: Framing, _ dialects: [Dialect]) -> Dialect {
    dialects.first { $0.framing == framing } ?? dialects.first ?? .lines
  }

  /// Receives the next bytes of the stream, and returns the events that they complete, in order.
  package mutating func receive(_ bytes: Span<UInt8>) -> [Event] {
    guard !isClosed else { return [] }
    var found: [Event] = []
    let reader = reader
    frames.receive(bytes) { event, frame in found += reader.events(for: event, frame) }
    if framing != dialect.framing { dialect = Self.dialect(of: framing, dialects) }
    return untilClose(found)
  }

  /// Returns the events that the end of the stream completes.
  package mutating func end() -> [Event] {
    guard !isClosed else { return [] }
    var found: [Event] = []
    let reader = reader
    frames.end { event, frame in found += reader.events(for: event, frame) }
    return untilClose(found)
  }

  /// Drops the unfinished message, because the memory for messages is used up.
  ///
  /// - Returns: The error of the dropped message, or nothing if no message was dropped.
  package mutating func dropUnfinished() -> [Event] {
    guard !isClosed else { return [] }
    var found: [Event] = []
    let reader = reader
    frames.dropUnfinished { event, frame in found += reader.events(for: event, frame) }
    return untilClose(found)
  }

  private mutating func untilClose(_ events: [Event]) -> [Event] {
    guard let close = events.firstIndex(of: .close) else { return events }
    isClosed = true
    return Array(events[...close])
  }
}

/// A reader of the messages in frames.
private struct FrameReader: Sendable {
  typealias Event = MessageDecoder.Event

  let dialects: [Dialect]
  let limits: MessageDecoder.Limits
  let closesOnUnknownFraming: Bool
  let account: ByteBudget.Account?
  let observer: (any PeerObserver)?

  func events(for event: FrameDecoder.Event, _ frame: Span<UInt8>) -> [Event] {
    switch event {
    case .frame(let framing): return [message(in: frame, framing)]
    case .oversized:
      let max = limits.messageBytesMax
      observer?.omitted(limit: "messageBytes")
      return [.reject(.exceeded("messageBytes", max: max, "A message is at most \(max) bytes"))]
    case .dropped:
      observer?.omitted(limit: "processBytes")
      return [.reject(memoryIsUsed)]
    case .unknownFraming:
      let error = RPCError(
        .parseError,
        "A connection begins with { or [, one JSON text per line, or with Content-Length headers"
      )
      return closesOnUnknownFraming ? [.reject(error), .close] : [.reject(error)]
    case .fatal(let reason): return [.reject(RPCError(.parseError, reason)), .close]
    }
  }

  private func message(in frame: Span<UInt8>, _ framing: Framing) -> Event {
    let parsed: JSONParser.Measured
    let growth = account.flatMap { ByteBudget.isLong(frame.count) ? RequestGrowth($0) : nil }
    defer { growth?.end() }
    let bytesMax = account?.messageBytesMax ?? .max
    do {
      parsed = try JSONParser.measure(
        frame,
        depthMax: limits.depthMax,
        valuesMax: limits.valuesMax,
        bytesMax: bytesMax,
        meter: growth
      )
    } catch {
      observe(error, frame)
      return .reject(rejection(error, bytesMax: bytesMax))
    }
    observer?.received(parsed.value)
    do {
      let event: Event
      let bytes = max(frame.count, parsed.bytes)
      if case .array(let elements) = parsed.value {
        event = .batch(try batch(elements, framing), bytes: bytes)
      } else {
        event = .message(try Message(parsed.value), bytes: bytes)
      }
      if let growth { growth.end(asRequestOf: bytes) } else { account?.addRequests(bytes) }
      return event
    } catch {
      return .reject(error)
    }
  }

  private func observe(_ error: JSONError, _ frame: Span<UInt8>) {
    switch error.code {
    case .tooManyValues: observer?.omitted(limit: "values")
    case .tooLarge: observer?.omitted(limit: "processBytes")
    default: observer?.received(unreadable: frame)
    }
  }

  private func rejection(_ error: JSONError, bytesMax: Int) -> RPCError {
    switch error.code {
    case .tooManyValues:
      let max = limits.valuesMax
      return .exceeded("values", max: max, "A message has at most \(max) values")
    case .tooLarge:
      // If nearly all memory was available and the message did not fit, no attempt succeeds.
      // Otherwise, the message may fit when the client sends it again.
      guard let alone = account?.messageBytesAlone, bytesMax > alone / 10 * 9 else {
        return memoryIsUsed
      }
      return .exceeded(
        "processBytes",
        max: account?.announcedMax ?? .max,
        "The values of a message take at most \(alone) bytes of memory; send them in parts"
      )
    default: return RPCError(.parseError, error.message)
    }
  }

  /// The error of a message that does not fit in the remaining memory.
  private var memoryIsUsed: RPCError {
    .exceeded(
      "processBytes",
      max: account?.announcedMax ?? .max,
      "The memory for the messages of all connections is used up; send it again later"
    )
  }

  private func batch(
    _ elements: [JSONValue],
    _ framing: Framing
  ) throws(RPCError) -> [BatchElement] {
    guard dialects.contains(where: { $0.framing == framing && $0.allowsBatches }) else {
      throw RPCError(.invalidRequest, "Batches are for line framing; LSP's base protocol has none")
    }
    guard !elements.isEmpty else { throw RPCError(.invalidRequest, "A batch is not empty") }
    guard elements.count <= limits.batchMax else {
      let max = limits.batchMax
      throw .exceeded("batch", max: max, "A batch has at most \(max) requests")
    }
    return elements.map { element in
      do throws(RPCError) {
        return .message(try Message(element))
      } catch {
        return .invalid(error)
      }
    }
  }
}
