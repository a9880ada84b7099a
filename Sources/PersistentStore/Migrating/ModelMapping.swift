import CordialValues
package import ObjectModel
import PersistentHistory
import StoreLayout

/// The correspondence between two versions of a model, by name or by `renamedFrom`.
package struct ModelMapping: Sendable {
  package let from: Model
  package let to: Model
  /// The number of the old entity that each new entity continues, by the number of the new entity.
  private let sources: [Int: Int]
  /// The rules of the new entities whose objects are not inferred, by entity number.
  let rules: [Int: EntityRule]
  /// The problems of the map's references to entities of the old model.
  let ruleProblems: [ModelProblem]
  /// The families of the old model from which the migration may renumber or omit single objects.
  ///
  /// The entity number of the root identifies a family.
  let movedFamilies: Set<Int>

  /// Compares two models.
  ///
  /// - Parameters:
  ///   - from: The model that the store has.
  ///   - to: The new model.
  ///   - hasProgram: Whether a program makes the objects, instead of the model's map.
  package init(from: Model, to: Model, hasProgram: Bool = false) {
    self.from = from
    self.to = to
    var sources: [Int: Int] = [:]
    let entities = to.entities.map { ($0.name, $0.renamedFrom) }
    let renamed = Self.renames(entities) { from.entity(named: $0) != nil }
    for entity in to.entities {
      guard let name = renamed[entity.name] else { continue }
      sources[entity.number] = from.entity(named: name)?.number
    }
    if hasProgram {
      rules = EntityRule.rulesOfProgram(to: to) { name in
        renamed[name].flatMap { from.entity(named: $0) }.flatMap { $0.isAbstract ? nil : $0.number }
      }
      ruleProblems = []
    } else {
      (rules, ruleProblems) = EntityRule.rules(from: from, to: to) { renamed[$0] }
    }
    // If a rule makes an entity only from other old entities, the entity's own old objects do not
    // stay in the entity.
    for rule in rules.values where !rule.sources.contains(where: { $0 == sources[rule.entity] }) {
      sources[rule.entity] = nil
    }
    self.sources = sources
    var moved: Set<Int> = []
    for rule in rules.values {
      for old in rule.sources where rule.condition != nil || sources[rule.entity] != old {
        moved.insert(from.entity(old).familyPosition.ancestors[0])
      }
    }
    if hasProgram { moved = Set(from.entities.map { $0.familyPosition.ancestors[0] }) }
    movedFamilies = moved
  }

  /// Returns whether the migration may renumber or omit single objects of an old entity's family.
  func isMoved(_ old: Int) -> Bool { movedFamilies.contains(family(old)) }

  /// Returns the old entities whose objects become objects of an entity.
  func sources(of entity: EntityDescription) -> [EntityDescription] {
    rules[entity.number]?.sources.map { from.entity($0) }
      ?? [source(of: entity)].compactMap(\.self)
  }

  /// Returns the new entities that are made from an old entity's objects.
  func takers(of old: EntityDescription) -> [EntityDescription] {
    guard !rules.isEmpty else { return [target(of: old)].compactMap(\.self) }
    return to.entities.filter { entity in sources(of: entity).contains { $0.number == old.number } }
  }

  /// Returns the entity number of the root of an old entity's family.
  func family(_ old: Int) -> Int { from.entity(old).familyPosition.ancestors[0] }

  /// Returns the old entity that corresponds to a new entity; nil if the old model has no such
  /// entity.
  func source(of entity: EntityDescription) -> EntityDescription? {
    sources[entity.number].map { from.entity($0) }
  }

  /// Returns the new entity that corresponds to an old entity; nil if the new model has no such
  /// entity.
  func target(of old: EntityDescription) -> EntityDescription? {
    sources.first { $0.value == old.number }.map { to.entity($0.key) }
  }

  /// Returns the entity number that the log uses for an old entity after the migration.
  ///
  /// It is the number of the new entity or of a retired entity, or 0 for a removed abstract entity.
  func loggedNumber(of old: EntityDescription) -> Int {
    if let entity = target(of: old) { return entity.number }
    guard let index = newlyRetired.firstIndex(where: { $0.number == old.number }) else { return 0 }
    return RetiredEntity.numberMin + from.retired.count + index
  }

  /// The concrete entities of the old model that have no new entity.
  var newlyRetired: [EntityDescription] {
    from.concreteEntities.filter { target(of: $0) == nil }
  }

  /// The retired entities after the migration, which only earlier versions of the model had.
  var retired: [RetiredEntity] {
    func number(_ old: Int) -> Int {
      // The destination is 0 if the to-one referenced an abstract entity without concrete
      // descendants, which has no objects. The numbers of retired entities do not change.
      guard old > 0, old < RetiredEntity.numberMin else { return old }
      let entity = from.entity(old)
      let number = loggedNumber(of: entity)
      guard number == 0 else { return number }
      // The log has no number for an abstract entity. The number of any concrete descendant is
      // enough, because an object's number range identifies its entity.
      return entity.familyPosition.concreteEntities.first.map { loggedNumber(of: from.entity($0)) }
        ?? 0
    }
    return from.retired.map { $0.renumbered(number) }
      + newlyRetired.map { old in
        RetiredEntity(old, number: loggedNumber(of: old), destination: number)
      }
  }

  /// Returns the old property that corresponds to a property of a new entity; nil if the property
  /// is new.
  func source(
    of property: PropertyDescription,
    in entity: EntityDescription
  ) -> PropertyDescription? {
    source(of: entity).flatMap { source(of: property, in: entity, from: $0) }
  }

  /// Returns the property of one old entity from which a property is inferred, nil if there is
  /// none.
  func source(
    of property: PropertyDescription,
    in entity: EntityDescription,
    from old: EntityDescription
  ) -> PropertyDescription? {
    let names = Self.renames(entity.properties.map { ($0.name, $0.renamedFrom) }) {
      old.property(named: $0) != nil
    }
    return names[property.name].flatMap { old.property(named: $0) }
  }

  /// The problems of entities or properties that exchange names.
  ///
  /// An exchange cannot be distinguished from two renames that an earlier migration already
  /// applied.
  var exchanges: [(path: String, message: String)] {
    func found(
      _ named: [(name: String, former: String?)],
      _ isOldName: (String) -> Bool
    ) -> [String] {
      named.filter { name, former in
        guard let former, isOldName(name), isOldName(former) else { return false }
        return named.contains { $0.name == former && $0.former == name }
      }
      .map(\.name)
    }
    let message = "It exchanges its name with another, which needs a version in between"
    let entities = found(to.entities.map { ($0.name, $0.renamedFrom) }) {
      from.entity(named: $0) != nil
    }
    return entities.map { ($0, message) }
      + to.entities.flatMap { entity in
        guard let old = source(of: entity) else { return [(path: String, message: String)]() }
        return found(entity.properties.map { ($0.name, $0.renamedFrom) }) {
          old.property(named: $0) != nil
        }
        .map { ("\(entity.name).\($0)", message) }
      }
  }

  /// The problems of entities or properties whose `renamedFrom` has no effect, because the old
  /// model has both names.
  ///
  /// Without these problems, the migration would remove the old entity or property that has the
  /// former name.
  var ignoredRenames: [(path: String, message: String)] {
    func found(
      _ named: [(name: String, former: String?)],
      _ isOldName: (String) -> Bool
    ) -> [(name: String, former: String)] {
      let taken = Set(Self.renames(named, isOldName).values)
      return named.compactMap { name, former in
        guard let former, former != name, isOldName(name), isOldName(former),
          !taken.contains(former)
        else { return nil }
        return (name, former)
      }
    }
    func message(_ former: String) -> String {
      "It is renamed from \(former), but the store has both: remove the former one of this name in "
        + "a version of its own, or leave renamedFrom out"
    }
    let entities = found(to.entities.map { ($0.name, $0.renamedFrom) }) {
      from.entity(named: $0) != nil
    }
    return entities.map { ($0.name, message($0.former)) }
      + to.entities.flatMap { entity in
        guard let old = source(of: entity) else { return [(path: String, message: String)]() }
        return found(entity.properties.map { ($0.name, $0.renamedFrom) }) {
          old.property(named: $0) != nil
        }
        .map { ("\(entity.name).\($0.name)", message($0.former)) }
      }
  }

  /// The problems of entities that are renamed to the name of a removed entity, because new objects
  /// could then get the IDs of removed objects.
  var repeatedNames: [(path: String, message: String)] {
    let retired = Set((from.retired.map(\.description) + newlyRetired).map(\.name))
    return to.concreteEntities.filter { entity in
      retired.contains(entity.name) && source(of: entity).map { $0.name != entity.name } ?? false
    }
    .map {
      ($0.name, "It is renamed to the name of a removed entity, so that IDs would occur again")
    }
  }

  /// Returns the old name of each part of the new model that the old model also has, by new name.
  ///
  /// A model may keep the `renamedFrom` of an earlier migration. `renamedFrom` applies only if the
  /// old model lacks the part's current name, or if another part is renamed from that name.
  private static func renames(
    _ named: [(name: String, former: String?)],
    _ isOldName: (String) -> Bool
  ) -> [String: String] {
    var applied: Set<String> = []
    var hasGrown = true
    while hasGrown {
      let claimed = Set(named.filter { applied.contains($0.name) }.compactMap(\.former))
      let ready = named.filter { name, former in
        guard let former, former != name, isOldName(former) else { return false }
        return !isOldName(name) || claimed.contains(name)
      }
      hasGrown = ready.count > applied.count
      applied = Set(ready.map(\.name))
    }
    var sources: [String: String] = [:]
    var taken: Set<String> = []
    for (name, former) in named where applied.contains(name) {
      if let former, taken.insert(former).inserted { sources[name] = former }
    }
    for (name, _) in named where sources[name] == nil && isOldName(name) {
      if taken.insert(name).inserted { sources[name] = name }
    }
    return sources
  }

  /// Returns the old relationship that corresponds to a relationship of a new entity; nil if there
  /// is none.
  func source(
    of relationship: RelationshipDescription,
    in entity: EntityDescription
  ) -> RelationshipDescription? {
    guard case .relationship(let old)? = source(of: .relationship(relationship), in: entity) else {
      return nil
    }
    return old
  }

  /// Returns the ranges of object numbers that the entities of a new model keep.
  ///
  /// - Parameters:
  ///   - from: The model that the store has.
  ///   - to: The new model, with the ranges that it would have in a new store.
  /// - Returns: The ranges by entity name, including the ranges of removed entities; and the
  ///   entities that must have no objects, because another entity of their new family has the same
  ///   range.
  static func slots(
    from: Model,
    to: Model
  ) -> (slots: [String: Int], emptied: Set<String>) {
    let mapping = ModelMapping(from: from, to: to)
    var slots = from.slots.filter { $0.key == Model.retiredName($0.value) }
    var emptied: Set<String> = []
    var taken: Set<[Int]> = []
    for entity in to.entities {
      guard let old = mapping.source(of: entity), !old.isAbstract else { continue }
      let isInFamily = entity.familyPosition.ancestors.count > 1 || entity.hasDescendants
      if isInFamily,
        !taken.insert([entity.familyPosition.ancestors[0], old.familyPosition.slot]).inserted
      {
        emptied.insert(entity.name)
      } else {
        slots[entity.name] = old.familyPosition.slot
      }
    }
    for old in from.concreteEntities
    where old.familyPosition.slot > 0 && mapping.target(of: old) == nil {
      slots[Model.retiredName(old.familyPosition.slot)] = old.familyPosition.slot
    }
    return (slots, emptied)
  }
}

extension EntityDescription {
  /// The attributes, then the relationships.
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
  /// The differences between the two models, one line each: `+` added, `-` removed, `~` changed.
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
      if old.spotlight != entity.spotlight { lines.append("~ \(entity.name): search") }
    }
    for old in from.entities where target(of: old) == nil { lines.append("- \(old.name)") }
    return lines
  }

  private func parentName(_ entity: EntityDescription, _ model: Model) -> String? {
    entity.familyPosition.ancestors.dropLast().last.map { model.entity($0).name }
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
      if old.sortsLocalized != new.sortsLocalized { words.append("sorted") }
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
          "references \(to.entity(new.destination).name), not \(from.entity(old.destination).name)"
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
    case (.attribute, .relationship): return ["now a relationship"]
    case (.relationship, .attribute): return ["now an attribute"]
    }
  }
}
