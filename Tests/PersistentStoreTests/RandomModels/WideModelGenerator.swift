import JSON
import ObjectModel
import TestSeeds

/// Makes random models of everything that a model file has for stored data: families, attributes of
/// every type with their rules, composites, derived and sorted attributes, identities, unique sets, indexes,
/// and relationships of every kind.
struct WideModelGenerator {
  var model = WideModel()
  var random: SplitMix64
  private var names = 0

  private static let roots = ["Ant", "Bee", "Cat", "Dog"]

  init(seed: UInt64) {
    random = SplitMix64(seed: seed &* 7919)
  }

  /// Continues with a model that exists already.
  init(_ model: WideModel, random: SplitMix64, names: Int) {
    self.model = model
    self.random = random
    self.names = names
  }

  mutating func generate() -> WideModel {
    for name in Self.roots.prefix(2 + random.below(3)) { addFamily(name) }
    for entity in model.entities.map(\.number) { addAttributes(entity) }
    for _ in 0..<(2 + random.below(4)) { addRelationship() }
    for entity in model.entities.map(\.number) where random.oneIn(2) { addUnique(entity) }
    for entity in model.entities.map(\.number) where random.oneIn(2) { addDerived(entity) }
    for entity in model.entities.map(\.number) where random.oneIn(2) { addIndex(entity) }
    for index in model.entities.indices where random.oneIn(3) {
      model.entities[index].transientCount = 1 + random.below(2)
    }
    return model
  }

  mutating func newName(_ prefix: String) -> String {
    names += 1
    return "\(prefix)\(names)"
  }

  // MARK: Entities

  private mutating func addFamily(_ name: String) {
    let root = add(entity: name, parent: nil)
    guard random.oneIn(2) else { return }
    model.entities[model.index(root)].isAbstract = random.oneIn(2)
    let child = add(entity: name + "A", parent: root)
    if random.oneIn(2) { _ = add(entity: name + "B", parent: root) }
    if random.oneIn(3) { _ = add(entity: name + "AA", parent: child) }
  }

  mutating func add(entity name: String, parent: Int?) -> Int {
    let entity = WideEntity(number: model.newNumber(), name: name, parent: parent)
    model.entities.append(entity)
    return entity.number
  }

  // MARK: Attributes

  private mutating func addAttributes(_ entity: Int) {
    if model.entity(entity).parent == nil, random.oneIn(4) {
      var attribute = WideAttribute(
        number: model.newNumber(),
        name: newName("code"),
        type: random.pick([.string, .int16, .int32, .int64, .uuid])
      )
      attribute.optional = false
      attribute.isDistinct = true
      append(attribute, to: entity)
      model.entities[model.index(entity)].identity = attribute.number
    }
    for _ in 0..<(1 + random.below(5)) { append(attribute(), to: entity) }
    if random.oneIn(3) { addComposite(entity) }
  }

  mutating func append(_ attribute: WideAttribute, to entity: Int) {
    model.entities[model.index(entity)].attributes.append(attribute)
  }

  /// A random attribute with its rules.
  mutating func attribute() -> WideAttribute {
    let type = random.pick(AttributeType.allCases)
    var attribute = WideAttribute(number: model.newNumber(), name: newName("a"), type: type)
    attribute.optional = !random.oneIn(3)
    attribute.rule = rule(type)
    if type == .string {
      attribute.isSorted = random.oneIn(3)
      if attribute.rule.isNone, random.oneIn(3) {
        attribute.spelled = random.pick([.int16, .double, .decimal, .date, .uuid, .uri])
      }
    }
    if random.oneIn(3) { attribute.defaultValue = defaultValue(attribute) }
    return attribute
  }

  /// A value that the attribute's rules allow.
  mutating func defaultValue(_ attribute: WideAttribute) -> JSONValue {
    var required = attribute
    required.optional = false
    required.isDistinct = false
    var values = WideValues(random: random)
    let value = values.value(of: required)
    random = values.random
    return value
  }

  private mutating func rule(_ type: AttributeType) -> WideRule {
    guard random.oneIn(3) else { return .none }
    switch type {
    case .int16, .int32, .int64: return random.oneIn(4) ? .allowed([1, 2, 3]) : .range(0, 9)
    case .double, .float: return .range(0, 10)
    case .decimal: return .range("0", "10.5")
    case .date: return .range("2000-01-01T00:00:00.000Z", "2030-01-01T00:00:00.000Z")
    case .string:
      return random.pick([.length(0, 3), .length(2, 9), .allowed(["x", "y", "é"]), .pattern])
    default: return .none
    }
  }

  // MARK: Relationships

  /// Adds a relationship, with its inverse where it has one.
  mutating func addRelationship() {
    let (first, second) = (random.pick(model.entities).number, random.pick(model.entities).number)
    switch random.below(10) {
    case 0, 1: addPair(first, second, (true, false))
    case 2: addPair(first, second, (false, true))
    case 3, 4: addPair(first, second, (false, false))
    case 5, 6: addPair(first, second, (true, true))
    case 7:
      var own = relationship(first, toMany: random.oneIn(2))
      own.inverse = own.number
      own.ordered = false
      own.minimumCount = 0
      append(own, to: first)
    default: append(relationship(second, toMany: random.oneIn(2)), to: first)
    }
  }

  private mutating func addPair(_ first: Int, _ second: Int, _ toMany: (Bool, Bool)) {
    var one = relationship(second, toMany: toMany.0)
    var two = relationship(first, toMany: toMany.1)
    one.inverse = two.number
    two.inverse = one.number
    let kinds = (model.kinds(first).count, model.kinds(second).count)
    // Every object of an end has to find one at the other end; see `WideObjects`.
    switch toMany {
    case (false, false):
      one.optional = kinds.0 > kinds.1 || random.oneIn(2)
      two.optional = one.optional || kinds.0 != kinds.1 || random.oneIn(2)
    case (true, false):
      if kinds.1 < kinds.0 || first == second { one.minimumCount = 0 }
      two.optional = kinds.0 == 0 || random.oneIn(2)
    case (false, true):
      if kinds.0 < kinds.1 || first == second { two.minimumCount = 0 }
      one.optional = kinds.1 == 0 || random.oneIn(2)
    case (true, true):
      if kinds.1 == 0 { one.minimumCount = 0 }
      if kinds.0 == 0 { two.minimumCount = 0 }
    }
    append(one, to: first)
    append(two, to: second)
  }

  private mutating func append(_ relationship: WideRelationship, to entity: Int) {
    model.entities[model.index(entity)].relationships.append(relationship)
  }

  private mutating func relationship(_ destination: Int, toMany: Bool) -> WideRelationship {
    var relationship = WideRelationship(
      number: model.newNumber(),
      name: newName("r"),
      destination: destination,
      toMany: toMany
    )
    if toMany {
      relationship.ordered = random.oneIn(3)
      if random.oneIn(4) { relationship.maximumCount = 6 }
      if random.oneIn(6), !model.kinds(destination).isEmpty { relationship.minimumCount = 1 }
    } else {
      relationship.optional = model.kinds(destination).isEmpty || !random.oneIn(4)
    }
    relationship.deleteRule = random.pick(["nullify", "nullify", "nullify", "cascade", "deny"])
    return relationship
  }

  // MARK: What refers to properties

  /// Adds a unique set: an attribute whose values differ, alone or with another property.
  mutating func addUnique(_ entity: Int) {
    let types: [AttributeType] = [.string, .int16, .int32, .int64, .uuid, .decimal, .date]
    let places = model.entity(entity).attributes.filter {
      types.contains($0.type) && $0.derived == nil
    }
    guard !places.isEmpty else { return }
    let number = random.pick(places).number
    model.change(attribute: number) { attribute in
      attribute.isDistinct = true
      attribute.rule = .none
      attribute.defaultValue = nil
      attribute.spelled = nil
    }
    let toOnes = model.relationships(entity).filter { !$0.toMany }.map(\.number)
    let others = model.attributes(entity).filter { $0.derived == nil && $0.number != number }
    var set = [number]
    if random.oneIn(3) { set.append(random.pick(others.map(\.number) + toOnes + [number])) }
    if set.count == 2, set[0] == set[1] { set.removeLast() }
    model.entities[model.index(entity)].unique.append(set)
  }

  mutating func addIndex(_ entity: Int) {
    let toOnes = model.relationships(entity).filter { !$0.toMany }.map(\.number)
    let attributes = model.attributes(entity)
    guard !(toOnes.isEmpty && attributes.isEmpty) else { return }
    var keys: [WideIndexKey] = []
    for property in (0..<(1 + random.below(2))).map({ _ in
      random.pick(attributes.map(\.number) + toOnes)
    }) where !keys.contains(where: { $0.property == property }) {
      let isText = attributes.contains { $0.number == property && $0.type == .string }
      keys.append(
        WideIndexKey(
          property: property,
          isDescending: random.oneIn(3),
          isLocalized: isText && random.oneIn(2)
        )
      )
    }
    model.entities[model.index(entity)].indexes.append(keys)
  }

  mutating func addDerived(_ entity: Int) {
    let attributes = model.attributes(entity).filter { $0.derived == nil }
    let relationships = model.relationships(entity)
    let texts = attributes.filter { $0.type == .string }
    if !texts.isEmpty, random.oneIn(2) {
      let form = random.pick(["canonical", "lowercase", "uppercase"])
      derive(entity, .string, .form(form, random.pick(texts).number))
    }
    for relationship in relationships where random.oneIn(2) {
      let others = model.attributes(relationship.destination).filter { $0.derived == nil }
      let numbers = others.filter { Self.sums[$0.type] != nil }
      switch (relationship.toMany, random.below(3)) {
      case (true, 0) where !numbers.isEmpty:
        let summed = random.pick(numbers)
        derive(entity, Self.sums[summed.type] ?? .int64, .sum(relationship.number, summed.number))
      case (true, _):
        let type = random.pick([AttributeType.int16, .int32, .int64])
        derive(entity, type, .count(relationship.number))
      case (false, _) where !others.isEmpty:
        let last = random.pick(others)
        derive(entity, last.type, .path(relationship.number, last.number))
      default: break
      }
    }
    if random.oneIn(4) { derive(entity, .date, .now) }
  }

  /// The type of the sum of each type.
  private static let sums: [AttributeType: AttributeType] = [
    .int16: .int64, .int32: .int64, .double: .double, .float: .double, .decimal: .decimal,
  ]

  private mutating func derive(_ entity: Int, _ type: AttributeType, _ derived: WideDerived) {
    var attribute = WideAttribute(number: model.newNumber(), name: newName("d"), type: type)
    attribute.derived = derived
    append(attribute, to: entity)
  }
}
