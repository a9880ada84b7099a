import CordialValues
import JSON
import ObjectModel
import SQLite

/// The checks of the data before a migration.
extension Migrator {
  /// Checks that a plan can be executed on the store's objects.
  static func check(
    _ plan: MigrationPlan,
    _ failures: [MigrationProblem],
    _ nearest: [NearestVersion],
    _ db: SQLiteConnection
  ) throws {
    let problems = plan.problems.map { MigrationProblem($0) } + failures
    // The checks of a plan with problems are meaningless queries.
    try check(plan.problems.isEmpty ? plan.checks : [], plan, problems, nearest, db)
  }

  /// Runs checks, and throws an error that lists the checks' problems and the given problems.
  static func check(
    _ checks: [MigrationPlan.Check],
    _ plan: MigrationPlan,
    _ found: [MigrationProblem],
    _ nearest: [NearestVersion],
    _ db: SQLiteConnection
  ) throws {
    var problems = found
    for check in checks {
      let count = try db.integer(check.sql) ?? 0
      guard count > 0 else { continue }
      problems.append(
        MigrationProblem(
          path: check.path,
          message: check.message,
          count: count,
          examples: try check.examples.map { try examples($0, check.path, db) }
        )
      )
    }
    guard problems.isEmpty else { throw mismatch(plan.from, plan.to, problems, nearest) }
  }

  /// Returns example objects with their values, from a query for object numbers and JSON values.
  private static func examples(
    _ sql: String,
    _ path: String,
    _ db: SQLiteConnection
  ) throws -> [(id: String, value: JSONValue)] {
    let entity = path.split(separator: ".").first.map(String.init) ?? path
    return try db.rows(sql) { row in
      let value: JSONValue
      do {
        value = try JSONParser.parse(row.text(1))
      } catch {
        value = .string(row.text(1))
      }
      return (ObjectID(entity: entity, key: .object(row.integer(0))).description, value)
    }
  }

  /// Returns the error of a store that cannot be migrated to a model.
  static func mismatch(
    _ from: Model,
    _ to: Model,
    _ problems: [MigrationProblem],
    _ nearest: [NearestVersion] = []
  ) -> StoreError {
    let first = problems.first.map { ": \($0.text)" } ?? ""
    let more = problems.count > 1 ? " (and \(problems.count - 1) more)" : ""
    var data = [JSONMember("problems", .array(problems.map(\.json)))]
    if !nearest.isEmpty { data.append(JSONMember("nearest", .array(nearest.map(\.json)))) }
    return StoreError(
      .modelMismatch,
      "The store has model \(from.name) \(from.version) (\(from.shortHash)), which cannot become "
        + "\(to.name) \(to.version) (\(to.shortHash)) automatically\(first)\(more)",
      hint: .compareModels,
      data: data
    )
  }
}
