/// The properties that a fetch reads of objects outside its result, and the paths to these objects.
package struct RelatedReads: Sendable, Equatable {
  /// A relationship of an entity.
  package struct Step: Sendable, Hashable {
    /// The number of the entity.
    package let entity: Int
    package let relationship: String

    package init(entity: Int, relationship: String) {
      self.entity = entity
      self.relationship = relationship
    }
  }

  /// The purpose for which values are read.
  package enum Role: Sendable, Hashable {
    /// The values appear only in the result's rows.
    case values
    /// The values decide which objects match.
    case condition
    /// The values decide the order of the objects, and their sections.
    case order
  }

  /// The path to some objects, and the purpose for which they are read.
  package struct Path: Sendable, Hashable {
    /// The relationships from the result's objects to the objects that are read; at least one.
    package let steps: [Step]
    package let role: Role

    package init(steps: [Step], role: Role) {
      self.steps = steps
      self.role = role
    }
  }

  /// The properties that are read at the end of each path, by entity number.
  package private(set) var paths: [Path: [Int: Set<String>]] = [:]
  /// The properties that the fetch reads of objects that no path reaches, by entity number.
  package private(set) var elsewhere: [Int: Set<String>] = [:]
  /// The entities of objects that the result includes in addition to its rows.
  package var included: Set<Int> = []

  package init() {}

  /// Adds properties of an entity.
  ///
  /// - Parameters:
  ///   - properties: The names; empty if only the existence of the objects matters.
  ///   - entity: The number of the entity.
  ///   - path: The path to the objects; nil if no path reaches them.
  package mutating func insert(_ properties: Set<String>, of entity: Int, at path: Path?) {
    if let path {
      paths[path, default: [:]][entity, default: []].formUnion(properties)
    } else {
      elsewhere[entity, default: []].formUnion(properties)
    }
  }

  /// Returns the same reads with each entity number replaced by several entity numbers, such as
  /// those of a family.
  package func mapEntities(_ numbers: (Int) -> [Int]) -> RelatedReads {
    var mapped = RelatedReads()
    mapped.included = included
    for (path, entities) in paths {
      for (entity, properties) in entities {
        for number in numbers(entity) { mapped.insert(properties, of: number, at: path) }
      }
    }
    for (entity, properties) in elsewhere {
      for number in numbers(entity) { mapped.insert(properties, of: number, at: nil) }
    }
    return mapped
  }
}
