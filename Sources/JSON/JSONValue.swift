// JSON: bytes to JSON values and back, strictly and fast (RFC 8259).
//
// Must not know: I/O, Foundation, any other module of Cordial.
//
// What always holds:
// 1. The parser accepts valid UTF-8 and valid JSON only. Every other text is an error with the
//    offset of its first wrong byte.
// 2. An integer that fits 64 bits keeps every digit in parsing and writing.
// 3. Depth is bounded, so that no input exhausts the stack.
// 4. The parser reads every text of the writer back as an equal value.

/// A JSON value; members keep the order of the text, duplicates included.
package enum JSONValue: Sendable {
  case null
  case bool(Bool)
  case integer(Int64)
  /// A number with a fraction or an exponent, or an integer beyond 64 bits; always finite.
  case number(Double)
  case string(String)
  case array([JSONValue])
  case object([JSONMember])
}

/// One name and value of an object.
package struct JSONMember: Sendable {
  package var name: String
  package var value: JSONValue

  /// Creates a member with a name and a value.
  package init(_ name: String, _ value: JSONValue) {
    self.name = name
    self.value = value
  }
}

extension JSONValue: Equatable {
  /// Compares strings by code points, as section 8.3 of RFC 8259 requires.
  ///
  /// Swift's `==` of strings would also equate canonically equivalent strings.
  package static func == (first: JSONValue, second: JSONValue) -> Bool {
    switch (first, second) {
    case (.null, .null): true
    case (.bool(let a), .bool(let b)): a == b
    case (.integer(let a), .integer(let b)): a == b
    case (.number(let a), .number(let b)): a == b
    case (.string(let a), .string(let b)): JSONBytes.areEqual(a, b)
    case (.array(let a), .array(let b)): a == b
    case (.object(let a), .object(let b)): a == b
    default: false
    }
  }
}

extension JSONMember: Equatable {
  package static func == (first: JSONMember, second: JSONMember) -> Bool {
    JSONBytes.areEqual(first.name, second.name) && first.value == second.value
  }
}

extension JSONValue {
  /// Returns the value of the last member with a name, or nil if there is none.
  package subscript(name: String) -> JSONValue? {
    guard case .object(let members) = self else { return nil }
    let count = name.utf8.count
    for index in members.indices.reversed()
    where members[index].name.utf8.count == count && JSONBytes.areEqual(members[index].name, name) {
      return members[index].value
    }
    return nil
  }

  /// The text of a string value, or nil for any other value.
  package var string: String? {
    if case .string(let text) = self { text } else { nil }
  }

  /// The number of an integer value, or nil for any other value.
  package var integer: Int64? {
    if case .integer(let number) = self { number } else { nil }
  }

  /// The flag of a boolean value, or nil for any other value.
  package var bool: Bool? {
    if case .bool(let flag) = self { flag } else { nil }
  }

  /// The elements of an array, or nil for any other value.
  package var array: [JSONValue]? {
    if case .array(let elements) = self { elements } else { nil }
  }

  /// The members of an object, or nil for any other value.
  package var members: [JSONMember]? {
    if case .object(let members) = self { members } else { nil }
  }

  /// Whether this is `null`.
  package var isNull: Bool { self == .null }

  /// The kind of this value, as part of a sentence: "a string", "an object".
  package var kind: String {
    switch self {
    case .null: "null"
    case .bool: "a boolean"
    case .integer, .number: "a number"
    case .string: "a string"
    case .array: "an array"
    case .object: "an object"
    }
  }

  /// The same value with unique member names in each object.
  ///
  /// If an object has several members with the same name, the result has one member. Its value is
  /// the last value, and its position is the first position.
  package var deduplicated: JSONValue {
    switch self {
    case .array(let elements): return .array(elements.map(\.deduplicated))
    case .object(let members):
      var indices: [[UInt8]: Int] = [:]
      var kept: [JSONMember] = []
      for member in members {
        let name = Array(member.name.utf8)
        if let index = indices[name] {
          kept[index].value = member.value.deduplicated
        } else {
          indices[name] = kept.count
          kept.append(JSONMember(member.name, member.value.deduplicated))
        }
      }
      return .object(kept)
    default: return self
    }
  }

  /// The compact text of this value, without a newline.
  package var text: String {
    var writer = JSONWriter()
    writer.value(self)
    return String(decoding: writer.bytes, as: UTF8.self)
  }

  /// The text of this value with line breaks and two spaces for each level, for files that people
  /// read.
  package var prettyText: String {
    var lines = ""
    pretty(into: &lines, indent: 0)
    return lines
  }

  private func pretty(into text: inout String, indent: Int) {
    let inner = String(repeating: "  ", count: indent + 1)
    let outer = String(repeating: "  ", count: indent)
    switch self {
    case .array(let elements) where !elements.isEmpty:
      text += "[\n"
      for (index, element) in elements.enumerated() {
        text += inner
        element.pretty(into: &text, indent: indent + 1)
        text += index == elements.count - 1 ? "\n" : ",\n"
      }
      text += outer + "]"
    case .object(let members) where !members.isEmpty:
      text += "{\n"
      for (index, member) in members.enumerated() {
        text += inner + JSONValue.string(member.name).text + ": "
        member.value.pretty(into: &text, indent: indent + 1)
        text += index == members.count - 1 ? "\n" : ",\n"
      }
      text += outer + "}"
    default:
      text += self.text
    }
  }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByBooleanLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral,
  ExpressibleByNilLiteral, ExpressibleByFloatLiteral
{
  package init(stringLiteral value: String) { self = .string(value) }
  package init(integerLiteral value: Int64) { self = .integer(value) }
  package init(booleanLiteral value: Bool) { self = .bool(value) }
  package init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
  package init(floatLiteral value: Double) { self = .number(value) }
  package init(nilLiteral: ()) { self = .null }
  package init(dictionaryLiteral elements: (String, JSONValue)...) {
    self = .object(elements.map { JSONMember($0.0, $0.1) })
  }
}
