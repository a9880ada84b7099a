import JSON
import ObjectModel
import TestSeeds

/// A random predicate over a random model, and what it says in plain Swift.
struct WideCondition {
  let source: String
  let arguments: [JSONValue]
  let holds: (WideName) -> Bool

  static func and(_ one: WideCondition, _ two: WideCondition) -> WideCondition {
    WideCondition(
      source: "(\(one.source)) AND (\(two.source))",
      arguments: one.arguments + two.arguments,
      holds: { one.holds($0) && two.holds($0) }
    )
  }

  static func or(_ one: WideCondition, _ two: WideCondition) -> WideCondition {
    WideCondition(
      source: "(\(one.source)) OR (\(two.source))",
      arguments: one.arguments + two.arguments,
      holds: { one.holds($0) || two.holds($0) }
    )
  }

  static func not(_ one: WideCondition) -> WideCondition {
    WideCondition(
      source: "NOT (\(one.source))",
      arguments: one.arguments,
      holds: { !one.holds($0) }
    )
  }
}

/// Makes random conditions for the objects of a state.
struct WideConditionGenerator {
  let model: WideModel
  let state: WideState
  var values: WideValues

  /// A comparison of a value; nil where the value is missing.
  private struct Comparison {
    /// The text after the path.
    let text: String
    let arguments: [JSONValue]
    let holds: (JSONValue) -> Bool
  }

  private var random: SplitMix64 {
    get { values.random }
    set { values.random = newValue }
  }

  init(_ model: WideModel, _ state: WideState, seed: UInt64) {
    self.model = model
    self.state = state
    values = WideValues(random: SplitMix64(seed: seed &* 31_337))
  }

  /// A condition for the objects of an entity; nil where the entity has nothing to compare.
  mutating func condition(_ entity: Int, depth: Int = 2) -> WideCondition? {
    guard depth > 0, random.oneIn(3) else { return simple(entity) }
    guard let one = condition(entity, depth: depth - 1) else { return nil }
    guard let two = condition(entity, depth: depth - 1) else { return nil }
    switch random.below(3) {
    case 0: return .not(one)
    case 1: return .and(one, two)
    default: return .or(one, two)
    }
  }

  private mutating func simple(_ entity: Int) -> WideCondition? {
    let relationships = model.relationships(entity)
    if !relationships.isEmpty, random.oneIn(3) { return related(random.pick(relationships)) }
    guard let (attribute, comparison) = comparison(entity) else { return nil }
    let state = state
    return WideCondition(
      source: "\(attribute.name) \(comparison.text)",
      arguments: comparison.arguments,
      holds: { comparison.holds(Self.value(attribute.number, of: $0, state)) }
    )
  }

  private static func value(_ property: Int, of name: WideName?, _ state: WideState) -> JSONValue {
    guard let name, case .attribute(let value)? = state.objects[name]?.values[property] else {
      return .null
    }
    return value
  }

  // MARK: Relationships

  private mutating func related(_ relationship: WideRelationship) -> WideCondition? {
    let state = state
    let name = relationship.name
    func targets(_ owner: WideName) -> [WideName] {
      state.objects[owner]?.values[relationship.number]?.names ?? []
    }
    guard relationship.toMany else { return toOne(relationship) }
    if random.oneIn(3) {
      let count = random.below(4)
      return WideCondition(
        source: "\(name).@count >= \(count)",
        arguments: [],
        holds: { targets($0).count >= count }
      )
    }
    guard let (attribute, comparison) = comparison(relationship.destination) else { return nil }
    func members(_ owner: WideName) -> [Bool] {
      targets(owner).map { comparison.holds(Self.value(attribute.number, of: $0, state)) }
    }
    let quantifier = random.pick(["ANY", "ALL", "NONE"])
    return WideCondition(
      source: "\(quantifier) \(name).\(attribute.name) \(comparison.text)",
      arguments: comparison.arguments,
      holds: { owner in
        switch quantifier {
        case "ANY": members(owner).contains(true)
        case "ALL": !members(owner).contains(false)
        default: !members(owner).contains(true)
        }
      }
    )
  }

  private mutating func toOne(_ relationship: WideRelationship) -> WideCondition? {
    let state = state
    let name = relationship.name
    func target(_ owner: WideName) -> WideName? {
      state.objects[owner]?.values[relationship.number]?.names.first
    }
    let others = state.names(relationship.destination, model)
    switch random.below(4) {
    case 0:
      return WideCondition(source: "\(name) == nil", arguments: [], holds: { target($0) == nil })
    case 1 where !others.isEmpty:
      let other = random.pick(others)
      let isEqual = random.oneIn(2)
      return WideCondition(
        source: "\(name) \(isEqual ? "==" : "!=") %@",
        arguments: [.string(state.objects[other]?.id ?? "")],
        holds: { (target($0) == other) == isEqual }
      )
    default:
      guard let (attribute, comparison) = comparison(relationship.destination) else { return nil }
      return WideCondition(
        source: "\(name).\(attribute.name) \(comparison.text)",
        arguments: comparison.arguments,
        holds: { comparison.holds(Self.value(attribute.number, of: target($0), state)) }
      )
    }
  }

  // MARK: Attributes

  /// A comparison of a random attribute of an entity.
  private mutating func comparison(_ entity: Int) -> (WideAttribute, Comparison)? {
    let attributes = model.attributes(entity).filter { $0.type != .json }
    guard !attributes.isEmpty else { return nil }
    let attribute = random.pick(attributes)
    let stored = state.names(entity, model).map { Self.value(attribute.number, of: $0, state) }
      .filter { !$0.isNull }
    func one(_ values: inout WideValues) -> JSONValue {
      stored.isEmpty || values.random.oneIn(4)
        ? values.value(of: attribute.type) : values.random.pick(stored)
    }
    let first = one(&values)
    let second = one(&values)
    let type = attribute.type
    func order(_ value: JSONValue, _ other: JSONValue) -> Int {
      WideOrder.compare(value, other, type)
    }
    if random.oneIn(6) {
      let isEqual = random.oneIn(2)
      let text = isEqual ? "== nil" : "!= nil"
      return (attribute, Comparison(text: text, arguments: []) { $0.isNull == isEqual })
    }
    if random.oneIn(4) {
      return (
        attribute,
        Comparison(text: "IN %@", arguments: [.array([first, second])]) { value in
          !value.isNull && (order(value, first) == 0 || order(value, second) == 0)
        }
      )
    }
    if type == .string, random.oneIn(3) {
      return (attribute, textComparison(first))
    }
    if WideOrder.isOrdered(type), random.oneIn(4) {
      return (
        attribute,
        Comparison(text: "BETWEEN {%@, %@}", arguments: [first, second]) { value in
          !value.isNull && order(value, first) >= 0 && order(value, second) <= 0
        }
      )
    }
    let symbols = WideOrder.isOrdered(type) ? ["==", "!=", "<", "<=", ">", ">="] : ["==", "!="]
    let symbol = random.pick(symbols)
    return (
      attribute,
      Comparison(text: "\(symbol) %@", arguments: [first]) { value in
        guard !value.isNull else { return symbol == "!=" }
        let order = order(value, first)
        switch symbol {
        case "==": return order == 0
        case "!=": return order != 0
        case "<": return order < 0
        case "<=": return order <= 0
        case ">": return order > 0
        default: return order >= 0
        }
      }
    )
  }

  private mutating func textComparison(_ value: JSONValue) -> Comparison {
    let scalars = Array((value.string ?? "").unicodeScalars)
    let start = random.below(scalars.count + 1)
    let part = Array(scalars[start...].prefix(random.below(3)))
    var text = String.UnicodeScalarView()
    text.append(contentsOf: part)
    let symbol = random.pick(["BEGINSWITH", "ENDSWITH", "CONTAINS"])
    return Comparison(text: "\(symbol) %@", arguments: [.string(String(text))]) { value in
      guard let whole = value.string.map({ Array($0.unicodeScalars) }), !part.isEmpty else {
        return false
      }
      switch symbol {
      case "BEGINSWITH": return whole.starts(with: part)
      case "ENDSWITH": return whole.reversed().starts(with: part.reversed())
      default:
        let last = whole.count - part.count
        return last >= 0 && (0...last).contains { Array(whole[$0..<($0 + part.count)]) == part }
      }
    }
  }
}

/// The order of values as predicates compare them.
enum WideOrder {
  static func isOrdered(_ type: AttributeType) -> Bool {
    switch type {
    case .boolean, .uuid, .uri, .binary, .json: false
    default: true
    }
  }

  /// A number below, at or above 0.
  static func compare(_ one: JSONValue, _ two: JSONValue, _ type: AttributeType) -> Int {
    switch (one, two) {
    case (.integer(let a), .integer(let b)): a < b ? -1 : a > b ? 1 : 0
    case (.number(let a), .number(let b)):
      // The value of a float has single precision, and so has what it is compared with.
      a < b ? -1 : a > b ? 1 : 0
    case (.bool(let a), .bool(let b)): a == b ? 0 : 1
    case (.string(let a), .string(let b)):
      type == .decimal ? decimals(a, b) : scalars(a, b)
    default: 1
    }
  }

  private static func scalars(_ one: String, _ two: String) -> Int {
    if one.unicodeScalars.elementsEqual(two.unicodeScalars) { return 0 }
    return one.unicodeScalars.lexicographicallyPrecedes(two.unicodeScalars) ? -1 : 1
  }

  private static func decimals(_ one: String, _ two: String) -> Int {
    let signs = [one, two].map { $0.hasPrefix("-") ? -1 : 1 }
    guard signs[0] == signs[1] else { return signs[0] }
    let parts = [one, two].map { text in
      text.drop { $0 == "-" }.split(separator: ".", omittingEmptySubsequences: false)
    }
    let width = parts.map { $0[0].count }.max() ?? 0
    let padded = parts.map { part in
      let whole = String(repeating: "0", count: width - part[0].count) + part[0]
      let fraction = part.count > 1 ? String(part[1]) : ""
      return whole + fraction + String(repeating: "0", count: 40 - fraction.count)
    }
    if padded[0] == padded[1] { return 0 }
    return padded[0] < padded[1] ? -signs[0] : signs[0]
  }
}
