import CordialValues
import JSON
package import ObjectModel
import PersistentHistory
import StoreLayout

/// A compiled fetch of rows of values: its SQL, and the form of each column.
package struct ValuesPlan: Sendable {
  let sql: String
  /// The values to bind before limit and offset.
  let values: [AttributeValue]
  let columns: [SelectedColumn]
  let limit: Int?
  let offset: Int
  /// Whether each row is of one object, whose number follows the columns.
  let isOfObjects: Bool
  /// The number of values for a cursor that follow the columns of a row of a group.
  let cursorKeys: Int
  /// The query for the sections of groups with the same values, and the form of their names.
  let sections: (sql: String, form: ColumnForm)?
  /// The query for the number of rows without a window, with the same values.
  let countSQL: String
  /// Whether the result depends on the time or on chance, which no commit determines.
  package let isVolatile: Bool
  /// The numbers of the entities whose objects have rows or are in groups.
  package let resultEntities: [Int]
  /// The predicate as a condition on the columns of one object.
  package let condition: RowCondition
  /// The entity's own properties that the rows depend on.
  package let ownRead: Set<String>
  /// The properties of other objects that the rows depend on, by entity number.
  package let related: [Int: Set<String>]
  /// Whether the result depends on ICU's folding or collation.
  package var usesCollation: Bool { FetchPlan.usesCollation(sql) }
}

/// Rows of values, and groups of them.
extension FetchCompiler {
  /// Compiles a request for rows of values.
  ///
  /// - Throws: As `plan(_:model:mayDangle:)`.
  static func valuesPlan(
    _ request: FetchRequest,
    model: Model,
    mayDangle: Bool,
    hasSortKeys: Bool = true,
    functions: Set<String> = [],
    store: String = ""
  ) throws(StoreError) -> ValuesPlan {
    var compiler = try FetchCompiler(
      request,
      model: model,
      mayDangle: mayDangle,
      hasSortKeys: hasSortKeys,
      functions: functions
    )
    return try compiler.valuesPlan(request, in: store)
  }

  private mutating func valuesPlan(
    _ request: FetchRequest,
    in store: String
  ) throws(StoreError) -> ValuesPlan {
    guard let select = request.select, !select.isEmpty else {
      throw StoreError(.invalidRequest, "Rows of values need a select that names them")
    }
    let isGrouped = request.isGrouped
    let condition = try condition(request)
    let groups = try request.groupBy.map { path throws(StoreError) in try groupTerm(path) }
    let columns = try selection(request, grouped: isGrouped)
    let keys = try sortKeys(request)
    if isGrouped {
      let grouped = Set(request.groupBy)
      for key in request.orderKeys
      where !grouped.contains(IndexKey(key).name) {
        throw StoreError(.invalidRequest, "\(key) is not in groupBy, so groups have no such order")
      }
    }
    let having = try request.having.map { text throws(StoreError) in
      try self.having(text, request)
    }
    let isOfObjects = !isGrouped && !request.distinct
    let isPaged = isOfObjects || !groups.isEmpty && !request.distinct
    guard isPaged || request.after == nil && request.sectionBy == nil else {
      throw StoreError(
        .invalidRequest,
        "after and sectionBy are not for distinct rows and not for one group of all objects",
        hint: "Use limit and offset, or groupBy instead of distinct"
      )
    }
    // The values of its paths tell a group from the others, as its number does for an object.
    let groupKeys =
      isPaged && !isOfObjects
      ? keys + groups.map { SortKey($0, type: .string, descends: false, mayBeMissing: true) } : []
    let page = try request.after.map { text throws(StoreError) in
      let cursor = try FetchCursor(text, of: request, in: store)
      return try pageCondition(cursor, isOfObjects ? keys : groupKeys)
    }
    let table = model.source(entity, subentities: request.subentities)
    let marks = isOfObjects ? ["t.\"_id\""] : groupKeys.map(\.kept)
    let list = (columns.map(\.sql) + marks).joined(separator: ", ")
    let head = "SELECT \(request.distinct ? "DISTINCT " : "")\(list)"
    var rows = "FROM \(table) t\(scope(at: 0).joins.sql) WHERE (\(condition.sql))"
    if let page { rows += " AND (\(page.sql))" }
    if !groups.isEmpty { rows += " GROUP BY \(groups.joined(separator: ", "))" }
    if let having { rows += " HAVING \(having.sql)" }
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
      values: condition.values + (page?.values ?? []) + (having?.values ?? []),
      columns: columns.map(\.column),
      limit: request.limit,
      offset: request.offset,
      isOfObjects: isOfObjects,
      cursorKeys: groupKeys.count,
      sections: sections,
      countSQL: "SELECT count(*) FROM (\(head) \(rows))",
      isVolatile: isVolatile,
      resultEntities: request.subentities
        ? entity.familyPosition.concreteEntities : [entity.number],
      condition: condition.condition,
      ownRead: ownRead,
      related: relatedKinds
    )
  }

  /// Returns the condition of the rows after a cursor.
  private func pageCondition(
    _ cursor: FetchCursor,
    _ keys: [SortKey]
  ) throws(StoreError) -> SQLFragment {
    let (range, missing) = try Self.position(cursor, keys)
    guard let missing else { return range }
    return SQLFragment("(\(range.sql)) OR (\(missing.sql))", range.values + missing.values)
  }

  private mutating func groupTerm(_ path: String) throws(StoreError) -> String {
    let names = path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    let expression = PredicateExpression(form: .keyPath(names, variable: nil), offset: 0)
    return try value(expression).fragment.sql
  }

  private mutating func having(
    _ text: String,
    _ request: FetchRequest
  ) throws(StoreError) -> SQLFragment {
    let predicate: Predicate
    do {
      // Positional arguments belong to the predicate, whose text counts their positions.
      let arguments =
        if case .named = request.arguments { request.arguments } else { PredicateArguments.none }
      predicate = try PredicateParser.parse(text, arguments: arguments, overGroups: true)
    } catch {
      throw StoreError(error)
    }
    groupedPaths = Set(request.groupBy)
    defer { groupedPaths = nil }
    return try compile(predicate)
  }
}
