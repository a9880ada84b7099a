import CordialValues
import JSON
import ObjectModel
import PersistentHistory

/// Compiles a fetch request to SQL with bound values.
///
/// Nothing of a request stands in the SQL but names that the model has.
struct FetchCompiler {
  let model: Model
  let entity: EntityDescription
  /// Whether a to-one may lead to an object that is gone, so that each has to be looked up.
  let mayDangle: Bool
  private var joins = SQLJoins()
  private var membership: Set<String> = []
  private var valueNames: [String: Set<String>] = [:]
  private var related: [Int: Set<String>] = [:]
  private var relatedNames: Set<String> = []
  /// The answered value whose path is being read, nil while order and membership are.
  private var selecting: String?

  init(model: Model, entity: EntityDescription, mayDangle: Bool) {
    self.model = model
    self.entity = entity
    self.mayDangle = mayDangle
  }

  /// Compiles a request.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - model: The store's model.
  ///   - mayDangle: Whether a to-one may lead to an object that is gone.
  /// - Returns: The plan.
  /// - Throws: `unknownEntity`, `unknownProperty`, `predicateInvalid` or `invalidRequest`.
  static func plan(
    _ request: FetchRequest,
    model: Model,
    mayDangle: Bool
  ) throws(StoreError) -> FetchPlan {
    guard let entity = model.entity(named: request.entity) else {
      throw .unknownEntity(request.entity, in: model)
    }
    var compiler = FetchCompiler(model: model, entity: entity, mayDangle: mayDangle)
    return try compiler.plan(request)
  }

  private mutating func plan(_ request: FetchRequest) throws(StoreError) -> FetchPlan {
    var condition = SQLFragment("1")
    if let text = request.predicate {
      let predicate: Predicate
      do {
        predicate = try PredicateParser.parse(text, arguments: request.arguments)
      } catch {
        throw StoreError(error)
      }
      condition = try compile(predicate, negated: false)
    }
    let order = try request.sort.map { key throws(StoreError) in try sortTerm(key) }
    let membershipJoins = joins.sql
    let selected = try selection(request)
    let table = SQLNames.quoted(entity.name)
    var head = ["t.\"_id\"", "t.\"_version\""]
    if let identity = entity.identity { head.append("t.\(quote(identity.name))") }
    let columns = (head + selected.map(\.sql)).joined(separator: ", ")
    let orderBy = (order + ["t.\"_id\""]).joined(separator: ", ")
    let tail = "WHERE \(condition.sql) ORDER BY \(orderBy) LIMIT ? OFFSET ?"
    return FetchPlan(
      request: request,
      entity: entity,
      idsSQL: "SELECT t.\"_id\" FROM \(table) t\(membershipJoins) \(tail)",
      rowsSQL: "SELECT \(columns) FROM \(table) t\(joins.sql) \(tail)",
      rowSQL: "SELECT \(columns) FROM \(table) t\(joins.sql) WHERE t.\"_id\" = ?",
      countSQL: "SELECT count(*) FROM \(table) t\(membershipJoins) WHERE \(condition.sql)",
      values: condition.values,
      encoder: ObjectEncoder(entity: entity, columns: selected.map(\.column)),
      membership: membership,
      valueNames: valueNames,
      related: related,
      relatedNames: relatedNames
    )
  }

  private func quote(_ name: String) -> String { SQLNames.quoted(name) }

  // MARK: Key paths

  /// Remembers that the answer depends on a property of the object itself.
  private mutating func note(own property: String) {
    if let name = selecting {
      valueNames[property, default: []].insert(name)
    } else {
      membership.insert(property)
    }
  }

  /// Remembers that the answer depends on a property of other objects.
  private mutating func note(related entity: EntityDescription, _ property: String) {
    related[entity.number, default: []].insert(property)
    if let name = selecting { relatedNames.insert(name) }
  }

  /// The property at the end of a path over to-ones, and the alias of its table.
  private mutating func resolve(
    _ path: [String]
  ) throws(StoreError)
    -> (alias: String, entity: EntityDescription, property: PropertyDescription)
  {
    var current = entity
    var alias = "t"
    for (index, name) in path.enumerated() {
      guard let property = current.property(named: name) else {
        throw .unknownProperty(name, of: current)
      }
      if index == 0 { note(own: name) } else { note(related: current, name) }
      if index == path.count - 1 { return (alias, current, property) }
      guard case .relationship(let relationship) = property else {
        throw StoreError(
          .unknownProperty,
          "\(current.name).\(name) is an attribute; nothing lies behind it",
          data: [JSONMember("property", .string(path.joined(separator: ".")))]
        )
      }
      guard !relationship.toMany else {
        throw StoreError(
          .unknownProperty,
          "\(current.name).\(name) is a to-many; a key path leads over to-ones only",
          data: [JSONMember("property", .string(path.joined(separator: ".")))]
        )
      }
      current = model.entity(relationship.destination)
      alias = joins.alias(
        for: Array(path[...index]),
        table: current.name,
        from: alias
      )
    }
    throw StoreError(.invalidRequest, "A key path has at least one name")
  }

  // MARK: Sort

  private mutating func sortTerm(_ key: String) throws(StoreError) -> String {
    var path = Substring(key)
    let descends = path.hasPrefix("-")
    if descends { path = path.dropFirst() }
    let localized = path.hasSuffix(":localized")
    if localized { path = path.dropLast(":localized".count) }
    let names = path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    let (alias, owner, property) = try resolve(names)
    guard case .attribute(let attribute) = property else {
      throw StoreError(
        .invalidRequest,
        "\(owner.name).\(property.name) is a relationship; sort by an attribute"
      )
    }
    var term = "\(alias).\(quote(attribute.name))"
    if localized {
      guard attribute.type == .string else {
        throw StoreError(.invalidRequest, "\(owner.name).\(attribute.name) is no string")
      }
      term += " COLLATE cordial_localized"
    } else if attribute.type == .decimal {
      term += " COLLATE cordial_decimal"
    }
    return descends ? term + " DESC" : term
  }

  // MARK: Selection

  private mutating func selection(
    _ request: FetchRequest
  ) throws(StoreError)
    -> [(sql: String, column: SelectedColumn)]
  {
    let wanted =
      request.select
      ?? entity.attributes.map { .init(name: $0.name, path: $0.name) }
      + entity.relationships.filter { !$0.toMany }.map { .init(name: $0.name, path: $0.name) }
    var columns: [(sql: String, column: SelectedColumn)] = []
    for selection in wanted {
      selecting = selection.name
      let (sql, form) = try expression(selection)
      columns.append(
        (sql, SelectedColumn(name: selection.name, form: form, isFirst: columns.isEmpty))
      )
    }
    return columns
  }

  private mutating func expression(
    _ selection: FetchRequest.Selection
  ) throws(StoreError)
    -> (sql: String, form: ColumnForm)
  {
    var names = selection.path.split(separator: ".", omittingEmptySubsequences: false)
      .map(String.init)
    let counts = names.last == "@count"
    if counts { names.removeLast() }
    let (alias, _, property) = try resolve(names)
    switch property {
    case .attribute(let attribute) where !counts:
      return try attributeExpression(attribute, alias, selection.fallback)
    case .relationship(let relationship) where relationship.toMany:
      let objects = toManyQuery(relationship, alias)
      noteMembers(relationship)
      if counts { return ("(SELECT count(*) FROM \(objects))", .integer) }
      return try listExpression(relationship, objects)
    case .relationship(let relationship) where !counts:
      return (toOne(relationship, alias), reference(relationship))
    default:
      throw StoreError(.invalidRequest, "@count wants a to-many, \(selection.path) is none")
    }
  }

  private func attributeExpression(
    _ attribute: AttributeDescription,
    _ alias: String,
    _ fallback: JSONValue?
  ) throws(StoreError) -> (sql: String, form: ColumnForm) {
    let column = "\(alias).\(quote(attribute.name))"
    guard let fallback else { return (column, ColumnForm(attribute.type)) }
    guard case .value(let value) = attribute.decode(fallback), let literal = SQLLiteral.text(value)
    else {
      throw StoreError(
        .invalidRequest,
        "The default of \(attribute.name) must be \(attribute.type.expectation)"
      )
    }
    return ("coalesce(\(column), \(literal))", ColumnForm(attribute.type))
  }

  private func reference(_ relationship: RelationshipDescription) -> ColumnForm {
    ColumnForm(referenceTo: model.entity(relationship.destination))
  }

  private func toOne(_ relationship: RelationshipDescription, _ alias: String) -> String {
    let destination = model.entity(relationship.destination)
    let column = "\(alias).\(quote(relationship.name))"
    if let identity = destination.identity {
      return "(SELECT d.\(quote(identity.name)) FROM \(quote(destination.name)) d "
        + "WHERE d.\"_id\" = \(column))"
    }
    guard mayDangle else { return column }
    return "(SELECT d.\"_id\" FROM \(quote(destination.name)) d WHERE d.\"_id\" = \(column))"
  }

  /// A change of any member, or of a member's way back, changes a to-many.
  private mutating func noteMembers(_ relationship: RelationshipDescription) {
    let destination = model.entity(relationship.destination)
    note(related: destination, relationship.inverse ?? ChangeSet.everyProperty)
  }

  /// The rows of a to-many's members, under the alias `d`.
  private func toManyQuery(_ relationship: RelationshipDescription, _ alias: String) -> String {
    let destination = model.entity(relationship.destination)
    let table = quote(destination.name)
    switch relationship.storage {
    case .inverseColumn, .column:
      let inverse = quote(relationship.inverse ?? "")
      return "\(table) d WHERE d.\(inverse) = \(alias).\"_id\""
    case .pairs(let owner, let name, let owns):
      let pairs = quote(SQLNames.pairs(model.entity(owner), name))
      let (own, other) = owns ? ("source", "target") : ("target", "source")
      return "\(pairs) p JOIN \(table) d ON d.\"_id\" = p.\(other) "
        + "WHERE p.\(own) = \(alias).\"_id\""
    }
  }

  private func listExpression(
    _ relationship: RelationshipDescription,
    _ objects: String
  ) throws(StoreError) -> (sql: String, form: ColumnForm) {
    let destination = model.entity(relationship.destination)
    guard destination.identity == nil else {
      throw StoreError(
        .invalidRequest,
        "\(relationship.name) leads to \(destination.name), which has an identity attribute: "
          + "this version of Cordial cannot list it yet"
      )
    }
    let id = SQLNames.literal("\(destination.name)/p")
    return (
      """
      (SELECT json_group_array(\(id) || number) FROM \
      (SELECT d."_id" AS number FROM \(objects) ORDER BY d."_id"))
      """,
      .json
    )
  }
}

// MARK: Predicates

extension FetchCompiler {
  /// Compiles a condition; `negated` tells whether it stands below a NOT.
  ///
  /// Predicates are two-valued and SQL is not: below a NOT, a comparison with a missing value has
  /// to be false and not unknown. Elsewhere unknown is as good as false, and an index serves.
  private mutating func compile(
    _ predicate: Predicate,
    negated: Bool
  ) throws(StoreError) -> SQLFragment {
    switch predicate {
    case .constant(let flag): return SQLFragment(flag ? "1" : "0")
    case .not(let inner):
      let fragment = try compile(inner, negated: true)
      return SQLFragment("NOT (\(fragment.sql))", fragment.values)
    case .and(let terms):
      return try combine(terms, " AND ", negated)
    case .or(let terms):
      return try combine(terms, " OR ", negated)
    case .comparison(let comparison):
      let fragment = try compile(comparison)
      return negated ? SQLFragment("(\(fragment.sql)) IS TRUE", fragment.values) : fragment
    }
  }

  private mutating func combine(
    _ terms: [Predicate],
    _ separator: String,
    _ negated: Bool
  ) throws(StoreError) -> SQLFragment {
    let fragments = try terms.map { term throws(StoreError) in
      let fragment = try compile(term, negated: negated)
      return SQLFragment("(\(fragment.sql))", fragment.values)
    }
    return .joined(fragments, separator: separator)
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
        return SQLFragment("\(alias).\(quote(relationship.name))")
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
      (.int32, .integer), (.float, .number), (.float, .integer):
      return try plainConstant(value, expression)
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
      "(SELECT \"_id\" FROM \(quote(entity.name)) WHERE \(quote(identity.name)) = ?)",
      [value]
    )
  }
}
