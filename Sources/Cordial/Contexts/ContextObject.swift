import CordialProtocol
public import CordialValues
import JSON
public import Observation

/// An object in a context: a stored value with changes that are not saved yet.
///
/// The object stays in the isolation domain of its context. The ID of an inserted object is
/// temporary until the context saves the object.
@dynamicMemberLookup
public final class ContextObject<Value: ObjectValue>: Observable, Identifiable {
  /// The stored value of the object, its unsaved changes, and the progress of a save.
  private struct State {
    var id: WrappedID
    /// The value that the store returned; nil for an inserted object and before the first load.
    var base: Value?
    var version: Int64 = 0
    /// The value with the unsaved changes; nil before the first load.
    var current: Value?
    var isInserted = false
    var isDeleted = false
    /// Whether the context knows that the store has no object with the ID.
    ///
    /// A rollback of an insertion sets the flag too.
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

  /// The value with the unsaved changes; nil before the first load and for a deleted object.
  public var value: Value? {
    context?.checkIsolation()
    registrar.access(self, keyPath: \.value)
    return isDeletedNow ? nil : state.current
  }

  /// The version of the value that the store returned; 0 before the first load or save.
  public var version: Int64 { state.version }

  /// Whether the object is marked for deletion, or was removed by a save or a rollback.
  ///
  /// If another client has deleted the object, this property is false while there are unsaved
  /// changes.
  public var isDeleted: Bool {
    registrar.access(self, keyPath: \.value)
    return isDeletedNow
  }

  /// The value of `isDeleted`, read without registering an access for observation.
  ///
  /// If another client has deleted the object, its unsaved changes stay visible until their save
  /// fails.
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
  /// An object that is deleted or not loaded cannot be changed.
  ///
  /// - Parameter value: The value, with the ID of the object.
  /// - Throws: `ClientError`: `invalidIdentifier` for the value of a different object,
  ///   `objectNotFound` for an object that is deleted or not loaded.
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

  /// A property of the value; nil for an object that is deleted or not loaded.
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

  /// Marks an inserted object as deleted, without an undo step.
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

  /// Records the value that a save sends.
  ///
  /// In this value, permanent IDs replace temporary IDs.
  private func save(_ value: Value) {
    state.saving = value
    if state.current != value { mutate { $0.current = value } }
  }

  func take(_ object: JSONValue) throws(ValueMismatch) {
    guard !object.isNull else { return mutate { $0.isGone = true } }
    let value = try ValueDecoder.decode(Value.self, from: object)
    let version = object[.version]?.integer ?? 0
    // A subscription can deliver an older version than an earlier fetch has returned.
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

/// Functions that replace the IDs of values and apply changes to newer stored values.
enum ValueIdentity {
  /// Returns a copy of a value with a new ID.
  ///
  /// In the copy, permanent IDs replace temporary IDs.
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

  /// Returns the newer stored value `new` with the edits applied that turned `old` into `value`.
  ///
  /// In a list of related objects, the result combines the additions and removals of the edit with
  /// those of the store. If a value cannot be encoded, the function returns the edited `value`,
  /// whose save then fails.
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
