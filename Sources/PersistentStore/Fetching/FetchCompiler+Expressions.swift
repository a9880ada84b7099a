import CordialValues
import JSON
import ObjectModel
import PersistentHistory
import SQLite
import StoreLayout

/// The kind of one side of a comparison, which determines how a constant on the other side is
/// decoded.
enum ComparedSide {
  /// An attribute, or a computed value of its type.
  case value(AttributeType, name: String?)
  case object(EntityDescription)
  /// A value inside a json attribute.
  case json
  case constant

  var type: AttributeType? {
    if case .value(let type, _) = self { type } else { nil }
  }

  /// A description of the side, for messages.
  var words: String {
    switch self {
    case .value(let type, let name): "\(name ?? "this") is of type \(type.rawValue)"
    case .object(let entity): "this is a \(entity.name)"
    case .json: "this is inside a json attribute"
    case .constant: "this is a constant"
    }
  }

  /// The form in which the side's value is returned.
  var form: ColumnForm {
    switch self {
    // A computed integer may exceed 64 bits, and is then a double.
    case .value(.int64, nil): .number
    case .value(let type, _): ColumnForm(type)
    case .object(let entity): ColumnForm(referenceTo: entity)
    case .json, .constant: .json
    }
  }
}

/// Expressions as SQL.
extension FetchCompiler {
  /// An expression as SQL, with its kind.
  typealias Value = (fragment: SQLFragment, side: ComparedSide)

  /// Compiles an expression; a constant is decoded as `expected`.
  mutating func value(
    _ expression: PredicateExpression,
    as expected: ComparedSide = .constant
  ) throws(StoreError) -> Value {
    switch expression.form {
    case .keyPath(let path, let variable):
      return try keyPath(path, variable, expression.offset)
    case .constant(let value):
      return (try constant(value, expected, expression.offset), .constant)
    case .list:
      throw StoreError(PredicateError(offset: expression.offset, expected: "a single value"))
    case .aggregate(let aggregate, let names, let variable, let path):
      return try aggregateValue(aggregate, of: names, from: variable, path, expression.offset)
    case .subqueryCount(let names, let variable, let name, let predicate):
      return try subqueryCount(names, variable, name, predicate, expression.offset)
    case .arithmetic(let operation, let left, let right):
      return try arithmetic(operation, left, right)
    case .negative(let inner):
      let (fragment, side) = try number(inner)
      return (SQLFragment("(-\(fragment.sql))", fragment.values, depth: fragment.depth + 2), side)
    case .function(let function, let argument): return try call(function, argument)
    }
  }

  private mutating func keyPath(
    _ path: [String],
    _ variable: String?,
    _ offset: Int
  ) throws(StoreError) -> Value {
    if let groupedPaths, variable == nil, !groupedPaths.contains(path.joined(separator: ".")) {
      throw StoreError(
        PredicateError(
          offset: offset,
          expected: "an aggregate or one of groupBy: other values differ in a group"
        )
      )
    }
    guard !path.isEmpty else {
      let scope = scope(at: scope(of: variable))
      return (SQLFragment("\(scope.alias).\"_id\""), .object(scope.entity))
    }
    let end = try resolve(path, from: variable)
    switch end.property {
    case .attribute where !end.inside.isEmpty:
      return (SQLFragment(jsonValue(end, asText: false)), .json)
    case .attribute(let attribute):
      return (
        SQLFragment(column(end.alias, attribute.name) + Self.collation(attribute.type)),
        .value(attribute.type, name: attribute.name)
      )
    case .relationship(let relationship):
      guard !relationship.toMany else {
        throw StoreError(
          PredicateError(
            offset: offset,
            expected: "ANY, ALL or NONE before it, or @count after it: "
              + "\(end.entity.name).\(relationship.name) is a to-many"
          )
        )
      }
      return (
        SQLFragment(
          toOneNumber(relationship, column: column(end.alias, relationship.name))
        ),
        .object(model.entity(relationship.destination))
      )
    }
  }

  /// Returns the collation by which decimals, which are stored as texts, compare as numbers.
  private static func collation(_ type: AttributeType) -> String {
    type == .decimal ? " COLLATE cordial_decimal" : ""
  }

  /// Returns a value inside a json attribute: in SQLite's storage class, or as JSON text for a
  /// response.
  func jsonValue(_ end: Resolved, asText: Bool) -> String {
    let path = end.inside.map { name in
      // A number is an index in a list; any other name is the name of a member.
      Int(name).map { "[\($0)]" } ?? "." + JSONValue.string(name).text
    }
    let column = column(end.alias, end.property.name)
    let jsonPath = SQLNames.literal("$" + path.joined())
    // An external client may have stored a text that is not JSON.
    let value = asText ? "\(column) -> \(jsonPath)" : "\(column) ->> \(jsonPath)"
    return "(CASE WHEN json_valid(\(column)) THEN \(value) END)"
  }

  // MARK: To-manys

  /// Returns the relationship at the end of a path, and the alias of its owner's table.
  mutating func toMany(
    _ names: [String],
    from variable: String?,
    _ offset: Int
  ) throws(StoreError) -> (relationship: RelationshipDescription, owner: String) {
    guard groupedPaths == nil else {
      throw StoreError(
        PredicateError(offset: offset, expected: "an aggregate of the group, as @count")
      )
    }
    let end = try resolve(names, from: variable)
    guard case .relationship(let relationship) = end.property, relationship.toMany else {
      throw StoreError(
        PredicateError(
          offset: offset,
          expected: "a to-many; \(names.joined(separator: ".")) is not a to-many"
        )
      )
    }
    noteMembers(relationship)
    return (relationship, end.alias)
  }

  /// Returns one value of all members of a to-many, or of a group's rows if no to-many is named.
  mutating func aggregateValue(
    _ aggregate: PredicateAggregate,
    of names: [String],
    from variable: String?,
    _ path: [String],
    _ offset: Int = 0
  ) throws(StoreError) -> Value {
    guard !names.isEmpty else {
      // An aggregate may read every property of a group's members.
      let grouped = groupedPaths
      groupedPaths = nil
      defer { groupedPaths = grouped }
      let member = aggregate == .count ? nil : try keyPath(path, variable, offset)
      return try aggregated(aggregate, member, path.last, "", offset)
    }
    let (relationship, owner) = try toMany(names, from: variable, offset)
    let destination = model.entity(relationship.destination)
    let name = "@\(aggregate.rawValue)"
    let (made, joins) = try inScope(destination, name) {
      compiler,
      alias throws(StoreError) -> (value: Value?, alias: String) in
      guard aggregate != .count else { return (nil, alias) }
      return (try compiler.keyPath(path, name, offset), alias)
    }
    let (from, condition, _) = members(relationship, of: owner, as: made.alias)
    let rows = " FROM \(from)\(joins) WHERE \(condition)"
    return try aggregated(aggregate, made.value, path.last, rows, offset)
  }

  /// Returns an aggregate function, alone or over its own rows.
  private func aggregated(
    _ aggregate: PredicateAggregate,
    _ member: Value?,
    _ name: String?,
    _ rows: String,
    _ offset: Int
  ) throws(StoreError) -> Value {
    func made(_ sql: String, _ type: AttributeType, _ name: String? = nil) -> Value {
      let whole = rows.isEmpty ? sql : "(SELECT \(sql)\(rows))"
      return (
        SQLFragment(whole + Self.collation(type), member?.fragment.values ?? []),
        .value(type, name: name)
      )
    }
    guard let member else { return made("count(*)", .int64) }
    let column = member.fragment.sql
    guard let type = member.side.type else {
      throw Self.typeError("an attribute for @\(aggregate.rawValue)", member.side, offset)
    }
    switch aggregate {
    case .min, .max: return made("\(aggregate.rawValue)(\(column))", type, name)
    case .sum, .avg, .count:
      guard type.isNumber else {
        throw Self.typeError("a number for @\(aggregate.rawValue)", member.side, offset)
      }
      // The sum of no values is 0, and their average is missing.
      if aggregate == .avg { return made("avg(\(column))", .double) }
      guard type.isInteger else { return made("total(\(column))", .double) }
      // The sum is computed in halves: sum() fails beyond 64 bits, where arithmetic continues as a
      // double.
      let halves = "sum(\(column) >> 32) * 4294967296 + sum(\(column) & 4294967295)"
      return made("coalesce(\(halves), 0)", .int64)
    }
  }

  private mutating func subqueryCount(
    _ names: [String],
    _ variable: String?,
    _ name: String,
    _ predicate: Predicate,
    _ offset: Int
  ) throws(StoreError) -> Value {
    let (relationship, owner) = try toMany(names, from: variable, offset)
    let destination = model.entity(relationship.destination)
    let (made, joins) = try inScope(destination, name) {
      compiler,
      alias throws(StoreError) -> (condition: SQLFragment, alias: String) in
      (try compiler.compile(predicate), alias)
    }
    let (from, condition, _) = members(relationship, of: owner, as: made.alias)
    return (
      SQLFragment(
        "(SELECT count(*) FROM \(from)\(joins) WHERE (\(made.condition.sql)) AND \(condition))",
        made.condition.values,
        depth: made.condition.depth + 10
      ),
      .value(.int64, name: nil)
    )
  }

  // MARK: Numbers and dates

  private static func typeError(_ what: String, _ side: ComparedSide, _ offset: Int) -> StoreError {
    StoreError(PredicateError(offset: offset, expected: "\(what); \(side.words)"))
  }

  /// Compiles an expression that must be a number.
  private mutating func number(_ expression: PredicateExpression) throws(StoreError) -> Value {
    let (fragment, side) = try operand(expression)
    guard side.type?.isNumber == true else {
      throw Self.typeError("a number", side, expression.offset)
    }
    return (fragment, side)
  }

  /// Compiles a number or a date; a constant is a number if it is numeric, otherwise a date.
  private mutating func operand(_ expression: PredicateExpression) throws(StoreError) -> Value {
    guard case .constant(let constant) = expression.form else { return try value(expression) }
    switch constant {
    case .integer(let number):
      return (SQLFragment("?", [.integer(number)]), .value(.int64, name: nil))
    case .number(let number):
      return (SQLFragment("?", [.double(number)]), .value(.double, name: nil))
    case .string:
      let date = ComparedSide.value(.date, name: nil)
      return (try self.constant(constant, date, expression.offset), date)
    default: throw Self.typeError("a number or a date", .constant, expression.offset)
    }
  }

  /// Compiles an operation.
  ///
  /// Two integers give an integer, except for powers; a division by zero gives null. A number that
  /// is added to a date is in seconds, and so is the difference of two dates.
  private mutating func arithmetic(
    _ operation: PredicateArithmetic,
    _ left: PredicateExpression,
    _ right: PredicateExpression
  ) throws(StoreError) -> Value {
    let (a, first) = try operand(left)
    let (b, second) = try operand(right)
    let values = a.values + b.values
    let depth = max(a.depth + 3, b.depth + 6)
    guard depth <= Self.stackMax else {
      throw Self.tooMany("predicateDepth", Self.stackMax, "entries on the stack of SQLite's parser")
    }
    switch (first.type, second.type, operation) {
    case (.date?, .date?, .subtract):
      let sql = "((\(a.sql) - \(b.sql)) / 1000.0)"
      return (SQLFragment(sql, values, depth: depth), .value(.double, name: nil))
    case (.date?, let other?, .add) where other.isNumber,
      (.date?, let other?, .subtract) where other.isNumber:
      let sql = "(\(a.sql) \(operation.rawValue) CAST(\(b.sql) * 1000 AS INTEGER))"
      return (SQLFragment(sql, values, depth: depth), .value(.date, name: nil))
    case (let one?, let other?, .power) where one.isNumber && other.isNumber:
      let sql = "cordial_power(\(a.sql), \(b.sql))"
      return (SQLFragment(sql, values, depth: depth), .value(.double, name: nil))
    case (let one?, let other?, _) where one.isNumber && other.isNumber:
      let isInteger = one.isInteger && other.isInteger
      return (
        SQLFragment("(\(a.sql) \(operation.rawValue) \(b.sql))", values, depth: depth),
        .value(isInteger ? .int64 : .double, name: nil)
      )
    case (let one, _, _) where one?.isNumber != true && one != .date:
      throw Self.typeError("a number or a date", first, left.offset)
    default: throw Self.typeError("a number", second, right.offset)
    }
  }

  private mutating func call(
    _ function: PredicateFunction,
    _ argument: PredicateExpression
  ) throws(StoreError) -> Value {
    guard function != .abs else {
      let (fragment, side) = try number(argument)
      let sql = "cordial_abs(\(fragment.sql))"
      return (SQLFragment(sql, fragment.values, depth: fragment.depth + 2), side)
    }
    let (fragment, side) = try value(argument, as: .value(.string, name: nil))
    guard Self.isText(side) else { throw Self.typeError("a string", side, argument.offset) }
    let text = ComparedSide.value(.string, name: nil)
    switch function {
    case .lowercase: return (SQLFragment("cordial_lower(\(fragment.sql))", fragment.values), text)
    case .uppercase: return (SQLFragment("cordial_upper(\(fragment.sql))", fragment.values), text)
    case .canonical: return (SQLFragment("cordial_fold(\(fragment.sql), 3)", fragment.values), text)
    case .length, .abs:
      let length = SQLFragment("cordial_length(\(fragment.sql))", fragment.values)
      return (length, .value(.int64, name: nil))
    }
  }

  static func isText(_ side: ComparedSide) -> Bool {
    switch side {
    case .value(let type, _): type.codec.isText || type == .uuid
    case .json, .constant: true
    case .object: false
    }
  }

  // MARK: Constants

  /// Compiles a constant, decoded as the kind of the other side.
  func constant(
    _ value: JSONValue,
    _ expected: ComparedSide,
    _ offset: Int
  ) throws(StoreError) -> SQLFragment {
    if value.isNull { return SQLFragment("NULL") }
    switch expected {
    case .object(let entity): return try identifier(value, of: entity, offset)
    case .value(let type, let name): return try constant(value, type, name, offset)
    case .json, .constant: return try plainConstant(value, offset)
    }
  }

  private func constant(
    _ value: JSONValue,
    _ type: AttributeType,
    _ name: String?,
    _ offset: Int
  ) throws(StoreError) -> SQLFragment {
    guard let typed = type.codec.decode(comparand: value) else {
      let why = name.map { ", as \($0) is" } ?? ""
      throw StoreError(PredicateError(offset: offset, expected: type.codec.expectation + why))
    }
    return SQLFragment("?", [typed])
  }

  private func plainConstant(_ value: JSONValue, _ offset: Int) throws(StoreError) -> SQLFragment {
    switch value {
    case .null: return SQLFragment("NULL")
    case .bool(let flag): return SQLFragment("?", [.boolean(flag)])
    case .integer(let number): return SQLFragment("?", [.integer(number)])
    case .number(let number): return SQLFragment("?", [.double(number)])
    case .string(let text): return SQLFragment("?", [.string(text)])
    case .array, .object:
      throw StoreError(PredicateError(offset: offset, expected: "a single value"))
    }
  }

  /// Compiles a wrapped ID to the number of its object.
  private func identifier(
    _ value: JSONValue,
    of entity: EntityDescription,
    _ offset: Int
  ) throws(StoreError) -> SQLFragment {
    guard let text = value.string, let id = WrappedID(text),
      let named = model.entity(named: id.entity),
      model.isKind(named.number, of: entity.number) || model.isKind(entity.number, of: named.number)
    else {
      throw StoreError(
        PredicateError(
          offset: offset,
          expected: "the ID of a \(entity.name) as a string, or nil"
        )
      )
    }
    switch id.key {
    case .object(let number): return SQLFragment("?", [.integer(number)])
    case .temporary: throw .invalidIdentifier(text, "temporary IDs are valid inside a save only")
    case .integer(let number): return try identity(.integer(number), text, named)
    case .uuid(let uuid): return try identity(.uuid(uuid), text, named)
    case .string(let string): return try identity(.string(string), text, named)
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
      // No object has the number -1, so that the ID of a missing object equals nothing.
      "coalesce((SELECT \"_id\" FROM \(model.source(entity)) "
        + "WHERE \(quote(identity.name)) = ?), -1)",
      [value]
    )
  }
}
