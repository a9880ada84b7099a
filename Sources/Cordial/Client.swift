package import CordialProtocol
public import CordialValues
import JSON
package import Logging
import Synchronization

/// A client of a service: typed calls, and live results across connections.
///
/// The client reconnects after its connection ends. Each result then continues with the changes
/// since its last position.
public final class Client: Sendable {
  /// The state of the client's connection, for display.
  public enum ConnectionState: Equatable, Sendable {
    /// The client is connecting.
    case connecting
    /// The client is connected.
    case connected
    /// The connection has ended; the client reconnects after a pause.
    case disconnected
    /// The program has closed the client, or the `Container` whose service the client uses.
    case closed
  }

  let core: ClientCore

  /// Creates a client and connects it.
  ///
  /// - Parameters:
  ///   - connect: Connects a `ClientConnection` to the service; called for each attempt.
  ///   - pause: Waits between two attempts, and returns whether the client connects again; false
  ///     closes the client.
  ///   - logger: The logger for the beginnings and ends of connections; nil for none.
  /// - Throws: The error of the first attempt.
  package init(
    _ connect: @escaping @Sendable (ClientConnection) async throws(ClientError) -> Void,
    pause: @escaping @Sendable (_ milliseconds: Int) async -> Bool,
    logger: Logger? = nil
  ) async throws(ClientError) {
    core = ClientCore(connect, pause: pause, logger: logger)
    try await core.begin()
  }

  deinit {
    core.close()
  }

  /// The state of the connection.
  public var state: ConnectionState { core.connectionState }

  /// A sequence of the current state of the connection and every later state.
  ///
  /// A slow reader gets the newest state only.
  public var states: AsyncStream<ConnectionState> { core.states() }

  /// Ends the connection and all live results.
  public func close() {
    core.close()
  }

  /// Calls a method of the protocol.
  package func call<Params: Call>(_ call: Params) async throws(ClientError) -> Params.Result {
    try await core.call(call)
  }

  /// Observes a request until the client is closed.
  ///
  /// - Parameters:
  ///   - call: The params of `observe`. Their `since` is the position of the caller's last result,
  ///     or nil if the caller has no result.
  ///   - handler: Called with every event, in order, on any thread; the handler must not wait.
  package func observe(
    _ call: ObserveCall,
    _ handler: @escaping @Sendable (SubscriptionEvent) -> Void
  ) {
    core.observe(core.reserveSubscription(), call, handler)
  }

  /// Fetches objects as values.
  ///
  /// - Parameter request: The request.
  /// - Returns: The values, in the order of the request.
  /// - Throws: `ClientError`; `valueMismatch` for an object that cannot be decoded as the type.
  public func fetch<Value: ObjectValue>(
    _ request: FetchRequest<Value>
  ) async throws(ClientError) -> [Value] {
    try core.check(Value.self, request.selection)
    let result = try await core.call(request.call)
    var values: [Value] = []
    for object in result.objects ?? [] {
      do throws(ValueMismatch) {
        values.append(try ValueDecoder.decode(Value.self, from: object))
      } catch {
        throw ClientError(error)
      }
    }
    return values
  }

  /// Counts the objects of a request.
  ///
  /// - Parameter request: The request.
  /// - Returns: The number of objects.
  /// - Throws: `ClientError`.
  public func count<Value: ObjectValue>(
    _ request: FetchRequest<Value>
  ) async throws(ClientError) -> Int {
    if case .invalid(let mismatch) = request.selection { throw ClientError(mismatch) }
    var call = request.call
    (call.select, call.value, call.sort, call.sectionBy) = (nil, nil, [], nil)
    call.form = .count
    return Int(try await core.call(call).count ?? 0)
  }

  /// Fetches the value of an object.
  ///
  /// - Parameters:
  ///   - type: The type of the value.
  ///   - id: The ID of the object.
  /// - Returns: The value; nil for an object that does not exist.
  /// - Throws: `ClientError`; `mockIdentifier` for the ID of a mock.
  public func value<Value: ObjectValue>(
    _ type: Value.Type = Value.self,
    with id: WrappedID
  ) async throws(ClientError) -> Value? {
    let request = FetchRequest<Value>()
    try core.check(Value.self)
    try core.check(id, of: Value.self)
    let call = FetchCall(ids: [try id.wireText()], request.selection)
    let result = try await core.call(call)
    guard let object = result.objects?.first, !object.isNull else { return nil }
    do throws(ValueMismatch) {
      return try ValueDecoder.decode(type, from: object)
    } catch {
      throw ClientError(error)
    }
  }

  /// Returns the objects of this client's service as the source of live results.
  ///
  ///     FetchDataSource.fetchRequest(client.objects(TodoGroup.self))
  public func objects<Value: ObjectValue>(_ type: Value.Type = Value.self) -> ObjectSource<Value> {
    ObjectSource(self)
  }
}

extension WrappedID {
  /// Returns the text of the ID in the protocol.
  ///
  /// - Throws: `ClientError` for the ID of a mock.
  func wireText() throws(ClientError) -> String {
    guard let objectID else {
      throw ClientError(
        code: .mockIdentifier,
        message: "\(self) is the ID of a mock: no store has an object with it"
      )
    }
    return objectID.description
  }
}
