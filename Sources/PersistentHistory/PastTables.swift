import CordialValues
package import ObjectModel
package import SQLite
import StoreLayout

/// A connection's view of a store's tables without the newest changes of the log.
///
/// Each changed table gets a temporary view with the table's name, so that every statement of the
/// connection reads the view. The view contains the table's unchanged rows, and its changed rows
/// with their former values from the log. The view of the log ends before the hidden changes.
package final class PastTables {
  private let db: SQLiteConnection
  private let model: Model
  /// Changes that the views hide.
  package struct Hidden {
    /// The last visible change.
    fileprivate let change: Int64
    fileprivate let newest: HistoryHead

    fileprivate func isSame(_ other: Hidden) -> Bool {
      (change, newest.number, newest.lastLogged)
        == (other.change, other.newest.number, other.newest.lastLogged)
    }
  }

  /// The changes that the views hide; nil while nothing is hidden.
  package private(set) var hidden: Hidden?
  /// The statements that drop the views and temporary tables, in case no rollback has removed them.
  private var names: [String] = []

  /// Creates the view of a store's tables, without hidden changes.
  ///
  /// - Parameters:
  ///   - db: A connection that only reads.
  ///   - model: The store's model.
  package init(_ db: SQLiteConnection, model: Model) {
    self.db = db
    self.model = model
  }

  /// Whether changes are hidden, or an attempt to hide changes failed.
  package var isHiding: Bool { !names.isEmpty }

  /// Hides changes, inside a read transaction.
  ///
  /// - Parameters:
  ///   - change: The number of the last change that stays visible.
  ///   - newest: The newest commit; changes after it are not sealed.
  /// - Throws: `Interrupted` if the connection is interrupted; `SQLiteError`. Some changes may then
  ///   stay hidden until the next call or `showAll()`.
  /// - Complexity: Linear in the hidden changes; constant if the same changes are already hidden.
  package func hide(after change: Int64, of newest: HistoryHead) throws {
    let wanted = Hidden(change: change, newest: newest)
    if let hidden, hidden.isSame(wanted) { return }
    try db.progress.withoutStopping {
      try showAll()
      try hideChanges(after: change, of: newest)
    }
    hidden = wanted
  }

  private func hideChanges(after change: Int64, of newest: HistoryHead) throws {
    var former = FormerRows(model, sealedThrough: newest.lastChange)
    let rows = try PreparedStatement(
      db,
      "SELECT \(HistoryRow.columns) FROM main.cordial_change WHERE number > ? ORDER BY number DESC"
    )
    defer { rows.reset() }
    rows.bind(change, at: 1)
    var statements: [String: PreparedStatement] = [:]
    while try rows.step() {
      try db.progress.check()
      try former.rewind(HistoryRow(rows)) { row in try present(row, &statements) }
    }
    for (number, objects) in former.objects.sorted(by: { $0.key < $1.key }) {
      let entity = model.entity(number)
      try shadow(
        entity.name,
        FormerRows.columns(of: entity, model),
        key: [SQLNames.object],
        computed: entity.localizedAttributes.map {
          (SQLNames.sortKeyColumn($0), SQLNames.sortKey(of: SQLNames.quoted($0)))
        },
        objects
      )
    }
    for (name, links) in former.links.sorted(by: { $0.key < $1.key }) {
      try shadow(
        name,
        ["source", "target"] + links.positions,
        key: ["source", "target"],
        links.rows
      )
    }
    try db.execute(
      """
      CREATE TEMP VIEW cordial_change AS
      SELECT * FROM main.cordial_change WHERE number <= \(change)
      """
    )
    names.append("DROP VIEW IF EXISTS temp.cordial_change")
  }

  /// Shows the current tables again.
  ///
  /// - Throws: `SQLiteError`.
  package func showAll() throws {
    hidden = nil
    try db.progress.withoutStopping {
      while let name = names.last {
        try db.execute(name)
        names.removeLast()
      }
    }
  }

  /// Hides the changes that were hidden earlier in the same transaction, and ignores interruptions.
  ///
  /// - Parameter former: The earlier value of `hidden`; nil shows the current tables.
  /// - Throws: `SQLiteError`.
  package func restore(_ former: Hidden?) throws {
    guard let former else { return try showAll() }
    try db.progress.withoutInterruption { try hide(after: former.change, of: former.newest) }
  }

  /// Records that a rollback ended the transaction and removed the views that the transaction had
  /// created.
  ///
  /// The next `hide` creates all views again.
  package func transactionEnded() { hidden = nil }

  /// Returns the current content of a row, or nil if the row does not exist.
  ///
  /// - Parameters:
  ///   - row: The identity of the row, with all columns of its table.
  ///   - statements: The compiled statements by table, because compiling a statement takes longer
  ///     than reading a row.
  /// - Returns: The values of the columns.
  /// - Throws: `SQLiteError`.
  private func present(
    _ row: FormerRows.RowName,
    _ statements: inout [String: PreparedStatement]
  ) throws -> [AttributeValue]? {
    let statement: PreparedStatement
    if let known = statements[row.table] {
      statement = known
    } else {
      let list = row.columns.map(SQLNames.quoted).joined(separator: ", ")
      let key = row.columns.prefix(row.key.count).map { "\(SQLNames.quoted($0)) = ?" }
      statement = try PreparedStatement(
        db,
        "SELECT \(list) FROM main.\(SQLNames.quoted(row.table)) "
          + "WHERE \(key.joined(separator: " AND "))"
      )
      statements[row.table] = statement
    }
    defer { statement.reset() }
    for (index, value) in row.key.enumerated() { statement.bind(value, at: Int32(index + 1)) }
    guard try statement.step() else { return nil }
    return row.columns.indices.map { statement.value(Int32($0)) }
  }

  /// Hides a table behind a view with the former rows.
  ///
  /// - Parameters:
  ///   - table: The name of the table.
  ///   - columns: The columns of the table, key columns first.
  ///   - key: The key columns of the table.
  ///   - computed: Further columns, each with SQL that computes its value for a former row.
  ///   - rows: The former content of the changed rows, by key; nil for a row that did not exist.
  /// - Throws: `SQLiteError`.
  private func shadow(
    _ table: String,
    _ columns: [String],
    key: [String],
    computed: [(name: String, value: String)] = [],
    _ rows: [[Int64]: [AttributeValue]?]
  ) throws {
    let changed = SQLNames.quoted("cordial_changed \(table)")
    let former = SQLNames.quoted("cordial_former \(table)")
    let quoted = SQLNames.quoted(table)
    let list = columns.map(SQLNames.quoted).joined(separator: ", ")
    let keys = key.map(SQLNames.quoted).joined(separator: ", ")
    // When SQLite joins an integer column with a key column, it uses the key's index only if the
    // key column has the type integer. The other columns have no type, so that SQLite stores each
    // value unchanged.
    let typedKeys = key.map { "\(SQLNames.quoted($0)) INTEGER" }.joined(separator: ", ")
    let rest = columns.dropFirst(key.count).map { ", \(SQLNames.quoted($0))" }.joined()
    try db.execute(
      "CREATE TEMP TABLE \(changed)(\(typedKeys), PRIMARY KEY (\(keys))) WITHOUT ROWID"
    )
    names.append("DROP TABLE IF EXISTS temp.\(changed)")
    try db.execute("CREATE TEMP TABLE \(former)(\(typedKeys)\(rest), PRIMARY KEY (\(keys)))")
    names.append("DROP TABLE IF EXISTS temp.\(former)")
    func insertion(into name: String, _ count: Int) throws -> PreparedStatement {
      let marks = Array(repeating: "?", count: count).joined(separator: ", ")
      return try PreparedStatement(db, "INSERT INTO temp.\(name) VALUES (\(marks))")
    }
    let mark = try insertion(into: changed, key.count)
    let keep = try insertion(into: former, columns.count)
    for (number, row) in rows {
      try db.progress.check()
      for (index, value) in number.enumerated() { mark.bind(value, at: Int32(index + 1)) }
      try mark.run()
      guard let row else { continue }
      for (index, value) in row.enumerated() { keep.bind(value, at: Int32(index + 1)) }
      try keep.run()
    }
    let same = key.map { "c.\(SQLNames.quoted($0)) = t.\(SQLNames.quoted($0))" }
      .joined(separator: " AND ")
    let kept = computed.map { ", \(SQLNames.quoted($0.name))" }.joined()
    let made = computed.map { ", \($0.value)" }.joined()
    try db.execute(
      """
      CREATE TEMP VIEW \(quoted) AS SELECT \(list)\(kept) FROM main.\(quoted) t
      WHERE NOT EXISTS (SELECT 1 FROM temp.\(changed) c WHERE \(same))
      UNION ALL SELECT \(list)\(made) FROM temp.\(former)
      """
    )
    names.append("DROP VIEW IF EXISTS temp.\(quoted)")
  }
}

/// The former content of the changed rows, computed by rewinding the log from its end.
private struct FormerRows {
  /// The link rows of one table.
  struct Links {
    let positions: [String]
    /// The former rows, by source and target; nil for a link row that did not exist.
    var rows: [[Int64]: [AttributeValue]?] = [:]
  }

  /// The identity of one row, with the columns of its table.
  struct RowName {
    let table: String
    /// All columns of the table, key columns first.
    let columns: [String]
    let key: [Int64]
  }

  /// A function that reads the current row of a table.
  typealias Present = (RowName) throws -> [AttributeValue]?

  private let model: Model
  /// The number of the last sealed change.
  private let sealedThrough: Int64
  /// The most recently rewound insert: its change number, its entity and its row.
  private var inserted: (number: Int64, entity: Int, row: [AttributeValue])?
  /// The former rows, by entity number and object number; nil for an object that did not exist.
  private(set) var objects: [Int: [[Int64]: [AttributeValue]?]] = [:]
  /// The link rows, by the name of the link table.
  private(set) var links: [String: Links] = [:]

  init(_ model: Model, sealedThrough: Int64) {
    self.model = model
    self.sealedThrough = sealedThrough
  }

  /// Returns the columns of an entity's table.
  static func columns(of entity: EntityDescription, _ model: Model) -> [String] {
    [SQLNames.object, SQLNames.version] + entity.columns + model.positionColumns(of: entity)
  }

  /// Rewinds one change; the caller passes changes from the newest to the oldest.
  ///
  /// - Parameters:
  ///   - row: The row of the log.
  ///   - present: Reads the current row of a table.
  /// - Throws: `SQLiteError`.
  mutating func rewind(
    _ row: HistoryRow,
    _ present: Present
  ) throws {
    guard model.hasEntity(row.entity) else { return }
    // An abstract entity has no table. Its log rows can only describe link rows or sort positions.
    if model.entity(row.entity).isAbstract, ![.link, .unlink].contains(row.kind),
      row.formerPosition == nil
    {
      throw SQLiteError(.corrupt, "The log has an object of an abstract entity")
    }
    switch row.kind {
    case .insert:
      inserted = try known(row.key, present).map { (row.number, row.entity, $0) }
      set(row.key, to: nil)
    case .delete: set(row.key, to: tombstone(row))
    case .update:
      if let former = row.formerPosition { return try reposition(row, former, present) }
      guard var values = try known(row.key, present) else { return }
      let entity = model.entity(row.entity)
      for value in row.values {
        guard let index = entity.columns.firstIndex(of: value.property) else { continue }
        values[index + 2] = value.stored(in: entity)
      }
      // The first write of a commit increments the object's version by one and logs the new
      // version. Changes by an external client increment versions only at sealing, so an unsealed
      // change leaves the version unchanged.
      if row.number <= sealedThrough, let version = row.version {
        values[1] = .integer(version &- 1)
      }
      set(row.key, to: values)
    case .link, .unlink: relink(row)
    }
  }

  private mutating func set(_ key: ObjectKey, to row: [AttributeValue]?) {
    objects[key.entity, default: [:]][[key.object]] = .some(row)
  }

  private func known(
    _ key: ObjectKey,
    _ present: Present
  ) throws -> [AttributeValue]? {
    if let known = objects[key.entity]?[[key.object]] { return known }
    let entity = model.entity(key.entity)
    return try present(
      RowName(table: entity.name, columns: Self.columns(of: entity, model), key: [key.object])
    )
  }

  /// Returns the last row of a deleted object.
  ///
  /// The deletion's log row has all columns except the sort positions, which earlier log rows
  /// contain. A change of `_id` logs a deletion and an insert, but no sort positions. In this case,
  /// the inserted row has the sort positions.
  private func tombstone(_ row: HistoryRow) -> [AttributeValue] {
    let entity = model.entity(row.entity)
    let columns = Self.columns(of: entity, model)
    var values = Array(repeating: AttributeValue.null, count: columns.count)
    values[0] = .integer(row.object)
    values[1] = .integer(row.version ?? 1)
    if let inserted, inserted.number == row.number + 1, inserted.entity == row.entity {
      for index in values.indices.dropFirst(2 + entity.columns.count) {
        values[index] = inserted.row[index]
      }
    }
    for value in row.values {
      guard let index = entity.columns.firstIndex(of: value.property) else { continue }
      values[index + 2] = value.stored(in: entity)
    }
    return values
  }

  /// Restores the former sort position of a member of an ordered to-many.
  private mutating func reposition(
    _ row: HistoryRow,
    _ former: HistoryRow.FormerPosition,
    _ present: Present
  ) throws {
    let owner = model.entity(row.entity)
    guard case .relationship(let toMany)? = owner.property(named: former.property) else { return }
    guard case .linkTable(let owningEntity, let name, let owns) = toMany.storage else {
      let member = model.storedKey(toMany.destination, row.other)
      let column = SQLNames.positionColumn(toMany.inverse ?? "")
      let columns = Self.columns(of: model.entity(member.entity), model)
      guard let index = columns.firstIndex(of: column), var values = try known(member, present)
      else { return }
      values[index] = .integer(former.position)
      return set(member, to: values)
    }
    let table = SQLNames.linkTable(model.entity(owningEntity), name)
    let key = owns ? [row.object, row.other] : [row.other, row.object]
    let column =
      owns ? SQLNames.linkPositionColumns.ofTarget : SQLNames.linkPositionColumns.ofSource
    prepareLinks(table, owningEntity, name)
    guard let positions = links[table]?.positions,
      let index = positions.firstIndex(of: column)
    else { return }
    let linkRow = RowName(table: table, columns: ["source", "target"] + positions, key: key)
    let known: [AttributeValue]?
    if let rewound = links[table]?.rows[key] {
      known = rewound
    } else {
      known = try present(linkRow)
    }
    guard var values = known else { return }
    values[index + 2] = .integer(former.position)
    links[table]?.rows[key] = .some(values)
  }

  private mutating func relink(_ row: HistoryRow) {
    let name = row.before ?? ""
    let table = SQLNames.linkTable(model.entity(row.entity), name)
    prepareLinks(table, row.entity, name)
    guard let positions = links[table]?.positions else { return }
    let key = [row.object, row.other]
    guard row.kind == .unlink else {
      links[table]?.rows[key] = .some(nil)
      return
    }
    let numbers: [AttributeValue] = [.integer(row.object), .integer(row.other)]
    links[table]?.rows[key] = numbers + positions.map { _ in .null }
  }

  private mutating func prepareLinks(_ table: String, _ owningEntity: Int, _ name: String) {
    let entity = model.entity(owningEntity)
    guard links[table] == nil,
      case .relationship(let relationship)? = entity.property(named: name)
    else { return }
    links[table] = Links(
      positions: OrderSchema(model).linkPositionColumns(relationship, of: entity)
    )
  }
}
