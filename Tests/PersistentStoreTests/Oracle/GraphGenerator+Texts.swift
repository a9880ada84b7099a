import Foundation
import JSON
import TestSeeds

extension GraphGenerator {
  // MARK: Expressions

  mutating func text(_ scope: Scope, _ levels: Int) -> GraphExpression {
    let world = world
    switch random.below(levels > 0 ? 10 : 5) {
    case 0, 1, 2: return attribute(scope, [.text])
    case 3:
      let (constant, text) = textConstant()
      return GraphExpression(phrase: GraphPhrase(constant)) { _ in .text(text) }
    case 4:
      let holder = holder(scope)
      return GraphExpression(phrase: holder.phrase("entity.name")) { names in
        holder.object(names).map { .text(world.objects[$0].entity) } ?? .missing
      }
    case 5, 6:
      let inner = text(scope, levels - 1)
      let isLower = random.oneIn(2)
      return GraphExpression(phrase: "\(isLower ? "lowercase" : "uppercase"):(\(inner.phrase))") {
        names in
        guard case .text(let text) = inner.value(names) else { return inner.value(names) }
        return .text(isLower ? text.lowercased() : text.uppercased())
      }
    case 7: return castText(scope, levels)
    default:
      let (first, second) = (text(scope, levels - 1), text(scope, levels - 1))
      return choice(scope, levels, first, second)
    }
  }

  /// A number as a text; whether a whole double has a point in its text is open.
  private mutating func castText(_ scope: Scope, _ levels: Int) -> GraphExpression {
    let inner = number(scope, levels - 1)
    return GraphExpression(phrase: "CAST(\(inner.phrase), 'NSString')") { names in
      let value = inner.value(names)
      switch value {
      case .integer(let number): return .text("\(number)")
      case .decimal(let number):
        return .text(number.text)
      case .double(let number) where abs(number) < 1e15 && abs(number) > 1e-4:
        return number == number.rounded() ? .open : .text("\(number)")
      case .missing: return .missing
      default: return .open
      }
    }
  }

  mutating func textConstant() -> (constant: GraphConstant, text: String) {
    let text = random.pick(random.oneIn(2) ? GraphSamples.texts : GraphSamples.titles)
    return (textConstant(text), text)
  }

  /// A text between quotes of either kind.
  mutating func textConstant(_ text: String) -> GraphConstant {
    let json = JSONValue.string(text).text
    let isSingle = random.oneIn(2) && !text.contains("'") && !text.contains("\"")
    return GraphConstant(
      literal: isSingle ? "'\(json.dropFirst().dropLast())'" : json,
      wire: .string(text),
      placeholders: ["%s"]
    )
  }

  // MARK: Conditions

  /// A comparison of texts.
  mutating func texts(_ scope: Scope, _ levels: Int) -> GraphCondition {
    let left = text(scope, levels)
    if random.oneIn(4) {
      let elements = (0..<1 + random.below(3)).map { _ in
        let (constant, text) = textConstant()
        return (constant, GraphValue.text(text))
      }
      return constants(left, elements, isRange: false, options: options())
    }
    let (constant, text) = textConstant()
    let right =
      random.oneIn(3)
      ? attribute(scope, [.text])
      : GraphExpression(phrase: GraphPhrase(constant)) { _ in .text(text) }
    let sign = random.pick(["==", "!=", "<", "<=", ">", ">="])
    let options = options()
    return GraphCondition(phrase: "\(left.phrase) \(sign)\(options) \(right.phrase)") {
      Self.compare(left.value($0), sign, right.value($0), options)
    }
  }

  private mutating func options() -> String {
    random.pick(["", "", "[c]", "[d]", "[cd]", "[n]", "[ncd]", "[dc]", "[l]"])
  }

  /// Whether a comparison of texts with options holds.
  static func compare(
    _ a: GraphValue,
    _ sign: String,
    _ b: GraphValue,
    _ options: String
  ) -> Bool? {
    guard case .text(let x) = a, case .text(let y) = b, options != "", !options.contains("n") else {
      return a.compare(sign, b)
    }
    let order: GraphValue.Order
    if options == "[l]" {
      guard let first = GraphCollation(x, digitsAreNumbers: true),
        let second = GraphCollation(y, digitsAreNumbers: true),
        let plain = GraphCollation(x, digitsAreNumbers: false),
        let other = GraphCollation(y, digitsAreNumbers: false)
      else { return nil }
      order = GraphCollation.order(first, second)
      // Whether `[l]` reads digits as numbers, as `:localized` does, is open.
      if order != GraphCollation.order(plain, other) { return nil }
    } else {
      // Without [d], whether a letter with an accent equals two characters is open.
      if !options.contains("d"), GraphTexts.isAmbiguous(x + y) { return nil }
      let (first, second) = (GraphTexts.folded(x, options), GraphTexts.folded(y, options))
      order =
        first == second ? .equal : first.lexicographicallyPrecedes(second) ? .less : .greater
      // The order of signs among letters depends on which case is folded to which.
      let isPlain = { (scalar: Unicode.Scalar) in scalar.properties.isAlphabetic }
      if !["==", "!="].contains(sign), !(first + second).allSatisfy(isPlain) { return nil }
    }
    switch sign {
    case "==": return order == .equal
    case "!=": return order != .equal
    case "<": return order == .less
    case "<=": return order != .greater
    case ">": return order == .greater
    default: return order != .less
    }
  }

  /// A part of a text, a wildcard pattern or a regular expression.
  mutating func matching(_ scope: Scope, _ levels: Int) -> GraphCondition {
    let left = text(scope, levels)
    let options = random.pick(["", "", "[c]", "[d]", "[cd]", "[n]"])
    switch random.below(4) {
    case 0: return wildcard(left, options)
    case 1: return regularExpression(left)
    default:
      let word = random.pick(["IN", "BEGINSWITH", "ENDSWITH", "CONTAINS"])
      let (constant, text) = textConstant()
      let part =
        random.oneIn(4)
        ? attribute(scope, [.text])
        : GraphExpression(phrase: GraphPhrase(constant)) { _ in .text(text) }
      let phrase: GraphPhrase =
        word == "IN"
        ? "\(part.phrase) IN\(options) \(left.phrase)"
        : "\(left.phrase) \(word)\(options) \(part.phrase)"
      return GraphCondition(phrase: phrase) { names in
        switch part.value(names) {
        case .text(let part): Self.isPart(part, word, left.value(names), options)
        case .missing: false
        default: nil
        }
      }
    }
  }

  static func isPart(
    _ part: String,
    _ word: String,
    _ value: GraphValue,
    _ options: String
  ) -> Bool? {
    guard case .text(let text) = value else { return value.isMissing ? false : nil }
    // Whether a part may divide a character of two is open.
    if GraphTexts.isAmbiguous(text + part) { return nil }
    let whole = GraphTexts.folded(text, options)
    let wanted = GraphTexts.folded(part, options)
    if wanted.isEmpty { return false }
    switch word {
    case "BEGINSWITH": return whole.starts(with: wanted)
    case "ENDSWITH": return whole.reversed().starts(with: wanted.reversed())
    default: return GraphTexts.contains(whole, wanted)
    }
  }

  private mutating func wildcard(_ left: GraphExpression, _ options: String) -> GraphCondition {
    let pattern = random.pick(
      ["a*", "*c", "?", "a?c", "*", "b\\*", "??", "a*c*", "A*", "*é", "e?", "", "*b", "\\?"]
    )
    let constant = textConstant(pattern)
    return GraphCondition(phrase: "\(left.phrase) LIKE\(options) \(GraphPhrase(constant))") {
      names in
      guard case .text(let text) = left.value(names) else {
        return left.value(names).isMissing ? false : nil
      }
      if GraphTexts.isAmbiguous(text) { return nil }
      let folded = GraphTexts.folded(text, options)
      return GraphTexts.like(folded[...], GraphTexts.folded(pattern, options)[...])
    }
  }

  private mutating func regularExpression(_ left: GraphExpression) -> GraphCondition {
    let isLetter = { (letter: Character) in "abcABC".contains(letter) }
    let (pattern, options, holds): (String, String, (String) -> Bool) = random.pick([
      ("[a-c]+", "", { !$0.isEmpty && $0.allSatisfy { "abc".contains($0) } }),
      ("", "", { $0.isEmpty }), (".{3}", "", { $0.unicodeScalars.count == 3 }),
      (".*\\..*", "", { $0.contains(".") }), ("[ABC]*", "[c]", { $0.allSatisfy(isLetter) }),
      ("-?\\d+(\\.\\d+)?", "", { $0.wholeMatch(of: /-?[0-9]+(\.[0-9]+)?/) != nil }),
      ("a|b|ab", "", { ["a", "b", "ab"].contains($0) }),
    ])
    let constant = textConstant(pattern)
    return GraphCondition(phrase: "\(left.phrase) MATCHES\(options) \(GraphPhrase(constant))") {
      names in
      guard case .text(let text) = left.value(names) else {
        return left.value(names).isMissing ? false : nil
      }
      return GraphTexts.isAmbiguous(text) ? nil : holds(text)
    }
  }
}
