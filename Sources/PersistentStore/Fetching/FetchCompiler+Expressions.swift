import CordialValues
import JSON
import ObjectModel
import SQLite
import StoreLayout

/// Expressions as SQL.
extension FetchCompiler {
  /// An expression as SQL, with its kind.
  typealias Value = (fragment: SQLFragment, side: ComparedSide)

  /// Compiles an expression; a constant is decoded as `expected`.
  mutating func value(
    _ expression: PredicateExpression,
    as expected: ComparedSide = .constant
  ) throws(StoreError) -> Value {
    asPart(try whole(expression, as: expected))
  }

  private mutating func whole(
    _ expression: PredicateExpression,
    as expected: ComparedSide
  ) throws(StoreError) -> Value {
    switch expression.form {
    case .keyPath(let path, let variable):
      return try keyPath(path, variable, expression.offset)
    case .constant(let value):
      return (try constant(value, expected, expression.offset), .constant)
    case .list, .subquery, .set, .distinct:
      throw StoreError(
        PredicateError(
          offset: expression.offset,
          expected: "a single value: a collection has one after @count or another aggregate"
        )
      )
    case .path(let base, let names):
      guard case .element(let collection, let index) = base.form, isValue(names, from: base) else {
        throw StoreError(
          PredicateError(
            offset: expression.offset,
            expected: "ANY, ALL or NONE before a collection, or an aggregate after it"
          )
        )
      }
      return try element(index, of: collection, path: names)
    case .element(let collection, let index):
      return try element(index, of: collection, path: [], as: expected)
    case .statistic(let statistic, let collection, let path):
      return try self.statistic(statistic, collection, expression.offset, of: path, as: expected)
    case .cast(let inner, let target): return try cast(inner, to: target, expression.offset)
    case .ternary(let condition, let first, let second):
      return try ternary(condition, first, second, as: expected)
    case .now: return now()
    case .random(let limit): return try random(below: limit)
    case .aggregate(let aggregate, let names, let variable, let path):
      return try aggregateValue(aggregate, of: names, from: variable, path, expression.offset)
    case .arithmetic(let operation, let left, let right):
      return try arithmetic(operation, left, right)
    case .negative(let inner):
      let (fragment, side) = try number(inner)
      let sql =
        side.type == .decimal
        ? "cordial_decimal('-', '0', \(fragment.sql))\(Self.collation(.decimal))"
        : "(-\(fragment.sql))"
      return (SQLFragment(sql, fragment.values, depth: fragment.depth + 5), side)
    case .function(let function, let argument): return try call(function, argument)
    }
  }

  mutating func keyPath(
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
    if let value = try identityPath(path, variable, offset) { return value }
    if let value = try lengthPath(path, variable, offset) { return value }
    let end = try resolve(path, from: variable)
    switch end.property {
    case .attribute where !end.inside.isEmpty:
      return (SQLFragment(jsonValue(end, asText: readsJSONTexts)), .json)
    case .attribute(let attribute):
      return (
        SQLFragment(
          column(end.alias, attribute.name) + Self.collation(attribute.type),
          depth: depth(of: end)
        ),
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

  /// Returns the collation that compares decimals as numbers, because decimals are stored as texts.
  static func collation(_ type: AttributeType?) -> String {
    type == .decimal ? " COLLATE cordial_decimal" : ""
  }

  /// Returns SQL for a value inside a json attribute, in SQLite's storage class or, for a response,
  /// as JSON text.
  func jsonValue(_ end: Resolved, asText: Bool) -> String {
    let column = column(end.alias, end.property.name)
    let jsonPath = SQLNames.literal(Self.jsonPath(end.inside))
    // An external client may have stored a text that is not JSON.
    let value = asText ? "\(column) -> \(jsonPath)" : "\(column) ->> \(jsonPath)"
    return "(CASE WHEN json_valid(\(column)) THEN \(value) END)"
  }

  /// Returns a path into a json attribute in the form of SQLite's JSON functions.
  static func jsonPath(_ names: [String]) -> String {
    let path = names.map { name in
      // A number is an index in a list; any other name is the name of a member.
      Int(name).map { "[\($0)]" } ?? "." + JSONValue.string(name).text
    }
    return "$" + path.joined()
  }

  // MARK: To-manys

  /// Returns the to-many at the end of a path, and the alias of its owner's table.
  ///
  /// `origin` contains the relationships from the fetched object to the members; it is nil if no
  /// relationships reach the members.
  mutating func toMany(
    _ names: [String],
    from variable: String?,
    _ offset: Int
  ) throws(StoreError)
    -> (relationship: RelationshipDescription, owner: String, origin: [RelatedReads.Step]?)
  {
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
    let origin = end.origin(after: relationship)
    noteMembers(relationship, at: origin)
    return (relationship, end.alias, origin)
  }

  /// Compiles an aggregate over the members of a to-many, or over a group's rows if `names` is
  /// empty.
  mutating func aggregateValue(
    _ aggregate: PredicateAggregate,
    of names: [String],
    from variable: String?,
    _ path: [String],
    _ offset: Int = 0
  ) throws(StoreError) -> Value {
    guard !names.isEmpty else {
      // The limit of `groupedPaths` does not apply inside an aggregate, which may read every
      // property of a group's members.
      let grouped = groupedPaths
      groupedPaths = nil
      defer { groupedPaths = grouped }
      let member = aggregate == .count ? nil : try keyPath(path, variable, offset)
      return try aggregated(aggregate, member, path.last, "", offset)
    }
    guard isToMany(names, from: variable) else {
      let members = PredicateForm.keyPath(names, variable: variable)
      return try statistic(
        PredicateStatistic(aggregate),
        PredicateExpression(form: members, offset: offset),
        offset,
        of: path
      )
    }
    let (relationship, owner, origin) = try toMany(names, from: variable, offset)
    let destination = model.entity(relationship.destination)
    let name = "@\(aggregate.rawValue)"
    let (made, joins) = try inScope(destination, name, at: origin) {
      compiler,
      alias throws(StoreError) -> (value: Value?, alias: String) in
      guard aggregate != .count else { return (nil, alias) }
      return (try compiler.keyPath(path, name, offset), alias)
    }
    let (from, condition, _) = members(relationship, of: owner, as: made.alias)
    let rows = " FROM \(from)\(joins) WHERE \(condition)"
    return try aggregated(aggregate, made.value, path.last, rows, offset)
  }

  /// Returns whether the caller must compile a path with `toMany`.
  ///
  /// This is so for a path that ends at its only to-many. It is also so for a path without a
  /// collection, because `toMany` reports the error of this path.
  private func isToMany(_ names: [String], from variable: String?) -> Bool {
    let path = PredicateExpression(form: .keyPath(names, variable: variable), offset: 0)
    guard let (_, _, rest) = split(path) else { return !isCollection(path) }
    return rest.names.isEmpty
  }

  /// Compiles the call of an aggregate function, alone or as a subquery over `rows`.
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
      guard type.isNumber || type == .decimal else {
        throw Self.typeError("a number for @\(aggregate.rawValue)", member.side, offset)
      }
      let isAverage = aggregate == .avg
      return made(
        Self.total(of: column, type, isAverage: isAverage),
        Self.totalType(type, isAverage: isAverage)
      )
    }
  }
}
