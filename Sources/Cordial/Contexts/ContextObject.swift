import CordialProtocol
public import CordialValues
import JSON
public import Observation

/// An object in a context: the value that the store has, with changes that are not saved yet.
///
/// The object stays in the isolation of its context. Its ID is temporary until the context saves
/// an object that it inserted.
@dynamicMemberLookup
public final class ContextObject<Value: ObjectValue>: Observable, Identifiable {
  /// What a save or an undo restores or compares.
  private struct State {
    var id: WrappedID
    /// The value that the store returned; nil for an inserted object and before the first load.
    var base: Value?
    var version: Int64 = 0
    /// The value with the unsaved changes; nil before the first load.
    var current: Value?
    var isInserted = false
    var isDeleted = false
    /// Whether the store has no object with the ID, though it had one.
    var isGone = false
    /// The value that is being saved; nil while no save runs.
    var saving: Value?
    var isDeleting = false
  }

  private var state: State
  private let registrar = ObservationRegistrar()
  /// The context of the object; nil after the context was released.
  public private(set) weak var context: Context?

  init(_ id: WrappedID, inserting value: Value? = nil, in context: Context) {
    state = State(id: id, current: value, isInserted: value != nil)
    self.context = context
  }

  /// The ID; temporary until an inserted object is saved.
  public var id: WrappedID {
    registrar.access(self, keyPath: \.id)
    return state.id
  }

  /// The value with the unsaved changes; nil for a deleted object, and before it was loaded.
  public var value: Value? {
    context?.checkIsolation()
    registrar.access(self, keyPath: \.value)
    return isDeletedNow ? nil : state.current
  }

  /// The version of the value that the store returned; 0 for an inserted object.
  public var version: Int64 { state.version }

  /// Whether the next save deletes the object, or a save has deleted it.
  public var isDeleted: Bool {
    registrar.access(self, keyPath: \.value)
    return isDeletedNow
  }

  /// An object that another client has deleted keeps its unsaved changes, which fail to be saved.
  private var isDeletedNow: Bool {
    state.isDeleted || state.isGone && pendingChange != .update
  }

  /// Whether the next save inserts the object.
  public var isInserted: Bool { pendingChange == .insert }

  /// Whether the object has changes that are not saved.
  public var hasChanges: Bool {
    registrar.access(self, keyPath: \.value)
    return pendingChange != nil
  }

  /// Changes the value.
  ///
  /// A deleted object, and one that is not loaded, cannot be changed.
  ///
  /// - Parameter value: The value, with the ID of the object.
  /// - Throws: `ClientError`: `invalidIdentifier` for the value of another object,
  ///   `objectNotFound` for a deleted object and one that is not loaded.
  public func set(_ value: Value) throws(ClientError) {
    guard value.id == state.id || context?.permanentID(for: value.id) == state.id else {
      throw ClientError(
        code: .invalidIdentifier,
        message: "\(value.id) is not the ID of \(state.id)"
      )
    }
    guard self.value != nil else {
      let reason = isDeleted ? "is deleted" : "is not loaded: use existingObject(_:with:)"
      throw ClientError(code: .objectNotFound, message: "\(state.id) \(reason)")
    }
    change { $0.current = value }
  }

  /// A property of the value; nil for a deleted object and one that is not loaded.
  public subscript<Member>(dynamicMember keyPath: KeyPath<Value, Member>) -> Member? {
    value?[keyPath: keyPath]
  }

  /// Changes properties of the value.
  ///
  /// - Parameter body: Changes the value.
  /// - Throws: `ClientError` as `set` does.
  public func update(_ body: (inout Value) -> Void) throws(ClientError) {
    guard var value else {
      let reason = isDeleted ? "is deleted" : "is not loaded: use existingObject(_:with:)"
      throw ClientError(code: .objectNotFound, message: "\(state.id) \(reason)")
    }
    body(&value)
    try set(value)
  }

  /// Marks the object for deletion.
  func delete() {
    change { $0.isDeleted = true }
  }

  /// Takes back the insertion of the object, without a step of its own.
  func withdraw() {
    mutate { $0.isDeleted = true }
  }

  /// Changes the unsaved state, as a step that `undo` reverts.
  private func change(_ body: (inout State) -> Void) {
    context?.checkIsolation()
    var changed = state
    body(&changed)
    guard changed.current != state.current || changed.isDeleted != state.isDeleted else { return }
    let restore = snapshot()
    mutate { $0 = changed }
    context?.changed(self, restore)
  }

  private func mutate(_ body: (inout State) -> Void) {
    registrar.withMutation(of: self, keyPath: \.value) { body(&state) }
  }
}

extension ContextObject: RegisteredObject {
  var valueType: ObjectIdentifier { ObjectIdentifier(Value.self) }
  var typeName: String { "\(Value.self)" }
  var selection: TypeSelection { .of(Value.self) }

  var pendingChange: ContextChange? {
    if state.isInserted { return state.isDeleted ? nil : .insert }
    if state.isDeleted { return state.isGone ? nil : .delete }
    guard let current = state.current, let base = state.base else { return nil }
    return current == base ? nil : .update
  }

  func addChange(
    to request: inout SaveRequest,
    _ ids: [WrappedID: WrappedID]
  ) throws(ClientError) {
    (state.saving, state.isDeleting) = (nil, false)
    switch pendingChange {
    case nil: break
    case .delete:
      request.delete(state.id, version: state.version > 0 ? state.version : nil)
      state.isDeleting = true
    case .insert:
      guard let current = state.current else { return }
      let value = try ValueIdentity.replaced(current, id: state.id, ids)
      try request.insert(value)
      save(value)
    case .update:
      guard let current = state.current, let base = state.base else { return }
      let value = try ValueIdentity.replaced(current, id: state.id, ids)
      try request.update(base, to: value, version: state.version)
      save(value)
    }
  }

  /// Remembers the value that is being saved, which has no temporary IDs of stored objects.
  private func save(_ value: Value) {
    state.saving = value
    if state.current != value { mutate { $0.current = value } }
  }

  func take(_ object: JSONValue) throws(ValueMismatch) {
    guard !object.isNull else { return mutate { $0.isGone = true } }
    let value = try ValueDecoder.decode(Value.self, from: object)
    let version = object[.version]?.integer ?? 0
    // An older state arrives where a fetch has been faster than a subscription.
    guard version >= state.version else { return }
    var taken = state
    taken.current =
      if let current = state.current, let base = state.base {
        ValueIdentity.rebased(current, from: base, onto: value)
      } else {
        value
      }
    (taken.base, taken.version, taken.isGone) = (value, version, false)
    guard taken.current != state.current || taken.isGone != state.isGone else {
      state = taken
      return
    }
    mutate { $0 = taken }
  }

  func saved(
    _ ids: [WrappedID: WrappedID],
    _ versions: [WrappedID: Int64]
  ) throws(ClientError) {
    var after = state
    (after.saving, after.isDeleting) = (nil, false)
    if state.isDeleting {
      (after.isGone, after.isDeleted, after.current) = (true, false, state.base)
    } else if let saving = state.saving {
      let id = ids[state.id] ?? state.id
      after.id = id
      after.isInserted = false
      let base = try ValueIdentity.replaced(saving, id: id, ids)
      after.base = base
      after.version = versions[id] ?? state.version
      after.current = state.current.map { ValueIdentity.rebased($0, from: saving, onto: base) }
    } else {
      return
    }
    registrar.withMutation(of: self, keyPath: \.id) { mutate { $0 = after } }
  }

  func rollback() {
    guard pendingChange != nil || state.isInserted else { return }
    mutate { state in
      if state.isInserted { state.isGone = true }
      state.isInserted = false
      state.isDeleted = false
      state.current = state.base
    }
  }

  func snapshot() -> () -> Void {
    let former = state
    return { [self] in
      mutate { state in
        state.isDeleted = former.isDeleted
        if let current = former.current, let old = former.base, let base = state.base {
          state.current = ValueIdentity.rebased(current, from: old, onto: base)
        } else {
          state.current = former.current
        }
      }
    }
  }
}

/// Values with other IDs, and on other values of the store.
enum ValueIdentity {
  /// Returns a value with an ID, in which permanent IDs replace temporary ones.
  static func replaced<Value: ObjectValue>(
    _ value: Value,
    id: WrappedID,
    _ ids: [WrappedID: WrappedID]
  ) throws(ClientError) -> Value {
    guard value.id != id || !ids.isEmpty else { return value }
    let names = Dictionary(uniqueKeysWithValues: ids.map { ($0.key.description, $0.value) })
    func replace(_ json: JSONValue) -> JSONValue {
      switch json {
      case .string(let text): names[text].map { .string($0.description) } ?? json
      case .array(let elements): .array(elements.map(replace))
      default: json
      }
    }
    let properties = try ValueEncoder.properties(of: value).mapValues(replace)
    do throws(ValueMismatch) {
      return try decoded(id, properties)
    } catch {
      throw ClientError(error)
    }
  }

  /// Returns a value whose changes since one value of the store are made to a newer one.
  ///
  /// Lists of related objects keep what was added and removed on both sides. A value that cannot
  /// be encoded stays as it is, and fails when it is saved.
  static func rebased<Value: ObjectValue>(
    _ value: Value,
    from old: Value,
    onto new: Value
  ) -> Value {
    if value == old { return new }
    if new == old { return value }
    do {
      let (values, olds) = (
        try ValueEncoder.properties(of: value), try ValueEncoder.properties(of: old)
      )
      var merged = try ValueEncoder.properties(of: new)
      for (name, changed) in values where changed != olds[name] {
        merged[name] = united(changed, olds[name], merged[name])
      }
      return try decoded(new.id, merged)
    } catch {
      return value
    }
  }

  private static func united(
    _ changed: JSONValue,
    _ old: JSONValue?,
    _ new: JSONValue?
  ) -> JSONValue {
    guard let changes = changed.array, let olds = old?.array, let news = new?.array,
      (changes + olds + news).allSatisfy({ $0.string.flatMap { ObjectID($0) } != nil })
    else { return changed }
    let kept = news.filter { changes.contains($0) || !olds.contains($0) }
    return .array(kept + changes.filter { !olds.contains($0) && !kept.contains($0) })
  }

  private static func decoded<Value: ObjectValue>(
    _ id: WrappedID,
    _ properties: [String: JSONValue]
  ) throws(ValueMismatch) -> Value {
    let members = properties.map { JSONMember($0.key, $0.value) }
    return try ValueDecoder.decode(
      Value.self,
      from: .object([.id: .string(id.description), .values: .object(members)])
    )
  }
}
