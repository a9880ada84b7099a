import Foundation

/// A JSON value as a client of another language would hold it; none of our own modules is used.
indirect enum JSON: Equatable, Sendable {
  case null
  case bool(Bool)
  case integer(Int64)
  case double(Double)
  case string(String)
  case array([JSON])
  case object([String: JSON])

  init(_ text: String) throws {
    self = try JSONDecoder().decode(JSON.self, from: Data(text.utf8))
  }

  var text: String {
    do {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
      return String(decoding: try encoder.encode(self), as: UTF8.self)
    } catch {
      return "\(error)"
    }
  }

  subscript(name: String) -> JSON? {
    guard case .object(let members) = self else { return nil }
    return members[name]
  }

  subscript(index: Int) -> JSON? {
    guard case .array(let elements) = self, elements.indices.contains(index) else { return nil }
    return elements[index]
  }

  var string: String? {
    guard case .string(let text) = self else { return nil }
    return text
  }

  var integer: Int? {
    guard case .integer(let number) = self else { return nil }
    return Int(number)
  }

  var array: [JSON]? {
    guard case .array(let elements) = self else { return nil }
    return elements
  }

  var object: [String: JSON]? {
    guard case .object(let members) = self else { return nil }
    return members
  }
}

extension JSON: Codable {
  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    // A wrong guess costs an error, so the most frequent come first.
    if container.decodeNil() {
      self = .null
    } else if let value = Self.first(String.self, container) {
      self = .string(value)
    } else if let value = Self.first(Int64.self, container) {
      self = .integer(value)
    } else if let value = Self.first([String: JSON].self, container) {
      self = .object(value)
    } else if let value = Self.first([JSON].self, container) {
      self = .array(value)
    } else if let value = Self.first(Bool.self, container) {
      self = .bool(value)
    } else {
      self = .double(try container.decode(Double.self))
    }
  }

  private static func first<T: Decodable>(
    _ type: T.Type,
    _ container: any SingleValueDecodingContainer
  ) -> T? {
    do { return try container.decode(type) } catch { return nil }
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .null: try container.encodeNil()
    case .bool(let value): try container.encode(value)
    case .integer(let value): try container.encode(value)
    case .double(let value): try container.encode(value)
    case .string(let value): try container.encode(value)
    case .array(let value): try container.encode(value)
    case .object(let value): try container.encode(value)
    }
  }
}

extension JSON: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByStringLiteral, ExpressibleByStringInterpolation, ExpressibleByArrayLiteral,
  ExpressibleByDictionaryLiteral
{
  init(nilLiteral: ()) { self = .null }
  init(booleanLiteral value: Bool) { self = .bool(value) }
  init(integerLiteral value: Int64) { self = .integer(value) }
  init(stringLiteral value: String) { self = .string(value) }
  init(arrayLiteral elements: JSON...) { self = .array(elements) }
  init(dictionaryLiteral elements: (String, JSON)...) {
    self = .object(Dictionary(elements, uniquingKeysWith: { $1 }))
  }
}

extension [JSON] {
  /// An element; null when there are fewer, which then fails the test and not its process.
  func at(_ index: Int) -> JSON { indices.contains(index) ? self[index] : .null }
}
