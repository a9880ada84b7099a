import CordialValues
import GRDB
import GRDBSQLite
import JSON
import ObjectModel
import PersistentHistory

/// Carries out one save inside the writer's transaction.
///
/// The order is the protocol's: inserts, updates, deletes, each in the order given; then delete
/// rules, then validation. Every problem is collected; any makes the caller roll back.
struct SaveOperation {
  let model: Model
  let tables: [EntityTable]
  let db: Database
  let request: SaveRequest
  private(set) var problems: [JSONValue] = []
  private(set) var conflicts: [JSONValue] = []
  /// What temporary IDs stand for, by their text.
  private var temporary: [String: ObjectKey] = [:]
  /// In the order of the request.
  private var inserted: [ObjectKey] = []
  private var insertedSet: Set<ObjectKey> = []
  /// Objects whose version went up already.
  var counted: Set<ObjectKey> = []
  /// To-manys whose counts have to be checked in the end.
  var touchedCounts: Set<CountedRelationship> = []
  /// Whether a rule left a to-one that leads to nothing.
  var leftDangling = false

  struct CountedRelationship: Hashable {
    let object: ObjectKey
    let relationship: String
  }

  /// How many problems are told at most; more say nothing new.
  private static let problemsMax = 1000

  init(model: Model, tables: [EntityTable], db: Database, request: SaveRequest) {
    self.model = model
    self.tables = tables
    self.db = db
    self.request = request
  }

  /// Carries the save out.
  ///
  /// - Returns: The answer without its token, and what was removed.
  /// - Throws: `StoreError`, or `DatabaseError` when SQLite failed; the caller rolls back.
  mutating func perform() throws -> (body: [UInt8], deleteCount: Int, deleted: [String]) {
    try giveNumbers()
    var writer = JSONWriter(reserving: 64 * (request.inserts.count + request.updates.count) + 64)
    try writeIDs(&writer)
    writer.raw(",\"objects\":[")
    for (index, insert) in request.inserts.enumerated() {
      if index > 0 { writer.raw(",") }
      try self.insert(insert, inserted[index], &writer)
    }
    try checkRepetitions()
    for (index, update) in request.updates.enumerated() {
      if index + request.inserts.count > 0 { writer.raw(",") }
      try self.update(update, &writer)
    }
    writer.raw("]")
    let removed = try removeObjects()
    try checkCounts()
    try throwProblems()
    return (writer.bytes, removed.count, removed.ids)
  }

  func table(_ key: ObjectKey) -> EntityTable { tables[key.entity - 1] }

  mutating func problem(_ id: String, _ property: String?, _ rule: String, _ message: String) {
    guard problems.count < Self.problemsMax else { return }
    var members = [JSONMember("id", .string(id))]
    if let property { members.append(JSONMember("property", .string(property))) }
    members += [JSONMember("rule", .string(rule)), JSONMember("message", .string(message))]
    problems.append(.object(members))
  }

  private func throwProblems() throws {
    if !conflicts.isEmpty {
      throw StoreError(
        .saveConflict, "Somebody else changed what this save is based on",
        hint: "Fetch the objects again and apply the change to their present values",
        data: [JSONMember("conflicts", .array(conflicts))])
    }
    guard let first = problems.first else { return }
    let more = problems.count == 1 ? "" : " (and \(problems.count - 1) more)"
    throw StoreError(
      .validationFailed, "\(first["id"]?.string ?? ""): \(first["message"]?.string ?? "")\(more)",
      hint: "Nothing was written; data.problems lists everything",
      data: [JSONMember("problems", .array(problems))])
  }

  // MARK: Identities

  private mutating func giveNumbers() throws {
    inserted.reserveCapacity(request.inserts.count)
    for insert in request.inserts {
      let id = try insert.id.map { text in
        guard let id = WrappedID(text) else {
          throw StoreError.invalidIdentifier(text, "it is malformed")
        }
        return id
      }
      guard let name = id?.entity ?? insert.entity else {
        throw StoreError(.invalidRequest, "An insert names an id or an entity")
      }
      guard let entity = model.entity(named: name) else {
        throw StoreError.unknownEntity(name, in: model)
      }
      let key = ObjectKey(
        entity: entity.number, object: try tables[entity.number - 1].giveNumber())
      inserted.append(key)
      insertedSet.insert(key)
      guard let id, let text = insert.id else { continue }
      if case .object = id.key {
        throw StoreError.invalidIdentifier(text, "the store gives these; insert with a t form")
      }
      guard temporary.updateValue(key, forKey: text) == nil else {
        problem(text, nil, "unique", "The ID stands twice among the inserts")
        continue
      }
    }
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
  private func writeID(
    of key: ObjectKey,
    _ insert: SaveRequest.Insert,
    _ writer: inout JSONWriter
  ) throws {
    let entity = model.entity(key.entity)
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
    guard case .value(let value) = identity.decode(sent) else { return "\(entity.name)/p\(key.object)" }
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
    guard let id = WrappedID(text) else {
      throw StoreError.invalidIdentifier(text, "it is malformed")
    }
    if case .temporary = id.key {
      throw StoreError.invalidIdentifier(text, "no insert of this save has it")
    }
    guard let entity = model.entity(named: id.entity) else {
      throw StoreError.unknownEntity(id.entity, in: model)
    }
    return try IdentityResolver.resolve(
      id, model: model, statement: tables[entity.number - 1].query)
  }

  func isInserted(_ key: ObjectKey) -> Bool { insertedSet.contains(key) }

  /// The text under which a problem names an object.
  func name(_ key: ObjectKey) -> String {
    "\(model.entity(key.entity).name)/p\(key.object)"
  }

  private mutating func checkRepetitions() throws {
    var seen: Set<ObjectKey> = []
    for id in request.updates.map(\.id) + request.deletes.map(\.id) {
      guard let key = try resolve(id) else { continue }
      if !seen.insert(key).inserted {
        problem(id, nil, "once", "An object stands once in update and delete together")
      }
    }
  }
}

// MARK: Inserts

extension SaveOperation {
  private mutating func insert(
    _ insert: SaveRequest.Insert,
    _ key: ObjectKey,
    _ writer: inout JSONWriter
  ) throws {
    let table = table(key)
    let entity = table.entity
    var row = entity.attributes.map(\.defaultValue)
    row += Array(repeating: .null, count: table.toOnes.count)
    var given = Array(repeating: false, count: row.count)
    if let identity = entity.identity, let id = insert.id.flatMap({ WrappedID($0) }),
      let place = table.places[identity.name]
    {
      if case .temporary = id.key {
      } else {
        row[place] = try IdentityResolver.identityValue(id, entity)
        given[place] = true
      }
    }
    let problemsBefore = problems.count
    var later: [(RelationshipDescription, JSONValue)] = []
    let label = insert.id ?? name(key)
    for (index, member) in insert.values.enumerated() {
      switch try decode(member, at: index, table, label) {
      case .attribute(let place, let value):
        if given[place], entity.attributes[place].name == entity.identity?.name, row[place] != value
        {
          problem(label, member.name, "identity", "The value differs from the one in the ID")
        }
        row[place] = value
        given[place] = true
      case .relationship(let relationship, let value):
        if relationship.toMany || relationship.inverse != nil { later.append((relationship, value)) }
        guard !relationship.toMany else { continue }
        let place = table.places[relationship.name] ?? 0
        given[place] = true
        if let target = try target(value, relationship, label) { row[place] = .integer(target.object) }
      case nil: continue
      }
    }
    try validate(row, table, label, given)
    if problems.count == problemsBefore {
      try constrained(key, label, row) { try table.insert(key.object, row) }
    }
    try link(later, of: key, label)
    try writeInserted(insert, key, row, given, &writer)
  }

  private mutating func validate(
    _ row: [AttributeValue],
    _ table: EntityTable,
    _ label: String,
    _ given: [Bool]
  ) throws {
    for (index, attribute) in table.entity.attributes.enumerated() {
      if let violation = attribute.violation(by: row[index]) {
        problem(label, attribute.name, violation.rule, violation.message)
      }
    }
    for (index, relationship) in table.toOnes.enumerated() where !relationship.optional {
      if row[table.entity.attributes.count + index] == .null {
        problem(label, relationship.name, "required", "\(relationship.name) must have a value")
      }
    }
  }

  private mutating func link(
    _ later: [(RelationshipDescription, JSONValue)],
    of key: ObjectKey,
    _ label: String
  ) throws {
    for relationship in table(key).entity.relationships
    where relationship.toMany && relationship.minimumCount > 0 {
      touchedCounts.insert(CountedRelationship(object: key, relationship: relationship.name))
    }
    for (relationship, value) in later {
      if relationship.toMany {
        try setToMany(value, relationship, of: key, label)
      } else {
        try claim(value, relationship, of: key, label)
      }
    }
  }

  private func writeInserted(
    _ insert: SaveRequest.Insert,
    _ key: ObjectKey,
    _ row: [AttributeValue],
    _ given: [Bool],
    _ writer: inout JSONWriter
  ) throws {
    writer.raw("{\"id\":")
    try writeID(of: key, insert, &writer)
    writer.raw(",\"version\":1")
    let entity = model.entity(key.entity)
    let stored = entity.attributes.indices.filter { !given[$0] && row[$0] != .null }
    if !stored.isEmpty {
      writer.raw(",\"values\":")
      writer.value(
        .object(
          stored.map { JSONMember(entity.attributes[$0].name, WireValue.json(row[$0])) }))
    }
    writer.raw("}")
  }

  /// Runs a statement that a uniqueness constraint may refuse.
  private func constrained(
    _ key: ObjectKey,
    _ label: String,
    _ row: [AttributeValue],
    _ body: () throws -> Void
  ) throws {
    do {
      try body()
    } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
      throw try uniqueness(key, label, row) ?? error
    }
  }

  /// Which unique set of properties a row breaks, and who has its values.
  private func uniqueness(
    _ key: ObjectKey,
    _ label: String,
    _ row: [AttributeValue]
  ) throws -> StoreError? {
    let table = table(key)
    let sets = (table.entity.identity.map { [[$0.name]] } ?? []) + table.entity.unique
    for set in sets {
      let condition = set.map { "\(SQLNames.quoted($0)) = ?" }.joined(separator: " AND ")
      let found = try table.query(
        "SELECT \"_id\" FROM \(SQLNames.quoted(table.entity.name)) "
          + "WHERE \(condition) AND \"_id\" <> ?")
      defer { found.reset() }
      for (index, name) in set.enumerated() {
        found.bind(row[table.places[name] ?? 0], at: Int32(index + 1))
      }
      found.bind(key.object, at: Int32(set.count + 1))
      guard try found.step() else { continue }
      let existing = name(ObjectKey(entity: key.entity, object: found.integer(0)))
      return StoreError(
        .uniquenessViolation,
        "\(existing) has the same \(set.joined(separator: ", ")) as \(label)",
        hint: "Update \(existing), or choose other values",
        data: [
          JSONMember("id", .string(label)),
          JSONMember("properties", .array(set.map { .string($0) })),
          JSONMember("existing", .string(existing)),
        ])
    }
    return nil
  }
}

// MARK: Updates

extension SaveOperation {
  private mutating func update(_ update: SaveRequest.Update, _ writer: inout JSONWriter) throws {
    guard let key = try resolve(update.id) else { throw StoreError.objectNotFound(update.id) }
    guard !isInserted(key) else {
      return problem(update.id, nil, "once", "An object is inserted or updated, not both in a save")
    }
    let table = table(key)
    guard let version = try table.version(of: key.object) else {
      throw StoreError.objectNotFound(update.id)
    }
    if let known = update.version, known < version {
      conflicts += try conflict(update, key, version)
    } else if let known = update.version, known > version {
      problem(update.id, nil, "version", "Version \(known) is ahead of the store's \(version)")
    }
    let columns = try columns(of: update, key)
    let isCounted = !counted.insert(key).inserted
    if problems.isEmpty, conflicts.isEmpty {
      try write(columns, to: key, update.id, counting: !isCounted)
    }
    writer.raw("{\"id\":")
    writer.string(update.id)
    writer.raw(",\"version\":")
    writer.integer(isCounted ? version : version + 1)
    writer.raw("}")
  }

  /// Reads the members of an update: its columns, with to-manys and inverses carried out.
  private mutating func columns(
    of update: SaveRequest.Update,
    _ key: ObjectKey
  ) throws -> [(place: Int, value: AttributeValue)] {
    let table = table(key)
    var columns: [(place: Int, value: AttributeValue)] = []
    var later: [(RelationshipDescription, JSONValue)] = []
    for (index, member) in update.values.enumerated() {
      switch try decode(member, at: index, table, update.id) {
      case .attribute(let place, let value):
        let attribute = table.entity.attributes[place]
        if attribute.name == table.entity.identity?.name {
          try checkIdentity(value, attribute, key, update.id)
        }
        if let violation = attribute.violation(by: value) {
          problem(update.id, attribute.name, violation.rule, violation.message)
        }
        columns.append((place, value))
      case .relationship(let relationship, let value):
        if relationship.toMany || relationship.inverse != nil { later.append((relationship, value)) }
        guard !relationship.toMany else { continue }
        let target = try target(value, relationship, update.id)
        if target == nil, !relationship.optional {
          problem(
            update.id, relationship.name, "required", "\(relationship.name) must have a value")
        }
        columns.append(
          (table.places[relationship.name] ?? 0, target.map { .integer($0.object) } ?? .null))
      case nil: continue
      }
    }
    if problems.isEmpty, conflicts.isEmpty { try link(later, of: key, update.id) }
    return columns
  }

  private mutating func checkIdentity(
    _ value: AttributeValue,
    _ attribute: AttributeDescription,
    _ key: ObjectKey,
    _ label: String
  ) throws {
    let table = table(key)
    let row = try table.query(
      "SELECT 1 FROM \(SQLNames.quoted(table.entity.name)) "
        + "WHERE \"_id\" = ? AND \(SQLNames.quoted(attribute.name)) IS ?")
    defer { row.reset() }
    row.bind(key.object, at: 1)
    row.bind(value, at: 2)
    if try !row.step() {
      problem(label, attribute.name, "identity", "An identity cannot be changed")
    }
  }

  private func write(
    _ columns: [(place: Int, value: AttributeValue)],
    to key: ObjectKey,
    _ label: String,
    counting: Bool
  ) throws {
    let table = table(key)
    do {
      try table.update(key.object, columns, counting: counting)
    } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
      var row = try wholeRow(key)
      for column in columns { row[column.place] = column.value }
      throw try uniqueness(key, label, row) ?? error
    }
  }

  /// The stored values of an object, for finding whom a uniqueness constraint means.
  private func wholeRow(_ key: ObjectKey) throws -> [AttributeValue] {
    let table = table(key)
    let names = table.entity.columns
    let list = names.map(SQLNames.quoted).joined(separator: ", ")
    let row = try table.query(
      "SELECT \(list) FROM \(SQLNames.quoted(table.entity.name)) WHERE \"_id\" = ?")
    defer { row.reset() }
    row.bind(key.object, at: 1)
    guard try row.step() else { return [] }
    return names.indices.map { index in
      switch row.type(Int32(index)) {
      case SQLITE_INTEGER: .integer(row.integer(Int32(index)))
      case SQLITE_FLOAT: .double(row.double(Int32(index)))
      case SQLITE_TEXT: .string(row.text(Int32(index)))
      case SQLITE_BLOB: .binary(row.blob(Int32(index)))
      default: .null
      }
    }
  }

  /// What changed since the version that a client knew, property by property, from the log.
  private func conflict(
    _ update: SaveRequest.Update,
    _ key: ObjectKey,
    _ version: Int64
  ) throws -> [JSONValue] {
    let changed = try ConflictReader(table: table(key)).changes(
      of: key, since: update.version ?? 0, model: model)
    return try changed.map { property, base in
      let stored = try storedValue(property, key)
      let client = update.values.last { $0.name == property }?.value ?? .null
      return [
        "id": .string(update.id), "property": .string(property), "base": base, "store": stored,
        "client": client, "version": .integer(version),
      ]
    }
  }

  private func storedValue(_ property: String, _ key: ObjectKey) throws -> JSONValue {
    let table = table(key)
    guard table.places[property] != nil else { return .null }
    let row = try table.query(
      "SELECT \(SQLNames.quoted(property)) FROM \(SQLNames.quoted(table.entity.name)) "
        + "WHERE \"_id\" = ?")
    defer { row.reset() }
    row.bind(key.object, at: 1)
    guard try row.step() else { return .null }
    var writer = JSONWriter()
    WireValue.form(of: property, table.entity, model).write(row, 0, to: &writer)
    return try JSONParser.parse(writer.bytes.span)
  }
}

// MARK: Values

extension SaveOperation {
  private enum Decoded {
    case attribute(place: Int, AttributeValue)
    case relationship(RelationshipDescription, JSONValue)
  }

  /// Reads one sent member; nil when it is a problem, which is noted.
  private mutating func decode(
    _ member: JSONMember,
    at index: Int,
    _ table: EntityTable,
    _ label: String
  ) throws -> Decoded? {
    switch table.property(named: member.name, at: index) {
    case .attribute(let attribute, let place):
      switch attribute.decode(member.value) {
      case .value(let value):
        return .attribute(place: place, value)
      case .expected(let what):
        problem(label, member.name, "type", "\(member.name) wants \(what)")
        return nil
      }
    case .relationship(let relationship, _): return .relationship(relationship, member.value)
    case nil: throw StoreError.unknownProperty(member.name, of: table.entity)
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
    guard let key = try resolve(text) else { throw StoreError.objectNotFound(text) }
    guard key.entity == destination.number else {
      problem(
        label, relationship.name, "type", "\(relationship.name) leads to \(destination.name) only")
      return nil
    }
    guard try isInserted(key) || table(key).version(of: key.object) != nil else {
      throw StoreError.objectNotFound(text)
    }
    return key
  }
}
