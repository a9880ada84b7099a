import CordialValues
import JSON
import ObjectModel

/// `IN` and `BETWEEN` with a list in the text or as an argument.
extension FetchCompiler {
  /// Compiles a comparison with a list.
  ///
  /// - Parameters:
  ///   - comparison: The comparison.
  ///   - given: Its left side, where that is compiled already; nil otherwise.
  /// - Returns: The condition.
  /// - Throws: `predicateInvalid`.
  mutating func compileList(
    _ comparison: PredicateComparison,
    left given: Value? = nil
  ) throws(StoreError) -> SQLFragment {
    let elements = try elements(of: comparison.right)
    let left: Value
    if let given { left = given } else { left = try subject(comparison.left, beside: elements) }
    // A constant on the left has the type of the elements already.
    let known = left.side.isConstant ? try common(elements) : left.side
    let compiled = try elements.map { element throws(StoreError) in
      let value = try value(element, as: known)
      try check(value.side, against: left.side, element.offset)
      return (value: value, offset: element.offset)
    }
    // One decimal makes all numbers decimals, which SQLite compares as texts.
    let decimal = ([known] + compiled.map(\.value.side)).first { $0.type == .decimal }
    let side = decimal ?? known
    let operands = try zip(elements, compiled).map { element, operand throws(StoreError) in
      let isConstant = operand.value.side.isConstant && decimal != nil
      let value = isConstant ? try value(element, as: side) : operand.value
      let fragment = exact(value, beside: side)
      return try folded(fragment, operand.value.side, comparison, operand.offset)
    }
    let own = try folded(exact(left, beside: side), left.side, comparison, comparison.left.offset)
    let depth = (operands.map(\.depth) + [own.depth]).max().map { $0 + 6 } ?? own.depth
    if comparison.comparison == .between {
      var range = SQLFragment(
        "\(own.sql) BETWEEN \(operands[0].sql) AND \(operands[1].sql)",
        own.values + operands.flatMap(\.values),
        depth: depth
      )
      range.condition = rowCondition(comparison, left, compiled.map(\.value))
      return range
    }
    let list = SQLFragment.joined(operands, separator: ", ")
    var one = SQLFragment("\(own.sql) IN (\(list.sql))", own.values + list.values, depth: depth)
    one.condition = rowCondition(comparison, left, compiled.map(\.value))
    return one
  }

  private func elements(
    of list: PredicateExpression
  ) throws(StoreError) -> [PredicateExpression] {
    switch list.form {
    case .list(let elements): return elements
    case .constant(.array(let values)):
      return values.map { PredicateExpression(form: .constant($0), offset: list.offset) }
    default:
      throw StoreError(PredicateError(offset: list.offset, expected: "a list or a to-many"))
    }
  }

  /// Compiles the left side of a comparison with a list; a constant is decoded as the elements are.
  private mutating func subject(
    _ expression: PredicateExpression,
    beside elements: [PredicateExpression]
  ) throws(StoreError) -> Value {
    guard isUntyped(expression) else { return try value(expression) }
    let side = try common(elements)
    var (fragment, own) = try value(expression, as: side)
    // SQLite takes the collation of IN from its left side.
    if own.isConstant { fragment.sql += Self.collation(side.type) }
    return (fragment, own)
  }

  /// Returns the kind of the values of a list, whose constants have none of their own.
  mutating func common(
    _ elements: [PredicateExpression]
  ) throws(StoreError) -> ComparedSide {
    var side = ComparedSide.constant
    for element in elements where !isUntyped(element) {
      let other = try value(element).side
      side = side.isConstant ? other : Self.common(side, other)
    }
    return side
  }
}
