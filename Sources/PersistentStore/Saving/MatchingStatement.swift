import CordialValues
import ObjectModel
import PersistentHistory
import SQLite
import StoreLayout

/// An update by predicate that SQLite performs as one statement.
struct MatchingStatement {
  let assignments: [MatchingChanges.Assignment]
  let matches: FetchCompiler.Matches
  /// Whether the update changes so many objects that one statement logs them.
  let logsInBulk: Bool

  /// Writes the update and its rows of the log.
  func write(_ db: SQLiteConnection, _ model: Model, _ triggers: TriggerControl) throws {
    let entity = matches.entity
    let table = SQLNames.quoted(entity.name)
    var computed = matches.computed[...]
    let columns = assignments.map { assignment in
      let value = assignment.value.map { SQLFragment("?", [$0]) } ?? computed.removeFirst()
      return (name: assignment.attribute.name, value: value)
    }
    let sets = columns.map { name, value in
      SQLFragment("\(SQLNames.quoted(name)) = \(value.sql)", value.values)
    }
    let set = SQLFragment.joined(sets, separator: ", ")
    let differences = columns.map { name, value in
      SQLFragment("t.\(SQLNames.quoted(name)) IS NOT \(value.sql)", value.values)
    }
    let differs = SQLFragment.joined(differences, separator: " OR ")
    let condition = "WHERE (\(matches.condition.sql)) AND (\(differs.sql))"
    let conditionValues = matches.condition.values + differs.values
    let update = SQLFragment(
      "UPDATE \(table) AS t SET \(set.sql), \"_version\" = \"_version\" + 1 \(condition)",
      set.values + conditionValues
    )
    guard logsInBulk, BulkLog.suffices(for: entity, in: model) else {
      return try triggers.run(try PreparedStatement(db, bound: update), triggers: .on)
    }
    let before = BulkLog.before(
      columns.map { ($0.name, $0.value.sql) },
      of: entity,
      row: "t."
    )
    try PreparedStatement(
      db,
      bound: SQLFragment(
        """
        INSERT INTO cordial_change(entity, object, kind, version, before)
        SELECT \(entity.number), t."_id", \(ChangeKind.update.rawValue),
          t."_version" + 1, \(before) FROM \(table) t \(condition)
        """,
        columns.flatMap(\.value.values) + conditionValues
      )
    ).run()
    try triggers.run(try PreparedStatement(db, bound: update), triggers: .off)
  }
}
