import CordialValues
package import Interruptions
package import JSON
import ObjectModel
import PersistentHistory
import SQLite
import StoreLayout

/// A check of a store: its file, schema, relationships, counts and derived values, and whether the
/// history log agrees with the rows.
package struct StoreVerification {
  let snapshot: StoreSnapshot
  private var problems: [JSONValue] = []
  private var foreign: [JSONValue] = []
  /// The maximum number of reported problems.
  static let problemsMax = 1000

  /// Prepares the verification of a snapshot.
  ///
  /// - Parameters:
  ///   - snapshot: The snapshot.
  ///   - work: The interruption of the verification, and the receiver of its progress.
  package init(_ snapshot: StoreSnapshot, _ work: LongWork = LongWork()) {
    self.snapshot = snapshot
    self.work = work
  }

  var model: Model { snapshot.model }
  /// The interruption of the verification, and the receiver of its progress.
  private let work: LongWork
  var interruption: Interruption { work.interruption }

  /// Runs all checks.
  ///
  /// - Returns: `{token, checked, problems, foreign?}`: the position, the number of objects, the
  ///   problems, and the additions of other programs to the schema.
  /// - Throws: `SQLiteError` if the file cannot be read.
  /// - Complexity: Linear in the store and its log.
  package mutating func run() throws -> JSONValue {
    // The steps are the file, the log, each entity, and the checks of several entities together.
    let stepCount = model.concreteEntities.count + 3
    try checkFile()
    try checkSchema()
    try work.report(1, of: stepCount)
    let audit = try LogAudit(snapshot)
    defer { audit.end() }
    try work.report(2, of: stepCount)
    var checked: Int64 = 0
    // The audit reads the history log once, in the order of the entity numbers.
    let entities = model.concreteEntities.sorted { $0.number < $1.number }
    for (index, entity) in entities.enumerated() {
      checked += try integer("SELECT count(*) FROM \(table(entity))")
      for relationship in entity.relationships where !relationship.toMany {
        try checkToOne(relationship, of: entity)
      }
      for relationship in entity.relationships where relationship.toMany {
        try checkCount(relationship, of: entity)
      }
      try checkRequired(entity)
      for attribute in entity.attributes { try checkValues(attribute, of: entity) }
      try checkPositions(entity)
      try checkHistory(entity, audit)
      try checkNumbers(entity)
      try work.report(3 + index, of: stepCount)
    }
    for entity in model.entities {
      for relationship in entity.linkRelationships { try checkLinkTable(relationship, of: entity) }
      try checkUniqueness(entity)
    }
    let values = DerivedValues.wrongValueQueries(
      in: model,
      comparesTexts: snapshot.reader.facts.hasCurrentTexts
    )
    for (entity, property, sql) in values {
      try each(sql, entity, property, "derived", "\(property) is not the value of its expression")
    }
    try checkTransactions()
    let found: [JSONMember] = [
      JSONMember("token", .string(snapshot.token.description)),
      JSONMember("checked", .integer(checked)), JSONMember("problems", .array(problems)),
    ]
    return .object(foreign.isEmpty ? found : found + [JSONMember("foreign", .array(foreign))])
  }

  func table(_ entity: EntityDescription) -> String { SQLNames.quoted(entity.name) }

  private func integer(_ sql: String) throws -> Int64 {
    let row = try snapshot.statement(sql)
    defer { row.reset() }
    return try row.step() ? row.integer(0) : 0
  }

  private mutating func add(_ what: String, _ message: String, _ members: [JSONMember] = []) {
    guard problems.count < Self.problemsMax else { return }
    problems.append(
      .object(
        [JSONMember("what", .string(what)), JSONMember("message", .string(message))] + members
      )
    )
  }

  /// Adds a problem for each object whose number a query returns.
  mutating func each(
    _ sql: String,
    _ entity: EntityDescription,
    _ property: String?,
    _ what: String,
    _ message: String
  ) throws {
    let rows = try snapshot.statement(sql + " LIMIT \(Self.problemsMax)")
    var numbers: [Int64] = []
    while try rows.step() { numbers.append(rows.integer(0)) }
    rows.reset()
    for number in numbers { try add(number, entity, property, what, message) }
  }

  /// Adds a problem of one object.
  mutating func add(
    _ number: Int64,
    _ entity: EntityDescription,
    _ property: String?,
    _ what: String,
    _ message: String
  ) throws {
    let id = try snapshot.wrappedID(model.key(entity.number, number)).description
    var members = [JSONMember("id", .string(id))]
    if let property { members.append(JSONMember("property", .string(property))) }
    add(what, "\(id): \(message)", members)
  }

  // MARK: The file

  private mutating func checkFile() throws {
    let rows = try snapshot.statement("PRAGMA integrity_check(100)")
    defer { rows.reset() }
    // SQLite checks a whole table in one call, and does not call the progress handler meanwhile.
    while try snapshot.interruptingCalls({ try rows.step() }) {
      let text = rows.text(0)
      if text != "ok" { add("file", text) }
    }
  }

  /// Compares the schema with the model's schema.
  ///
  /// Another program may have changed the schema while this process has the store open.
  private mutating func checkSchema() throws {
    let rows = try snapshot.statement(SchemaComparison.Part.query)
    defer { rows.reset() }
    var parts: [SchemaComparison.Part] = []
    while try rows.step() { parts.append(SchemaComparison.Part(rows)) }
    let version = try snapshot.statement(
      "SELECT value FROM \(StoreMetadata.table) WHERE name = ?"
    )
    defer { version.reset() }
    version.bind(StoreMetadata.triggers.rawValue, at: 1)
    let triggers = try version.step() ? version.optionalText(0) : nil
    let schema = SchemaComparison(parts, model, triggers: triggers)
    for difference in schema.differences {
      add("schema", "The schema differs: \(difference.clause)")
    }
    foreign = schema.foreign.prefix(Self.problemsMax).map { part in
      ["what": .string(part.kind), "name": .string(part.name)]
    }
  }

  // MARK: Relationships

  private mutating func checkToOne(
    _ relationship: RelationshipDescription,
    of entity: EntityDescription
  ) throws {
    let column = SQLNames.quoted(relationship.name)
    let destination = model.entity(relationship.destination)
    try each(
      """
      SELECT o."_id" FROM \(table(entity)) o WHERE o.\(column) IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM \(model.source(destination)) d WHERE d."_id" = o.\(column))
      """,
      entity,
      relationship.name,
      "dangling",
      "\(relationship.name) references an object that does not exist"
    )
    guard let name = relationship.inverse,
      case .relationship(let inverse)? = destination.property(named: name), !inverse.toMany
    else { return }
    try each(
      """
      SELECT o."_id" FROM \(table(entity)) o JOIN \(model.source(destination)) d
      ON d."_id" = o.\(column) WHERE d.\(SQLNames.quoted(name)) IS NOT o."_id"
      """,
      entity,
      relationship.name,
      "inverse",
      "\(relationship.name) references an object whose \(name) does not reference it"
    )
  }

  private mutating func checkLinkTable(
    _ relationship: RelationshipDescription,
    of entity: EntityDescription
  ) throws {
    let links = LinkTable(relationship, in: model)
    let destination = model.entity(relationship.destination)
    for (own, other, from, to, name) in [
      (links.owner, links.member, entity, destination, relationship.name),
      (
        links.member, links.owner, destination, entity,
        relationship.inverse ?? relationship.name
      ),
    ] {
      try each(
        """
        SELECT DISTINCT p.\(own) FROM \(links.table) p WHERE NOT EXISTS
        (SELECT 1 FROM \(model.source(to)) o WHERE o."_id" = p.\(other))
        """,
        from,
        name,
        "dangling",
        "a link row references an object that does not exist"
      )
    }
    for column in OrderSchema(model).linkPositionColumns(relationship, of: entity) {
      try each(
        "SELECT DISTINCT \(links.owner) FROM \(links.table) WHERE \(column) IS NULL",
        entity,
        relationship.name,
        "position",
        "a link row has no position"
      )
    }
  }

  private mutating func checkCount(
    _ relationship: RelationshipDescription,
    of entity: EntityDescription
  ) throws {
    guard relationship.minimumCount > 0 || relationship.maximumCount != nil else { return }
    var compiler = try FetchCompiler(
      FetchRequest(entity: entity.name),
      in: FetchContext(model: model, mayDangle: true)
    )
    let members = compiler.members(relationship, of: "t", as: "d")
    compiler.noteMembers(relationship, at: nil)
    let count = "(SELECT count(*) FROM \(members.from) WHERE \(members.condition))"
    var wrong = "\(count) < \(relationship.minimumCount)"
    if let maximum = relationship.maximumCount { wrong += " OR \(count) > \(maximum)" }
    try each(
      "SELECT t.\"_id\" FROM \(table(entity)) t WHERE \(wrong)",
      entity,
      relationship.name,
      "count",
      "\(relationship.name) has fewer or more objects than the model allows"
    )
  }

  private mutating func checkRequired(_ entity: EntityDescription) throws {
    let attributes = entity.attributes.filter { !$0.optional && $0.derived == nil }.map(\.name)
    let toOnes = entity.relationships.filter { !$0.toMany && !$0.optional }.map(\.name)
    for name in attributes + toOnes where entity.columns.contains(name) {
      try each(
        "SELECT \"_id\" FROM \(table(entity)) WHERE \(SQLNames.quoted(name)) IS NULL",
        entity,
        name,
        "required",
        "\(name) must have a value"
      )
    }
  }

  // MARK: The log against the rows

  /// The contradictions between one entity's objects and the log, up to the reported maximum.
  private struct HistoryProblems {
    private(set) var list: [(object: Int64, what: String, message: String)] = []

    mutating func add(_ object: Int64, _ what: String, _ message: String) {
      if list.count < StoreVerification.problemsMax { list.append((object, what, message)) }
    }
  }

  /// Compares an entity's objects with their logged states, both in the order of the objects.
  private mutating func checkHistory(_ entity: EntityDescription, _ audit: LogAudit) throws {
    // If no history was ever purged, the log must have the insert of each object.
    let isWhole = try snapshot.oldest().number == 0
    var (wrong, gaps, missing) = (HistoryProblems(), HistoryProblems(), HistoryProblems())
    func check(_ object: Int64, _ version: Int64, _ state: LogAudit.State) {
      if version < 1 { wrong.add(object, "version", "its version is below 1") }
      if state.version > 0, state.version != version {
        wrong.add(object, "version", "its version differs from its version in the history")
      }
      if state.exists == false {
        wrong.add(object, "history", Self.contradiction)
      } else if isWhole, !state.hasInsert {
        wrong.add(object, "history", "the history lacks its insert")
      }
    }
    let rows = try snapshot.statement(
      "SELECT \"_id\", \"_version\" FROM \(table(entity)) ORDER BY \"_id\""
    )
    defer { rows.reset() }
    var hasRow = try rows.step()
    try audit.each(entity) { object, state in
      while hasRow, rows.integer(0) < object {
        check(rows.integer(0), rows.integer(1), LogAudit.State())
        hasRow = try rows.step()
      }
      if hasRow, rows.integer(0) == object {
        check(object, rows.integer(1), state)
        hasRow = try rows.step()
      } else if state.exists == true {
        missing.add(object, "history", Self.contradiction)
      }
      if state.hasGap { gaps.add(object, "history", "the history lacks some of its versions") }
    }
    while hasRow {
      check(rows.integer(0), rows.integer(1), LogAudit.State())
      hasRow = try rows.step()
    }
    let all = wrong.list + gaps.list + missing.list
    for (object, what, message) in all.prefix(Self.problemsMax) {
      try add(object, entity, nil, what, message)
    }
  }

  private static let contradiction = "the history contradicts whether the object exists"

  private mutating func checkNumbers(_ entity: EntityDescription) throws {
    try each(
      """
      SELECT "_id" FROM \(table(entity)) WHERE "_id" > coalesce(
        (SELECT CASE typeof(seq) WHEN 'integer' THEN seq END FROM sqlite_sequence
         WHERE name = \(SQLNames.literal(entity.name))), 0)
      """,
      entity,
      nil,
      "number",
      "its number would be given to a new object"
    )
  }

  private mutating func checkTransactions() throws {
    let gaps = try integer(
      "SELECT max(number) - min(number) + 1 - count(*) FROM cordial_transaction"
    )
    if gaps != 0 { add("history", "\(gaps) commits are missing between the oldest and the newest") }
    let backwards = try integer(
      """
      SELECT count(*) FROM cordial_transaction t JOIN cordial_transaction p
      ON p.number = t.number - 1 WHERE t.lastChange < p.lastChange
      """
    )
    if backwards != 0 { add("history", "\(backwards) commits end before their predecessors") }
    let entities = model.entities.map(\.number) + model.retired.map(\.description.number)
    let known = entities.map(String.init)
    let unknown = try integer(
      """
      SELECT count(*) FROM cordial_change WHERE kind NOT BETWEEN 0 AND 4
        OR entity NOT IN (0, \(known.joined(separator: ", ")))
      """
    )
    if unknown != 0 { add("history", "\(unknown) changes are of no known kind or entity") }
    let head = snapshot.head
    if head.lastLogged != head.lastChange {
      add("history", "The log ends at \(head.lastLogged), its newest commit at \(head.lastChange)")
    }
    let lost = try integer(
      "SELECT count(*) FROM cordial_undo WHERE number > \(head.number) OR first > number"
    )
    if lost != 0 { add("history", "\(lost) entries of undo refer to commits that do not exist") }
    for follower in try snapshot.followers() where follower.number > head.number {
      add("history", "The follower \(follower.name) is ahead of the newest commit")
    }
  }
}
