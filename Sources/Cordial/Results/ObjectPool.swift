import CordialProtocol
import CordialValues
import JSON
import Synchronization

/// The live objects of a result, and the values of the rows that are read.
///
/// One subscription by ID covers a window of rows around a row that was read recently, and at most
/// `heldMax` other objects that the program holds. At most one request is pending at a time.
final class ObjectPool<Value: BaseValue>: Sendable {
  private struct Held {
    weak var object: LiveObject<Value>?
    weak var erased: AnyConvertibleValueObject<Value>?
  }

  private struct Loaded {
    let value: Value
    let version: Int64
  }

  private struct State {
    var list = IdentifierList()
    var window = 0..<0
    var held: [ObjectID: Held] = [:]
    var loaded: [ObjectID: Loaded] = [:]
    /// The identifier of the subscription by ID; nil while the pool observes no objects.
    var subscription: Int?
    var subscribed: [ObjectID] = []
    /// Whether a response is pending, and whether the pool has to load again after that response.
    var isWaiting = false
    var needsMore = false
    /// The objects whose values have arrived and are not set yet.
    var arrived: Set<ObjectID> = []
    /// The position of the result's first response, from which the next request by ID resumes; nil
    /// after that request.
    var position: String?
  }

  /// A change of the subscription.
  private enum Request {
    case begin(Int, [ObjectID], since: String?)
    case replace(Int, [ObjectID], since: String?)
    case end(Int)
  }

  private let state = Mutex(State())
  private let client: Client
  private let selection: TypeSelection
  /// The actor on which the values of the objects change.
  ///
  /// If it is nil, the values change on the thread on which they arrive.
  ///
  /// An observer that reads on this actor misses no change, because no change can happen between
  /// its read and its registration.
  ///
  /// The reference is weak, because the actor may retain the objects.
  private weak let isolation: (any Actor)?
  private let decode: @Sendable (JSONValue) throws(ValueMismatch) -> Value
  private let report: @Sendable (ClientError) -> Void

  /// The size of the window: the number of rows before the row that is read, and from this row on.
  private static var around: (before: Int, after: Int) { (25, 75) }

  /// The maximum number of subscribed objects outside the window.
  private static var heldMax: Int { 4096 }

  /// Creates a pool without objects.
  ///
  /// - Parameters:
  ///   - client: The client of the service.
  ///   - selection: The part of each object that a request returns.
  ///   - isolation: The actor on which the values of the objects change; nil for none.
  ///   - decode: Reads the value of an object.
  ///   - report: Called with each error.
  init(
    _ client: Client,
    _ selection: TypeSelection,
    on isolation: (any Actor)?,
    decode: @escaping @Sendable (JSONValue) throws(ValueMismatch) -> Value,
    report: @escaping @Sendable (ClientError) -> Void
  ) {
    self.client = client
    self.selection = selection
    self.isolation = isolation
    self.decode = decode
    self.report = report
  }

  deinit {
    if let number = state.withLock({ $0.subscription }) { client.core.unobserve(number) }
  }

  /// Returns the object of a row; if the row is outside the window, moves the window and loads it.
  func object(
    _ id: ObjectID,
    at index: Int,
    in list: IdentifierList
  ) -> AnyConvertibleValueObject<Value> {
    let (object, moves) = state.withLock { state in
      let moves = !state.window.contains(index)
      if moves {
        let (before, after) = Self.around
        state.window = max(0, index - before)..<min(list.count, index + after)
      }
      return (held(id, &state), moves)
    }
    if moves { load() }
    return object
  }

  /// Returns the object with an ID, and loads its value.
  func object(_ id: ObjectID) -> AnyConvertibleValueObject<Value> {
    let (object, isKnown) = state.withLock { state in
      let isKnown = state.held[id]?.object != nil
      return (held(id, &state), isKnown)
    }
    if !isKnown { load() }
    return object
  }

  private func held(_ id: ObjectID, _ state: inout State) -> AnyConvertibleValueObject<Value> {
    if let erased = state.held[id]?.erased { return erased }
    let object = state.held[id]?.object ?? LiveObject(id, self)
    if let loaded = state.loaded[id] { object.storage.set(loaded.value, version: loaded.version) }
    let erased = AnyConvertibleValueObject(object)
    state.held[id] = Held(object: object, erased: erased)
    return erased
  }

  /// Sets the rows of the result, and loads the window if it has different objects.
  func set(_ list: IdentifierList) {
    state.withLock { state in
      state.list = list
      let count = min(state.window.count, list.count)
      let start = min(state.window.lowerBound, list.count - count)
      state.window = start..<start + count
    }
    load()
  }

  /// Sets the rows of a new result, with the objects of the first rows.
  func begin(_ list: IdentifierList, first objects: [JSONValue], at token: String) {
    let values = read(objects)
    state.withLock { state in
      state.list = list
      state.window = 0..<min(objects.count, list.count)
      state.loaded = values
      state.position = token
    }
    arrived(values.keys)
    load()
  }

  // MARK: The subscription

  /// Observes the objects of the window and the held objects, now or after the pending response.
  private func load() {
    let request = state.withLock { state -> Request? in
      guard !state.isWaiting else {
        state.needsMore = true
        return nil
      }
      state.held = state.held.filter { $0.value.object != nil }
      // A result that has not taken its newest rows can move the window beyond the end of the list.
      let window = state.window.clamped(to: 0..<state.list.count).map { state.list[$0] }
      let known = Set(window)
      let others = state.held.keys.lazy.filter { !known.contains($0) }.prefix(Self.heldMax)
      let ids = window + others.sorted { $0.description < $1.description }
      guard ids != state.subscribed else { return nil }
      // Resuming from the first response's position avoids a second transfer of its objects.
      let since = state.position.flatMap { position in
        Set(ids) == Set(state.loaded.keys) ? position : nil
      }
      state.position = nil
      state.subscribed = ids
      guard !ids.isEmpty else {
        defer { state.subscription = nil }
        return state.subscription.map(Request.end)
      }
      state.isWaiting = true
      if let number = state.subscription { return .replace(number, ids, since: since) }
      let number = client.core.reserveSubscription()
      state.subscription = number
      return .begin(number, ids, since: since)
    }
    switch request {
    case nil: break
    case .end(let number): client.core.unobserve(number)
    case .replace(let number, let ids, let since):
      client.core.replace(number, with: call(ids, since))
    case .begin(let number, let ids, let since):
      client.core.observe(number, call(ids, since)) { [weak self] event in
        self?.handle(event)
      }
    }
  }

  private func call(_ ids: [ObjectID], _ position: String?) -> ObserveCall {
    let texts = ids.map(\.description)
    var call = ObserveCall(.ids(texts, FetchCall(ids: texts, selection)))
    call.since = position
    return call
  }

  private func handle(_ event: SubscriptionEvent) {
    do throws(ClientError) {
      switch event {
      case .result(let json, _):
        let values = read(try ObservedResult.read(json).objects ?? [])
        let subscribed = state.withLock { state in
          state.loaded = values
          return state.subscribed
        }
        arrived(subscribed)
      case .update(let json, _):
        arrived((try ObservedDifference.read(json).objects ?? []).compactMap { apply($0) })
      case .failure(let error): throw error
      }
    } catch {
      // The next load makes a new subscription.
      let number = state.withLock { state in
        state.subscribed = []
        defer { state.subscription = nil }
        return state.subscription
      }
      if let number { client.core.unobserve(number) }
      report(error)
    }
    let needsMore = state.withLock { state in
      defer { (state.isWaiting, state.needsMore) = (false, false) }
      return state.needsMore
    }
    if needsMore { load() }
  }

  /// Applies a change of an object, and returns the object's ID.
  private func apply(_ change: ObservedDifference.ObjectChange) -> ObjectID? {
    guard let id = ObjectID(change.id) else { return nil }
    let loaded = change.object.flatMap { $0.isNull ? nil : read($0) }
    state.withLock { $0.loaded[id] = loaded }
    return id
  }

  /// Sets arrived values on their objects, in a task on the pool's actor; at once without an actor.
  private func arrived(_ ids: some Collection<ObjectID>) {
    guard !ids.isEmpty else { return }
    let isFirst = state.withLock { state in
      defer { state.arrived.formUnion(ids) }
      return state.arrived.isEmpty
    }
    guard let isolation else { return setArrived() }
    // One task sets all values that arrive before it runs.
    if isFirst { Task { await setArrived(on: isolation) } }
  }

  private func setArrived(on isolation: isolated any Actor) { setArrived() }

  private func setArrived() {
    let updates = state.withLock { state -> [(LiveObject<Value>, Loaded?)] in
      defer { state.arrived = [] }
      let subscribed = Set(state.subscribed)
      return state.arrived.compactMap { id in
        // An object that is no longer subscribed keeps its value, because its new value is unknown.
        guard state.loaded[id] != nil || subscribed.contains(id) else { return nil }
        return state.held[id]?.object.map { ($0, state.loaded[id]) }
      }
    }
    for (object, loaded) in updates {
      object.storage.set(loaded?.value, version: loaded?.version ?? 0)
    }
  }

  /// Reads the values of objects, and reports each object that cannot be decoded.
  private func read(_ objects: [JSONValue]) -> [ObjectID: Loaded] {
    var values: [ObjectID: Loaded] = [:]
    for object in objects {
      guard let id = object[.id]?.string.flatMap({ ObjectID($0) }) else { continue }
      values[id] = read(object)
    }
    return values
  }

  /// Reads the value of an object; reports an object that cannot be decoded, and returns nil.
  private func read(_ object: JSONValue) -> Loaded? {
    do throws(ValueMismatch) {
      return Loaded(value: try decode(object), version: object[.version]?.integer ?? 0)
    } catch {
      report(ClientError(error))
      return nil
    }
  }
}

/// A live object of a store.
final class LiveObject<Value: BaseValue>: ConvertibleValueObject {
  let id: WrappedID
  let storage = ObjectStorage<Value>(nil)
  /// The pool that updates the value while the program holds the object.
  private let pool: ObjectPool<Value>

  init(_ id: ObjectID, _ pool: ObjectPool<Value>) {
    self.id = .objectID(id)
    self.pool = pool
  }

  func convertToValueType() -> Value? { storage.value }
  var lastValidValue: Value? { storage.lastValidValue }
  var version: Int64 { storage.version }
  var values: ValueSequence<Value> { ValueSequence(storage) }
}
