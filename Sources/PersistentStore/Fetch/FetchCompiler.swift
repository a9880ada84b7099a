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
      condition = try compile(predicate)
    }
    guard request.select?.count ?? 0 <= Self.selectionMax else {
      throw Self.tooMany("select", Self.selectionMax, "selected values")
    }
    guard request.sort.count <= Self.sortKeysMax else {
      throw Self.tooMany("sortKeys", Self.sortKeysMax, "sort keys")
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
      encoder: ObjectEncoder(entity: entity, columns: selected.map(\.column), model: model),
      membership: membership,
      valueNames: valueNames,
      related: related,
      relatedNames: relatedNames
    )
  }

  /// How many values a fetch may select; SQLite answers 2,000 columns at most.
  private static let selectionMax = 1000
  /// How many sort keys a fetch may have.
  private static let sortKeysMax = 64
  /// How many to-ones all key paths of a fetch may follow; SQLite joins 64 tables at most.
  private static let joinsMax = 60

  static func tooMany(_ limit: String, _ max: Int, _ what: String) -> StoreError {
    StoreError(
      .limitExceeded,
      "A fetch has at most \(max) \(what)",
      data: [JSONMember("limit", .string(limit)), JSONMember("max", .integer(Int64(max)))]
    )
  }

  func quote(_ name: String) -> String { SQLNames.quoted(name) }

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

  /// Remembers that a to-one may lead to an object that goes or comes without a change of its own.
  private mutating func noteTarget(_ property: PropertyDescription) {
    guard mayDangle, case .relationship(let relationship) = property, !relationship.toMany else {
      return
    }
    related[relationship.destination, default: []].formUnion([])
    if let name = selecting { relatedNames.insert(name) }
  }

  /// The property at the end of a path over to-ones, and the alias of its table.
  mutating func resolve(
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
      if index == path.count - 1 {
        noteTarget(property)
        return (alias, current, property)
      }
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
      guard joins.count < Self.joinsMax else {
        throw Self.tooMany("joins", Self.joinsMax, "to-ones in its key paths")
      }
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
        (sql, SelectedColumn(name: selection.name, form: form))
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
    if selection.fallback != nil, counts || !property.isAttribute {
      throw StoreError(.invalidRequest, "A default is for an attribute, \(selection.path) is none")
    }
    switch property {
    case .attribute(let attribute) where !counts:
      return try attributeExpression(attribute, alias, selection.fallback)
    case .relationship(let relationship) where relationship.toMany:
      let objects = toManyQuery(relationship, alias)
      noteMembers(relationship)
      if counts { return ("(SELECT count(*) FROM \(objects))", .integer) }
      return listExpression(relationship, objects)
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
    return toOneNumber(relationship, alias)
  }

  /// The number of the object that a to-one leads to, null when it is gone.
  func toOneNumber(_ relationship: RelationshipDescription, _ alias: String) -> String {
    let destination = model.entity(relationship.destination)
    let column = "\(alias).\(quote(relationship.name))"
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
    case .pairs(let owner, let name, _) where relationship.isSymmetric:
      let pairs = quote(SQLNames.pairs(model.entity(owner), name))
      return "\(table) d WHERE d.\"_id\" IN (SELECT target FROM \(pairs) WHERE source = "
        + "\(alias).\"_id\" UNION SELECT source FROM \(pairs) WHERE target = \(alias).\"_id\")"
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
  ) -> (sql: String, form: ColumnForm) {
    let destination = model.entity(relationship.destination)
    let named = destination.identity.map { "d.\(quote($0.name))" } ?? "d.\"_id\""
    return (
      """
      (SELECT json_group_array(name) FROM \
      (SELECT \(named) AS name FROM \(objects) ORDER BY d."_id"))
      """,
      .objects(entity: destination.number)
    )
  }
}
