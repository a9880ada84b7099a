import CordialProtocol
public import CordialValues
import JSON
import Synchronization

/// The objects of a service, as the source of live results.
public struct ObjectSource<Value: BaseValue>: Sendable {
  private let client: Client
  private let decode: @Sendable (JSONValue) throws(ValueMismatch) -> Value
  private let singles: SinglePools<Value>
  private let prepare: @Sendable (FetchRequest<Value>) throws(ClientError) -> PreparedRequest
  private let check: @Sendable (WrappedID) throws(ClientError) -> Void

  /// A request in the form of the protocol, with the part of each object that the service returns.
  private struct PreparedRequest {
    let fetch: FetchCall
    let selection: TypeSelection
  }

  /// The number of objects in the first response of a result.
  private static var firstCount: Int { 50 }

  init(_ client: Client) where Value: ObjectValue {
    self.client = client
    decode = { object throws(ValueMismatch) in try ValueDecoder.decode(Value.self, from: object) }
    prepare = { request throws(ClientError) in
      let selection = request.selection
      try client.core.check(Value.self, selection)
      return PreparedRequest(fetch: request.call, selection: selection)
    }
    check = { id throws(ClientError) in
      try client.core.check(Value.self)
      try client.core.check(id, of: Value.self)
    }
    let selection = TypeSelection.of(Value.self)
    singles = SinglePools { [decode] isolation in
      ObjectPool(client, selection, on: isolation, decode: decode) { _ in }
    }
  }

  /// Returns the live object with an ID.
  ///
  /// The result is nil for the ID of a mock or of an unrelated entity, and for a type that does not
  /// fit the model.
  func object(
    with id: WrappedID,
    on isolation: (any Actor)?
  ) -> AnyConvertibleValueObject<Value>? {
    do throws(ClientError) {
      try check(id)
    } catch {
      return nil
    }
    return id.objectID.map { singles.pool(on: isolation).object($0) }
  }

  /// Connects a result with the rows of a request.
  func connect(_ port: ResultPort<Value>, _ request: FetchRequest<Value>) {
    let prepared: PreparedRequest
    do throws(ClientError) {
      prepared = try prepare(request)
    } catch {
      return port.fail(error)
    }
    let pool = ObjectPool(client, prepared.selection, on: port.isolation, decode: decode) {
      port.fail($0)
    }
    let sequence = ResultSequence(pool, port)
    var call = ObserveCall(.fetch(prepared.fetch))
    call.mode = .ids
    call.first = Self.firstCount
    let number = client.core.reserveSubscription()
    client.core.observe(number, call) { sequence.handle($0) }
    port.whenClosed { [client] in client.core.unobserve(number) }
  }
}

/// The pools of the objects that a program requests by ID, one pool for each actor.
private final class SinglePools<Value: BaseValue>: Sendable {
  private struct Entry {
    /// The pool.
    ///
    /// The reference is weak, because the objects of the pool retain the pool.
    weak var pool: ObjectPool<Value>?
  }

  private let entries = Mutex<[ObjectIdentifier?: Entry]>([:])
  private let make: @Sendable ((any Actor)?) -> ObjectPool<Value>

  init(_ make: @escaping @Sendable ((any Actor)?) -> ObjectPool<Value>) {
    self.make = make
  }

  /// Returns the pool of an actor; nil stands for no actor.
  func pool(on isolation: (any Actor)?) -> ObjectPool<Value> {
    let key = isolation.map { ObjectIdentifier($0) }
    return entries.withLock { entries in
      if let pool = entries[key]?.pool { return pool }
      let pool = make(isolation)
      entries = entries.filter { $0.value.pool != nil }
      entries[key] = Entry(pool: pool)
      return pool
    }
  }
}

/// The IDs of one result in their order, which the events of the result's subscription update.
private final class ResultSequence<Value: BaseValue>: Sendable {
  private let rows = Mutex((list: IdentifierList(), sections: [ResultSection]()))
  private let pool: ObjectPool<Value>
  private let recent = RecentObjects<Value>()
  private let port: ResultPort<Value>

  init(_ pool: ObjectPool<Value>, _ port: ResultPort<Value>) {
    self.pool = pool
    self.port = port
  }

  func handle(_ event: SubscriptionEvent) {
    do throws(ClientError) {
      switch event {
      case .result(let json, let token):
        let result = try ObservedResult.read(json)
        let list = try IdentifierList(result.ids ?? [])
        let sections = try ResultSection.list(result.sections ?? [], count: list.count)
        rows.withLock { $0 = (list, sections) }
        // The pool receives the objects before the result shows the rows.
        pool.begin(list, first: result.objects ?? [], at: token)
        port.set(ResultRows(.identifiers(list, pool, recent), sections: sections))
      case .update(let json, _):
        let update = try ObservedDifference.read(json)
        let removed = (update.removed ?? []).map { Int($0.offset) }
        var inserted: [(offset: Int, id: ObjectID)] = []
        for row in update.inserted ?? [] {
          guard let id = ObjectID(row.id) else {
            throw ClientError(code: .internalError, message: "An inserted row has no ID")
          }
          inserted.append((Int(row.offset), id))
        }
        let changedSections = update.sections
        guard !removed.isEmpty || !inserted.isEmpty || changedSections != nil else { return }
        // `rows` drops its reference to the list. The pool and the former rows still share the
        // list's storage, so `apply` copies the list.
        var (list, sections) = rows.withLock { rows in
          defer { rows.list = IdentifierList() }
          return rows
        }
        try list.apply(removed: removed, inserted: inserted)
        if let changedSections {
          sections = try ResultSection.list(changedSections, count: list.count)
        }
        rows.withLock { $0 = (list, sections) }
        pool.set(list)
        port.set(ResultRows(.identifiers(list, pool, recent), sections: sections))
      case .failure(let error): port.fail(error)
      }
    } catch {
      port.fail(error)
    }
  }
}
