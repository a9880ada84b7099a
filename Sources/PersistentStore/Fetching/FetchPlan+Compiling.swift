import CordialValues
import ObjectModel
import StoreLayout

extension FetchPlan {
  /// Compiles a request.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - context: The model, and the state of the store.
  ///   - store: The identity of the store, for a request with a cursor.
  ///   - texts: The pool of SQL texts that plans share.
  /// - Returns: The plan.
  /// - Throws: `unknownEntity`, `unknownProperty`, `predicateInvalid`, `invalidRequest` or
  ///   `limitExceeded`.
  static func compile(
    _ request: FetchRequest,
    in context: FetchContext,
    store: String = "",
    texts: SQLTexts = SQLTexts()
  ) throws(StoreError) -> FetchPlan {
    let ordered = try ConditionStage(request, in: context).ordered()
    let pageStart = try request.after.map { text throws(StoreError) in
      try FetchCompiler.position(FetchCursor(text, of: request, in: store), ordered.keys)
    }
    return try ordered.selected().plan(after: pageStart, texts)
  }
}

extension SelectionStage {
  /// Returns the plan of the fetch.
  ///
  /// - Parameters:
  ///   - pageStart: The conditions for the objects after the cursor; nil without a cursor.
  ///   - texts: The pool of SQL texts that plans share.
  /// - Returns: The plan.
  fileprivate func plan(
    after pageStart: (range: SQLFragment, missing: SQLFragment?)?,
    _ texts: SQLTexts
  ) -> FetchPlan {
    let (model, entity) = (compiler.model, compiler.entity)
    var condition = condition
    condition.sql = texts.shared(condition.sql)
    let isWide = compiler.isWide(request)
    let table = model.source(entity, subentities: request.subentities, wide: isWide)
    var head = ["t.\"_id\"", "t.\"_version\""]
    if let identities = compiler.identities(request) { head.append(identities) }
    // SQLite can merge the indexes of a family's tables only if the query also returns the sort
    // keys.
    let stored = keys.filter(\.isStored).map(\.sql)
    let columns = (head + self.columns.map(\.sql) + stored).joined(separator: ", ")
    let numbers = texts.shared((["t.\"_id\""] + stored).joined(separator: ", "))
    let orderBy = (keys.map(\.order) + ["t.\"_id\""]).joined(separator: ", ")
    func tail(_ start: SQLFragment?) -> String {
      let wanted = start.map { "(\(condition.sql)) AND (\($0.sql))" } ?? condition.sql
      return "WHERE \(wanted) ORDER BY \(orderBy) LIMIT ? OFFSET ?"
    }
    let from = texts.shared("FROM \(table) t\(ordered.joins)")
    let rowsFrom = "FROM \(table) t\(joins)"
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
      encoder: compiler.encoder(request, self.columns.map(\.column)),
      reads: reads,
      callsProgram: compiler.callsProgram
    )
  }
}
