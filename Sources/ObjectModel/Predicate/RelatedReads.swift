/// What a fetch reads of other objects than those of its result, and how it reaches them.
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

  /// What the values decide.
  package enum Role: Sendable, Hashable {
    /// Only values of the result's rows.
    case values
    /// Which objects match.
    case condition
    /// The order of the objects, and their sections.
    case order
  }

  /// Objects that the same relationships reach, and what they are read for.
  package struct Path: Sendable, Hashable {
    /// The relationships from the result's objects to those that are read; at least one.
    package let steps: [Step]
    package let role: Role

    package init(steps: [Step], role: Role) {
      self.steps = steps
      self.role = role
    }
  }

  /// The properties that are read at the end of each path, by entity number.
  package private(set) var paths: [Path: [Int: Set<String>]] = [:]
  /// The properties that are read of objects that no path reaches, by entity number.
  package private(set) var elsewhere: [Int: Set<String>] = [:]
  /// The entities of objects that the result includes beside its rows.
  package var included: Set<Int> = []

  package init() {}

  /// Adds properties of an entity.
  ///
  /// - Parameters:
  ///   - properties: The names; none where only the existence of the objects matters.
  ///   - entity: The number of the entity.
  ///   - path: The path to the objects; nil where no path reaches them.
  package mutating func insert(_ properties: Set<String>, of entity: Int, at path: Path?) {
    if let path {
      paths[path, default: [:]][entity, default: []].formUnion(properties)
    } else {
      elsewhere[entity, default: []].formUnion(properties)
    }
  }

  /// Returns the same reads with other entity numbers for each one, as those of a family.
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
