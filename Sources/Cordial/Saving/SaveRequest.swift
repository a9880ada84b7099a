import CordialProtocol
public import CordialValues
import JSON

/// The policy for a save that conflicts with changes that its client has not seen.
public enum MergePolicy: String, Sendable, CaseIterable {
  /// The save fails with `saveConflict` and writes nothing.
  case error
  /// A property that other saves have changed keeps the store's value.
  case storeTrump
  /// A property that the client has changed gets the client's value.
  case objectTrump
  /// All properties get the client's values, even properties that the client has not changed.
  case overwrite
  /// The object keeps all its stored values.
  case rollback
}

/// The changes of one transaction: all of them are saved, or none.
///
///     var changes = SaveRequest()
///     let group = try changes.insert { TodoGroup(id: $0, title: "Home", taskCount: 0) }
///     try changes.update(task, to: finished, version: object.version)
///     changes.delete(old.id)
///     try await client.save(changes)
public struct SaveRequest: Sendable {
  private var changes = SaveCall()
  private var failure: ClientError?

  /// Creates a request without changes.
  public init() {}

  /// Whether the request has no changes.
  public var isEmpty: Bool { changes.count == 0 }

  /// Inserts an object.
  ///
  /// Computed properties of the value are not sent; the store computes them.
  ///
  /// - Parameter make: Makes the value with the temporary ID that it receives. Other values of this
  ///   request may refer to this ID.
  /// - Returns: The value.
  /// - Throws: The error of `make`, or `ClientError`: `mockIdentifier` for a relationship to a
  ///   mock, `valueMismatch` for a value that the protocol cannot represent.
  @discardableResult
  public mutating func insert<Value: ObjectValue>(
    _ make: (WrappedID) throws -> Value
  ) throws -> Value {
    let value = try make(.temporary(Value.entity))
    try insert(value)
    return value
  }

  /// Inserts an object whose value has a temporary ID.
  ///
  /// - Parameter value: The value.
  /// - Throws: `ClientError`.
  mutating func insert<Value: ObjectValue>(_ value: Value) throws(ClientError) {
    let id = try value.id.wireText()
    guard value.id.isTemporary, value.id.entity == Value.entity else {
      throw ClientError(
        code: .invalidIdentifier,
        message: "\(id) is not the temporary ID of a new \(Value.entity)"
      )
    }
    let values = try StoredProperties(of: value).members
    changes.inserts.append(SaveCall.Insert(id: id, values: values))
  }

  /// Updates the properties of an object that differ between two values.
  ///
  /// A list of related objects is sent as additions and removals, unless its order has changed.
  ///
  /// - Parameters:
  ///   - value: The value that the store returned.
  ///   - changed: The value to save, with the same ID.
  ///   - version: The object's version that the store returned together with the value; nil saves
  ///     the differing properties without a check for conflicts.
  /// - Throws: `ClientError`: `invalidIdentifier` for values of two objects, `mockIdentifier` for
  ///   the ID of a mock, `valueMismatch` if a computed property differs.
  public mutating func update<Value: ObjectValue>(
    _ value: Value,
    to changed: Value,
    version: Int64? = nil
  ) throws(ClientError) {
    let id = try changed.id.wireText()
    guard value.id == changed.id else {
      throw ClientError(
        code: .invalidIdentifier,
        message: "\(value.id) and \(changed.id) are different objects"
      )
    }
    let base = try StoredProperties(of: value)
    let values = try StoredProperties(of: changed).changes(since: base, object: id)
    guard !values.isEmpty else { return }
    let known = version.flatMap { $0 > 0 ? $0 : nil }
    changes.updates.append(SaveCall.Update(id: id, version: known, values: values))
  }

  /// Deletes an object.
  ///
  /// - Parameters:
  ///   - id: The ID of the object. The ID of a mock makes the save fail.
  ///   - version: The version that the client has; nil deletes the object without a check for
  ///     conflicts.
  public mutating func delete(_ id: WrappedID, version: Int64? = nil) {
    do throws(ClientError) {
      changes.deletes.append(SaveCall.Delete(id: try id.wireText(), version: version))
    } catch {
      failure = error
    }
  }

  /// Returns the params of `save` for the changes.
  func call() throws(ClientError) -> SaveCall {
    if let failure { throw failure }
    return changes
  }
}

/// The properties of a value: the properties that a save can send, and the computed properties.
struct StoredProperties {
  private var values: [String: JSONValue] = [:]
  /// The values that the store computes, by their names in the type.
  private var computed: [String: JSONValue] = [:]
  private let type: String

  init<Value: ObjectValue>(of value: Value) throws(ClientError) {
    type = "\(Value.self)"
    for (name, json) in try ValueEncoder.properties(of: value) {
      let path = Value.properties[name] ?? name
      if path.contains(where: { $0 == "." || $0 == "@" }) {
        computed[name] = json
      } else {
        values[path] = json
      }
    }
  }

  /// The properties, in the order of their names.
  var members: [JSONMember] {
    values.sorted { $0.key < $1.key }.map { JSONMember($0.key, $0.value) }
  }

  /// Returns the properties that differ from a former value.
  ///
  /// - Throws: `ClientError` if a computed property differs.
  func changes(
    since base: StoredProperties,
    object: String
  ) throws(ClientError) -> [JSONMember] {
    for (name, value) in computed.sorted(by: { $0.key < $1.key }) where base.computed[name] != value
    {
      throw ClientError(
        code: .valueMismatch,
        message: "\(object): \(type).\(name) is computed by the store, so that it cannot be changed"
      )
    }
    return members.compactMap { member in
      guard let former = base.values[member.name], former != member.value else { return nil }
      return JSONMember(member.name, Self.difference(member.value, former))
    }
  }

  /// Returns the additions to and removals from a list of IDs, or any other value unchanged.
  private static func difference(_ value: JSONValue, _ former: JSONValue) -> JSONValue {
    guard let new = identifiers(value), let old = identifiers(former), !(new + old).isEmpty else {
      return value
    }
    let (newSet, oldSet) = (Set(new), Set(old))
    // Additions and removals cannot express a change of order or a repeated element.
    guard newSet != oldSet, newSet.count == new.count,
      new.filter(oldSet.contains) == old.filter(newSet.contains)
    else { return value }
    let lists = [
      ("@add", new.filter { !oldSet.contains($0) }),
      ("@remove", old.filter { !newSet.contains($0) }),
    ]
    return .object(
      lists.filter { !$0.1.isEmpty }
        .map { JSONMember($0.0, .array($0.1.map { .string($0.description) })) }
    )
  }

  private static func identifiers(_ value: JSONValue) -> [ObjectID]? {
    guard let elements = value.array else { return nil }
    let ids = elements.compactMap { $0.string.flatMap { ObjectID($0) } }
    return ids.count == elements.count ? ids : nil
  }
}

extension WrappedID {
  /// Returns a new temporary ID of an entity.
  static func temporary(_ entity: String) -> WrappedID {
    .objectID(ObjectID(entity: entity, key: .temporary("\(UUIDValue.next())")))
  }
}
