import CordialValues

/// The properties that a type decodes, found by decoding the type from samples.
///
/// A sample is an empty text, zero, nil, or the first case of an enumeration.
struct DecodedProperties: Equatable, Sendable {
  /// A property and the kind of value that the type reads from it.
  struct Property: Equatable, Sendable {
    let name: String
    let kind: Kind
    let isOptional: Bool
  }

  /// The kind of value that a type reads from a property.
  enum Kind: Equatable, Sendable {
    case bool, integer, number, text
    /// One ID of an object, or a list of IDs.
    case identifier, identifiers
    /// A `WireConvertible` type, with the forms of values that the type can read.
    case converted(Set<WireSample>)
    /// A list, a structure, or a type that decodes in its own way.
    case other

    /// Finds the kind of a type that is not a Boolean, a number or a text.
    init(of type: Any.Type) {
      self = .other
      if type == WrappedID.self || type == ObjectID.self {
        self = .identifier
      } else if type == [WrappedID].self || type == [ObjectID].self {
        self = .identifiers
      } else if let convertible = type as? any WireConvertible.Type,
        !(type is any CaseIterable.Type), !(type is any RawRepresentable.Type),
        !(type is any FallbackDecodable.Type)
      {
        let samples = WireSample.allCases.filter { convertible.init(wireValue: $0.value) != nil }
        self = .converted(Set(samples))
      }
    }
  }

  /// The properties in the order in which the type decodes them, without `id`.
  let properties: [Property]

  private static let cache = TypeCache<Result<DecodedProperties, ValueMismatch>>()

  /// Returns the properties of a type.
  ///
  /// - Parameter type: The type.
  /// - Returns: The properties.
  /// - Throws: `ValueMismatch` for a type that cannot be decoded from samples, such as an
  ///   enumeration that is not `CaseIterable`.
  static func of<Value: Decodable>(
    _ type: Value.Type
  ) throws(ValueMismatch) -> DecodedProperties {
    try cache.fact(for: type) {
      Result { () throws(ValueMismatch) in try DecodedProperties(of: type) }
    }.get()
  }

  private init<Value: Decodable>(of type: Value.Type) throws(ValueMismatch) {
    let recorder = PropertyRecorder()
    do {
      _ = try Value(from: RecordingDecoder(recorder: recorder, depth: 0))
    } catch {
      throw ValueMismatch(error, object: "")
    }
    properties = recorder.properties
  }
}

private final class PropertyRecorder {
  var properties: [DecodedProperties.Property] = []

  func add(_ name: String, _ kind: DecodedProperties.Kind, isOptional: Bool = false) {
    guard name != "id", !properties.contains(where: { $0.name == name }) else { return }
    properties.append(.init(name: name, kind: kind, isOptional: isOptional))
  }
}

/// A decoder that returns a sample for every value.
private struct RecordingDecoder: Decoder {
  /// The recorder of the properties; nil while the decoder reads the value of a property.
  let recorder: PropertyRecorder?
  let depth: Int
  var codingPath: [any CodingKey] = []
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  /// The maximum depth of nested structures, which ends the recursion of a self-containing type.
  private static let depthMax = 32

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(RecordingContainer<Key>(decoder: self))
  }

  func unkeyedContainer() -> any UnkeyedDecodingContainer {
    ElementContainer([], path: CodingPath())
  }

  func singleValueContainer() -> any SingleValueDecodingContainer {
    SampleContainer(decoder: self)
  }

  func sample<Value: Decodable>(_ type: Value.Type, _ path: [any CodingKey]) throws -> Value {
    if type == WrappedID.self, let id = WrappedID.string("") as? Value { return id }
    if let cases = type as? any CaseIterable.Type, let first = Self.first(cases) as? Value {
      return first
    }
    if let fallback = (type as? any FallbackDecodable.Type)?.fallback as? Value { return fallback }
    if let convertible = type as? any WireConvertible.Type {
      for sample in WireSample.allCases {
        if let value = convertible.init(wireValue: sample.value) as? Value { return value }
      }
    }
    if let missing = FoundationTypes.product(for: type) {
      throw DecodingError.dataCorrupted(.init(codingPath: path, debugDescription: missing))
    }
    guard depth < Self.depthMax else {
      throw DecodingError.dataCorrupted(
        .init(codingPath: path, debugDescription: "\(type) contains itself")
      )
    }
    do {
      return try Value(from: RecordingDecoder(recorder: nil, depth: depth + 1, codingPath: path))
    } catch DecodingError.dataCorrupted(let context) where context.codingPath.count <= path.count {
      let hint = "make it CaseIterable, or WireConvertible"
      throw DecodingError.dataCorrupted(
        .init(codingPath: path, debugDescription: "\(type) has no sample value: \(hint)")
      )
    }
  }

  private static func first<Cases: CaseIterable>(_ type: Cases.Type) -> Any? {
    Cases.allCases.first
  }
}

private struct RecordingContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let decoder: RecordingDecoder

  var codingPath: [any CodingKey] { decoder.codingPath }
  var allKeys: [Key] { [] }

  private func add(_ key: Key, _ kind: DecodedProperties.Kind, isOptional: Bool = false) {
    decoder.recorder?.add(key.stringValue, kind, isOptional: isOptional)
  }

  func contains(_ key: Key) -> Bool { true }

  func decodeNil(forKey key: Key) throws -> Bool {
    add(key, .other, isOptional: true)
    return true
  }

  func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool {
    add(key, .bool)
    return false
  }

  func decode(_ type: String.Type, forKey key: Key) throws -> String {
    add(key, .text)
    return ""
  }

  func decode(_ type: Double.Type, forKey key: Key) throws -> Double { number(key) }
  func decode(_ type: Float.Type, forKey key: Key) throws -> Float { number(key) }
  func decode(_ type: Int.Type, forKey key: Key) throws -> Int { integer(key) }
  func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { integer(key) }
  func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { integer(key) }
  func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { integer(key) }
  func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { integer(key) }
  func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { integer(key) }
  func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { integer(key) }
  func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { integer(key) }
  func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { integer(key) }
  func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { integer(key) }

  private func integer<Number: FixedWidthInteger>(_ key: Key) -> Number {
    add(key, .integer)
    return 0
  }

  private func number<Number: BinaryFloatingPoint>(_ key: Key) -> Number {
    add(key, .number)
    return 0
  }

  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
    add(key, .init(of: type))
    return try decoder.sample(type, codingPath + [key])
  }

  func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? {
    add(key, .bool, isOptional: true)
    return nil
  }

  func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
    add(key, .text, isOptional: true)
    return nil
  }

  func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? {
    add(key, .number, isOptional: true)
    return nil
  }

  func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? {
    add(key, .integer, isOptional: true)
    return nil
  }

  func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
    add(key, .init(of: type), isOptional: true)
    // A Foundation type without `CordialFoundation` fails here, before the first object arrives.
    if let missing = FoundationTypes.product(for: type), !(type is any WireConvertible.Type) {
      let path = codingPath + [key]
      throw DecodingError.dataCorrupted(.init(codingPath: path, debugDescription: missing))
    }
    return nil
  }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type,
    forKey key: Key
  ) throws -> KeyedDecodingContainer<Nested> {
    add(key, .other)
    return RecordingDecoder(recorder: nil, depth: decoder.depth + 1, codingPath: codingPath + [key])
      .container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    add(key, .other)
    return ElementContainer([], path: CodingPath())
  }

  func superDecoder() throws -> any Decoder { decoder }

  func superDecoder(forKey key: Key) throws -> any Decoder {
    add(key, .other)
    return RecordingDecoder(recorder: nil, depth: decoder.depth + 1, codingPath: codingPath + [key])
  }
}

private struct SampleContainer: SingleValueDecodingContainer {
  let decoder: RecordingDecoder

  var codingPath: [any CodingKey] { decoder.codingPath }

  func decodeNil() -> Bool { true }
  func decode(_ type: Bool.Type) throws -> Bool { false }
  func decode(_ type: String.Type) throws -> String { "" }
  func decode(_ type: Double.Type) throws -> Double { 0 }
  func decode(_ type: Float.Type) throws -> Float { 0 }
  func decode(_ type: Int.Type) throws -> Int { 0 }
  func decode(_ type: Int8.Type) throws -> Int8 { 0 }
  func decode(_ type: Int16.Type) throws -> Int16 { 0 }
  func decode(_ type: Int32.Type) throws -> Int32 { 0 }
  func decode(_ type: Int64.Type) throws -> Int64 { 0 }
  func decode(_ type: UInt.Type) throws -> UInt { 0 }
  func decode(_ type: UInt8.Type) throws -> UInt8 { 0 }
  func decode(_ type: UInt16.Type) throws -> UInt16 { 0 }
  func decode(_ type: UInt32.Type) throws -> UInt32 { 0 }
  func decode(_ type: UInt64.Type) throws -> UInt64 { 0 }
  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    try decoder.sample(type, codingPath)
  }
}
