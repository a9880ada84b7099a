package import CordialValues
import Interruptions
import SQLite

/// A query that a person may be typing.
package struct Suggestion: Sendable, Equatable {
  /// The origin of a suggestion.
  package enum Kind: String, Sendable {
    /// A word of the index in place of the word that is being typed.
    case word
    /// The display name of an object.
    case query
    /// Words of the index in place of words that no object has.
    case correction
  }

  package let text: String
  package let kind: Kind
  /// The number of documents that this query finds.
  package let documents: Int64

  /// Creates a suggestion.
  package init(text: String, kind: Kind, documents: Int64) {
    (self.text, self.kind, self.documents) = (text, kind, documents)
  }
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
    let query = query(request, isPrefix: false)
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
        if total > 0 {
          suggestions.append(Suggestion(text: head + word, kind: .word, documents: total))
        }
      }
      suggestions.sort { first, second in
        first.documents != second.documents
          ? first.documents > second.documents : first.text < second.text
      }
      return Array(suggestions.prefix(request.limit))
    }
  }

  /// Replaces the words of a query that no document has by words of the index.
  ///
  /// Of the words that differ by typing mistakes, those with fewer mistakes come first, then those
  /// of more documents. A word without such words may be several words that were typed as one.
  ///
  /// - Parameters:
  ///   - request: The query and the entities of the documents.
  ///   - excluded: The objects that are not counted.
  /// - Returns: The query with all these words replaced; nil where every word is in a document, a
  ///   word has no replacement, or the new query finds nothing.
  /// - Throws: `SQLiteError`; `Interrupted`.
  package func correction(
    _ request: SearchRequest,
    without excluded: Set<ObjectKey>
  ) throws -> Suggestion? {
    guard !layout.isEmpty else { return nil }
    let query = query(request, isPrefix: true)
    return try SpotlightError.reading {
      let numbers = try numbers(of: excluded)
      let statements = try numberStatements()
      var text = ""
      var rest = request.query[...]
      for index in query.plain {
        let term = query.required[index][0]
        guard try !isAlive(SearchQuery.expression(term, isExact: true), statements) else {
          continue
        }
        guard let place = rest.firstRange(of: term.text),
          let word = try replacement(of: term, request, numbers)
        else { return nil }
        text += rest[..<place.lowerBound] + word
        rest = rest[place.upperBound...]
      }
      guard !text.isEmpty else { return nil }
      return try counted(text + rest, .correction, request, numbers)
    }
  }

  private func replacement(
    of term: SearchQuery.Term,
    _ request: SearchRequest,
    _ excluded: [Int64]
  ) throws -> String? {
    try interruption?.check()
    if let word = try nearest(to: [term], request, excluded).first?.nearest.first { return word }
    guard let word = term.word else { return nil }
    let words = try vocabulary.words(db)
    return try splits(of: word, words, numberStatements(), max: 1).first?.joined(separator: " ")
  }

  /// Suggests display names of the objects that a query finds.
  ///
  /// - Parameters:
  ///   - request: The query and the entities of the documents; its limit is the count of names.
  ///   - excluded: The objects that are not counted.
  ///   - name: Returns the column and the text of the display name of an object; nil for none.
  /// - Returns: The names that have all words of the query, those of better hits first.
  /// - Throws: `SQLiteError`, and the errors of `name`.
  package func names(
    _ request: SearchRequest,
    without excluded: Set<ObjectKey>,
    _ name: (ObjectKey) throws -> (column: String, text: String)?
  ) throws -> [Suggestion] {
    let query = query(request, isPrefix: true)
    guard !query.isEmpty, !layout.isEmpty, request.limit > 0 else { return [] }
    // Nearly every name has a word that begins with some letter.
    if query.isOpen, let last = query.terms.last?.word, last.unicodeScalars.count < 2,
      Tokens.start(of: last) == nil
    {
      return []
    }
    let left = try SpotlightError.reading { try numbers(of: excluded) }
    var tried = request
    tried.limit *= Self.triesPerSuggestion
    let typed = Tokens.wholes(request.query).map(\.text)
    let highlighter = Highlighter(query)
    var found: [Suggestion] = []
    for hit in try hits(query, tried, left, nil).hits where found.count < request.limit {
      guard let (column, text) = try name(hit.key), text.utf8.count <= Self.nameBytesMax,
        Tokens.wholes(text).map(\.text) != typed, !found.contains(where: { $0.text == text }),
        highlighter.hasAllTerms(in: text, column: column)
      else { continue }
      let suggestion = try SpotlightError.reading { try counted(text, .query, request, left) }
      if let suggestion { found.append(suggestion) }
    }
    return found
  }

  /// The greatest length in bytes of a display name that is suggested.
  private static let nameBytesMax = 100

  private func query(_ request: SearchRequest, isPrefix: Bool) -> SearchQuery {
    SearchQuery(
      request.query,
      columns: Set(layout.columns),
      isPrefix: isPrefix,
      wordsMax: request.wordsMax
    )
  }

  /// Returns the suggestion of a text; nil if a search of all its words finds nothing.
  private func counted(
    _ text: String,
    _ kind: Suggestion.Kind,
    _ request: SearchRequest,
    _ excluded: [Int64]
  ) throws -> Suggestion? {
    let query = SearchQuery(
      text,
      columns: Set(layout.columns),
      isPrefix: false,
      wordsMax: request.wordsMax
    )
    let total = try rank(query, request, excluded, hitMax: 0).total
    return total > 0 ? Suggestion(text: text, kind: kind, documents: total) : nil
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
