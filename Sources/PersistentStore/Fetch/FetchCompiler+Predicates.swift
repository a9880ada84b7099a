import CordialValues
import JSON
import ObjectModel
import PersistentHistory

/// Conditions as SQL.
extension FetchCompiler {
  /// How deep AND and OR may alternate: SQLite's parser keeps a stack of 100 entries.
  private static let levelsMax = 20

  /// Compiles a condition.
  mutating func compile(_ predicate: Predicate) throws(StoreError) -> SQLFragment {
    try compile(predicate.normalized(), level: 0)
  }

  /// Predicates are two-valued and SQL is not: below a NOT, a comparison with a missing value has
  /// to be false and not unknown. Elsewhere unknown is as good as false, and an index serves.
  private mutating func compile(
    _ predicate: Predicate,
    level: Int
  ) throws(StoreError) -> SQLFragment {
    switch predicate {
    case .constant(let flag): return SQLFragment(flag ? "1" : "0")
    case .comparison(let comparison): return try compile(comparison)
    case .not(.comparison(let comparison)):
      let fragment = try compile(comparison)
      return SQLFragment("NOT ((\(fragment.sql)) IS TRUE)", fragment.values)
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
      let fragment = try compile(term, level: level)
      return SQLFragment("(\(fragment.sql))", fragment.values)
    }
    return Self.balanced(fragments[...], separator)
  }

  /// Joins conditions as a balanced tree.
  ///
  /// SQLite limits how deep an expression is, and a thousand conditions in a row would be a
  /// thousand deep.
  private static func balanced(
    _ fragments: ArraySlice<SQLFragment>,
    _ separator: String
  ) -> SQLFragment {
    guard fragments.count > 2 else { return .joined(Array(fragments), separator: separator) }
    let middle = fragments.startIndex + fragments.count / 2
    let first = balanced(fragments[..<middle], separator)
    let second = balanced(fragments[middle...], separator)
    return SQLFragment(
      "(\(first.sql))\(separator)(\(second.sql))",
      first.values + second.values
    )
  }

  private mutating func compile(
    _ comparison: PredicateComparison
  ) throws(StoreError)
    -> SQLFragment
  {
    let left = try operand(comparison.left, comparedWith: comparison.right)
    switch comparison.comparison {
    case .in, .between: return try compileList(comparison, left)
    default: break
    }
    let right = try operand(comparison.right, comparedWith: comparison.left)
    if let text = try textComparison(comparison, left, right) { return text }
    let sql: String =
      switch comparison.comparison {
      case .equal: "\(left.sql) IS \(right.sql)"
      case .notEqual: "\(left.sql) IS NOT \(right.sql)"
      case .less: "\(left.sql) < \(right.sql)"
      case .lessOrEqual: "\(left.sql) <= \(right.sql)"
      case .greater: "\(left.sql) > \(right.sql)"
      default: "\(left.sql) >= \(right.sql)"
      }
    return SQLFragment(sql, left.values + right.values)
  }

  private mutating func compileList(
    _ comparison: PredicateComparison,
    _ left: SQLFragment
  ) throws(StoreError) -> SQLFragment {
    let elements: [PredicateExpression] =
      switch comparison.right.form {
      case .list(let elements): elements
      case .constant(.array(let values)):
        values.map { PredicateExpression(form: .constant($0), offset: comparison.right.offset) }
      default: []
      }
    let operands = try elements.map { element throws(StoreError) in
      try operand(element, comparedWith: comparison.left)
    }
    if comparison.comparison == .between {
      return SQLFragment(
        "\(left.sql) BETWEEN \(operands[0].sql) AND \(operands[1].sql)",
        left.values + operands.flatMap(\.values)
      )
    }
    let list = SQLFragment.joined(operands, separator: ", ")
    return SQLFragment("\(left.sql) IN (\(list.sql))", left.values + list.values)
  }

  /// The comparisons that only text has, or that fold it.
  private func textComparison(
    _ comparison: PredicateComparison,
    _ left: SQLFragment,
    _ right: SQLFragment
  ) throws(StoreError) -> SQLFragment? {
    var flags = 0
    if comparison.ignoresCase { flags |= 1 }
    if comparison.ignoresDiacritics { flags |= 2 }
    let (a, b) =
      flags == 0
      ? (left.sql, right.sql)
      : ("cordial_fold(\(left.sql), \(flags))", "cordial_fold(\(right.sql), \(flags))")
    let values = left.values + right.values
    switch comparison.comparison {
    case .contains: return SQLFragment("instr(\(a), \(b)) > 0", values)
    case .beginsWith:
      return SQLFragment("substr(\(a), 1, length(\(b))) = \(b)", values + right.values)
    case .endsWith:
      // substr with a start before the text would answer a part of it.
      return SQLFragment(
        "(length(\(b)) = 0 OR substr(\(a), -length(\(b))) = \(b)) AND \(a) IS NOT NULL",
        right.values + left.values + right.values + right.values + left.values
      )
    case .equal where flags != 0: return SQLFragment("\(a) IS \(b)", values)
    case .notEqual where flags != 0: return SQLFragment("\(a) IS NOT \(b)", values)
    default:
      guard flags == 0 else {
        throw StoreError(
          PredicateError(offset: comparison.offset, expected: "no options behind this comparison")
        )
      }
      return nil
    }
  }

  /// One side of a comparison; a constant is read as the type of what it is compared with.
  private mutating func operand(
    _ expression: PredicateExpression,
    comparedWith other: PredicateExpression
  ) throws(StoreError) -> SQLFragment {
    switch expression.form {
    case .object: return SQLFragment("t.\"_id\"")
    case .keyPath(let path):
      let (alias, owner, property) = try resolve(path)
      switch property {
      case .attribute(let attribute):
        let collation = attribute.type == .decimal ? " COLLATE cordial_decimal" : ""
        return SQLFragment("\(alias).\(quote(attribute.name))\(collation)")
      case .relationship(let relationship):
        guard !relationship.toMany else {
          throw StoreError(
            PredicateError(
              offset: expression.offset,
              expected: "an attribute or to-one; \(owner.name).\(relationship.name) is a to-many"
            )
          )
        }
        return SQLFragment(toOneNumber(relationship, alias))
      }
    case .constant(let value): return try constant(value, expression, comparedWith: other)
    case .list:
      throw StoreError(PredicateError(offset: expression.offset, expected: "a single value"))
    }
  }

  private mutating func constant(
    _ value: JSONValue,
    _ expression: PredicateExpression,
    comparedWith other: PredicateExpression
  ) throws(StoreError) -> SQLFragment {
    if value.isNull { return SQLFragment("NULL") }
    switch other.form {
    case .object: return try identifier(value, of: entity, expression)
    case .keyPath(let path):
      switch try resolve(path).property {
      case .relationship(let relationship):
        return try identifier(value, of: model.entity(relationship.destination), expression)
      case .attribute(let attribute): return try constant(value, attribute, expression)
      }
    default: return try plainConstant(value, expression)
    }
  }

  private func constant(
    _ value: JSONValue,
    _ attribute: AttributeDescription,
    _ expression: PredicateExpression
  ) throws(StoreError) -> SQLFragment {
    // Numbers compare with numbers whatever their size: 2.5 lies between two integers.
    switch (attribute.type, value) {
    case (.int16, .number), (.int32, .number), (.int64, .number), (.int16, .integer),
      (.int32, .integer):
      return try plainConstant(value, expression)
    case (.decimal, .number(let number)):
      // As a person wrote it: 99.5 is the decimal 99.5.
      guard let text = DecimalText.canonical(number.description) else { break }
      return SQLFragment("?", [.decimal(text)])
    default: break
    }
    switch attribute.decode(value) {
    case .value(let typed): return SQLFragment("?", [typed])
    case .expected(let what):
      throw StoreError(
        PredicateError(offset: expression.offset, expected: "\(what), as \(attribute.name) is")
      )
    }
  }

  private func plainConstant(
    _ value: JSONValue,
    _ expression: PredicateExpression
  ) throws(StoreError) -> SQLFragment {
    switch value {
    case .null: return SQLFragment("NULL")
    case .bool(let flag): return SQLFragment("?", [.boolean(flag)])
    case .integer(let number): return SQLFragment("?", [.integer(number)])
    case .number(let number): return SQLFragment("?", [.double(number)])
    case .string(let text): return SQLFragment("?", [.string(text)])
    case .array, .object:
      throw StoreError(PredicateError(offset: expression.offset, expected: "a single value"))
    }
  }

  /// A wrapped ID as the number of its object.
  private func identifier(
    _ value: JSONValue,
    of entity: EntityDescription,
    _ expression: PredicateExpression
  ) throws(StoreError) -> SQLFragment {
    guard let text = value.string, let id = WrappedID(text), id.entity == entity.name else {
      throw StoreError(
        PredicateError(
          offset: expression.offset,
          expected: "the ID of a \(entity.name) as a string, or nil"
        )
      )
    }
    switch id.key {
    case .object(let number): return SQLFragment("?", [.integer(number)])
    case .temporary: throw .invalidIdentifier(text, "temporary IDs are valid inside a save only")
    case .integer(let number): return try identity(.integer(number), text, entity)
    case .uuid(let uuid): return try identity(.uuid(uuid), text, entity)
    case .string(let string): return try identity(.string(string), text, entity)
    }
  }

  private func identity(
    _ value: AttributeValue,
    _ text: String,
    _ entity: EntityDescription
  ) throws(StoreError) -> SQLFragment {
    guard let identity = entity.identity else {
      throw .invalidIdentifier(text, "\(entity.name) has no identity attribute")
    }
    return SQLFragment(
      // Nobody has the number -1, and nothing equals what nobody has.
      "coalesce((SELECT \"_id\" FROM \(quote(entity.name)) WHERE \(quote(identity.name)) = ?), -1)",
      [value]
    )
  }
}
