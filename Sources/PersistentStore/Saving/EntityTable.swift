import CordialValues
import ObjectModel
import PersistentHistory
import SQLite
import StoreLayout

/// The writer's statements for one entity's table, each prepared once.
final class EntityTable {
  let layout: EntityLayout
  /// The number of new rows that one statement writes when a save has many.
  ///
  /// Each statement costs SQLite some preparation, and an update of the table's sequence.
  let rowsAtOnce: Int
  private static let argumentsAtOnceMax = 128
  private let db: SQLiteConnection
  private let triggers: TriggerControl
  private var statements: [Purpose: PreparedStatement] = [:]
  /// The statements that every save of the entity's objects needs.
  private var common: Common?
  private var updates: [[Int]: PreparedStatement] = [:]
  /// The object number that was allocated last; nil until it is read.
  private var lastObject: Int64?

  private enum Purpose: Hashable {
    case row, value(Int), least(Int), name, restore, lastAllocated, insertMany, increment
    case restoreMany, lastVersion, logInserts, logRestored, logIncrements
  }

  private struct Common {
    let insertion: PreparedStatement
    let version: PreparedStatement
    let deletion: PreparedStatement

    init(_ db: SQLiteConnection, _ entity: EntityDescription) throws {
      let table = SQLNames.quoted(entity.name)
      insertion = try PreparedStatement(db, EntityTable.insertion(into: entity, count: 1))
      version = try PreparedStatement(db, "SELECT \"_version\" FROM \(table) WHERE \"_id\" = ?")
      deletion = try PreparedStatement(db, "DELETE FROM \(table) WHERE \"_id\" = ?")
    }
  }

  init(
    _ db: SQLiteConnection,
    _ triggers: TriggerControl,
    _ layout: EntityLayout,
    rowsAtOnceMax: Int
  ) {
    self.db = db
    self.triggers = triggers
    self.layout = layout
    rowsAtOnce = max(
      1,
      min(rowsAtOnceMax, Self.argumentsAtOnceMax / (layout.columnNames.count + 2))
    )
  }

  private var entity: EntityDescription { layout.entity }
  private var table: String { SQLNames.quoted(entity.name) }

  private static func insertion(
    into entity: EntityDescription,
    count: Int,
    isRestored: Bool = false
  ) -> String {
    let own = isRestored ? [SQLNames.object, SQLNames.version] : [SQLNames.object]
    let columns = (own + entity.columns).map(SQLNames.quoted)
    let marks = Array(repeating: "?", count: columns.count).joined(separator: ", ")
    let rows = Array(repeating: "(\(marks))", count: count).joined(separator: ", ")
    return "INSERT INTO \(SQLNames.quoted(entity.name))(\(columns.joined(separator: ", "))) "
      + "VALUES \(rows)"
  }

  private func statement(
    _ purpose: Purpose,
    _ sql: @autoclosure () -> String
  ) throws -> PreparedStatement {
    if let known = statements[purpose] { return known }
    let prepared = try PreparedStatement(db, sql())
    statements[purpose] = prepared
    return prepared
  }

  private func commonStatements() throws -> Common {
    if let common { return common }
    let prepared = try Common(db, entity)
    common = prepared
    return prepared
  }

  // MARK: Numbers

  /// Discards the cached object number, which another process may have changed.
  func invalidate() {
    lastObject = nil
  }

  /// Returns a number that no object of this entity ever had.
  func allocateNumber() throws -> Int64 {
    let number = try next(after: lastObject ?? lastAllocated())
    lastObject = number
    return number
  }

  /// Returns the last object number that any process has allocated.
  private func lastAllocated() throws -> Int64 {
    // SQLite also allocates the number after the sequence or after the greatest object number,
    // whichever is greater.
    let sequence = try statement(
      .lastAllocated,
      """
      SELECT max(coalesce((SELECT seq FROM sqlite_sequence WHERE name = ?), 0),
        coalesce((SELECT max("_id") FROM \(table)), 0))
      """
    )
    defer { sequence.reset() }
    sequence.bind(entity.name, at: 1)
    let first = entity.numbers.lowerBound - 1
    return try sequence.step() ? max(sequence.integer(0), first) : first
  }

  /// Returns the object number after a number; throws an error if an external client used the last
  /// number.
  private func next(after number: Int64) throws -> Int64 {
    guard number < entity.numbers.upperBound else {
      throw StoreError(
        .storeFull,
        "\(entity.name) has no numbers left: an object has the number \(number)",
        hint: "Numbers are never used again; create a new store from an export of this one"
      )
    }
    return number + 1
  }

  // MARK: Reading

  /// Returns the version of an object, nil if the object does not exist.
  func version(of object: Int64) throws -> Int64? {
    // A key has an abstract entity only if its number is outside of the family's ranges.
    guard !entity.isAbstract else { return nil }
    let version = try commonStatements().version
    defer { version.reset() }
    version.bind(object, at: 1)
    return try version.step() ? version.integer(0) : nil
  }

  /// Returns the value in a column of an object, in the type of its property; nil if the object
  /// does not exist.
  func value(_ column: Int, of object: Int64) throws -> AttributeValue? {
    guard !entity.isAbstract else { return nil }
    let row = try statement(
      .value(column),
      "SELECT \(SQLNames.quoted(layout.columnNames[column])) FROM \(table) WHERE \"_id\" = ?"
    )
    defer { row.reset() }
    row.bind(object, at: 1)
    return try row.step() ? StoredValue.read(row, 0, column, entity) : nil
  }

  /// Returns the least integer in a column; 0 if the column has no value.
  func leastInteger(_ column: Int) throws -> Int64 {
    let row = try least(column)
    defer { row.reset() }
    return try row.step() ? row.optionalInteger(0) ?? 0 : 0
  }

  /// Returns the least number in a column; 0 if the column has no value.
  func leastDouble(_ column: Int) throws -> Double {
    let row = try least(column)
    defer { row.reset() }
    return try row.step() ? row.double(0) : 0
  }

  private func least(_ column: Int) throws -> PreparedStatement {
    try statement(
      .least(column),
      "SELECT min(\(SQLNames.quoted(layout.columnNames[column]))) FROM \(table)"
    )
  }

  /// Returns the values of all columns; nil if the object does not exist.
  func row(of object: Int64) throws -> [AttributeValue]? {
    guard !entity.isAbstract else { return nil }
    let row = try statement(.row, rowQuery)
    defer { row.reset() }
    row.bind(object, at: 1)
    guard try row.step() else { return nil }
    return layout.columnNames.indices.map { StoredValue.read(row, Int32($0 + 1), $0, entity) }
  }

  private var rowQuery: String {
    let list = (["_version"] + layout.columnNames).map(SQLNames.quoted).joined(separator: ", ")
    return "SELECT \(list) FROM \(table) WHERE \"_id\" = ?"
  }

  /// Returns the wrapped ID of an object.
  func name(of object: Int64) throws -> String {
    let plain = "\(entity.name)/p\(object)"
    guard let identity = entity.identity, !entity.isAbstract else { return plain }
    let row = try statement(
      .name,
      "SELECT \(SQLNames.quoted(identity.name)) FROM \(table) WHERE \"_id\" = ?"
    )
    defer { row.reset() }
    row.bind(object, at: 1)
    return try row.step() ? ColumnForm.identityText(of: entity, row, 0) : plain
  }

  /// Returns the greatest version with which an object was deleted; 0 if it was never deleted.
  func lastVersion(ofDeleted object: Int64) throws -> Int64 {
    let version = try statement(
      .lastVersion,
      """
      SELECT coalesce(max(version), 0) FROM cordial_change
      WHERE kind = 2 AND entity = \(entity.number) AND object = ?
      """
    )
    defer { version.reset() }
    version.bind(object, at: 1)
    return try version.step() ? version.integer(0) : 0
  }

  // MARK: Writing

  /// Inserts an object.
  ///
  /// A restored object has its former number and a version that it never had.
  func insert(_ insert: PlannedInsert, triggers mode: TriggerControl.Mode = .on) throws {
    let insertion =
      insert.version == nil
      ? try commonStatements().insertion
      : try statement(.restore, Self.insertion(into: entity, count: 1, isRestored: true))
    Self.bind(insert, to: insertion, at: 1)
    try triggers.run(insertion, triggers: mode)
  }

  /// Inserts `rowsAtOnce` objects with one statement; they are either all new or all restored.
  func insert(_ rows: ArraySlice<PlannedInsert>, triggers mode: TriggerControl.Mode) throws {
    let isRestored = rows.first?.version != nil
    let insertion = try statement(
      isRestored ? .restoreMany : .insertMany,
      Self.insertion(into: entity, count: rowsAtOnce, isRestored: isRestored)
    )
    var index: Int32 = 1
    for row in rows { index = Self.bind(row, to: insertion, at: index) }
    // Otherwise the statement would keep large rows in memory until the next such save.
    defer { insertion.clearArguments() }
    try triggers.run(insertion, triggers: mode)
  }

  /// Binds the values of an insert.
  ///
  /// - Returns: The index of the next argument.
  @discardableResult
  private static func bind(
    _ insert: PlannedInsert,
    to insertion: PreparedStatement,
    at first: Int32
  ) -> Int32 {
    var index = first
    insertion.bind(insert.key.object, at: index)
    if let version = insert.version {
      index += 1
      insertion.bind(version, at: index)
    }
    for value in insert.row {
      index += 1
      insertion.bind(value, at: index)
    }
    return index + 1
  }

  /// Writes columns of an object, if at least one value differs from the stored value.
  ///
  /// - Parameters:
  ///   - object: The number of the object.
  ///   - columns: The columns and their values.
  ///   - increments: Whether the object's version is incremented.
  /// - Returns: Whether a value differed.
  /// - Throws: `SQLiteError`.
  func update(_ object: Int64, _ columns: [ColumnChange], increments: Bool) throws -> Bool {
    guard !columns.isEmpty else { return false }
    let statement = try update(of: columns.map(\.column), increments: increments)
    for (index, column) in columns.enumerated() {
      statement.bind(column.value, at: Int32(index + 1))
    }
    statement.bind(object, at: Int32(columns.count + 1))
    try triggers.run(statement, triggers: .on)
    return statement.changes > 0
  }

  private func update(of columns: [Int], increments: Bool) throws -> PreparedStatement {
    let key = columns + (increments ? [-1] : [])
    if let known = updates[key] { return known }
    if updates.count >= 64 { updates.removeAll() }
    let names = layout.columnNames.map(SQLNames.quoted)
    var terms = columns.enumerated().map { "\(names[$1]) = ?\($0 + 1)" }
    let differs = columns.enumerated().map { "\(names[$1]) IS NOT ?\($0 + 1)" }
    if increments { terms.append("\"_version\" = \"_version\" + 1") }
    let prepared = try PreparedStatement(
      db,
      "UPDATE \(table) SET \(terms.joined(separator: ", ")) "
        + "WHERE \"_id\" = ?\(columns.count + 1) AND (\(differs.joined(separator: " OR ")))"
    )
    updates[key] = prepared
    return prepared
  }

  /// Increments the versions of objects, without writing anything else.
  func increment(_ objects: [Int64], triggers mode: TriggerControl.Mode = .on) throws {
    let statement = try statement(
      .increment,
      "UPDATE \(table) SET \"_version\" = \"_version\" + 1 "
        + "WHERE \"_id\" IN (SELECT value FROM json_each(?))"
    )
    statement.bind(Self.list(objects), at: 1)
    defer { statement.clearArguments() }
    try triggers.run(statement, triggers: mode)
  }

  func delete(_ object: Int64) throws {
    let deletion = try commonStatements().deletion
    deletion.bind(object, at: 1)
    try triggers.run(deletion, triggers: .on)
  }

  // MARK: Logging, where triggers are off

  /// Logs the inserts of all objects whose numbers are in a range.
  func logInserts(_ numbers: ClosedRange<Int64>) throws {
    let log = try statement(.logInserts, BulkLog.insertion(of: entity))
    log.bind(numbers.lowerBound, at: 1)
    log.bind(numbers.upperBound, at: 2)
    try log.run()
  }

  /// Logs the inserts of restored objects, whose numbers need not be consecutive.
  func logInserts(_ objects: [Int64]) throws {
    let log = try statement(.logRestored, BulkLog.insertions(of: entity))
    log.bind(Self.list(objects), at: 1)
    defer { log.clearArguments() }
    try log.run()
  }

  /// Logs version increments that were written with triggers off.
  func logIncrements(_ objects: [Int64]) throws {
    let log = try statement(.logIncrements, BulkLog.increments(of: entity))
    log.bind(Self.list(objects), at: 1)
    defer { log.clearArguments() }
    try log.run()
  }

  private static func list(_ objects: [Int64]) -> String {
    "[" + objects.map(String.init).joined(separator: ",") + "]"
  }
}

/// The conversion of column values from SQLite.
enum StoredValue {
  /// Returns the value of a column in the type of its property.
  static func read(
    _ row: PreparedStatement,
    _ index: Int32,
    _ column: Int,
    _ entity: EntityDescription
  ) -> AttributeValue {
    let value = row.value(index)
    guard column < entity.attributes.count else { return value }
    return value == .null ? .null : entity.attributes[column].type.codec.value(column: value)
  }
}
