package import ObjectModel
package import SQLite
import StoreLayout

extension HistoryLog {
  /// Removes from the log the deletions of rows that still exist.
  ///
  /// - Parameters:
  ///   - after: The number of the last change before the changes to check.
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

/// The rows of an entity that an external client replaced without changing their object numbers.
///
/// SQLite fires no delete trigger for a row that `INSERT OR REPLACE` removes. A trigger before each
/// insert therefore logs a deletion of each row that the statement may remove. An `INSERT OR
/// IGNORE` or an upsert removes no row, so that these deletions are false. Sealing removes the
/// false deletions. It also merges the deletion and the insert of a replaced row into one update of
/// the values that differ.
struct ReplacedRows {
  private let db: SQLiteConnection
  private let entity: EntityDescription
  /// The number of the last change before the external client's changes.
  private let after: Int64
  /// The change number of each replaced row's first logged deletion, by object number.
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

  /// Removes log rows that falsely record an object's removal from ordered lists.
  ///
  /// The trigger logged these rows directly before the false deletion.
  private func deleteLoggedRemovals(
    of object: Int64,
    before deletion: Int64,
    _ removal: PreparedStatement
  ) throws {
    let toOnes = entity.relationships.count { !$0.toMany }
    guard toOnes > 0 else { return }
    // An inserted row replaces at most one row with the same object number, one row with the same
    // identity, and one row for each unique set of attributes.
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

  /// Returns the external client's changes of the entity's objects, oldest first.
  private func rows(where condition: String) throws -> [(number: Int64, object: Int64)] {
    // The plus sign keeps SQLite from using the index, which would read all deletions of the
    // entity.
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

  /// Merges the log rows of each replaced row into one update.
  ///
  /// The caller must first increment the versions and update the derived values.
  ///
  /// - Complexity: Linear in the changes that are logged after `after`.
  func log(_ model: Model) throws {
    guard !deletions.isEmpty else { return }
    // Log rows with a value in `other` describe link rows and sort positions, and remain.
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

  /// SQL for the former values that differ from the current row, in the log's format.
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

  /// Changes the logged removal of each replaced row from its list into a move to the end of the
  /// list.
  ///
  /// The method handles rows whose to-one is unchanged. If the row was already the last of its
  /// list, the method deletes the log row.
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
