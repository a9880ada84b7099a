import CordialValues
package import JSON
package import ObjectModel
import PersistentHistory
import SQLite

/// The way in which SQLite executes a fetch.
package struct FetchExplanation: Sendable {
  /// The statement.
  package let sql: String
  /// The values that are bound in the statement, in order, as JSON.
  package let values: [JSONValue]
  /// SQLite's query plan, a line for each step, indented by its depth.
  package let plan: [String]
  /// Whether SQLite sorts the whole result, because no index has the order of the request.
  package let sortsWholly: Bool
}

extension StoreSnapshot {
  /// Checks that a request can be compiled, without a store.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - isValues: Whether the request is for rows of values.
  ///   - model: The model of the request.
  /// - Throws: As `plan(_:)`.
  package static func check(
    _ request: FetchRequest,
    isValues: Bool,
    of model: Model
  ) throws(StoreError) {
    if isValues {
      _ = try ValuesPlan.compile(request, in: .withoutStore(model))
    } else {
      _ = try FetchPlan.compile(request, in: .withoutStore(model))
    }
  }

  /// Explains the statement for a request.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - isCount: Whether the request is for the number of objects only.
  ///   - isValues: Whether the request is for rows of values.
  /// - Returns: The statement with its plan.
  /// - Throws: As `plan(_:)`; `SQLiteError`.
  package func explain(
    _ request: FetchRequest,
    isCount: Bool,
    isValues: Bool
  ) throws -> FetchExplanation {
    var window: [AttributeValue] = [
      .integer(request.limit.map { Int64($0) } ?? -1), .integer(Int64(request.offset)),
    ]
    let sql: String
    let values: [AttributeValue]
    if isValues {
      let plan = try valuesPlan(request)
      (sql, values) = (plan.sql, plan.values)
    } else {
      let plan = try plan(request)
      (sql, values) = isCount ? (plan.countSQL, plan.wholeValues) : (plan.rowsSQL, plan.values)
      if isCount { window = [] }
    }
    let lines = try QueryPlan.lines(of: sql, statement)
    return FetchExplanation(
      sql: sql,
      values: (values + window).map { WireValue.json($0) },
      plan: lines,
      sortsWholly: !request.orderKeys.isEmpty && !request.isGrouped && !request.distinct
        && QueryPlan.sortsWholly(lines)
    )
  }
}
