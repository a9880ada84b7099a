import CordialValues
import Interruptions
import JSON
import ObjectModel
import PersistentHistory
import SQLite
import StoreLayout

/// A reader of the changes that an update or a delete by predicate makes.
///
/// The reader computes all values before any write, so that no computation reads another object's
/// new value.
struct MatchingChanges {
  let tables: StoreTables
  let db: SQLiteConnection
  let triggers: TriggerControl
  let bulk: BulkLimits
  /// The names of the program's functions for transient attributes.
  private let functions: Set<String>
  /// The interruption of the evaluation of the predicate.
  private let interruption: Interruption
  private let stored: any StoredObjects
  private let affectedMax: Int
  private let changesMax: Int
  private var problems = ProblemList()

  init(
    _ tables: StoreTables,
    _ stored: any StoredObjects,
    _ db: SQLiteConnection,
    _ triggers: TriggerControl,
    _ bulk: BulkLimits,
    _ functions: Set<String>,
    _ interruption: Interruption,
    affectedMax: Int,
    changesMax: Int
  ) {
    self.affectedMax = affectedMax
    self.changesMax = changesMax
    self.interruption = interruption
    self.functions = functions
    self.stored = stored
    self.tables = tables
    self.db = db
    self.triggers = triggers
    self.bulk = bulk
  }

  /// An update by predicate, prepared for the save: the changes of the matching objects, or one
  /// statement.
  struct MatchedUpdate {
    var updates: [ResolvedUpdate] = []
    /// The update as one statement; nil if each object is updated separately.
    var statement: MatchingStatement?
    var count = 0
    /// The matched objects, in the order of their numbers; empty unless requested.
    var keys: [ObjectKey] = []
    var problems = ProblemList()
    /// The parts of the update that the save skips because they have problems.
    var skippedParts = SkippedParts()
    /// The IDs in the values of the request, by the objects that they name.
    var labels: [ObjectKey: String] = [:]
  }

  /// The value that an update by predicate sets for one attribute.
  struct Assignment {
    let attribute: AttributeDescription
    /// The value; nil for a computed value.
    var value: AttributeValue?
  }

  private var model: Model { tables.layout.model }

  /// Returns the objects that match a predicate.
  func keys(_ fetch: FetchRequest) throws -> [ObjectKey] {
    var keys: [ObjectKey] = []
    try eachMatch(try matches(fetch, [])) { key, _ in
      guard keys.count < affectedMax else {
        throw StoreError.tooMany("affected", affectedMax, "objects to delete")
      }
      keys.append(key)
    }
    return keys
  }

  private func matches(
    _ fetch: FetchRequest,
    _ expressions: [(AttributeDescription, String)]
  ) throws -> FetchCompiler.Matches {
    let row = try PreparedStatement(
      db,
      "SELECT \(DanglingReferences.isMarked)"
    )
    defer { row.reset() }
    let mayDangle = try row.step() && row.integer(0) != 0
    return try FetchCompiler.matches(
      fetch,
      expressions,
      in: FetchContext(model: model, mayDangle: mayDangle, functions: functions)
    )
  }

  func eachMatch(
    _ matches: FetchCompiler.Matches,
    _ body: (ObjectKey, PreparedStatement) throws -> Void
  ) throws {
    let rows = try PreparedStatement(db, bound: matches.query)
    defer { rows.reset() }
    while try rows.step() {
      try body(model.storedKey(matches.entity.number, rows.integer(0)), rows)
    }
  }

  /// Reads an update by predicate.
  ///
  /// - Throws: `unknownEntity`, `predicateInvalid`, or `SQLiteError`.
  mutating func read(
    _ update: SaveRequest.UpdateMatching,
    _ request: SaveRequest
  ) throws -> MatchedUpdate {
    guard let entity = model.entity(named: update.fetch.entity) else {
      throw StoreError.unknownEntity(update.fetch.entity, in: model)
    }
    let (assignments, links, expressions) = assignments(
      entity.expanded(update.values),
      of: entity
    )
    let matches = try matches(update.fetch, expressions)
    var matched = MatchedUpdate()
    if links.isEmpty, try isOneStatement(assignments, matches, request) {
      try checkComputed(assignments, matches)
      if request.wantsIDs {
        try eachMatch(matches) { key, _ in
          guard matched.keys.count < affectedMax else {
            throw StoreError.tooMany("affected", affectedMax, "IDs to return")
          }
          matched.keys.append(key)
        }
        matched.count = matched.keys.count
      } else {
        matched.count = try count(matches)
      }
      matched.statement = MatchingStatement(
        assignments: assignments,
        matches: matches,
        logsInBulk: matched.count >= bulk.rowsMin
      )
    } else {
      try readEach(assignments, links, expressions.count, matches, &matched)
      if request.wantsIDs { matched.keys = matched.updates.map(\.key) }
      matched.count = matched.updates.count
    }
    matched.problems = problems
    return matched
  }

  /// Writes an update as one statement.
  func write(_ statement: MatchingStatement) throws {
    try statement.write(db, model, triggers)
  }

  private func count(_ matches: FetchCompiler.Matches) throws -> Int {
    let row = try PreparedStatement(
      db,
      bound: SQLFragment(
        "SELECT count(*) FROM \(SQLNames.quoted(matches.entity.name)) t "
          + "WHERE \(matches.condition.sql)",
        matches.condition.values
      )
    )
    defer { row.reset() }
    return try row.step() ? Int(row.integer(0)) : 0
  }

  /// Reads the update of each object that matches.
  private mutating func readEach(
    _ assignments: [Assignment],
    _ links: [JSONMember],
    _ computedCount: Int,
    _ matches: FetchCompiler.Matches,
    _ matched: inout MatchedUpdate
  ) throws {
    var objects: [(key: ObjectKey, computed: [AttributeValue])] = []
    try eachMatch(matches) { key, row in
      guard objects.count < changesMax else {
        throw StoreError.tooMany("saveChanges", changesMax, "objects to update one by one")
      }
      objects.append((key, (0..<computedCount).map { row.value(Int32($0 + 1)) }))
    }
    var resolver: Resolver?
    for (key, computed) in objects {
      let entity = tables.layout.entity(key)
      let table = tables[key]
      var update = ResolvedUpdate(
        origin: .match,
        key: key,
        label: try table.name(of: key.object),
        known: nil,
        asOf: nil,
        version: 0,
        columns: [],
        links: []
      )
      var next = 0
      for assignment in assignments {
        let column = entity.columns[assignment.attribute.name] ?? 0
        var value = assignment.value
        if value == nil {
          value = storable(computed[next], assignment.attribute, update.label)
          next += 1
        }
        guard let value else {
          update.columns.set(column, to: .refused)
          continue
        }
        if assignment.attribute.name == entity.entity.identity?.name,
          try table.value(column, of: key.object) != value
        {
          problems.add(
            .invalid(
              update.label,
              assignment.attribute.name,
              "identity",
              "An identity cannot be changed"
            )
          )
          continue
        }
        update.columns.set(column, to: value)
      }
      entity.addDerivedTexts(to: &update.columns)
      if !links.isEmpty {
        var reading =
          resolver
          ?? Resolver(
            SaveRequest(),
            tables.layout,
            stored
          )
        try reading.read(links, entity, &update)
        resolver = reading
      }
      matched.updates.append(update)
    }
    for problem in resolver?.problems.problems ?? [] { problems.add(problem) }
    matched.skippedParts = resolver?.skippedParts ?? SkippedParts()
    matched.labels = resolver?.labels ?? [:]
  }

  /// Returns the sent values by their kind: attributes, relationships, and expressions.
  private mutating func assignments(
    _ values: [JSONMember],
    of entity: EntityDescription
  ) -> ([Assignment], links: [JSONMember], computed: [(AttributeDescription, String)]) {
    var assignments: [Assignment] = []
    var links: [JSONMember] = []
    var computed: [(AttributeDescription, String)] = []
    for member in values {
      switch entity.property(named: member.name) {
      case .attribute(let attribute):
        guard attribute.derived == nil else {
          problem(entity, member.name, "derived", "The store computes \(member.name)")
          continue
        }
        if let text = Self.expression(member.value) {
          assignments.append(Assignment(attribute: attribute, value: nil))
          computed.append((attribute, text))
          continue
        }
        switch attribute.decode(member.value) {
        case .value(let value):
          assignments.append(Assignment(attribute: attribute, value: value))
        case .expected(let what):
          problem(entity, member.name, "type", "\(member.name) must be \(what)")
        }
      case .relationship(let relationship):
        guard Self.expression(member.value) == nil else {
          problem(
            entity,
            relationship.name,
            "type",
            "\(relationship.name) is a relationship, which an expression cannot set"
          )
          continue
        }
        links.append(member)
      case nil:
        if let composite = entity.composite(named: member.name) {
          problem(entity, member.name, "type", "\(member.name) must be \(composite.expectation)")
          continue
        }
        problems.add(
          SaveProblem(
            .unknownProperty(member.name, of: entity),
            rule: "property",
            id: entity.name,
            property: StoreError.short(member.name)
          )
        )
      }
    }
    return (assignments, links, computed)
  }

  private mutating func problem(
    _ entity: EntityDescription,
    _ property: String,
    _ rule: String,
    _ message: String
  ) {
    problems.add(.invalid(entity.name, property, rule, message))
  }

  /// Returns the text of `{"@expression": "…"}`.
  private static func expression(_ value: JSONValue) -> String? {
    guard let members = value.members, members.count == 1, members[0].name == "@expression" else {
      return nil
    }
    return members[0].value.string
  }

  private static func words(_ computed: AttributeValue) -> String {
    if case .double(let number) = computed, !number.isFinite { return "infinity" }
    return StoreError.short(WireValue.json(computed).text)
  }

  /// Returns a computed value in the form in which its attribute stores it.
  ///
  /// If the attribute cannot store the value, this method reports a problem and returns nil.
  /// Validation checks later whether the model allows the value.
  private mutating func storable(
    _ computed: AttributeValue,
    _ attribute: AttributeDescription,
    _ id: String
  ) -> AttributeValue? {
    let stored = computed == .null ? .null : attribute.type.codec.value(computed: computed)
    if let value = stored?.finite { return value }
    problems.add(
      .invalid(
        id,
        attribute.name,
        "type",
        "The expression returns \(Self.words(computed)), "
          + "which is not a value of type \(attribute.type.rawValue)"
      )
    )
    return nil
  }

  // MARK: One statement

  /// Returns whether one statement can perform an update.
  ///
  /// Such an update changes columns of one table only, no unique value, and no text with a derived
  /// form. The rules allow its constants, and SQLite can check its computed values.
  private func isOneStatement(
    _ assignments: [Assignment],
    _ matches: FetchCompiler.Matches,
    _ request: SaveRequest
  ) throws -> Bool {
    let entity = matches.entity
    guard matches.isPlain, !assignments.isEmpty, !entity.hasDescendants, !entity.isAbstract,
      request.inserts.isEmpty, request.updates.isEmpty, problems.isEmpty
    else { return false }
    let names = Set(assignments.map(\.attribute.name))
    let kept = entity.unique.joined() + (entity.identity.map { [$0.name] } ?? [])
    return try names.count == assignments.count && names.isDisjoint(with: kept)
      && !tables.layout.entities[entity.number - 1].derivedTexts.contains {
        names.contains(entity.columns[$0.source])
      }
      && assignments.allSatisfy { assignment in
        try assignment.value.map { try assignment.attribute.violation(by: $0, interruption) == nil }
          ?? (Self.sqlCheck(assignment.attribute) != nil)
      }
  }

  /// Returns the SQL condition under which a computed value, written `$`, can be stored unchanged;
  /// nil if SQLite cannot check the attribute.
  private static func sqlCheck(_ attribute: AttributeDescription) -> String? {
    guard attribute.allowed == nil, attribute.pattern == nil, attribute.minimumLength == nil,
      attribute.maximumLength == nil
    else { return nil }
    func integer(_ value: AttributeValue?) -> Int64? {
      switch value {
      case .integer(let number), .date(let number): number
      default: nil
      }
    }
    let check: String
    switch attribute.type.codec.validColumn {
    case .integers(let range):
      let least = max(range.lowerBound, integer(attribute.minimum) ?? range.lowerBound)
      let greatest = min(range.upperBound, integer(attribute.maximum) ?? range.upperBound)
      // SQL has no literal for the least integer.
      let above = least == Int64.min ? "1" : "$ >= \(least)"
      check = "typeof($) = 'integer' AND \(above) AND $ <= \(greatest)"
    case .reals where attribute.minimum == nil && attribute.maximum == nil:
      check = "typeof($) = 'real' AND abs($) <= 1.7976931348623157e308"
    case .texts where attribute.minimum == nil && attribute.maximum == nil:
      check = "typeof($) = 'text'"
    case .reals, .texts, nil: return nil
    }
    return attribute.optional ? "($ IS NULL OR \(check))" : "(\(check))"
  }

  /// Reports computed values that cannot be stored.
  ///
  /// The query finds the values that fail `sqlCheck`. The method checks each of these values again,
  /// because the attribute may still be able to store the value.
  private mutating func checkComputed(
    _ assignments: [Assignment],
    _ matches: FetchCompiler.Matches
  ) throws {
    let attributes = assignments.filter { $0.value == nil }.map(\.attribute)
    for (attribute, value) in zip(attributes, matches.computed) {
      guard let check = Self.sqlCheck(attribute) else { continue }
      let parts = check.split(separator: "$", omittingEmptySubsequences: false)
      let isValid = parts.joined(separator: "(\(value.sql))")
      let rows = try PreparedStatement(
        db,
        bound: SQLFragment(
          "SELECT t.\"_id\", \(value.sql) FROM \(SQLNames.quoted(matches.entity.name)) t "
            + "WHERE (\(matches.condition.sql)) AND NOT coalesce(\(isValid), 0)",
          value.values + matches.condition.values
            + Array(repeating: value.values, count: parts.count - 1).joined()
        )
      )
      defer { rows.reset() }
      while try !problems.isFull && rows.step() {
        let key = model.storedKey(matches.entity.number, rows.integer(0))
        let id = try tables[key].name(of: key.object)
        guard let value = storable(rows.value(1), attribute, id),
          let violation = try attribute.violation(by: value, interruption)
        else { continue }
        problems.add(.invalid(id, attribute.name, violation.rule, violation.message))
      }
    }
  }
}

extension PreparedStatement {
  /// Creates a statement with its values bound.
  convenience init(_ db: SQLiteConnection, bound query: SQLFragment) throws {
    try self.init(db, query.sql)
    for (index, value) in query.values.enumerated() { bind(value, at: Int32(index + 1)) }
  }
}

extension AttributeValue {
  /// The value, nil for a number that is not finite.
  fileprivate var finite: AttributeValue? {
    if case .double(let number) = self, !number.isFinite { nil } else { self }
  }
}
