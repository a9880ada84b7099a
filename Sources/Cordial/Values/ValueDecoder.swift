import CordialProtocol
import CordialValues
package import JSON

/// A decoder of values from the protocol's objects, without an intermediate copy of members.
package enum ValueDecoder {
  /// Decodes the value of an object.
  ///
  /// - Parameters:
  ///   - type: The type of the value.
  ///   - object: `{id, version, values}`.
  /// - Returns: The value.
  /// - Throws: `ValueMismatch` with the object and the property.
  package static func decode<Value: Decodable>(
    _ type: Value.Type,
    from object: JSONValue
  ) throws(ValueMismatch) -> Value {
    let id = object[.id] ?? .null
    do {
      return try Value(from: NodeDecoder(object[.values] ?? .object([]), id: id))
    } catch {
      throw ValueMismatch(error, object: id.string ?? "")
    }
  }
}

/// A JSON value as the input of a `Decodable` type.
struct NodeDecoder: Decoder {
  let json: JSONValue
  /// The ID of the object whose values are decoded; nil for a value inside the object.
  let id: JSONValue?
  let path: CodingPath

  init(_ json: JSONValue, id: JSONValue? = nil, path: CodingPath = CodingPath()) {
    self.json = json
    self.id = id
    self.path = path
  }

  var codingPath: [any CodingKey] { path.keys }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    guard let members = json.members else { throw mismatch(wanted: "an object") }
    return KeyedDecodingContainer(MemberContainer<Key>(MemberSource(members, id: id, path: path)))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    guard let elements = json.array else { throw mismatch(wanted: "a list") }
    return ElementContainer(elements, path: path)
  }

  func singleValueContainer() -> any SingleValueDecodingContainer { NodeContainer(node: self) }

  fileprivate func mismatch(wanted: String) -> any Error {
    json.isNull
      ? DecodingError.valueNotFound(
        String.self,
        .init(codingPath: codingPath, debugDescription: "it is null")
      )
      : DecodingError.typeMismatch(
        String.self,
        .init(codingPath: codingPath, debugDescription: "it is \(json.kind), not \(wanted)")
      )
  }

  // MARK: Scalars

  func text(_ type: Any.Type) throws -> String {
    guard case .string(let text) = json else { throw wrongType(type) }
    return text
  }

  func flag() throws -> Bool {
    guard case .bool(let flag) = json else { throw wrongType(Bool.self) }
    return flag
  }

  func integer<Number: FixedWidthInteger>(_ type: Number.Type) throws -> Number {
    guard case .integer(let number) = json else { throw wrongType(type) }
    guard let exact = Number(exactly: number) else {
      throw DecodingError.dataCorrupted(
        .init(codingPath: codingPath, debugDescription: "\(number) is out of the range of \(type)")
      )
    }
    return exact
  }

  func number<Number: BinaryFloatingPoint>(_ type: Number.Type) throws -> Number {
    switch json {
    case .number(let number): return Number(number)
    case .integer(let number): return Number(number)
    default: throw wrongType(type)
    }
  }

  private func wrongType(_ type: Any.Type) -> any Error {
    if json.isNull {
      return DecodingError.valueNotFound(
        type,
        .init(codingPath: codingPath, debugDescription: "it is null")
      )
    }
    return DecodingError.typeMismatch(
      type,
      .init(codingPath: codingPath, debugDescription: "it is \(json.kind), not \(type)")
    )
  }

  /// Decodes a value of a type that is not a text, a Boolean or a number.
  func value<Value: Decodable>(_ type: Value.Type) throws -> Value {
    if type == WrappedID.self || type == UUIDValue.self || type == ObjectID.self {
      return try Value(from: self)
    }
    if let convertible = type as? any WireConvertible.Type {
      return try converted(convertible, as: type)
    }
    if let missing = FoundationTypes.product(for: type) {
      throw DecodingError.dataCorrupted(.init(codingPath: codingPath, debugDescription: missing))
    }
    guard let fallback = type as? any FallbackDecodable.Type, !json.isNull else {
      return try Value(from: self)
    }
    do {
      return try Value(from: self)
    } catch DecodingError.dataCorrupted {
      guard let value = fallback.fallback as? Value else { throw wrongType(type) }
      return value
    }
  }

  private func converted<Value>(
    _ convertible: any WireConvertible.Type,
    as type: Value.Type
  ) throws -> Value {
    guard !json.isNull || convertible.init(wireValue: .null) != nil else { throw wrongType(type) }
    if let value = WireValue(json).flatMap({ convertible.init(wireValue: $0) }) as? Value {
      return value
    }
    if let fallback = (type as? any FallbackDecodable.Type)?.fallback as? Value { return fallback }
    throw DecodingError.dataCorrupted(
      .init(codingPath: codingPath, debugDescription: "\(json.text) is not a value of \(type)")
    )
  }
}

/// The types of Foundation that the protocol can represent.
enum FoundationTypes {
  private static let cache = TypeCache<String?>()

  /// Returns an error message for a type that needs `CordialFoundation`; nil for any other type.
  static func product(for type: Any.Type) -> String? {
    cache.fact(for: type) { missingProduct(for: type) }
  }

  private static func missingProduct(for type: Any.Type) -> String? {
    let name = String(reflecting: type)
    guard name.hasPrefix("Foundation"), let dot = name.firstIndex(of: ".") else { return nil }
    let short = name[name.index(after: dot)...]
    guard ["Date", "UUID", "Decimal", "URL", "Data"].contains(short) else { return nil }
    return "\(short) is decoded by the product CordialFoundation, which this program does not use"
  }
}

/// The keys from an object to a value inside it.
struct CodingPath: Sendable {
  private indirect enum Node: Sendable {
    case root
    case key(String, index: Int?, parent: Node)
  }

  private var node = Node.root

  func appending(_ name: String, index: Int? = nil) -> CodingPath {
    var path = self
    path.node = .key(name, index: index, parent: node)
    return path
  }

  var keys: [any CodingKey] {
    var keys: [any CodingKey] = []
    var next = node
    while case .key(let name, let index, let parent) = next {
      keys.append(AnyKey(stringValue: name, intValue: index))
      next = parent
    }
    return keys.reversed()
  }
}

/// A key of any container.
struct AnyKey: CodingKey {
  let stringValue: String
  let intValue: Int?

  init(stringValue: String, intValue: Int?) {
    (self.stringValue, self.intValue) = (stringValue, intValue)
  }

  init(stringValue: String) { self.init(stringValue: stringValue, intValue: nil) }

  init(intValue: Int) { self.init(stringValue: "\(intValue)", intValue: intValue) }
}
