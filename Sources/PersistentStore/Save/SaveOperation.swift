import CordialValues
import GRDB
import JSON
import ObjectModel
import PersistentHistory

/// Carries out one save inside the writer's transaction.
///
/// The order is the protocol's: inserts, updates, deletes, each in the order given; then delete
/// rules, then validation. Every problem is collected; any makes the caller roll back.
struct SaveOperation {
  let facts: StoreMaker.Facts
  let tables: [EntityTable]
  let db: Database
  let log: HistoryLog
  let triggers: TriggerSwitch
  let request: SaveRequest
  let environment: StoreEnvironment
  var problems: [JSONValue] = []
  var conflicts: [JSONValue] = []
  /// What temporary IDs stand for, by their text.
  private var temporary: [String: ObjectKey] = [:]
  /// In the order of the request.
  private var inserted: [ObjectKey] = []
  /// The numbers that were given to them, which follow each other, by entity.
  private var given: [ClosedRange<Int64>?]
  /// Objects whose version went up already.
  var counted: Set<ObjectKey> = []
  /// The pairs that this save wrote: how often they came less how often they went, and the objects
  /// whose versions count that.
  var pairings: [PairName: (balance: Int, ends: [ObjectKey])] = [:]
  /// To-manys whose counts have to be checked in the end.
  var touchedCounts: Set<CountedRelationship> = []
  /// The written objects, and where in the answer each one ends.
  var ends: [AnswerEnd] = []
  /// New rows that are not written yet, all of one table.
  var waitingRows: [EntityTable.WaitingRow] = []
  /// Inserts that an object which is there already answers for, by their place.
  var adopted: [Int: ObjectKey] = [:]
  /// What is written in the place of what an update sent, by its place in the request.
  var mergedValues: [Int: [JSONMember]] = [:]
  /// What became of properties that others changed: the answer's `merged`.
  var merged: [JSONValue] = []
  /// Deletes that are not carried out, since others changed the objects.
  var spared: Set<String> = []
  /// To-manys of which a client sent a list that is not all that is stored now.
  var mergedLists: [ObjectKey: Set<String>] = [:]
  /// Properties of which more is known than was sent: to-ones that were set because of what was
  /// said of another object, and what a merge decided.
  var followed: [ObjectKey: Set<String>] = [:]
  /// What was removed, cascades included.
  var removedIDs: [String] = []
  /// The names of objects that are gone.
  var removedNames: [ObjectKey: String] = [:]
  /// Objects whose one-to-ones have to be looked at when a group is reverted.
  var paired: Set<ObjectKey> = []
  /// To-manys of whose members some were put back to their places, and whether one that was there
  /// moved.
  var reordered: [CountedRelationship: Bool] = [:]
  /// The owners of those in which one moved.
  var movedOwners: Set<ObjectKey> = []
  /// The groups that were reverted, with the changes that did it.
  var reverted: [(group: RevertGroup, changes: Range<Int64>)] = []
  /// Whether a rule left a to-one that leads to nothing.
  var leftDangling = false

  /// A relationship whose other end has to follow, with what was sent for it.
  typealias Link = (relationship: RelationshipDescription, value: JSONValue)

  struct CountedRelationship: Hashable {
    let object: ObjectKey
    let relationship: String
  }

  /// How many problems are told at most; more say nothing new.
  private static let problemsMax = 1000

  init(
    facts: StoreMaker.Facts,
    tables: [EntityTable],
    db: Database,
    log: HistoryLog,
    triggers: TriggerSwitch,
    request: SaveRequest,
    environment: StoreEnvironment
  ) {
    self.triggers = triggers
    self.environment = environment
    given = Array(repeating: nil, count: tables.count)
    self.facts = facts
    self.tables = tables
    self.db = db
    self.log = log
    self.request = request
  }

  /// Carries the save out.
  ///
  /// - Parameter derive: Brings those derived values up to date that no trigger keeps.
  /// - Returns: The answer without its token, how many objects were named or matched, and which
  ///   were removed or matched an update.
  /// - Throws: `StoreError`, or `DatabaseError` when SQLite failed; the caller rolls back.
  mutating func perform(
    _ derive: () throws -> Void
  ) throws -> (body: [UInt8], count: Int, ids: [String]) {
    let changesBefore = db.totalChangesCount
    try giveNumbers()
    try checkVersions()
    var writer = JSONWriter(reserving: 64 * (request.inserts.count + request.updates.count) + 64)
    try writeIDs(&writer)
    writer.raw(",\"objects\":[")
    let later = try insertAll(&writer)
    // What leads from one new object to another is written when all of them are there.
    for (index, links) in later {
      try link(links, of: inserted[index], request.inserts[index].id ?? "insert[\(index)]")
    }
    try checkRepetitions()
    for (index, existing) in adopted.sorted(by: { $0.key < $1.key }) {
      try adopt(request.inserts[index], existing)
    }
    var updated: [Updated] = []
    for (index, update) in request.updates.enumerated() {
      let values = mergedValues[index] ?? update.values
      updated += try self.update(
        SaveRequest.Update(id: update.id, version: update.version, values: values)
      )
    }
    let matched = try updateMatching()
    let removed = try removeObjects()
    try countPairs()
    try checkCounts()
    try throwProblems()
    try checkUnwatched(since: changesBefore)
    try derive()
    // What an update came to is known when everything is done: others may have changed it too.
    for (index, update) in updated.enumerated() {
      if index + request.inserts.count > 0 { writer.raw(",") }
      try write(update, &writer)
    }
    writer.raw("]")
    if !merged.isEmpty {
      writer.raw(",\"merged\":")
      writer.value(.array(merged))
    }
    return (
      try withLateValues(writer.bytes), removed.count + matched.count,
      removed.ids + matched.keys.map(name)
    )
  }

  /// Carries the inserts out, but for what leads to others.
  private mutating func insertAll(
    _ writer: inout JSONWriter
  ) throws -> [(index: Int, links: [Link])] {
    guard isBulkInsert else {
      try triggers.turn(on: true)
      return try insertEach(&writer)
    }
    try triggers.turn(on: false)
    let later = try insertEach(&writer)
    try logInserts()
    // What else is written is logged by the triggers, and what follows from it done by them.
    if !writesInsertsOnly || !later.isEmpty || !adopted.isEmpty { try triggers.turn(on: true) }
    return later
  }

  private mutating func insertEach(
    _ writer: inout JSONWriter
  ) throws -> [(index: Int, links: [Link])] {
    var later: [(index: Int, links: [Link])] = []
    for (index, insert) in request.inserts.enumerated() {
      if index > 0 { writer.raw(",") }
      guard adopted[index] == nil else {
        ends.append(AnswerEnd(key: inserted[index], end: writer.bytes.count, form: .whole))
        continue
      }
      let links: [Link]
      do {
        links = try self.insert(insert, inserted[index], at: index, &writer)
      } catch {
        // What is wrong with an earlier one is told before that, unless SQLite took all back.
        if db.isInsideTransaction { try writeWaitingRows() }
        throw error
      }
      if !links.isEmpty { later.append((index, links)) }
    }
    try writeWaitingRows()
    return later
  }

  var model: Model { facts.model }

  func table(_ key: ObjectKey) -> EntityTable { tables[key.entity - 1] }

  mutating func problem(_ id: String, _ property: String?, _ rule: String, _ message: String) {
    guard problems.count < Self.problemsMax else { return }
    var members = [JSONMember("id", .string(id))]
    if let property { members.append(JSONMember("property", .string(property))) }
    members += [JSONMember("rule", .string(rule)), JSONMember("message", .string(message))]
    problems.append(.object(members))
  }

  func throwProblems() throws {
    if !conflicts.isEmpty {
      throw StoreError(
        .saveConflict,
        "Somebody else changed what this save is based on",
        hint: request.revert == nil
          ? "Fetch the objects again and apply the change to their present values"
          : "The merge policy storeTrump leaves what others changed and reverts the rest",
        data: [JSONMember("conflicts", .array(conflicts))]
      )
    }
    guard let first = problems.first else { return }
    let more = problems.count == 1 ? "" : " (and \(problems.count - 1) more)"
    throw StoreError(
      .validationFailed,
      "\(first["id"]?.string ?? ""): \(first["message"]?.string ?? "")\(more)",
      hint: "Nothing was written; data.problems lists everything",
      data: [JSONMember("problems", .array(problems))]
    )
  }

  // MARK: Identities

  private mutating func giveNumbers() throws {
    inserted.reserveCapacity(request.inserts.count)
    temporary.reserveCapacity(request.inserts.count)
    ends.reserveCapacity(request.inserts.count + request.updates.count)
    // One insert is mostly of the same entity as the one before it.
    var last: EntityDescription?
    for insert in request.inserts {
      var id: WrappedID?
      let entity: EntityDescription
      if let last, let text = insert.id, insert.entity == nil,
        WrappedID.isTemporary(text, of: last.name)
      {
        entity = last
      } else {
        if let text = insert.id {
          id = WrappedID(text)
          if id == nil { throw StoreError.invalidIdentifier(text, "it is malformed") }
        }
        entity = try self.entity(of: insert, id)
        last = entity
      }
      let key: ObjectKey
      if let existing = try existing(insert, id, entity) {
        key = existing
        adopted[inserted.count] = existing
      } else {
        key = ObjectKey(entity: entity.number, object: try tables[entity.number - 1].giveNumber())
        let first = given[entity.number - 1]?.lowerBound ?? key.object
        given[entity.number - 1] = first...key.object
      }
      inserted.append(key)
      guard let text = insert.id else { continue }
      switch id?.key {
      case .temporary, nil: break
      case .object:
        throw StoreError.invalidIdentifier(text, "the store gives these; insert with a t form")
      default: if let id { _ = try IdentityResolver.identityValue(id, entity) }
      }
      guard temporary.updateValue(key, forKey: text) == nil else {
        problem(text, nil, "unique", "The ID stands twice among the inserts")
        continue
      }
    }
  }

  /// The entity of a new object, which its ID or the insert itself names.
  private func entity(
    of insert: SaveRequest.Insert,
    _ id: WrappedID?
  ) throws(StoreError) -> EntityDescription {
    guard let name = id?.entity ?? insert.entity else {
      throw StoreError(.invalidRequest, "An insert names an id or an entity")
    }
    if let id, let entity = insert.entity, entity != id.entity {
      throw StoreError(
        .invalidRequest,
        "An insert has the id \(insert.id ?? "") and the entity \(entity), which differ"
      )
    }
    guard let entity = model.entity(named: name) else {
      throw StoreError.unknownEntity(name, in: model)
    }
    guard !entity.isAbstract else {
      throw StoreError(
        .invalidRequest,
        "\(entity.name) is abstract: insert one of "
          + entity.place.kinds.map { model.entity($0).name }.joined(separator: ", "),
        data: [JSONMember("entity", .string(entity.name))]
      )
    }
    return entity
  }

  private func writeIDs(_ writer: inout JSONWriter) throws {
    writer.raw("\"ids\":{")
    var isFirst = true
    for (index, insert) in request.inserts.enumerated() {
      guard let text = insert.id else { continue }
      if !isFirst { writer.raw(",") }
      isFirst = false
      writer.string(text)
      writer.raw(":")
      try writeID(of: inserted[index], insert, &writer)
    }
    writer.raw("}")
  }

  /// The permanent ID of an insert: its identity value where the entity has one.
  func writeID(
    of key: ObjectKey,
    _ insert: SaveRequest.Insert,
    _ writer: inout JSONWriter
  ) throws {
    let entity = model.entity(key.entity)
    guard isInserted(key) else { return writer.string(name(key)) }
    // A number that is not given in the end is no ID.
    if request.isDryRun, insert.id.flatMap({ WrappedID($0) })?.isTemporary ?? true {
      return writer.raw("null")
    }
    guard entity.identity != nil else {
      writer.raw("\"")
      writer.raw(string: entity.name)
      writer.raw("/p")
      writer.integer(key.object)
      writer.raw("\"")
      return
    }
    writer.string(try identityID(of: insert, entity, key))
  }

  private func identityID(
    of insert: SaveRequest.Insert,
    _ entity: EntityDescription,
    _ key: ObjectKey
  ) throws -> String {
    guard let identity = entity.identity else { return "" }
    if let id = insert.id.flatMap({ WrappedID($0) }), case .temporary = id.key {
    } else if let text = insert.id {
      return text
    }
    let sent = insert.values.last { $0.name == identity.name }?.value ?? .null
    guard case .value(let value) = identity.decode(sent) else {
      return "\(entity.name)/p\(key.object)"
    }
    switch value {
    case .string(let text): return WrappedID(entity: entity.name, key: .string(text)).description
    case .uuid(let uuid): return WrappedID(entity: entity.name, key: .uuid(uuid)).description
    case .integer(let number):
      return WrappedID(entity: entity.name, key: .integer(number)).description
    default: return "\(entity.name)/p\(key.object)"
    }
  }

  /// The object that an ID in this save names: an insert of it, or one of the store.
  func resolve(_ text: String) throws -> ObjectKey? {
    if let key = temporary[text] { return key }
    guard let id = WrappedID(text, store: facts.identifier) else {
      throw StoreError.invalidIdentifier(text, "it is malformed, or of another store")
    }
    if case .temporary = id.key {
      throw StoreError.invalidIdentifier(text, "no insert of this save has it")
    }
    guard let entity = model.entity(named: id.entity) else {
      throw StoreError.unknownEntity(id.entity, in: model)
    }
    return try IdentityResolver.resolve(
      id,
      model: model,
      statement: tables[entity.number - 1].query
    )
  }

  /// The numbers that inserts of an entity were given, nil where there are none.
  func given(to entity: EntityDescription) -> ClosedRange<Int64>? { given[entity.number - 1] }

  /// What a save calls an object that it inserts, nil for any other.
  func insertedLabel(of key: ObjectKey) -> String? {
    guard isInserted(key), let index = inserted.firstIndex(of: key) else { return nil }
    return request.inserts[index].id ?? "insert[\(index)]"
  }

  func isInserted(_ key: ObjectKey) -> Bool {
    given[key.entity - 1]?.contains(key.object) ?? false
  }

  /// Whether there is such an object, of this save or in the store.
  func exists(_ key: ObjectKey) throws -> Bool {
    try isInserted(key) || table(key).version(of: key.object) != nil
  }

  /// The text under which a problem names an object.
  func name(_ key: ObjectKey) -> String {
    let entity = model.entity(key.entity)
    let plain = "\(entity.name)/p\(key.object)"
    guard let identity = entity.identity else { return plain }
    do {
      let row = try table(key).query(
        "SELECT \(SQLNames.quoted(identity.name)) FROM \(SQLNames.quoted(entity.name)) "
          + "WHERE \"_id\" = ?"
      )
      defer { row.reset() }
      row.bind(key.object, at: 1)
      return try row.step() ? ColumnForm.identityText(of: entity, row, 0) : plain
    } catch {
      // The object's number names it as well, and the save ends with an error of its own.
      return plain
    }
  }

  private mutating func checkRepetitions() throws {
    guard request.updates.count + request.deletes.count + adopted.count > 1 else { return }
    var seen = Set(adopted.values)
    for id in request.updates.map(\.id) + request.deletes.map(\.id) {
      guard let key = try resolve(id) else { continue }
      if !seen.insert(key).inserted {
        problem(
          id,
          nil,
          "once",
          "An object stands once in update, delete and the inserts that it answers for"
        )
      }
    }
  }
}

// MARK: Values

extension SaveOperation {
  enum Decoded {
    case attribute(place: Int, AttributeValue)
    case relationship(RelationshipDescription, JSONValue)
  }

  /// Reads one sent member; nil when it is a problem, which is noted.
  mutating func decode(
    _ member: JSONMember,
    at index: Int,
    _ table: EntityTable,
    _ label: String
  ) throws -> Decoded? {
    guard let property = table.property(named: member.name, at: index) else {
      throw StoreError.unknownProperty(member.name, of: table.entity)
    }
    guard let type = property.type else {
      return property.relationship.map { .relationship($0, member.value) }
    }
    switch type.decode(member.value) {
    case .value(let value):
      guard !property.isDerived else {
        problem(label, member.name, "derived", "\(member.name) is kept by the store")
        return nil
      }
      return .attribute(place: property.place, value)
    case .expected(let what):
      problem(label, member.name, "type", "\(member.name) wants \(what)")
      return nil
    }
  }

  /// The object that a to-one shall lead to, nil for null; it has to exist.
  mutating func target(
    _ value: JSONValue,
    _ relationship: RelationshipDescription,
    _ label: String
  ) throws -> ObjectKey? {
    if value.isNull { return nil }
    let destination = model.entity(relationship.destination)
    guard let text = value.string else {
      problem(label, relationship.name, "type", "\(relationship.name) wants a wrapped ID or null")
      return nil
    }
    // It may be one that waits, by its identity.
    if temporary[text] == nil { try writeWaitingRows() }
    guard let key = try resolve(text) else { throw StoreError.objectNotFound(text) }
    guard model.isKind(key.entity, of: destination.number) else {
      problem(
        label,
        relationship.name,
        "type",
        "\(relationship.name) leads to \(destination.name) only"
      )
      return nil
    }
    guard try exists(key) else { throw StoreError.objectNotFound(text) }
    return key
  }
}
