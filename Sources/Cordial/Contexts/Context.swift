import CordialProtocol
public import CordialValues
import JSON
public import Observation

/// A scratch pad: objects with changes that are saved together, or discarded.
///
/// A context has one object for each ID. It belongs to the isolation that creates it, and the
/// compiler refuses to send it to another one; `BackgroundContext` owns a context off the main
/// actor.
///
///     let context = Context(client)
///     let group = context.insert { TodoGroup(id: $0, title: "Home", taskCount: 0) }
///     let task = try await context.existingObject(TodoTask.self, with: id)
///     try task.update { $0.group = group.id }
///     try await context.save()
public final class Context: Observable {
  /// The decision of a save where another client has changed the same objects.
  public var mergePolicy = MergePolicy.error

  private let client: Client
  private let author: String?
  private let isStrict: Bool
  private let mergesChanges: Bool
  /// The actor of the context, for `isStrict`.
  private let owner: any Actor

  private var objects: [WrappedID: any RegisteredObject] = [:]
  /// The permanent IDs of the objects that this context has inserted, by their temporary ones.
  private var permanentIDs: [WrappedID: WrappedID] = [:]
  /// The IDs of inserted objects, in the order of their insertion.
  private var insertions: [WrappedID] = []
  private var history = ContextHistory()
  private var isSaving = false
  private var waiters: [CheckedContinuation<Void, Never>] = []
  private var failure: ClientError?
  private let registrar = ObservationRegistrar()
  private let feed: ContextFeed
  private var follower: Task<Void, Never>?

  /// Creates a context without objects.
  ///
  /// - Parameters:
  ///   - client: The client of the service.
  ///   - author: The author of its saves; nil for the default of the service.
  ///   - automaticallyMergesChanges: Whether the objects follow the store. Properties that the
  ///     context has changed keep its values.
  ///   - strict: Whether a use outside of the context's actor, which the compiler could not find,
  ///     traps. The program's arguments `-com.apple.CoreData.ConcurrencyDebug 1` enable it too.
  ///   - isolation: The actor of the context.
  public init(
    _ client: Client,
    author: String? = nil,
    automaticallyMergesChanges: Bool = true,
    strict: Bool = false,
    isolation: isolated any Actor = #isolation
  ) {
    self.client = client
    self.author = author
    owner = isolation
    mergesChanges = automaticallyMergesChanges
    isStrict = strict || Self.isStrictByArgument
    feed = ContextFeed(client.core)
    let signals = feed.signals
    follower = Task { [weak self] in
      _ = isolation
      for await _ in signals { self?.merge() }
    }
  }

  deinit {
    follower?.cancel()
    feed.close()
  }

  private static let isStrictByArgument: Bool = {
    let arguments = CommandLine.arguments
    guard let index = arguments.firstIndex(of: "-com.apple.CoreData.ConcurrencyDebug") else {
      return false
    }
    return arguments[(index + 1)...].first == "1"
  }()

  /// Traps outside of the context's actor, where the context is strict.
  func checkIsolation() {
    if isStrict { owner.preconditionIsolated("A context is used outside of its actor") }
  }

  // MARK: Objects

  /// Inserts an object.
  ///
  /// - Parameter make: Makes the value with its temporary ID, which stays valid in this context
  ///   after a save.
  /// - Returns: The object.
  /// - Throws: The error of `make`.
  @discardableResult
  public func insert<Value: ObjectValue>(
    _ make: (WrappedID) throws -> Value
  ) rethrows -> ContextObject<Value> {
    checkIsolation()
    let id = WrappedID.temporary(Value.entity)
    let object = ContextObject(id, inserting: try make(id), in: self)
    objects[id] = object
    insertions.append(id)
    changed(object) { object.withdraw() }
    return object
  }

  /// Returns the object with an ID, whose value is nil until it is loaded.
  ///
  /// - Parameters:
  ///   - type: The type of the value.
  ///   - id: The ID, also a temporary one of an object that this context has inserted.
  /// - Returns: The object.
  /// - Throws: `ClientError`: `mockIdentifier`, `invalidIdentifier` for an ID of another entity,
  ///   `valueMismatch` where the context has the object with another type.
  public func object<Value: ObjectValue>(
    _ type: Value.Type = Value.self,
    with id: WrappedID
  ) throws(ClientError) -> ContextObject<Value> {
    checkIsolation()
    if let registered = try registeredObject(type, for: id) { return registered }
    try client.core.check(Value.self)
    try client.core.check(id, of: type)
    let object = ContextObject<Value>(id, in: self)
    objects[id] = object
    follow(ObjectIdentifier(type))
    return object
  }

  /// Returns the object with an ID that the context has already.
  ///
  /// - Parameters:
  ///   - type: The type of the value.
  ///   - id: The ID, also a temporary one of an object that this context has inserted.
  /// - Returns: The object; nil where the context has none.
  /// - Throws: `ClientError` with `valueMismatch` where the context has the object with another
  ///   type.
  public func registeredObject<Value: ObjectValue>(
    _ type: Value.Type = Value.self,
    for id: WrappedID
  ) throws(ClientError) -> ContextObject<Value>? {
    checkIsolation()
    guard let found = objects[permanentID(for: id)] else { return nil }
    guard let object = found as? ContextObject<Value> else {
      throw ClientError(
        code: .valueMismatch,
        message: "This context has \(id) as a \(found.typeName), not as a \(type)"
      )
    }
    return object
  }

  /// Returns the object with an ID, loaded from the store unless the context has its value.
  ///
  /// - Parameters:
  ///   - type: The type of the value.
  ///   - id: The ID, also a temporary one of an object that this context has inserted.
  /// - Returns: The object.
  /// - Throws: `ClientError`; `objectNotFound` for an object that does not exist or is deleted.
  public func existingObject<Value: ObjectValue>(
    _ type: Value.Type = Value.self,
    with id: WrappedID
  ) async throws(ClientError) -> ContextObject<Value> {
    let object = try object(type, with: id)
    if object.value == nil, !object.isDeleted { try await load([object]) }
    guard object.value != nil else {
      throw ClientError(code: .objectNotFound, message: "\(id) does not exist")
    }
    return object
  }

  /// Fetches objects.
  ///
  /// The store matches and sorts them; unsaved changes are not considered.
  ///
  /// - Parameter request: The request.
  /// - Returns: The objects in the order of the request. Each has the context's unsaved changes,
  ///   so that `value` is nil for one that the next save deletes.
  /// - Throws: `ClientError`.
  public func fetch<Value: ObjectValue>(
    _ request: FetchRequest<Value>
  ) async throws(ClientError) -> [ContextObject<Value>] {
    checkIsolation()
    try client.core.check(Value.self, request.selection)
    let result = try await client.core.call(request.call)
    var fetched: [ContextObject<Value>] = []
    for json in result.objects ?? [] {
      guard let id = json[.id]?.string.flatMap({ WrappedID($0) }) else { continue }
      let object = try registeredObject(Value.self, for: id) ?? ContextObject(id, in: self)
      try take(json, object)
      objects[id] = object
      fetched.append(object)
    }
    follow(ObjectIdentifier(Value.self))
    return fetched
  }

  /// Marks an object for deletion by the next save.
  ///
  /// - Parameter object: An object of this context.
  public func delete(_ object: ContextObject<some ObjectValue>) {
    object.delete()
  }

  /// Forgets all objects and unsaved changes.
  public func reset() {
    rollback()
    objects = [:]
    for type in observed { feed.end(type) }
    (observed, unobserved) = ([], [])
  }

  /// Returns the permanent ID of an object that this context has inserted and saved, or the ID.
  public func permanentID(for id: WrappedID) -> WrappedID { permanentIDs[id] ?? id }

  // MARK: Changes

  /// Whether the next save has something to do.
  public var hasChanges: Bool {
    registrar.access(self, keyPath: \.changes)
    return objects.values.contains { $0.pendingChange != nil }
  }

  /// The IDs of the objects that the next save inserts, updates and deletes.
  ///
  /// - Complexity: Linear in the objects of the context.
  public var changes: Changes {
    registrar.access(self, keyPath: \.changes)
    var changes = Changes()
    for (id, object) in objects {
      switch object.pendingChange {
      case .insert: changes.inserted.insert(id)
      case .update: changes.updated.insert(id)
      case .delete: changes.deleted.insert(id)
      case nil: break
      }
    }
    return changes
  }

  /// The objects that a save inserts, updates and deletes.
  public struct Changes: Equatable, Sendable {
    /// The temporary IDs of new objects.
    public internal(set) var inserted: Set<WrappedID> = []
    /// The IDs of changed objects.
    public internal(set) var updated: Set<WrappedID> = []
    /// The IDs of deleted objects.
    public internal(set) var deleted: Set<WrappedID> = []
  }

  /// Discards all unsaved changes.
  ///
  /// Inserted objects are deleted.
  public func rollback() {
    checkIsolation()
    history = ContextHistory()
    registrar.withMutation(of: self, keyPath: \.changes) {
      for (id, object) in objects {
        let isInserted = object.pendingChange == .insert || id.isTemporary
        object.rollback()
        if isInserted { objects[id] = nil }
      }
      insertions = []
    }
  }

  /// Records a change of an object.
  func changed(_ object: any RegisteredObject, _ restore: @escaping () -> Void) {
    registrar.withMutation(of: self, keyPath: \.changes) {
      history.add(object, restore)
    }
  }

  // MARK: Undo

  /// Makes the changes of an operation one step of `undo`.
  ///
  /// - Parameter body: The operation; a group inside of it is part of its group.
  /// - Returns: The result of the operation.
  /// - Throws: The error of the operation.
  public func undoGroup<Result, Failure: Error>(
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    history.begin()
    defer { history.end() }
    return try body()
  }

  /// Whether there is an unsaved step to revert.
  public var canUndo: Bool { history.canUndo }

  /// Whether there is a reverted step to make again.
  public var canRedo: Bool { history.canRedo }

  /// Reverts the newest unsaved step.
  ///
  /// A save with changes ends the steps before it; `Client.undo` reverts saves.
  public func undo() {
    checkIsolation()
    registrar.withMutation(of: self, keyPath: \.changes) { history.undo() }
  }

  /// Makes the step again that was reverted last.
  public func redo() {
    checkIsolation()
    registrar.withMutation(of: self, keyPath: \.changes) { history.redo() }
  }

  // MARK: Saving

  /// Saves all changes as one transaction.
  ///
  /// What is changed while the save runs is saved by the next one. After an error the context has
  /// all its changes.
  ///
  /// - Parameter mergePolicy: The decision where another client has changed the same objects; nil
  ///   for that of the context.
  /// - Returns: What was stored; nil where nothing had changed.
  /// - Throws: `ClientError`.
  @discardableResult
  public func save(
    mergePolicy: MergePolicy? = nil
  ) async throws(ClientError) -> SaveResult? {
    checkIsolation()
    while isSaving { await withCheckedContinuation { waiters.append($0) } }
    isSaving = true
    defer {
      isSaving = false
      for waiter in waiters { waiter.resume() }
      waiters = []
    }
    var request = SaveRequest()
    let pending = pendingObjects()
    for object in pending { try object.addChange(to: &request, permanentIDs) }
    guard !request.isEmpty else { return nil }
    let result = try await client.save(
      request,
      mergePolicy: mergePolicy ?? self.mergePolicy,
      author: author
    )
    registrar.withMutation(of: self, keyPath: \.changes) { saved(pending, result) }
    // The store has computed values, defaults, and what other clients have changed.
    let stored = pending.filter { result.versions[$0.id] != nil }
    do throws(ClientError) {
      try await load(stored)
    } catch {
      // The save itself is stored; the values that the context has are those that it sent.
      failure = error
    }
    return result
  }

  /// The error of the last attempt to follow the store; nil for none.
  public var mergeError: ClientError? {
    registrar.access(self, keyPath: \.changes)
    return failure
  }

  /// The objects with changes: inserted ones first, in the order of their insertion.
  private func pendingObjects() -> [any RegisteredObject] {
    let inserted = insertions.compactMap { objects[$0] }.filter { $0.pendingChange == .insert }
    let others = objects.filter { $0.value.pendingChange.map { $0 != .insert } ?? false }
    return inserted + others.sorted { $0.key.description < $1.key.description }.map(\.value)
  }

  private func saved(_ pending: [any RegisteredObject], _ result: SaveResult) {
    permanentIDs.merge(result.ids) { $1 }
    history = ContextHistory()
    for object in pending {
      let id = object.id
      do throws(ClientError) {
        try object.saved(result.ids, result.versions)
      } catch {
        failure = error
      }
      guard object.id != id else { continue }
      objects[id] = nil
      objects[object.id] = object
    }
    insertions.removeAll { permanentIDs[$0] != nil }
    for type in Set(pending.map(\.valueType)) { follow(type) }
  }

  // MARK: The store

  /// Loads objects of one or several types.
  private func load(
    _ loaded: [any RegisteredObject]
  ) async throws(ClientError) {
    let groups = Dictionary(grouping: loaded) { $0.valueType }
    for group in groups.values {
      guard let first = group.first else { continue }
      let call = FetchCall(ids: group.map(\.id.description), first.selection)
      let result = try await client.core.call(call)
      // A deleted object is null in its place.
      for (object, json) in zip(group, result.objects ?? []) { try take(json, object) }
    }
  }

  private func take(_ json: JSONValue, _ object: any RegisteredObject) throws(ClientError) {
    do throws(ValueMismatch) {
      try object.take(json)
    } catch {
      throw ClientError(error)
    }
  }

  /// The types whose objects are observed.
  private var observed: Set<ObjectIdentifier> = []
  /// The types that have objects which are not observed yet.
  private var unobserved: Set<ObjectIdentifier> = []

  /// Observes the objects of a type, as soon as the last request for it is answered.
  private func follow(_ type: ObjectIdentifier) {
    guard mergesChanges else { return }
    guard !feed.isWaiting(for: type) else {
      unobserved.insert(type)
      return
    }
    unobserved.remove(type)
    let followed = objects.filter { $0.value.valueType == type && !$0.key.isTemporary }
    guard let selection = followed.first?.value.selection else { return }
    observed.insert(type)
    feed.observe(type, followed.keys.sorted { $0.description < $1.description }, selection)
  }

  /// Takes what the store has changed.
  private func merge() {
    let news = feed.take()
    registrar.withMutation(of: self, keyPath: \.changes) {
      failure = news.error
      for (id, json) in news.objects {
        guard let object = objects[id] else { continue }
        do throws(ClientError) {
          try take(json, object)
        } catch {
          failure = error
        }
      }
    }
    for type in unobserved { follow(type) }
  }
}
