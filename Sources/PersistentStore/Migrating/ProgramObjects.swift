import CordialValues
import JSON
import ObjectModel
import PersistentHistory
import SQLite
import StoreLayout

/// The objects that a program made of all objects of a store, in the form of an export.
package struct ProgramObjects: Sendable {
  /// The lines, one object on each.
  let bytes: [UInt8]
  /// The position of the store at which the program's input was read.
  let token: StoreToken

  /// - Throws: `invalidRequest` if the text is not a valid token.
  package init(_ bytes: [UInt8], at token: String) throws(StoreError) {
    guard let token = StoreToken(token) else {
      throw StoreError(.invalidRequest, "\(token) is not a token")
    }
    self.bytes = bytes
    self.token = token
  }
}

/// The import of a program's objects into the prepared tables of a migration.
///
/// The import reads all lines before it fails, so that the error counts all mistakes.
struct ProgramImport {
  /// A to-one of the new model.
  private struct ToOne: Hashable {
    let owner: Int
    let name: String
  }

  /// One line of the program's output: the line number and the object that the line describes.
  private struct Line {
    let number: Int
    let entity: EntityDescription
    let object: Int64
    let values: [JSONMember]
  }

  private let plan: MigrationPlan
  private let db: SQLiteConnection
  /// The greatest object number that each new entity has used so far, by entity number.
  private var last: [Int: Int64] = [:]
  private var lines: [Line] = []
  /// The index in `lines` of each object, by the ID that the program gave it.
  private var indexes: [String: Int] = [:]
  private var statements: [String: PreparedStatement] = [:]
  /// The referenced objects, by the to-one, then by the object that has the to-one.
  private var toOnes: [ToOne: [Int64: Int64]] = [:]
  /// The mistakes, each with its count of occurrences and the line number of the first occurrence.
  private var mistakes: [(message: String, path: String, count: Int64, line: Int)] = []

  init(_ plan: MigrationPlan, _ db: SQLiteConnection) {
    self.plan = plan
    self.db = db
  }

  /// Reads the objects into the prepared tables.
  ///
  /// - Parameters:
  ///   - objects: The program's objects.
  ///   - given: Returns the greatest object number that an entity used before the migration.
  /// - Returns: The mistakes of the program; the tables are complete only if there are none.
  /// - Throws: `SQLiteError`.
  mutating func run(
    _ objects: ProgramObjects,
    given: (EntityDescription) throws -> Int64
  ) throws -> [MigrationProblem] {
    for entity in plan.to.concreteEntities { last[entity.number] = try given(entity) }
    try readLines(objects.bytes)
    for line in lines { try store(line) }
    for line in lines { try storeToOnes(line) }
    return mistakes.map { mistake in
      MigrationProblem(
        path: mistake.path,
        message: "line \(mistake.line) of the program: \(mistake.message)",
        count: mistake.count
      )
    }
  }

  private mutating func note(_ message: String, _ path: String, _ line: Int) {
    if let index = mistakes.firstIndex(where: { $0.message == message && $0.path == path }) {
      mistakes[index].count += 1
    } else if mistakes.count < Self.mistakesMax {
      mistakes.append((message, path, 1, line))
    }
  }

  private static let mistakesMax = 20

  // MARK: Lines

  private mutating func readLines(_ bytes: [UInt8]) throws {
    var start = 0
    var number = 0
    while start < bytes.count {
      let end = JSONBytes.firstIndex(of: 0x0A, in: bytes.span, from: start)
      defer { start = end + 1 }
      number += 1
      guard end > start else { continue }
      do {
        try read(try JSONParser.parse(bytes.span.extracting(start..<end)), number)
      } catch let error as JSONError {
        note("it is not JSON: \(error.message)", "", number)
      }
    }
  }

  private mutating func read(_ value: JSONValue, _ number: Int) throws {
    let id = value["id"]?.string
    // The prefix compares scalars, because any text may follow the slash, and a combining scalar
    // would form one `Character` with the slash.
    let name = value["entity"]?.string ?? id.map { String($0.unicodeScalars.prefix { $0 != "/" }) }
    guard let name else { return note("it has neither an id nor an entity", "", number) }
    guard let entity = plan.to.entity(named: name), !entity.isAbstract else {
      let problem = plan.to.entity(named: name) == nil ? "does not exist" : "is abstract"
      return note("the entity \(name) \(problem)", name, number)
    }
    let given = value["values"] ?? [:]
    guard let values = given.deduplicated.members else {
      return note("its values are not an object", name, number)
    }
    if let id {
      guard indexes[id] == nil else { return note("the id occurs twice", id, number) }
      indexes[id] = lines.count
    }
    let old = try id.flatMap { try storedNumber($0, entity) }
    let object: Int64
    if let old {
      object = old
    } else {
      object = (last[entity.number] ?? 0) + 1
      last[entity.number] = object
    }
    let source = old == nil ? 0 : plan.mapping.source(of: entity)?.number ?? 0
    try insert(
      "INSERT INTO \(PreparedTables.objects(of: entity))(number, source, old) VALUES (?, ?, ?)",
      [.integer(object), .integer(Int64(source)), old.map { .integer($0) } ?? .null]
    )
    lines.append(Line(number: number, entity: entity, object: object, values: values))
  }

  /// Returns the number of the old object that an ID identifies, nil if there is none.
  private mutating func storedNumber(
    _ text: String,
    _ entity: EntityDescription
  ) throws -> Int64? {
    guard let id = ObjectID(text), let old = plan.mapping.source(of: entity),
      id.entity == old.name
    else { return nil }
    let column: String
    let key: AttributeValue
    switch id.key {
    case .object(let number): (column, key) = (SQLNames.object, .integer(number))
    default:
      guard let identity = old.identity,
        let value = identity.type.codec.identityForm?.value(id.key)
      else { return nil }
      (column, key) = (identity.name, value)
    }
    let statement = try statement(
      "SELECT \"_id\" FROM \(SQLNames.quoted(old.name)) WHERE \(SQLNames.quoted(column)) = ?"
    )
    defer { statement.reset() }
    statement.bind(key, at: 1)
    return try statement.step() ? statement.integer(0) : nil
  }

  // MARK: Values

  private mutating func store(_ line: Line) throws {
    let entity = line.entity
    var columns: [(name: String, value: AttributeValue)] = []
    var given: Set<String> = []
    for member in entity.expanded(line.values) {
      guard given.insert(member.name).inserted else { continue }
      let path = "\(entity.name).\(member.name)"
      switch entity.property(named: member.name) {
      case .attribute(let attribute)? where attribute.derived != nil: break
      case .attribute(let attribute)?:
        columns.append((attribute.name, value(member.value, of: attribute, path, line.number)))
      case .relationship(let relationship)?:
        let targets = targets(member.value, of: relationship, path, line.number)
        try link(relationship, of: entity, line.object, targets, line.number)
      case nil:
        let expected = entity.composite(named: member.name)?.expectation
        let message = expected.map { "the value must be \($0)" }
        note(message ?? "\(entity.name) has no such property", path, line.number)
      }
    }
    for attribute in entity.attributes
    where attribute.derived == nil && !given.contains(attribute.name) {
      if attribute.defaultValue != .null {
        columns.append((attribute.name, attribute.defaultValue))
      } else if !attribute.optional {
        note("a required value is missing", "\(entity.name).\(attribute.name)", line.number)
      }
    }
    guard !columns.isEmpty else { return }
    let names = columns.map { "\(PreparedTables.column($0.name)) = ?" }.joined(separator: ", ")
    try insert(
      "UPDATE \(PreparedTables.objects(of: entity)) SET \(names) WHERE number = ?",
      columns.map(\.value) + [.integer(line.object)]
    )
  }

  private mutating func value(
    _ value: JSONValue,
    of attribute: AttributeDescription,
    _ path: String,
    _ line: Int
  ) -> AttributeValue {
    switch attribute.decode(value) {
    case .value(let typed):
      if let violation = attribute.timedViolation(by: typed) { note(violation.message, path, line) }
      return typed
    case .expected(let expected):
      note("expected \(expected)", path, line)
      return .null
    }
  }

  /// Returns the numbers of the objects that a value references.
  private mutating func targets(
    _ value: JSONValue,
    of relationship: RelationshipDescription,
    _ path: String,
    _ line: Int
  ) -> [Int64] {
    let names = relationship.toMany ? value.array : value.isNull ? [] : [value]
    guard let names, names.allSatisfy({ $0.string != nil }) else {
      note("expected \(relationship.toMany ? "a list of IDs" : "an ID or null")", path, line)
      return []
    }
    return names.compactMap(\.string).compactMap { name in
      guard let index = indexes[name] else {
        note("no line has the id of an object that it references", path, line)
        return nil
      }
      guard plan.to.isKind(lines[index].entity.number, of: relationship.destination) else {
        note("it references a \(lines[index].entity.name)", path, line)
        return nil
      }
      return lines[index].object
    }
  }

  // MARK: Links

  /// Records the links of an object's relationship, and sets the to-ones at both ends.
  private mutating func link(
    _ relationship: RelationshipDescription,
    of entity: EntityDescription,
    _ object: Int64,
    _ targets: [Int64],
    _ line: Int
  ) throws {
    let path = "\(entity.name).\(relationship.name)"
    for (index, target) in targets.enumerated() {
      if !relationship.toMany { set(relationship, of: object, to: target, path, line) }
      if let name = relationship.inverse,
        case .relationship(let inverse)? = kind(target, relationship).property(named: name),
        !inverse.toMany
      {
        set(inverse, of: target, to: object, path, line)
      }
      let place = AttributeValue.integer(Int64(index))
      switch relationship.storage {
      case .column: break
      case .linkTable(_, _, let owns) where owns:
        let (a, b) =
          relationship.isSymmetric ? (min(object, target), max(object, target)) : (object, target)
        try insertLink(relationship.name, of: entity, a, b, place, .null)
      case .linkTable:
        try insertLink(
          relationship.inverse ?? "",
          of: kind(target, relationship),
          target,
          object,
          .null,
          place
        )
      case .inverseColumn:
        guard relationship.ordered else { continue }
        try insertLink(relationship.name, of: entity, object, target, place, .null)
      }
    }
  }

  /// Sets a to-one, and notes a mistake if another line gave the to-one a different target.
  private mutating func set(
    _ toOne: RelationshipDescription,
    of object: Int64,
    to target: Int64,
    _ path: String,
    _ line: Int
  ) {
    let key = ToOne(owner: toOne.owner, name: toOne.name)
    let former = toOnes[key, default: [:]].updateValue(target, forKey: object)
    guard let former, former != target else { return }
    note("it contradicts another line: \(toOne.name) references one object", path, line)
  }

  /// Stores the to-ones of an object.
  private mutating func storeToOnes(_ line: Line) throws {
    for relationship in line.entity.relationships where relationship.isColumn {
      let key = ToOne(owner: relationship.owner, name: relationship.name)
      guard let target = toOnes[key]?[line.object] else { continue }
      try insert(
        "UPDATE \(PreparedTables.objects(of: line.entity)) "
          + "SET \(PreparedTables.column(relationship.name)) = ? WHERE number = ?",
        [.integer(target), .integer(line.object)]
      )
    }
  }

  /// Returns the entity of an object that a relationship references.
  private func kind(_ object: Int64, _ relationship: RelationshipDescription) -> EntityDescription {
    let destination = plan.to.entity(relationship.destination)
    return plan.to.entity(plan.to.key(destination.number, object).entity)
  }

  private mutating func insertLink(
    _ name: String,
    of entity: EntityDescription,
    _ a: Int64,
    _ b: Int64,
    _ place: AttributeValue,
    _ back: AttributeValue
  ) throws {
    // A program may give a link from both ends, each with its own order.
    try insert(
      "INSERT INTO \(PreparedTables.links(name, of: entity))(a, b, place, back) "
        + "VALUES (?, ?, ?, ?) ON CONFLICT(a, b) DO UPDATE SET "
        + "place = coalesce(excluded.place, place), back = coalesce(excluded.back, back)",
      [.integer(a), .integer(b), place, back]
    )
  }

  // MARK: Statements

  private mutating func insert(_ sql: String, _ values: [AttributeValue]) throws {
    let statement = try statement(sql)
    for (index, value) in values.enumerated() { statement.bind(value, at: Int32(index + 1)) }
    try statement.run()
    statement.reset()
  }

  private mutating func statement(_ sql: String) throws -> PreparedStatement {
    if let statement = statements[sql] { return statement }
    let statement = try PreparedStatement(db, sql)
    statements[sql] = statement
    return statement
  }
}
