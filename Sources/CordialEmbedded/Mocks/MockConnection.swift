import Cordial
import CordialProtocol
import CordialService
import CordialValues
import DequeModule
import JSON
import JSONRPC
import Synchronization
import Transport

/// A client's connection to a mock, which answers one message after the other; used on the loop.
final class MockConnection: Sendable {
  /// What the connection waits for before it reads the next message.
  private enum Waiting {
    /// The response of the service to a request of the client.
    case response(RequestID)
    /// The end of a move of the clock.
    case clock
  }

  /// What a client has sent.
  private enum Input {
    /// A message, with its memory in bytes.
    case message(JSONValue, bytes: Int)
    /// Bytes that are no message; the connection ends after some of them.
    case failure(RPCError, ends: Bool)

    var bytes: Int {
      if case .message(_, let bytes) = self { bytes } else { 0 }
    }
  }

  private struct State {
    var decoder: FrameDecoder
    /// The messages of the service that are not complete.
    var responses: FrameDecoder
    var inputs: Deque<Input> = []
    /// The memory of `inputs`, in bytes.
    var inputBytes = 0
    var waiting: Waiting?
    /// The responses of a batch, their length, and how many of its elements are still to come.
    var batch: (responses: [[UInt8]], bytes: Int, remaining: Int)?
    var inputHasEnded = false
    var session: Int?
    /// What happens at the next response to `flush`.
    var flushed: (@Sendable (JSONValue) -> Void)?
  }

  private let stage: MockStage
  private let channel: ByteChannel
  /// The number of the connection, from 1 in the order in which they open.
  let number: Int
  private let state: Mutex<State>
  /// Counts the memory of the client's messages.
  private let account: ByteBudget.Account

  /// The number of waiting messages at which the peer is not read.
  private static let inputsMax = 1000
  /// The ID of requests that the connection makes itself; a client's request may have it too,
  /// because only one request runs at a time.
  private static let ownID = RequestID.string("mock")

  init(_ stage: MockStage, _ channel: ByteChannel, number: Int, framing: Framing?) {
    self.stage = stage
    self.channel = channel
    self.number = number
    let dropped = Dropped()
    account = stage.engine.budget.open { [loop = stage.engine.loop] in
      loop.execute { dropped.connection?.dropUnfinished() }
    }
    let limits = stage.engine.limits
    state = Mutex(
      State(
        decoder: FrameDecoder(
          framing: framing,
          messageBytesMax: limits.messageBytesMax,
          account: account
        ),
        responses: FrameDecoder(framing: .line, messageBytesMax: limits.answerBytesMax + (1 << 20))
      )
    )
    dropped.set(self)
  }

  /// The connection whose unfinished message is dropped, which the budget does not keep.
  private final class Dropped: Sendable {
    private struct Reference {
      weak var connection: MockConnection?
    }

    private let reference = Mutex(Reference())

    var connection: MockConnection? { reference.withLock { $0.connection } }

    func set(_ connection: MockConnection) {
      reference.withLock { $0.connection = connection }
    }
  }

  private func dropUnfinished() {
    state.withLock { state in
      var inputs: [Input] = []
      state.decoder.dropUnfinished { event, frame in take(event, frame, &inputs) }
      state.inputs += inputs
    }
    proceed()
  }

  /// Opens a session of the service; called on the loop.
  func open() {
    let session = stage.engine.service.assumeIsolated { service in
      service.connect(MockSink(self), framing: .line, closesOnUnknownFraming: false)
    }
    state.withLock { $0.session = session }
  }

  // MARK: Input

  func receive(_ bytes: Span<UInt8>) {
    state.withLock { state in
      var inputs: [Input] = []
      state.decoder.receive(bytes) { event, frame in take(event, frame, &inputs) }
      state.inputs += inputs
      state.inputBytes += inputs.reduce(0) { $0 + $1.bytes }
    }
    proceed()
  }

  func endInput() {
    state.withLock { state in
      var inputs: [Input] = []
      state.decoder.end { event, frame in take(event, frame, &inputs) }
      state.inputs += inputs
      state.inputBytes += inputs.reduce(0) { $0 + $1.bytes }
      state.inputHasEnded = true
    }
    proceed()
  }

  private func take(
    _ event: FrameDecoder.Event,
    _ frame: Span<UInt8>,
    _ inputs: inout [Input]
  ) {
    switch event {
    case .frame:
      let blanks: Set<UInt8> = [0x20, 0x09, 0x0D]
      guard !frame.indices.allSatisfy({ blanks.contains(frame[$0]) }) else { return }
      do throws(JSONError) {
        let parsed = try JSONParser.measure(
          frame,
          depthMax: 256,
          valuesMax: stage.engine.limits.valuesMax,
          bytesMax: account.messageBytesMax
        )
        account.addRequests(parsed.bytes)
        inputs.append(.message(parsed.value, bytes: parsed.bytes))
      } catch {
        let isTooLarge = error.code == .tooLarge || error.code == .tooManyValues
        inputs.append(
          .failure(isTooLarge ? memoryIsUsed : RPCError(.parseError, error.message), ends: false)
        )
      }
    case .oversized: failure("A message is too long", ends: false)
    case .dropped: inputs.append(.failure(memoryIsUsed, ends: false))
    case .unknownFraming: failure("These bytes are no message", ends: true)
    case .fatal(let message): failure(message, ends: true)
    }
    func failure(_ message: String, ends: Bool) {
      inputs.append(.failure(RPCError(.parseError, message), ends: ends))
    }
  }

  private var memoryIsUsed: RPCError {
    Limits.exceeded("processBytes", max: account.announcedMax, "The memory for messages is used up")
  }

  /// Handles messages until one has to wait for its response.
  private func proceed() {
    while true {
      let (next, isDone, session) = state.withLock { state -> (Input?, Bool, Int?) in
        // While a client does not read its responses, its messages wait.
        guard state.waiting == nil, channel.isWritable, let next = state.inputs.popFirst() else {
          let isDone = state.waiting == nil && state.inputs.isEmpty && state.inputHasEnded
          return (nil, isDone, state.session)
        }
        state.inputBytes -= next.bytes
        return (next, false, state.session)
      }
      guard let next else {
        if isDone, let session {
          stage.engine.service.assumeIsolated { $0.endInput(session: session) }
        }
        break
      }
      switch next {
      case .message(let message, let bytes): handle(message, bytes: bytes)
      case .failure(let error, let ends):
        send(MessageWriter.error(.null, error))
        if ends { return channel.close(exitCode: 1) }
      }
    }
    let reads = state.withLock { state in
      state.inputs.count < Self.inputsMax
        && state.inputBytes <= stage.engine.limits.inFlightBytesMax
    }
    channel.setReading(reads)
  }

  private func handle(_ value: JSONValue, bytes: Int) {
    if let elements = value.array, !elements.isEmpty, state.withLock({ $0.batch == nil }) {
      return handle(elements, bytes: bytes)
    }
    // The message is held until its response is known, which other messages wait for.
    defer { account.addRequests(-bytes) }
    let message: Message
    do throws(RPCError) {
      message = try Message(value)
    } catch {
      return respond(MessageWriter.error(value["id"].flatMap(RequestID.init) ?? .null, error))
    }
    switch message {
    case .request(let id, let method, let params): handle(id, method, params, value)
    case .notification: forward(value)
    case .response: break
    }
  }

  /// Handles the elements of a batch as messages, whose responses are sent together.
  private func handle(_ elements: [JSONValue], bytes: Int) {
    let max = stage.engine.limits.batchMax
    guard elements.count <= max else {
      account.addRequests(-bytes)
      let error = Limits.exceeded("batch", max: max, "A batch has at most \(max) requests")
      return send(MessageWriter.error(.null, error))
    }
    let count = elements.count(where: Self.isAnswered)
    let each = bytes / elements.count
    account.addRequests(each * elements.count - bytes)
    state.withLock { state in
      if count > 0 { state.batch = ([], 0, count) }
      state.inputBytes += each * elements.count
      state.inputs.insert(contentsOf: elements.map { Input.message($0, bytes: each) }, at: 0)
    }
  }

  /// Returns whether an element of a batch has a response: a request, or what is no message.
  private static func isAnswered(_ element: JSONValue) -> Bool {
    do throws(RPCError) {
      if case .request = try Message(element) { return true }
      return false
    } catch {
      return true
    }
  }

  private func handle(
    _ id: RequestID,
    _ method: String,
    _ params: JSONValue,
    _ message: JSONValue
  ) {
    let max = stage.engine.limits.answerBytesMax
    guard state.withLock({ $0.batch?.bytes ?? 0 }) < max else {
      let error = Limits.exceeded("answerBytes", max: max, "The responses of a batch are too long")
      return respond(MessageWriter.error(id, error))
    }
    if let answer = stage.answer(to: method, params) {
      let members = [JSONMember("jsonrpc", "2.0"), JSONMember("id", id.json), answer]
      return respond(Array(JSONValue.object(members).text.utf8))
    }
    if method == AdvanceCall.name { return advance(id, params) }
    guard MethodTable.method(named: method)?.traits.contains(.isScripted) == true else {
      return respond(MessageWriter.error(id, Self.unscripted(method, params)))
    }
    state.withLock { $0.waiting = .response(id) }
    let isFetch = [FetchCall.method.name, ObserveCall.method.name].contains(method)
    forward(isFetch ? message.replacing("params", stage.withScriptedValues(params)) : message)
  }

  private static func unscripted(_ method: String, _ params: JSONValue) -> RPCError {
    let request: JSONValue = ["method": .string(method), "params": params]
    return RPCError(
      code: ErrorName.unknownEntity.code,
      message: "The mock has no result of \(method.excerpt) with these params",
      data: [
        "code": .string("unknownEntity"),
        "hint": .string("Add to the results of its script: \(request.text.prefix(500))"),
      ]
    )
  }

  private func forward(_ message: JSONValue) {
    let bytes = Array(stage.toStore(message).text.utf8) + [0x0A]
    guard let session = state.withLock({ $0.session }) else { return }
    stage.engine.service.assumeIsolated { $0.receive(bytes.span, session: session) }
  }

  // MARK: Output

  /// Takes messages of the service.
  func take(_ pieces: [[UInt8]]) {
    var messages: [[UInt8]] = []
    state.withLock { state in
      for piece in pieces {
        state.responses.receive(piece.span) { event, frame in
          guard case .frame = event else { return }
          messages.append(frame.indices.map { frame[$0] })
        }
      }
    }
    for message in messages {
      do {
        take(try JSONParser.parse(message.span, depthMax: 256))
      } catch {
        // The service writes JSON only; what is not is passed on unchanged.
        send(message)
      }
    }
  }

  private func take(_ message: JSONValue) {
    guard message["method"] == nil, let id = message["id"].flatMap(RequestID.init) else {
      return send(Array(stage.toClient(message).text.utf8))
    }
    let flushed = state.withLock { state in
      defer { if id == Self.ownID { state.flushed = nil } }
      return id == Self.ownID ? state.flushed : nil
    }
    if let flushed { return flushed(message) }
    var response = stage.toClient(message)
    if response["error"]?["code"]?.integer == Int64(ErrorName.unknownEntity.code) {
      let hint = JSONValue.string("Add objects of that entity to the script of the mock")
      let error = response["error"] ?? .null
      let data = (error["data"] ?? .object([])).replacing("hint", hint)
      response = response.replacing("error", error.replacing("data", data))
    }
    let wasAwaited = state.withLock { state in
      guard case .response(let awaited)? = state.waiting, awaited == id else { return false }
      state.waiting = nil
      return true
    }
    respond(Array(response.text.utf8))
    // The service may be in the middle of its own work.
    if wasAwaited { stage.engine.loop.execute { self.proceed() } }
  }

  /// Sends a response, or keeps it for those of its batch.
  private func respond(_ response: [UInt8]) {
    let complete = state.withLock { state -> [[UInt8]] in
      guard var batch = state.batch else { return [response] }
      batch.responses.append(response)
      batch.bytes += response.count
      batch.remaining -= 1
      state.batch = batch.remaining > 0 ? batch : nil
      guard batch.remaining == 0 else { return [] }
      return [Array("[".utf8) + batch.responses.joined(separator: [0x2C]) + Array("]".utf8)]
    }
    for message in complete { send(message) }
  }

  private func send(_ message: [UInt8]) {
    let framing = state.withLock { $0.decoder.framing } ?? .line
    channel.write([framing.frame(message)])
  }

  /// Sends a notification of a recording, on the loop.
  func notify(_ message: JSONValue) {
    send(Array(message.text.utf8))
  }

  // MARK: The clock

  /// `mock/advance`: moves the clock, and makes the saves that are due.
  private func advance(_ id: RequestID, _ params: JSONValue) {
    let due: (now: Int64, due: [MockStage.Occurrence])
    do throws(RPCError) {
      due = try stage.begin(advance: try AdvanceCall.milliseconds(params))
    } catch {
      return respond(MessageWriter.error(id, error))
    }
    state.withLock { $0.waiting = .clock }
    run(due.due[...], now: due.now, id)
  }

  private func run(_ due: ArraySlice<MockStage.Occurrence>, now: Int64, _ id: RequestID) {
    guard let next = due.first else {
      return flush { response in
        let token = response["result"]?["token"] ?? .null
        self.endAdvance(id, .success(["now": .integer(now), "token": token]))
      }
    }
    let step = stage.script.timeline[next.step]
    switch step.action {
    case .notification(let connection, let message):
      stage.notify(connection, message)
      run(due.dropFirst(), now: now, id)
    case .save(let params):
      stage.save(params) { error in
        if let error {
          let failure = RPCError(
            code: error.code.rawValue,
            message: "\(step.place).save: \(error.message)",
            data: error.data
          )
          return self.endAdvance(id, .failure(failure))
        }
        // The changes of a step are sent before those of the next one.
        self.flush { _ in self.run(due.dropFirst(), now: now, id) }
      }
    }
  }

  private func endAdvance(_ id: RequestID, _ outcome: Result<JSONValue, RPCError>) {
    stage.endAdvance()
    state.withLock { $0.waiting = nil }
    switch outcome {
    case .success(let result): respond(MessageWriter.result(id, Array(result.text.utf8)))
    case .failure(let error): respond(MessageWriter.error(id, error))
    }
    stage.engine.loop.execute { self.proceed() }
  }

  /// Waits until all changes are sent.
  private func flush(_ completion: @escaping @Sendable (JSONValue) -> Void) {
    state.withLock { $0.flushed = completion }
    let message = MessageWriter.request(Self.ownID, FlushCall.method.name, .object([]))
    // In a later turn, because the service may be in the middle of its own work.
    stage.engine.loop.execute {
      guard let session = self.state.withLock({ $0.session }) else { return self.endFlush() }
      let bytes = message + [0x0A]
      self.stage.engine.service.assumeIsolated { $0.receive(bytes.span, session: session) }
    }
  }

  /// Ends a wait for changes whose reader is gone; the clock moves on.
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
    state.withLock { $0.session = nil }
    endFlush()
  }

  private func withSession(_ body: @Sendable (isolated Service, Int) -> Void) {
    guard let session = state.withLock({ $0.session }) else { return }
    stage.engine.service.assumeIsolated { body($0, session) }
  }

  var peer: ByteChannel { channel }
}
