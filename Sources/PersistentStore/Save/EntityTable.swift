import CordialValues
import GRDB
import JSON
import ObjectModel
import PersistentHistory

/// The writer's statements for one entity's table.
final class EntityTable {
  let entity: EntityDescription
  /// The to-ones, in the order of their columns.
  let toOnes: [RelationshipDescription]
  /// The place of each property's column behind `_id` and `_version`, by name.
  let places: [String: Int]
  /// The derived attributes that are another form of one of its own: the places of both.
  let derivedTexts: [(place: Int, form: DerivedExpression.TextForm, source: Int)]
  let hasDerived: Bool
  /// The attributes that some value could break, null included, with their places.
  let checked: [(place: Int, attribute: AttributeDescription)]
  /// The values of a new object of which nothing was sent.
  let defaults: [AttributeValue]
  /// The places of the attributes that are not the store's own, of which a new object's are told
  /// when they were not sent, and whether such a one may be stored other than it was sent.
  let told: [(place: Int, isCanonical: Bool)]
  /// The to-ones that must lead to something, with their places.
  let required: [(place: Int, name: String)]
  /// The to-manys of which a new object has to have some.
  let wanted: [String]
  /// How many new rows one statement writes where many come.
  ///
  /// SQLite prepares itself for each statement, and notes the last number given. In a family each
  /// row is written by itself, since what is unique in it is looked for in all its tables.
  let rowsAtOnce: Int
  private static let argumentsAtOnceMax = 128
  private let db: Database
  /// What every save of its objects needs, compiled when the first one comes.
  private var known: Statements?
  private var severalInsertion: PreparedStatement?
  private var updates: [[Int]: PreparedStatement] = [:]
  private var queries: [String: PreparedStatement] = [:]
  /// What the members of the last object were, by their order: the next one's are mostly the same.
  private var shape: [Property] = []
  private var pairs: [PairKey: PreparedStatement] = [:]
  /// The number that was given last, nil until it is read.
  private var lastObject: Int64?
  /// Whether nothing follows from an insert, nil until it is asked for.
  private var insertsAreAlone: Bool?

  private struct Statements {
    let insertion: PreparedStatement
    let versionQuery: PreparedStatement
    let deletion: PreparedStatement
    let bump: PreparedStatement

    init(_ db: Database, _ entity: EntityDescription) throws {
      let table = SQLNames.quoted(entity.name)
      insertion = try PreparedStatement(db, Self.insertion(into: entity, count: 1))
      versionQuery = try PreparedStatement(
        db,
        "SELECT \"_version\" FROM \(table) WHERE \"_id\" = ?"
      )
      deletion = try PreparedStatement(db, "DELETE FROM \(table) WHERE \"_id\" = ?")
      bump = try PreparedStatement(
        db,
        "UPDATE \(table) SET \"_version\" = \"_version\" + 1 WHERE \"_id\" = ?"
      )
    }

    static func insertion(into entity: EntityDescription, count: Int) -> String {
      let columns = (["_id"] + entity.columns).map(SQLNames.quoted)
      let marks = Array(repeating: "?", count: columns.count).joined(separator: ", ")
      let rows = Array(repeating: "(\(marks))", count: count).joined(separator: ", ")
      return "INSERT INTO \(SQLNames.quoted(entity.name))(\(columns.joined(separator: ", "))) "
        + "VALUES \(rows)"
    }
  }

  /// A new row that waits to be written with others.
  struct WaitingRow {
    let key: ObjectKey
    /// What a problem calls it.
    let label: String
    let values: [AttributeValue]
  }

  private struct PairKey: Hashable {
    let relationship: String
    let change: PairChange
  }

  init(_ db: Database, entity: EntityDescription, rowsAtOnceMax: Int) {
    self.db = db
    self.entity = entity
    toOnes = entity.relationships.filter { !$0.toMany }
    let places = Dictionary(uniqueKeysWithValues: entity.columns.enumerated().map { ($1, $0) })
    self.places = places
    let isAlone = entity.place.ancestors.count == 1 && !entity.hasDescendants
    rowsAtOnce =
      isAlone
      ? max(1, min(rowsAtOnceMax, Self.argumentsAtOnceMax / (entity.columns.count + 1))) : 1
    hasDerived = entity.attributes.contains { $0.derived != nil }
    checked = entity.attributes.enumerated().filter { $0.element.isChecked }
      .map { (place: $0.offset, attribute: $0.element) }
    told = entity.attributes.enumerated().compactMap { place, attribute in
      attribute.derived == nil ? (place, attribute.type.isCanonical) : nil
    }
    defaults = entity.attributes.map(\.defaultValue) + toOnes.map { _ in .null }
    required = toOnes.enumerated().compactMap { index, relationship in
      relationship.optional ? nil : (entity.attributes.count + index, relationship.name)
    }
    wanted = entity.relationships.filter { $0.toMany && $0.minimumCount > 0 }.map(\.name)
    derivedTexts = entity.attributes.enumerated().compactMap { place, attribute in
      guard case .text(let form, let name)? = attribute.derived, let source = places[name] else {
        return nil
      }
      return (place, form, source)
    }
  }

  private func statements() throws -> Statements {
    if let known { return known }
    let made = try Statements(db, entity)
    known = made
    return made
  }

  /// A property with what writing it takes.
  final class Property {
    let name: String
    /// The place of its column; a to-many has none.
    let place: Int
    /// nil for a relationship.
    let type: AttributeType?
    let isDerived: Bool
    /// nil for an attribute.
    let relationship: RelationshipDescription?

    init(_ attribute: AttributeDescription, place: Int) {
      name = attribute.name
      self.place = place
      type = attribute.type
      isDerived = attribute.derived != nil
      relationship = nil
    }

    init(_ relationship: RelationshipDescription, place: Int) {
      name = relationship.name
      self.place = place
      type = nil
      isDerived = false
      self.relationship = relationship
    }
  }

  /// The property of that name, which is the member of an object at that index.
  func property(named name: String, at index: Int) -> Property? {
    if index < shape.count, JSONBytes.areEqual(shape[index].name, name) { return shape[index] }
    let property: Property
    switch entity.property(named: name) {
    case .attribute(let attribute): property = Property(attribute, place: places[name] ?? 0)
    case .relationship(let relationship):
      property = Property(relationship, place: places[name] ?? 0)
    case nil: return nil
    }
    if index < shape.count {
      shape[index] = property
    } else if index == shape.count {
      shape.append(property)
    }
    return property
  }

  /// Forgets what another process may have changed.
  func invalidate() {
    lastObject = nil
  }

  /// A number that no object of this entity ever had.
  func giveNumber() throws -> Int64 {
    let number = try next(after: lastObject ?? lastGiven())
    lastObject = number
    return number
  }

  /// The number that was given last, by whomever.
  private func lastGiven() throws -> Int64 {
    let sequence = try query("SELECT seq FROM sqlite_sequence WHERE name = ?")
    defer { sequence.reset() }
    sequence.bind(entity.name, at: 1)
    return try sequence.step() ? sequence.integer(0) : entity.numbers.lowerBound - 1
  }

  /// A foreign client may have used up the numbers.
  private func next(after number: Int64) throws -> Int64 {
    guard number < entity.numbers.upperBound else {
      throw StoreError(
        .storeFull,
        "\(entity.name) has no numbers left: an object has the number \(number)",
        hint: "Numbers are never used again; make a new store from an export of this one"
      )
    }
    return number + 1
  }

  /// Whether many inserts may be logged by one statement: nothing else follows from them.
  func logsInsertsInBulk(_ model: Model) -> Bool {
    if let insertsAreAlone { return insertsAreAlone }
    let areAlone = BulkLog.sufficesForInserts(into: entity, in: model)
    insertsAreAlone = areAlone
    return areAlone
  }

  func insert(_ object: Int64, _ values: [AttributeValue]) throws {
    let insertion = try statements().insertion
    insertion.bind(object, at: 1)
    for (index, value) in values.enumerated() { insertion.bind(value, at: Int32(index + 2)) }
    try insertion.run()
  }

  /// Inserts as many rows as one statement takes.
  func insert(_ rows: [WaitingRow]) throws {
    let insertion: PreparedStatement
    if let known = severalInsertion {
      insertion = known
    } else {
      insertion = try PreparedStatement(db, Statements.insertion(into: entity, count: rowsAtOnce))
      severalInsertion = insertion
    }
    var place: Int32 = 1
    for row in rows {
      insertion.bind(row.key.object, at: place)
      for value in row.values {
        place += 1
        insertion.bind(value, at: place)
      }
      place += 1
    }
    // Sixteen rows may be large, and the next such save far away.
    defer { insertion.clearArguments() }
    try insertion.run()
  }

  /// Puts an object back under its number, with a version that it did not have yet.
  func restore(_ object: Int64, version: Int64, _ values: [AttributeValue]) throws {
    let names = (["_id", "_version"] + entity.columns).map(SQLNames.quoted)
    let marks = Array(repeating: "?", count: names.count).joined(separator: ", ")
    let insertion = try query(
      "INSERT INTO \(SQLNames.quoted(entity.name))(\(names.joined(separator: ", "))) "
        + "VALUES (\(marks))"
    )
    insertion.bind(object, at: 1)
    insertion.bind(version, at: 2)
    for (index, value) in values.enumerated() { insertion.bind(value, at: Int32(index + 3)) }
    try insertion.run()
  }

  /// The version of an object, nil when it is gone.
  func version(of object: Int64) throws -> Int64? {
    // A number that is in no range of a family's is of no object.
    guard !entity.isAbstract else { return nil }
    let versionQuery = try statements().versionQuery
    defer { versionQuery.reset() }
    versionQuery.bind(object, at: 1)
    return try versionQuery.step() ? versionQuery.integer(0) : nil
  }

  /// Counts a version of an object without writing anything else.
  func count(_ object: Int64) throws {
    let bump = try statements().bump
    bump.bind(object, at: 1)
    try bump.run()
  }

  /// Writes some columns of an object, where one of them differs from what is stored.
  ///
  /// - Parameters:
  ///   - object: The number of the object.
  ///   - columns: The columns and their values.
  ///   - counting: Whether its version goes up.
  /// - Returns: Whether anything differed.
  /// - Throws: `DatabaseError`.
  func update(
    _ object: Int64,
    _ columns: [(place: Int, value: AttributeValue)],
    counting: Bool
  ) throws -> Bool {
    guard !columns.isEmpty else { return false }
    let statement = try update(of: columns.map(\.place), counting: counting)
    for (index, column) in columns.enumerated() {
      statement.bind(column.value, at: Int32(index + 1))
    }
    statement.bind(object, at: Int32(columns.count + 1))
    try statement.run()
    return statement.changes > 0
  }

  private func update(of places: [Int], counting: Bool) throws -> PreparedStatement {
    let key = places + (counting ? [-1] : [])
    if let known = updates[key] { return known }
    if updates.count >= 64 { updates.removeAll() }
    let names = entity.columns.map(SQLNames.quoted)
    var terms = places.enumerated().map { "\(names[$1]) = ?\($0 + 1)" }
    let differs = places.enumerated().map { "\(names[$1]) IS NOT ?\($0 + 1)" }
    if counting { terms.append("\"_version\" = \"_version\" + 1") }
    let made = try PreparedStatement(
      db,
      "UPDATE \(SQLNames.quoted(entity.name)) SET \(terms.joined(separator: ", ")) "
        + "WHERE \"_id\" = ?\(places.count + 1) AND (\(differs.joined(separator: " OR ")))"
    )
    updates[key] = made
    return made
  }

  func delete(_ object: Int64) throws {
    let deletion = try statements().deletion
    deletion.bind(object, at: 1)
    try deletion.run()
  }

  /// A statement of that SQL, compiled once.
  func query(_ sql: String) throws -> PreparedStatement {
    if let known = queries[sql] { return known }
    if queries.count >= 128 { queries.removeAll() }
    let made = try PreparedStatement(db, sql)
    queries[sql] = made
    return made
  }

  /// What can happen to a pair of a many-to-many.
  enum PairChange {
    case insert, delete
  }

  /// The statement that writes or removes a pair: source, then target.
  func pairStatement(
    _ change: PairChange,
    _ relationship: RelationshipDescription,
    in model: Model
  ) throws -> PreparedStatement {
    let key = PairKey(relationship: relationship.name, change: change)
    if let known = pairs[key] { return known }
    guard case .pairs(let owner, let name, _) = relationship.storage else {
      throw StoreError(.internalError, "\(relationship.name) keeps no pairs")
    }
    let table = SQLNames.quoted(SQLNames.pairs(model.entity(owner), name))
    let made = try PreparedStatement(
      db,
      change == .insert
        ? "INSERT OR IGNORE INTO \(table)(source, target) VALUES (?, ?)"
        : "DELETE FROM \(table) WHERE source = ? AND target = ?"
    )
    pairs[key] = made
    return made
  }

  /// The numbers that a query with one argument answers.
  func numbers(_ sql: String, _ argument: Int64) throws -> [Int64] {
    let rows = try query(sql)
    defer { rows.reset() }
    rows.bind(argument, at: 1)
    var numbers: [Int64] = []
    while try rows.step() {
      if let number = rows.optionalInteger(0) { numbers.append(number) }
    }
    return numbers
  }
}

extension AttributeDescription {
  /// Whether there is a value of its type, or null, that it does not take.
  fileprivate var isChecked: Bool {
    !optional || minimum != nil || maximum != nil || allowed != nil || pattern != nil
      || minimumLength != nil || maximumLength != nil
  }
}

extension AttributeType {
  /// Whether a value may be stored other than it is sent: in another form, or rounded.
  var isCanonical: Bool {
    switch self {
    case .decimal, .uuid, .date, .float: true
    default: false
    }
  }
}
