import CordialValues
package import ObjectModel

/// What of one version of a model is what of another: by name, or by what it was renamed from.
package struct ModelMapping: Sendable {
  package let from: Model
  package let to: Model
  /// For each entity of the new model the one that it was, by their numbers.
  private let sources: [Int: Int]

  package init(from: Model, to: Model) {
    self.from = from
    self.to = to
    var sources: [Int: Int] = [:]
    var taken: Set<Int> = []
    for entity in to.entities {
      guard let name = entity.renamedFrom, from.entity(named: entity.name) == nil,
        let old = from.entity(named: name), taken.insert(old.number).inserted
      else { continue }
      sources[entity.number] = old.number
    }
    for entity in to.entities where sources[entity.number] == nil {
      guard let old = from.entity(named: entity.name), taken.insert(old.number).inserted else {
        continue
      }
      sources[entity.number] = old.number
    }
    self.sources = sources
  }

  /// The entity that an entity was, nil for a new one.
  func source(of entity: EntityDescription) -> EntityDescription? {
    sources[entity.number].map { from.entity($0) }
  }

  /// The entity that an entity became, nil when it is gone.
  func target(of old: EntityDescription) -> EntityDescription? {
    sources.first { $0.value == old.number }.map { to.entity($0.key) }
  }

  /// The property that a property of an entity was, nil for a new one.
  func source(
    of property: PropertyDescription,
    in entity: EntityDescription
  ) -> PropertyDescription? {
    guard let old = source(of: entity) else { return nil }
    if let name = property.renamedFrom, old.property(named: property.name) == nil,
      let found = old.property(named: name)
    {
      return found
    }
    // A name that another property took over is not this one's.
    let isTaken = entity.properties.contains {
      $0.name != property.name && $0.renamedFrom == property.name
        && old.property(named: $0.name) == nil
    }
    return isTaken ? nil : old.property(named: property.name)
  }

  /// The relationship that a relationship of an entity was.
  func source(
    of relationship: RelationshipDescription,
    in entity: EntityDescription
  ) -> RelationshipDescription? {
    guard case .relationship(let old)? = source(of: .relationship(relationship), in: entity) else {
      return nil
    }
    return old
  }

  /// The ranges of numbers that entities of the new model keep: those of what they were.
  static func slots(from: Model, to document: Model) -> [String: Int] {
    let mapping = ModelMapping(from: from, to: document)
    var slots: [String: Int] = [:]
    for entity in document.entities {
      if let old = mapping.source(of: entity), !old.isAbstract {
        slots[entity.name] = old.place.slot
      }
    }
    return slots
  }
}

extension EntityDescription {
  /// Attributes, then relationships.
  package var properties: [PropertyDescription] {
    attributes.map { .attribute($0) } + relationships.map { .relationship($0) }
  }
}

extension PropertyDescription {
  package var renamedFrom: String? {
    switch self {
    case .attribute(let attribute): attribute.renamedFrom
    case .relationship(let relationship): relationship.renamedFrom
    }
  }
}

extension ModelMapping {
  /// What differs between the two, a line each: `+` came, `-` went, `~` changed.
  package var differences: [String] {
    var lines: [String] = []
    for entity in to.entities {
      guard let old = source(of: entity) else {
        lines.append("+ \(entity.name)")
        continue
      }
      if old.name != entity.name { lines.append("~ \(entity.name): was \(old.name)") }
      if old.isAbstract != entity.isAbstract {
        lines.append("~ \(entity.name): \(entity.isAbstract ? "abstract" : "not abstract")")
      }
      let parents = (parentName(old, from), parentName(entity, to))
      if parents.0.flatMap({ from.entity(named: $0) }).flatMap({ target(of: $0) })?.name
        != parents.1
      {
        lines.append("~ \(entity.name): parent \(parents.0 ?? "none") -> \(parents.1 ?? "none")")
      }
      lines += propertyDifferences(entity, old)
      let names = (old.identity?.name, entity.identity?.name)
      if names.0 != names.1 {
        lines.append("~ \(entity.name): identity \(names.0 ?? "none") -> \(names.1 ?? "none")")
      }
      if old.unique != entity.unique { lines.append("~ \(entity.name): uniqueness") }
      if old.indexes != entity.indexes { lines.append("~ \(entity.name): indexes") }
      if old.spotlight != entity.spotlight { lines.append("~ \(entity.name): what is searched") }
    }
    for old in from.entities where target(of: old) == nil { lines.append("- \(old.name)") }
    return lines
  }

  private func parentName(_ entity: EntityDescription, _ model: Model) -> String? {
    entity.place.ancestors.dropLast().last.map { model.entity($0).name }
  }

  private func propertyDifferences(
    _ entity: EntityDescription,
    _ old: EntityDescription
  ) -> [String] {
    var lines: [String] = []
    var kept: Set<String> = []
    for property in entity.properties {
      let place = "\(entity.name).\(property.name)"
      guard let source = source(of: property, in: entity) else {
        lines.append("+ \(place)")
        continue
      }
      kept.insert(source.name)
      if source.name != property.name { lines.append("~ \(place): was \(source.name)") }
      let words = changes(source, property)
      if !words.isEmpty { lines.append("~ \(place): \(words.joined(separator: ", "))") }
    }
    for property in old.properties where !kept.contains(property.name) {
      lines.append("- \(entity.name).\(property.name)")
    }
    return lines
  }

  private func changes(_ old: PropertyDescription, _ new: PropertyDescription) -> [String] {
    switch (old, new) {
    case (.attribute(let old), .attribute(let new)):
      var words: [String] = []
      if old.type != new.type { words.append("\(old.type.rawValue) -> \(new.type.rawValue)") }
      if old.optional != new.optional { words.append(new.optional ? "optional" : "required") }
      if old.defaultValue != new.defaultValue { words.append("default") }
      if old.derived != new.derived { words.append("derived") }
      if (old.minimum, old.maximum, old.allowed, old.pattern)
        != (new.minimum, new.maximum, new.allowed, new.pattern)
        || (old.minimumLength, old.maximumLength) != (new.minimumLength, new.maximumLength)
      {
        words.append("validation")
      }
      return words
    case (.relationship(let old), .relationship(let new)):
      var words: [String] = []
      if old.toMany != new.toMany { words.append(new.toMany ? "to-many" : "to-one") }
      if target(of: from.entity(old.destination))?.number != new.destination {
        words.append(
          "leads to \(to.entity(new.destination).name), not \(from.entity(old.destination).name)"
        )
      }
      if old.optional != new.optional { words.append(new.optional ? "optional" : "required") }
      if old.ordered != new.ordered { words.append(new.ordered ? "ordered" : "not ordered") }
      if old.inverse == nil, let inverse = new.inverse { words.append("inverse \(inverse)") }
      if old.inverse != nil, new.inverse == nil { words.append("no inverse") }
      if old.deleteRule != new.deleteRule { words.append("delete rule \(new.deleteRule.rawValue)") }
      if (old.minimumCount, old.maximumCount) != (new.minimumCount, new.maximumCount) {
        words.append("counts")
      }
      return words
    case (.attribute, .relationship): return ["a relationship now"]
    case (.relationship, .attribute): return ["an attribute now"]
    }
  }
}
