import CSpotlight
package import CordialValues
import SQLite

/// Snapshots of a past commit for which the index lacks some texts.
extension IndexSnapshot {
  /// Runs a body with a snapshot that also includes texts that the index never had.
  ///
  /// - Parameters:
  ///   - documents: The texts of the objects of `unknown`.
  ///   - body: Receives the snapshot.
  /// - Returns: The result of the body.
  /// - Throws: `SQLiteError`, and the errors of the body.
  package func adding<Result>(
    _ documents: [(key: ObjectKey, content: DocumentContent)],
    _ body: (IndexSnapshot) throws -> Result
  ) throws -> Result {
    guard !documents.isEmpty, !layout.isEmpty else { return try body(self) }
    var snapshot = self
    let result = Swift.Result {
      try SpotlightError.reading {
        try db.progress.withoutStopping { try snapshot.add(documents) }
      }
      return try body(snapshot)
    }
    try SpotlightError.reading {
      try db.progress.withoutStopping { try db.execute("DROP TABLE IF EXISTS temp.past") }
    }
    return try result.get()
  }

  private mutating func add(_ documents: [(key: ObjectKey, content: DocumentContent)]) throws {
    let names = layout.columns.map(IndexLayout.quotedColumn)
    try db.execute(
      """
      DROP TABLE IF EXISTS temp.past;
      CREATE VIRTUAL TABLE temp.past USING fts5(
        \(names.joined(separator: ", ")), content='', columnsize=0, tokenize='cordial');
      """
    )
    let marks = names.map { _ in ", ?" }.joined()
    let insert = try PreparedStatement(
      db,
      "INSERT INTO temp.past(rowid, \(names.joined(separator: ", "))) VALUES (?\(marks))"
    )
    // The index may have words of dead documents under any number below its next number.
    let first = max(view.position?.next ?? 1, Int64(view.numbersEnd), 1)
    for (index, document) in documents.sorted(by: { $0.key < $1.key }).enumerated() {
      try db.progress.check()
      let number = first + Int64(index)
      insert.bind(number, at: 1)
      for column in layout.columns.indices { insert.bind(nil as String?, at: Int32(column + 2)) }
      for (field, text) in zip(layout.fields[document.key.entity] ?? [], document.content.texts) {
        insert.bind(text, at: Int32(field.column + 2))
      }
      try insert.run()
      let lengths = DocumentLengths(
        document: document.content.texts.reduce(0) { $0 + ($1.map(Tokens.count) ?? 0) },
        title: layout.titleLength(of: document.key.entity, document.content.texts)
      )
      view.add(
        DocumentTable.AddedDocument(
          number: number,
          key: document.key,
          length: lengths.document,
          titleLength: lengths.title,
          boosts: document.content.boosts
        )
      )
    }
    firstAdded = first
  }

  /// The full-text tables that a search of the snapshot reads.
  var tables: [String] { firstAdded == nil ? ["text"] : ["text", "past"] }

  /// Returns the table with the words of a document.
  func table(of number: Int64) -> String {
    firstAdded.map { number >= $0 } == true ? "past" : "text"
  }

  /// Returns the number of an object's document, or nil for an object without one.
  func number(of key: ObjectKey) throws -> Int64? {
    isPast ? view.number(of: key) : try numbers(of: [key]).first
  }

  /// Sets the document count of each phrase if the counts are cached, or if the snapshot reads two
  /// tables.
  func count(
    _ query: SearchQuery,
    _ counted: (phrases: [String], position: IndexPosition)?,
    _ search: inout spotlight_search
  ) throws {
    if let counts = query.counts {
      return try unsafe counts.withUnsafeBufferPointer { counts in
        guard unsafe spotlight_set_word_counts(&search, counts.baseAddress) == SQLITE_OK else {
          throw SQLiteError(.noMemory, "There is no memory for a search")
        }
      }
    }
    if let counted, let known = termCache.counts(of: counted.phrases, at: counted.position) {
      unsafe search.skippedCount = known.reduce(0, +)
      return try unsafe set(known, &search)
    }
    guard firstAdded != nil else { return }
    let statements = try numberStatements()
    let counts = try query.phraseExpressions.map { expression in
      var count: Int64 = 0
      try eachAlive(expression, statements) { _ in
        count += 1
        return true
      }
      return count
    }
    try unsafe set(counts, &search)
  }

  private func set(_ counts: [Int64], _ search: inout spotlight_search) throws {
    try unsafe counts.withUnsafeBufferPointer { counts in
      guard unsafe spotlight_set_counts(&search, counts.baseAddress) == SQLITE_OK else {
        throw SQLiteError(.noMemory, "There is no memory for a search")
      }
    }
  }

  /// Returns statements that select the numbers of the documents that match an expression.
  func numberStatements() throws -> [PreparedStatement] {
    try tables.map {
      try PreparedStatement(kept: "SELECT rowid FROM \($0) WHERE \($0) MATCH ?", db)
    }
  }

  /// Calls a body with the live documents that match an expression, until it returns false.
  func eachAlive(
    _ expression: String,
    _ statements: [PreparedStatement],
    _ body: (Int64) -> Bool
  ) throws {
    for statement in statements {
      defer { statement.reset() }
      statement.bind(expression, at: 1)
      while try statement.step() {
        let number = statement.integer(0)
        if view.key(number) != nil, !body(number) { return }
      }
    }
  }

  /// Returns whether an expression matches a live document.
  ///
  /// - Parameters:
  ///   - expression: The expression.
  ///   - statements: The statements of `numberStatements`.
  /// - Returns: Whether the expression matches a live document.
  /// - Throws: `SQLiteError`.
  func isAlive(_ expression: String, _ statements: [PreparedStatement]) throws -> Bool {
    try cached(\.alive, expression) {
      var isAlive = false
      try eachAlive(expression, statements) { _ in
        isAlive = true
        return false
      }
      return isAlive
    }
  }
}
