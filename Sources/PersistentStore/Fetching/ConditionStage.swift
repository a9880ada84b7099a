/// A fetch whose condition is compiled: the first of three stages.
///
/// The stages are types, so that the type system enforces their order. Key paths add joins. The
/// joins of the condition and of the order decide which objects the result has. Only rows need the
/// joins of the selected values.
struct ConditionStage {
  let request: FetchRequest
  let condition: SQLFragment
  /// SQL for the paths of `groupBy`.
  let groups: [String]
  /// The condition on groups; nil without one.
  let having: SQLFragment?
  fileprivate let compiler: FetchCompiler

  /// Compiles the condition of a request.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - isGrouped: Whether each row represents a group.
  ///   - context: The model, and the state of the store.
  /// - Throws: `unknownEntity`, `unknownProperty`, `predicateInvalid` or `limitExceeded`.
  init(
    _ request: FetchRequest,
    isGrouped: Bool = false,
    in context: FetchContext
  ) throws(StoreError) {
    var compiler = try FetchCompiler(request, in: context)
    self.request = request
    condition = try compiler.condition(request)
    groups =
      isGrouped
      ? try request.groupBy.map { path throws(StoreError) in try compiler.groupTerm(path) } : []
    having =
      isGrouped
      ? try request.having.map { text throws(StoreError) in try compiler.having(text, request) }
      : nil
    self.compiler = compiler
  }

  /// Compiles the order.
  ///
  /// - Returns: The second stage.
  /// - Throws: `unknownProperty`, `invalidRequest` or `limitExceeded`.
  func ordered() throws(StoreError) -> OrderStage {
    var compiler = compiler
    compiler.reads.begin(.order)
    let keys = try compiler.sortKeys(request)
    return OrderStage(self, keys: keys, compiler)
  }
}

/// A fetch whose condition and order are compiled: the second stage.
struct OrderStage {
  let filtered: ConditionStage
  let keys: [SortKey]
  fileprivate let compiler: FetchCompiler

  fileprivate init(_ filtered: ConditionStage, keys: [SortKey], _ compiler: FetchCompiler) {
    self.filtered = filtered
    self.keys = keys
    self.compiler = compiler
  }

  /// The joins of the condition and the order.
  var joins: String { compiler.scope(at: 0).joins.sql }

  /// Compiles the selected values.
  ///
  /// - Parameter isGrouped: Whether the values are values of groups.
  /// - Returns: The last stage.
  /// - Throws: `unknownProperty`, `invalidRequest` or `limitExceeded`.
  func selected(isGrouped: Bool = false) throws(StoreError) -> SelectionStage {
    var compiler = compiler
    let columns = try compiler.selection(filtered.request, grouped: isGrouped)
    return SelectionStage(self, columns: columns, compiler)
  }
}

/// A completely compiled fetch: the last stage.
struct SelectionStage {
  let ordered: OrderStage
  let columns: [(sql: String, column: SelectedColumn)]
  let compiler: FetchCompiler

  fileprivate init(
    _ ordered: OrderStage,
    columns: [(sql: String, column: SelectedColumn)],
    _ compiler: FetchCompiler
  ) {
    self.ordered = ordered
    self.columns = columns
    self.compiler = compiler
  }

  var request: FetchRequest { ordered.filtered.request }
  var condition: SQLFragment { ordered.filtered.condition }
  var keys: [SortKey] { ordered.keys }
  /// The joins of all three parts.
  var joins: String { compiler.scope(at: 0).joins.sql }
  var reads: FetchReads { compiler.reads }
}
