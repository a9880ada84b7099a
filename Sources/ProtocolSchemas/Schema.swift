// ProtocolSchemas: the contract in machine-readable form. A file declares one method or several
// related methods. The method table is the source of the checks and of the OpenRPC document.
//
// Must not know: storage, sockets, clients.
//
// What always holds:
// 1. The service checks params against the same declaration that it publishes.
// 2. The service refuses an unknown param, because ignoring the param could change the meaning of
//    the request.
// 3. Every row of the table has an example that satisfies the row's own schema.

package import CordialProtocol
package import JSON

/// The shape of a value on the wire.
package indirect enum Schema: Sendable {
  case any
  case string
  case boolean
  case number
  case integer(ClosedRange<Int64>)
  /// One of these strings.
  case choice([String])
  case array(Schema)
  /// An object whose members all have the same schema.
  case map(Schema)
  case object([Field])
  case nullable(Schema)
  case either([Schema])
  /// A schema with a name, which the OpenRPC document contains once.
  case named(String, Schema)

  /// A wrapped ID, like `Package/p17`.
  package static let wrappedID = Schema.named("WrappedID", .string)
  /// The text of a token.
  package static let token = Schema.named("Token", .string)
  /// An integer from 0 to 2^53 - 1, the range that every client can represent.
  package static let count = Schema.named("Count", .integer(0...9_007_199_254_740_991))
}

/// One named member: a param, or a member of an object.
package struct Field: Sendable {
  package let name: String
  package let schema: Schema
  package let isRequired: Bool
  package let summary: String

  package static func required(_ name: MemberName, _ schema: Schema, _ summary: String) -> Field {
    Field(name: name.rawValue, schema: schema, isRequired: true, summary: summary)
  }

  package static func optional(_ name: MemberName, _ schema: Schema, _ summary: String) -> Field {
    Field(name: name.rawValue, schema: schema, isRequired: false, summary: summary)
  }
}

/// A violation of a schema: its path in the value, and the reason.
///
/// The path is built only after a check fails, from the innermost value outward. A check of a valid
/// value builds no text.
package struct Mismatch: Sendable {
  private var path = ""
  private let reason: String

  init(_ reason: String) {
    self.reason = reason
  }

  func inside(member name: String) -> Mismatch {
    var outer = self
    outer.path = path.isEmpty || path.hasPrefix("[") ? name + path : name + "." + path
    return outer
  }

  func inside(element index: Int) -> Mismatch {
    var outer = self
    outer.path = path.isEmpty || path.hasPrefix("[") ? "[\(index)]\(path)" : "[\(index)].\(path)"
    return outer
  }

  /// The violation as one sentence.
  package var sentence: String { path.isEmpty ? reason : "\(path) \(reason)" }
}

extension Schema {
  /// Checks a value.
  ///
  /// - Parameter value: The value.
  /// - Returns: The first violation, nil when the value is valid.
  package func mismatch(_ value: JSONValue) -> Mismatch? {
    switch (self, value) {
    case (.any, _), (.string, .string), (.boolean, .bool), (.number, .number),
      (.number, .integer), (.nullable, .null):
      return nil
    case (.integer(let range), .integer(let number)) where range.contains(number): return nil
    case (.choice(let choices), .string(let text)) where choices.contains(text): return nil
    case (.array(let element), .array(let elements)):
      return Self.mismatch(elements, element)
    case (.map(.any), .object): return nil
    case (.map(let element), .object(let members)):
      for member in members {
        if let found = element.mismatch(member.value) { return found.inside(member: member.name) }
      }
      return nil
    case (.object(let fields), .object(let members)): return Self.mismatch(members, fields)
    case (.nullable(let inner), _): return inner.mismatch(value)
    case (.either(let choices), _): return mismatch(value, choices)
    case (.named(_, let inner), _): return inner.mismatch(value)
    default: return Mismatch("wants \(words), found \(Self.shown(value))")
    }
  }

  private static func mismatch(_ elements: [JSONValue], _ element: Schema) -> Mismatch? {
    for (index, value) in elements.enumerated() {
      if let found = element.mismatch(value) { return found.inside(element: index) }
    }
    return nil
  }

  private func mismatch(_ value: JSONValue, _ choices: [Schema]) -> Mismatch? {
    let same = choices.first { $0.kindMatches(value) }
    let mismatch = same?.mismatch(value)
    if same != nil, mismatch == nil { return nil }
    for choice in choices where choice.mismatch(value) == nil { return nil }
    return mismatch ?? Mismatch("wants \(words), found \(value.kind)")
  }

  /// Checks the members of an object against its fields.
  static func mismatch(_ members: [JSONMember], _ fields: [Field]) -> Mismatch? {
    for member in members {
      guard let field = fields.first(where: { JSONBytes.areEqual($0.name, member.name) }) else {
        let names = fields.map(\.name).joined(separator: ", ")
        return Mismatch("is unknown; known are \(names.isEmpty ? "none" : names)")
          .inside(member: member.name)
      }
      if let found = field.schema.mismatch(member.value) {
        return found.inside(member: member.name)
      }
    }
    for field in fields where field.isRequired {
      guard members.contains(where: { JSONBytes.areEqual($0.name, field.name) }) else {
        return Mismatch("is missing: \(field.summary)").inside(member: field.name)
      }
    }
    return nil
  }

  private func kindMatches(_ value: JSONValue) -> Bool {
    switch (self, value) {
    case (.object, .object), (.map, .object), (.array, .array), (.string, .string),
      (.choice, .string), (.integer, .integer):
      true
    case (.named(_, let inner), _): inner.kindMatches(value)
    default: false
    }
  }

  private static func shown(_ value: JSONValue) -> String {
    switch value {
    case .integer(let number): "\(number)"
    case .string(let text) where text.utf8.count <= 64: "\"\(text)\""
    default: value.kind
    }
  }

  /// A description of the valid values.
  package var words: String {
    switch self {
    case .any: "any value"
    case .string: "a string"
    case .boolean: "true or false"
    case .number: "a number"
    case .integer(let range): "an integer from \(range.lowerBound) to \(range.upperBound)"
    case .choice(let choices): choices.map { "\"\($0)\"" }.joined(separator: " or ")
    case .array(let element): "a list, each \(element.words)"
    case .map, .object: "an object"
    case .nullable(let inner): inner.words + " or null"
    case .either(let choices): choices.map(\.words).joined(separator: ", or ")
    case .named(_, let inner): inner.words
    }
  }

  /// The named schemas inside this schema; each follows the named schemas that it contains.
  var named: [(name: String, schema: Schema)] {
    switch self {
    case .any, .string, .boolean, .number, .integer, .choice: []
    case .array(let inner), .map(let inner), .nullable(let inner): inner.named
    case .object(let fields): fields.flatMap(\.schema.named)
    case .either(let choices): choices.flatMap(\.named)
    case .named(let name, let inner): inner.named + [(name, inner)]
    }
  }

  /// This schema as JSON Schema (draft 7); named schemas become references.
  package var json: JSONValue {
    switch self {
    case .any: return [:]
    case .string: return ["type": "string"]
    case .boolean: return ["type": "boolean"]
    case .number: return ["type": "number"]
    case .integer(let range):
      return [
        "type": "integer", "minimum": .integer(range.lowerBound),
        "maximum": .integer(range.upperBound),
      ]
    case .choice(let choices): return ["enum": .array(choices.map { .string($0) })]
    case .array(let element): return ["type": "array", "items": element.json]
    case .map(let element): return ["type": "object", "additionalProperties": element.json]
    case .object(let fields):
      var members: [JSONMember] = [
        JSONMember("type", "object"),
        JSONMember(
          "properties",
          .object(
            fields.map { field in
              JSONMember(field.name, field.described)
            }
          )
        ),
      ]
      let required = fields.filter(\.isRequired).map { JSONValue.string($0.name) }
      if !required.isEmpty { members.append(JSONMember("required", .array(required))) }
      members.append(JSONMember("additionalProperties", false))
      return .object(members)
    case .nullable(let inner): return ["anyOf": [inner.json, ["type": "null"]]]
    case .either(let choices): return ["anyOf": .array(choices.map(\.json))]
    case .named(let name, _): return ["$ref": .string("#/components/schemas/\(name)")]
    }
  }
}

extension Field {
  /// The schema of the member with its summary.
  fileprivate var described: JSONValue {
    let summary = JSONMember("description", .string(self.summary))
    // Validators ignore members next to a reference, so `allOf` contains the reference.
    if case .named = schema { return .object([JSONMember("allOf", [schema.json]), summary]) }
    return .object((schema.json.members ?? []) + [summary])
  }
}
