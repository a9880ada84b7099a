import CordialValues
import JSON

/// The parts of a service's model against which the types of a program are checked.
struct ModelSchema: Sendable {
  /// A property of an entity.
  enum Property: Equatable, Sendable {
    /// An attribute, with its type in the model file.
    case attribute(type: String)
    case toOne(destination: String)
    case toMany(destination: String)
  }

  private struct Entity: Sendable {
    var parent: String?
    /// The properties in the order of the model.
    var properties: [(name: String, property: Property)] = []
  }

  private var entities: [String: Entity] = [:]
  private var projections: [String: (entity: String, names: [String])] = [:]

  /// Reads the result of the method `model`.
  ///
  /// - Returns: nil for a value without the member `entities`.
  init?(_ model: JSONValue) {
    guard let list = model["entities"]?.array else { return nil }
    for element in list {
      guard let name = element["name"]?.string else { continue }
      var entity = Entity(parent: element["parent"]?.string)
      for attribute in element["attributes"]?.array ?? [] {
        guard let name = attribute["name"]?.string else { continue }
        entity.properties.append((name, .attribute(type: attribute["type"]?.string ?? "")))
      }
      for relationship in element["relationships"]?.array ?? [] {
        guard let name = relationship["name"]?.string,
          let destination = relationship["destination"]?.string
        else { continue }
        let isToMany = relationship["toMany"]?.bool == true
        entity.properties.append(
          (name, isToMany ? .toMany(destination: destination) : .toOne(destination: destination))
        )
      }
      entities[name] = entity
    }
    for element in model["values"]?.array ?? [] {
      guard let name = element["name"]?.string, let entity = element["entity"]?.string else {
        continue
      }
      projections[name] = (entity, element["select"]?.members?.map(\.name) ?? [])
    }
  }

  /// Returns the entity and its ancestors, beginning with the entity.
  private func family(of entity: String) -> [String] {
    var names: [String] = []
    var next: String? = entity
    while let name = next, let found = entities[name], !names.contains(name) {
      names.append(name)
      next = found.parent
    }
    return names
  }

  /// Returns whether two entities are the same, or one is an ancestor of the other.
  func isRelated(_ first: String, _ second: String) -> Bool {
    family(of: first).contains(second) || family(of: second).contains(first)
  }

  /// Returns a property that an entity declares or inherits.
  func property(_ name: String, of entity: String) -> Property? {
    for ancestor in family(of: entity) {
      if let found = entities[ancestor]?.properties.first(where: { $0.name == name }) {
        return found.property
      }
    }
    return nil
  }

  private func propertyNames(of entity: String) -> [String] {
    family(of: entity).reversed().flatMap { entities[$0]?.properties.map(\.name) ?? [] }
  }

  // MARK: Checks

  /// Checks the properties that a type decodes against the model.
  ///
  /// - Parameters:
  ///   - selection: The selection of a fetch for the type.
  ///   - type: The type.
  /// - Throws: `ClientError` that names the wrong property and lists the properties of the entity.
  func check<Value: ObjectValue>(
    _ selection: TypeSelection,
    of type: Value.Type
  ) throws(ClientError) {
    let properties: [DecodedProperties.Property]
    do throws(ValueMismatch) {
      properties = try DecodedProperties.of(type).properties
    } catch {
      throw ClientError(code: .valueMismatch, message: "\(type): \(error)")
    }
    try check(properties, selection, entity: type.entity, type: "\(type)")
  }

  private func check(
    _ properties: [DecodedProperties.Property],
    _ selection: TypeSelection,
    entity: String,
    type: String
  ) throws(ClientError) {
    guard entities[entity] != nil else {
      throw ClientError(
        code: .unknownEntity,
        message: "\(type): the model has no entity \(entity); it has "
          + entities.keys.sorted().joined(separator: ", ")
      )
    }
    switch selection {
    case .invalid(let mismatch):
      throw ClientError(code: .valueMismatch, message: "\(type): \(mismatch)")
    case .projection(let name): try check(properties, projection: name, entity, type)
    case .paths(let paths):
      for property in properties {
        let path = paths[property.name] ?? property.name
        try check(property, path: path, entity, type)
      }
    }
  }

  private func check(
    _ properties: [DecodedProperties.Property],
    projection: String,
    _ entity: String,
    _ type: String
  ) throws(ClientError) {
    guard let (owner, names) = projections[projection], isRelated(owner, entity) else {
      let ours = projections.filter { isRelated($0.value.entity, entity) }.keys.sorted()
      throw ClientError(
        code: .unknownProperty,
        message: "\(type): the model has no values \"\(projection)\" of \(entity); it has "
          + (ours.isEmpty ? "none" : ours.joined(separator: ", "))
      )
    }
    for property in properties where !names.contains(property.name) && !property.isOptional {
      throw ClientError(
        code: .unknownProperty,
        message: "\(type).\(property.name): the values \"\(projection)\" have no such name; they "
          + "have \(names.joined(separator: ", "))"
      )
    }
  }

  private func check(
    _ property: DecodedProperties.Property,
    path: String,
    _ entity: String,
    _ type: String
  ) throws(ClientError) {
    var owner = entity
    let names = path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    for (index, name) in names.enumerated() {
      let isLast = index == names.count - 1
      if name.hasPrefix("@") {
        if name == "@count", isLast, !property.kind.accepts(.attribute(type: "int64")) {
          throw mismatch(property, path, "a number of objects", type)
        }
        return
      }
      guard let found = self.property(name, of: owner) else {
        throw ClientError(
          code: .unknownProperty,
          message: "\(type).\(property.name): \(owner) has no property \"\(name)\"; it has "
            + propertyNames(of: owner).joined(separator: ", ")
        )
      }
      switch found {
      // The check ends here: decoding checks the members of composite attributes, and the values
      // across to-many relationships.
      case .attribute where !isLast: return
      case .toMany where !isLast && names[index + 1] != "@count": return
      case .toMany(let destination) where !isLast: owner = destination
      case .toOne(let destination) where !isLast: owner = destination
      default:
        guard property.kind.accepts(found) else {
          throw mismatch(property, path, "\(found) of \(owner)", type)
        }
      }
    }
  }

  private func mismatch(
    _ property: DecodedProperties.Property,
    _ path: String,
    _ found: String,
    _ type: String
  ) -> ClientError {
    ClientError(
      code: .valueMismatch,
      message: "\(type).\(property.name) is \(property.kind), but \"\(path)\" is \(found)"
    )
  }
}

extension ModelSchema.Property: CustomStringConvertible {
  /// The kind of the property, for error messages.
  var description: String {
    switch self {
    case .attribute(let type): "an attribute of type \(type)"
    case .toOne(let destination): "a to-one relationship to \(destination)"
    case .toMany(let destination): "a to-many relationship to \(destination)"
    }
  }
}

extension DecodedProperties.Kind {
  /// Returns whether a property of the model can have a value of this kind.
  func accepts(_ property: ModelSchema.Property) -> Bool {
    switch property {
    case .toMany:
      switch self {
      case .identifiers, .other: true
      case .converted(let samples): samples.contains(.list)
      default: false
      }
    case .toOne:
      switch self {
      case .text, .identifier, .other: true
      case .converted(let samples): samples.contains(.identifier)
      default: false
      }
    case .attribute(let type): accepts(attributeType: type)
    }
  }

  private func accepts(attributeType type: String) -> Bool {
    guard let sample = WireSample(attributeType: type) else { return true }
    return switch self {
    case .bool: sample == .bool
    case .integer: sample == .integer
    case .number: sample == .integer || sample == .number
    case .text: ![.bool, .integer, .number].contains(sample)
    case .converted(let samples): sample == .text || samples.contains(sample)
    case .identifier, .identifiers: false
    case .other: true
    }
  }
}

extension DecodedProperties.Kind: CustomStringConvertible {
  /// The kind, for error messages.
  var description: String {
    switch self {
    case .bool: "a flag"
    case .integer: "an integer"
    case .number: "a number"
    case .text: "a text"
    case .identifier: "the ID of an object"
    case .identifiers: "the IDs of objects"
    case .converted: "of a type that has no such value"
    case .other: "a structure"
    }
  }
}

/// A form of values on the wire, with an example.
enum WireSample: CaseIterable, Sendable {
  case bool, integer, number, text, date, uuid, uri, binary, decimal, identifier, list

  /// Finds the form of an attribute's values; returns nil for a type with several forms.
  init?(attributeType: String) {
    switch attributeType {
    case "boolean": self = .bool
    case "int16", "int32", "int64": self = .integer
    case "double", "float": self = .number
    case "string": self = .text
    case "date": self = .date
    case "uuid": self = .uuid
    case "uri": self = .uri
    case "binary": self = .binary
    case "decimal": self = .decimal
    default: return nil
    }
  }

  /// A value of the form.
  var value: WireValue {
    switch self {
    case .bool: .bool(false)
    case .integer: .integer(0)
    case .number: .number(0)
    case .text, .binary: .string("")
    case .date: .string("2001-01-01T00:00:00.000Z")
    case .uuid: .string("00000000-0000-0000-0000-000000000000")
    case .uri: .string("x:")
    case .decimal: .string("0")
    case .identifier: .string("X/p1")
    case .list: .list([])
    }
  }
}
