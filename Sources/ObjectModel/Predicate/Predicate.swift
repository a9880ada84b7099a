package import JSON

/// A condition on objects, as a syntax tree; every condition is either true or false.
package indirect enum Predicate: Sendable, Equatable {
  case constant(Bool)
  case not(Predicate)
  case and([Predicate])
  case or([Predicate])
  case comparison(PredicateComparison)

  /// The comparisons, in the order of the text, without those of subqueries.
  package var comparisons: [PredicateComparison] {
    switch self {
    case .constant: []
    case .not(let inner): inner.comparisons
    case .and(let terms), .or(let terms): terms.flatMap(\.comparisons)
    case .comparison(let comparison): [comparison]
    }
  }
}

/// A comparison of two expressions.
package struct PredicateComparison: Sendable, Equatable {
  /// The operator of a comparison.
  package enum Operator: String, Sendable {
    case equal, notEqual, less, lessOrEqual, greater, greaterOrEqual
    /// Equality with an element of a collection. A missing value is not an element of a collection.
    case element
    case `in`, between, contains, beginsWith, endsWith
    /// A pattern in which `*` matches any characters and `?` exactly one.
    case like
    /// An ICU regular expression.
    case matches
  }

  /// The quantifier of a comparison over the members of a to-many on the left.
  package enum Modifier: String, Sendable {
    /// The left side has no to-many.
    case direct
    case any, all, none
  }

  package let left: PredicateExpression
  package let comparison: Operator
  package let right: PredicateExpression
  package let modifier: Modifier
  package let options: PredicateOptions
  /// The offset of the operator in the text, in UTF-16 code units.
  package let offset: Int
  /// The offsets of the comparison in the text, in UTF-8 code units; empty for a part of a longer
  /// comparison.
  package let source: Range<Int>

  package init(
    left: PredicateExpression,
    comparison: Operator,
    right: PredicateExpression,
    modifier: Modifier = .direct,
    options: PredicateOptions = [],
    offset: Int,
    source: Range<Int> = 0..<0
  ) {
    self.left = left
    self.comparison = comparison
    self.right = right
    self.modifier = modifier
    self.options = options
    self.offset = offset
    self.source = source
  }
}

/// The options of a comparison of texts.
package struct PredicateOptions: OptionSet, Sendable {
  package let rawValue: Int

  package init(rawValue: Int) { self.rawValue = rawValue }

  /// `[c]`: case does not matter.
  package static let ignoresCase = PredicateOptions(rawValue: 1)
  /// `[d]`: accents do not matter.
  package static let ignoresDiacritics = PredicateOptions(rawValue: 2)
  /// `[l]`: values compare by ICU's root collation.
  package static let localized = PredicateOptions(rawValue: 4)
}

/// The form of an expression on one side of a comparison.
package indirect enum PredicateForm: Sendable, Equatable {
  /// A path of properties from the object itself, or from the object of a `SUBQUERY` variable.
  ///
  /// An empty path refers to that object.
  case keyPath([String], variable: String?)
  /// A constant, or the value of a variable or argument.
  case constant(JSONValue)
  case list([PredicateExpression])
  /// `tasks.@sum.priority`: one value that is computed from all members of a to-many.
  ///
  /// If `of` is empty, the value is computed from a group. Only a count has no path.
  case aggregate(PredicateAggregate, of: [String], variable: String?, path: [String])
  /// `median:(tasks.priority)`: one value that is computed from any collection.
  ///
  /// With a path, the value is computed from the values at the path of each element, as in
  /// `SUBQUERY(tasks, $t, …).@sum.priority`.
  case statistic(PredicateStatistic, PredicateExpression, path: [String] = [])
  /// `SUBQUERY(tasks, $t, …)`: the members of a collection of objects that satisfy a condition.
  case subquery(of: PredicateExpression, name: String, Predicate)
  /// `tasks[FIRST].title`: a path from the result of another expression.
  case path(PredicateExpression, [String])
  /// `tasks[FIRST]`: one element of a collection.
  case element(PredicateExpression, PredicateIndex)
  case set(PredicateSetOperation, PredicateExpression, PredicateExpression)
  /// `tasks.@distinctUnionOfObjects.title`: a collection without repeated values.
  case distinct(PredicateExpression)
  case arithmetic(PredicateArithmetic, PredicateExpression, PredicateExpression)
  case negative(PredicateExpression)
  case function(PredicateFunction, PredicateExpression)
  /// `CAST(x, 'NSDate')`: the value as another type.
  case cast(PredicateExpression, PredicateCast)
  /// `TERNARY(p, a, b)`: `a` if the condition `p` is true, else `b`.
  case ternary(Predicate, PredicateExpression, PredicateExpression)
  /// `now()`: the time at which the request is evaluated.
  case now
  /// `random()`, a number from 0 up to 1; or `random:(n)`, an integer from 0 up to n.
  case random(PredicateExpression?)
}

/// A function that computes one value from the members of a to-many.
package enum PredicateAggregate: String, Sendable, CaseIterable {
  case count, sum, min, max, avg
}

/// A function that computes one value from a collection.
package enum PredicateStatistic: String, Sendable, CaseIterable {
  case count, sum, min, max, average, median, stddev, mode

  package init(_ aggregate: PredicateAggregate) {
    self =
      switch aggregate {
      case .count: .count
      case .sum: .sum
      case .min: .min
      case .max: .max
      case .avg: .average
      }
  }
}

/// The index of an element of a collection.
package enum PredicateIndex: Sendable, Equatable {
  case first, last
  /// An index from 0.
  case at(Int)
}

/// An operation on two collections without repeated values.
package enum PredicateSetOperation: String, Sendable {
  case union = "UNION"
  case intersect = "INTERSECT"
  case minus = "MINUS"
}

/// A type to which `CAST` converts, by its name in Foundation.
package enum PredicateCast: String, Sendable, CaseIterable {
  case date = "NSDate"
  case number = "NSNumber"
  case string = "NSString"
  case decimal = "NSDecimalNumber"
}

/// An arithmetic operation on numbers, or on a date and seconds.
package enum PredicateArithmetic: String, Sendable {
  case add = "+"
  case subtract = "-"
  case multiply = "*"
  case divide = "/"
  case power = "**"
  /// `modulus:by:`, the remainder of a division; the remainder has the sign of the dividend.
  case remainder = "%"
  case bitAnd = "&"
  case bitOr = "|"
  case bitXor = "^"
  case shiftLeft = "<<"
  case shiftRight = ">>"

  /// Whether the operation is on the bits of integers.
  package var isBitwise: Bool {
    switch self {
    case .bitAnd, .bitOr, .bitXor, .shiftLeft, .shiftRight: true
    case .add, .subtract, .multiply, .divide, .power, .remainder: false
    }
  }
}

/// A function of one value.
package enum PredicateFunction: String, Sendable, CaseIterable {
  case lowercase, uppercase, canonical, length
  case abs, sqrt, log, ln, exp, floor, ceiling, trunc, onesComplement
}

/// One side of a comparison, with its offset in the text.
package struct PredicateExpression: Sendable, Equatable {
  package let form: PredicateForm
  /// The offset in the text, in UTF-16 code units.
  package let offset: Int

  package init(form: PredicateForm, offset: Int) {
    self.form = form
    self.offset = offset
  }
}

/// The values of a predicate's variables or placeholders.
package enum PredicateArguments: Sendable, Equatable {
  case none
  /// The values of `%@` and `%K`, in order.
  case positional([JSONValue])
  /// The values of variables like `$name`.
  case named([JSONMember])
}

/// The error of a predicate that cannot be parsed.
package struct PredicateError: Error, Sendable, Equatable {
  /// The offset of the fault, in UTF-16 code units from the start of the text.
  package let offset: Int
  /// A description of the text that was expected there.
  package let expected: String
  /// Whether the fault is in the argument of a placeholder, and not in the text.
  package let isOfArgument: Bool

  package init(offset: Int, expected: String, isOfArgument: Bool = false) {
    self.offset = offset
    self.expected = expected
    self.isOfArgument = isOfArgument
  }

  /// The message, which is one sentence.
  package var message: String {
    "The predicate cannot be read at \(offset): expected \(expected)"
  }
}

extension Predicate {
  /// Returns an equivalent predicate with NOT at comparisons only, and with AND and OR alternating.
  ///
  /// - Parameter negated: Whether to return the opposite.
  /// - Returns: The predicate.
  /// - Complexity: Linear in the predicate's size, except for terms that move up several levels.
  package func normalized(negated: Bool = false) -> Predicate {
    switch self {
    case .constant(let flag): return .constant(flag != negated)
    case .comparison: return negated ? .not(self) : self
    case .not(let inner): return inner.normalized(negated: !negated)
    case .and(let terms): return Self.joined(terms, negated: negated, asOr: negated)
    case .or(let terms): return Self.joined(terms, negated: negated, asOr: !negated)
    }
  }

  private static func joined(_ terms: [Predicate], negated: Bool, asOr: Bool) -> Predicate {
    let flat = terms.flatMap { term -> [Predicate] in
      switch (term.normalized(negated: negated), asOr) {
      case (.and(let inner), false), (.or(let inner), true): inner
      case (let other, _): [other]
      }
    }
    return asOr ? .or(flat) : .and(flat)
  }
}
