import CordialValues
import Interruptions
import JSON
import ObjectModel
import OrderedCollections
import PersistentHistory
import SQLite

/// Undo and redo: each group is planned from the log, and written like a save.
extension SavePipeline {
  /// Reverts groups of commits, newest first.
  ///
  /// - Parameters:
  ///   - revert: The groups to revert.
  ///   - request: The request.
  ///   - undoLog: The undo and redo history.
  ///   - head: The newest commit.
  ///   - derive: Updates the derived values that no trigger updates.
  /// - Returns: The outcome.
  /// - Throws: `StoreError`, or `SQLiteError` when SQLite failed; the caller rolls back.
  func revert(
    _ revert: SaveRequest.Revert,
    _ request: SaveRequest,
    _ undoLog: UndoLog,
    _ head: HistoryHead,
    _ derive: () throws -> Void
  ) throws -> Outcome {
    let groups = try groups(revert, request, undoLog)
    var count = 0
    for range in groups.lazy.flatMap(\.changes) {
      guard range.count <= request.affectedMax - count else {
        throw StoreError.tooMany(
          "affected",
          request.affectedMax,
          "changes to undo or redo",
          hint: "Nothing was written; undo fewer groups"
        )
      }
      count += range.count
    }
    var outcome = Outcome(result: SaveResult())
    var answer = RevertedObjects()
    var conflicts: [SaveConflict] = []
    var written = WrittenObjects()
    // All groups share one writer, because an undo is one save and increments each version once.
    var writer = SaveWriter(tables, db, bulk, labels: SaveLabels())
    var indexes = UniqueIndexes(db, tables.layout.model)
    let start = try undoLog.lastLogged()
    for group in groups {
      let before = try undoLog.lastLogged()
      let (rows, net) = try undoLog.changes(of: group)
      let stored = DatabaseObjects(tables, identifier: facts.identifier)
      var search = RevertObstacleSearch(
        tables.layout,
        stored,
        undoLog,
        groups: groups,
        group: group,
        head: head,
        request
      )
      // The newest commit has no obstacles, because no change follows it. An older group may have
      // obstacles: commits of other authors, and changes by the revert of a newer group.
      let isNewest = try group == groups.first && undoLog.isNewest(group, head)
      let obstacles = isNewest ? RevertObstacles() : try search.find(net, rows)
      conflicts += search.conflicts
      if conflicts.isEmpty {
        // An external client may have written link rows before it inserted the objects that the
        // rows reference. The group that inserted the objects may therefore lack these link rows.
        let hasOwnLinks = isNewest && request.author != HistoryWriter.externalAuthor
        let plan = try plan(
          rows,
          net,
          obstacles,
          stored,
          isNewest: isNewest,
          hasOwnLinks: hasOwnLinks
        )
        // The values of several groups are validated after all groups are written.
        if groups.count == 1 { try validate(SavePlan(graph: plan.graph)) }
        try answer.noteDeleted(plan, tables)
        if groups.count == 1 {
          try writer.write(plan)
        } else {
          try write(plan, with: &writer, &indexes)
        }
        answer.note(net, obstacles, plan, tables.layout)
        written.add(plan, withObjects: groups.count > 1)
        if groups.count == 1 { answer.planned = plan.graph }
        outcome.leavesDangling = outcome.leavesDangling || plan.leavesDangling
      }
      outcome.reverted.append(
        (group, try ChangeRange(after: before, through: undoLog.lastLogged()))
      )
    }
    try Self.check(
      conflicts,
      ProblemList(),
      hint: "The merge policy storeTrump leaves the changes of other saves and reverts the rest"
    )
    try validate(written, withUnique: indexes.areRelaxed)
    if indexes.areRelaxed {
      try indexes.restore()
      // The triggers logged deletes of rows with equal unique values, but these rows still exist.
      try HistoryLog.removeDeletionsOfPresentRows(after: start, tables.layout.model, db)
    }
    try derive()
    let builder = SaveResultBuilder(tables: tables, request: request, reported: [:])
    outcome.result.objects = try answer.objects(builder, tables)
    outcome.result.undone = groups.count
    outcome.result.count = groups.count
    if request.isDryRun { outcome.deleted = answer.deletedNames }
    return outcome
  }

  /// Writes the plan of one of several groups.
  ///
  /// If the plan violates uniqueness, this method relaxes the indexes. The end state of all groups
  /// is validated after all of them are written.
  private func write(
    _ plan: SavePlan,
    with writer: inout SaveWriter,
    _ indexes: inout UniqueIndexes
  ) throws {
    do {
      try db.savepoint { try writer.write(plan) }
    } catch let error as StoreError where error.code == .uniquenessViolation {
      writer.forgetPlan()
      try indexes.relax(
        Set((plan.graph.inserts.map(\.key) + plan.graph.updates.map(\.key)).map(\.entity))
      )
      try writer.write(plan)
    }
  }

  private func groups(
    _ revert: SaveRequest.Revert,
    _ request: SaveRequest,
    _ undoLog: UndoLog
  ) throws -> [RevertGroup] {
    let (groups, reachesEnd) = try undoLog.groups(
      revert.direction,
      author: request.author,
      context: revert.context,
      count: revert.count
    )
    guard groups.isEmpty, reachesEnd else { return groups }
    throw StoreError(
      .historyExpired,
      "The history does not reach back to the next group",
      hint: "Undo and redo reach as far back as the retained history",
      data: [JSONMember("oldest", .string(try commits.oldest().description))]
    )
  }

  private func plan(
    _ rows: [HistoryRow],
    _ net: [HistoryChange],
    _ obstacles: RevertObstacles,
    _ stored: DatabaseObjects,
    isNewest: Bool,
    hasOwnLinks: Bool
  ) throws -> SavePlan {
    var planner = SavePlanner(tables.layout, stored)
    try planner.plan(
      reverting: rows,
      net,
      obstacles,
      isNewest: isNewest,
      hasOwnLinks: hasOwnLinks
    ) { key in try tables[key].lastVersion(ofDeleted: key.object) }
    return planner.plan
  }

  /// Validates the written objects in the end state of all groups.
  ///
  /// With `withUnique`, this method also validates the unique values that an index usually checks.
  private func validate(_ written: WrittenObjects, withUnique: Bool) throws {
    var plan = SavePlan(
      graph: PlannedGraph(tables.layout, DatabaseObjects(tables, identifier: facts.identifier))
    )
    for key in written.keys where withUnique || tables.layout.entity(key).isChecked {
      guard let row = try tables[key].row(of: key.object) else { continue }
      plan.graph.set(
        row.enumerated().map { ColumnChange(column: $0.offset, value: $0.element) },
        of: key
      )
    }
    plan.touched = written.touched
    try validate(plan, withUnique: withUnique)
  }

  private func validate(_ plan: SavePlan, withUnique: Bool = false) throws {
    let interruption = Interruption(secondsMax: SaveRequest.defaultReadingSecondsMax)
    interruption.begin()
    var validator = SaveValidator(
      plan,
      tables.layout,
      labels: SaveLabels(),
      problems: ProblemList(),
      skippedParts: SkippedParts(),
      interruption: interruption,
      checksAll: true
    )
    try validator.validate(withUnique: withUnique)
    if let error = validator.problems.error { throw error }
  }
}

/// The objects that a revert wrote.
private struct WrittenObjects {
  var keys: OrderedKeySet = []
  /// The to-manys whose number of members may now violate the model.
  var touched: [PlannedList: RelationshipLayout] = [:]

  mutating func add(_ plan: SavePlan, withObjects: Bool) {
    if withObjects {
      for insert in plan.graph.inserts { keys.append(insert.key) }
      for update in plan.graph.updates { keys.append(update.key) }
    }
    touched.merge(plan.touched) { first, _ in first }
  }
}

/// The objects that a revert changed, for the result.
struct RevertedObjects {
  /// The columns to return for each object, nil for all, in the order in which the objects were
  /// found.
  private var columns: OrderedDictionary<ObjectKey, Set<String>?> = [:]
  /// The names of deleted objects, which cannot be read after the delete.
  private var deleted: [ObjectKey: ObjectName] = [:]
  /// The written graph if the revert has a single group.
  ///
  /// Restored objects have the graph's values, except for derived values.
  var planned: PlannedGraph?

  /// The names of the objects that do not exist after all groups are reverted.
  var deletedNames: [ObjectName] { deleted.sorted { $0.key < $1.key }.map(\.value) }

  /// Records the names of the objects that a plan deletes, while the objects exist.
  mutating func noteDeleted(_ plan: SavePlan, _ tables: StoreTables) throws {
    let builder = SaveResultBuilder(tables: tables, request: SaveRequest(), reported: [:])
    deleted.reserveCapacity(deleted.count + plan.graph.deletes.count)
    for key in plan.graph.deletes { deleted[key] = try builder.name(of: key) }
    guard !deleted.isEmpty else { return }
    for insert in plan.graph.inserts { deleted[insert.key] = nil }
  }

  mutating func note(
    _ net: [HistoryChange],
    _ obstacles: RevertObstacles,
    _ plan: SavePlan,
    _ layout: SaveLayout
  ) {
    if columns.isEmpty { columns.reserveCapacity(net.count) }
    for change in net where !obstacles.objects.contains(change.key) {
      if change.kind == .delete {
        columns[change.key] = .some(nil)
      } else {
        add(change.properties, of: change.key)
      }
    }
    for (holder, property) in obstacles.referencesToDeleted { add([property], of: holder) }
    for (key, names) in plan.followed.sorted(by: { $0.key < $1.key }) { add(names, of: key) }
    for key in plan.increments.sorted() { add([], of: key) }
  }

  private mutating func add(_ names: Set<String>, of key: ObjectKey) {
    switch columns[key] {
    case nil: columns[key] = .some(names)
    case .some(nil): break
    case .some(let known?): columns[key] = .some(known.union(names))
    }
  }

  /// Returns the objects with their stored values.
  ///
  /// An object that was inserted and deleted within the groups is omitted.
  func objects(_ builder: SaveResultBuilder, _ tables: StoreTables) throws -> [SavedObject] {
    // Restored objects come in the order of their inserts, so that few of them need a lookup.
    var next = 0
    func insertIndex(of key: ObjectKey, _ graph: PlannedGraph) -> Int? {
      guard next < graph.inserts.count, graph.inserts[next].key == key else {
        return graph.insertIndex(of: key)
      }
      defer { next += 1 }
      return next
    }
    return try columns.compactMap { key, names in
      if planned != nil, let name = deleted[key] { return SavedObject(id: name, version: nil) }
      let entity = tables.layout.entity(key)
      if !entity.hasDerived, let planned, let index = insertIndex(of: key, planned),
        let version = planned.inserts[index].version
      {
        let row = planned.inserts[index].row
        return SavedObject(
          id: builder.name(of: key, row),
          version: version,
          values: try builder.columns(names, row, of: key)
        )
      }
      guard let version = try tables[key].version(of: key.object) else {
        return deleted[key].map { SavedObject(id: $0, version: nil) }
      }
      let wanted = names?.union(entity.derived)
      return SavedObject(
        id: try builder.name(of: key),
        version: version,
        values: try builder.columns(wanted, of: key)
      )
    }
  }
}
