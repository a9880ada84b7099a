import ObjectModel
import PersistentHistory
import SQLite
import StoreLayout

/// The unique indexes of the entities' tables, inside the writer's transaction.
///
/// While indexes are relaxed, SQLite stores rows with equal unique values, so that the violations
/// of several writes are found together. Relaxed indexes keep their names and columns.
struct UniqueIndexes {
  private let db: SQLiteConnection
  private let model: Model
  /// The numbers of the entities whose indexes are relaxed.
  private var entities: Set<Int> = []
  /// The names and the original statements of the relaxed indexes.
  private var relaxed: [(name: String, sql: String)] = []

  init(_ db: SQLiteConnection, _ model: Model) {
    self.db = db
    self.model = model
  }

  var areRelaxed: Bool { !relaxed.isEmpty }

  /// Replaces the unique indexes of some entities by indexes that are not unique.
  ///
  /// - Throws: `SQLiteError`.
  /// - Complexity: Linear in the rows of the entities' tables, for each unique index.
  mutating func relax(_ numbers: Set<Int>) throws {
    var found: [(name: String, sql: String)] = []
    for number in numbers.subtracting(entities).sorted() {
      entities.insert(number)
      found += try db.rows(
        "SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND tbl_name = ?",
        [model.entity(number).name]
      ) { (name: $0.text(0), sql: $0.optionalText(1) ?? "") }
      .filter { $0.sql.hasPrefix(Self.unique) }
    }
    relaxed += found
    for index in found {
      let sql = Self.plain + index.sql.dropFirst(Self.unique.count)
      try replace(index.name, by: sql)
    }
  }

  /// Makes the relaxed indexes unique again.
  ///
  /// - Throws: `SQLiteError` when rows have equal unique values.
  mutating func restore() throws {
    for index in relaxed { try replace(index.name, by: index.sql) }
    relaxed = []
    entities = []
  }

  private static let unique = "CREATE UNIQUE INDEX "
  private static let plain = "CREATE INDEX "

  private func replace(_ name: String, by sql: String) throws {
    try db.execute("DROP INDEX \(SQLNames.quoted(name))")
    // The SQL of an index that another program created may contain several statements. SQLite uses
    // only the first statement of a schema entry, but `execute` would run all statements.
    try PreparedStatement(db, sql).run()
  }
}
