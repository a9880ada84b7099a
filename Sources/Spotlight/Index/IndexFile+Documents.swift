import CordialValues
import SQLite

/// The documents of the file, as rows.
extension IndexFile {
  /// Returns the documents of a position for a search.
  ///
  /// - Parameters:
  ///   - position: The position that the file has.
  ///   - view: The documents in memory, if they are kept; another process may have written to the
  ///     file since.
  ///   - db: The connection of the file.
  ///   - layout: The columns of the index.
  /// - Returns: The documents.
  /// - Throws: `SQLiteError`.
  static func documents(
    _ position: IndexPosition,
    _ view: DocumentTable.View,
    _ db: SQLiteConnection,
    _ layout: IndexLayout
  ) throws -> DocumentTable.View {
    guard view.position == position else { return try documents(position, db, layout) }
    guard !view.isKept else { return view }
    var seen = try documents(position, db, layout)
    seen.followed = view.followed
    return seen
  }

  /// Returns all documents of a position, or only their count.
  static func documents(
    _ position: IndexPosition?,
    _ db: SQLiteConnection,
    _ layout: IndexLayout,
    isKept: Bool = true
  ) throws -> DocumentTable.View {
    var view = DocumentTable.View(boostCount: layout.boostCount, isKept: isKept)
    // Without a position, the index was never built and has no documents.
    guard let position else { return view }
    try check(position, db)
    view.position = position
    guard isKept else {
      view.count(try db.integer("SELECT count(*) FROM document") ?? 0, below: position.next)
      return view
    }
    if let archived = try archived(position, db, layout) { return archived }
    try eachDocument(db, layout) { try view.add($0, below: position.next) }
    return view
  }

  /// Calls a body with each document of the file.
  ///
  /// - Parameters:
  ///   - db: The connection of the file.
  ///   - layout: The columns of the index.
  ///   - isOrdered: Whether SQLite sorts the rows, so that the documents come in the order of their
  ///     numbers.
  ///   - body: Receives a document, whose entity is indexed by the layout.
  /// - Throws: `SQLiteError`; the errors of the body.
  static func eachDocument(
    _ db: SQLiteConnection,
    _ layout: IndexLayout,
    isOrdered: Bool = false,
    _ body: (DocumentTable.AddedDocument) throws -> Void
  ) throws {
    let hasBoosts = layout.boostCount > 0
    let order = isOrdered ? " ORDER BY number" : ""
    let statement = try PreparedStatement(
      db,
      hasBoosts
        ? """
        SELECT number, entity, object, lengths, boosts
        FROM document LEFT JOIN detail USING (number)\(order)
        """
        : "SELECT number, entity, object, lengths FROM document\(order)"
    )
    defer { statement.reset() }
    while try statement.step() {
      let lengths = DocumentLengths(packed: statement.integer(3))
      try body(
        DocumentTable.AddedDocument(
          number: statement.integer(0),
          key: try layout.key(statement.integer(1), statement.integer(2)),
          length: lengths.document,
          titleLength: lengths.title,
          boosts: hasBoosts ? BoostValues.values(statement.optionalText(4)) : []
        )
      )
    }
  }

  /// Checks that the file is large enough for the documents that its position claims.
  ///
  /// The memory depends on the greatest number: a bit for each number, and a chunk for each 4,096
  /// numbers.
  private static func check(_ position: IndexPosition, _ db: SQLiteConnection) throws {
    let pages = try db.integer("PRAGMA page_count") ?? 0
    let bytes = try pages * (db.integer("PRAGMA page_size") ?? 0)
    guard position.next <= Self.deadNumbersMax + bytes else {
      throw SQLiteError(.corrupt, "The index is too small for \(position.next) documents")
    }
  }

  /// The maximum count of dead documents, which may take no byte in the file.
  ///
  /// Every live document takes more than one byte. An index is rebuilt long before it has so many
  /// dead documents.
  private static let deadNumbersMax: Int64 = 1 << 24
}
