import CordialProtocol
import CordialValues
import JSON
import Logging
import Synchronization

/// The successive connections of a client, and its subscriptions.
final class ClientCore: Sendable {
  private struct State {
    var connection: ClientConnection?
    /// The count of attempts to connect; the end of an earlier attempt's connection is ignored.
    var attempts = 0
    var phase = Client.ConnectionState.connecting
    var subscriptions = ClientSubscriptions()
    /// The service's model; nil if the service did not return it.
    var schema: ModelSchema? {
      didSet { fittingTypes = [] }
    }
    /// The types that were checked and fit the model.
    var fittingTypes: Set<ObjectIdentifier> = []
    /// The newest task that reconnects; nil before the first connection has ended.
    var reconnecting: Task<Void, Never>?
  }

  private let state = Mutex(State())
  private let readers = Broadcast<Client.ConnectionState>()
  private let connect: @Sendable (ClientConnection) async throws(ClientError) -> Void
  private let pause: @Sendable (_ milliseconds: Int) async -> Bool
  private let logger: Logger?

  /// The pauses between attempts to connect, in milliseconds.
  ///
  /// The client reconnects at once, or after `unanswered` if the service sent nothing on the ended
  /// connection. After failed attempts, the pauses begin with at least `first` and double up to
  /// `longest`.
  private static let pauses = (first: 20, unanswered: 250, longest: 2000)

  init(
    _ connect: @escaping @Sendable (ClientConnection) async throws(ClientError) -> Void,
    pause: @escaping @Sendable (_ milliseconds: Int) async -> Bool,
    logger: Logger?
  ) {
    self.connect = connect
    self.pause = pause
    self.logger = logger
  }

  // MARK: Connections

  var connectionState: Client.ConnectionState { state.withLock { $0.phase } }

  func states() -> AsyncStream<Client.ConnectionState> {
    state.withLock { readers.stream(beginningWith: $0.phase) }
  }

  /// Connects for the first time.
  func begin() async throws(ClientError) {
    try await attempt()
  }

  /// Connects once, and resumes the subscriptions.
  private func attempt() async throws(ClientError) {
    let number = state.withLock { state in
      state.attempts += 1
      return state.attempts
    }
    let connection = ClientConnection(
      notified: { [weak self] method, params in
        if method == ChangesNotification.name.rawValue { self?.changed(params, number) }
      },
      whenEnded: { [weak self] in self?.connectionEnded(number) }
    )
    set(.connecting)
    try await connect(connection)
    let schema = try await Self.handshake(connection)
    let requests = state.withLock { state -> [ClientSubscriptions.Request]? in
      guard state.phase != .closed else { return nil }
      state.connection = connection
      state.schema = schema
      return state.subscriptions.reconnect()
    }
    guard let requests else { return connection.close() }
    set(.connected)
    logger?.debug("Connected", metadata: ["attempt": "\(number)"])
    for request in requests { send(request, on: connection) }
    if connection.hasEnded { connectionEnded(number) }
  }

  private func set(_ phase: Client.ConnectionState) {
    state.withLock { state in
      guard state.phase != phase, state.phase != .closed else { return }
      state.phase = phase
      readers.send(phase)
    }
  }

  /// Begins to reconnect if the ended connection is the current connection.
  private func connectionEnded(_ number: Int) {
    let ends = state.withLock { state in
      guard state.attempts == number, let ended = state.connection, state.phase != .closed else {
        return false
      }
      state.connection = nil
      // The client also pauses if a service accepts a connection and ends it without a response.
      let isPaused = !ended.hasReceived
      state.reconnecting = Task { [weak self] in await Self.reconnect(self, isPaused: isPaused) }
      return true
    }
    if ends {
      logger?.info("The connection to the service ended; connecting again")
      set(.disconnected)
    }
  }

  private func failed(_ error: ClientError) {
    logger?.info("The service cannot be reached", metadata: ["error": "\(error)"])
    set(.disconnected)
  }

  /// Connects again until an attempt succeeds or the client is closed.
  private static func reconnect(
    _ core: @autoclosure () -> ClientCore?,
    isPaused: Bool
  ) async {
    var milliseconds = isPaused ? pauses.unanswered : 0
    while !Task.isCancelled {
      // A pause must not retain a client that the program has released.
      guard let pause = core()?.pause else { return }
      if milliseconds > 0, await !pause(milliseconds) {
        core()?.close()
        return
      }
      do throws(ClientError) {
        guard !Task.isCancelled, let core = core() else { return }
        try await core.attempt()
        return
      } catch {
        core()?.failed(error)
      }
      milliseconds = min(max(pauses.first, 2 * milliseconds), pauses.longest)
    }
  }

  func close() {
    // Handlers, streams and tasks end outside the lock, because the objects that they release may
    // call this object.
    let closed = state.withLock { state in
      defer {
        let attempts = state.attempts
        state = State()
        (state.phase, state.attempts) = (.closed, attempts)
      }
      return state
    }
    readers.send(.closed)
    readers.finish()
    closed.reconnecting?.cancel()
    closed.connection?.close()
  }

  /// Checks the service's version and fetches its model, in two calls.
  ///
  /// - Returns: The model; nil for a service that has no model yet, as during a migration.
  /// - Throws: `ClientError`; `protocolMismatch` for a service of a different version.
  private static func handshake(
    _ connection: ClientConnection
  ) async throws(ClientError) -> ModelSchema? {
    // The reply is not decoded, because the result of a different version may have another form.
    let service = try await connection.reply(to: InitializeCall())
    let version = service[.capabilities]?[.cordial]?[.protocolVersion]?.integer
    guard version == protocolVersion else {
      connection.close()
      let found = version.map { "version \($0) of the protocol" } ?? "another protocol"
      throw ClientError(
        code: .protocolMismatch,
        message: "The service speaks \(found); this library speaks version \(protocolVersion)"
      )
    }
    do throws(ClientError) {
      return ModelSchema(try await connection.call(ModelCall()).json)
    } catch {
      // After any other error, the client works without checking its types; the service still
      // checks each request.
      if error.code == .connectionEnded { throw error }
      return nil
    }
  }

  /// The version of the protocol that this library speaks.
  private static let protocolVersion: Int64 = 1

  /// Checks a type against the model of the service.
  ///
  /// - Throws: `ClientError` that names the wrong property and lists the properties of the entity.
  func check<Value: ObjectValue>(
    _ type: Value.Type,
    _ selection: TypeSelection = .of(Value.self)
  ) throws(ClientError) {
    if case .invalid(let mismatch) = selection {
      throw ClientError(code: .valueMismatch, message: "\(type): \(mismatch)")
    }
    let key = ObjectIdentifier(type)
    let schema = state.withLock { $0.fittingTypes.contains(key) ? nil : $0.schema }
    guard let schema else { return }
    try schema.check(selection, of: type)
    state.withLock { state in _ = state.fittingTypes.insert(key) }
  }

  /// Checks that the entity of an ID fits a type.
  ///
  /// - Throws: `ClientError`: `mockIdentifier` for the ID of a mock, `invalidIdentifier` for an ID
  ///   of an unrelated entity.
  func check<Value: ObjectValue>(_ id: WrappedID, of type: Value.Type) throws(ClientError) {
    let text = try id.wireText()
    guard let entity = id.entity, entity != type.entity,
      let schema = state.withLock({ $0.schema }), !schema.isRelated(entity, type.entity)
    else { return }
    throw ClientError(
      code: .invalidIdentifier,
      message: "\(text) is the ID of a \(entity), and \(type) has the values of a \(type.entity)"
    )
  }

  /// Waits for a number of milliseconds.
  func wait(_ milliseconds: Int) async {
    _ = await pause(milliseconds)
  }

  // MARK: Calls

  func call<Params: Call>(_ call: Params) async throws(ClientError) -> Params.Result {
    guard let connection = state.withLock({ $0.connection }) else {
      throw ClientError(code: .connectionEnded, message: "The client is not connected")
    }
    return try await connection.call(call)
  }

  // MARK: Subscriptions

  /// Returns a new identifier for a subscription.
  ///
  /// The caller later passes it to `observe`.
  func reserveSubscription() -> Int { state.withLock { $0.subscriptions.reserve() } }

  /// Observes a request in this connection and every later connection.
  ///
  /// - Parameters:
  ///   - number: The identifier that `reserveSubscription` returned.
  ///   - call: The params of `observe`. Their `since` is the position of the client's last result,
  ///     or nil if the client has no result. The subscription sets `key`.
  ///   - handler: Called with every event, in order; the handler must not wait.
  func observe(
    _ number: Int,
    _ call: ObserveCall,
    _ handler: @escaping ClientSubscriptions.Handler
  ) {
    let (request, connection) = state.withLock { state in
      (state.subscriptions.add(number, call, handler), state.connection)
    }
    if let connection { send(request, on: connection) }
  }

  /// Replaces the request of a subscription.
  func replace(_ number: Int, with call: ObserveCall) {
    let (request, connection) = state.withLock { state in
      (state.subscriptions.replace(number, with: call), state.connection)
    }
    if let request, let connection { send(request, on: connection) }
  }

  /// Ends a subscription.
  func unobserve(_ number: Int) {
    let (removed, connection) = state.withLock { state in
      (state.subscriptions.remove(number), state.connection)
    }
    if let name = removed.name, let connection { Self.unobserve(name, on: connection) }
  }

  private static func unobserve(_ name: String, on connection: ClientConnection) {
    // The response is ignored: if the call fails, the subscription ends with the connection.
    connection.start(UnobserveCall(subscription: name)) { _ in }
  }

  private func send(_ request: ClientSubscriptions.Request, on connection: ClientConnection) {
    connection.start(request.call) { [weak self] outcome in
      guard let self else { return }
      let (delivery, unwanted) = state.withLock { state in
        // A response from an earlier connection is ignored: its subscription no longer exists.
        state.connection === connection
          ? state.subscriptions.handle(outcome, to: request) : (nil, nil)
      }
      if let unwanted { Self.unobserve(unwanted, on: connection) }
      if let delivery { delivery.handler(delivery.event) }
    }
  }

  private func changed(_ params: JSONValue, _ attempt: Int) {
    let changes: ChangesNotification
    do throws(ClientError) {
      changes = try .read(params)
    } catch {
      // Without these changes the results would be wrong. After the close, the next connection
      // resumes the subscriptions.
      logger?.error("The changes cannot be read", metadata: ["error": "\(error)"])
      state.withLock { $0.attempts == attempt ? $0.connection : nil }?.close()
      return
    }
    let deliveries = state.withLock { $0.subscriptions.handle(changes) }
    for delivery in deliveries { delivery.handler(delivery.event) }
  }
}
