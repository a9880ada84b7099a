import CordialValues
package import ObjectModel
import StoreLayout

/// A compiled fetch of rows of values: its SQL, and the form of each column.
package struct ValuesPlan: Sendable {
  let sql: String
  /// The values to bind before limit and offset.
  let values: [AttributeValue]
  let columns: [SelectedColumn]
  let limit: Int?
  let offset: Int
  /// Whether each row represents one object; the object's number then follows the columns.
  let isOfObjects: Bool
  /// The number of cursor values that follow the selected columns, if rows represent groups.
  let cursorKeys: Int
  /// The query for the sections of groups, which binds `values`, and the form of the section names.
  let sections: (sql: String, form: ColumnForm)?
  /// The query for the count of rows regardless of the window, which binds `values`.
  let countSQL: String
  /// The numbers of the entities whose objects have rows or are in groups.
  package let resultEntities: [Int]
  /// The predicate as a condition on the columns of one object.
  package let condition: RowCondition
  /// The properties that the fetch reads.
  package let reads: FetchReads
  /// The properties of other objects that the rows depend on, by entity number.
  package let related: [Int: Set<String>]
  /// Whether the result depends on ICU's folding or collation.
  package var usesCollation: Bool { FetchPlan.usesCollation(sql) }
}

extension ValuesPlan {
  /// Compiles a request for rows of values.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - context: The model, and the state of the store.
  ///   - store: The identity of the store, for a request with a cursor.
  /// - Returns: The plan.
  /// - Throws: As `FetchPlan.compile`.
  static func compile(
    _ request: FetchRequest,
    in context: FetchContext,
    store: String = ""
  ) throws(StoreError) -> ValuesPlan {
    guard context.model.entity(named: request.entity) != nil else {
      throw .unknownEntity(request.entity, in: context.model)
    }
    guard request.select?.isEmpty == false else {
      throw StoreError(.invalidRequest, "Rows of values need a select that names them")
    }
    let isGrouped = request.isGrouped
    let filtered = try ConditionStage(request, isGrouped: isGrouped, in: context)
    let ordered = try filtered.ordered()
    let (condition, groups, keys) = (filtered.condition, filtered.groups, ordered.keys)
    if isGrouped {
      let grouped = Set(request.groupBy)
      for key in request.orderKeys
      where !grouped.contains(IndexKey(key).name) {
        throw StoreError(.invalidRequest, "\(key) is not in groupBy, so groups have no such order")
      }
    }
    let selected = try ordered.selected(isGrouped: isGrouped)
    let (columns, entity) = (selected.columns, selected.compiler.entity)
    let isOfObjects = !isGrouped && !request.distinct
    let isPaged = isOfObjects || !groups.isEmpty && !request.distinct
    guard isPaged || request.after == nil && request.sectionBy == nil else {
      throw StoreError(
        .invalidRequest,
        "after and sectionBy are not for distinct rows and not for one group of all objects",
        hint: "Use limit and offset, or groupBy instead of distinct"
      )
    }
    // A cursor over objects contains an object's number. A cursor over groups instead contains the
    // values of the group's paths, which identify the group.
    let groupKeys =
      isPaged && !isOfObjects
      ? keys + groups.map { SortKey($0, type: .string, descends: false, mayBeMissing: true) } : []
    let page = try request.after.map { text throws(StoreError) in
      let cursor = try FetchCursor(text, of: request, in: store)
      return try pageCondition(cursor, isOfObjects ? keys : groupKeys)
    }
    let table = context.model.source(entity, subentities: request.subentities)
    let marks = isOfObjects ? ["t.\"_id\""] : groupKeys.map(\.kept)
    let list = (columns.map(\.sql) + marks).joined(separator: ", ")
    let head = "SELECT \(request.distinct ? "DISTINCT " : "")\(list)"
    var rows = "FROM \(table) t\(selected.joins) WHERE (\(condition.sql))"
    if let page { rows += " AND (\(page.sql))" }
    if !groups.isEmpty { rows += " GROUP BY \(groups.joined(separator: ", "))" }
    if let having = filtered.having { rows += " HAVING \(having.sql)" }
    let sections = request.sectionBy.flatMap { _ in isOfObjects ? nil : keys.first }.map { key in
      (
        sql: "SELECT name, count(*) FROM (SELECT \(key.sql) AS name, "
          + "row_number() OVER (ORDER BY \(key.order)) AS place \(rows)) "
          + "GROUP BY name ORDER BY min(place)",
        form: ColumnForm(key.type)
      )
    }
    let last = isOfObjects ? ["t.\"_id\""] : groups + columns.indices.map { "\($0 + 1)" }
    let order = (keys.map(\.order) + last).joined(separator: ", ")
    return ValuesPlan(
      sql: "\(head) \(rows) ORDER BY \(order) LIMIT ? OFFSET ?",
      values: condition.values + (page?.values ?? []) + (filtered.having?.values ?? []),
      columns: columns.map(\.column),
      limit: request.limit,
      offset: request.offset,
      isOfObjects: isOfObjects,
      cursorKeys: groupKeys.count,
      sections: sections,
      countSQL: "SELECT count(*) FROM (\(head) \(rows))",
      resultEntities: request.subentities
        ? entity.familyPosition.concreteEntities : [entity.number],
      condition: condition.condition,
      reads: selected.reads,
      related: selected.reads.related(in: context.model)
    )
  }

  /// Returns the condition of the rows after a cursor.
  private static func pageCondition(
    _ cursor: FetchCursor,
    _ keys: [SortKey]
  ) throws(StoreError) -> SQLFragment {
    let (range, missing) = try FetchCompiler.position(cursor, keys)
    guard let missing else { return range }
    return SQLFragment("(\(range.sql)) OR (\(missing.sql))", range.values + missing.values)
  }
}
