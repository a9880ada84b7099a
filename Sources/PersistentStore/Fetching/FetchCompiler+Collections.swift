import CordialValues
import JSON
import ObjectModel
import PersistentHistory
import SQLite
import StoreLayout

/// Collections: to-manys, lists, the results of SUBQUERY and of operations on sets.
extension FetchCompiler {
  /// The maximum number of elements of a list that is a collection.
  ///
  /// SQLite combines at most 500 queries in one compound query.
  private static let elementsMax = 400

  /// Returns whether an expression is a collection, rather than one value.
  func isCollection(_ expression: PredicateExpression) -> Bool {
    switch expression.form {
    case .list, .subquery, .set, .distinct, .constant(.array): true
    case .keyPath: split(expression) != nil || isInJSON(expression)
    case .path(let base, let names):
      isCollection(base) || (base.form.isElement && crossesToMany(names, from: base))
        || isInJSON(names, from: base)
    default: false
    }
  }

  /// Returns whether a path from an element of a collection has a single value; a path into JSON
  /// counts as a single value.
  func isValue(_ names: [String], from base: PredicateExpression) -> Bool {
    !isCollection(base) && !(base.form.isElement && crossesToMany(names, from: base))
  }

  /// Returns whether a path from an element reads a json attribute, whose value may be a list.
  private func isInJSON(_ names: [String], from base: PredicateExpression) -> Bool {
    guard base.form.isElement, let entity = elementEntity(of: base) else { return false }
    return isInJSON(names, from: entity)
  }

  /// Returns whether a key path reads a json attribute, whose value may be a list.
  private func isInJSON(_ expression: PredicateExpression) -> Bool {
    guard case .keyPath(let names, let variable) = expression.form else { return false }
    return isInJSON(names, from: scope(at: scope(of: variable)).entity)
  }

  private func isInJSON(_ names: [String], from entity: EntityDescription) -> Bool {
    model.steps(of: names, from: entity).attribute?.type == .json
  }

  private func crossesToMany(_ names: [String], from base: PredicateExpression) -> Bool {
    guard let entity = elementEntity(of: base) else { return false }
    return model.steps(of: names, from: entity).contains(where: \.isToMany)
  }

  /// Returns the entity of the objects of a collection, nil for a collection of other values.
  private func elementEntity(of expression: PredicateExpression) -> EntityDescription? {
    switch expression.form {
    case .element(let collection, _), .subquery(let collection, _, _), .distinct(let collection),
      .set(_, let collection, _):
      return elementEntity(of: collection)
    case .keyPath(let names, let variable):
      return entity(at: names, from: scope(at: scope(of: variable)).entity)
    case .path(let base, let names):
      return elementEntity(of: base).flatMap { entity(at: names, from: $0) }
    default: return nil
    }
  }

  private func entity(at names: [String], from start: EntityDescription) -> EntityDescription? {
    let steps = model.steps(of: names, from: start)
    guard steps.last?.end ?? 0 == names.count, let relationships = steps.relationships else {
      return nil
    }
    return relationships.last.map { model.entity($0.destination) } ?? start
  }

  // MARK: Queries

  /// Compiles a collection.
  ///
  /// - Parameters:
  ///   - expression: The collection.
  ///   - path: The path from each element to its value.
  ///   - own: The number of names at the end of `path` that are read from each element separately.
  ///     If several elements reach the same object through these names, the object occurs once for
  ///     each of these elements.
  ///   - expected: The side that determines how constants are decoded.
  /// - Returns: The query.
  /// - Throws: `predicateInvalid` for an expression that is not a collection.
  mutating func collection(
    _ expression: PredicateExpression,
    path: [String] = [],
    own: Int = 0,
    as expected: ComparedSide = .constant
  ) throws(StoreError) -> CollectionQuery {
    let offset = expression.offset
    switch expression.form {
    case .keyPath(let names, let variable):
      let whole = PredicateExpression(
        form: .keyPath(names + path, variable: variable),
        offset: offset
      )
      if let (head, _, rest) = split(whole) {
        return try members(of: head, variable, rest.names, offset, own: own)
      }
      guard isInJSON(whole), groupedPaths == nil else { break }
      // `resolve` may add a join that the list's column needs.
      let end = try resolve(names + path, from: variable)
      return try jsonList(end)
    case .path(let base, let names):
      return try collection(base, path: names + path, own: own, as: expected)
    case .element(let inner, let index):
      guard let entity = elementEntity(of: inner) else { break }
      let element = try collection(inner).element(index)
      let isInJSON = isInJSON(path, from: entity) && !crossesToMany(path, from: expression)
      return try objects(of: entity, "=", element, path, offset, listsJSON: isInJSON, own: own)
    case .subquery(let inner, let name, let predicate):
      return try subquery(inner, name, predicate, path, offset, own: own)
    case .set(let operation, let first, let second):
      return try set(operation, first, second, path, offset, own: own, as: expected)
    case .distinct(let inner):
      var query = try collection(inner, path: path, own: own, as: expected)
      query.isDistinct = true
      query.order = []
      query.conditions.append(
        SQLFragment(
          "\(query.value.sql) IS NOT NULL",
          query.value.values,
          depth: query.value.depth + 2
        )
      )
      return query
    case .list(let elements) where path.isEmpty:
      return try list(elements, expected, offset)
    case .constant(.array(let values)) where path.isEmpty:
      let elements = values.map { PredicateExpression(form: .constant($0), offset: offset) }
      return try list(elements, expected, offset)
    default: break
    }
    throw StoreError(
      PredicateError(offset: offset, expected: "a collection: a to-many, a list or a SUBQUERY")
    )
  }

  /// Compiles the members of a to-many, or the values at the end of a path from the members.
  private mutating func members(
    of head: [String],
    _ variable: String?,
    _ path: [String],
    _ offset: Int,
    where predicate: Predicate? = nil,
    named name: String? = nil,
    isInner: Bool = false,
    own: Int = 0
  ) throws(StoreError) -> CollectionQuery {
    let (relationship, owner, origin) = try toMany(head, from: variable, offset)
    let destination = model.entity(relationship.destination)
    let member = name ?? "member \(scopes.count)"
    let (made, joins) = try inScope(destination, member, at: origin) {
      compiler,
      alias throws(StoreError) -> (query: CollectionQuery, alias: String) in
      (
        try compiler.continuation(
          path,
          of: member,
          offset,
          where: predicate,
          isInner: isInner,
          own: own
        ), alias
      )
    }
    let (from, condition, order) = members(
      relationship,
      of: owner,
      as: made.alias,
      isJoined: isInner
    )
    var query = made.query
    query.from = from + joins + (query.from.isEmpty ? "" : ", " + query.from)
    query.conditions.append(SQLFragment(condition))
    query.order = order.split(separator: ", ").map(String.init) + query.order
    return query
  }

  /// Compiles a path from a scope's object to a value, including any to-manys on the path.
  private mutating func continuation(
    _ path: [String],
    of member: String,
    _ offset: Int,
    where predicate: Predicate?,
    isInner: Bool = false,
    own: Int = 0
  ) throws(StoreError) -> CollectionQuery {
    let condition = try predicate.map { predicate throws(StoreError) in try compile(predicate) }
    let rest = PredicateExpression(form: .keyPath(path, variable: member), offset: offset)
    var query: CollectionQuery
    if let (head, _, rest) = split(rest) {
      guard rest.names.count >= own else {
        throw StoreError(PredicateError(offset: offset, expected: "a path over to-ones at its end"))
      }
      query = try members(of: head, member, rest.names, offset, isInner: true, own: own)
    } else {
      let (value, side) = try keyPath(path, member, offset)
      query = CollectionQuery(value: value, side: side, from: "", conditions: [], order: [])
      let steps = model.steps(
        of: Array(path.dropLast(own)),
        from: scope(at: scope(of: member)).entity
      )
      let object = Array(path[..<(steps.last { $0.isRelationship }?.end ?? 0)])
      if isInner || !object.isEmpty { query.object = try keyPath(object, member, offset).fragment }
    }
    if let condition { query.conditions.insert(condition, at: 0) }
    return query
  }

  /// Compiles the objects of an entity whose numbers a query returns, or the values at the end of a
  /// path from these objects.
  private mutating func objects(
    of entity: EntityDescription,
    _ sign: String,
    _ numbers: SQLFragment,
    _ path: [String],
    _ offset: Int,
    where predicate: Predicate? = nil,
    named name: String? = nil,
    listsJSON: Bool = false,
    own: Int = 0
  ) throws(StoreError) -> CollectionQuery {
    reads.note(related: entity.number, [ChangeSet.everyProperty], at: nil)
    let member = name ?? "object \(scopes.count)"
    let (made, joins) = try inScope(entity, member, at: nil) {
      compiler,
      alias throws(StoreError) -> (query: CollectionQuery, alias: String) in
      if listsJSON {
        let end = try compiler.resolve(path, from: member)
        return (try compiler.jsonList(end), alias)
      }
      let reached = try compiler.continuation(path, of: member, offset, where: predicate, own: own)
      return (reached, alias)
    }
    var query = made.query
    let more = query.from.isEmpty ? "" : ", " + query.from
    query.from = "\(model.source(entity)) \(made.alias)\(joins)\(more)"
    query.conditions.append(
      SQLFragment(
        "\(made.alias).\"_id\" \(sign) (\(numbers.sql))",
        numbers.values,
        depth: numbers.depth + 4
      )
    )
    query.order.insert("\(made.alias).\"_id\"", at: 0)
    return query
  }

  private mutating func subquery(
    _ inner: PredicateExpression,
    _ name: String,
    _ predicate: Predicate,
    _ path: [String],
    _ offset: Int,
    own: Int
  ) throws(StoreError) -> CollectionQuery {
    if case .keyPath = inner.form, let (head, variable, rest) = split(inner), rest.names.isEmpty {
      return try members(
        of: head,
        variable,
        path,
        offset,
        where: predicate,
        named: name,
        own: own
      )
    }
    guard let entity = elementEntity(of: inner) else {
      throw StoreError(PredicateError(offset: inner.offset, expected: "a collection of objects"))
    }
    let rows = try collection(inner).rows
    return try objects(
      of: entity,
      "IN",
      rows,
      path,
      offset,
      where: predicate,
      named: name,
      own: own
    )
  }

  private mutating func set(
    _ operation: PredicateSetOperation,
    _ first: PredicateExpression,
    _ second: PredicateExpression,
    _ path: [String],
    _ offset: Int,
    own: Int,
    as expected: ComparedSide
  ) throws(StoreError) -> CollectionQuery {
    var left: CollectionQuery
    var right: CollectionQuery
    if isUntyped(first), !isUntyped(second) {
      right = try collection(second)
      left = try collection(first, as: right.side)
    } else {
      left = try collection(first, as: expected)
      right = try collection(second, as: left.side)
    }
    try check(right.side, against: left.side, second.offset)
    // SQLite distinguishes a decimal, which is stored as a text, from an equal number.
    let sides = (left.side, right.side)
    let areNumbers = [left.side, right.side].allSatisfy {
      $0.type?.isNumber == true || $0.type == .decimal
    }
    let side = areNumbers ? Self.common(left.side, right.side) : left.side
    left.value = exact((left.value, sides.0), beside: sides.1)
    right.value = exact((right.value, sides.1), beside: sides.0)
    let word =
      switch operation {
      case .union: "UNION"
      case .intersect: "INTERSECT"
      case .minus: "EXCEPT"
      }
    // SQLite combines queries from left to right, so that a chain needs no nesting.
    let (one, other) = (left.compound ?? Self.selection(left), Self.selection(right))
    let joined = SQLFragment(
      "\(one.sql) \(word) \(other.sql)",
      one.values + other.values,
      depth: max(one.depth, other.depth) + 1
    )
    guard !path.isEmpty else {
      return CollectionQuery(
        value: SQLFragment("u.v"),
        side: side,
        from: "(\(joined.sql)) u",
        fromValues: joined.values,
        fromDepth: joined.depth,
        compound: joined,
        conditions: [],
        order: []
      )
    }
    guard case .object(let entity) = left.side else {
      throw StoreError(PredicateError(offset: offset, expected: "a collection of objects"))
    }
    return try objects(of: entity, "IN", joined, path, offset, own: own)
  }

  private static func selection(_ query: CollectionQuery) -> SQLFragment {
    let members = query.members
    return SQLFragment(
      "SELECT v FROM (\(members.sql))",
      members.values,
      depth: members.depth + CollectionQuery.depth
    )
  }

  private func jsonList(_ end: Resolved) throws(StoreError) -> CollectionQuery {
    let column = column(end.alias, end.property.name)
    let path = SQLNames.literal(Self.jsonPath(end.inside))
    return CollectionQuery(
      value: SQLFragment("e.value"),
      side: .json,
      from: "json_each(CASE WHEN json_valid(\(column)) THEN \(column) END, \(path)) e",
      conditions: [SQLFragment("json_type(\(column), \(path)) IS 'array'")],
      order: ["e.key"]
    )
  }

  private mutating func list(
    _ elements: [PredicateExpression],
    _ expected: ComparedSide,
    _ offset: Int
  ) throws(StoreError) -> CollectionQuery {
    guard elements.count <= Self.elementsMax else {
      throw Self.tooMany("elements", Self.elementsMax, "elements in a list")
    }
    guard !elements.isEmpty else {
      return CollectionQuery(
        value: SQLFragment("NULL"),
        side: expected,
        from: "(SELECT 1)",
        conditions: [SQLFragment("0")],
        order: []
      )
    }
    var (values, others) = try typedValues(elements)
    if others.side.isConstant {
      others.side = expected
    } else {
      // The compared value may be a number of a different type, so constant numbers keep their own
      // type.
      others.isMixed = true
      if !expected.isConstant { others.side = Self.common(others.side, expected) }
    }
    let known = others.side
    let operands = try zip(elements, values).map { element, value throws(StoreError) in
      if let value { return value }
      return try known.isConstant ? typed(element) : self.value(element, among: others)
    }
    let sides = zip(elements, operands).compactMap { element, operand -> ComparedSide? in
      // Among integers, a number with a fraction remains a double.
      if case .constant(.number) = element.form, known.type?.isInteger == true {
        return .value(.double, name: nil)
      }
      return operand.side.isConstant ? nil : operand.side
    }
    let first = elements.contains(where: isUntyped) ? known : sides.first ?? known
    let side = sides.reduce(first) { Self.common($0, $1) }
    let fragments = operands.map { exact($0, beside: side) }
    let rows = fragments.enumerated().map { "SELECT \($0) AS i, \($1.sql) AS v" }
    return CollectionQuery(
      value: SQLFragment("l.v"),
      side: side,
      from: "(\(rows.joined(separator: " UNION ALL "))) l",
      fromValues: fragments.flatMap(\.values),
      fromDepth: (fragments.map(\.depth).max() ?? 0) + CollectionQuery.depth,
      conditions: [],
      order: ["l.i"]
    )
  }

  /// Returns a kind that can represent the values of two kinds.
  static func common(_ first: ComparedSide, _ second: ComparedSide) -> ComparedSide {
    guard let one = first.type, let other = second.type, one != other else {
      return first.isConstant ? second : first
    }
    if one.isInteger, other.isInteger { return .value(.int64, name: nil) }
    if one == .decimal || other == .decimal { return .value(.decimal, name: nil) }
    return one.isNumber && other.isNumber ? .value(.double, name: nil) : first
  }

  // MARK: Elements

  /// Compiles an element of a collection, or the value at the end of a path from the element.
  mutating func element(
    _ index: PredicateIndex,
    of expression: PredicateExpression,
    path: [String],
    as expected: ComparedSide = .constant
  ) throws(StoreError) -> Value {
    if case .list(let elements) = expression.form, path.isEmpty {
      let position: Int? =
        switch index {
        case .first: elements.indices.first
        case .last: elements.indices.last
        case .at(let index): elements.indices.contains(index) ? index : nil
        }
      guard let position else { return (SQLFragment("NULL"), .constant) }
      return try value(elements[position], as: expected)
    }
    // The index selects among the objects of the collection, even if their paths end at equal
    // values.
    let query = try collection(expression, path: path, own: path.count, as: expected)
    let element = query.element(index)
    return (
      SQLFragment(
        "(\(element.sql))\(Self.collation(query.side.type))",
        element.values,
        depth: element.depth + 4
      ),
      query.side
    )
  }
}

extension PredicateForm {
  fileprivate var isElement: Bool {
    if case .element = self { true } else { false }
  }
}

extension ComparedSide {
  var isConstant: Bool {
    if case .constant = self { true } else { false }
  }
}
