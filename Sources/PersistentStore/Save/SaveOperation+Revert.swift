import CordialValues
import JSON
import ObjectModel
import PersistentHistory

/// Undoing and doing again: the log read backwards, as one save.
///
/// Rows are put back as the log has them, both ends of a relationship each by itself, so that no
/// rule runs a second time. What others changed meanwhile is a conflict.
extension SaveOperation {
  /// The context of what was reverted, where it was one.
  var revertedContext: String? {
    reverted.count == 1 ? reverted[0].group.context : nil
  }

  private var leavesConflicts: Bool { request.mergePolicy == .storeTrump }

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
    for (index, group) in groups.enumerated() {
      let before = try undoLog.lastChange()
      let changes = try undoLog.changes(of: group)
      let later = try undoLog.changes(
        since: group,
        of: request.author,
        revertedWith: Array(groups[..<index]),
        through: head,
        in: Set(changes.map(\.key))
      )
      for change in try self.revert(changes, later) {
        if restored[change.key] == nil { order.append(change.key) }
        restored[change.key, default: []].formUnion(change.properties)
      }
      reverted.append((group, before..<(try undoLog.lastChange())))
    }
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
    for (index, key) in order.enumerated() {
      if index > 0 { writer.raw(",") }
      guard try table(key).version(of: key.object) != nil else {
        let id = removedNames[key] ?? name(key)
        writer.value(["id": .string(id), "deleted": true])
        continue
      }
      followed[key, default: []].formUnion(restored[key] ?? [])
      ends.append(AnswerEnd(key: key, end: writer.bytes.count, form: .whole))
    }
    writer.raw("]")
    return try withLateValues(writer.bytes)
  }

  /// Reverts what a group did, and answers what it wrote: the properties of each object.
  private mutating func revert(
    _ changes: [HistoryChange],
    _ later: LaterChanges
  ) throws -> [(key: ObjectKey, properties: Set<String>)] {
    var written: [(key: ObjectKey, properties: Set<String>)] = []
    for change in changes where change.kind == .delete {
      if let properties = try restore(change) { written.append((change.key, properties)) }
    }
    for change in changes where change.kind == .update {
      if let properties = try putBack(change, later) { written.append((change.key, properties)) }
    }
    for change in changes where change.kind != .insert { try mendToOnes(change) }
    try revertPairs(changes)
    written += try removeInserted(changes, later).map { ($0, []) }
    return written
  }

  private mutating func conflict(
    _ key: ObjectKey,
    _ property: String?,
    base: JSONValue = .null,
    client: JSONValue = .null
  ) throws {
    guard !leavesConflicts else { return }
    let version = try table(key).version(of: key.object)
    let store = try property.map { identityForm(try storedValue($0, key), $0, key) } ?? .null
    conflicts.append([
      "id": .string(name(key)), "property": property.map { .string($0) } ?? .null,
      "base": base, "store": store, "client": client,
      "version": version.map { .integer($0) } ?? .null,
    ])
  }

  // MARK: Objects that were deleted

  /// Puts an object back under its number; nil when that is not possible, which is noted.
  private mutating func restore(_ change: HistoryChange) throws -> Set<String>? {
    let key = change.key
    let table = table(key)
    guard try table.version(of: key.object) == nil else {
      try conflict(key, nil)
      return nil
    }
    let entity = table.entity
    var row = entity.attributes.map(\.defaultValue)
    row += Array(repeating: .null, count: table.toOnes.count)
    for value in change.before {
      guard let place = table.places[value.property], !entity.isDerived(value.property) else {
        continue
      }
      row[place] = value.stored(in: entity)
    }
    for (place, form, source) in table.derivedTexts { row[place] = form.applied(to: row[source]) }
    let label = name(of: change)
    for (index, attribute) in entity.attributes.enumerated() where attribute.derived == nil {
      if let violation = attribute.violation(by: row[index]) {
        problem(label, attribute.name, violation.rule, violation.message)
      }
    }
    if let taken = try uniqueness(key, label, row) {
      guard leavesConflicts else { throw taken }
      return nil
    }
    try checkFamily(key, label, row)
    let version = try table.query(
      """
      SELECT coalesce(max(version), 0) FROM cordial_change
      WHERE kind = 2 AND entity = ? AND object = ?
      """
    )
    defer { version.reset() }
    version.bind(Int64(key.entity), at: 1)
    version.bind(key.object, at: 2)
    let last = try version.step() ? version.integer(0) : 0
    try table.restore(key.object, version: last + 1, row)
    counted.insert(key)
    for relationship in entity.relationships where relationship.toMany {
      touchedCounts.insert(CountedRelationship(object: key, relationship: relationship.name))
    }
    return Set(entity.columns)
  }

  /// The text that names an object of which only the log knows.
  private func name(of change: HistoryChange) -> String {
    let entity = model.entity(change.key.entity)
    guard let identity = entity.identity,
      let value = change.before.first(where: { $0.property == identity.name }),
      let key = WrappedID.Key(identity: value.value, identity.type)
    else { return name(change.key) }
    return WrappedID(entity: entity.name, key: key).description
  }

  // MARK: Objects that were changed

  /// Gives an object the values from before; nil when it is gone, which is noted.
  private mutating func putBack(
    _ change: HistoryChange,
    _ later: LaterChanges
  ) throws -> Set<String>? {
    let key = change.key
    let table = table(key)
    let entity = table.entity
    guard try table.version(of: key.object) != nil else {
      try conflict(key, nil)
      return nil
    }
    var columns: [(place: Int, value: AttributeValue)] = []
    for value in change.before {
      guard let place = table.places[value.property], !entity.isDerived(value.property) else {
        continue
      }
      if let other = later.written[key]?[value.property] {
        try conflict(key, value.property, base: wire(other, entity), client: wire(value, entity))
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
    guard conflicts.isEmpty, problems.isEmpty, !columns.isEmpty else { return [] }
    if try write(columns, to: key, name(key), counting: !counted.contains(key)) {
      counted.insert(key)
    }
    return Set(columns.map { entity.columns[$0.place] })
  }

  private func wire(_ value: LoggedValue, _ entity: EntityDescription) -> JSONValue {
    WireValue.json(value, of: entity) { relationship, object in
      name(model.key(relationship.destination, object))
    }
  }

  private mutating func touchTarget(_ relationship: RelationshipDescription, _ number: Int64) {
    guard let inverse = inverse(of: relationship), inverse.toMany else { return }
    let owner = model.key(relationship.destination, number)
    touchedCounts.insert(CountedRelationship(object: owner, relationship: inverse.name))
  }

  /// Looks whether the to-ones that were put back lead to something, and are led back from there.
  private mutating func mendToOnes(_ change: HistoryChange) throws {
    let key = change.key
    let table = table(key)
    guard try table.version(of: key.object) != nil else { return }
    for relationship in table.toOnes
    where change.before.contains(where: { $0.property == relationship.name }) {
      let numbers = try table.numbers(
        "SELECT \(SQLNames.quoted(relationship.name)) FROM \(SQLNames.quoted(table.entity.name)) "
          + "WHERE \"_id\" = ?",
        key.object
      )
      guard let number = numbers.first else { continue }
      let target = model.key(relationship.destination, number)
      var isWhole = try self.table(target).version(of: number) != nil
      if isWhole, isOneToOne(relationship), let inverse = inverse(of: relationship) {
        isWhole = try holders(of: inverse, to: key).contains(target)
      }
      guard !isWhole else { continue }
      try conflict(key, relationship.name)
      guard relationship.optional else {
        problem(
          name(key),
          relationship.name,
          "required",
          "\(relationship.name) must have a value, and \(name(target)) is gone or taken"
        )
        continue
      }
      if conflicts.isEmpty { try set(relationship, of: key, to: nil) }
    }
  }

  // MARK: Pairs

  private mutating func revertPairs(_ changes: [HistoryChange]) throws {
    guard conflicts.isEmpty, problems.isEmpty else { return }
    for change in changes {
      for (property, others) in change.linked.sorted(by: { $0.key < $1.key }) {
        for other in others { try revertPair(change.key, property, other, .delete) }
      }
      for (property, others) in change.unlinked.sorted(by: { $0.key < $1.key }) {
        for other in others { try revertPair(change.key, property, other, .insert) }
      }
    }
  }

  /// Makes or ends a pair where that is still to be done: it may be met from both its sides.
  private mutating func revertPair(
    _ key: ObjectKey,
    _ property: String,
    _ other: ObjectKey,
    _ change: EntityTable.PairChange
  ) throws {
    guard
      case .relationship(let relationship)? = model.entity(key.entity).property(named: property),
      case .pairs(let owner, let name, let owns) = relationship.storage,
      try table(key).version(of: key.object) != nil,
      try table(other).version(of: other.object) != nil
    else { return }
    let pairs = SQLNames.quoted(SQLNames.pairs(model.entity(owner), name))
    let either = relationship.isSymmetric ? " OR source = ?2 AND target = ?1" : ""
    let row = try table(key).query(
      "SELECT 1 FROM \(pairs) WHERE source = ?1 AND target = ?2\(either)"
    )
    row.bind(owns ? key.object : other.object, at: 1)
    row.bind(owns ? other.object : key.object, at: 2)
    let isThere = try row.step()
    row.reset()
    guard isThere == (change == .delete) else { return }
    for (object, property) in [(key, property), (other, relationship.inverse ?? "")] {
      touchedCounts.insert(CountedRelationship(object: object, relationship: property))
    }
    try pair(change, relationship, key, other.object)
  }

  // MARK: Objects that were inserted

  /// Removes what a group inserted, and answers which.
  private mutating func removeInserted(
    _ changes: [HistoryChange],
    _ later: LaterChanges
  ) throws -> [ObjectKey] {
    guard conflicts.isEmpty, problems.isEmpty else { return [] }
    var doomed: Set<ObjectKey> = []
    for change in changes where change.kind == .insert {
      guard try table(change.key).version(of: change.key.object) != nil else { continue }
      let written = (later.written[change.key] ?? [:]).keys
        .filter { !model.entity(change.key.entity).isDerived($0) }
      guard written.isEmpty else {
        for property in written.sorted() { try conflict(change.key, property) }
        continue
      }
      doomed.insert(change.key)
    }
    // What others put in relation with one of these keeps it, and so what that one leads to.
    var kept: Set<ObjectKey> = []
    repeat {
      kept = []
      for key in doomed {
        for (holder, property) in try holders(of: key) where !doomed.contains(holder) {
          try conflict(holder, property)
          kept.insert(key)
        }
      }
      doomed.subtract(kept)
    } while !kept.isEmpty && conflicts.isEmpty
    guard conflicts.isEmpty else { return [] }
    let order = changes.map(\.key).filter(doomed.contains)
    for key in order {
      removedNames[key] = name(key)
      for relationship in table(key).toOnes { try touchOwner(relationship, of: key) }
    }
    for key in order {
      try partWithDoomed(key)
      try table(key).delete(key.object)
    }
    removedIDs += order.compactMap { removedNames[$0] }
    return order
  }

  /// The objects that lead to one, each with the property that does.
  private func holders(of key: ObjectKey) throws -> [(ObjectKey, String)] {
    var found: [(ObjectKey, String)] = []
    for entity in model.entities {
      for relationship in entity.relationships
      where relationship.owner == entity.number
        && model.isKind(key.entity, of: relationship.destination)
      {
        if case .pairs(let owner, let name, true) = relationship.storage {
          let pairs = SQLNames.quoted(SQLNames.pairs(model.entity(owner), name))
          found += try table(key).numbers(
            "SELECT source FROM \(pairs) WHERE target = ?",
            key.object
          ).map { (model.key(entity.number, $0), relationship.name) }
        } else if !relationship.toMany {
          found += try holders(of: relationship, to: key).map { ($0, relationship.name) }
        }
      }
    }
    for relationship in model.entity(key.entity).relationships {
      guard case .pairs = relationship.storage, let inverse = relationship.inverse else { continue }
      found += try members(relationship, of: key).map {
        (model.key(relationship.destination, $0), inverse)
      }
    }
    return found
  }

  /// Ends the pairs between objects that go together, and those that only this one knew of.
  private mutating func partWithDoomed(_ key: ObjectKey) throws {
    for relationship in model.entity(key.entity).relationships {
      guard case .pairs = relationship.storage else { continue }
      for number in try members(relationship, of: key) { try part(number, relationship, key) }
    }
  }
}

extension LoggedValue {
  /// The value as it is stored in the column of its property.
  fileprivate func stored(in entity: EntityDescription) -> AttributeValue {
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
