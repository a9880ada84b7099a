import CordialValues
import JSON
import ObjectModel
import PersistentHistory
import SQLite
import StoreLayout

/// Functions, conversions and values that depend on the time.
extension FetchCompiler {
  /// Compiles a value; a constant gets the type of its literal instead of a type from the context.
  mutating func typed(_ expression: PredicateExpression) throws(StoreError) -> Value {
    guard case .constant(let constant) = expression.form else { return try value(expression) }
    let type: AttributeType? =
      switch constant {
      case .integer: .int64
      case .number: .double
      case .bool: .boolean
      case .string: .string
      case .null, .array, .object: nil
      }
    guard let type else { return try value(expression) }
    let side = ComparedSide.value(type, name: nil)
    return (try self.constant(constant, side, expression.offset), side)
  }

  /// Returns whether an expression takes its type from the other side of a comparison: a constant,
  /// or an expression that only selects among constants.
  func isUntyped(_ expression: PredicateExpression) -> Bool {
    switch expression.form {
    case .constant: true
    case .list(let elements): elements.allSatisfy(isUntyped)
    case .ternary(_, let first, let second): isUntyped(first) && isUntyped(second)
    case .element(let collection, _), .distinct(let collection): isUntyped(collection)
    case .set(_, let first, let second): isUntyped(first) && isUntyped(second)
    case .statistic(let statistic, let collection, _):
      [.min, .max, .mode].contains(statistic) && isUntyped(collection)
    default: false
    }
  }

  mutating func call(
    _ function: PredicateFunction,
    _ argument: PredicateExpression
  ) throws(StoreError) -> Value {
    switch function {
    case .lowercase, .uppercase, .canonical, .length: return try textCall(function, argument)
    case .abs, .sqrt, .log, .ln, .exp, .floor, .ceiling, .trunc, .onesComplement:
      return try numberCall(function, argument)
    }
  }

  private mutating func textCall(
    _ function: PredicateFunction,
    _ argument: PredicateExpression
  ) throws(StoreError) -> Value {
    let (fragment, side) = try value(argument, as: .value(.string, name: nil))
    guard Self.isText(side) else { throw Self.typeError("a string", side, argument.offset) }
    func made(_ sql: String, _ type: AttributeType) -> Value {
      (SQLFragment(sql, fragment.values, depth: fragment.depth + 4), .value(type, name: nil))
    }
    return switch function {
    case .lowercase: made("cordial_lower(\(fragment.sql))", .string)
    case .uppercase: made("cordial_upper(\(fragment.sql))", .string)
    case .canonical: made("cordial_fold(\(fragment.sql), 3)", .string)
    default: made("cordial_length(\(fragment.sql))", .int64)
    }
  }

  private mutating func numberCall(
    _ function: PredicateFunction,
    _ argument: PredicateExpression
  ) throws(StoreError) -> Value {
    let (fragment, side) = try number(argument)
    let type = side.type ?? .double
    func made(_ sql: String, _ type: AttributeType) -> Value {
      (
        SQLFragment(sql + Self.collation(type), fragment.values, depth: fragment.depth + 5),
        .value(type, name: nil)
      )
    }
    switch function {
    case .onesComplement:
      guard type.isInteger else { throw Self.typeError("an integer", side, argument.offset) }
      return made("(~\(fragment.sql))", .int64)
    case .abs where type != .decimal: return made("cordial_abs(\(fragment.sql))", type)
    case .abs, .floor, .ceiling, .trunc:
      if type.isInteger { return (fragment, side) }
      guard type == .decimal else {
        return made("cordial_math('\(function.rawValue)', \(fragment.sql))", .double)
      }
      return made("cordial_decimal('\(function.rawValue)', \(fragment.sql), NULL)", .decimal)
    default:
      let number = type == .decimal ? "CAST(\(fragment.sql) AS REAL)" : fragment.sql
      return made("cordial_math('\(function.rawValue)', \(number))", .double)
    }
  }

  // MARK: Conversions

  /// Compiles `CAST`; a conversion that fails gives null.
  mutating func cast(
    _ expression: PredicateExpression,
    to target: PredicateCast,
    _ offset: Int
  ) throws(StoreError) -> Value {
    let (fragment, side) = try typed(expression)
    if case .object = side { throw Self.typeError("a value", side, expression.offset) }
    let type: AttributeType =
      switch target {
      case .date: .date
      case .string: .string
      case .decimal: .decimal
      case .number: side.type?.isInteger == true || side.type == .boolean ? .int64 : .double
      }
    let source = side.type?.rawValue ?? "json"
    let function = context.isStrict ? StrictSQL.castFunction : "cordial_cast"
    let sql = "\(function)(\(fragment.sql), '\(source)', '\(type.rawValue)')"
    return (
      SQLFragment(sql + Self.ownCollation(type), fragment.values, depth: fragment.depth + 4),
      .value(type, name: nil)
    )
  }

  /// Returns an explicit collation for a value; SQLite would otherwise use the operands' collation.
  private static func ownCollation(_ type: AttributeType?) -> String {
    type == .decimal ? collation(type) : " COLLATE BINARY"
  }

  mutating func ternary(
    _ condition: Predicate,
    _ first: PredicateExpression,
    _ second: PredicateExpression,
    as expected: ComparedSide
  ) throws(StoreError) -> Value {
    let test = try compile(condition)
    var (a, b): (Value, Value)
    if isUntyped(first) {
      b =
        expected.isConstant || !isUntyped(second)
        ? try typed(second) : try value(second, as: expected)
      if b.side.isConstant { b.side = expected }
      a = b.side.isConstant ? try typed(first) : try value(first, as: b.side)
      if a.side.isConstant, !b.side.isConstant { a.side = b.side }
    } else {
      a = try typed(first)
      b = try value(second, as: a.side)
      if b.side.isConstant { b.side = a.side }
    }
    try check(b.side, against: a.side, second.offset)
    let side = Self.common(a.side, b.side)
    let (first, second) = (exact(a, beside: side), exact(b, beside: side))
    return (
      SQLFragment(
        "(CASE WHEN \(test.sql) THEN \(first.sql) ELSE \(second.sql) END)"
          + Self.ownCollation(side.type),
        test.values + first.values + second.values,
        depth: max(test.depth, first.depth, second.depth) + 6
      ),
      side
    )
  }

  // MARK: Time and randomness

  /// Compiles the current time in milliseconds since 1970, which is constant within a statement.
  mutating func now() -> Value {
    reads.noteVolatility()
    let sql = "CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)"
    return (SQLFragment(sql), .value(.date, name: nil))
  }

  mutating func random(below limit: PredicateExpression?) throws(StoreError) -> Value {
    reads.noteVolatility()
    guard let limit else {
      let sql = "((random() >> 11 & 9007199254740991) / 9007199254740992.0)"
      return (SQLFragment(sql), .value(.double, name: nil))
    }
    let (fragment, side) = try number(limit)
    guard side.type?.isInteger == true else {
      throw Self.typeError("an integer", side, limit.offset)
    }
    return (
      SQLFragment(
        "(SELECT CASE WHEN n > 0 THEN abs(random() % n) END FROM (SELECT \(fragment.sql) AS n))",
        fragment.values,
        depth: fragment.depth + 16
      ),
      side
    )
  }

  // MARK: Entities and identities

  /// Compiles a path that ends in `objectID`, `entity` or `entity.name`; returns nil for any other
  /// path, and if the entity has a property with that name.
  mutating func identityPath(
    _ path: [String],
    _ variable: String?,
    _ offset: Int
  ) throws(StoreError) -> Value? {
    let names = ["objectID", "entity"]
    guard let index = path.firstIndex(where: { names.contains($0) }) else { return nil }
    let suffix = Array(path[index...])
    guard [["objectID"], ["entity"], ["entity", "name"]].contains(suffix) else { return nil }
    let start = scope(at: scope(of: variable)).entity
    let steps = model.steps(of: path, from: start)
    guard steps.last?.end ?? 0 == index, !steps.contains(where: \.isToMany),
      let toOnes = steps.relationships
    else { return nil }
    let current = toOnes.last.map { model.entity($0.destination) } ?? start
    let (object, side) = try keyPath(Array(path[..<index]), variable, offset)
    guard suffix != ["objectID"] else { return (object, side) }
    let kinds = current.familyPosition.concreteEntities.map { model.entity($0) }
    let cases = kinds.map { kind in
      "WHEN \(object.sql) BETWEEN \(kind.numbers.lowerBound) AND \(kind.numbers.upperBound) "
        + "THEN \(SQLNames.literal(kind.name))"
    }
    return (
      SQLFragment("(CASE \(cases.joined(separator: " ")) END)", depth: object.depth + 6),
      .value(.string, name: "entity")
    )
  }

  /// Compiles a path that ends in `length` after a string attribute; returns nil for any other
  /// path.
  mutating func lengthPath(
    _ path: [String],
    _ variable: String?,
    _ offset: Int
  ) throws(StoreError) -> Value? {
    guard path.count > 1, path.last == "length" else { return nil }
    let text = Array(path.dropLast())
    let steps = model.steps(of: text, from: scope(at: scope(of: variable)).entity)
    guard steps.last?.end == text.count, steps.attribute?.type == .string else { return nil }
    let form = PredicateForm.keyPath(text, variable: variable)
    return try call(.length, PredicateExpression(form: form, offset: offset))
  }
}
