import CordialValues
import ObjectModel
import OrderedCollections
import PersistentHistory
import SQLite

/// The last stage of a save, and the only stage with SQL: writes the plan.
struct SaveWriter {
  let tables: StoreTables
  let db: SQLiteConnection
  let bulk: BulkLimits
  /// The names of the objects in the request, for problems of unique values.
  let labels: SaveLabels
  /// The objects whose versions this save has incremented; a save increments each version once.
  private var incremented: Set<ObjectKey> = []
  private var current = PlanProgress()

  /// The progress of writing one plan; a save may write several plans.
  private struct PlanProgress {
    /// The objects whose versions the plan incremented.
    var incremented: [ObjectKey] = []
    /// The deletes that were performed early, to free unique values.
    var deletedFirst: Set<ObjectKey> = []
    /// The link rows that the plan deletes, by object; nil until an object is deleted early.
    var endedLinks: [ObjectKey: [LinkRow]]?
    /// Whether the end state was checked for unique values, and has no violation.
    var isUnique = false
  }

  init(
    _ tables: StoreTables,
    _ db: SQLiteConnection,
    _ bulk: BulkLimits,
    labels: SaveLabels
  ) {
    self.tables = tables
    self.db = db
    self.bulk = bulk
    self.labels = labels
  }

  /// Writes a plan inside the writer's transaction.
  ///
  /// - Throws: `StoreError` when unique values are violated; `SQLiteError`.
  mutating func write(_ plan: SavePlan) throws {
    current = PlanProgress()
    if try writeInBulk(plan) { return }
    for insert in plan.graph.inserts {
      guard !plan.graph.deletes.contains(insert.key) else {
        try insertDeleted(insert)
        continue
      }
      try constrained(insert.key, plan) { writer in try writer.tables[insert.key].insert(insert) }
      if insert.version != nil { count(insert.key) }
    }
    for update in plan.graph.updates { try write(update, plan) }
    for (row, isLinked) in plan.graph.links {
      try tables[tables.layout.relationships[row.relationship]].setLink(
        isLinked,
        source: row.source,
        target: row.target
      )
    }
    for change in plan.positions {
      try tables[change.relationship].setPosition(
        change.position,
        of: change.member,
        change.owner.object,
        joins: change.joins
      )
    }
    for (entity, objects) in increments(of: plan) {
      try tables.entities[entity].increment(objects)
      for object in objects { count(ObjectKey(entity: entity + 1, object: object)) }
    }
    for key in plan.graph.deletes where !current.deletedFirst.contains(key) {
      try tables[key].delete(key.object)
    }
  }

  /// Removes the version increments of the last plan from `incremented`, after the plan's rollback.
  mutating func forgetPlan() {
    incremented.subtract(current.incremented)
    current = PlanProgress()
  }

  private mutating func reserve(counts count: Int) {
    incremented.reserveCapacity(incremented.count + count)
    current.incremented.reserveCapacity(current.incremented.count + count)
  }

  private mutating func count(_ key: ObjectKey) {
    if incremented.insert(key).inserted { current.incremented.append(key) }
  }

  /// Inserts an object that the same save deletes, so that its number is never allocated again.
  ///
  /// The object gets temporary unique values, because its real values may belong to an object that
  /// stays.
  private func insertDeleted(_ insert: PlannedInsert) throws {
    let entity = tables.layout.entity(insert.key)
    var temporary = insert
    for set in entity.uniqueSets {
      guard let column = set.columns.first(where: { $0 < entity.entity.attributes.count }) else {
        for column in set.columns { temporary.row[column] = .null }
        continue
      }
      temporary.row[column] = try temporaryValue(
        insert.key,
        column,
        entity.entity.attributes[column].type
      )
    }
    try tables[insert.key].insert(temporary)
  }

  private mutating func write(_ update: PlannedUpdate, _ plan: SavePlan) throws {
    // The log must have the values that a deleted object had before the save, so an update of such
    // an object is not written.
    guard !plan.graph.deletes.contains(update.key) else { return }
    try constrained(update.key, plan) { writer in
      let counts = !writer.incremented.contains(update.key)
      if try writer.tables[update.key].update(
        update.key.object,
        update.columns,
        increments: counts
      ) {
        writer.count(update.key)
      }
    }
  }

  /// Returns the objects whose versions are incremented without a change of a column, by the index
  /// of their entity.
  private func increments(of plan: SavePlan) -> [(Int, [Int64])] {
    guard !plan.increments.isEmpty else { return [] }
    var objects: [Int: [Int64]] = [:]
    for key in Set(plan.increments)
    where !incremented.contains(key) && !plan.graph.isInserted(key)
      && !plan.graph.deletes.contains(key)
    {
      objects[key.entity - 1, default: []].append(key.object)
    }
    return objects.sorted { $0.key < $1.key }.map { ($0.key, $0.value.sorted()) }
  }

  // MARK: Unique values

  /// Runs a statement that a unique index may refuse.
  ///
  /// SQLite checks each row when it is written, so SQLite also refuses a valid swap of two values.
  /// The writer then checks the planned end state. If the end state has no duplicates, the writer
  /// removes the values from the objects that still have them, and runs the statement again.
  private mutating func constrained(
    _ key: ObjectKey,
    _ plan: SavePlan,
    _ body: (inout SaveWriter) throws -> Void
  ) throws {
    do {
      try body(&self)
    } catch let error as SQLiteError where error.code == .constraint {
      guard
        [.constraintUnique, .constraintPrimaryKey]
          .contains(error.extendedCode)
      else { throw error }
      if !current.isUnique { try checkUniqueness(plan) }
      try freeUniqueValues(for: key, plan)
      try body(&self)
    }
  }

  /// Checks the unique values of the planned end state, once for each plan.
  private mutating func checkUniqueness(_ plan: SavePlan) throws {
    var check = UniquenessCheck(tables.layout, plan.graph, labels)
    var problems = ProblemList()
    for problem in try check.violations(includesIndexed: true) { problems.add(problem) }
    if let violation = problems.error { throw violation }
    current.isUnique = true
  }

  /// Frees the unique values of a planned object from the objects that still have them.
  ///
  /// Objects that the save deletes are deleted now. Other objects get temporary values that no
  /// object has.
  private mutating func freeUniqueValues(for key: ObjectKey, _ plan: SavePlan) throws {
    for set in tables.layout.entity(key).uniqueSets {
      let values = try set.columns.map { try plan.graph.value($0, of: key) }
      guard !values.contains(.null) else { continue }
      for holder in try tables.holders(of: set, values) where holder != key {
        if plan.graph.deletes.contains(holder) {
          try deleteFirst(holder, plan)
        } else if let update = plan.graph.update(of: holder) {
          try setTemporaryValue(update, set)
        }
      }
    }
  }

  /// Deletes an object early, after its link rows.
  ///
  /// When a link row is deleted, the triggers that update sums read the object's values.
  private mutating func deleteFirst(_ key: ObjectKey, _ plan: SavePlan) throws {
    let rows = current.endedLinks ?? endedLinks(of: plan)
    current.endedLinks = rows
    for row in rows[key] ?? [] {
      let table = tables[tables.layout.relationships[row.relationship]]
      try table.setLink(false, source: row.source, target: row.target)
    }
    try tables[key].delete(key.object)
    current.deletedFirst.insert(key)
  }

  /// Returns the link rows that a plan deletes, by both of their objects.
  private func endedLinks(of plan: SavePlan) -> [ObjectKey: [LinkRow]] {
    var rows: [ObjectKey: [LinkRow]] = [:]
    for (row, isLinked) in plan.graph.links where !isLinked {
      let owningEntity = tables.layout.relationships[row.relationship]
      for key in Set([owningEntity.holder(row.source), owningEntity.target(row.target)]) {
        rows[key, default: []].append(row)
      }
    }
    return rows
  }

  /// Gives an object a temporary value that no object has, in a column of a unique set that the
  /// save changes.
  ///
  /// The object's planned value is written later.
  private mutating func setTemporaryValue(_ update: PlannedUpdate, _ set: UniqueSet) throws {
    let key = update.key
    let entity = tables.layout.entity(key)
    let own = entity.uniqueSets.first { $0.names == set.names }
    let changing = try (own?.columns ?? []).filter { column in
      guard let planned = update.columns[column: column] else { return false }
      return try tables[key].value(column, of: key.object) != planned
    }
    // A to-one that becomes null would lose its sort position.
    let attributes = changing.filter { $0 < entity.entity.attributes.count }
    let optional = attributes.first { entity.entity.attributes[$0].optional }
    guard let column = optional ?? attributes.first ?? changing.first else { return }
    let value =
      column == attributes.first && optional == nil
      ? try temporaryValue(key, column, entity.entity.attributes[column].type) : .null
    let change = ColumnChange(column: column, value: value)
    // The first write increments the version, so that the log has the former value in the row of
    // that version.
    if try tables[key].update(key.object, [change], increments: !incremented.contains(key)) {
      count(key)
    }
  }

  /// Returns a value that no object of the entity has, close to the stored values so that sums do
  /// not overflow.
  private func temporaryValue(
    _ key: ObjectKey,
    _ column: Int,
    _ type: AttributeType
  ) throws -> AttributeValue {
    switch type.codec.storage {
    case .text: .string("\u{1}\(key.object)")
    case .blob: .binary(Array("\u{1}\(key.object)".utf8))
    case .integer: .integer(try tables[key].leastInteger(column) &- 1)
    case .real: .double(try tables[key].leastDouble(column) - 1)
    }
  }

  // MARK: In bulk

  /// Writes many inserts, their link rows and increments of versions with triggers off, and logs
  /// them.
  ///
  /// This method writes only plans for which the triggers would only log the changes.
  ///
  /// - Returns: Whether the plan was written.
  private mutating func writeInBulk(_ plan: SavePlan) throws -> Bool {
    let graph = plan.graph
    guard graph.inserts.count >= bulk.rowsMin, graph.updates.isEmpty, graph.deletes.isEmpty,
      plan.positions.isEmpty, tables.logsInBulk(graph, plan.increments)
    else { return false }
    let changesBefore = db.totalChanges
    var written = 0
    for run in graph.runs { try insert(graph.inserts[run], plan) }
    for (entity, numbers) in graph.insertedNumbers {
      try tables.entities[entity].logInserts(numbers)
    }
    let restored = graph.restoredNumbers
    reserve(counts: restored.reduce(0) { $0 + $1.numbers.count })
    for (entity, numbers) in restored {
      try tables.entities[entity].logInserts(numbers)
      for number in numbers { count(ObjectKey(entity: entity + 1, object: number)) }
    }
    written += graph.inserts.count
    for (row, isLinked) in graph.links where isLinked {
      let table = tables[tables.layout.relationships[row.relationship]]
      try table.setLink(true, source: row.source, target: row.target, triggers: .off)
      try table.logLink(source: row.source, target: row.target)
      written += 1
    }
    for (entity, objects) in increments(of: plan) {
      try tables.entities[entity].increment(objects, triggers: .off)
      try tables.entities[entity].logIncrements(objects)
      written += objects.count
    }
    // SQLite counts changes in 32 bits, and the count wraps around.
    let changes = Int32(truncatingIfNeeded: db.totalChanges &- changesBefore)
    guard changes == Int32(truncatingIfNeeded: 2 * written) else {
      throw StoreError(
        .internalError,
        "The save wrote changes that the log does not have, and was rolled back",
        hint: "Report this, and save fewer than \(bulk.rowsMin) inserts at a time"
      )
    }
    return true
  }

  /// Inserts rows of one table, several with each statement.
  private mutating func insert(_ rows: ArraySlice<PlannedInsert>, _ plan: SavePlan) throws {
    guard let first = rows.first else { return }
    let table = tables[first.key]
    var rest = rows
    while !rest.isEmpty {
      let several = rest.prefix(table.rowsAtOnce)
      rest = rest.dropFirst(several.count)
      if several.count == table.rowsAtOnce, several.count > 1 {
        do {
          try table.insert(several, triggers: .off)
          continue
        } catch let error as SQLiteError where error.code == .constraint {
          // No row was written. Inserts of single rows find the row that SQLite refuses.
        }
      }
      for row in several {
        try constrained(row.key, plan) { writer in
          try writer.tables[row.key].insert(row, triggers: .off)
        }
      }
    }
  }
}
