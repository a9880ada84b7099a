import ObjectModel
import StoreLayout

/// The rule by which a migration makes the objects of one new entity.
///
/// Without a rule, the migration infers the objects from the old entity.
struct EntityRule: Sendable {
  /// The origin of the properties' values.
  enum Content: Sendable {
    /// Expressions over an old object, by property; properties without an expression are inferred.
    case expressions([String: String])
    /// A program gives every property.
    case program
  }

  /// The number of the new entity.
  let entity: Int
  /// The numbers of the old entities whose objects become objects of the new entity.
  let sources: [Int]
  /// A predicate that selects among the old objects, nil for all of them.
  let condition: String?
  let content: Content

  /// Returns whether the rule gives the values of a property.
  func gives(_ property: String) -> Bool {
    switch content {
    case .expressions(let expressions): expressions[property] != nil
    case .program: true
    }
  }

  var isByProgram: Bool {
    if case .program = content { true } else { false }
  }
}

extension EntityRule {
  /// Reads a new model's map.
  ///
  /// - Parameters:
  ///   - from: The old model.
  ///   - to: The new model.
  ///   - formerName: Returns the name of a new entity in the old model; nil if the old model has no
  ///     such entity.
  /// - Returns: The rules by new entity number, and the problems of the map's references to
  ///   entities of the old model.
  static func rules(
    from: Model,
    to: Model,
    formerName: (String) -> String?
  ) -> (rules: [Int: EntityRule], problems: [ModelProblem]) {
    guard let map = to.map, map.from == from.version || from.isIdentified(by: map.from) else {
      return ([:], [])
    }
    var rules: [Int: EntityRule] = [:]
    var problems: [ModelProblem] = []
    for rule in map.rules {
      guard let entity = to.entity(named: rule.entity) else { continue }
      let path = "map.\(rule.entity).@from"
      let names = rule.sources.isEmpty ? [formerName(rule.entity)].compactMap(\.self) : rule.sources
      if names.isEmpty {
        problems.append(
          ModelProblem(
            path: path,
            message: "The previous version has no \(rule.entity), so @from must name the entities "
              + "whose objects it is made of"
          )
        )
      }
      var sources: [Int] = []
      for name in names {
        guard let old = from.entity(named: name) else {
          let known = from.entities.map(\.name).sorted().joined(separator: ", ")
          problems.append(
            ModelProblem(
              path: path,
              message: "The previous version has no entity \(name); its entities are: \(known)"
            )
          )
          continue
        }
        // An abstract entity has no objects, so its concrete descendants replace it.
        let kinds = old.isAbstract ? old.familyPosition.concreteEntities : [old.number]
        sources += kinds.filter { !sources.contains($0) }
      }
      rules[entity.number] = EntityRule(
        entity: entity.number,
        sources: sources,
        condition: rule.condition,
        content: .expressions(rule.values)
      )
    }
    return (rules, problems)
  }

  /// Returns the rules by which a program gives all objects of a model.
  static func rulesOfProgram(to: Model, source: (String) -> Int?) -> [Int: EntityRule] {
    let rules = to.concreteEntities.map { entity in
      EntityRule(
        entity: entity.number,
        sources: [source(entity.name)].compactMap(\.self),
        condition: nil,
        content: .program
      )
    }
    return Dictionary(uniqueKeysWithValues: rules.map { ($0.entity, $0) })
  }
}
