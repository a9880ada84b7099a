package import ObjectModel
package import SQLite
import StoreLayout

extension HistoryLog {
  /// Removes from the log the deletions that triggers logged for rows that still exist.
  ///
  /// - Parameters:
  ///   - after: The last change before the changes to check.
  ///   - model: The store's model.
  ///   - db: A connection inside a transaction.
  /// - Throws: `SQLiteError`.
  package static func removeDeletionsOfPresentRows(
    after: Int64,
    _ model: Model,
    _ db: SQLiteConnection
  ) throws {
    for entity in model.concreteEntities { _ = try ReplacedRows(db, entity, after: after) }
  }
}

/// Rows of an entity that an external client replaced under their numbers.
///
/// SQLite fires no delete trigger for a row that `INSERT OR REPLACE` removes. A trigger before each
/// insert logs the rows that the statement may remove, as deleted; an `INSERT OR IGNORE` or an
/// upsert then removes none of them. Sealing deletes such false rows of the log, and turns the
/// deletion and the insert of a replaced row into one update of the values that differ.
struct ReplacedRows {
  private let db: SQLiteConnection
  private let entity: EntityDescription
  /// The last change before those of the external client.
  private let after: Int64
  /// The number of the first logged deletion of each replaced row, by object.
  private var deletions: [Int64: Int64] = [:]

  /// Finds the replaced rows, and removes false deletions from the log.
  ///
  /// - Complexity: Linear in the changes of all entities that are logged after `after`.
  init(_ db: SQLiteConnection, _ entity: EntityDescription, after: Int64) throws {
    self.db = db
    self.entity = entity
    self.after = after
    let present =
      "EXISTS (SELECT 1 FROM \(SQLNames.quoted(entity.name)) AS present "
      + "WHERE present.\"_id\" = cordial_change.object)"
    let deleted = try rows(where: "kind = 2 AND \(present)")
    guard !deleted.isEmpty else { return }
    var insertions: [Int64: (first: Int64, last: Int64)] = [:]
    for row in try rows(where: "kind = 0") {
      insertions[row.object, default: (row.number, row.number)].last = row.number
    }
    let removal = try PreparedStatement(db, Self.removal)
    for row in deleted {
      guard let insertion = insertions[row.object], insertion.last > row.number else {
        try deleteLoggedRemovals(of: row.object, before: row.number, removal)
        removal.bind(row.number, at: 1)
        try removal.run()
        continue
      }
      // A row that the external client inserted and then replaced stays an insert.
      guard insertion.first > row.number, deletions[row.object] == nil else { continue }
      deletions[row.object] = row.number
    }
  }

  /// Removes from the log that an object left ordered lists.
  ///
  /// The trigger logged them before the false deletion.
  private func deleteLoggedRemovals(
    of object: Int64,
    before deletion: Int64,
    _ removal: PreparedStatement
  ) throws {
    let toOnes = entity.relationships.count { !$0.toMany }
    guard toOnes > 0 else { return }
    // A statement displaces at most one row by number, one by identity and one by each unique set.
    let limit = (entity.unique.count + 2) * (toOnes + 1)
    let rows = try PreparedStatement(
      db,
      """
      SELECT \(HistoryRow.columns) FROM cordial_change
      WHERE number > \(after) AND number < ? ORDER BY number DESC LIMIT \(limit)
      """
    )
    rows.bind(deletion, at: 1)
    defer { rows.reset() }
    var removals: [Int64] = []
    while try rows.step(), case let row = try HistoryRow(rows),
      row.kind == .delete || row.isMemberRemoval
    {
      if row.isMemberRemoval, row.other == object { removals.append(row.number) }
    }
    for number in removals {
      removal.bind(number, at: 1)
      try removal.run()
    }
  }

  private static let removal = "DELETE FROM cordial_change WHERE number = ?"

  /// Returns the changes of the entity's objects that the external client made, oldest first.
  private func rows(where condition: String) throws -> [(number: Int64, object: Int64)] {
    // The plus keeps SQLite from reading all deletions of the entity by their index.
    let statement = try PreparedStatement(
      db,
      """
      SELECT number, object FROM cordial_change
      WHERE number > \(after) AND +entity = \(entity.number) AND \(condition) ORDER BY number
      """
    )
    defer { statement.reset() }
    var rows: [(number: Int64, object: Int64)] = []
    while try statement.step() { rows.append((statement.integer(0), statement.integer(1))) }
    return rows
  }

  /// Turns the rows of the log about each replaced row into one update.
  ///
  /// The versions must be incremented and the derived values updated before.
  ///
  /// - Complexity: Linear in the changes that are logged after `after`.
  func log(_ model: Model) throws {
    guard !deletions.isEmpty else { return }
    // Rows with `other` log link rows and sort positions.
    let later = try rows(where: "other IS NULL").filter { row in
      deletions[row.object].map { row.number > $0 } ?? false
    }
    let removal = try PreparedStatement(db, Self.removal)
    for row in later {
      removal.bind(row.number, at: 1)
      try removal.run()
    }
    let update = try PreparedStatement(
      db,
      """
      UPDATE cordial_change SET kind = 1, (version, before) = (
        SELECT present."_version", \(differences)
        FROM (SELECT '{' || substr(cordial_change.before, 2) || '}' AS old)
          AS logged, \(SQLNames.quoted(entity.name)) AS present
        WHERE present."_id" = cordial_change.object)
      WHERE number = ?
      """
    )
    for number in deletions.values.sorted() {
      update.bind(number, at: 1)
      try update.run()
    }
    for (toOne, toMany) in model.orderedInverses(of: entity) {
      try logMoves(toOne, toMany, model)
    }
  }

  /// SQL for the former values of the columns in which the current row differs, in the log's form.
  private var differences: String {
    let pieces = entity.columns.map { column in
      let old = "logged.old -> \(SQLNames.literal("$.\"\(column)\""))"
      return """
        CASE WHEN \(old) IS NOT '' || \(LogTriggers.json(column, of: entity, row: "present."))
        THEN \(SQLNames.literal(",\"\(column)\":")) || (\(old)) ELSE '' END
        """
    }
    return pieces.isEmpty ? "''" : pieces.joined(separator: " || ")
  }

  /// Logs that replaced rows moved to the end of their owners' lists, instead of leaving the lists.
  ///
  /// The to-ones of these rows are unchanged. Nothing is logged where a row was last already.
  private func logMoves(
    _ toOne: RelationshipDescription,
    _ toMany: RelationshipDescription,
    _ model: Model
  ) throws {
    let left = SQLNames.literal(",\"\(toMany.name)\":{\"left\":")
    let position = "present.\(SQLNames.quoted(SQLNames.positionColumn(toOne.name)))"
    let owners = model.entity(toOne.destination).familyPosition.concreteEntities.map { kind in
      "EXISTS (SELECT 1 FROM \(SQLNames.quoted(model.entity(kind).name)) AS owner "
        + "WHERE owner.\"_id\" = logged.object)"
    }
    let statement = try PreparedStatement(
      db,
      """
      SELECT logged.number, logged.other, logged.before = \(left) || \(position) || '}'
      FROM cordial_change AS logged
      JOIN \(SQLNames.quoted(entity.name)) AS present ON present."_id" = logged.other
      WHERE logged.number > \(after) AND +logged.entity = \(toOne.destination)
        AND logged.kind = 1 AND logged.version IS NULL
        AND substr(logged.before, 1, length(\(left))) = \(left)
        AND logged.object = present.\(SQLNames.quoted(toOne.name))
        AND (\(owners.joined(separator: " OR ")))
      """
    )
    defer { statement.reset() }
    var moved: [Int64] = []
    var unmoved: [Int64] = []
    while try statement.step() {
      guard deletions[statement.integer(1)] != nil else { continue }
      if statement.integer(2) == 1 {
        unmoved.append(statement.integer(0))
      } else {
        moved.append(statement.integer(0))
      }
    }
    let removal = try PreparedStatement(db, Self.removal)
    for number in unmoved {
      removal.bind(number, at: 1)
      try removal.run()
    }
    let update = try PreparedStatement(
      db,
      """
      UPDATE cordial_change SET before = replace(before, '{"left":', '{"moved":')
      WHERE number = ?
      """
    )
    for number in moved {
      update.bind(number, at: 1)
      try update.run()
    }
  }
}
