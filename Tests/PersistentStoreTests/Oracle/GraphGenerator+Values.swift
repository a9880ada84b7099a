import JSON
import TestSeeds

/// Dates, flags, UUIDs, URIs, base64, and objects.
extension GraphGenerator {
  // MARK: Dates

  mutating func date(_ scope: Scope, _ levels: Int) -> GraphExpression {
    switch random.below(levels > 0 ? 9 : 2) {
    case 0, 1: return attribute(scope, [.date])
    case 8: return latest(scope, levels)
    case 2:
      let (constant, time) = dateConstant()
      return GraphExpression(phrase: "CAST(\(GraphPhrase(constant)), 'NSDate')") { _ in
        .date(time)
      }
    case 3:
      // Seconds since 2001, of which some have half a second.
      let seconds = Double(random.below(400)) / 2 - 100
      return GraphExpression(phrase: "CAST(\(seconds.description), 'NSDate')") { _ in
        .date(GraphDates.reference + Int64(seconds * 1000))
      }
    case 4: return choice(scope, levels, date(scope, levels - 1), date(scope, levels - 1))
    default:
      let inner = date(scope, levels - 1)
      let isSum = random.oneIn(2)
      let seconds = Double(random.below(400)) / 2
      return GraphExpression(
        phrase: "(\(inner.phrase) \(isSum ? "+" : "-") \(seconds.description))"
      ) { names in
        guard case .date(let time) = inner.value(names) else { return inner.value(names) }
        return .date(time + Int64(seconds * 1000) * (isSum ? 1 : -1))
      }
    }
  }

  /// The first or the last date of a collection.
  private mutating func latest(_ scope: Scope, _ levels: Int) -> GraphExpression {
    let world = world
    let collection = collection(scope, levels - 1)
    let name = random.pick(GraphSchema.names(collection.entity, [.date]))
    let isFirst = random.oneIn(2)
    return GraphExpression(phrase: "\(collection.phrase).@\(isFirst ? "min" : "max").\(name)") {
      names in
      guard let members = collection.members(names) else { return .open }
      let values = members.map { world.value($0, name) }
      return GraphStatistics.value(isFirst ? "min" : "max", values)
    }
  }

  private mutating func dateConstant() -> (constant: GraphConstant, time: Int64) {
    let text = random.pick(GraphDates.texts)
    let constant = GraphConstant(
      literal: random.oneIn(2) ? "'\(text)'" : "\"\(text)\"",
      wire: .string(text)
    )
    return (constant, GraphDates.milliseconds[text] ?? 0)
  }

  mutating func dates(_ scope: Scope, _ levels: Int) -> GraphCondition {
    let left = date(scope, levels)
    switch random.below(7) {
    case 0:
      let elements = (0..<2).map { _ in
        let (constant, time) = dateConstant()
        return (constant, GraphValue.date(time))
      }
      return constants(left, elements, isRange: random.oneIn(2))
    case 1:
      // The dates are all before or long after this program runs.
      let isBefore = random.oneIn(2)
      return GraphCondition(phrase: "\(left.phrase) \(isBefore ? "<" : ">=") now()") { names in
        switch left.value(names) {
        case .date(let time): (time < 1_784_000_000_000) == isBefore
        case .missing: false
        default: nil
        }
      }
    case 2:
      // The difference of two dates, in seconds.
      let right = date(scope, levels)
      let seconds = Double(random.below(400)) / 2 - 100
      let sign = random.pick(["<", ">=", "==", "!="])
      return GraphCondition(
        phrase: "\(left.phrase) - \(right.phrase) \(sign) \(seconds.description)"
      ) { names in
        switch (left.value(names), right.value(names)) {
        case (.date(let a), .date(let b)):
          GraphValue.integer(a - b).compare(sign, .integer(Int64(seconds * 1000)))
        case (.open, _), (_, .open): nil
        default: GraphValue.missing.compare(sign, .double(seconds))
        }
      }
    case 3, 4:
      return comparison(left, date(scope, levels))
    default:
      let (constant, time) = dateConstant()
      let right = GraphExpression(phrase: GraphPhrase(constant)) { _ in .date(time) }
      return comparison(left, right)
    }
  }

  // MARK: Flags and tokens

  mutating func flags(_ scope: Scope) -> GraphCondition {
    let left = attribute(scope, [.flag])
    let signs = ["==", "!=", "="]
    if random.oneIn(4) { return comparison(left, attribute(scope, [.flag]), signs: signs) }
    let flag = random.oneIn(2)
    let constant =
      random.oneIn(3)
      ? GraphConstant(
        literal: flag ? "1" : "0",
        wire: .integer(flag ? 1 : 0),
        placeholders: ["%d"]
      )
      : GraphConstant(
        literal: random.pick(flag ? ["YES", "TRUE", "true"] : ["NO", "FALSE", "false"]),
        wire: .bool(flag)
      )
    let right = GraphExpression(phrase: GraphPhrase(constant)) { _ in .flag(flag) }
    return comparison(left, right, signs: signs)
  }

  /// A UUID, a URI or base64.
  mutating func token(_ scope: Scope) -> GraphExpression { attribute(scope, [.token]) }

  mutating func tokens(_ scope: Scope) -> GraphCondition {
    let left = token(scope)
    // Values of another type compare as nothing that the contract has.
    var samples = GraphSamples.links
    for (suffix, others) in [("code", GraphSamples.codes), ("bytes", GraphSamples.bytes)]
    where left.phrase.ends(with: suffix) {
      samples = others
    }
    let elements = (0..<1 + random.below(3)).map { _ in
      let text = random.pick(samples)
      return (
        GraphConstant(literal: "\"\(text)\"", wire: .string(text)), GraphValue.token(text)
      )
    }
    if elements.count > 1 { return constants(left, elements, isRange: false) }
    let right = GraphExpression(phrase: GraphPhrase(elements[0].0)) { _ in elements[0].1 }
    return comparison(left, right, signs: ["==", "!="])
  }

  // MARK: Objects

  /// An object, as itself or through a to-one or an element, with its entity.
  mutating func object(_ scope: Scope) -> (expression: GraphExpression, entity: String) {
    let holder = holder(scope)
    let path =
      holder.prefix.isEmpty ? "SELF" : String(holder.prefix.dropLast())
    let isPlain = !path.contains("$") && !path.contains("[") && !path.hasPrefix("SELF")
    let phrase = isPlain ? GraphPhrase(path: path) : GraphPhrase(text: path)
    let expression = GraphExpression(phrase: phrase) {
      holder.object($0).map { .object($0) } ?? .missing
    }
    return (expression, holder.entity)
  }

  func objectConstant(_ object: Int) -> GraphConstant {
    let id = world.objects[object].id
    return GraphConstant(literal: "\"\(id)\"", wire: .string(id))
  }

  /// Comparisons of objects, of their IDs and of their entities.
  mutating func identity(_ scope: Scope, _ levels: Int) -> GraphCondition {
    let world = world
    let (left, entity) = object(scope)
    let members = world.all(entity)
    let isEqual = random.oneIn(2)
    let sign = isEqual ? "==" : "!="
    switch random.below(6) {
    case 0:
      let elements = (0..<1 + random.below(3)).map { _ in
        let object = random.pick(members)
        return (objectConstant(object), GraphValue.object(object))
      }
      return constants(left, elements, isRange: false)
    case 1:
      let holder = holder(scope)
      let name = random.pick(["Thing", "Special", "Tag"])
      let path = random.pick(["entity", "entity.name"])
      let constant = GraphConstant(literal: "'\(name)'", wire: .string(name))
      return GraphCondition(
        phrase: "\(holder.phrase(path)) \(sign) \(GraphPhrase(constant))"
      ) { names in
        let entity = holder.object(names).map { world.objects[$0].entity }
        return (entity == name) == isEqual
      }
    case 2:
      let holder = holder(scope)
      let object = random.pick(world.all(holder.entity))
      return GraphCondition(
        phrase: "\(holder.phrase("objectID")) \(sign) \(GraphPhrase(objectConstant(object)))"
      ) { (holder.object($0) == object) == isEqual }
    case 3:
      let (right, other) = object(scope)
      guard other == entity else { fallthrough }
      return comparison(left, right, signs: ["==", "!="])
    default:
      let object = random.pick(members)
      let right = GraphExpression(phrase: GraphPhrase(objectConstant(object))) { _ in
        .object(object)
      }
      return comparison(left, right, signs: ["==", "!="])
    }
  }
}
