package import JSON

/// A condition on objects, as a syntax tree; two-valued.
package indirect enum Predicate: Sendable, Equatable {
  case constant(Bool)
  case not(Predicate)
  case and([Predicate])
  case or([Predicate])
  case comparison(PredicateComparison)
}

/// Two expressions and how they are compared.
package struct PredicateComparison: Sendable, Equatable {
  /// How two expressions are compared.
  package enum Operator: String, Sendable {
    case equal, notEqual, less, lessOrEqual, greater, greaterOrEqual
    case `in`, between, contains, beginsWith, endsWith
    /// `*` and `?` stand for any characters and for any one.
    case like
    /// A regular expression of ICU's.
    case matches
  }

  /// Of how many members of a to-many on the left it has to be true.
  package enum Modifier: String, Sendable {
    /// There is no to-many.
    case direct
    case any, all, none
  }

  package let left: PredicateExpression
  package let comparison: Operator
  package let right: PredicateExpression
  package let modifier: Modifier
  /// `[c]`: case does not matter.
  package let ignoresCase: Bool
  /// `[d]`: accents do not matter.
  package let ignoresDiacritics: Bool
  /// Where the operator stands, in UTF-16 code units.
  package let offset: Int

  package init(
    left: PredicateExpression,
    comparison: Operator,
    right: PredicateExpression,
    modifier: Modifier = .direct,
    ignoresCase: Bool = false,
    ignoresDiacritics: Bool = false,
    offset: Int
  ) {
    self.left = left
    self.comparison = comparison
    self.right = right
    self.modifier = modifier
    self.ignoresCase = ignoresCase
    self.ignoresDiacritics = ignoresDiacritics
    self.offset = offset
  }
}

/// What one side of a comparison is made of.
package indirect enum PredicateForm: Sendable, Equatable {
  /// A path of properties, from the object itself or from what a variable of `SUBQUERY` stands
  /// for; an empty one is that object.
  case keyPath([String], variable: String?)
  /// A constant, or what a variable or argument stood for.
  case constant(JSONValue)
  case list([PredicateExpression])
  /// `tasks.@sum.priority`: one value of all members of a to-many, or of a group where that is
  /// empty; only a count has no path.
  case aggregate(PredicateAggregate, of: [String], variable: String?, path: [String])
  /// `SUBQUERY(tasks, $t, …).@count`.
  case subqueryCount(of: [String], variable: String?, name: String, Predicate)
  case arithmetic(PredicateArithmetic, PredicateExpression, PredicateExpression)
  case negative(PredicateExpression)
  case function(PredicateFunction, PredicateExpression)
}

/// What is made of the members of a to-many.
package enum PredicateAggregate: String, Sendable, CaseIterable {
  case count, sum, min, max, avg
}

/// An operation on numbers; dates take seconds.
package enum PredicateArithmetic: String, Sendable {
  case add = "+"
  case subtract = "-"
  case multiply = "*"
  case divide = "/"
  case power = "**"
}

/// A function of one value.
package enum PredicateFunction: String, Sendable, CaseIterable {
  case lowercase, uppercase, canonical, length, abs
}

/// One side of a comparison, and where it stands.
package struct PredicateExpression: Sendable, Equatable {
  package let form: PredicateForm
  /// In UTF-16 code units.
  package let offset: Int

  package init(form: PredicateForm, offset: Int) {
    self.form = form
    self.offset = offset
  }
}

/// What the variables or placeholders of a predicate stand for.
package enum PredicateArguments: Sendable, Equatable {
  case none
  /// For `%@` and `%K`, in order.
  case positional([JSONValue])
  /// For `$name`.
  case named([JSONMember])
}

/// A predicate that cannot be read.
package struct PredicateError: Error, Sendable, Equatable {
  /// Where, in UTF-16 code units from the start of the text.
  package let offset: Int
  /// What could have stood there.
  package let expected: String

  package init(offset: Int, expected: String) {
    self.offset = offset
    self.expected = expected
  }

  /// One sentence.
  package var message: String {
    "The predicate cannot be read at \(offset): expected \(expected)"
  }
}

extension Predicate {
  /// The same predicate with NOT at comparisons only, and nothing but OR within AND and AND within
  /// OR.
  ///
  /// - Parameter negated: Whether to answer its opposite.
  /// - Returns: The predicate.
  /// - Complexity: Linear in its size, but for terms that are lifted through several levels.
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
