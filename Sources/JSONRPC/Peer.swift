import DequeModule
package import JSON

/// The state of a connection with a peer: received bytes become requests, and responses become
/// bytes.
///
/// The code that answers requests takes each request with `next()` and gives one response to it,
/// immediately or later. The owner of the connection takes the bytes with `takeOutput()`, because a
/// channel may report events during a write.
///
/// `Peer` is a class, because other modules would copy a struct of its size at each access. Its
/// `Sendable` conformance is unchecked, because only the owner of the connection uses the peer, on
/// the loop of its channel. The owner is a session of a service, a mock's connection, or a gate
/// that passes the peer on.
package final class Peer: @unchecked Sendable {
  /// A request of the peer, which gets exactly one response.
  package struct Request: Sendable {
    package let id: RequestID
    package let method: String
    package let params: JSONValue
    /// The memory of the request, in bytes; the account counts it until the response.
    package let bytes: Int
    package let isInBatch: Bool
    /// The answer slot of the response.
    fileprivate let slot: Int
    fileprivate let isPreceded: Bool
    /// Whether the request is the handshake that the lifecycle has admitted.
    package fileprivate(set) var isHandshake: Bool
  }

  /// A request or a cancellation of the peer.
  package enum Event: Sendable {
    case request(Request)
    /// The peer no longer needs the response to a request, but still receives a response.
    case cancellation(RequestID)
  }

  private enum Pending: Sendable {
    case received(MessageDecoder.Event)
    /// An admitted request: an element of a batch, or a request that was put back.
    case request(Request)
    case notification(method: String, params: JSONValue)
  }

  private var decoder: MessageDecoder
  private var lifecycle = Lifecycle()
  private var order = AnswerOrder()
  /// The account of the connection's memory.
  package let account: ByteBudget.Account
  private let observer: (any PeerObserver)?
  private let isPreceded: @Sendable (String) -> Bool
  private var pending: Deque<Pending> = []
  private var inputHasEnded = false
  /// The phase of the connection, from open input to the closed channel.
  private var phase = ConnectionPhase.open
  /// The memory of the pending messages and of the requests without a response, in bytes.
  package private(set) var requestBytes = 0
  private var output: [[UInt8]] = []
  /// The number of bytes that `takeOutput()` returns next.
  package private(set) var outputBytes = 0

  /// The maximum length of a message that is copied into a piece with other messages, in bytes.
  private static let gatheredMax = 1 << 16

  /// Creates the state of a new connection.
  ///
  /// - Parameters:
  ///   - framing: The framing if it is known in advance, otherwise nil.
  ///   - dialects: The dialects that the peer may use, one for each framing.
  ///   - limits: The limits of the connection's messages.
  ///   - closesOnUnknownFraming: Whether bytes of neither framing end the connection, as on a
  ///     socket.
  ///   - account: The account of the connection's memory.
  ///   - observer: The observer of the messages; nil for none.
  ///   - isPreceded: Returns whether other messages may have to precede the response of a method;
  ///     the response to a batch with such a request is sent as a whole.
  package init(
    framing: Framing? = nil,
    dialects: [Dialect] = Dialect.all,
    limits: MessageDecoder.Limits,
    closesOnUnknownFraming: Bool,
    account: ByteBudget.Account,
    observer: (any PeerObserver)? = nil,
    isPreceded: @escaping @Sendable (String) -> Bool = { _ in false }
  ) {
    decoder = MessageDecoder(
      framing: framing,
      dialects: dialects,
      limits: limits,
      closesOnUnknownFraming: closesOnUnknownFraming,
      account: account,
      observer: observer
    )
    self.account = account
    self.observer = observer
    self.isPreceded = isPreceded
  }

  // MARK: Input

  /// Whether the connection reads further bytes of the peer.
  package var reads: Bool { phase.reads && !inputHasEnded }

  /// Receives the next bytes of the stream.
  package func receive(_ bytes: Span<UInt8>) {
    guard reads else { return }
    add(decoder.receive(bytes))
  }

  /// Receives the end of the stream; the connection ends when all requests are answered.
  package func endInput() {
    guard reads else { return }
    add(decoder.end())
    inputHasEnded = true
  }

  /// Drops the unfinished message, because the memory for messages is used up.
  package func dropUnfinished() {
    let events = decoder.dropUnfinished()
    if reads { add(events) }
  }

  /// Drops the unfinished message if the budget requested this before the connection got its owner.
  package func dropIfAsked() {
    if account.isDropping { dropUnfinished() }
  }

  /// Stops reading messages; the connection ends when all requests are answered.
  package func stop() {
    phase.endInput(exitCode: 0)
  }

  private func add(_ events: [MessageDecoder.Event]) {
    for event in events {
      requestBytes += event.bytes
      pending.append(.received(event))
    }
  }

  /// Puts requests back, so that `next()` returns them before all others, in this order.
  ///
  /// - Parameter requests: Requests without a response.
  package func putBack(_ requests: [Request]) {
    for request in requests.reversed() { pending.prepend(.request(request)) }
  }

  /// The number of received messages that `next()` has not returned yet.
  package var pendingCount: Int { pending.count }

  /// Returns the next request or cancellation of the peer; nil until the peer sends more.
  ///
  /// The method itself answers messages that need no other code, such as refused requests.
  package func next() -> Event? {
    while let message = pending.popFirst() {
      switch message {
      case .request(let request):
        // The handshake may have failed since the request was admitted.
        guard !lifecycle.isBeforeHandshake(dialect) || request.isHandshake else {
          let error = RPCError(.serverNotInitialized, "initialize comes first, but it failed")
          respond(.failure(error), to: request)
          continue
        }
        return .request(request)
      case .notification(let method, let params):
        if let event = notified(method, params) { return event }
      case .received(let event):
        guard phase.reads else {
          release(event.bytes)
          continue
        }
        if let event = take(event) { return event }
      }
    }
    if inputHasEnded { phase.endInput() }
    return nil
  }

  private func take(_ event: MessageDecoder.Event) -> Event? {
    switch event {
    case .message(.request(let id, let method, let params), let bytes):
      let request = Request(
        id: id,
        method: method,
        params: params,
        bytes: bytes,
        isInBatch: false,
        slot: order.take(),
        isPreceded: false,
        isHandshake: method == Lifecycle.handshake
      )
      return admit(request)
    case .message(.notification(let method, let params), let bytes):
      release(bytes)
      return notified(method, params)
    case .message(.response, let bytes): release(bytes)
    case .batch(let elements, let bytes): take(elements, bytes)
    case .reject(let error):
      order.insert(MessageBytes(MessageWriter.error(.null, error)), inOrder: keepsOrder)
      collect()
    case .close: phase.endInput(exitCode: 1)
    }
    return nil
  }

  /// Returns a request if it is admitted; otherwise answers the request.
  private func admit(_ request: Request) -> Event? {
    switch lifecycle.admit(request.method, dialect) {
    case .dispatch: return .request(request)
    case .answer(let result):
      let response = MessageWriter.result(request.id, Array(result.text.utf8))
      respond(.success(MessageBytes(response)), to: request)
    case .reject(let error):
      // A refused second handshake does not end the first handshake.
      var refused = request
      refused.isHandshake = false
      respond(.failure(error), to: refused)
    }
    return nil
  }

  private func take(_ elements: [BatchElement], _ bytes: Int) {
    let bytesEach = bytes / elements.count
    var known: [MessageBytes] = []
    var admitted: [Message] = []
    var (requestCount, precededCount) = (0, 0)
    for element in elements {
      switch element {
      case .invalid(let error): known.append(MessageBytes(MessageWriter.error(.null, error)))
      case .message(.request(let id, let method, let params)):
        switch lifecycle.admit(method, dialect) {
        case .dispatch:
          admitted.append(.request(id: id, method: method, params: params))
          requestCount += 1
          if isPreceded(method) { precededCount += 1 }
        case .answer(let result):
          known.append(MessageBytes(MessageWriter.result(id, Array(result.text.utf8))))
        case .reject(let error): known.append(MessageBytes(MessageWriter.error(id, error)))
        }
      case .message(let message): admitted.append(message)
      }
    }
    let slot = order.take(
      for: requestCount,
      preceded: precededCount,
      parts: known,
      isBatch: true
    )
    release(bytes - bytesEach * requestCount)
    order.release(slot, inOrder: keepsOrder)
    collect()
    for message in admitted.reversed() {
      switch message {
      case .request(let id, let method, let params):
        let request = Request(
          id: id,
          method: method,
          params: params,
          bytes: bytesEach,
          isInBatch: true,
          slot: slot,
          isPreceded: isPreceded(method),
          isHandshake: method == Lifecycle.handshake
        )
        pending.prepend(.request(request))
      case .notification(let method, let params):
        pending.prepend(.notification(method: method, params: params))
      case .response: break
      }
    }
  }

  private func notified(_ method: String, _ params: JSONValue) -> Event? {
    switch lifecycle.admit(notification: method, dialect) {
    case .dispatch: dialect.cancelled(method, params).map(Event.cancellation)
    // A peer that has shut down the connection may still cancel requests without a response.
    case .drop where lifecycle.isShutDown:
      dialect.cancelled(method, params).map(Event.cancellation)
    case .drop: nil
    case .exit(let code): end(exitCode: code)
    }
  }

  /// Ends the input; earlier requests are answered before the connection ends.
  private func end(exitCode: Int32) -> Event? {
    phase.endInput(exitCode: exitCode)
    return nil
  }

  private func release(_ bytes: Int) {
    requestBytes -= bytes
    account.addRequests(-bytes)
  }

  // MARK: The handshake

  private var dialect: Dialect { decoder.dialect }

  /// Whether responses keep the order of the requests.
  package var keepsOrder: Bool { !lifecycle.isInitialized && dialect.keepsOrder }

  /// Whether requests are refused until `initialize` succeeds.
  package var needsHandshake: Bool { dialect.needsHandshake && !lifecycle.isInitialized }

  // MARK: Responses

  /// Answers a request.
  ///
  /// - Parameters:
  ///   - response: The whole response.
  ///   - isError: Whether the response has an error.
  ///   - request: The request, which has no response yet.
  ///   - atOnce: Whether the response overtakes the responses of earlier requests in any dialect.
  package func respond(
    _ response: MessageBytes,
    isError: Bool,
    to request: Request,
    atOnce: Bool = false
  ) {
    release(request.bytes)
    if request.isHandshake { lifecycle.initializeEnded(succeeded: !isError) }
    order.answer(
      response,
      at: request.slot,
      isPreceded: request.isPreceded,
      inOrder: keepsOrder && !atOnce
    )
    collect()
  }

  /// Answers a request with a whole response, or with an error.
  package func respond(
    _ outcome: Result<MessageBytes, RPCError>,
    to request: Request,
    atOnce: Bool = false
  ) {
    switch outcome {
    case .success(let response): respond(response, isError: false, to: request, atOnce: atOnce)
    case .failure(let error):
      let response = MessageBytes(MessageWriter.error(request.id, error))
      respond(response, isError: true, to: request, atOnce: atOnce)
    }
  }

  /// Sends a notification; while the array of a batch is open, the notification waits until the
  /// array is closed.
  package func notify(_ message: MessageBytes) {
    order.insertNotification(message)
    collect()
  }

  /// Whether a batch's array is open, so that notifications have to wait.
  package var isArrayOpen: Bool { order.isArrayOpen }

  /// The number of requests and batches whose responses were not sent yet.
  package var unansweredCount: Int { order.count }

  /// The number of bytes of the responses that wait for other responses.
  package var heldBytes: Int { order.heldBytes }

  /// Decides whether a request may begin, depending on the responses that wait for other responses.
  ///
  /// - Parameters:
  ///   - request: The next request to begin.
  ///   - heldMax: The number of held bytes at which requests wait.
  ///   - wholeMax: The maximum length of a batch that has to be sent as a whole.
  /// - Returns: The decision.
  package func admission(
    of request: Request,
    heldMax: Int,
    wholeMax: Int
  ) -> AnswerOrder.Admission {
    order.admission(
      at: request.slot,
      heldMax: heldMax,
      wholeMax: wholeMax,
      inOrder: keepsOrder
    )
  }

  /// Returns whether the response of a request belongs to a batch that has to be sent as a whole
  /// and already holds responses.
  package func isWhole(_ request: Request) -> Bool { order.isWhole(request.slot) }

  // MARK: Output

  /// Removes and returns the bytes to send next, in pieces.
  package func takeOutput() -> [[UInt8]] {
    defer {
      output = []
      outputBytes = 0
    }
    return output
  }

  private func collect() {
    while let ready = order.takeReady() { append(ready.bytes, isEnd: ready.isEnd) }
  }

  private func append(_ message: MessageBytes, isEnd: Bool) {
    guard phase.sends else { return }
    observer?.sent(message.pieces, isEnd: isEnd)
    let framing = decoder.framing
    gather(framing.head(of: message.count))
    if message.count > Self.gatheredMax {
      // A long message keeps its pieces, because copying tens of megabytes takes too long.
      output += message.pieces
      outputBytes += message.count
    } else {
      for piece in message.pieces { gather(piece) }
    }
    if isEnd { gather(framing.tail) }
  }

  /// Appends bytes to the last piece if that piece is short, otherwise adds a piece.
  private func gather(_ bytes: [UInt8]) {
    outputBytes += bytes.count
    if let last = output.indices.last, output[last].count <= Self.gatheredMax {
      output[last] += bytes
    } else {
      output.append(bytes)
    }
  }

  // MARK: The end

  /// Whether responses and notifications are sent.
  package var sends: Bool { phase.sends }

  /// Whether the connection has ended.
  package var isClosed: Bool { phase == .closed }

  /// Ends the connection if its input has ended; called when all requests are answered.
  package func endIfDone() {
    if inputHasEnded, pending.isEmpty { phase.endInput() }
    let isAbrupt = dialect.needsShutdown && !lifecycle.isShutDown
    phase.drained(exitCode: isAbrupt ? 1 : 0)
  }

  /// Ends a connection that cannot continue, after the output so far is sent.
  package func fail() {
    phase.fail()
  }

  /// Returns the exit code for closing the connection.
  ///
  /// The method returns nil while the connection is open, and after it has returned the exit code
  /// once.
  package func takeEnd() -> Int32? {
    phase.sends ? nil : phase.end()
  }

  /// Discards all messages that were not processed or sent, because the peer has disconnected.
  package func disconnect() {
    _ = phase.end()
    pending = []
    output = []
    outputBytes = 0
    account.close()
  }
}
