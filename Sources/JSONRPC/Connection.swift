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

    package init(messageBytesMax: Int, depthMax: Int, batchMax: Int) {
      self.messageBytesMax = messageBytesMax
      self.depthMax = depthMax
      self.batchMax = batchMax
    }
  }

  private let reader: FrameReader
  private var frames: FrameDecoder
  /// Whether `close` was reported; no event follows it.
  private var isClosed = false

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
    frames.receive(bytes) { event, frame in found += reader.events(for: event, frame) }
    self.report(found, emit)
  }

  /// Reports the events that the end of the stream completes.
  package mutating func end(_ emit: (ConnectionEvent) -> Void) {
    guard !isClosed else { return }
    var found: [ConnectionEvent] = []
    let reader = reader
    frames.end { event, frame in found += reader.events(for: event, frame) }
    self.report(found, emit)
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

  func events(for event: FrameDecoder.Event, _ frame: Span<UInt8>) -> [ConnectionEvent] {
    switch event {
    case .frame(let framing): return [message(in: frame, framing)]
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

  private func message(in frame: Span<UInt8>, _ framing: Framing) -> ConnectionEvent {
    let value: JSONValue
    do {
      value = try JSONParser.parse(frame, depthMax: limits.depthMax)
    } catch {
      return .reject(RPCError(.parseError, error.message))
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
