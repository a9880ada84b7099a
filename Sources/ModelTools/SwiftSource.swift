// ModelTools: output made from a model: Swift code for its values, and drawings. All functions are
// pure.
//
// Must not know: stores, services, files.
//
// What always holds:
// 1. The same model gives the same text.
// 2. Texts of a model are escaped, so that no text becomes code or a part of a picture's markup.

import CordialValues
import JSON
package import ObjectModel

/// Swift code for the values of a model: a struct for each entity and for each of the model's
/// `values`, in the form in which a person would write them.
///
/// The same model gives the same text.
package struct SwiftSource {
  /// The code.
  package private(set) var text = ""
  /// The parts of the model without a counterpart in the code, in the order of the model.
  package private(set) var notes: [String] = []

  private let model: Model
  private let names: SwiftNames

  /// Writes the code of a model.
  ///
  /// - Parameters:
  ///   - model: The model.
  ///   - prefix: The beginning of each type's name, before the name of the entity.
  package init(_ model: Model, prefix: String) {
    self.model = model
    names = SwiftNames(model: model, prefix: prefix)
    var blocks = model.entities.map { structure(of: $0) }
    blocks += model.values.compactMap { structure(of: $0) }
    let (name, version) = (SwiftText.comment(model.name), SwiftText.comment(model.version))
    text = """
      // The values of the model \(name), version \(version).
      //
      // Written by `cordial model generate --swift`, which writes the same text again for the same
      // model.

      \(imports)

      \(blocks.joined(separator: "\n\n"))

      """
  }

  private var imports: String {
    let types = model.entities.flatMap(\.attributes).map(\.type)
    let needsFoundation = types.contains { $0.codec.swiftType?.isFoundation == true }
    let modules =
      ["public import Cordial"]
      + (needsFoundation ? ["import CordialFoundation"] : []) + ["public import CordialValues"]
      + (needsFoundation ? ["public import Foundation"] : [])
    return modules.joined(separator: "\n")
  }

  // MARK: Properties

  /// A stored property of a struct.
  private struct Property {
    var name: String
    let type: String
    /// The default value of the initializer's parameter; nil for a required parameter.
    let standard: String?
    let comment: String
  }

  /// Returns a sentence about an attribute.
  private static func comment(_ attribute: AttributeDescription) -> String {
    var facts: [String] = []
    if attribute.derived != nil { facts.append("computed by the store") }
    if let range = attribute.type.codec.integerRange, range.upperBound < Int64.max {
      facts.append(attribute.type.codec.expectation)
    }
    if let minimum = attribute.minimum { facts.append("at least \(minimum.words)") }
    if let maximum = attribute.maximum { facts.append("at most \(maximum.words)") }
    if let length = attribute.maximumLength { facts.append("at most \(length) characters") }
    let name = "The attribute `\(attribute.name)`"
    return facts.isEmpty ? name + "." : name + ": " + facts.joined(separator: ", ") + "."
  }

  private mutating func property(
    _ attribute: AttributeDescription,
    named name: String,
    of owner: String,
    _ enumerations: inout [String]
  ) -> Property? {
    guard var type = attribute.type.codec.swiftType?.name else {
      notes.append("\(owner).\(name) is of type json; add a property of a Codable type for it")
      return nil
    }
    var standard = attribute.optional ? "nil" : attribute.defaultValue.swiftLiteral
    if attribute.type.codec.isText, let cases = Self.cases(attribute.allowed ?? []) {
      type = SwiftNames.nestedName(name)
      // The property gets no default value if the model's default value is not among the cases.
      let value = cases.first { $0.text == attribute.defaultValue.text }
      if !attribute.optional { standard = value.map { ".\($0.name)" } }
      let lines = cases.map { found in
        let isSame = found.name.filter { $0 != "`" } == found.text
        return "    /// The value `\(SwiftText.comment(found.text))`.\n"
          + "    case \(found.name)\(isSame ? "" : " = \(found.literal)")"
      }
      enumerations.append(
        """
          /// The values of `\(name)`.
          public enum \(type): String, Codable, CaseIterable, Sendable {
        \(lines.joined(separator: "\n"))
          }
        """
      )
    }
    return Property(
      name: name,
      type: attribute.optional ? type + "?" : type,
      standard: standard,
      comment: Self.comment(attribute)
    )
  }

  /// Returns the cases of an enumeration; nil if a value has no name, or two values have one name.
  private static func cases(
    _ values: [AttributeValue]
  ) -> [(name: String, text: String, literal: String)]? {
    var cases: [(name: String, text: String, literal: String)] = []
    for value in values {
      guard let text = value.text, let name = SwiftNames.caseName(text),
        let literal = value.swiftLiteral,
        !cases.contains(where: { $0.name == name })
      else { return nil }
      cases.append((name, text, literal))
    }
    return cases.isEmpty ? nil : cases
  }

  // MARK: Structs

  private mutating func structure(of entity: EntityDescription) -> String {
    var properties: [Property] = []
    var nested: [String] = []
    for attribute in entity.attributes where !attribute.name.contains(".") {
      if let found = property(attribute, named: attribute.name, of: entity.name, &nested) {
        properties.append(found)
      }
    }
    for composite in entity.composites where !composite.name.contains(".") {
      let type = SwiftNames.nestedName(composite.name)
      if let body = structure(of: composite, entity, indent: "  ") {
        nested.append(body)
        properties.append(
          Property(
            name: composite.name,
            type: type,
            standard: nil,
            comment: "The composite `\(composite.name)`."
          )
        )
      }
    }
    for name in entity.transients where entity.computed(named: name) == nil {
      notes.append("\(entity.name).\(name) is transient, so that no service has its values")
    }
    for relationship in entity.relationships where !relationship.toMany {
      let destination = model.entity(relationship.destination).name
      properties.append(
        Property(
          name: relationship.name,
          type: relationship.optional ? "WrappedID?" : "WrappedID",
          standard: relationship.optional ? "nil" : nil,
          comment: "The ID of the \(destination) of `\(relationship.name)`."
        )
      )
    }
    let toManys = entity.relationships.filter(\.toMany).map(\.name)
    var summary = "An object of the entity \(entity.name)."
    if !toManys.isEmpty {
      let list = toManys.map { "`\($0)`" }.joined(separator: ", ")
      summary += "\n///\n/// Its to-manys are fetched by requests of their own: \(list)."
    }
    return declaration(
      names.typeName(entity.name),
      summary: summary,
      statics: [
        "  /// The name of the entity in the model.",
        "  public static let entity = \(SwiftText.literal(entity.name))",
      ],
      properties: properties,
      nested: nested + [paths(of: entity)]
    )
  }

  /// Returns the struct of a composite, nested in the struct of its entity.
  private mutating func structure(
    of composite: CompositeDescription,
    _ entity: EntityDescription,
    indent: String
  ) -> String? {
    var lines: [String] = []
    var nested: [String] = []
    for member in composite.members {
      let path = composite.path(of: member)
      if let inner = entity.composite(named: path) {
        guard let body = structure(of: inner, entity, indent: indent + "  ") else { continue }
        nested.append(body)
        lines.append("public var \(SwiftNames.escaped(member)): \(SwiftNames.nestedName(member))")
        continue
      }
      guard let attribute = entity.attributes.first(where: { $0.name == path }) else { continue }
      guard let type = attribute.type.codec.swiftType?.name else {
        notes.append("\(entity.name).\(path) is of type json; add a property of a Codable type")
        continue
      }
      let mark = attribute.optional ? "?" : ""
      lines.append("public var \(SwiftNames.escaped(member)): \(type)\(mark)")
    }
    guard !lines.isEmpty else { return nil }
    let name = SwiftNames.nestedName(composite.path.last ?? composite.name)
    let body = lines.map { "\(indent)  /// A member of the composite.\n\(indent)  \($0)" }
    return """
      \(indent)/// The composite `\(composite.name)`.
      \(indent)public struct \(name): Codable, Equatable, Sendable {
      \((body + nested).joined(separator: "\n\n"))
      \(indent)}
      """
  }

  private func paths(of entity: EntityDescription) -> String {
    var lines: [String] = []
    func add(_ name: String, _ path: String) {
      lines.append("    /// The path of `\(path)`.")
      let member = SwiftNames.escaped(SwiftNames.memberName(name, besides: []))
      lines.append("    public static let \(member) = \(SwiftText.literal(path))")
    }
    for attribute in entity.attributes where !attribute.name.contains(".") {
      add(attribute.name, attribute.name)
    }
    for composite in entity.composites where !composite.name.contains(".") {
      add(composite.name, composite.name)
    }
    for relationship in entity.relationships {
      add(relationship.name, relationship.name)
      if relationship.toMany { add(relationship.name + "Count", "\(relationship.name).@count") }
    }
    return """
        /// The properties and key paths, for orders and conditions in text.
        public enum Path {
      \(lines.joined(separator: "\n"))
        }
      """
  }

  /// Returns the struct of one of the model's `values`.
  private mutating func structure(of values: ModelValues) -> String? {
    guard let entity = model.entity(named: values.entity) else { return nil }
    var properties: [Property] = []
    for member in values.select.deduplicated.members ?? [] {
      let owner = "\(values.name).\(SwiftText.comment(member.name))"
      guard let path = member.value.string, let type = type(of: path, from: entity) else {
        notes.append("\(owner) has no fixed type; add a property for it")
        continue
      }
      guard SwiftText.isName(member.name),
        SwiftNames.memberName(member.name, besides: []) == member.name
      else {
        notes.append("\(owner) has a name that no property of Swift can have")
        continue
      }
      properties.append(
        Property(
          name: member.name,
          type: type,
          standard: type.hasSuffix("?") ? "nil" : nil,
          comment: "The value of `\(SwiftText.comment(path))`."
        )
      )
    }
    let isPrefixed = values.name.hasPrefix(names.prefix)
    let name = isPrefixed ? values.name : names.prefix + values.name
    return declaration(
      names.isTaken(name) ? name + "Values" : name,
      summary: "The values `\(values.name)` of an object of the entity \(entity.name).",
      statics: [
        "  /// The name of the entity in the model.",
        "  public static let entity = \(SwiftText.literal(entity.name))",
        "  /// The name of the model's values that a fetch selects.",
        "  public static let projection: String? = \(SwiftText.literal(values.name))",
      ],
      properties: properties,
      nested: []
    )
  }

  /// Returns the Swift type of a key path; nil if the values of the path have no fixed type.
  private func type(of path: String, from entity: EntityDescription) -> String? {
    var owner = entity
    var isOptional = false
    let steps = path.split(separator: ".").map(String.init)
    for (place, name) in steps.enumerated() {
      // A path after @count has no meaning.
      if name == "@count" { return place == steps.count - 1 ? "Int" : nil }
      switch owner.property(named: steps[place...].joined(separator: ".")) {
      case .attribute(let attribute):
        return attribute.type.codec.swiftType.map(\.name).map {
          attribute.optional || isOptional ? $0 + "?" : $0
        }
      default: break
      }
      guard case .relationship(let relationship) = owner.property(named: name) else { return nil }
      isOptional = isOptional || relationship.optional && !relationship.toMany
      let isLast = place == steps.count - 1
      if isLast {
        if relationship.toMany { return "[WrappedID]" }
        return isOptional ? "WrappedID?" : "WrappedID"
      }
      owner = model.entity(relationship.destination)
      if relationship.toMany, steps[place + 1] != "@count" { return nil }
    }
    return nil
  }

  private func declaration(
    _ name: String,
    summary: String,
    statics: [String],
    properties: [Property],
    nested: [String]
  ) -> String {
    let modelNames = properties.map(\.name)
    let properties = properties.map { property in
      var renamed = property
      renamed.name = SwiftNames.memberName(property.name, besides: modelNames)
      return renamed
    }
    let renamed = zip(properties, modelNames).filter { $0.name != $1 }
    var statics = statics
    if !renamed.isEmpty {
      let pairs = renamed.map { "\(SwiftText.literal($0.name)): \(SwiftText.literal($1))" }
        .joined(separator: ", ")
      statics.append("  /// The properties whose names are others in the model.")
      statics.append("  public static let properties = [\(pairs)]")
    }
    var stored = ["  /// The identity of the object.\n  public var id: WrappedID"]
    stored += properties.map {
      "  /// \($0.comment)\n  public var \(SwiftNames.escaped($0.name)): \($0.type)"
    }
    var parameters = ["    id: WrappedID"]
    parameters += properties.map { property in
      let standard = property.standard.map { " = \($0)" } ?? ""
      return "    \(SwiftNames.escaped(property.name)): \(property.type)\(standard)"
    }
    let assignments = (["id"] + properties.map { SwiftNames.escaped($0.name) }).map {
      "    self.\($0) = \($0)"
    }
    let isShort = parameters.count == 1
    let list =
      isShort
      ? parameters[0].drop { $0 == " " }.description
      : "\n\(parameters.joined(separator: ",\n"))\n  "
    let initializer = """
        /// Creates a value.
        public init(\(list)) {
      \(assignments.joined(separator: "\n"))
        }
      """
    let blocks =
      [statics.joined(separator: "\n")] + [stored.joined(separator: "\n")]
      + [initializer] + nested
    return """
      /// \(summary)
      public struct \(name): ObjectValue {
      \(blocks.joined(separator: "\n\n"))
      }
      """
  }
}

extension CompositeDescription {
  /// The names from the entity to the composite.
  fileprivate var path: [String] { name.split(separator: ".").map(String.init) }
}

extension AttributeValue {
  /// The text of a string value; nil for any other value.
  fileprivate var text: String? {
    if case .string(let text) = self { text } else { nil }
  }

  /// The value as a part of a sentence.
  fileprivate var words: String {
    switch self {
    case .integer(let number): "\(number)"
    case .double(let number): "\(number)"
    case .decimal(let text), .string(let text), .uuid(let text), .uri(let text):
      SwiftText.comment(text)
    case .date(let milliseconds): DateText.text(milliseconds) ?? "\(milliseconds)"
    default: SwiftText.comment("\(self)")
    }
  }

  /// The value as a Swift literal; nil for a value without a literal form.
  fileprivate var swiftLiteral: String? {
    switch self {
    case .integer(let number): return "\(number)"
    case .double(let number): return "\(number)"
    case .boolean(let flag): return "\(flag)"
    case .string(let text): return SwiftText.literal(text)
    default: return nil
    }
  }
}
