import DequeModule
package import JSON

/// The state of a connection with a peer: received bytes become requests, and responses become
/// bytes.
///
/// Whatever answers the requests takes them one by one with `next()` and gives one response for
/// each, now or later. The owner of the connection takes the bytes with `takeOutput()`, because
/// what it writes them to may report events during a write.
///
/// It is a class because a struct of its size would be copied wherever another module asks it. It
/// is unchecked because only the owner of the connection uses it, on the loop of its channel: a
/// session of a service, a mock's connection, or a gate, which gives it away.
package final class Peer: @unchecked Sendable {
  /// A request of the peer, which gets exactly one response.
  package struct Request: Sendable {
    package let id: RequestID
    package let method: String
    package let params: JSONValue
    /// The memory of the request, in bytes, which is counted until its response.
    package let bytes: Int
    package let isInBatch: Bool
    /// The place of the response among those of the connection.
    fileprivate let slot: Int
    fileprivate let isPreceded: Bool
    /// Whether the request is the handshake that the lifecycle has let through.
    package fileprivate(set) var isHandshake: Bool
  }

  /// What the peer asks for.
  package enum Event: Sendable {
    case request(Request)
    /// A request needs no answer any more; it gets one nevertheless.
    case cancellation(RequestID)
  }

  private enum Pending: Sendable {
    case received(MessageDecoder.Event)
    /// An element of a batch whose other elements are known.
    case request(Request)
    case notification(method: String, params: JSONValue)
  }

  private var decoder: MessageDecoder
  private var lifecycle = Lifecycle()
  private var order = AnswerOrder()
  /// Counts the memory of the connection.
  package let account: ByteBudget.Account
  private let observer: (any PeerObserver)?
  private let isPreceded: @Sendable (String) -> Bool
  private var pending: Deque<Pending> = []
  private var inputHasEnded = false
  /// The progress from the end of the input to the end of the connection.
  private var phase = ConnectionPhase.open
  /// The memory of the messages that are pending and of the requests without a response, in bytes.
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
  ///   - dialects: The dialects by which the peer may speak, one for each framing.
  ///   - limits: The limits of the connection's messages.
  ///   - closesOnUnknownFraming: Whether bytes of no framing end the connection, as on a socket.
  ///   - account: Counts the memory of the connection.
  ///   - observer: Sees the messages; nil for none.
  ///   - isPreceded: Whether other messages may have to precede the response of a method, so that
  ///     a batch with such a request is answered as a whole.
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

  /// Whether further bytes of the peer are read.
  package var reads: Bool { phase.reads && !inputHasEnded }

  /// Receives the next bytes of the stream.
  package func receive(_ bytes: Span<UInt8>) {
    guard reads else { return }
    add(decoder.receive(bytes))
  }

  /// Receives the end of the stream: the connection ends when all is answered.
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

  /// Drops the unfinished message if that was asked for before the connection got its owner.
  package func dropIfAsked() {
    if account.isDropping { dropUnfinished() }
  }

  /// Reads no further message: the connection ends when all is answered.
  package func stop() {
    phase.endInput(exitCode: 0)
  }

  private func add(_ events: [MessageDecoder.Event]) {
    for event in events {
      requestBytes += event.bytes
      pending.append(.received(event))
    }
  }

  /// Lets `next()` return requests again, before all others and in this order.
  ///
  /// - Parameter requests: Requests without a response.
  package func putBack(_ requests: [Request]) {
    for request in requests.reversed() { pending.prepend(.request(request)) }
  }

  /// The number of messages that were received and that `next()` has not returned.
  package var pendingCount: Int { pending.count }

  /// Returns what the peer asks for next; nil until it sends more.
  ///
  /// Messages that the connection answers itself are answered in between.
  package func next() -> Event? {
    while let message = pending.popFirst() {
      switch message {
      case .request(let request):
        // The handshake may have failed since the request was let through.
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

  /// Lets a request through, or answers it.
  private func admit(_ request: Request) -> Event? {
    switch lifecycle.admit(request.method, dialect) {
    case .dispatch: return .request(request)
    case .answer(let result):
      let response = MessageWriter.result(request.id, Array(result.text.utf8))
      respond(.success(MessageBytes(response)), to: request)
    case .reject(let error):
      // A second handshake that is refused does not end the first one.
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
    // A peer that ends the connection may still stop what it waits for.
    case .drop where lifecycle.isShutDown:
      dialect.cancelled(method, params).map(Event.cancellation)
    case .drop: nil
    case .exit(let code): end(exitCode: code)
    }
  }

  /// Ends the input; earlier requests are answered first.
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
  ///   - isError: Whether it has an error.
  ///   - request: The request, which has no response yet.
  ///   - atOnce: Whether the response overtakes those of earlier requests in any dialect.
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

  /// Sends a notification, after the end of an array that is open.
  package func notify(_ message: MessageBytes) {
    order.insertNotification(message)
    collect()
  }

  /// Whether a batch is being sent, into which no notification can be sent.
  package var isArrayOpen: Bool { order.isArrayOpen }

  /// The number of requests and batches whose responses are not sent.
  package var unansweredCount: Int { order.count }

  /// The number of bytes of the responses that wait for others.
  package var heldBytes: Int { order.heldBytes }

  /// Decides whether a request may begin, as far as the responses that wait are concerned.
  ///
  /// - Parameters:
  ///   - request: The next request that begins.
  ///   - heldMax: The number of held bytes from which requests wait.
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

  /// Whether the response of a request belongs to a batch that has to be sent as a whole.
  package func isWhole(_ request: Request) -> Bool { order.isWhole(request.slot) }

  // MARK: Output

  /// Removes and returns the bytes that are sent next, in pieces.
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
      // Copying some ten megabytes takes longer than reading them.
      output += message.pieces
      outputBytes += message.count
    } else {
      for piece in message.pieces { gather(piece) }
    }
    if isEnd { gather(framing.tail) }
  }

  /// Appends bytes to the last piece if it is short, otherwise adds a piece.
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

  /// Ends a connection that cannot be continued, after what was sent.
  package func fail() {
    phase.fail()
  }

  /// Returns the exit code of a connection that its owner has to close, once; nil for an open one.
  package func takeEnd() -> Int32? {
    phase.sends ? nil : phase.end()
  }

  /// Forgets what is not sent, because the peer has disconnected.
  package func disconnect() {
    _ = phase.end()
    pending = []
    output = []
    outputBytes = 0
    account.close()
  }
}
