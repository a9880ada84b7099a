import JSON
import TestSeeds

/// Paths into `json` attributes, whose values compare as SQLite stores them.
extension GraphGenerator {
  /// A value in a JSON value; true is 1, and lists and objects are open.
  private static func value(_ json: JSONValue?) -> GraphValue {
    switch json {
    case nil, .null?: .missing
    case .bool(let flag)?: .integer(flag ? 1 : 0)
    case .integer(let number)?: .integer(number)
    case .number(let number)?: .double(number)
    case .string(let text)?: .text(text)
    default: .open
    }
  }

  /// Compares as SQLite: every text comes after every number.
  private static func compare(_ a: GraphValue, _ sign: String, _ b: GraphValue) -> Bool? {
    if a.isOpen || b.isOpen { return nil }
    let isBefore: Bool
    switch (a, b) {
    case (.integer, .text), (.double, .text): isBefore = true
    case (.text, .integer), (.text, .double): isBefore = false
    default: return a.compare(sign, b)
    }
    switch sign {
    case "==": return false
    case "!=": return true
    default: return sign.hasPrefix("<") == isBefore
    }
  }

  /// A constant beside a value in JSON.
  private mutating func factConstant() -> (constant: GraphConstant, value: GraphValue) {
    if random.oneIn(3) {
      let text = random.pick(["a", "A", "b", "10", "1", "é"])
      return (textConstant(text), .text(text))
    }
    return numberConstant()
  }

  /// An object that has a JSON value, through to-ones or not.
  private mutating func thing(_ scope: Scope) -> GraphHolder {
    let world = world
    let holder = holder(scope)
    guard holder.entity != "Thing" else { return holder }
    return GraphHolder(prefix: "\(holder.prefix)owner.", entity: "Thing") {
      world.reference(holder.object($0), "owner")
    }
  }

  /// A comparison of one value in a JSON value.
  mutating func facts(_ scope: Scope) -> GraphCondition {
    let world = world
    let holder = thing(scope)
    let elements = ["facts.list[0]", "facts.list[1]", "facts.list[LAST]", "facts.list[FIRST]"]
    let path = random.pick(
      ["facts.name", "facts['name']", "facts.deep.n"] + (random.oneIn(2) ? elements : [])
    )
    let value = { (names: GraphEnvironment) -> GraphValue in
      let facts = world.wire(holder.object(names), "facts")
      switch path {
      case "facts.name", "facts['name']": return Self.value(facts["name"])
      case "facts.deep.n": return Self.value(facts["deep"]?["n"])
      default:
        let element = String(path.dropFirst("facts.list[".count).dropLast())
        return Self.value(Self.element(facts["list"]?.array ?? [], element))
      }
    }
    let sign = random.pick(["==", "!=", "<", "<=", ">", ">="])
    // As SQLite stores it, the text "1" is not the number of an attribute.
    let right: GraphExpression
    let isAttribute = random.oneIn(4)
    if isAttribute {
      right = attribute(scope, [.integer])
    } else {
      let (constant, value) = factConstant()
      right = GraphExpression(phrase: GraphPhrase(constant)) { _ in value }
    }
    return GraphCondition(phrase: "\(holder.phrase(path)) \(sign) \(right.phrase)") { names in
      let value = value(names)
      return Self.compare(value, sign, right.value(names))
    }
  }

  /// A quantifier over a list in a JSON value, a member of it, or their number.
  mutating func factsList(_ scope: Scope) -> GraphCondition {
    let world = world
    let holder = thing(scope)
    let elements = { (names: GraphEnvironment) -> [GraphValue] in
      (world.wire(holder.object(names), "facts")["list"]?.array ?? []).map { Self.value($0) }
    }
    let path = holder.phrase("facts.list")
    let (constant, wanted) = factConstant()
    switch random.below(5) {
    case 0:
      let count = Int64(random.below(4))
      let sign = random.pick(["==", ">", "<="])
      return GraphCondition(phrase: "\(path)[SIZE] \(sign) \(Int(count))") { names in
        let list = world.wire(holder.object(names), "facts")["list"]?.array
        // How many elements a list that is not there has is open.
        return list.flatMap { GraphValue.integer(Int64($0.count)).compare(sign, .integer(count)) }
      }
    case 1:
      let contains = random.oneIn(2)
      let phrase: GraphPhrase =
        contains
        ? "\(path) CONTAINS \(GraphPhrase(constant))" : "\(GraphPhrase(constant)) IN \(path)"
      return GraphCondition(phrase: phrase) { names in
        GraphLogic.any(
          elements(names).map { $0.isMissing ? false : Self.compare($0, "==", wanted) }
        )
      }
    default:
      let word = random.pick(["ANY", "ALL", "NONE"])
      let sign = random.pick(["==", "!=", "<", "<=", ">", ">="])
      return GraphCondition(phrase: "\(word) \(path) \(sign) \(GraphPhrase(constant))") { names in
        Self.quantify(word, elements(names).map { Self.compare($0, sign, wanted) })
      }
    }
  }
}
