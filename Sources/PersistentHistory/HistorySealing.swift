package import ObjectModel
package import SQLite
import StoreLayout

/// The writer of the log, which ends each transaction with the entry of its commit.
package final class HistoryWriter {
  /// The author of commits that seal the changes of external clients.
  package static let externalAuthor = "external"

  private let model: Model
  private let db: SQLiteConnection
  private let append: PreparedStatement
  /// Runs statements with triggers on or off.
  package let triggers: TriggerControl
  package let dangling: DanglingReferences
  /// The statements for derived values that triggers do not compute.
  package let derived: DerivedValues

  /// Prepares writing to the log.
  ///
  /// - Parameters:
  ///   - db: The writer's connection.
  ///   - model: The store's model.
  /// - Throws: `SQLiteError` when the log's tables are missing.
  package init(_ db: SQLiteConnection, model: Model) throws {
    self.model = model
    self.db = db
    triggers = TriggerControl(db)
    dangling = DanglingReferences(db, model: model)
    derived = DerivedValues(db, model: model, triggers: triggers)
    append = try PreparedStatement(
      db,
      """
      INSERT INTO cordial_transaction
        (number, lastChange, mark, time, author, context, process, client, answer)
      VALUES (?1, (SELECT coalesce(max(number), 0) FROM cordial_change), ?2, ?3, ?4, ?5, ?6, ?7, ?8)
      """
    )
  }

  /// Ensures that new changes get greater numbers than all former changes.
  ///
  /// - Throws: `SQLiteError`.
  package func continueChangeNumbers() throws {
    try db.execute(
      """
      INSERT INTO cordial_change(number, entity, object, kind)
      SELECT max(lastChange), 0, 0, 1 FROM cordial_transaction
      HAVING max(lastChange) > coalesce((SELECT max(number) FROM cordial_change), 0)
      """
    )
  }

  /// Writes the entry of a new commit with all changes logged since the last commit.
  ///
  /// - Parameters:
  ///   - number: The number of the new commit, one more than the number of the last commit.
  ///   - stamp: The metadata of the new commit.
  /// - Throws: `SQLiteError`.
  package func writeEntry(_ number: Int64, _ stamp: CommitStamp) throws {
    append.bind(number, at: 1)
    append.bind(Int64(stamp.mark), at: 2)
    append.bind(stamp.time, at: 3)
    append.bind(stamp.author, at: 4)
    append.bind(stamp.context, at: 5)
    append.bind(stamp.process, at: 6)
    append.bind(stamp.client, at: 7)
    append.bind(stamp.answer, at: 8)
    try append.run()
  }

  /// Seals the changes of external SQLite clients as one commit of the author `external`.
  ///
  /// The method also deletes logged changes that did not happen, and increments the versions of
  /// changed objects.
  ///
  /// - Parameters:
  ///   - head: The newest commit, which unsealed changes follow.
  ///   - stamp: The time and mark of the new commit.
  /// - Throws: `SQLiteError`.
  package func seal(_ head: HistoryHead, _ stamp: CommitStamp) throws {
    // An external update that changed nothing logs a row without former values. Such a row must be
    // deleted, because it has the form of Cordial's version increments and would count as an
    // increment.
    try db.execute(
      """
      DELETE FROM cordial_change
      WHERE number > \(head.lastChange) AND kind = 1 AND version IS NOT NULL AND before = ''
      """
    )
    var replaced: [ReplacedRows] = []
    for entity in model.concreteEntities {
      let table = SQLNames.quoted(entity.name)
      // Link rows are logged under the entity that declares the relationship, which may be an
      // ancestor.
      let owningEntities = entity.familyPosition.ancestors.map(String.init).joined(separator: ", ")
      let range = "number > \(head.lastChange) AND entity = \(entity.number)"
      replaced.append(try ReplacedRows(db, entity, after: head.lastChange))
      // A new object with the number of a deleted object continues the versions of the deleted
      // object.
      try triggers.execute(
        """
        UPDATE \(table) SET "_version" = 1 + (SELECT max(version) FROM cordial_change
          WHERE entity = \(entity.number) AND kind = 2 AND object = \(table)."_id")
        WHERE "_id" IN (SELECT object FROM cordial_change WHERE \(range) AND kind = 0)
          AND EXISTS (SELECT 1 FROM cordial_change
            WHERE entity = \(entity.number) AND kind = 2 AND object = \(table)."_id")
        """
      )
      try triggers.execute(
        """
        UPDATE \(table) SET "_version" = "_version" + 1 WHERE "_id" IN (
          SELECT object FROM cordial_change WHERE \(range) AND kind = 1
            AND version IS NOT NULL AND before <> ''
          UNION ALL SELECT object FROM cordial_change WHERE number > \(head.lastChange)
            AND entity IN (\(owningEntities)) AND kind IN (3, 4))
          AND "_id" NOT IN (SELECT object FROM cordial_change WHERE \(range) AND kind IN (0, 2))
        """
      )
      // The log row of an update gets the version that the update creates, so that a save by a
      // client with an older version conflicts. If the object was deleted after the update, sealing
      // did not increment the object's version. The log row then gets the version at the deletion
      // plus one.
      try db.execute(
        """
        UPDATE cordial_change SET version = coalesce(
          (SELECT 1 + d.version FROM cordial_change d
            WHERE d.kind = 2 AND d.entity = \(entity.number) AND d.object = cordial_change.object
              AND d.number > cordial_change.number ORDER BY d.number LIMIT 1),
          (SELECT "_version" FROM \(table) WHERE "_id" = cordial_change.object), version)
        WHERE \(range) AND kind = 1 AND version IS NOT NULL
        """
      )
    }
    try incrementTargetVersions(after: head.lastChange)
    try derived.refresh(after: head.lastChange, isForeign: true)
    for rows in replaced { try rows.log(model) }
    try writeEntry(head.number + 1, stamp)
    if !head.mayDangle { try dangling.markIfNeeded(after: head.lastChange) }
  }

  /// Increments the versions of the targets of changed link rows, if the relationship has an
  /// inverse.
  private func incrementTargetVersions(after: Int64) throws {
    for entity in model.entities {
      for relationship in entity.linkRelationships where relationship.inverse != nil {
        for kind in model.entity(relationship.destination).familyPosition.concreteEntities {
          let target = SQLNames.quoted(model.entity(kind).name)
          try triggers.execute(
            """
            UPDATE \(target) SET "_version" = "_version" + 1 WHERE "_id" IN (
              SELECT other FROM cordial_change WHERE number > \(after) AND kind IN (3, 4)
                AND entity = \(entity.number)
                AND before = \(SQLNames.literal(relationship.name)))
              AND "_id" NOT IN (
                SELECT object FROM cordial_change WHERE number > \(after) AND entity = \(kind)
                  AND (kind = 0 OR kind = 1 AND version IS NOT NULL))
            """
          )
        }
      }
    }
  }
}
