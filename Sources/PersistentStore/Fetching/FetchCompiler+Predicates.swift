import CordialValues
import JSON
import ObjectModel
import PersistentHistory
import SQLite
import StoreLayout

/// Conditions as SQL.
extension FetchCompiler {
  /// Compiles a condition.
  mutating func compile(_ predicate: Predicate) throws(StoreError) -> SQLFragment {
    let normalized = predicate.normalized()
    return try inParts { compiler throws(StoreError) in try compiler.compileWhole(normalized) }
  }

  /// Compiles a normalized condition.
  ///
  /// Predicates have two truth values and SQL has three. Below a NOT, a comparison with a missing
  /// value must therefore be false, not unknown. Elsewhere unknown has the effect of false, and the
  /// plain comparison can use an index.
  private mutating func compileWhole(_ predicate: Predicate) throws(StoreError) -> SQLFragment {
    switch predicate {
    case .constant(let flag):
      var fragment = SQLFragment(flag ? "1" : "0")
      fragment.condition = .constant(flag)
      return fragment
    case .comparison(let comparison): return try compile(comparison)
    case .not(.comparison(let comparison)):
      let fragment = try compile(comparison)
      var negated = SQLFragment(
        "NOT ((\(fragment.sql)) IS TRUE)",
        fragment.values,
        depth: fragment.depth + 3
      )
      if !fragment.condition.isUnknown { negated.condition = .not(fragment.condition) }
      return negated
    case .not(let inner): return try compileWhole(inner.normalized(negated: true))
    case .and(let terms): return try combine(terms, " AND ")
    case .or(let terms): return try combine(terms, " OR ")
    }
  }

  private mutating func combine(
    _ terms: [Predicate],
    _ separator: String
  ) throws(StoreError) -> SQLFragment {
    let fragments = try terms.map { term throws(StoreError) in
      asPart(try compileWhole(term))
    }
    // SQLite's parser needs the fewest stack entries if the deepest condition comes first.
    let sorted = fragments.sorted { $0.depth > $1.depth }
    var joined = Self.chained(Self.chunked(sorted, separator), separator)
    let conditions = fragments.map(\.condition)
    joined.condition = separator == " AND " ? .all(conditions) : .any(conditions)
    guard joined.depth <= Self.stackMax else {
      throw Self.tooDeep
    }
    return joined
  }

  /// The maximum number of conditions in one chain of AND or OR.
  ///
  /// Each condition makes the expression one level deeper, and SQLite accepts at most 1,000 levels.
  private static let rowMax = 32

  /// Returns the deepest condition unchanged, and the remaining conditions in chains.
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
    if let members = nullMembers(comparison) { return try compileWhole(members) }
    if isCollection(comparison.left), comparison.modifier != .direct {
      let isAll = comparison.modifier == .all
      let found = try exists(
        comparison.left,
        comparison.rewritten(left: comparison.left, comparison.comparison, comparison.right),
        negated: isAll
      )
      return comparison.modifier == .any
        ? found : SQLFragment("NOT \(found.sql)", found.values, depth: found.depth + 1)
    }
    guard comparison.modifier == .direct else {
      // ANY, ALL and NONE treat a single value as a collection of this value.
      let direct = Predicate.comparison(comparison.direct)
      return try compile(comparison.modifier == .none ? .not(direct) : direct)
    }
    if comparison.comparison == .in, let (path, variable, rest) = split(comparison.right) {
      // A to-many contains a value if one of its members has the value.
      return try exists(path, variable, comparison.right.offset) {
        compiler,
        member throws(StoreError) in
        let element = rest.expression(of: member)
        return try compiler.compile(
          compiler.rewritten(comparison, element, .element, comparison.left, .any)
        )
      }
    }
    if comparison.comparison == .in, !comparison.right.form.isList, isCollection(comparison.right) {
      return try exists(
        comparison.right,
        comparison.rewritten(left: comparison.right, .element, comparison.left)
      )
    }
    if comparison.comparison == .in, isText(comparison.right) {
      // `part IN text` is the same condition as `text CONTAINS part`.
      return try compile(
        comparison.rewritten(left: comparison.right, .contains, comparison.left)
      )
    }
    if comparison.comparison == .contains, isCollection(comparison.left) {
      let found = try exists(
        comparison.left,
        comparison.rewritten(left: comparison.left, .element, comparison.right)
      )
      guard case .keyPath = comparison.left.form else { return found }
      // The value in a json attribute may be a list or a text. CONTAINS never searches the JSON
      // text of a list.
      let part = try compileDirect(comparison, left: try textInJSON(comparison.left))
      return SQLFragment(
        "(\(found.sql) OR \(part.sql))",
        found.values + part.values,
        depth: max(found.depth, part.depth) + 3
      )
    }
    return try compileDirect(comparison)
  }

  /// Returns whether an expression may be one text: a string constant, a computed value, or a path
  /// to an attribute with texts.
  private func isText(_ expression: PredicateExpression) -> Bool {
    switch expression.form {
    case .function, .ternary, .cast, .element, .path: return !isCollection(expression)
    case .constant(.string): return true
    default: break
    }
    guard case .keyPath(let names, let variable) = expression.form else { return false }
    if names.suffix(2) == ["entity", "name"] { return true }
    let steps = model.steps(of: names, from: scope(at: scope(of: variable)).entity)
    return steps.last?.end == names.count && steps.attribute?.type.codec.isText == true
  }

  /// Compiles the text in a json attribute, or at a path inside it; the SQL gives null for a value
  /// of any other JSON type.
  private mutating func textInJSON(_ expression: PredicateExpression) throws(StoreError) -> Value {
    guard case .keyPath(let names, let variable) = expression.form else {
      return try value(expression)
    }
    let end = try resolve(names, from: variable)
    let column = column(end.alias, end.property.name)
    let path = SQLNames.literal(Self.jsonPath(end.inside))
    let fragment = SQLFragment(
      "(CASE WHEN json_valid(\(column)) AND json_type(\(column), \(path)) = 'text' "
        + "THEN \(jsonValue(end, asText: false)) END)",
      depth: 6
    )
    return (fragment, .json)
  }

  /// Returns a comparison of a member's path, with a modifier if the path contains a further
  /// to-many.
  private func rewritten(
    _ comparison: PredicateComparison,
    _ left: PredicateExpression,
    _ sign: PredicateComparison.Operator,
    _ right: PredicateExpression,
    _ modifier: PredicateComparison.Modifier
  ) -> PredicateComparison {
    comparison.rewritten(left: left, sign, right, isCollection(left) ? modifier : .direct)
  }

  /// Splits a key path after its first to-many; returns nil if it has none.
  func split(
    _ expression: PredicateExpression
  ) -> (path: [String], variable: String?, rest: PathSuffix)? {
    guard case .keyPath(let names, let variable) = expression.form else { return nil }
    let steps = model.steps(of: names, from: scope(at: scope(of: variable)).entity)
    guard let toMany = steps.first(where: \.isToMany) else { return nil }
    let rest = PathSuffix(names: Array(names[toMany.end...]), offset: expression.offset)
    return (Array(names[..<toMany.end]), variable, rest)
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
          compiler.rewritten(
            comparison,
            rest.expression(of: member),
            .element,
            comparison.right,
            .any
          )
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
          compiler.rewritten(
            comparison,
            rest.expression(of: member),
            comparison.comparison,
            comparison.right,
            isAll ? .all : .any
          )
        )
      }
      return comparison.modifier == .any
        ? found : SQLFragment("NOT \(found.sql)", found.values, depth: found.depth + 1)
    }
  }

  /// Compiles the condition that some member of a to-many fulfils a condition or, if `negated`,
  /// that some member does not.
  private mutating func exists(
    _ path: [String],
    _ variable: String?,
    _ offset: Int,
    negated: Bool = false,
    _ condition: (inout FetchCompiler, _ member: String) throws(StoreError) -> SQLFragment
  ) throws(StoreError) -> SQLFragment {
    let (relationship, owner, origin) = try toMany(path, from: variable, offset)
    let destination = model.entity(relationship.destination)
    // No variable of a request has a space in its name.
    let member = "member \(path.joined(separator: "."))"
    let (made, joins) = try inScope(destination, member, at: origin) {
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
    if [.in, .between].contains(comparison.comparison) { return try compileList(comparison) }
    guard isUntyped(comparison.left), !isUntyped(comparison.right) else {
      return try compileDirect(comparison, left: try value(comparison.left))
    }
    let right = try value(comparison.right)
    let left = try value(comparison.left, as: comparand(of: right.side, comparison))
    return try compare(comparison, left, right)
  }

  /// Compiles a comparison whose left side is compiled already.
  mutating func compileDirect(
    _ comparison: PredicateComparison,
    left: Value
  ) throws(StoreError) -> SQLFragment {
    if [.in, .between].contains(comparison.comparison) {
      return try compileList(comparison, left: left)
    }
    let right = try value(comparison.right, as: comparand(of: left.side, comparison))
    return try compare(comparison, left, right)
  }

  /// Returns the side that determines how a constant beside a value is decoded.
  ///
  /// A text operator compares only a part of a URI. The constant beside a URI is then decoded as a
  /// string, because a part of a URI need not be a valid URI.
  private func comparand(of side: ComparedSide, _ comparison: PredicateComparison) -> ComparedSide {
    let isPart = Self.textOperators.contains(comparison.comparison)
    return isPart && side.type == .uri ? .value(.string, name: nil) : side
  }

  static let textOperators: Set<PredicateComparison.Operator> = [
    .contains, .beginsWith, .endsWith, .like, .matches,
  ]

  func compare(
    _ comparison: PredicateComparison,
    _ left: Value,
    _ right: Value
  ) throws(StoreError) -> SQLFragment {
    try check(right.side, against: left.side, comparison.right.offset)
    if var text = try textComparison(comparison, left, right) {
      text.depth = max(text.depth, left.fragment.depth + 6, right.fragment.depth + 6)
      text.condition = rowCondition(comparison, left, right)
      return text
    }
    let first = plain(exact(left, beside: right.side), left.side, beside: right.side)
    let second = plain(exact(right, beside: left.side), right.side, beside: left.side)
    var fragment = SQLFragment(
      "\(first.sql) \(Self.sign(comparison.comparison)) \(second.sql)",
      first.values + second.values,
      depth: max(first.depth, second.depth + 2)
    )
    fragment.condition = rowCondition(comparison, left, right)
    return fragment
  }

  /// Returns a number without the affinity of its column if the other side is a value in JSON.
  ///
  /// With the affinity, SQLite would convert a JSON text to a number before the comparison.
  private func plain(
    _ fragment: SQLFragment,
    _ side: ComparedSide,
    beside other: ComparedSide
  ) -> SQLFragment {
    guard case .json = other, side.type?.isNumber == true else { return fragment }
    return SQLFragment("(+\(fragment.sql))", fragment.values, depth: fragment.depth + 2)
  }

  static func sign(_ comparison: PredicateComparison.Operator) -> String {
    switch comparison {
    case .equal: "IS"
    case .element: "="
    case .notEqual: "IS NOT"
    case .less: "<"
    case .lessOrEqual: "<="
    case .greater: ">"
    default: ">="
    }
  }

  /// Returns a number as a decimal if the other side is a decimal, so that both compare exactly.
  func exact(_ value: Value, beside other: ComparedSide) -> SQLFragment {
    guard other.type == .decimal, value.side.type?.isNumber == true else { return value.fragment }
    return SQLFragment(
      "cordial_comparable(\(value.fragment.sql))\(Self.collation(.decimal))",
      value.fragment.values,
      depth: value.fragment.depth + 4
    )
  }

  /// Checks that an object is only compared with an object of its entity family.
  func check(
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
}

/// The part of a key path after a to-many.
struct PathSuffix {
  let names: [String]
  let offset: Int

  /// Returns this part as a key path from one member; `member` is the variable that names the
  /// member.
  func expression(of member: String) -> PredicateExpression {
    PredicateExpression(form: .keyPath(names, variable: member), offset: offset)
  }
}

extension PredicateComparison {
  /// The same comparison without a quantifier.
  fileprivate var direct: PredicateComparison { rewritten(left: left, comparison, right) }

  /// Returns a comparison with the given sides and operator, and with this comparison's options.
  func rewritten(
    left: PredicateExpression,
    _ comparison: Operator,
    _ right: PredicateExpression,
    _ modifier: Modifier = .direct
  ) -> PredicateComparison {
    PredicateComparison(
      left: left,
      comparison: comparison,
      right: right,
      modifier: modifier,
      options: options,
      offset: offset
    )
  }
}

extension PredicateForm {
  fileprivate var isList: Bool {
    switch self {
    case .list, .constant: true
    default: false
    }
  }
}
