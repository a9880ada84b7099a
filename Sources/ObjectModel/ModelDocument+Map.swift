import JSON

/// The member `map` of a model.
extension ModelDocument {
  /// Reads the rules by which objects of the previous version become objects of this version.
  ///
  /// The reader does not know the previous version's model, so it cannot check names of that
  /// version.
  mutating func map(
    _ document: JSONValue,
    _ entities: [EntityDescription],
    excluded: Set<String>
  ) -> ObjectMap? {
    guard let map = document["map"], !map.isNull else { return nil }
    guard let members = map.members else {
      problem("map", "Expected an object, found \(map.kind)")
      return nil
    }
    guard let from = map["@from"]?.string, !from.isEmpty else {
      problem("map.@from", "Expected the version or the hash of the previous model")
      return nil
    }
    let rules = members.filter { $0.name != "@from" && !excluded.contains($0.name) }
      .compactMap { member in
        rule(member.name, member.value, entities.first { $0.name == member.name })
      }
    checkInverses(rules, entities)
    return ObjectMap(from: from, rules: rules)
  }

  private mutating func rule(
    _ name: String,
    _ value: JSONValue,
    _ entity: EntityDescription?
  ) -> ObjectMap.Rule? {
    let path = "map.\(name)"
    guard let entity, !entity.isAbstract else {
      problem(path, entity == nil ? "The model has no entity \(name)" : "\(name) is abstract")
      return nil
    }
    guard let members = value.members else {
      problem(path, "Expected an object, found \(value.kind)")
      return nil
    }
    var condition: String?
    var values: [String: String] = [:]
    for member in members where member.name != "@from" {
      let path = "\(path).\(member.name)"
      guard let text = member.value.string else {
        problem(path, "Expected an expression as a string, found \(member.value.kind)")
        continue
      }
      do {
        if member.name == "@where" {
          _ = try PredicateParser.parse(text)
          condition = text
        } else {
          _ = try PredicateParser.parse(expression: text)
          if let obstacle = Self.obstacle(to: member.name, of: entity) { problem(path, obstacle) }
          values[member.name] = text
        }
      } catch {
        problem(path, error.message)
      }
    }
    return ObjectMap.Rule(
      entity: name,
      sources: sources(value, at: path),
      condition: condition,
      values: values
    )
  }

  private mutating func sources(_ rule: JSONValue, at path: String) -> [String] {
    switch rule["@from"] {
    case nil, .null?: return []
    case .string(let name)?: return [name]
    case .array(let names)? where !names.isEmpty && names.allSatisfy { $0.string != nil }:
      let names = names.compactMap(\.string)
      if Set(names).count < names.count { problem("\(path).@from", "It names an entity twice") }
      return names
    default:
      problem("\(path).@from", "Expected the name of an entity of the previous version, or several")
      return []
    }
  }

  /// Returns why a property cannot have an expression, or nil if it can.
  private static func obstacle(to name: String, of entity: EntityDescription) -> String? {
    switch entity.property(named: name) {
    case .attribute(let attribute)? where attribute.derived != nil:
      "The store computes \(entity.name).\(name)"
    case .relationship(let relationship)?
    where relationship.inverse == name && relationship.destination == relationship.owner:
      "\(entity.name).\(name) is its own inverse, whose links a map cannot give"
    case nil where entity.transients.contains(name):
      "\(entity.name).\(name) is transient and has no value in the store"
    case nil: "\(entity.name) has no property \(name)"
    default: nil
    }
  }

  /// Checks that the rules set the links of a relationship from only one of its two ends.
  private mutating func checkInverses(_ rules: [ObjectMap.Rule], _ entities: [EntityDescription]) {
    for rule in rules {
      guard let entity = entities.first(where: { $0.name == rule.entity }) else { continue }
      for case .relationship(let relationship)? in rule.values.keys.sorted().map({
        entity.property(named: $0)
      }) {
        guard let inverse = relationship.inverse else { continue }
        let kinds = entities[relationship.destination - 1].familyPosition.concreteEntities
        for other in rules
        where other.values[inverse] != nil
          && kinds.contains(where: { entities[$0 - 1].name == other.entity })
          && (rule.entity, relationship.name) < (other.entity, inverse)
        {
          problem(
            "map.\(rule.entity).\(relationship.name)",
            "map.\(other.entity).\(inverse) has the same links; give one of them"
          )
        }
      }
    }
  }
}
