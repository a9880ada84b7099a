import Foundation
import JSON
import TestSeeds

extension GraphGenerator {
  /// A condition on numbers.
  mutating func numbers(_ scope: Scope, _ levels: Int) -> GraphCondition {
    let left = number(scope, levels)
    switch random.below(6) {
    case 0:
      let elements = (0..<2).map { _ in numberConstant(beside: left) }
      return constants(left, elements, isRange: true)
    case 1:
      let elements = (0..<1 + random.below(4)).map { _ in numberConstant(beside: left) }
      return constants(left, elements, isRange: false)
    case 2, 3:
      return comparison(left, number(scope, levels))
    default:
      let (constant, value) = numberConstant(beside: left)
      let right = GraphExpression(phrase: GraphPhrase(constant)) { _ in value }
      return random.oneIn(4) ? comparison(right, left) : comparison(left, right)
    }
  }

  /// A constant that compares with an expression.
  mutating func numberConstant(
    beside other: GraphExpression
  ) -> (constant: GraphConstant, value: GraphValue) {
    guard other.isDecimal && random.oneIn(2) else {
      // A decimal or a float may be anywhere in what is compared.
      return numberConstant()
    }
    let text = random.pick(GraphSamples.decimals)
    return (
      GraphConstant(literal: "'\(text)'", wire: .string(text), placeholders: ["%s"]),
      GraphDecimal(text).map { .decimal($0) } ?? .open
    )
  }

  /// A constant, which may be beyond the range of a float or the digits of a decimal.
  mutating func numberConstant() -> (constant: GraphConstant, value: GraphValue) {
    if random.oneIn(4) {
      let number = random.pick(GraphSamples.doubles)
      // Zero and whole numbers have a point in the text, so that they are no integers.
      return (
        GraphConstant(
          literal: number.magnitude < 1e16 ? number.description : nil,
          wire: .number(number),
          placeholders: ["%f", "%lf", "%g"]
        ),
        .double(number)
      )
    }
    let number = random.pick(
      random.oneIn(6) ? GraphSamples.largeIntegers : GraphSamples.integers
    )
    return (
      GraphConstant(
        // A minus sign is an operator, and the number behind it has to be one of 64 bits.
        literal: number == .min ? nil : "\(number)",
        wire: .integer(number),
        placeholders: ["%d", "%ld", "%lld", "%i"]
      ),
      .integer(number)
    )
  }

  // MARK: Expressions

  mutating func number(_ scope: Scope, _ levels: Int) -> GraphExpression {
    switch random.below(levels > 0 ? 15 : 4) {
    case 0, 1, 2: return attribute(scope, [.integer, .double, .decimal])
    case 3:
      let (constant, value) = numberConstant()
      return GraphExpression(phrase: GraphPhrase(constant)) { _ in value }
    case 4, 5: return arithmetic(scope, levels)
    case 6: return bits(scope)
    case 7, 8: return function(scope, levels)
    case 9: return cast(scope, levels)
    case 10: return choice(scope, levels, number(scope, levels - 1), number(scope, levels - 1))
    default: return aggregate(scope, levels)
    }
  }

  private mutating func arithmetic(_ scope: Scope, _ levels: Int) -> GraphExpression {
    let (left, right) = (number(scope, levels - 1), number(scope, levels - 1))
    let sign = random.pick(["+", "-", "*", "/", "modulus", "**"])
    let names = [
      "+": "add:to:", "-": "from:subtract:", "*": "multiply:by:", "/": "divide:by:",
      "modulus": "modulus:by:", "**": "raise:toPower:",
    ]
    let phrase: GraphPhrase =
      sign == "modulus" || random.oneIn(3)
      ? "\(names[sign] ?? "")(\(left.phrase), \(right.phrase))"
      : "(\(left.phrase) \(sign) \(right.phrase))"
    let isDecimal = (left.isDecimal || right.isDecimal) && !["modulus", "**"].contains(sign)
    return GraphExpression(phrase: phrase, isDecimal: isDecimal) {
      GraphArithmetic.calculate(left.value($0), sign, right.value($0))
    }
  }

  /// An operation on the bits of integers.
  private mutating func bits(_ scope: Scope) -> GraphExpression {
    let left = attribute(scope, [.integer])
    if random.oneIn(5) {
      let phrase: GraphPhrase =
        random.oneIn(2) ? "~\(left.phrase)" : "onesComplement:(\(left.phrase))"
      return GraphExpression(phrase: phrase) {
        let value = left.value($0)
        return if case .integer(let number) = value { .integer(~number) } else { value }
      }
    }
    let right = random.oneIn(2) ? attribute(scope, [.integer]) : smallInteger()
    let sign = random.pick(["&", "|", "^", "<<", ">>"])
    let names = [
      "&": "bitwiseAnd:with:", "|": "bitwiseOr:with:", "^": "bitwiseXor:with:",
      "<<": "leftshift:by:", ">>": "rightshift:by:",
    ]
    let phrase: GraphPhrase =
      random.oneIn(2)
      ? "(\(left.phrase) \(sign) \(right.phrase))"
      : "\(names[sign] ?? "")(\(left.phrase), \(right.phrase))"
    return GraphExpression(phrase: phrase) {
      GraphArithmetic.bits(left.value($0), sign, right.value($0))
    }
  }

  private mutating func smallInteger() -> GraphExpression {
    let number = Int64(random.below(8))
    let constant = GraphConstant(literal: "\(number)", wire: .integer(number))
    return GraphExpression(phrase: GraphPhrase(constant)) { _ in .integer(number) }
  }

  private mutating func function(_ scope: Scope, _ levels: Int) -> GraphExpression {
    if random.oneIn(6) {
      let text = text(scope, levels - 1)
      return GraphExpression(phrase: "length:(\(text.phrase))") { names in
        switch text.value(names) {
        case .text(let text):
          // Whether a character beyond 16 bits counts as one is open.
          GraphTexts.isAmbiguous(text) ? .open : .integer(Int64(text.unicodeScalars.count))
        case .missing: .missing
        default: .open
        }
      }
    }
    let inner = number(scope, levels - 1)
    let name = random.pick(["-", "abs", "sqrt", "log", "ln", "exp", "floor", "ceiling", "trunc"])
    let phrase: GraphPhrase =
      name == "-" ? "-(\(inner.phrase))" : "\(name):(\(inner.phrase))"
    let isDecimal = inner.isDecimal && ["-", "abs"].contains(name)
    return GraphExpression(phrase: phrase, isDecimal: isDecimal) {
      GraphArithmetic.function(name, inner.value($0))
    }
  }

  private mutating func cast(_ scope: Scope, _ levels: Int) -> GraphExpression {
    switch random.below(5) {
    case 4:
      let inner = attribute(scope, [.text])
      return GraphExpression(phrase: "CAST(\(inner.phrase), 'NSDecimalNumber')", isDecimal: true) {
        names in
        switch inner.value(names) {
        case .text(let text):
          guard text.wholeMatch(of: /-?[0-9]+(\.[0-9]+)?/) != nil else {
            return text.contains("\0") ? .open : .missing
          }
          return GraphDecimal(text).map { .decimal($0) } ?? .open
        case let value: return value
        }
      }
    case 0:
      let inner = number(scope, levels - 1)
      return GraphExpression(
        phrase: "CAST(\(inner.phrase), 'NSDecimalNumber')",
        isDecimal: true
      ) { names in
        let value = inner.value(names)
        switch value {
        case .integer, .double, .decimal:
          // Whether a number of more digits fails or is rounded is open.
          guard let decimal = value.decimal, decimal.isShort else { return .open }
          return .decimal(decimal)
        case .missing: return .missing
        default: return .open
        }
      }
    case 1:
      let inner = text(scope, levels - 1)
      return GraphExpression(phrase: "CAST(\(inner.phrase), 'NSNumber')") { names in
        switch inner.value(names) {
        case .text(let text):
          guard text.wholeMatch(of: /-?[0-9]+(\.[0-9]+)?/) != nil else {
            return text.contains("\0") ? .open : .missing
          }
          return Double(text).map { .untyped($0) } ?? .open
        case .missing: return .missing
        default: return .open
        }
      }
    case 2:
      let inner = date(scope, levels - 1)
      return GraphExpression(phrase: "CAST(\(inner.phrase), 'NSNumber')") { names in
        switch inner.value(names) {
        case .date(let time):
          // The nearest number of the seconds; how the milliseconds divide is open.
          let seconds = Double(time - GraphDates.reference) / 1000
          return .near(seconds, within: abs(seconds) * 1e-14)
        case .missing: return .missing
        default: return .open
        }
      }
    default:
      let inner = attribute(scope, [.flag])
      return GraphExpression(phrase: "CAST(\(inner.phrase), 'NSNumber')") { names in
        switch inner.value(names) {
        case .flag(let flag): .integer(flag ? 1 : 0)
        case let value: value
        }
      }
    }
  }
}
