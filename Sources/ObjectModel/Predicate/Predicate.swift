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
  }

  package let left: PredicateExpression
  package let comparison: Operator
  package let right: PredicateExpression
  /// `[c]`: case does not matter.
  package let ignoresCase: Bool
  /// `[d]`: accents do not matter.
  package let ignoresDiacritics: Bool
  /// Where the operator stands, in UTF-16 code units.
  package let offset: Int
}

/// One side of a comparison.
package struct PredicateExpression: Sendable, Equatable {
  /// What it is.
  package enum Form: Sendable, Equatable {
    /// A path over to-ones; its last name is an attribute or a to-one.
    case keyPath([String])
    /// The object itself.
    case object
    /// A constant, or what a variable or argument stood for.
    case constant(JSONValue)
    case list([PredicateExpression])
  }

  package let form: Form
  /// Where it stands, in UTF-16 code units.
  package let offset: Int

  package init(form: Form, offset: Int) {
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
