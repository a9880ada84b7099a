import CordialValues
import JSON

/// The form of a property in a model: an attribute or a relationship.
enum PropertyForm: Equatable {
  /// An attribute with its type in a model file; the type is nil if no value is known.
  case attribute(type: String?)
  /// A relationship, with the entities of the objects that samples refer to.
  case relationship(isToMany: Bool, targets: [String])

  /// Derives the form of a property from one fact.
  ///
  /// - Parameters:
  ///   - fact: The fact about the property.
  ///   - owners: The name of each known object's entity, by the object's ID.
  init(_ fact: PropertyFact, _ owners: [WrappedID: String]) {
    func entity(_ value: JSONValue) -> String? {
      guard let id = value.string.flatMap({ WrappedID($0) }) else { return nil }
      return owners[id]
    }
    switch fact.kind {
    case .bool: self = .attribute(type: "boolean")
    case .integer: self = .attribute(type: "int64")
    case .number: self = .attribute(type: "double")
    case .text: self = .attribute(type: "string")
    case .identifier:
      let targets = fact.samples.compactMap { sample in
        entity(sample) ?? sample.string.flatMap { WrappedID($0)?.entity }
      }
      self = .relationship(isToMany: false, targets: targets)
    case .identifiers:
      let targets = fact.samples.flatMap { $0.array ?? [] }.compactMap { sample in
        entity(sample) ?? sample.string.flatMap { WrappedID($0)?.entity }
      }
      self = .relationship(isToMany: true, targets: targets)
    case .converted(let samples): self = .attribute(type: Self.type(readingFrom: samples))
    case .other:
      let targets = fact.samples.compactMap(entity)
      let lists = fact.samples.compactMap(\.array)
      let elements = lists.flatMap { $0 }
      if !targets.isEmpty, targets.count == fact.samples.count {
        self = .relationship(isToMany: false, targets: targets)
      } else if !elements.isEmpty, lists.count == fact.samples.count,
        elements.allSatisfy({ entity($0) != nil })
      {
        self = .relationship(isToMany: true, targets: elements.compactMap(entity))
      } else {
        self = .attribute(type: Self.type(of: fact.samples))
      }
    }
  }

  /// Returns the attribute type for a Swift type that reads the given forms of values.
  private static func type(readingFrom samples: Set<WireSample>) -> String? {
    if samples.contains(.bool) { return "boolean" }
    if samples.contains(.number) { return "double" }
    if samples.contains(.integer) { return "int64" }
    if samples.contains(.list) { return "json" }
    if samples.isSuperset(of: [.text, .date, .uuid, .uri]) { return "string" }
    if samples == [.date] { return "date" }
    if samples == [.uuid] { return "uuid" }
    if samples.contains(.uri) { return "uri" }
    if samples.contains(.decimal) { return "decimal" }
    return samples.contains(.binary) ? "binary" : "string"
  }

  /// Returns the type of an attribute that can have all sample values; nil without samples.
  private static func type(of samples: [JSONValue]) -> String? {
    guard let first = samples.first else { return nil }
    func all(_ test: (JSONValue) -> Bool) -> Bool { samples.allSatisfy(test) }
    switch first {
    case _ where all { $0.bool != nil }: return "boolean"
    case _ where all { $0.integer != nil }: return "int64"
    case _ where all { $0.integer != nil || $0.isNumber }: return "double"
    case _ where all { $0.string.map { DateText.milliseconds($0) != nil } ?? false }:
      return "date"
    case _ where all { $0.string.map { UUIDValue($0) != nil } ?? false }: return "uuid"
    case _ where all { $0.string != nil }: return "string"
    default: return "json"
    }
  }
}

extension JSONValue {
  fileprivate var isNumber: Bool {
    if case .number = self { true } else { false }
  }
}
