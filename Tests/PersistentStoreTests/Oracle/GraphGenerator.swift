import JSON
import TestSeeds
import TestStores

/// What the names of a predicate stand for: the object of the fetch is `""`.
typealias GraphEnvironment = [String: Int]

/// An expression as a phrase and as a function.
struct GraphExpression {
  let phrase: GraphPhrase
  var isDecimal = false
  let value: (GraphEnvironment) -> GraphValue
}

/// A condition as a phrase and as a function, which returns nil where the contract is open.
struct GraphCondition {
  let phrase: GraphPhrase
  let holds: (GraphEnvironment) -> Bool?
}

/// A collection of objects, in its order.
struct GraphCollection {
  let phrase: GraphPhrase
  let entity: String
  /// Whether the contract has an order for the objects: a to-many and what is chosen from it.
  let isOrdered: Bool
  /// Whether the phrase is a path, which needs no parentheses.
  var isPath = true
  let members: (GraphEnvironment) -> [Int]?
}

/// A collection of values.
struct GraphList {
  let phrase: GraphPhrase
  var isDecimal = false
  /// Whether the elements have an order, and equal ones are kept.
  let isOrdered: Bool
  /// Whether equal elements are one.
  var isDistinct = false
  /// Whether it is a list in braces.
  var isBraces = false
  let values: (GraphEnvironment) -> [GraphValue]?
}

extension GraphList {
  /// The values for what depends on how often each is there.
  func counted(_ names: GraphEnvironment) -> [GraphValue]? {
    guard isDistinct else { return values(names) }
    var distinct: [GraphValue] = []
    for value in values(names) ?? [.open] where !value.isMissing {
      guard let isKnown = GraphLogic.any(distinct.map { $0.compare("==", value) }) else {
        return nil
      }
      if !isKnown { distinct.append(value) }
    }
    return distinct
  }
}

/// An object that a path refers to.
struct GraphHolder {
  /// The path, with a dot at its end unless it is empty.
  let prefix: String
  let entity: String
  let object: (GraphEnvironment) -> Int?

  func phrase(_ name: String) -> GraphPhrase {
    // Whether an argument of `%K` may have more than names is open.
    let path = prefix + name
    let isPlain = !path.contains("$") && !path.contains("[") && !path.hasPrefix("SELF")
    return isPlain ? GraphPhrase(path: path) : GraphPhrase(text: path)
  }
}

/// Makes conditions of the whole language, and evaluates them over arrays as the contract has it.
///
/// Left out, because the contract does not define them: `canonical:`, the order of UUIDs, URIs and
/// base64, what an empty text is a part of, and `[l]` together with other options.
struct GraphGenerator {
  /// A name and the entity of the object that it stands for.
  typealias Scope = [(name: String, entity: String)]

  let world: GraphWorld
  var random: SplitMix64
  var variables = 0

  // MARK: Conditions

  mutating func condition(_ scope: Scope, _ levels: Int) -> GraphCondition {
    if levels > 0 && random.oneIn(3) { return logic(scope, levels) }
    switch random.below(levels > 0 ? 24 : 15) {
    case 0, 1, 2: return numbers(scope, levels)
    case 3, 4: return texts(scope, levels)
    case 5: return matching(scope, levels)
    case 6, 7: return dates(scope, levels)
    case 8: return flags(scope)
    case 9: return tokens(scope)
    case 10, 11: return identity(scope, levels)
    case 12, 13: return facts(scope)
    case 14: return missing(scope, levels)
    case 15, 16, 17, 18, 19: return quantified(scope, levels)
    case 20, 21: return membership(scope, levels)
    default: return factsList(scope)
    }
  }

  private mutating func logic(_ scope: Scope, _ levels: Int) -> GraphCondition {
    switch random.below(8) {
    case 0:
      return random.oneIn(2)
        ? GraphCondition(phrase: "TRUEPREDICATE") { _ in true }
        : GraphCondition(phrase: "FALSEPREDICATE") { _ in false }
    case 1, 2:
      let inner = condition(scope, levels - 1)
      return GraphCondition(phrase: "\(random.pick(["NOT ", "!"]))(\(inner.phrase))") {
        GraphLogic.not(inner.holds($0))
      }
    default:
      let terms = (0..<2 + random.below(2)).map { _ in condition(scope, levels - 1) }
      let isAnd = random.oneIn(2)
      let word = random.pick(isAnd ? [" AND ", " && "] : [" OR ", " || "])
      return GraphCondition(phrase: .joined(terms.map { "(\($0.phrase))" }, word)) { names in
        isAnd
          ? GraphLogic.all(terms.map { $0.holds(names) })
          : GraphLogic.any(terms.map { $0.holds(names) })
      }
    }
  }

  /// The condition that an expression is nil, or that it is not.
  private mutating func missing(_ scope: Scope, _ levels: Int) -> GraphCondition {
    let value: GraphExpression
    switch random.below(5) {
    case 0: value = number(scope, levels)
    case 1: value = date(scope, levels)
    case 2: value = token(scope)
    case 3: value = text(scope, levels)
    default:
      let holder = holder(scope)
      let (name, _) = random.pick(GraphSchema.toOnes[holder.entity] ?? [])
      let world = world
      value = GraphExpression(phrase: holder.phrase(name)) {
        world.reference(holder.object($0), name).map { .object($0) } ?? .missing
      }
    }
    let isEqual = random.oneIn(2)
    let none =
      random.oneIn(3)
      ? GraphPhrase(GraphConstant(literal: "NULL", wire: .null)) : GraphPhrase(text: "nil")
    return GraphCondition(phrase: "\(value.phrase) \(isEqual ? "==" : "!=") \(none)") {
      value.value($0).compare(isEqual ? "==" : "!=", .missing)
    }
  }

  // MARK: Paths

  /// A path of to-ones from an object that a name stands for, or an element of a to-many.
  mutating func holder(_ scope: Scope) -> GraphHolder {
    let world = world
    // The names of subqueries are the more interesting ones.
    let (name, entity) = random.oneIn(4) ? random.pick(scope) : scope[scope.count - 1]
    var holder = GraphHolder(
      prefix: name.isEmpty ? (random.oneIn(12) ? "SELF." : "") : "$\(name).",
      entity: entity
    ) { $0[name] }
    while random.oneIn(4) {
      let before = holder
      if random.oneIn(6) {
        let (path, destination) = random.pick(GraphSchema.toManys[before.entity] ?? [])
        let element = random.pick(["FIRST", "LAST", "0", "1"])
        holder = GraphHolder(prefix: "\(before.prefix)\(path)[\(element)].", entity: destination) {
          Self.element(world.members(before.object($0), path), element)
        }
      } else {
        let (path, destination) = random.pick(GraphSchema.toOnes[before.entity] ?? [])
        holder = GraphHolder(prefix: "\(before.prefix)\(path).", entity: destination) {
          world.reference(before.object($0), path)
        }
      }
    }
    return holder
  }

  static func element<Value>(_ values: [Value], _ element: String) -> Value? {
    switch element {
    case "FIRST": return values.first
    case "LAST": return values.last
    default: return Int(element).flatMap { values.indices.contains($0) ? values[$0] : nil }
    }
  }

  /// An attribute of some kinds at the end of a path; nil if the path's entity has none.
  mutating func attribute(_ scope: Scope, _ kinds: [GraphSchema.Kind]) -> GraphExpression {
    let world = world
    while true {
      let holder = holder(scope)
      let names = GraphSchema.names(holder.entity, kinds)
      guard !names.isEmpty else {
        // Every entity that lacks a kind refers to one that has it, by its owner.
        let name = random.pick(GraphSchema.names("Thing", kinds))
        return GraphExpression(phrase: holder.phrase("owner.\(name)")) {
          world.value(world.reference(holder.object($0), "owner"), name)
        }
      }
      let name = random.pick(names)
      let isDecimal = GraphSchema.names(holder.entity, [.decimal]).contains(name)
      return GraphExpression(
        phrase: holder.phrase(name),
        isDecimal: isDecimal
      ) {
        world.value(holder.object($0), name)
      }
    }
  }

  /// Saves a random graph, and returns a generator of requests for it.
  static func generator(_ seed: UInt64, in store: TestStore) async throws -> GraphGenerator {
    var random = SplitMix64(seed: seed)
    var world = GraphWorld.random(&random, things: 6 + random.below(12), tags: 3 + random.below(5))
    try await world.save(in: store)
    return GraphGenerator(world: world, random: random)
  }

  // MARK: Parts of several kinds

  /// A choice between two expressions of one kind.
  mutating func choice(
    _ scope: Scope,
    _ levels: Int,
    _ first: GraphExpression,
    _ second: GraphExpression
  ) -> GraphExpression {
    let condition = condition(scope, min(levels - 1, 1))
    return GraphExpression(
      phrase: "TERNARY(\(condition.phrase), \(first.phrase), \(second.phrase))",
      isDecimal: first.isDecimal || second.isDecimal
    ) { names in
      guard let holds = condition.holds(names) else { return .open }
      return holds ? first.value(names) : second.value(names)
    }
  }

  /// A comparison of two expressions.
  mutating func comparison(
    _ a: GraphExpression,
    _ b: GraphExpression,
    signs: [String] = ["==", "!=", "<", "<=", ">", ">=", "=", "<>", "=<", "=>"]
  ) -> GraphCondition {
    let written = random.pick(signs)
    let sign = ["=": "==", "<>": "!=", "=<": "<=", "=>": ">="][written] ?? written
    return GraphCondition(phrase: "\(a.phrase) \(written) \(b.phrase)") {
      a.value($0).compare(sign, b.value($0))
    }
  }

  /// Whether a value is one of some; a missing value is none.
  static func isMember(
    _ value: GraphValue,
    of values: [GraphValue],
    _ options: String = ""
  ) -> Bool? {
    if value.isOpen { return nil }
    if value.isMissing { return false }
    return GraphLogic.any(values.map { $0.isMissing ? false : compare(value, "==", $0, options) })
  }

  /// `BETWEEN`, or `IN` a list of constants, in the text or as one argument.
  mutating func constants(
    _ value: GraphExpression,
    _ elements: [(constant: GraphConstant, value: GraphValue)],
    isRange: Bool,
    options: String = ""
  ) -> GraphCondition {
    let list: GraphPhrase
    if random.oneIn(2) {
      let wire = JSONValue.array(elements.map(\.constant.wire))
      let literals = elements.compactMap(\.constant.literal)
      let text = "{\(literals.joined(separator: ", "))}"
      list = GraphPhrase(
        GraphConstant(literal: literals.count == elements.count ? text : nil, wire: wire)
      )
    } else {
      list = "{\(GraphPhrase.joined(elements.map { GraphPhrase($0.constant) }, ", "))}"
    }
    if isRange {
      return GraphCondition(phrase: "\(value.phrase) BETWEEN \(list)") { names in
        let value = value.value(names)
        return GraphLogic.all([
          value.compare(">=", elements[0].value), value.compare("<=", elements[1].value),
        ])
      }
    }
    return GraphCondition(phrase: "\(value.phrase) IN\(options) \(list)") {
      Self.isMember(value.value($0), of: elements.map(\.value), options)
    }
  }
}
