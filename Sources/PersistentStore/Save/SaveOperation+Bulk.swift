import CordialValues
import GRDB
import ObjectModel
import PersistentHistory

/// What SQLite carries out, or logs, as one statement.
extension SaveOperation {
  /// Whether there are so many inserts, and nothing follows from any, that they are logged at once.
  var isBulkInsert: Bool {
    request.inserts.count - adopted.count >= environment.bulk.rowsMin
      && tables.allSatisfy { given(to: $0.entity) == nil || $0.logsInsertsInBulk(model) }
  }

  /// Whether nothing but inserts can be written, so that what they need not fire may stay off.
  var writesInsertsOnly: Bool {
    request.updates.isEmpty && request.deletes.isEmpty && request.deleteMatching == nil
      && request.updateMatching == nil && request.revert == nil
  }

  /// Makes sure that what was written without triggers is logged: a row and its entry each.
  func checkUnwatched(since changesBefore: Int) throws {
    // SQLite counts in 32 bits, and goes on from the least number behind the greatest.
    let changes = Int32(truncatingIfNeeded: db.totalChangesCount &- changesBefore)
    guard triggers.isOn || changes == 2 * request.inserts.count else {
      throw StoreError(
        .internalError,
        "The save wrote something that the log does not tell of, and was taken back",
        hint: "Report this, and save fewer than \(environment.bulk.rowsMin) inserts at a time"
      )
    }
  }

  /// Logs the inserts, whose numbers follow each other in each entity.
  func logInserts() throws {
    for table in tables {
      guard let numbers = given(to: table.entity) else { continue }
      let log = try table.query(BulkLog.insertion(of: table.entity))
      log.bind(numbers.lowerBound, at: 1)
      log.bind(numbers.upperBound, at: 2)
      try log.run()
    }
  }

  /// Whether an update concerns columns of one table and nothing else: no rule, no other form of a
  /// text, no uniqueness, and no value that SQLite cannot check.
  func isBulk(_ assignments: [Assignment], _ matches: FetchCompiler.Matches) -> Bool {
    let entity = matches.entity
    guard matches.isPlain, !assignments.isEmpty, !entity.hasDescendants, !entity.isAbstract,
      request.inserts.isEmpty, request.updates.isEmpty, problems.isEmpty
    else { return false }
    let names = Set(assignments.map(\.attribute.name))
    let kept = entity.unique.joined() + (entity.identity.map { [$0.name] } ?? [])
    return names.count == assignments.count && names.isDisjoint(with: kept)
      && !tables[entity.number - 1].derivedTexts.contains {
        names.contains(entity.columns[$0.source])
      }
      && assignments.allSatisfy { $0.value != nil || Self.plainCheck($0.attribute) != nil }
  }

  /// A condition on a computed value, written `$`, under which it can be stored as it is; nil for
  /// an attribute of which SQLite cannot tell.
  private static func plainCheck(_ attribute: AttributeDescription) -> String? {
    guard attribute.allowed == nil, attribute.pattern == nil, attribute.minimumLength == nil,
      attribute.maximumLength == nil
    else { return nil }
    func integer(_ value: AttributeValue?) -> Int64? {
      if case .integer(let number) = value { number } else { nil }
    }
    let check: String
    switch attribute.type {
    case .int16, .int32, .int64:
      let type: ClosedRange<Int64> =
        switch attribute.type {
        case .int16: Int64(Int16.min)...Int64(Int16.max)
        case .int32: Int64(Int32.min)...Int64(Int32.max)
        default: Int64.min...Int64.max
        }
      let least = max(type.lowerBound, integer(attribute.minimum) ?? type.lowerBound)
      let greatest = min(type.upperBound, integer(attribute.maximum) ?? type.upperBound)
      // The least integer has no literal of its own in SQL.
      let above = least == Int64.min ? "1" : "$ >= \(least)"
      check = "typeof($) = 'integer' AND \(above) AND $ <= \(greatest)"
    case .double where attribute.minimum == nil && attribute.maximum == nil:
      check = "typeof($) = 'real' AND abs($) <= 1.7976931348623157e308"
    case .string: check = "typeof($) = 'text'"
    case .boolean: check = "$ IN (0, 1)"
    case .date where attribute.minimum == nil && attribute.maximum == nil:
      check = "typeof($) = 'integer'"
    default: return nil
    }
    return attribute.optional ? "($ IS NULL OR \(check))" : "(\(check))"
  }

  /// Carries an update out as one statement.
  mutating func updateInBulk(
    _ assignments: [Assignment],
    _ matches: FetchCompiler.Matches
  ) throws -> (count: Int, keys: [ObjectKey]) {
    try checkComputed(assignments, matches)
    var keys: [ObjectKey] = []
    var count = 0
    if request.wantsIDs {
      try eachMatch(matches) { key, _ in keys.append(key) }
      count = keys.count
    } else {
      let row = try statement(
        SQLFragment(
          "SELECT count(*) FROM \(SQLNames.quoted(matches.entity.name)) t "
            + "WHERE \(matches.condition.sql)",
          matches.condition.values
        )
      )
      if try row.step() { count = Int(row.integer(0)) }
      row.reset()
    }
    guard problems.isEmpty else { return (count, keys) }
    try write(assignments, matches, logsInBulk: count >= environment.bulk.rowsMin)
    return (count, keys)
  }

  private func write(
    _ assignments: [Assignment],
    _ matches: FetchCompiler.Matches,
    logsInBulk: Bool
  ) throws {
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
      return try statement(update).run()
    }
    let before = BulkLog.before(
      columns.map { ($0.name, $0.value.sql) },
      of: entity,
      row: "t."
    )
    try statement(
      SQLFragment(
        """
        INSERT INTO cordial_change(entity, object, kind, version, before)
        SELECT \(entity.number), t."_id", \(HistorySchema.Kind.update.rawValue),
          t."_version" + 1, \(before) FROM \(table) t \(condition)
        """,
        columns.flatMap(\.value.values) + conditionValues
      )
    ).run()
    // Where the update fails they stay off: whatever is written next says how it needs them.
    try triggers.turn(on: false)
    try statement(update).run()
    try triggers.turn(on: true)
  }

  /// Notes what is computed and cannot be stored; SQLite sorts out what certainly can.
  private mutating func checkComputed(
    _ assignments: [Assignment],
    _ matches: FetchCompiler.Matches
  ) throws {
    let attributes = assignments.filter { $0.value == nil }.map(\.attribute)
    for (attribute, value) in zip(attributes, matches.computed) {
      guard let check = Self.plainCheck(attribute) else { continue }
      let parts = check.split(separator: "$", omittingEmptySubsequences: false)
      let isFine = parts.joined(separator: "(\(value.sql))")
      let rows = try statement(
        SQLFragment(
          "SELECT t.\"_id\", \(value.sql) FROM \(SQLNames.quoted(matches.entity.name)) t "
            + "WHERE (\(matches.condition.sql)) AND NOT coalesce(\(isFine), 0)",
          value.values + matches.condition.values
            + Array(repeating: value.values, count: parts.count - 1).joined()
        )
      )
      defer { rows.reset() }
      while try rows.step() {
        checked(rows.value(1), attribute, model.key(matches.entity.number, rows.integer(0)))
      }
    }
  }
}
