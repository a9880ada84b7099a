import CordialValues
import GRDB
import JSON
import ObjectModel
import PersistentHistory

/// Undoing and doing again: the log played backwards, as one save.
///
/// Rows are put back as the log has them, in the reverse of its order and both ends of a
/// relationship each by itself: what could be written one way can be written the other, and no rule
/// runs a second time. What stands in the way is looked for before anything is written.
extension SaveOperation {
  /// The context of what was reverted, where it was one group.
  var revertedContext: String? { reverted.count == 1 ? reverted[0].group.context : nil }

  var leavesConflicts: Bool { request.mergePolicy == .storeTrump }

  /// Reverts groups of commits, the newest first.
  ///
  /// - Parameters:
  ///   - revert: Which.
  ///   - undoLog: Knows what comes next.
  ///   - head: The newest commit.
  ///   - derive: Brings those derived values up to date that no trigger keeps.
  /// - Returns: The answer without its token.
  /// - Throws: `StoreError`, or `DatabaseError` when SQLite failed; the caller rolls back.
  mutating func perform(
    _ revert: SaveRequest.Revert,
    _ undoLog: UndoLog,
    _ head: HistoryHead,
    _ derive: () throws -> Void
  ) throws -> (body: [UInt8], count: Int, ids: [String]) {
    try triggers.turn(on: true)
    let (groups, reachesEnd) = try undoLog.groups(
      revert.direction,
      author: request.author,
      context: revert.context,
      count: revert.count
    )
    guard !groups.isEmpty || !reachesEnd else {
      throw StoreError(
        .historyExpired,
        "The history does not reach back to what would be undone next",
        hint: "Undo goes as far back as the history that is kept",
        data: [JSONMember("oldest", .string(try oldestToken().description))]
      )
    }
    var restored: [ObjectKey: Set<String>] = [:]
    var order: [ObjectKey] = []
    for group in groups {
      let before = try undoLog.lastLogged()
      let (rows, net) = try undoLog.changes(of: group)
      let search = LaterSearch(undoLog: undoLog, groups: groups, group: group, head: head)
      let obstacles = try obstacles(to: net, search)
      if conflicts.isEmpty { try playBack(rows, net, obstacles) }
      for change in net where !obstacles.objects.contains(change.key) {
        if restored[change.key] == nil { order.append(change.key) }
        restored[change.key, default: []].formUnion(change.properties)
        if change.kind == .delete {
          restored[change.key]?.formUnion(model.entity(change.key.entity).columns)
        }
      }
      for (holder, property) in obstacles.cut {
        if restored[holder] == nil { order.append(holder) }
        restored[holder, default: []].insert(property)
      }
      reverted.append((group, before..<(try undoLog.lastLogged())))
    }
    for key in movedOwners.sorted() where restored[key] == nil {
      restored[key] = []
      order.append(key)
    }
    // Outside of what the groups are noted to have changed: it has no values.
    try countPairs()
    try checkCounts()
    try throwProblems()
    try derive()
    return (try answer(groups.count, order, restored), groups.count, [])
  }

  /// `"undone":…,"objects":[…]`.
  private mutating func answer(
    _ count: Int,
    _ order: [ObjectKey],
    _ restored: [ObjectKey: Set<String>]
  ) throws -> [UInt8] {
    var writer = JSONWriter(reserving: 64 * order.count + 64)
    writer.raw("\"undone\":")
    writer.integer(Int64(count))
    writer.raw(",\"objects\":[")
    var isFirst = true
    for key in order {
      let isThere = try table(key).version(of: key.object) != nil
      // What came and went again within the groups is no news.
      guard isThere || removedNames[key] != nil else { continue }
      if !isFirst { writer.raw(",") }
      isFirst = false
      guard isThere else {
        writer.value(["id": .string(removedNames[key] ?? name(key)), "deleted": true])
        continue
      }
      followed[key, default: []].formUnion(restored[key] ?? [])
      ends.append(AnswerEnd(key: key, end: writer.bytes.count, form: .whole))
    }
    writer.raw("]")
    removedIDs = removedNames.values.sorted()
    return try withLateValues(writer.bytes)
  }

  // MARK: Playing back

  /// Writes the reverse of each row, the last one first.
  private mutating func playBack(
    _ rows: [HistoryRow],
    _ net: [HistoryChange],
    _ obstacles: Obstacles
  ) throws {
    var balance: [PairName: Int] = [:]
    for row in rows where row.kind == .link || row.kind == .unlink {
      balance[PairName(row), default: 0] += row.kind == .link ? 1 : -1
    }
    let kinds = Dictionary(uniqueKeysWithValues: net.map { ($0.key, $0.kind) })
    var moves: [HistoryRow] = []
    for row in rows.reversed() {
      guard model.entities.indices.contains(row.entity - 1) else { continue }
      let key = model.key(row.entity, row.object)
      switch row.kind {
      case .link, .unlink:
        // A pair that came and went again did not change.
        if balance[PairName(row)] != 0 { try playBack(pair: row, obstacles) }
      case .update where row.formerPlace != nil:
        moves.append(row)
      case .insert, .update, .delete:
        // What came and went again within the group was never there.
        guard let kind = kinds[key], !obstacles.objects.contains(key) else { continue }
        switch (row.kind, kind) {
        // It was replaced by itself: what leads to it stays.
        case (.insert, .update): continue
        case (.delete, .update): try putBack(key, row, obstacles.properties[key] ?? [])
        case (.insert, _): try remove(key)
        case (.delete, _): try restore(key, row)
        default:
          if row.version != nil { try putBack(key, row, obstacles.properties[key] ?? []) }
        }
      }
    }
    for change in net where change.kind != .insert && !obstacles.objects.contains(change.key) {
      try mendToOnes(change)
    }
    for (holder, property) in obstacles.cut { try cut(property, of: holder) }
    for key in paired.sorted() { try mendOneToOnes(key) }
    paired = []
    // When all members are there, and what they are members of.
    for row in moves { try putBack(row, obstacles) }
    try partPlaces()
  }

  /// Notes the objects at both ends of an object's one-to-ones, before they are written or after.
  private mutating func notePartners(of key: ObjectKey) throws {
    for relationship in table(key).toOnes where isOneToOne(relationship) {
      paired.insert(key)
      guard let number = try number(relationship, of: key) else { continue }
      paired.insert(model.key(relationship.destination, number))
    }
  }

  /// Ends one-to-ones of an object that are not led back: each end was decided by itself.
  private mutating func mendOneToOnes(_ key: ObjectKey) throws {
    guard try table(key).version(of: key.object) != nil else { return }
    for relationship in table(key).toOnes where isOneToOne(relationship) {
      guard let inverse = inverse(of: relationship),
        let number = try number(relationship, of: key),
        case let target = model.key(relationship.destination, number)
      else { continue }
      let isGone = try table(target).version(of: number) == nil
      if isGone, inverse.deleteRule == .noAction { continue }
      guard try isGone || !holders(of: inverse, to: key).contains(target) else { continue }
      try nullify(relationship, of: key, ", and what it led to is gone or taken")
    }
  }

  /// Ends a to-one that leads to what is gone now, but where the rule is to leave it.
  private mutating func cut(_ property: String, of holder: ObjectKey) throws {
    guard
      case .relationship(let relationship)? = model.entity(holder.entity).property(named: property),
      !relationship.toMany, try table(holder).version(of: holder.object) != nil,
      let number = try number(relationship, of: holder),
      case let target = model.key(relationship.destination, number),
      try table(target).version(of: number) == nil
    else { return }
    if inverse(of: relationship)?.deleteRule == .noAction {
      leftDangling = true
    } else if relationship.optional {
      try set(relationship, of: holder, to: nil)
    } else {
      problem(name(holder), property, "required", "\(property) must have a value")
    }
  }

  private mutating func putBack(
    _ key: ObjectKey,
    _ row: HistoryRow,
    _ left: Set<String>
  ) throws {
    let table = table(key)
    let entity = table.entity
    guard try table.version(of: key.object) != nil else { return }
    var columns: [(place: Int, value: AttributeValue)] = []
    for value in row.values where !left.contains(value.property) {
      guard let place = table.places[value.property], !entity.isDerived(value.property) else {
        continue
      }
      let stored = value.stored(in: entity)
      switch entity.property(named: value.property) {
      case .attribute(let attribute):
        if let violation = attribute.violation(by: stored) {
          problem(name(key), attribute.name, violation.rule, violation.message)
        }
      case .relationship(let relationship):
        try touchOwner(relationship, of: key)
        if case .integer(let number) = stored { touchTarget(relationship, number) }
      case nil: continue
      }
      columns.append((place, stored))
    }
    addDerivedTexts(to: &columns, table)
    guard problems.isEmpty, !columns.isEmpty else { return }
    let leads = columns.contains { $0.place >= entity.attributes.count }
    if leads { try notePartners(of: key) }
    if try write(columns, to: key, name(key), counting: !counted.contains(key)) {
      counted.insert(key)
    }
    if leads { try notePartners(of: key) }
  }

  private mutating func touchTarget(_ relationship: RelationshipDescription, _ number: Int64) {
    guard let inverse = inverse(of: relationship), inverse.toMany else { return }
    let owner = model.key(relationship.destination, number)
    touchedCounts.insert(CountedRelationship(object: owner, relationship: inverse.name))
  }

  /// Puts an object back under its number, with a version that it did not have yet.
  private mutating func restore(_ key: ObjectKey, _ logged: HistoryRow) throws {
    let table = table(key)
    let entity = table.entity
    guard problems.isEmpty, try table.version(of: key.object) == nil else { return }
    var row = table.defaults
    for value in logged.values {
      guard let place = table.places[value.property], !entity.isDerived(value.property) else {
        continue
      }
      row[place] = value.stored(in: entity)
    }
    for (place, form, source) in table.derivedTexts { row[place] = form.applied(to: row[source]) }
    let label = Self.label(of: key, entity, logged)
    for (index, attribute) in entity.attributes.enumerated() where attribute.derived == nil {
      if let violation = attribute.violation(by: row[index]) {
        problem(label, attribute.name, violation.rule, violation.message)
      }
    }
    guard problems.isEmpty else { return }
    try checkFamily(key, label, row)
    let version = try table.query(
      """
      SELECT coalesce(max(version), 0) FROM cordial_change
      WHERE kind = 2 AND entity = ? AND object = ?
      """
    )
    version.bind(Int64(key.entity), at: 1)
    version.bind(key.object, at: 2)
    let last = try version.step() ? version.integer(0) : 0
    version.reset()
    do {
      try table.restore(key.object, version: last + 1, row)
    } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
      throw try uniqueness(key, label, row) ?? error
    }
    counted.insert(key)
    removedNames[key] = nil
    try notePartners(of: key)
    for relationship in entity.relationships {
      if relationship.toMany {
        touchedCounts.insert(CountedRelationship(object: key, relationship: relationship.name))
      } else {
        try touchOwner(relationship, of: key)
      }
    }
  }

  /// The text that names an object of which only the log knows.
  private static func label(
    of key: ObjectKey,
    _ entity: EntityDescription,
    _ row: HistoryRow
  ) -> String {
    let number = WrappedID(entity: entity.name, key: .object(key.object)).description
    guard let identity = entity.identity,
      let value = row.values.first(where: { $0.property == identity.name }),
      let identity = WrappedID.Key(identity: value.value, identity.type)
    else { return number }
    return WrappedID(entity: entity.name, key: identity).description
  }

  /// Removes what was inserted.
  private mutating func remove(_ key: ObjectKey) throws {
    guard problems.isEmpty, try table(key).version(of: key.object) != nil else { return }
    removedNames[key] = name(key)
    try notePartners(of: key)
    for relationship in table(key).toOnes { try touchOwner(relationship, of: key) }
    for relationship in model.entity(key.entity).relationships {
      guard case .pairs = relationship.storage else { continue }
      for number in try members(relationship, of: key) { try part(number, relationship, key) }
    }
    try table(key).delete(key.object)
  }

  private mutating func playBack(pair row: HistoryRow, _ obstacles: Obstacles) throws {
    guard let property = row.before,
      case .relationship(let relationship)? = model.entity(row.entity).property(named: property),
      case let source = model.key(row.entity, row.object),
      case let target = model.key(relationship.destination, row.other),
      !obstacles.objects.contains(source), !obstacles.objects.contains(target),
      !obstacles.pairs.contains(PairName(row)),
      case .pairs(let owner, let name, let owns) = relationship.storage,
      try table(source).version(of: source.object) != nil,
      try table(target).version(of: target.object) != nil
    else { return }
    let pairs = SQLNames.quoted(SQLNames.pairs(model.entity(owner), name))
    let either = relationship.isSymmetric ? " OR source = ?2 AND target = ?1" : ""
    let found = try table(source).query(
      "SELECT 1 FROM \(pairs) WHERE source = ?1 AND target = ?2\(either)"
    )
    found.bind(owns ? source.object : target.object, at: 1)
    found.bind(owns ? target.object : source.object, at: 2)
    let isThere = try found.step()
    found.reset()
    guard isThere == (row.kind == .link) else { return }
    for (object, property) in [(source, property), (target, relationship.inverse ?? "")] {
      touchedCounts.insert(CountedRelationship(object: object, relationship: property))
    }
    try pair(row.kind == .link ? .delete : .insert, relationship, source, target.object)
  }

  /// Ends to-ones that were put back and lead to nothing, or are not led back from there.
  private mutating func mendToOnes(_ change: HistoryChange) throws {
    let key = change.key
    let table = table(key)
    guard try table.version(of: key.object) != nil else { return }
    for relationship in table.toOnes
    where change.before.contains(where: { $0.property == relationship.name }) {
      guard let number = try number(relationship, of: key) else { continue }
      let target = model.key(relationship.destination, number)
      var isWhole = try self.table(target).version(of: number) != nil
      if isWhole, isOneToOne(relationship), let inverse = inverse(of: relationship) {
        isWhole = try holders(of: inverse, to: key).contains(target)
      }
      guard !isWhole else { continue }
      try nullify(relationship, of: key, ", and \(name(target)) is gone or taken")
    }
  }

  /// The number of the object to which a to-one leads.
  func number(_ relationship: RelationshipDescription, of key: ObjectKey) throws -> Int64? {
    let table = table(key)
    return try table.numbers(
      "SELECT \(SQLNames.quoted(relationship.name)) FROM \(SQLNames.quoted(table.entity.name)) "
        + "WHERE \"_id\" = ?",
      key.object
    ).first
  }
}

extension LoggedValue {
  /// The value as it is stored in the column of its property.
  func stored(in entity: EntityDescription) -> AttributeValue {
    guard case .attribute(let attribute)? = entity.property(named: property) else {
      return value.integer.map { .integer($0) } ?? .null
    }
    switch (attribute.type, value) {
    case (_, .null): return .null
    case (.double, .integer(let number)), (.float, .integer(let number)):
      return .double(Double(number))
    case (.double, .number(let number)), (.float, .number(let number)): return .double(number)
    case (.boolean, .integer(let flag)): return .boolean(flag != 0)
    case (.date, .integer(let milliseconds)): return .date(milliseconds)
    case (_, .integer(let number)) where attribute.type.isInteger: return .integer(number)
    case (.string, _): return .string(value.string ?? value.text)
    case (.decimal, _): return .decimal(value.string ?? value.text)
    case (.uuid, .string(let text)): return .uuid(text)
    case (.uri, .string(let text)): return .uri(text)
    case (.json, .string(let text)): return .json(text)
    case (.binary, .string(let hex)): return .binary(WireValue.bytes(hex: hex))
    default: return .null
    }
  }
}
