import SQLite

/// The archive: the documents of a position in a few values, which the next start reads.
extension IndexFile {
  /// The count of documents from which an archive is written, because reading their rows is slow.
  private static let archivedMin: Int64 = 1000

  /// Archives the documents for the next start, unless the file already has this archive or is at
  /// another position.
  ///
  /// If another process locks the file, the method writes nothing, and the next start reads the
  /// rows.
  ///
  /// - Parameter view: The documents of a position; if the view only counts them, the rows of the
  ///   file are archived.
  /// - Throws: `SQLiteError` for a damaged file.
  func archive(_ view: DocumentTable.View) throws {
    guard view.aliveCount >= Self.archivedMin, let position = view.position else { return }
    try withoutWaiting { db in
      let name = try Self.archiveName(db)
      let isArchived =
        view.isKept
        ? name == Self.archiveName(position, view)
        : name?.hasPrefix("\(position.text) \(view.aliveCount) ") == true
      guard !isArchived else { return }
      try db.transaction(.immediate) {
        guard try Self.position(db) == position else { return }
        try db.execute("DELETE FROM archive")
        let insert = try PreparedStatement(db, "INSERT INTO archive(documents) VALUES (?)")
        var parts = DocumentArchive.Writer(boostCount: layout.boostCount)
        var archived = DocumentTable.View(boostCount: layout.boostCount, isKept: false)
        func write(_ part: [UInt8]?) throws {
          guard let part else { return }
          insert.bind(part, at: 1)
          try insert.run()
        }
        func add(_ document: DocumentTable.AddedDocument) throws {
          try archived.add(document, below: position.next)
          try write(parts.add(document))
        }
        if view.isKept {
          try view.eachDocument(add)
        } else {
          try Self.eachDocument(db, layout, isOrdered: true, add)
        }
        try write(parts.end())
        try db.execute(
          "INSERT OR REPLACE INTO state VALUES ('archive', ?)",
          [Self.archiveName(position, archived)]
        )
      }
    }
  }

  /// Returns the documents of a position that an earlier stop has written.
  ///
  /// - Returns: The documents; nil if the file has no archive of the position, or a damaged one.
  /// - Throws: `SQLiteError`.
  static func archived(
    _ position: IndexPosition,
    _ db: SQLiteConnection,
    _ layout: IndexLayout
  ) throws -> DocumentTable.View? {
    guard let name = try archiveName(db), name.hasPrefix(position.text + " ") else { return nil }
    var view = DocumentTable.View(boostCount: layout.boostCount)
    let parts = try PreparedStatement(db, "SELECT documents FROM archive ORDER BY part")
    defer { parts.reset() }
    while try parts.step() {
      let isWhole = parts.withBytes(0) { part in
        DocumentArchive.add(
          part,
          to: &view,
          numbersEnd: position.next,
          boostCount: layout.boostCount,
          indexed: layout.indexed
        )
      }
      guard isWhole else { return nil }
    }
    view.position = position
    return name == archiveName(position, view) ? view : nil
  }

  /// Returns the name of an archive: its position, count of documents and count of tokens.
  private static func archiveName(
    _ position: IndexPosition,
    _ view: DocumentTable.View
  ) -> String {
    "\(position.text) \(view.aliveCount) \(view.aliveTokens)"
  }

  private static func archiveName(_ db: SQLiteConnection) throws -> String? {
    try db.text("SELECT value FROM state WHERE name = 'archive'")
  }
}
