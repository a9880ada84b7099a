import CordialValues
import JSON
import ObjectModel
import PersistentHistory

/// Conditions as SQL.
extension FetchCompiler {
  /// The maximum number of alternations of AND and OR: SQLite's parser has a stack of 100 entries.
  private static let levelsMax = 20

  /// Compiles a condition.
  mutating func compile(_ predicate: Predicate) throws(StoreError) -> SQLFragment {
    try compile(predicate.normalized(), level: 0)
  }

  /// Compiles a normalized condition.
  ///
  /// Predicates have two truth values and SQL has three. Below a NOT, a comparison with a missing
  /// value must therefore be false, not unknown. Elsewhere unknown has the effect of false, and the
  /// plain comparison can use an index.
  private mutating func compile(
    _ predicate: Predicate,
    level: Int
  ) throws(StoreError) -> SQLFragment {
    switch predicate {
    case .constant(let flag): return SQLFragment(flag ? "1" : "0")
    case .comparison(let comparison): return try compile(comparison)
    case .not(.comparison(let comparison)):
      let fragment = try compile(comparison)
      return SQLFragment(
        "NOT ((\(fragment.sql)) IS TRUE)",
        fragment.values,
        depth: fragment.depth + 3
      )
    case .not(let inner): return try compile(inner.normalized(negated: true), level: level)
    case .and(let terms): return try combine(terms, " AND ", level + 1)
    case .or(let terms): return try combine(terms, " OR ", level + 1)
    }
  }

  private mutating func combine(
    _ terms: [Predicate],
    _ separator: String,
    _ level: Int
  ) throws(StoreError) -> SQLFragment {
    guard level <= Self.levelsMax else {
      throw Self.tooMany("predicateLevels", Self.levelsMax, "levels of AND within OR")
    }
    let fragments = try terms.map { term throws(StoreError) in
      try compile(term, level: level)
    }
    // The parser needs fewer stack entries for the first term.
    let sorted = fragments.sorted { $0.depth > $1.depth }
    let joined = Self.chained(Self.chunked(sorted, separator), separator)
    guard joined.depth <= Self.stackMax else {
      throw Self.tooMany("predicateDepth", Self.stackMax, "entries on the stack of SQLite's parser")
    }
    return joined
  }

  /// The maximum number of entries of a condition on the stack of SQLite's parser, which has 100.
  static let stackMax = 90
  /// The maximum number of conditions in one chain.
  ///
  /// Each condition makes the expression one level deeper, and SQLite accepts at most 1,000 levels.
  private static let rowMax = 32

  /// Returns the deepest condition unchanged, and the others in chains.
  private static func chunked(_ fragments: [SQLFragment], _ separator: String) -> [SQLFragment] {
    guard fragments.count > rowMax, let first = fragments.first else { return fragments }
    let rest = fragments.dropFirst()
    return [first]
      + stride(from: rest.startIndex, to: rest.endIndex, by: rowMax).map {
        chained(Array(rest[$0..<min($0 + rowMax, rest.endIndex)]), separator)
      }
  }

  private static func chained(_ fragments: [SQLFragment], _ separator: String) -> SQLFragment {
    SQLFragment(
      fragments.map { "(\($0.sql))" }.joined(separator: separator),
      fragments.flatMap(\.values),
      depth: fragments.enumerated().map { $1.depth + ($0 == 0 ? 1 : 3) }.max() ?? 0
    )
  }

  // MARK: Comparisons

  private mutating func compile(
    _ comparison: PredicateComparison
  ) throws(StoreError) -> SQLFragment {
    if let (path, variable, rest) = split(comparison.left) {
      return try compile(comparison, over: path, variable, rest)
    }
    guard comparison.modifier == .direct else {
      throw StoreError(
        PredicateError(
          offset: comparison.left.offset,
          expected: "a key path over a to-many after \(comparison.modifier.rawValue.uppercased())"
        )
      )
    }
    if comparison.comparison == .in, let (path, variable, rest) = split(comparison.right) {
      // A to-many contains a value if one of its members has the value.
      return try exists(path, variable, comparison.right.offset) {
        compiler,
        member throws(StoreError) in
        try compiler.compile(
          comparison.rewritten(left: rest.expression(of: member), .equal, comparison.left)
        )
      }
    }
    return try compileDirect(comparison)
  }

  /// Splits a key path after its first to-many; returns nil if it has none.
  private func split(
    _ expression: PredicateExpression
  ) -> (path: [String], variable: String?, rest: PathSuffix)? {
    guard case .keyPath(let names, let variable) = expression.form else { return nil }
    var current = scope(at: scope(of: variable)).entity
    for (index, name) in names.enumerated() {
      guard case .relationship(let relationship)? = current.property(named: name) else {
        return nil
      }
      if relationship.toMany {
        let rest = PathSuffix(names: Array(names[(index + 1)...]), offset: expression.offset)
        return (Array(names[...index]), variable, rest)
      }
      current = model.entity(relationship.destination)
    }
    return nil
  }

  /// Compiles a comparison of the members of a to-many.
  private mutating func compile(
    _ comparison: PredicateComparison,
    over path: [String],
    _ variable: String?,
    _ rest: PathSuffix
  ) throws(StoreError) -> SQLFragment {
    switch (comparison.modifier, comparison.comparison) {
    case (.direct, .contains):
      // A to-many contains an object if one of its members is the object.
      return try exists(path, variable, rest.offset) { compiler, member throws(StoreError) in
        try compiler.compile(
          comparison.rewritten(left: rest.expression(of: member), .equal, comparison.right)
        )
      }
    case (.direct, _):
      throw StoreError(
        PredicateError(
          offset: rest.offset,
          expected: "ANY, ALL or NONE before it, or @count after it: "
            + "\(path.joined(separator: ".")) is a to-many"
        )
      )
    case (.any, _), (.none, _), (.all, _):
      let isAll = comparison.modifier == .all
      let found = try exists(path, variable, rest.offset, negated: isAll) {
        compiler,
        member throws(StoreError) in
        try compiler.compile(
          comparison.rewritten(
            left: rest.expression(of: member),
            comparison.comparison,
            comparison.right
          )
        )
      }
      return comparison.modifier == .any
        ? found : SQLFragment("NOT \(found.sql)", found.values, depth: found.depth + 1)
    }
  }

  /// Returns the condition that a member of a to-many fulfils a condition, or that one does not.
  private mutating func exists(
    _ path: [String],
    _ variable: String?,
    _ offset: Int,
    negated: Bool = false,
    _ condition: (inout FetchCompiler, _ member: String) throws(StoreError) -> SQLFragment
  ) throws(StoreError) -> SQLFragment {
    let (relationship, owner) = try toMany(path, from: variable, offset)
    let destination = model.entity(relationship.destination)
    let member = "member\(path.joined(separator: "."))"
    let (made, joins) = try inScope(destination, member) {
      compiler,
      alias throws(StoreError) -> (condition: SQLFragment, alias: String) in
      (try condition(&compiler, member), alias)
    }
    let (from, link, _) = members(relationship, of: owner, as: made.alias)
    let wanted = negated ? "(\(made.condition.sql)) IS NOT TRUE" : "(\(made.condition.sql))"
    return SQLFragment(
      "EXISTS (SELECT 1 FROM \(from)\(joins) WHERE \(wanted) AND \(link))",
      made.condition.values,
      depth: made.condition.depth + 10
    )
  }

  private mutating func compileDirect(
    _ comparison: PredicateComparison
  ) throws(StoreError) -> SQLFragment {
    let left: Value
    let right: Value
    let takesList = [.in, .between].contains(comparison.comparison)
    if case .constant = comparison.left.form, !takesList {
      right = try value(comparison.right)
      left = try value(comparison.left, as: right.side)
    } else {
      left = try value(comparison.left)
      if takesList { return try compileList(comparison, left) }
      right = try value(comparison.right, as: left.side)
    }
    try check(right.side, against: left.side, comparison.right.offset)
    if let text = try textComparison(comparison, left, right) { return text }
    let sign =
      switch comparison.comparison {
      case .equal: "IS"
      case .notEqual: "IS NOT"
      case .less: "<"
      case .lessOrEqual: "<="
      case .greater: ">"
      default: ">="
      }
    return SQLFragment(
      "\(left.fragment.sql) \(sign) \(right.fragment.sql)",
      left.fragment.values + right.fragment.values,
      depth: max(left.fragment.depth, right.fragment.depth + 2)
    )
  }

  /// Checks that an object is only compared with an object of its entity family.
  private func check(
    _ side: ComparedSide,
    against other: ComparedSide,
    _ offset: Int
  ) throws(StoreError) {
    switch (side, other) {
    case (.constant, _), (_, .constant), (.value, .value), (.value, .json), (.json, .value),
      (.json, .json):
      return
    case (.object(let first), .object(let second))
    where model.isKind(first.number, of: second.number)
      || model.isKind(second.number, of: first.number):
      return
    case (_, .object(let entity)):
      throw StoreError(
        PredicateError(offset: offset, expected: "a \(entity.name); \(side.words)")
      )
    default:
      throw StoreError(PredicateError(offset: offset, expected: "a value; \(side.words)"))
    }
  }

  private mutating func compileList(
    _ comparison: PredicateComparison,
    _ left: Value
  ) throws(StoreError) -> SQLFragment {
    let elements: [PredicateExpression] =
      switch comparison.right.form {
      case .list(let elements): elements
      case .constant(.array(let values)):
        values.map { PredicateExpression(form: .constant($0), offset: comparison.right.offset) }
      default:
        throw StoreError(
          PredicateError(offset: comparison.right.offset, expected: "a list or a to-many")
        )
      }
    let operands = try elements.map { element throws(StoreError) in
      let value = try value(element, as: left.side)
      try check(value.side, against: left.side, element.offset)
      return value.fragment
    }
    let own = left.fragment
    if comparison.comparison == .between {
      return SQLFragment(
        "\(own.sql) BETWEEN \(operands[0].sql) AND \(operands[1].sql)",
        own.values + operands.flatMap(\.values)
      )
    }
    let list = SQLFragment.joined(operands, separator: ", ")
    return SQLFragment("\(own.sql) IN (\(list.sql))", own.values + list.values)
  }

  /// Compiles a comparison that only texts have, or that folds texts; returns nil for any other.
  private func textComparison(
    _ comparison: PredicateComparison,
    _ first: Value,
    _ second: Value
  ) throws(StoreError) -> SQLFragment? {
    var flags = 0
    if comparison.ignoresCase { flags |= 1 }
    if comparison.ignoresDiacritics { flags |= 2 }
    let isTextual = [.contains, .beginsWith, .endsWith, .like, .matches]
      .contains(comparison.comparison)
    guard isTextual || flags != 0 else { return nil }
    guard isTextual || [.equal, .notEqual].contains(comparison.comparison) else {
      throw StoreError(
        PredicateError(offset: comparison.offset, expected: "no options after this comparison")
      )
    }
    for (value, side) in [(first, comparison.left), (second, comparison.right)]
    where !Self.isText(value.side) {
      throw StoreError(
        PredicateError(offset: side.offset, expected: "a string; \(value.side.words)")
      )
    }
    let (left, right) = (first.fragment, second.fragment)
    let (a, b) =
      flags == 0
      ? (left.sql, right.sql)
      : ("cordial_fold(\(left.sql), \(flags))", "cordial_fold(\(right.sql), \(flags))")
    let values = left.values + right.values
    switch comparison.comparison {
    case .contains: return SQLFragment("instr(\(a), \(b)) > 0", values)
    case .beginsWith: return beginsWith(comparison, a, b, (first, second), flags)
    case .endsWith: return SQLFragment("cordial_ends(\(a), \(b))", values)
    case .like: return try like(comparison, a, first, flags)
    case .matches: return try matches(comparison, left, right, flags)
    case .equal: return SQLFragment("\(a) IS \(b)", values)
    default: return SQLFragment("\(a) IS NOT \(b)", values)
    }
  }

  private func pattern(_ comparison: PredicateComparison) throws(StoreError) -> String {
    guard case .constant(.string(let pattern)) = comparison.right.form else {
      throw StoreError(
        PredicateError(offset: comparison.right.offset, expected: "a pattern as a string")
      )
    }
    return pattern
  }

  private func beginsWith(
    _ comparison: PredicateComparison,
    _ a: String,
    _ b: String,
    _ sides: (left: Value, right: Value),
    _ flags: Int
  ) -> SQLFragment {
    let condition = SQLFragment(
      "cordial_begins(\(a), \(b))",
      sides.left.fragment.values + sides.right.fragment.values
    )
    guard case .constant(.string(let prefix)) = comparison.right.form else { return condition }
    return within(Self.range(of: prefix), comparison, sides.left, condition, flags)
  }

  /// Compiles a pattern of `*` and `?`, which must match the whole value.
  private func like(
    _ comparison: PredicateComparison,
    _ subject: String,
    _ left: Value,
    _ flags: Int
  ) throws(StoreError) -> SQLFragment {
    let pattern = WildcardPattern(try pattern(comparison)) { literal in
      flags == 0 ? literal : Folding.fold(literal, flags: Int32(flags))
    }
    let condition = SQLFragment(
      "cordial_like(\(subject), ?)",
      left.fragment.values + [.string(pattern.text)]
    )
    return within(Self.range(of: pattern.prefix), comparison, left, condition, flags)
  }

  /// Returns the range of the texts with a prefix: from the prefix up to the first text after them.
  private static func range(of prefix: String) -> (from: String, to: String)? {
    guard let last = prefix.unicodeScalars.last else { return nil }
    // The greatest scalar has no successor, and the successor of U+D7FF is U+E000.
    let next = last.value == 0xD7FF ? 0xE000 : last.value + 1
    guard let next = Unicode.Scalar(next) else { return nil }
    return (prefix, String(String.UnicodeScalarView(prefix.unicodeScalars.dropLast() + [next])))
  }

  /// Adds a range of texts to a condition on a column, so that SQLite can use an index.
  private func within(
    _ range: (from: String, to: String)?,
    _ comparison: PredicateComparison,
    _ subject: Value,
    _ condition: SQLFragment,
    _ flags: Int
  ) -> SQLFragment {
    guard let range, flags == 0, case .keyPath = comparison.left.form,
      case .value(.string, _) = subject.side
    else { return condition }
    let (sql, values) = (subject.fragment.sql, subject.fragment.values)
    var parts = SQLFragment.joined(
      [
        SQLFragment("\(sql) >= ?", values + [.string(range.from)]),
        SQLFragment("\(sql) < ?", values + [.string(range.to)]), condition,
      ],
      separator: " AND "
    )
    parts.sql = "(\(parts.sql))"
    return parts
  }

  private func matches(
    _ comparison: PredicateComparison,
    _ left: SQLFragment,
    _ right: SQLFragment,
    _ flags: Int
  ) throws(StoreError) -> SQLFragment {
    let pattern = try pattern(comparison)
    do {
      _ = try RegularExpression(pattern, ignoresCase: false)
    } catch {
      throw StoreError(
        PredicateError(
          offset: comparison.right.offset,
          expected: "a regular expression; ICU stops at character \(error.offset) of this one"
        )
      )
    }
    return SQLFragment(
      "cordial_matches(\(left.sql), ?, \(flags)) = 1",
      left.values + [.string(pattern)]
    )
  }
}

/// The part of a key path after a to-many.
private struct PathSuffix {
  let names: [String]
  let offset: Int

  /// Returns this part as a key path of one member, which a variable names.
  func expression(of member: String) -> PredicateExpression {
    PredicateExpression(form: .keyPath(names, variable: member), offset: offset)
  }
}

extension PredicateComparison {
  /// Returns a comparison of other sides with the same options.
  fileprivate func rewritten(
    left: PredicateExpression,
    _ comparison: Operator,
    _ right: PredicateExpression
  ) -> PredicateComparison {
    PredicateComparison(
      left: left,
      comparison: comparison,
      right: right,
      ignoresCase: ignoresCase,
      ignoresDiacritics: ignoresDiacritics,
      offset: offset
    )
  }
}
