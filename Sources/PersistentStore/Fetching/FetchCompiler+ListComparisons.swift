import CordialValues
import JSON
import ObjectModel
import SQLite
import StoreLayout

/// `IN` and `BETWEEN` with a list from the predicate's text or from an argument.
extension FetchCompiler {
  /// Compiles a comparison with a list.
  ///
  /// - Parameters:
  ///   - comparison: The comparison.
  ///   - given: The compiled left side; nil if this function must compile the left side.
  /// - Returns: The condition.
  /// - Throws: `predicateInvalid`.
  mutating func compileList(
    _ comparison: PredicateComparison,
    left given: Value? = nil
  ) throws(StoreError) -> SQLFragment {
    if let list = try compileLongList(comparison, left: given) { return list }
    let elements = try elements(of: comparison.right)
    var typed = try typedValues(elements)
    // A constant on the left gets the type of the elements. Otherwise, constants on the right get
    // the type of the left side.
    let left: Value
    if let given {
      left = given
    } else if isUntyped(comparison.left) {
      left = try subject(comparison.left, beside: typed)
    } else {
      left = try value(comparison.left)
    }
    if !left.side.isConstant { typed.side = (left.side, false) }
    let known = typed.side.side
    let compiled = try zip(elements, typed.values).map { element, own throws(StoreError) in
      let value = if let own { own } else { try self.value(element, among: typed.side) }
      try check(value.side, against: left.side, element.offset)
      return (value: value, offset: element.offset)
    }
    // If any value is a decimal, all numbers must become decimals, because SQLite compares decimals
    // as texts.
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

  // MARK: Long lists

  /// The minimum number of elements for which a list becomes one argument of the statement.
  ///
  /// With a shorter list, SQLite makes a better plan if the SQL shows the number of elements.
  private static let longListMin = 64
  /// The maximum number of elements of a list that an observed fetch compares with a changed row in
  /// memory.
  ///
  /// The condition for the row keeps a copy of the list.
  private static let rowListMax = 10_000

  /// Compiles membership in a long list of constants, after converting each element.
  ///
  /// - Parameters:
  ///   - comparison: The comparison.
  ///   - given: The compiled left side; nil if this function must compile the left side.
  /// - Returns: The condition; nil for any other comparison. Also nil if a side or an element is
  ///   not a plain value. Decimals, and objects that are named by their identity values, are not
  ///   plain values.
  /// - Throws: `predicateInvalid`.
  private mutating func compileLongList(
    _ comparison: PredicateComparison,
    left given: Value?
  ) throws(StoreError) -> SQLFragment? {
    let options = comparison.options
    guard comparison.comparison == .in, !options.contains(.localized),
      case .constant(.array(let elements)) = comparison.right.form,
      elements.count >= Self.longListMin, !isUntyped(comparison.left)
    else { return nil }
    let left = if let given { given } else { try value(comparison.left) }
    guard !left.side.isConstant, left.side.type != .decimal else { return nil }
    let own = try folded(left.fragment, left.side, comparison, comparison.left.offset)
    let flags = Int32(options.rawValue)
    var list = ValueList()
    var kept: [Value] = []
    for element in elements {
      let offset = comparison.right.offset
      let expression = PredicateExpression(form: .constant(element), offset: offset)
      let value = try value(expression, as: left.side)
      try check(value.side, against: left.side, offset)
      guard let bound = Self.boundValue(value) else { return nil }
      if flags == 0 {
        list.append(bound)
      } else if case .string(let text) = bound {
        list.append(Folding.fold(text, flags: flags))
      } else {
        return nil
      }
      if elements.count <= Self.rowListMax { kept.append(value) }
    }
    var one = SQLFragment(
      "\(own.sql) IN cordial_values(?)",
      own.values + [.binary(list.bytes)],
      depth: own.depth + 6
    )
    if !kept.isEmpty { one.condition = rowCondition(comparison, left, kept) }
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

  /// Compiles a constant on the left of a list, with the type of the elements.
  private mutating func subject(
    _ expression: PredicateExpression,
    beside list: TypedList
  ) throws(StoreError) -> Value {
    var (fragment, side) = try value(expression, among: list.side)
    // SQLite takes the collation of IN from its left side.
    if side.isConstant { fragment.sql += Self.collation(list.side.side.type) }
    return (fragment, side)
  }

  // MARK: Typed elements

  /// The kind of the values in a list, and whether the values are of several types.
  typealias ListSide = (side: ComparedSide, isMixed: Bool)

  /// The compiled elements of a list, with nil for each element without its own type, and the kind
  /// of the elements.
  typealias TypedList = (values: [Value?], side: ListSide)

  /// Compiles the elements of a list that have their own type.
  ///
  /// Each element is compiled only once. Otherwise, each level of nested lists would double the
  /// work.
  mutating func typedValues(_ elements: [PredicateExpression]) throws(StoreError) -> TypedList {
    var list: TypedList = ([], (.constant, false))
    for element in elements {
      let value = isUntyped(element) ? nil : try value(element)
      list.values.append(value)
      guard let side = value?.side else { continue }
      if list.side.side.isConstant {
        list.side.side = side
      } else {
        list.side.isMixed = list.side.isMixed || list.side.side.type != side.type
        list.side.side = Self.common(list.side.side, side)
      }
    }
    return list
  }

  /// Compiles a value that is compared with the values of a list.
  ///
  /// If the list has numbers of several types, a constant number keeps its own type, which
  /// represents it exactly.
  mutating func value(
    _ expression: PredicateExpression,
    among others: ListSide
  ) throws(StoreError) -> Value {
    guard others.isMixed, others.side.type?.isNumber == true, Self.isNumber(expression) else {
      return try value(expression, as: others.side)
    }
    return try value(expression)
  }

  private static func isNumber(_ expression: PredicateExpression) -> Bool {
    switch expression.form {
    case .constant(.integer), .constant(.number): true
    default: false
    }
  }
}
