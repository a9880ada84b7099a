import JSON

/// An event of a connection, for the owner of the connection to handle.
package enum ConnectionEvent: Sendable, Equatable {
  case message(Message)
  /// The elements of a batch, in order; an element that is not a message carries its error.
  case batch([BatchElement])
  /// An error to send that belongs to no request.
  case reject(RPCError)
  /// The end of the connection, after everything before it was sent.
  case close
}

/// An element of a batch.
package enum BatchElement: Sendable, Equatable {
  case message(Message)
  case invalid(RPCError)
}

/// A connection, which turns received bytes into messages.
package struct Connection {
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

    /// A save of 200,000 objects with 20 properties has fewer values.
    package static let valuesMaxDefault = 5_000_000
  }

  private let reader: FrameReader
  private var frames: FrameDecoder
  /// Whether `close` was reported; no event follows it.
  private var isClosed = false
  /// The memory of the messages that were reported since the last `takeHeldBytes()`.
  private var heldBytes = 0

  /// Creates a connection that has received no bytes.
  ///
  /// - Parameters:
  ///   - framing: The framing if it is known in advance, otherwise nil.
  ///   - limits: The limits of the connection's messages.
  ///   - closesOnUnknownFraming: Whether bytes of no framing end the connection, as on a socket.
  package init(framing: Framing? = nil, limits: Limits, closesOnUnknownFraming: Bool) {
    reader = FrameReader(limits: limits, closesOnUnknownFraming: closesOnUnknownFraming)
    frames = FrameDecoder(framing: framing, messageBytesMax: limits.messageBytesMax)
  }

  /// The peer's framing; `line` until the first bytes choose it.
  package var framing: Framing { frames.framing ?? .line }

  /// Receives bytes and reports the events that they complete.
  ///
  /// - Parameters:
  ///   - bytes: The next bytes of the stream.
  ///   - emit: Called for each event, in order.
  package mutating func receive(_ bytes: Span<UInt8>, _ emit: (ConnectionEvent) -> Void) {
    guard !isClosed else { return }
    var found: [ConnectionEvent] = []
    let reader = reader
    var held = 0
    frames.receive(bytes) { event, frame in found += reader.events(for: event, frame, &held) }
    heldBytes += held
    self.report(found, emit)
  }

  /// Reports the events that the end of the stream completes.
  package mutating func end(_ emit: (ConnectionEvent) -> Void) {
    guard !isClosed else { return }
    var found: [ConnectionEvent] = []
    let reader = reader
    var held = 0
    frames.end { event, frame in found += reader.events(for: event, frame, &held) }
    heldBytes += held
    self.report(found, emit)
  }

  /// Returns the memory of the messages that were reported since the last call, in bytes: that of
  /// their texts or of their values, whichever is greater.
  package mutating func takeHeldBytes() -> Int {
    defer { heldBytes = 0 }
    return heldBytes
  }

  private mutating func report(_ events: [ConnectionEvent], _ emit: (ConnectionEvent) -> Void) {
    for event in events where !isClosed {
      isClosed = event == .close
      emit(event)
    }
  }
}

/// A reader of the messages in frames.
private struct FrameReader: Sendable {
  let limits: Connection.Limits
  let closesOnUnknownFraming: Bool

  /// Returns the events of a frame, and adds the memory of its message.
  func events(
    for event: FrameDecoder.Event,
    _ frame: Span<UInt8>,
    _ heldBytes: inout Int
  ) -> [ConnectionEvent] {
    switch event {
    case .frame(let framing): return [message(in: frame, framing, &heldBytes)]
    case .oversized:
      let error = RPCError(
        code: 1302,
        message: "A message is at most \(limits.messageBytesMax) bytes",
        data: [
          "code": "limitExceeded", "limit": "messageBytes",
          "max": .integer(Int64(limits.messageBytesMax)),
        ]
      )
      return [.reject(error)]
    case .unknownFraming:
      let error = RPCError(
        .parseError,
        "A connection begins with { or [, one JSON text per line, or with Content-Length headers"
      )
      return closesOnUnknownFraming ? [.reject(error), .close] : [.reject(error)]
    case .fatal(let reason): return [.reject(RPCError(.parseError, reason)), .close]
    }
  }

  private func message(
    in frame: Span<UInt8>,
    _ framing: Framing,
    _ heldBytes: inout Int
  ) -> ConnectionEvent {
    let value: JSONValue
    do {
      let measured = try JSONParser.measure(
        frame,
        depthMax: limits.depthMax,
        valuesMax: limits.valuesMax
      )
      value = measured.value
      heldBytes += max(frame.count, measured.bytes)
    } catch {
      guard error.code == .tooManyValues else {
        return .reject(RPCError(.parseError, error.message))
      }
      let refusal = RPCError(
        code: 1302,
        message: "A message has at most \(limits.valuesMax) values",
        data: [
          "code": "limitExceeded", "limit": "values", "max": .integer(Int64(limits.valuesMax)),
        ]
      )
      return .reject(refusal)
    }
    do {
      guard case .array(let elements) = value else { return .message(try Message(value)) }
      return try batch(elements, framing)
    } catch {
      return .reject(error)
    }
  }

  private func batch(
    _ elements: [JSONValue],
    _ framing: Framing
  ) throws(RPCError) -> ConnectionEvent {
    guard framing == .line else {
      throw RPCError(.invalidRequest, "Batches are for line framing; LSP's base protocol has none")
    }
    guard !elements.isEmpty else { throw RPCError(.invalidRequest, "A batch is not empty") }
    guard elements.count <= limits.batchMax else {
      throw RPCError(
        code: 1302,
        message: "A batch has at most \(limits.batchMax) requests",
        data: ["code": "limitExceeded", "limit": "batch", "max": .integer(Int64(limits.batchMax))]
      )
    }
    return .batch(
      elements.map { element in
        do throws(RPCError) {
          return .message(try Message(element))
        } catch {
          return .invalid(error)
        }
      }
    )
  }
}
