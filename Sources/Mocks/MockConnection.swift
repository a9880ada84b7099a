import Cordial
import CordialProtocol
import CordialService
import CordialValues
import Engine
import JSON
import JSONRPC
import ProtocolSchemas
import Synchronization
import Transport

/// A client's connection to a mock, which answers requests one by one; used only on the loop.
final class MockConnection: Sendable {
  private struct State {
    let peer: Peer
    /// The request that is being answered; the next request waits for its response.
    var current: Peer.Request?
    /// The decoder of the service's messages.
    var responses: FrameDecoder
    var session: Int?
    /// The handler of the next response to `flush`; nil without a running flush.
    var flushed: (@Sendable (JSONValue) -> Void)?
  }

  private let stage: MockStage
  private let channel: ByteChannel
  /// The number of the connection, counted from 1 in the order in which connections open.
  let number: Int
  private let state: Mutex<State>

  /// The number of pending messages at which the connection stops reading from the peer.
  private static let pendingMax = 1000
  /// The ID of the connection's own requests.
  ///
  /// A client's request may have the same ID, because only one request runs at a time.
  private static let ownID = RequestID.string("mock")

  init(_ stage: MockStage, _ channel: ByteChannel, _ peer: Peer, number: Int) {
    self.stage = stage
    self.channel = channel
    self.number = number
    let responses = FrameDecoder(
      framing: .line,
      messageBytesMax: stage.engine.limits.answerBytesMax + (1 << 20)
    )
    state = Mutex(State(peer: peer, responses: responses))
    peer.account.whenDropped { [weak self, loop = stage.engine.loop] in
      loop.execute { self?.update { $0.dropUnfinished() } }
    }
  }

  /// Opens a session of the service; called on the loop.
  func open() {
    let session = stage.engine.service.assumeIsolated { service in
      service.connect(MockSink(self), framing: .line, closesOnUnknownFraming: false)
    }
    state.withLock { state in
      state.session = session
      state.peer.dropIfAsked()
    }
    proceed()
  }

  // MARK: Requests

  func receive(_ bytes: Span<UInt8>) {
    state.withLock { $0.peer.receive(bytes) }
    proceed()
  }

  func endInput() {
    update { $0.endInput() }
  }

  private func update(_ change: (Peer) -> Void) {
    state.withLock { change($0.peer) }
    proceed()
  }

  /// Handles requests until a request has to wait for its response.
  private func proceed() {
    while let request = takeNext() { handle(request) }
    flushOutput()
    let (reads, ended) = state.withLock { state -> (Bool, Int?) in
      let reads =
        state.peer.pendingCount < Self.pendingMax
        && state.peer.requestBytes <= stage.engine.limits.inFlightBytesMax
      let isDone = state.current == nil && !state.peer.reads && state.peer.pendingCount == 0
      return (reads, isDone ? state.session : nil)
    }
    channel.setReading(reads)
    // The client's input has ended. The service sends the last update and then closes the session.
    if let ended { stage.engine.service.assumeIsolated { $0.endInput(session: ended) } }
  }

  private func takeNext() -> Peer.Request? {
    state.withLock { state in
      // While a client does not read its responses, its requests wait.
      guard state.current == nil, channel.isWritable else { return nil }
      while let event = state.peer.next() {
        // Events are read only after the previous response, so a cancellation comes too late.
        guard case .request(let request) = event else { continue }
        state.current = request
        return request
      }
      return nil
    }
  }

  private func handle(_ request: Peer.Request) {
    let (method, params) = (request.method, request.params)
    let max = stage.engine.limits.answerBytesMax
    let admission = state.withLock {
      $0.peer.admission(of: request, heldMax: .max, wholeMax: max)
    }
    if case .isTooLong = admission {
      let error = Limits.exceeded("answerBytes", max: max, "The responses of a batch are too long")
      return respond(.failure(error))
    }
    if let answer = stage.answer(to: method, params) {
      let members = [JSONMember("jsonrpc", "2.0"), JSONMember(.id, request.id.json), answer]
      return respond(.object(members))
    }
    if method == AdvanceCall.name { return advance(params) }
    guard MethodTable.method(named: method)?.traits.contains(.isScripted) == true else {
      return respond(.failure(Self.unscripted(method, params)))
    }
    let isFetch = [FetchCall.method.name, ObserveCall.method.name].contains(method)
    let scripted = isFetch ? stage.withScriptedValues(params) : params
    send(MessageWriter.request(request.id, method, stage.toStore(scripted)))
  }

  private static func unscripted(_ method: String, _ params: JSONValue) -> RPCError {
    let request: JSONValue = ["method": .string(method), "params": params]
    return RPCError(
      code: ErrorName.unknownEntity.code,
      message: "The mock has no result of \(method.excerpt) with these params",
      data: .object([
        .code: .string("unknownEntity"),
        .hint: .string("Add to the results of its script: \(request.text.prefix(500))"),
      ])
    )
  }

  /// Sends a request to the service.
  private func send(_ request: [UInt8]) {
    let bytes = request + [0x0A]
    withSession { $0.receive(bytes.span, session: $1) }
  }

  // MARK: Responses

  /// Receives bytes of the service's messages.
  func take(_ pieces: [[UInt8]]) {
    var messages: [JSONValue] = []
    state.withLock { state in
      for piece in pieces {
        state.responses.receive(piece.span) { event, frame in
          guard case .frame = event else { return }
          do throws(JSONError) {
            messages.append(try JSONParser.parse(frame, depthMax: 256))
          } catch {
            preconditionFailure("The service has sent what is no JSON: \(error.message)")
          }
        }
      }
    }
    for message in messages { take(message) }
  }

  private func take(_ message: JSONValue) {
    guard message["method"] == nil, let id = message[.id].flatMap(RequestID.init) else {
      return notify(stage.toClient(message))
    }
    let flushed = state.withLock { state in
      defer { if id == Self.ownID { state.flushed = nil } }
      return id == Self.ownID ? state.flushed : nil
    }
    if let flushed { return flushed(message) }
    var response = stage.toClient(message)
    if response[.error]?[.code]?.integer == Int64(ErrorName.unknownEntity.code) {
      let hint = JSONValue.string("Add objects of that entity to the script of the mock")
      let error = response[.error] ?? .null
      let data = (error[.data] ?? .object([])).replacing("hint", hint)
      response = response.replacing("error", error.replacing("data", data))
    }
    // A response with a different ID is an error of the connection itself, which belongs to no
    // request.
    guard state.withLock({ $0.current?.id == id }) else { return notify(response) }
    respond(response)
    // The service may be in the middle of its work, so a later turn of the loop handles the next
    // request.
    stage.engine.loop.execute { self.proceed() }
  }

  /// Answers the current request.
  private func respond(_ response: JSONValue) {
    let bytes = MessageBytes(Array(response.text.utf8))
    end { $0.respond(bytes, isError: response[.error] != nil, to: $1) }
  }

  private func respond(_ outcome: Result<MessageBytes, RPCError>) {
    end { $0.respond(outcome, to: $1) }
  }

  private func end(_ respond: (Peer, Peer.Request) -> Void) {
    state.withLock { state in
      guard let request = state.current else { return }
      state.current = nil
      respond(state.peer, request)
    }
    flushOutput()
  }

  /// Sends a notification of the service or of a recording, on the loop.
  func notify(_ message: JSONValue) {
    state.withLock { $0.peer.notify(MessageBytes(Array(message.text.utf8))) }
    flushOutput()
  }

  private func flushOutput() {
    let pieces = state.withLock { $0.peer.takeOutput() }
    if !pieces.isEmpty { channel.write(pieces) }
  }

  // MARK: The clock

  /// Performs `mock/advance`: moves the clock, and performs the steps that are due.
  private func advance(_ params: JSONValue) {
    let due: (now: Int64, due: [MockStage.Occurrence])
    do throws(RPCError) {
      due = try stage.begin(advance: try AdvanceCall.milliseconds(params))
    } catch {
      return respond(.failure(error))
    }
    run(due.due[...], now: due.now)
  }

  private func run(_ due: ArraySlice<MockStage.Occurrence>, now: Int64) {
    guard let next = due.first else {
      return flush { response in
        let token = response[.result]?[.token] ?? .null
        self.endAdvance(.success(["now": .integer(now), "token": token]))
      }
    }
    let step = stage.script.timeline[next.step]
    switch step.action {
    case .notification(let connection, let message):
      stage.notify(connection, message)
      run(due.dropFirst(), now: now)
    case .save(let params):
      stage.save(params) { error in
        if let error {
          let failure = RPCError(
            code: error.code.rawValue,
            message: "\(step.place).save: \(error.message)",
            data: error.data
          )
          return self.endAdvance(.failure(failure))
        }
        // The changes of a step are sent before the changes of the next step.
        self.flush { _ in self.run(due.dropFirst(), now: now) }
      }
    }
  }

  private func endAdvance(_ outcome: Result<JSONValue, RPCError>) {
    stage.endAdvance()
    end { peer, request in
      let response = outcome.map { result in
        MessageBytes(MessageWriter.result(request.id, Array(result.text.utf8)))
      }
      peer.respond(response, to: request)
    }
    stage.engine.loop.execute { self.proceed() }
  }

  /// Waits until all changes are sent.
  private func flush(_ completion: @escaping @Sendable (JSONValue) -> Void) {
    state.withLock { $0.flushed = completion }
    let message = MessageWriter.request(Self.ownID, FlushCall.method.name, .object([]))
    // The service may be in the middle of its work, so a later turn of the loop sends the request.
    stage.engine.loop.execute {
      guard self.state.withLock({ $0.session }) != nil else { return self.endFlush() }
      self.send(message)
    }
  }

  /// Ends the wait for changes if the client has disconnected, so that the clock still moves.
  private func endFlush() {
    let flushed = state.withLock { state in
      defer { state.flushed = nil }
      return state.flushed
    }
    flushed?(.null)
  }

  // MARK: The channel

  func becameWritable() {
    withSession { $0.becameWritable(session: $1) }
    proceed()
  }

  func gaveUp(unacceptedBytes: Int) {
    withSession { $0.gaveUp(session: $1, unacceptedBytes: unacceptedBytes) }
  }

  func closed() {
    withSession { $0.disconnected(session: $1) }
    state.withLock { state in
      state.session = nil
      state.current = nil
      state.peer.disconnect()
    }
    endFlush()
  }

  private func withSession(_ body: @Sendable (isolated Service, Int) -> Void) {
    guard let session = state.withLock({ $0.session }) else { return }
    stage.engine.service.assumeIsolated { body($0, session) }
  }

  /// Closes the channel, because the service has sent all messages.
  func close(exitCode: Int32) {
    let code = state.withLock { state in
      state.peer.endIfDone()
      return state.peer.takeEnd()
    }
    channel.close(exitCode: exitCode == 0 ? code ?? 0 : exitCode)
  }

  var clientChannel: ByteChannel { channel }
}
