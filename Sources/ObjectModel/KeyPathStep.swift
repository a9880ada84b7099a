/// One step of a key path: a property that the path reaches.
package struct KeyPathStep: Sendable {
  /// The entity that has the property.
  package let entity: EntityDescription
  package let property: PropertyDescription
  /// The count of names in the path up to the end of this step; a member of a composite takes
  /// several names.
  package let end: Int

  package var isRelationship: Bool {
    if case .relationship = property { true } else { false }
  }

  package var isToMany: Bool {
    if case .relationship(let relationship) = property { relationship.toMany } else { false }
  }
}

extension Model {
  /// Returns the steps of a key path, over to-ones and to-manys.
  ///
  /// - Parameters:
  ///   - names: The names of the path.
  ///   - start: The entity of the object at which the path begins.
  /// - Returns: The steps up to an attribute, or up to a name that is not a property. If names
  ///   follow the last step, the step's `end` is less than the count of names.
  package func steps(of names: [String], from start: EntityDescription) -> [KeyPathStep] {
    var steps: [KeyPathStep] = []
    var current = start
    while let (property, count) = current.property(at: names.dropFirst(steps.last?.end ?? 0)) {
      let end = (steps.last?.end ?? 0) + count
      steps.append(KeyPathStep(entity: current, property: property, end: end))
      guard case .relationship(let relationship) = property else { break }
      current = entity(relationship.destination)
    }
    return steps
  }
}

extension [KeyPathStep] {
  /// The to-one or to-many of each step; nil if the path has an attribute.
  package var relationships: [RelationshipDescription]? {
    let found = compactMap { step in
      if case .relationship(let relationship) = step.property { relationship } else { nil }
    }
    return found.count == count ? found : nil
  }

  /// The attribute at the end of the path; nil if the path does not end at an attribute.
  package var attribute: AttributeDescription? {
    if case .attribute(let attribute)? = last?.property { attribute } else { nil }
  }
}
