import CordialValues
import JSON

/// The members of an object.
///
/// The type is a class, so that the copies of a container share the index of the last read.
final class MemberSource {
  private let members: [JSONMember]
  private let id: JSONValue?
  let path: CodingPath
  /// The index of the member that was read last, at which the next search begins.
  private var place = 0

  init(_ members: [JSONMember], id: JSONValue?, path: CodingPath) {
    self.members = members
    self.id = id
    self.path = path
  }

  var names: [String] { members.map(\.name) + (id == nil ? [] : ["id"]) }

  var decoder: NodeDecoder { NodeDecoder(.object(members), id: id, path: path) }

  func value(_ name: String) -> JSONValue? {
    if let id, name == "id" { return id }
    for index in members[place...].indices where members[index].name == name {
      place = index
      return members[index].value
    }
    for index in 0..<place where members[index].name == name {
      place = index
      return members[index].value
    }
    return nil
  }
}

/// The members of an object as a keyed container.
///
/// For an object of a service, the key `id` returns the object's ID.
struct MemberContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
  private let source: MemberSource

  init(_ source: MemberSource) {
    self.source = source
  }

  private var path: CodingPath { source.path }

  var codingPath: [any CodingKey] { path.keys }

  var allKeys: [Key] { source.names.compactMap { Key(stringValue: $0) } }

  private func value(_ name: String) -> JSONValue? { source.value(name) }

  private func node(_ key: Key) throws -> NodeDecoder {
    let name = key.stringValue
    guard let value = value(name) else {
      throw DecodingError.keyNotFound(
        key,
        .init(codingPath: codingPath, debugDescription: "the service did not send \(name)")
      )
    }
    return NodeDecoder(value, path: path.appending(name))
  }

  func contains(_ key: Key) -> Bool { value(key.stringValue) != nil }

  func decodeNil(forKey key: Key) throws -> Bool { isNull(key) }

  // Values of frequent types are read without a separate decoder.

  func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool {
    if case .bool(let flag)? = value(key.stringValue) { return flag }
    return try node(key).flag()
  }

  func decode(_ type: String.Type, forKey key: Key) throws -> String {
    if case .string(let text)? = value(key.stringValue) { return text }
    return try node(key).text(type)
  }

  func decode(_ type: Double.Type, forKey key: Key) throws -> Double {
    if case .number(let number)? = value(key.stringValue) { return number }
    return try node(key).number(type)
  }

  func decode(_ type: Int.Type, forKey key: Key) throws -> Int {
    if case .integer(let number)? = value(key.stringValue) { return Int(number) }
    return try node(key).integer(type)
  }

  func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try node(key).number(type) }
  func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try node(key).integer(type) }
  func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try node(key).integer(type) }
  func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try node(key).integer(type) }
  func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try node(key).integer(type) }
  func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try node(key).integer(type) }
  func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try node(key).integer(type) }
  func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 {
    try node(key).integer(type)
  }
  func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 {
    try node(key).integer(type)
  }
  func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 {
    try node(key).integer(type)
  }

  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
    if type == WrappedID.self, case .string(let text)? = value(key.stringValue),
      let id = WrappedID(text) as? Value
    {
      return id
    }
    return try node(key).value(type)
  }

  func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? {
    isNull(key) ? nil : try decode(type, forKey: key)
  }

  func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
    isNull(key) ? nil : try decode(type, forKey: key)
  }

  func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? {
    isNull(key) ? nil : try decode(type, forKey: key)
  }

  func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? {
    isNull(key) ? nil : try decode(type, forKey: key)
  }

  func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
    isNull(key) ? nil : try decode(type, forKey: key)
  }

  private func isNull(_ key: Key) -> Bool { value(key.stringValue)?.isNull ?? true }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type,
    forKey key: Key
  ) throws -> KeyedDecodingContainer<Nested> {
    try node(key).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try node(key).unkeyedContainer()
  }

  func superDecoder() throws -> any Decoder { source.decoder }
  func superDecoder(forKey key: Key) throws -> any Decoder { try node(key) }
}

/// The elements of a list as an unkeyed container.
struct ElementContainer: UnkeyedDecodingContainer {
  private let elements: [JSONValue]
  private let path: CodingPath
  private(set) var currentIndex = 0

  init(_ elements: [JSONValue], path: CodingPath) {
    self.elements = elements
    self.path = path
  }

  var codingPath: [any CodingKey] { path.keys }
  var count: Int? { elements.count }
  var isAtEnd: Bool { currentIndex >= elements.count }

  private mutating func next() throws -> NodeDecoder {
    guard !isAtEnd else {
      throw DecodingError.valueNotFound(
        Any.self,
        .init(codingPath: codingPath, debugDescription: "the list has \(elements.count) elements")
      )
    }
    defer { currentIndex += 1 }
    return NodeDecoder(
      elements[currentIndex],
      path: path.appending("\(currentIndex)", index: currentIndex)
    )
  }

  mutating func decodeNil() throws -> Bool {
    guard !isAtEnd, elements[currentIndex].isNull else { return false }
    currentIndex += 1
    return true
  }

  mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    try next().value(type)
  }

  mutating func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type
  ) throws -> KeyedDecodingContainer<Nested> {
    try next().container(keyedBy: type)
  }

  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    try next().unkeyedContainer()
  }

  mutating func superDecoder() throws -> any Decoder { try next() }
}

/// A value as a single-value container.
struct NodeContainer: SingleValueDecodingContainer {
  let node: NodeDecoder

  var codingPath: [any CodingKey] { node.codingPath }

  func decodeNil() -> Bool { node.json.isNull }
  func decode(_ type: Bool.Type) throws -> Bool { try node.flag() }
  func decode(_ type: String.Type) throws -> String { try node.text(type) }
  func decode(_ type: Double.Type) throws -> Double { try node.number(type) }
  func decode(_ type: Float.Type) throws -> Float { try node.number(type) }
  func decode(_ type: Int.Type) throws -> Int { try node.integer(type) }
  func decode(_ type: Int8.Type) throws -> Int8 { try node.integer(type) }
  func decode(_ type: Int16.Type) throws -> Int16 { try node.integer(type) }
  func decode(_ type: Int32.Type) throws -> Int32 { try node.integer(type) }
  func decode(_ type: Int64.Type) throws -> Int64 { try node.integer(type) }
  func decode(_ type: UInt.Type) throws -> UInt { try node.integer(type) }
  func decode(_ type: UInt8.Type) throws -> UInt8 { try node.integer(type) }
  func decode(_ type: UInt16.Type) throws -> UInt16 { try node.integer(type) }
  func decode(_ type: UInt32.Type) throws -> UInt32 { try node.integer(type) }
  func decode(_ type: UInt64.Type) throws -> UInt64 { try node.integer(type) }
  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try node.value(type) }
}
