import JSON
import TestSeeds

/// Conditions on the elements of collections.
extension GraphGenerator {
  /// `ANY`, `ALL` or `NONE` of the values of a collection, or of its objects.
  mutating func quantified(_ scope: Scope, _ levels: Int) -> GraphCondition {
    let word = random.pick(["ANY", "SOME", "ALL", "NONE"])
    if random.oneIn(6) { return quantifiedObjects(word, scope, levels) }
    if random.oneIn(5) { return quantifiedTexts(word, scope, levels) }
    let kinds: [GraphSchema.Kind] =
      random.oneIn(5) ? [.date] : random.oneIn(5) ? [.text] : [.integer, .double, .decimal]
    let list =
      kinds.count > 1 && random.oneIn(6) ? braces(scope) : list(scope, levels - 1, kinds)
    if random.oneIn(5), kinds.count > 1 {
      let isRange = random.oneIn(2)
      let elements = (0..<2 + (isRange ? 0 : random.below(2))).map { _ in numberConstant() }
      let phrase = "\(list.phrase)" as GraphPhrase
      return quantified(word, phrase, list.values) { element in
        GraphExpression(phrase: phrase, isDecimal: list.isDecimal) { _ in element }
      } condition: { generator, left in
        generator.constants(left, elements, isRange: isRange)
      }
    }
    let right: GraphExpression
    switch kinds[0] {
    case .date: right = date(scope, min(levels - 1, 1))
    case .text: right = text(scope, min(levels - 1, 1))
    default: right = number(scope, min(levels - 1, 1))
    }
    // A date or a decimal that is not from the store needs its own type.
    let sign = random.pick(["==", "!=", "<", "<=", ">", ">="])
    return GraphCondition(phrase: "\(word) \(list.phrase) \(sign) \(right.phrase)") { names in
      guard let values = list.values(names) else { return nil }
      let wanted = right.value(names)
      return Self.quantify(word, values.map { $0.compare(sign, wanted) })
    }
  }

  static func quantify(_ word: String, _ conditions: [Bool?]) -> Bool? {
    switch word {
    case "ALL": GraphLogic.all(conditions)
    case "NONE": GraphLogic.not(GraphLogic.any(conditions))
    default: GraphLogic.any(conditions)
    }
  }

  /// A condition that is made once for its phrase, and evaluated with each element.
  private mutating func quantified(
    _ word: String,
    _ phrase: GraphPhrase,
    _ values: @escaping (GraphEnvironment) -> [GraphValue]?,
    element: @escaping (GraphValue) -> GraphExpression,
    condition: (inout GraphGenerator, GraphExpression) -> GraphCondition
  ) -> GraphCondition {
    // The environment has objects only, so that the element is a variable of the closure.
    final class Box { var value = GraphValue.missing }
    let box = Box()
    let template = element(.missing)
    let expression = GraphExpression(phrase: phrase, isDecimal: template.isDecimal) { _ in
      box.value
    }
    let made = condition(&self, expression)
    return GraphCondition(phrase: "\(word) \(made.phrase)") { names in
      guard let values = values(names) else { return nil }
      let conditions = values.map { value in
        box.value = value
        return made.holds(names)
      }
      return Self.quantify(word, conditions)
    }
  }

  private mutating func quantifiedTexts(
    _ word: String,
    _ scope: Scope,
    _ levels: Int
  ) -> GraphCondition {
    let list = list(scope, levels - 1, [.text])
    let options = random.pick(["", "[c]", "[d]", "[cd]"])
    let sign = random.pick(["CONTAINS", "BEGINSWITH", "ENDSWITH"])
    let part = random.pick(["a", "B", "é", "1", "ab"])
    let constant = textConstant(part)
    return GraphCondition(
      phrase: "\(word) \(list.phrase) \(sign)\(options) \(GraphPhrase(constant))"
    ) { names in
      guard let values = list.values(names) else { return nil }
      return Self.quantify(word, values.map { Self.isPart(part, sign, $0, options) })
    }
  }

  private mutating func quantifiedObjects(
    _ word: String,
    _ scope: Scope,
    _ levels: Int
  ) -> GraphCondition {
    let collection = collection(scope, levels - 1)
    let isEqual = random.oneIn(2)
    let object = random.pick(world.all(collection.entity))
    let constant = objectConstant(object)
    return GraphCondition(
      phrase: "\(word) \(collection.phrase) \(isEqual ? "==" : "!=") \(GraphPhrase(constant))"
    ) { names in
      guard let members = collection.members(names) else { return nil }
      return Self.quantify(word, members.map { ($0 == object) == isEqual })
    }
  }

  /// A value or an object `IN` a collection, or a collection that `CONTAINS` it.
  mutating func membership(_ scope: Scope, _ levels: Int) -> GraphCondition {
    let contains = random.oneIn(3)
    func phrase(_ left: GraphPhrase, _ right: GraphPhrase) -> GraphPhrase {
      contains ? "\(right) CONTAINS \(left)" : "\(left) IN \(right)"
    }
    if random.oneIn(2) {
      let collection = collection(scope, levels - 1)
      var (left, entity) = object(scope)
      if entity != collection.entity || random.oneIn(3) {
        let object = random.pick(world.all(collection.entity))
        left = GraphExpression(phrase: GraphPhrase(objectConstant(object))) { _ in .object(object) }
        entity = collection.entity
      }
      let element = left
      return GraphCondition(phrase: phrase(left.phrase, collection.phrase)) { names in
        guard let members = collection.members(names) else { return nil }
        return Self.isMember(element.value(names), of: members.map { .object($0) })
      }
    }
    let kinds: [GraphSchema.Kind] = random.oneIn(3) ? [.text] : [.integer, .double, .decimal]
    let left = kinds.count == 1 ? text(scope, 0) : number(scope, 0)
    var list = list(scope, levels - 1, kinds)
    if kinds.count > 1, random.oneIn(5) { list = braces(scope) }
    if random.oneIn(5) {
      let second = self.list(scope, levels - 1, kinds)
      list = combined(list, second)
    }
    let elements = list
    return GraphCondition(phrase: phrase(left.phrase, elements.phrase)) { names in
      guard let values = elements.values(names) else { return nil }
      return Self.isMember(left.value(names), of: values)
    }
  }

  /// Two collections of values as sets.
  private mutating func combined(_ first: GraphList, _ second: GraphList) -> GraphList {
    let word = random.pick(["UNION", "INTERSECT", "MINUS"])
    return GraphList(
      phrase: "(\(first.phrase) \(word) \(second.phrase))",
      isDecimal: first.isDecimal || second.isDecimal,
      isOrdered: false
    ) { names in
      guard let a = first.values(names), let b = second.values(names) else { return nil }
      if word == "UNION" { return a + b }
      return a.map { value in
        switch Self.isMember(value, of: b) {
        // A missing element is found by nothing, so that it need not be there.
        case nil: .open
        case let holds?: holds == (word == "INTERSECT") ? value : .missing
        }
      }
    }
  }
}
