import JSON
import TestSeeds

/// Collections of objects and of values, and what is computed of them.
extension GraphGenerator {
  // MARK: Objects

  mutating func collection(_ scope: Scope, _ levels: Int) -> GraphCollection {
    switch random.below(levels > 0 ? 8 : 4) {
    case 0, 1: return toMany(scope)
    case 2, 3: return toManys(scope)
    case 4, 5, 6: return subquery(scope, levels)
    default: return combined(scope, levels)
    }
  }

  private mutating func toMany(_ scope: Scope) -> GraphCollection {
    let world = world
    let holder = holder(scope)
    let (name, destination) = random.pick(GraphSchema.toManys[holder.entity] ?? [])
    return GraphCollection(phrase: holder.phrase(name), entity: destination, isOrdered: true) {
      world.members(holder.object($0), name)
    }
  }

  /// A path over several to-manys, on which an object counts once, however it is reached.
  private mutating func toManys(_ scope: Scope) -> GraphCollection {
    let world = world
    let holder = holder(scope)
    var path: [String] = []
    var steps: [(GraphEnvironment) -> [Int]] = [{ [holder.object($0)].compactMap { $0 } }]
    var entity = holder.entity
    for _ in 0..<2 + random.below(2) {
      let before = steps[steps.count - 1]
      let (name, destination) = random.pick(GraphSchema.toManys[entity] ?? [])
      path.append(name)
      entity = destination
      steps.append { names in
        Self.distinct(before(names).flatMap { world.members($0, name) })
      }
    }
    return GraphCollection(
      phrase: holder.phrase(path.joined(separator: ".")),
      entity: entity,
      isOrdered: false,
      members: steps[steps.count - 1]
    )
  }

  /// Returns the elements without those that came before.
  private static func distinct<Element: Hashable>(_ elements: [Element]) -> [Element] {
    var known: Set<Element> = []
    return elements.filter { known.insert($0).inserted }
  }

  private mutating func subquery(_ scope: Scope, _ levels: Int) -> GraphCollection {
    let outer = random.oneIn(3) ? collection(scope, levels - 1) : toMany(scope)
    variables += 1
    let name = "v\(variables)"
    let condition = condition(scope + [(name, outer.entity)], levels - 1)
    return GraphCollection(
      phrase: "SUBQUERY(\(outer.phrase), $\(name), \(condition.phrase))",
      entity: outer.entity,
      isOrdered: outer.isOrdered
    ) { names in
      guard let members = outer.members(names) else { return nil }
      var found: [Int] = []
      for member in members {
        var names = names
        names[name] = member
        guard let holds = condition.holds(names) else { return nil }
        if holds { found.append(member) }
      }
      return found
    }
  }

  /// Two collections of one entity, united, intersected or subtracted as sets.
  private mutating func combined(_ scope: Scope, _ levels: Int) -> GraphCollection {
    let first = random.oneIn(3) ? subquery(scope, levels - 1) : toMany(scope)
    var second = toMany(scope)
    while second.entity != first.entity { second = toMany(scope) }
    let other = second
    let word = random.pick(["UNION", "INTERSECT", "MINUS"])
    return GraphCollection(
      phrase: "(\(first.phrase) \(word) \(other.phrase))",
      entity: first.entity,
      isOrdered: false
    ) { names in
      guard let a = first.members(names), let b = other.members(names) else { return nil }
      let (one, two) = (Set(a), Set(b))
      switch word {
      case "UNION": return Array(one.union(two))
      case "INTERSECT": return Array(one.intersection(two))
      default: return Array(one.subtracting(two))
      }
    }
  }

  // MARK: Values

  /// The values of an attribute of the members of a collection.
  mutating func list(
    _ scope: Scope,
    _ levels: Int,
    _ kinds: [GraphSchema.Kind]
  ) -> GraphList {
    let world = world
    while true {
      let collection = collection(scope, levels)
      var names = GraphSchema.names(collection.entity, kinds)
      guard !names.isEmpty else { continue }
      var name = random.pick(names)
      var isDecimal = GraphSchema.names(collection.entity, [.decimal]).contains(name)
      // A to-one between: a path through nil is nil.
      let (step, destination) = random.pick(GraphSchema.toOnes[collection.entity] ?? [])
      let steps = random.oneIn(5)
      if steps {
        names = GraphSchema.names(destination, kinds)
        name = random.pick(names)
        isDecimal = GraphSchema.names(destination, [.decimal]).contains(name)
      }
      let union = random.pick(["", "", "", "@unionOfObjects.", "@distinctUnionOfObjects."])
      let path = (steps ? "\(step)." : union) + name
      // Whether a missing value is one of the distinct values is open, and so is their order.
      let isDistinct = !steps && union.hasPrefix("@d")
      let attribute = name
      return GraphList(
        phrase: "\(collection.phrase).\(path)",
        isDecimal: isDecimal,
        isOrdered: collection.isOrdered && !isDistinct,
        isDistinct: isDistinct
      ) { names in
        let objects = collection.members(names).map { members in
          steps ? Self.distinct(members.map { world.reference($0, step) }) : members
        }
        let values = objects?.map { world.value($0, attribute) }
        return isDistinct && values?.contains(where: \.isMissing) == true ? nil : values
      }
    }
  }

  /// Numbers in braces, at least one of which is of the object.
  mutating func braces(_ scope: Scope) -> GraphList {
    let elements = (0..<1 + random.below(4)).map { index in
      index > 0 && random.oneIn(2)
        ? attribute(scope, [.integer, .double, .decimal]) : constantExpression()
    }
    let isDecimal = elements.contains(where: \.isDecimal)
    return GraphList(
      phrase: "{\(GraphPhrase.joined(elements.map(\.phrase), ", "))}",
      isDecimal: isDecimal,
      isOrdered: true,
      isBraces: true
    ) { names in
      elements.map { $0.value(names) }
    }
  }

  private mutating func constantExpression() -> GraphExpression {
    let (constant, value) = numberConstant()
    return GraphExpression(phrase: GraphPhrase(constant)) { _ in value }
  }

  // MARK: Numbers of collections

  mutating func aggregate(_ scope: Scope, _ levels: Int) -> GraphExpression {
    let world = world
    switch random.below(6) {
    case 0:
      let collection = collection(scope, levels - 1)
      let phrase: GraphPhrase =
        random.oneIn(2) ? "\(collection.phrase).@count" : "count:(\(collection.phrase))"
      return GraphExpression(phrase: phrase) { names in
        collection.members(names).map { .integer(Int64($0.count)) } ?? .open
      }
    case 1:
      let collection = toMany(scope)
      return GraphExpression(phrase: "\(collection.phrase)[SIZE]") { names in
        collection.members(names).map { .integer(Int64($0.count)) } ?? .open
      }
    case 2:
      // An attribute of an element of a collection with an order.
      let collection = random.oneIn(3) ? subquery(scope, levels - 1) : toMany(scope)
      guard collection.isOrdered else { fallthrough }
      let element = random.pick(["FIRST", "LAST", "0", "1"])
      let attributes = GraphSchema.names(collection.entity, [.integer, .double, .decimal])
      let name = random.pick(attributes)
      return GraphExpression(
        phrase: "\(collection.phrase)[\(element)].\(name)",
        isDecimal: GraphSchema.names(collection.entity, [.decimal]).contains(name)
      ) { names in
        guard let members = collection.members(names) else { return .open }
        return world.value(Self.element(members, element), name)
      }
    case 3, 4:
      let collection = collection(scope, levels - 1)
      let attributes = GraphSchema.names(collection.entity, [.integer, .double, .decimal])
      let attribute = random.pick(attributes)
      let name = random.pick(["sum", "min", "max", "avg"])
      let isDecimal = GraphSchema.names(collection.entity, [.decimal]).contains(attribute)
      return GraphExpression(
        phrase: "\(collection.phrase).@\(name).\(attribute)",
        isDecimal: isDecimal
      ) { names in
        guard let members = collection.members(names) else { return .open }
        return GraphStatistics.value(name, members.map { world.value($0, attribute) })
      }
    default:
      let list =
        random.oneIn(2)
        ? braces(scope) : list(scope, levels - 1, [.integer, .double, .decimal])
      let name = random.pick(["sum", "min", "max", "average", "median", "stddev", "mode"])
      let isDecimal =
        name != "stddev"
      return GraphExpression(
        phrase: "\(name):(\(list.phrase))",
        isDecimal: isDecimal && list.isDecimal
      ) {
        names in
        guard let values = list.counted(names) else { return .open }
        return GraphStatistics.value(name, values)
      }
    }
  }
}
