import CordialValues
import JSON
import ObjectModel
import PersistentHistory
import SQLite
import StoreLayout

/// The compiler of a fetch request to SQL with bound values.
///
/// The SQL contains no text of a request except names that the model has.
struct FetchCompiler {
  let model: Model
  let entity: EntityDescription
  /// Whether a to-one may reference a missing object, so that each reference must be looked up.
  let mayDangle: Bool
  /// The scope of the fetched entity, then the scopes of the enclosing subqueries.
  var scopes: [QueryScope]
  private var scopeCount = 0
  /// The paths that a condition on groups may read; nil for a condition on objects.
  var groupedPaths: Set<String>?
  private(set) var membership: Set<String> = []
  private var valueNames: [String: Set<String>] = [:]
  var related: [Int: Set<String>] = [:]
  /// The same properties with the paths to their objects, by the numbers of declared entities.
  private(set) var relatedReads = RelatedReads()
  private var relatedNames: Set<String> = []
  /// The selected value whose path is being read; nil while order and membership are read, which
  /// must come first: `selection` says which columns the rows have, and joins that it adds must not
  /// count for the membership.
  var selecting: String?
  /// Whether the order and the sections are being read.
  private var isOrdering = false
  /// Whether values inside json attributes are read as JSON texts, for a response.
  var readsJSONTexts = false
  /// Whether the result depends on the time or on chance, which no commit determines.
  var isVolatile = false

  /// Whether a division by zero and a `CAST` that fails are failures of a migration, rather than
  /// null.
  var isStrict = false

  /// Whether the stored sort keys are of this process's ICU.
  let hasSortKeys: Bool
  /// The program's functions for transient attributes.
  let functions: Set<String>
  var parts = DeepParts()
  /// SQL for the computed attributes of an alias, by the alias and the name, with a `.` between.
  var computedColumns: [String: String] = [:]

  init(
    _ request: FetchRequest,
    model: Model,
    mayDangle: Bool,
    hasSortKeys: Bool = true,
    functions: Set<String> = []
  ) throws(StoreError) {
    guard let entity = model.entity(named: request.entity) else {
      throw .unknownEntity(request.entity, in: model)
    }
    self.model = model
    self.entity = entity
    self.mayDangle = mayDangle
    self.hasSortKeys = hasSortKeys
    self.functions = functions
    scopes = [QueryScope(entity: entity, alias: "t", variable: nil, origin: [], joins: SQLJoins())]
  }

  /// Compiles a request.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - model: The store's model.
  ///   - mayDangle: Whether a to-one may reference an object that does not exist.
  ///   - hasSortKeys: Whether the stored sort keys are of this process's ICU.
  ///   - functions: The program's functions for transient attributes.
  ///   - store: The identity of the store, for a request with a cursor.
  ///   - texts: The SQL of other plans.
  /// - Returns: The plan.
  /// - Throws: `unknownEntity`, `unknownProperty`, `predicateInvalid` or `invalidRequest`.
  static func plan(
    _ request: FetchRequest,
    model: Model,
    mayDangle: Bool,
    hasSortKeys: Bool = true,
    functions: Set<String> = [],
    store: String = "",
    texts: SQLTexts = SQLTexts()
  ) throws(StoreError) -> FetchPlan {
    var compiler = try FetchCompiler(
      request,
      model: model,
      mayDangle: mayDangle,
      hasSortKeys: hasSortKeys,
      functions: functions
    )
    return try compiler.plan(request, in: store, texts)
  }

  private mutating func plan(
    _ request: FetchRequest,
    in store: String,
    _ texts: SQLTexts
  ) throws(StoreError) -> FetchPlan {
    var condition = try condition(request)
    condition.sql = texts.shared(condition.sql)
    let (conditionReads, conditionRelated) = (membership, relatedKinds)
    membership = []
    isOrdering = true
    let keys = try sortKeys(request)
    isOrdering = false
    let orderReads = membership
    membership.formUnion(conditionReads)
    let pageStart = try request.after.map { text throws(StoreError) in
      try Self.position(FetchCursor(text, of: request, in: store), keys)
    }
    let membershipJoins = scopes[0].joins.sql
    let selected = try selection(request)
    let isWide = isWide(request)
    let table = model.source(entity, subentities: request.subentities, wide: isWide)
    var head = ["t.\"_id\"", "t.\"_version\""]
    if let identities = identities(request) { head.append(identities) }
    // SQLite merges the indexes of a family's tables only by columns that the query returns.
    let stored = keys.filter(\.isStored).map(\.sql)
    let columns = (head + selected.map(\.sql) + stored).joined(separator: ", ")
    let numbers = texts.shared((["t.\"_id\""] + stored).joined(separator: ", "))
    let orderBy = (keys.map(\.order) + ["t.\"_id\""]).joined(separator: ", ")
    func tail(_ start: SQLFragment?) -> String {
      let wanted = start.map { "(\(condition.sql)) AND (\($0.sql))" } ?? condition.sql
      return "WHERE \(wanted) ORDER BY \(orderBy) LIMIT ? OFFSET ?"
    }
    let from = texts.shared("FROM \(table) t\(membershipJoins)")
    let rowsFrom = "FROM \(table) t\(scopes[0].joins.sql)"
    let keyColumns = keys.isEmpty ? "1" : keys.map(\.kept).joined(separator: ", ")
    return FetchPlan(
      request: request,
      model: model,
      entity: entity,
      idsSQL: texts.shared("SELECT \(numbers) \(from) \(tail(pageStart?.range))"),
      rowsSQL: texts.shared("SELECT \(columns) \(rowsFrom) \(tail(pageStart?.range))"),
      unwindowedSQL: texts.shared("SELECT \(columns) \(rowsFrom)"),
      rowSQL: texts.shared("SELECT \(columns) \(rowsFrom) WHERE t.\"_id\" = ?"),
      countSQL: texts.shared("SELECT count(*) \(from) WHERE \(condition.sql)"),
      keysSQL: texts.shared("SELECT \(keyColumns) \(from) WHERE t.\"_id\" = ?"),
      matchSQL: texts.shared(
        "SELECT t.\"_id\" \(from) WHERE t.\"_id\" IN (SELECT value FROM json_each(?1)) "
          + "AND (\(condition.sql))"
      ),
      order: FetchOrder(keys: keys, from: from, texts),
      neighbors: FetchNeighbors(keys: keys, numbers: numbers, from: from, condition: condition),
      condition: condition.condition,
      orderReads: orderReads,
      readsRelatedForOrder: relatedKinds != conditionRelated,
      sections: request.sectionBy.flatMap { _ in keys.first }.map { key in
        (
          "SELECT \(key.sql), count(*) \(from) WHERE \(condition.sql) "
            + "GROUP BY 1 ORDER BY \(key.order)",
          ColumnForm(key.type)
        )
      },
      missing: pageStart?.missing.map {
        ("SELECT \(numbers) \(from) \(tail($0))", "SELECT \(columns) \(rowsFrom) \(tail($0))")
      },
      values: condition.values + (pageStart?.range.values ?? []),
      wholeValues: condition.values,
      encoder: encoder(request, selected.map(\.column)),
      isVolatile: isVolatile,
      membership: membership,
      valueNames: valueNames,
      related: relatedKinds,
      relatedReads: relatedReads.mapEntities { model.entity($0).familyPosition.concreteEntities },
      relatedNames: relatedNames,
      callsProgram: !computedColumns.isEmpty
    )
  }

  /// Returns the condition of a request; without a predicate, every object fulfils it.
  mutating func condition(_ request: FetchRequest) throws(StoreError) -> SQLFragment {
    let matching = try predicateCondition(request)
    return request.objects.map { matching.among($0) } ?? matching
  }

  private mutating func predicateCondition(
    _ request: FetchRequest
  ) throws(StoreError) -> SQLFragment {
    guard let text = request.predicate else {
      var every = SQLFragment("1")
      every.condition = .constant(true)
      return every
    }
    let predicate: Predicate
    do {
      predicate = try PredicateParser.parse(text, arguments: request.arguments)
    } catch {
      throw StoreError(error)
    }
    let condition = try compile(predicate)
    guard condition.depth <= Self.stackMax else {
      throw Self.tooDeep
    }
    return condition
  }

  /// The maximum number of nested to-manys in a predicate.
  private static let scopesMax = 8
  /// The maximum number of to-ones in all key paths of a fetch; SQLite joins at most 64 tables.
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

  /// Records that the result depends on a property of the object itself.
  mutating func note(own property: String) {
    if let name = selecting {
      valueNames[property, default: []].insert(name)
    } else {
      membership.insert(property)
    }
  }

  /// The entity's own properties on which the result depends, in any way.
  var ownRead: Set<String> { membership.union(valueNames.keys) }

  /// Records that the result depends on properties of other objects.
  ///
  /// - Parameters:
  ///   - entity: The entity of the objects.
  ///   - properties: The names; none where only the existence of the objects matters.
  ///   - origin: The relationships from the fetched object to them; nil where none reach them.
  mutating func note(
    related entity: EntityDescription,
    _ properties: Set<String>,
    at origin: [RelatedReads.Step]?
  ) {
    related[entity.number, default: []].formUnion(properties)
    let role: RelatedReads.Role =
      selecting != nil ? .values : isOrdering ? .order : .condition
    let path = origin.map { RelatedReads.Path(steps: $0, role: role) }
    relatedReads.insert(properties, of: entity.number, at: path)
    if let name = selecting { relatedNames.insert(name) }
  }

  /// Records that the object of a to-one may be deleted or inserted without a change of the to-one.
  mutating func noteTarget(of end: Resolved) {
    guard mayDangle, case .relationship(let relationship) = end.property, !relationship.toMany
    else { return }
    note(related: model.entity(relationship.destination), [], at: end.origin(after: relationship))
  }

  /// The end of a key path.
  struct Resolved {
    /// The alias of the table that has the property.
    let alias: String
    let entity: EntityDescription
    let property: PropertyDescription
    /// The relationships from the fetched object to the one that has the property; nil where none
    /// reach it.
    let origin: [RelatedReads.Step]?
    /// The path inside a json attribute; empty for the whole attribute.
    var inside: [String] = []

    /// Returns the relationships to the objects of a relationship, which is the property.
    func origin(after relationship: RelationshipDescription) -> [RelatedReads.Step]? {
      origin.map {
        $0 + [RelatedReads.Step(entity: entity.number, relationship: relationship.name)]
      }
    }
  }

  /// Returns the scope in which a variable's paths begin; without a variable, the fetched object's.
  func scope(of variable: String?) -> Int {
    guard let variable else { return 0 }
    return scopes.lastIndex { $0.variable == variable } ?? 0
  }

  func scope(at index: Int) -> QueryScope { scopes[index] }

  /// Compiles a subquery over the members of a to-many.
  ///
  /// - Parameters:
  ///   - entity: The entity of the members.
  ///   - variable: The variable that names one member.
  ///   - origin: The relationships from the fetched object to the members; nil where none reach
  ///     them.
  ///   - body: Called with the alias of the members' table.
  /// - Returns: The result of the body, and the joins that the subquery needs after that table.
  /// - Throws: The errors of the body; `limitExceeded` when too many subqueries are nested.
  mutating func inScope<Result>(
    _ entity: EntityDescription,
    _ variable: String,
    at origin: [RelatedReads.Step]?,
    _ body: (inout FetchCompiler, String) throws(StoreError) -> Result
  ) throws(StoreError) -> (result: Result, joins: String) {
    guard scopes.count <= Self.scopesMax else {
      throw Self.tooMany("scopes", Self.scopesMax, "to-manys inside one another in its predicate")
    }
    scopeCount += 1
    let alias = "s\(scopeCount)"
    scopes.append(
      QueryScope(
        entity: entity,
        alias: alias,
        variable: variable,
        origin: origin,
        joins: SQLJoins(prefix: alias + "j")
      )
    )
    defer { scopes.removeLast() }
    let result = try withoutParts { compiler throws(StoreError) in try body(&compiler, alias) }
    return (result, scopes[scopes.count - 1].joins.sql)
  }

  /// Returns the property at the end of a path over to-ones.
  ///
  /// - Parameters:
  ///   - path: At least one name.
  ///   - variable: The variable of SUBQUERY at the start of the path, nil for the fetched object.
  /// - Returns: The end of the path.
  /// - Throws: `unknownProperty`, `limitExceeded`.
  mutating func resolve(
    _ path: [String],
    from variable: String? = nil
  ) throws(StoreError) -> Resolved {
    let scope = scope(of: variable)
    guard !path.isEmpty else {
      throw StoreError(.invalidRequest, "A key path has at least one name")
    }
    var alias = scopes[scope].alias
    var origin = scopes[scope].origin
    let steps = model.steps(of: path, from: scopes[scope].entity)
    for (index, step) in steps.enumerated() {
      let (current, property, name) = (step.entity, step.property, step.property.name)
      for read in try columnsRead(by: name, of: current, alias) {
        if index == 0, scope == 0 {
          note(own: read)
        } else {
          note(related: current, [read], at: origin)
        }
      }
      if step.end == path.count {
        let end = Resolved(alias: alias, entity: current, property: property, origin: origin)
        noteTarget(of: end)
        return end
      }
      guard case .relationship(let relationship) = property else {
        if case .attribute(let attribute) = property, attribute.type == .json {
          return Resolved(
            alias: alias,
            entity: current,
            property: property,
            origin: origin,
            inside: Array(path[step.end...])
          )
        }
        throw StoreError(
          .unknownProperty,
          "\(current.name).\(name) is an attribute; no path continues after it",
          data: [JSONMember("property", .string(path.joined(separator: ".")))]
        )
      }
      guard !relationship.toMany else {
        throw StoreError(
          .unknownProperty,
          "\(current.name).\(name) is a to-many; a key path follows to-ones only",
          data: [JSONMember("property", .string(path.joined(separator: ".")))]
        )
      }
      guard scopes[scope].joins.count < Self.joinsMax else {
        throw Self.tooMany("joins", Self.joinsMax, "to-ones in its key paths")
      }
      alias = scopes[scope].joins.alias(
        for: Array(path[..<step.end]),
        tables: tables(of: model.entity(relationship.destination)),
        from: column(alias, name)
      )
      origin?.append(RelatedReads.Step(entity: current.number, relationship: name))
    }
    let reached =
      steps.relationships?.last.map { model.entity($0.destination) } ?? scopes[scope].entity
    let rest = path[(steps.last?.end ?? 0)...]
    let isComposite = rest.first.flatMap(reached.composite(named:)) != nil
    let name = isComposite ? rest.joined(separator: ".") : rest.first ?? ""
    throw .unknownProperty(name, of: reached)
  }

  /// Returns the columns on which a property depends: itself, or all that a function gets.
  private mutating func columnsRead(
    by name: String,
    of entity: EntityDescription,
    _ alias: String
  ) throws(StoreError) -> [String] {
    guard let computed = entity.computed(named: name) else { return [name] }
    guard functions.contains(computed.function) else {
      throw StoreError(
        .unknownProperty,
        "\(entity.name).\(name) is computed by the function \(computed.function), "
          + "which this program does not have",
        hint: "A program that embeds Cordial registers its functions",
        data: [JSONMember("entity", .string(entity.name)), JSONMember("property", .string(name))]
      )
    }
    let owner = model.entity(computed.owner)
    let call = ComputedAttributes.call(computed, of: owner) { column(alias, $0) }
    computedColumns["\(alias).\(name)"] = "(\(call))"
    return owner.attributes.map(\.name)
  }

  // MARK: Relationships

  func reference(_ relationship: RelationshipDescription) -> ColumnForm {
    ColumnForm(referenceTo: model.entity(relationship.destination))
  }

  func toOne(_ relationship: RelationshipDescription, column: String) -> String {
    let destination = model.entity(relationship.destination)
    guard destination.identity != nil else { return toOneNumber(relationship, column: column) }
    return "(SELECT \(name(of: destination, "d")) FROM \(model.source(destination)) d "
      + "WHERE d.\"_id\" = \(column))"
  }

  /// Returns SQL for the number of the object that a to-one references; null if it does not exist.
  func toOneNumber(_ relationship: RelationshipDescription, column: String) -> String {
    guard mayDangle else { return column }
    let destination = model.source(model.entity(relationship.destination))
    return "(SELECT d.\"_id\" FROM \(destination) d WHERE d.\"_id\" = \(column))"
  }

  /// Records that a change of any member, or of a member's inverse, changes a to-many.
  ///
  /// - Parameters:
  ///   - relationship: The to-many.
  ///   - origin: The relationships from the fetched object to the members; nil where none reach
  ///     them.
  mutating func noteMembers(
    _ relationship: RelationshipDescription,
    at origin: [RelatedReads.Step]?
  ) {
    let destination = model.entity(relationship.destination)
    note(related: destination, [relationship.inverse ?? ChangeSet.everyProperty], at: origin)
  }

  /// Returns the members of a to-many, as FROM, WHERE and ORDER BY of a query over them.
  ///
  /// The tables of a joined query cannot read the table before them, so that the condition must not
  /// be inside of them.
  func members(
    _ relationship: RelationshipDescription,
    of owner: String,
    as alias: String,
    isJoined: Bool = false
  ) -> (from: String, condition: String, order: String) {
    let destination = model.entity(relationship.destination)
    let byNumber = "\(alias).\"_id\""
    let number = column(owner, SQLNames.object)
    guard !destination.hasDescendants || isJoined else {
      return familyMembers(relationship, of: number, as: alias)
    }
    let table = "\(model.source(destination)) \(alias)"
    let links = LinkTable(relationship, in: model)
    guard case .linkTable = relationship.storage else {
      return (
        table,
        "\(alias).\(links.owner) = \(number)",
        links.position.map { "\(alias).\($0), \(byNumber)" } ?? byNumber
      )
    }
    guard !links.isSymmetric else {
      return (table, "\(byNumber) IN (\(links.members(of: "= \(number)")))", byNumber)
    }
    return (
      "\(links.table) \(alias)p JOIN \(table) ON \(byNumber) = \(alias)p.\(links.member)",
      "\(alias)p.\(links.owner) = \(number)",
      links.position.map { "\(alias)p.\($0)" } ?? byNumber
    )
  }

  func listExpression(
    _ relationship: RelationshipDescription,
    _ owner: String
  ) -> (sql: String, form: ColumnForm) {
    let destination = model.entity(relationship.destination)
    let (from, condition, order) = members(relationship, of: owner, as: "d")
    let isJSON = destination.hasDescendants && destination.identity != nil
    let names =
      "SELECT \(name(of: destination, "d")) AS name FROM \(from) "
      + "WHERE \(condition) ORDER BY \(order)"
    return (
      "(SELECT json_group_array(\(isJSON ? "json(name)" : "name")) FROM (\(names)))",
      .objects(entity: destination.number)
    )
  }
}
