import SQLite

/// A set of an index's tables: the current tables, which answer, or the tables of the next index.
///
/// The tables `state`, `archive` and `deleted_domain` belong to the file, not to a set.
enum IndexTables {
  case current, next

  /// The version of the tables' layout; an index with another version is rebuilt.
  private static let formatVersion = 12
  /// The number of bytes of words that FTS5 collects before it writes a segment.
  ///
  /// The option is undocumented. Its default of 1 MiB produces many small segments when many
  /// documents are indexed at once.
  private static let hashBytes = 32 << 20

  private static let names = ["text", "document", "later", "detail", "former", "unknown", "word"]

  /// Returns the name that a table, or a row of `state`, has in the file.
  func name(_ name: String) -> String {
    switch self {
    case .current: name
    case .next: name + "_next"
    }
  }

  /// Prepares the tables for a writer.
  ///
  /// Preparing known tables does not wait for another process that writes to the index.
  ///
  /// - Parameters:
  ///   - layout: The columns of the index.
  ///   - isPrepared: Whether the current tables must not change: tables of another layout or model
  ///     are then an error, and the tables of a build stay.
  ///   - db: The connection of the writer, without a transaction.
  /// - Throws: `SQLiteError`; `IndexMoved` for tables of another layout or model.
  func prepare(_ layout: IndexLayout, isPrepared: Bool, _ db: SQLiteConnection) throws {
    let identity = "\(Self.formatVersion) \(layout.mark)"
    let isKnown = try Self.identity(db) == identity
    switch self {
    case .next:
      guard isKnown else { throw IndexMoved() }
      try db.transaction(.immediate) {
        try drop(db)
        try create(layout, db)
        try db.execute("INSERT INTO state VALUES ('next', lower(hex(randomblob(8))))")
      }
    case .current where isKnown:
      try Self.check(db)
      // This process may advance the index, so the process that began the build has ended.
      if !isPrepared {
        try IndexFile.withoutWaiting(db) {
          if let mark = try Self.mark(db) { try Self.dropNext(db, of: mark) }
        }
      }
    case .current:
      guard !isPrepared else { throw IndexMoved() }
      try db.transaction(.immediate) { try recreate(layout, identity, db) }
      try Self.allowShrinking(db)
    }
  }

  /// Runs a body that prepares the statements of the tables.
  ///
  /// - Parameters:
  ///   - queue: The connection.
  ///   - body: Compiles constant SQL.
  /// - Returns: The result of the body.
  /// - Throws: `SQLiteError`, with the code `corrupt` if the current tables contradict their
  ///   identity. The tables of a build may be missing because another process has removed them.
  func checking<Result>(
    _ queue: SQLiteQueue,
    _ body: (SQLiteConnection) throws -> Result
  ) throws -> Result {
    do {
      return try queue.use(body)
    } catch let error as SQLiteError where error.code == .error && self == .current {
      throw SQLiteError(.corrupt, error.message, sql: error.sql)
    }
  }

  /// Checks that the file has each table, and no triggers or views.
  private static func check(_ db: SQLiteConnection) throws {
    let others = ["archive", "deleted_domain", "text_data", "text_idx", "text_config"]
    for name in names + others where try !db.hasTable(name) {
      throw SQLiteError(.corrupt, "The index has no table \(name)")
    }
    let foreign = "SELECT name FROM sqlite_master WHERE type IN ('trigger', 'view') LIMIT 1"
    if let name = try db.text(foreign) {
      throw SQLiteError(.corrupt, "The index has a trigger or a view \(name)")
    }
  }

  /// Removes the tables of a build, unless a later build has created them again.
  static func dropNext(_ db: SQLiteConnection, of build: String) throws {
    try db.transaction(.immediate) {
      if try mark(db) == build { try IndexTables.next.drop(db) }
    }
  }

  /// Returns the random text that identifies the tables of the present build; nil without a build.
  static func mark(_ db: SQLiteConnection) throws -> String? {
    try db.text("SELECT value FROM state WHERE name = 'next'")
  }

  /// Replaces the current tables with those of a new index, in the caller's transaction.
  static func swap(_ db: SQLiteConnection) throws {
    for name in names {
      try db.execute(
        """
        DROP TABLE \(IndexTables.current.name(name));
        ALTER TABLE \(IndexTables.next.name(name)) RENAME TO \(IndexTables.current.name(name));
        """
      )
    }
    // The archive has the documents of the old index.
    try db.execute("DELETE FROM archive")
    try forgetNext(db)
  }

  private static func forgetNext(_ db: SQLiteConnection) throws {
    try db.execute(
      "DELETE FROM state WHERE name IN ('next', '\(IndexTables.next.name("built"))')"
    )
  }

  private func drop(_ db: SQLiteConnection) throws {
    for name in Self.names { try db.execute("DROP TABLE IF EXISTS \(self.name(name))") }
    if self == .next { try Self.forgetNext(db) }
  }

  /// Returns the text that identifies the layout and model of the tables, or nil without tables.
  private static func identity(_ db: SQLiteConnection) throws -> String? {
    try db.hasTable("state")
      ? try db.text("SELECT value FROM state WHERE name = 'identity'") : nil
  }

  private func recreate(
    _ layout: IndexLayout,
    _ identity: String,
    _ db: SQLiteConnection
  ) throws {
    let known = try Self.identity(db)
    guard known != identity else { return }
    let isPaused = try known != nil && IndexFile.isPaused(db)
    if known != nil { try IndexTables.next.drop(db) }
    try drop(db)
    try create(layout, db)
    try db.execute(
      """
      DROP TABLE IF EXISTS state;
      DROP TABLE IF EXISTS archive;
      CREATE TABLE archive(part INTEGER PRIMARY KEY, documents BLOB NOT NULL) STRICT;
      CREATE TABLE IF NOT EXISTS deleted_domain(domain TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
      CREATE TABLE state(name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
      INSERT INTO state VALUES ('identity', \(SQLNames.literal(identity))),
        ('mark', lower(hex(randomblob(8))));
      """
    )
    if isPaused { try IndexFile.setPaused(true, db) }
  }

  /// Creates the tables of the set.
  ///
  /// FTS5's pages keep their default size of 1,000 bytes. Four or eight times this size saves a
  /// search about one instruction in a hundred, and makes the index 2 % smaller.
  private func create(_ layout: IndexLayout, _ db: SQLiteConnection) throws {
    let columns = layout.columns.isEmpty ? ["none"] : layout.columns
    let text = name("text")
    try db.execute(
      """
      CREATE VIRTUAL TABLE \(text) USING fts5(
        \(columns.map(IndexLayout.quotedColumn).joined(separator: ", ")),
        content='', columnsize=0, tokenize='cordial');
      INSERT INTO \(text)(\(text), rank) VALUES ('hashsize', \(Self.hashBytes));
      CREATE TABLE \(name("document"))(
        entity INTEGER, object INTEGER, number INTEGER NOT NULL, lengths INTEGER NOT NULL,
        PRIMARY KEY (entity, object)) STRICT, WITHOUT ROWID;
      CREATE TABLE \(name("later"))(
        number INTEGER PRIMARY KEY, inserted INTEGER NOT NULL, read INTEGER NOT NULL) STRICT;
      CREATE TABLE \(name("detail"))(number INTEGER PRIMARY KEY, boosts TEXT, domain TEXT) STRICT;
      CREATE TABLE \(name("former"))(
        deleted INTEGER, number INTEGER, entity INTEGER NOT NULL, object INTEGER NOT NULL,
        lengths INTEGER NOT NULL, inserted INTEGER NOT NULL, boosts TEXT,
        PRIMARY KEY (deleted, number)) STRICT, WITHOUT ROWID;
      CREATE TABLE \(name("unknown"))(
        until INTEGER, entity INTEGER, object INTEGER, first INTEGER,
        PRIMARY KEY (until, entity, object, first)) STRICT, WITHOUT ROWID;
      CREATE TABLE \(name("word"))(text TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
      """
    )
  }

  /// Enables a file of a former format to return unused pages to the file system.
  private static func allowShrinking(_ db: SQLiteConnection) throws {
    guard try db.text("PRAGMA auto_vacuum") != "2" else { return }
    do {
      try db.execute("PRAGMA auto_vacuum = INCREMENTAL; VACUUM")
    } catch let error as SQLiteError where error.code == .busy {
      // Another process reads the file, so the file keeps its size.
    }
  }
}
