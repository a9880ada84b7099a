import CordialProtocol
public import CordialValues
import JSON
public import Observation

/// A scratch pad: a set of objects whose changes are saved together or discarded.
///
/// A context has one object for each ID. A context belongs to the isolation domain that creates it,
/// and the compiler rejects code that sends it to a different domain. `BackgroundContext` owns a
/// context off the main actor.
///
///     let context = Context(client)
///     let group = context.insert { TodoGroup(id: $0, title: "Home", taskCount: 0) }
///     let task = try await context.existingObject(TodoTask.self, with: id)
///     try task.update { $0.group = group.id }
///     try await context.save()
public final class Context: Observable {
  /// The policy by which a save resolves conflicts with changes of other clients.
  public var mergePolicy = MergePolicy.error

  private let client: Client
  private let author: String?
  private let isStrict: Bool
  private let mergesChanges: Bool
  /// The actor of the context.
  ///
  /// A strict context checks at each use that the caller runs on this actor.
  private let owner: any Actor

  private var objects: [WrappedID: any RegisteredObject] = [:]
  /// The permanent IDs of the inserted objects that are saved, by temporary ID.
  private var permanentIDs: [WrappedID: WrappedID] = [:]
  /// The temporary IDs of inserted objects, in the order of their insertion.
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
  ///   - author: The author of the context's saves; nil for saves without an author.
  ///   - automaticallyMergesChanges: Whether the objects follow the changes of the store. A
  ///     property with an unsaved change keeps the context's value.
  ///   - strict: Whether the context traps when it is used outside its actor. This check finds uses
  ///     that the compiler cannot find. The program arguments
  ///     `-com.apple.CoreData.ConcurrencyDebug 1` also enable it.
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

  /// Traps if the context is strict and the caller is outside the context's actor.
  func checkIsolation() {
    if isStrict { owner.preconditionIsolated("A context is used outside of its actor") }
  }

  // MARK: Objects

  /// Inserts an object.
  ///
  /// - Parameter make: Makes the value with the temporary ID that it receives. This ID stays valid
  ///   in the context after a save.
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

  /// Returns the object with an ID; the object's value is nil until it is loaded.
  ///
  /// - Parameters:
  ///   - type: The type of the value.
  ///   - id: The ID, which may be the temporary ID of an object that this context has inserted.
  /// - Returns: The object.
  /// - Throws: `ClientError`: `mockIdentifier` for the ID of a mock, `invalidIdentifier` for an ID
  ///   of a different entity, `valueMismatch` if the context has the object with a different type.
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

  /// Returns the object with an ID if the context has the object already.
  ///
  /// - Parameters:
  ///   - type: The type of the value.
  ///   - id: The ID, which may be the temporary ID of an object that this context has inserted.
  /// - Returns: The object; nil if the context does not have it.
  /// - Throws: `ClientError` with `valueMismatch` if the context has the object with a different
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

  /// Returns the object with an ID, and loads its value if the context does not have the value.
  ///
  /// - Parameters:
  ///   - type: The type of the value.
  ///   - id: The ID, which may be the temporary ID of an object that this context has inserted.
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
  /// The store matches and sorts the objects without regard to unsaved changes.
  ///
  /// - Parameter request: The request.
  /// - Returns: The objects in the order of the request, with the context's unsaved changes. The
  ///   `value` of an object that the next save deletes is nil.
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

  /// Returns the permanent ID for the temporary ID of a saved object, and any other ID unchanged.
  public func permanentID(for id: WrappedID) -> WrappedID { permanentIDs[id] ?? id }

  // MARK: Changes

  /// Whether the context has unsaved changes.
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
  /// Inserted objects leave the context, and their values become nil.
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

  /// Groups the changes of an operation into one step of `undo`.
  ///
  /// - Parameter body: The operation. A nested group is part of the outer group.
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

  /// Whether there is a reverted step to apply again.
  public var canRedo: Bool { history.canRedo }

  /// Reverts the newest unsaved step.
  ///
  /// A save with changes removes all steps; `Client.undo` reverts saves.
  public func undo() {
    checkIsolation()
    registrar.withMutation(of: self, keyPath: \.changes) { history.undo() }
  }

  /// Reapplies the step that was reverted last.
  public func redo() {
    checkIsolation()
    registrar.withMutation(of: self, keyPath: \.changes) { history.redo() }
  }

  // MARK: Saving

  /// Saves all changes as one transaction.
  ///
  /// The next save stores the changes that are made while this save runs. After an error, the
  /// context keeps all its changes.
  ///
  /// - Parameter mergePolicy: The policy for conflicts with changes of other clients; nil for the
  ///   policy of the context.
  /// - Returns: The result of the save; nil if the context has no changes.
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
    // The stored values can differ from the sent values: the store computes values, applies
    // defaults and merges changes.
    let stored = pending.filter { result.versions[$0.id] != nil }
    do throws(ClientError) {
      try await load(stored)
    } catch {
      // The save itself succeeded, and the context keeps the values that it sent.
      failure = error
    }
    return result
  }

  /// The error of the latest attempt to apply stored values to the objects; nil if the attempt
  /// succeeded.
  public var mergeError: ClientError? {
    registrar.access(self, keyPath: \.changes)
    return failure
  }

  /// Returns the objects with unsaved changes: first the insertions, in the order of their
  /// creation.
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
      // The result has null at the index of a deleted object.
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
  /// The types that the context observes again after the response to their pending request.
  private var unobserved: Set<ObjectIdentifier> = []

  /// Observes the objects of a type, now or after the response to the type's pending request.
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

  /// Applies the changes that the feed has received to the objects.
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
