package import CordialValues
import SQLite

/// A text that a person may be typing.
package struct Suggestion: Sendable, Equatable {
  /// The query with its last word completed.
  package let text: String
  /// The number of documents that this query finds.
  package let documents: Int64
}

extension IndexSnapshot {
  /// The count of words that are tried for each requested suggestion.
  private static let triesPerSuggestion = 3

  /// Completes the last word of a query by words of the index.
  ///
  /// The method tries the most frequent words of the whole index that begin with the last word of
  /// the query: three for each suggestion.
  ///
  /// - Parameters:
  ///   - request: The query and the entities of the documents; its limit is the count of
  ///     suggestions.
  ///   - excluded: The objects that are not counted.
  /// - Returns: The suggestions that find documents, the most frequent first, then by text; empty
  ///   for a query that does not end inside a word.
  /// - Throws: `SQLiteError`.
  package func suggestions(
    _ request: SearchRequest,
    without excluded: Set<ObjectKey>
  ) throws -> [Suggestion] {
    let query = SearchQuery(
      request.query,
      columns: Set(layout.columns),
      isPrefix: false,
      wordsMax: request.wordsMax
    )
    guard query.isOpen, let term = query.required.last?.last, !layout.isEmpty,
      let last = Tokens.wholes(term.text).last
    else { return [] }
    // The sign of a tag precedes the offset of the token, and belongs to the typed text.
    let sign = last.text.hasPrefix("#") || last.text.hasPrefix("@") ? 1 : 0
    // An asterisk at the end is not part of the term.
    let asterisk = term.isPrefix ? 1 : 0
    let typed = term.text.utf8.count - last.start + sign + asterisk
    let head = String(decoding: request.query.utf8.dropLast(typed), as: UTF8.self)
    return try SpotlightError.reading {
      let numbers = try numbers(of: excluded)
      var suggestions: [Suggestion] = []
      for word in try words(beginning: last.text, max: request.limit * Self.triesPerSuggestion) {
        guard let completed = query.completed(with: word) else { continue }
        let total = try rank(completed, request, numbers, hitMax: 0).total
        if total > 0 { suggestions.append(Suggestion(text: head + word, documents: total)) }
      }
      suggestions.sort { first, second in
        first.documents != second.documents
          ? first.documents > second.documents : first.text < second.text
      }
      return Array(suggestions.prefix(request.limit))
    }
  }

  /// Returns the most frequent words of the index that begin with some letters.
  ///
  /// A letter of a script without spaces has a different token at the beginning of a word.
  private func words(beginning start: String, max: Int) throws -> [String] {
    let words = try indexedWords(beginning: start, max: max)
    guard let marked = Tokens.start(of: start) else { return words.map(\.word) }
    let starts = try indexedWords(beginning: marked, max: max).map { word, count in
      (String(decoding: word.utf8.dropFirst(), as: UTF8.self), count)
    }
    let counts = Dictionary(words + starts, uniquingKeysWith: +)
    return counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.prefix(max).map(\.key)
  }

  private func indexedWords(
    beginning start: String,
    max: Int
  ) throws -> [(word: String, count: Int64)] {
    try db.progress.withoutStopping {
      try db.execute(
        "CREATE VIRTUAL TABLE IF NOT EXISTS temp.vocabulary USING fts5vocab(main, text, row)"
      )
    }
    let statement = try PreparedStatement(
      db,
      """
      SELECT term, doc FROM vocabulary WHERE term >= ?1 AND term < ?2
      ORDER BY doc DESC, term LIMIT ?3
      """
    )
    defer { statement.reset() }
    statement.bind(start, at: 1)
    // No word has this code point.
    statement.bind(start + "\u{10FFFF}", at: 2)
    statement.bind(Int64(max), at: 3)
    var words: [(word: String, count: Int64)] = []
    while try statement.step() {
      // Only a damaged index has other texts, which would be syntax in a search's expression.
      guard case let word = statement.text(0), Tokens.isToken(word) else { continue }
      words.append((word, statement.integer(1)))
    }
    return words
  }
}
