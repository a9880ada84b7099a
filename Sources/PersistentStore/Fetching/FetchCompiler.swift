import JSON
import ObjectModel
import SQLite

/// A compiler that turns the parts of a fetch request into SQL with bound values.
///
/// The SQL contains no text from a request, except names that the model defines. `ConditionStage`
/// and its successors determine the order of the parts.
struct FetchCompiler {
  let context: FetchContext
  let entity: EntityDescription
  /// The scope of the fetched entity, then the scopes of the enclosing subqueries.
  private(set) var scopes: [QueryScope]
  private var scopeCount = 0
  /// The properties that the compiled parts read.
  var reads = FetchReads()
  /// The paths that a condition on groups may read; nil for a condition on objects.
  var groupedPaths: Set<String>?
  /// Whether values inside json attributes are read as JSON texts, for a response.
  var readsJSONTexts = false
  var parts = DeepParts()
  /// The SQL of computed attributes, by alias and attribute name with a `.` between them.
  private var computedColumns: [String: String] = [:]

  /// Creates a compiler of a request's parts.
  ///
  /// - Throws: `unknownEntity`.
  init(_ request: FetchRequest, in context: FetchContext) throws(StoreError) {
    guard let entity = context.model.entity(named: request.entity) else {
      throw .unknownEntity(request.entity, in: context.model)
    }
    self.context = context
    self.entity = entity
    scopes = [QueryScope(entity: entity, alias: "t", variable: nil, origin: [], joins: SQLJoins())]
  }

  var model: Model { context.model }

  /// Whether a function of the program computes a value.
  var callsProgram: Bool { !computedColumns.isEmpty }

  /// Returns the condition of a request: its predicate, if any, and the limit to `objects`, if any.
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
  /// The maximum number of tables that the key paths of a scope join; SQLite joins at most 64
  /// tables.
  private static let joinsMax = 60

  static func tooMany(_ limit: String, _ max: Int, _ what: String) -> StoreError {
    StoreError(
      .limitExceeded,
      "A fetch has at most \(max) \(what)",
      data: [JSONMember("limit", .string(limit)), JSONMember("max", .integer(Int64(max)))]
    )
  }

  func quote(_ name: String) -> String { SQLNames.quoted(name) }

  // MARK: Scopes and joins

  /// Returns the index of the scope in which a variable's paths begin; if `variable` is nil, the
  /// index of the fetched object's scope.
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
  ///   - origin: The relationships from the fetched object to the members; nil if no relationships
  ///     reach the members.
  ///   - body: Called with the alias of the members' table.
  /// - Returns: The result of the body, and the joins that follow the members' table in the
  ///   subquery.
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

  /// Joins the tables at the end of a path of to-ones.
  ///
  /// - Parameters:
  ///   - path: The path.
  ///   - tables: The tables of the path's objects, in the form of FROM.
  ///   - column: The column that references the objects.
  ///   - scope: The scope in which the path begins.
  /// - Returns: The alias of the tables.
  /// - Throws: `limitExceeded`.
  mutating func join(
    _ path: [String],
    tables: [String],
    from column: String,
    in scope: Int
  ) throws(StoreError) -> String {
    let isJoined = scopes[scope].joins.contains(path)
    guard isJoined || scopes[scope].joins.count + tables.count <= Self.joinsMax else {
      throw Self.tooMany("joins", Self.joinsMax, "tables of to-ones in its key paths")
    }
    return scopes[scope].joins.alias(for: path, tables: tables, from: column)
  }

  // MARK: Computed attributes

  /// Registers SQL that computes an attribute of an alias.
  mutating func addComputed(_ sql: String, of alias: String, named name: String) {
    computedColumns["\(alias).\(name)"] = sql
  }

  /// Returns the registered SQL that computes an attribute of an alias; nil for a stored column.
  func computed(of alias: String, named name: String) -> String? {
    computedColumns["\(alias).\(name)"]
  }
}
