import CordialProtocol
import CordialValues
package import JSON

/// An encoder of values as the properties of the protocol's objects.
package enum ValueEncoder {
  /// The IDs that a value may contain.
  package enum Identifiers: Sendable {
    /// The IDs of objects in a store.
    case stored
    /// The IDs of objects in a store and of mocks.
    case any
  }

  /// Encodes the properties of a value, without its ID.
  ///
  /// - Parameters:
  ///   - value: The value.
  ///   - identifiers: The IDs that the value may contain.
  /// - Returns: The properties by their names in the type. A property that the type decodes and the
  ///   value does not encode is null.
  /// - Throws: `ClientError`: `mockIdentifier` for a relationship to a mock, `valueMismatch` for a
  ///   value that the protocol cannot represent.
  package static func properties<Value: Codable>(
    of value: Value,
    identifiers: Identifiers = .stored
  ) throws(ClientError) -> [String: JSONValue] {
    let node = EncodedNode(identifiers)
    do {
      try value.encode(to: NodeEncoder(node: node, path: CodingPath()))
    } catch let error as ClientError {
      throw error
    } catch EncodingError.invalidValue(_, let context) {
      let path = context.codingPath.map(\.stringValue).joined(separator: ".")
      throw ClientError(code: .valueMismatch, message: "\(path): \(context.debugDescription)")
    } catch {
      throw ClientError(code: .valueMismatch, message: "\(Value.self): \(error)")
    }
    guard let members = node.json.members else {
      throw ClientError(code: .valueMismatch, message: "\(Value.self) is not encoded as an object")
    }
    var properties: [String: JSONValue] = [:]
    do throws(ValueMismatch) {
      for property in try DecodedProperties.of(Value.self).properties {
        properties[property.name] = .null
      }
    } catch {
      throw ClientError(error)
    }
    for member in members where !member.isOne(of: .id) { properties[member.name] = member.value }
    return properties
  }
}

/// A value that is being encoded, shared by the containers of the value.
final class EncodedNode {
  private enum Content {
    case empty
    case leaf(JSONValue)
    case members([(name: String, node: EncodedNode)])
    case elements([EncodedNode])
  }

  private var content = Content.empty
  private let identifiers: ValueEncoder.Identifiers

  init(_ identifiers: ValueEncoder.Identifiers) {
    self.identifiers = identifiers
  }

  /// Returns the JSON value of an ID.
  func value(_ id: WrappedID) throws -> JSONValue {
    switch identifiers {
    case .stored: .string(try id.wireText())
    case .any: .string(id.description)
    }
  }

  /// The encoded value.
  var json: JSONValue {
    switch content {
    case .empty: .object([])
    case .leaf(let value): value
    case .members(let members): .object(members.map { JSONMember($0.name, $0.node.json) })
    case .elements(let nodes): .array(nodes.map(\.json))
    }
  }

  var count: Int { if case .elements(let nodes) = content { nodes.count } else { 0 } }

  func set(_ value: JSONValue) { content = .leaf(value) }

  /// Makes the value an object; an object keeps its members.
  func beginObject() {
    if case .members = content { return }
    content = .members([])
  }

  /// Makes the value a list; a list keeps its elements.
  func beginList() {
    if case .elements = content { return }
    content = .elements([])
  }

  func member(_ name: String) -> EncodedNode {
    let node = EncodedNode(identifiers)
    guard case .members(var members) = content else { return node }
    content = .empty
    members.removeAll { $0.name == name }
    members.append((name, node))
    content = .members(members)
    return node
  }

  func element() -> EncodedNode {
    let node = EncodedNode(identifiers)
    guard case .elements(var nodes) = content else { return node }
    content = .empty
    nodes.append(node)
    content = .elements(nodes)
    return node
  }
}

/// The encoder of one node.
struct NodeEncoder: Encoder, SingleValueEncodingContainer {
  let node: EncodedNode
  let path: CodingPath

  var codingPath: [any CodingKey] { path.keys }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    node.beginObject()
    return KeyedEncodingContainer(EncodedMembers<Key>(node: node, path: path))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    node.beginList()
    return EncodedElements(node: node, path: path)
  }

  func singleValueContainer() -> any SingleValueEncodingContainer { self }

  func encodeNil() { node.set(.null) }
  func encode(_ value: Bool) { node.set(.bool(value)) }
  func encode(_ value: String) { node.set(.string(value)) }
  func encode(_ value: Double) throws { try number(value) }
  func encode(_ value: Float) throws { try number(Double(value)) }
  func encode(_ value: Int) throws { try integer(value) }
  func encode(_ value: Int8) throws { try integer(value) }
  func encode(_ value: Int16) throws { try integer(value) }
  func encode(_ value: Int32) throws { try integer(value) }
  func encode(_ value: Int64) throws { try integer(value) }
  func encode(_ value: UInt) throws { try integer(value) }
  func encode(_ value: UInt8) throws { try integer(value) }
  func encode(_ value: UInt16) throws { try integer(value) }
  func encode(_ value: UInt32) throws { try integer(value) }
  func encode(_ value: UInt64) throws { try integer(value) }

  func encode<Value: Encodable>(_ value: Value) throws {
    switch value {
    case let id as WrappedID: node.set(try node.value(id))
    case let ids as [WrappedID]: node.set(.array(try ids.map { try node.value($0) }))
    case let convertible as any WireConvertible:
      let wire = convertible.wireValue
      if case .number(let number) = wire { return try self.number(number) }
      node.set(wire.json)
    default:
      if let missing = FoundationTypes.product(for: Value.self) {
        throw invalid(value, missing)
      }
      try value.encode(to: self)
    }
  }

  private func integer<Number: FixedWidthInteger>(_ value: Number) throws {
    guard let exact = Int64(exactly: value) else {
      throw invalid(value, "\(value) is out of the range of 64 bits")
    }
    node.set(.integer(exact))
  }

  private func number(_ value: Double) throws {
    guard value.isFinite else { throw invalid(value, "\(value) is not a number of JSON") }
    node.set(.number(value))
  }

  private func invalid(_ value: Any, _ reason: String) -> any Error {
    EncodingError.invalidValue(value, .init(codingPath: codingPath, debugDescription: reason))
  }
}

private struct EncodedMembers<Key: CodingKey>: KeyedEncodingContainerProtocol {
  let node: EncodedNode
  let path: CodingPath

  var codingPath: [any CodingKey] { path.keys }

  private func encoder(_ name: String) -> NodeEncoder {
    NodeEncoder(node: node.member(name), path: path.appending(name))
  }

  func encodeNil(forKey key: Key) { encoder(key.stringValue).encodeNil() }

  func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
    // The value's own ID is not encoded, because it may be the ID of a mock.
    if key.stringValue == "id", path.keys.isEmpty { return }
    try encoder(key.stringValue).encode(value)
  }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type,
    forKey key: Key
  ) -> KeyedEncodingContainer<Nested> {
    encoder(key.stringValue).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
    encoder(key.stringValue).unkeyedContainer()
  }

  func superEncoder() -> any Encoder { NodeEncoder(node: node, path: path) }
  func superEncoder(forKey key: Key) -> any Encoder { encoder(key.stringValue) }
}

private struct EncodedElements: UnkeyedEncodingContainer {
  let node: EncodedNode
  let path: CodingPath

  var codingPath: [any CodingKey] { path.keys }
  var count: Int { node.count }

  private func next() -> NodeEncoder {
    let index = node.count
    return NodeEncoder(node: node.element(), path: path.appending("\(index)", index: index))
  }

  func encodeNil() { next().encodeNil() }
  func encode<Value: Encodable>(_ value: Value) throws { try next().encode(value) }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type
  ) -> KeyedEncodingContainer<Nested> {
    next().container(keyedBy: type)
  }

  func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { next().unkeyedContainer() }
  func superEncoder() -> any Encoder { next() }
}
