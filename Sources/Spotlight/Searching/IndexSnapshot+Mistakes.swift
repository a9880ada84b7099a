import Interruptions
import SQLite

/// Words of the index that a person may have meant.
extension IndexSnapshot {
  /// The maximum number of words with typing mistakes that are searched for one word of a query.
  private static let nearMax = 50

  /// The maximum counts of nearest words that are returned and that are tried for a missing word.
  private static let insteadMax = (words: 3, tried: 10)

  /// Adds to each word of a query the words of the index that differ from it by typing mistakes.
  ///
  /// A word that the index lacks is divided into parts, each of which may have mistakes.
  ///
  /// - Parameters:
  ///   - query: The query.
  ///   - wordsMax: The maximum number of words to look up.
  ///   - isForgiving: Whether terms with operators stay as they are, and whether the words with as
  ///     many mistakes count as one word in the ranking.
  /// - Returns: Whether the index has more such words than the method added.
  /// - Throws: `SQLiteError`.
  func addMistakes(
    to query: inout SearchQuery,
    wordsMax: Int,
    isForgiving: Bool = false
  ) throws -> Bool {
    var isCut = false
    let statements = try numberStatements()
    func isMissing(_ term: SearchQuery.Term) throws -> Bool {
      try !isAlive(SearchQuery.expression(term, isExact: true), statements)
    }
    func near(_ term: SearchQuery.Term) throws -> NearWords {
      try isForgiving && isTrusted(term) ? NearWords() : self.near(term)
    }
    try query.divideTerms(wordsMax: wordsMax) { term in
      guard try !isForgiving || !term.isLiteral && !isTrusted(term) else { return false }
      // Its synonyms stand for the whole word.
      guard !term.forms.contains(where: { $0.kind == .synonym }) else { return false }
      return try isMissing(term) && self.near(term).words.isEmpty
    }
    try query.addForms { term in
      guard !isForgiving || !term.isLiteral else { return [] }
      let near = try near(term)
      if !near.isComplete { isCut = true }
      let words = isForgiving ? pooled(near.words, of: term) : apart(near.words, of: term)
      let runs = term.meantRuns
      return try words + (runs.isEmpty || !isMissing(term) ? [] : runs)
    }
    return isCut
  }

  /// Returns the words of live documents that differ from a term by typing mistakes.
  func near(_ term: SearchQuery.Term) throws -> NearWords {
    guard let word = term.mistakable else { return NearWords() }
    return try cached(\.near, word + (term.isPrefix ? "*" : "")) {
      try interruption?.check()
      let search = MistakeSearch(
        word,
        mistakesMax: MistakeSearch.mistakesMax(of: word),
        isPrefix: term.isPrefix
      )
      return try alive(search, isPrefix: term.isPrefix, max: Self.nearMax)
    }
  }

  /// Returns a form for each word.
  private func apart(_ near: [NearWord], of term: SearchQuery.Term) -> [SearchQuery.Term.Form] {
    near.map { word in
      SearchQuery.Term.Form(
        tokens: [word.text],
        isPrefix: term.isPrefix,
        mistakes: word.mistakes,
        kind: .mistake
      )
    }
  }

  /// Returns a form for each count of mistakes, which matches any word with as many mistakes.
  ///
  /// One frequency for all of them keeps a rare word from ranking above the word that is meant.
  private func pooled(
    _ near: [NearWord],
    of term: SearchQuery.Term
  ) -> [SearchQuery.Term.Form] {
    Dictionary(grouping: near, by: \.mistakes).sorted { $0.key < $1.key }.map { mistakes, words in
      SearchQuery.Term.Form(
        tokens: [words.map(\.text).joined(separator: Readings.alternative)],
        isPrefix: term.isPrefix,
        mistakes: mistakes,
        kind: .mistake,
        label: "\(term.text)~\(mistakes)"
      )
    }
  }

  /// Returns the first words of a mistake search that occur in live documents, so that words of
  /// dead documents do not change a result.
  private func alive(_ search: MistakeSearch, isPrefix: Bool, max: Int) throws -> NearWords {
    let statements = try numberStatements()
    var alive: [NearWord] = []
    for near in search.near(try vocabulary.words(db)) {
      let expression = "\"\(near.text)\"" + (isPrefix ? " *" : "")
      guard try isAlive(expression, statements) else { continue }
      if alive.count == max { return NearWords(words: alive, isComplete: false) }
      alive.append(near)
    }
    return NearWords(words: alive)
  }

  /// Returns the nearest words of the index for missing words of a query, if these words find
  /// documents.
  ///
  /// Words with fewer mistakes come first, then words of more documents.
  ///
  /// - Parameters:
  ///   - missing: Words that no document has.
  ///   - request: The search.
  ///   - excluded: The documents that are not counted.
  /// - Returns: The missing words for which the index has nearest words.
  /// - Throws: `SQLiteError`.
  func nearest(
    to missing: [SearchQuery.Term],
    _ request: SearchRequest,
    _ excluded: [Int64]
  ) throws -> [(word: String, nearest: [String])] {
    var answer: [(word: String, nearest: [String])] = []
    for term in missing {
      guard let word = term.mistakable, !answer.contains(where: { $0.word == term.text }) else {
        continue
      }
      let nearest = try nearest(to: word, request, excluded)
      if !nearest.isEmpty { answer.append((term.text, nearest)) }
    }
    return answer
  }

  private func nearest(
    to word: String,
    _ request: SearchRequest,
    _ excluded: [Int64]
  ) throws -> [String] {
    let mistakesMax = word.unicodeScalars.count >= 4 ? 2 : 1
    let search = MistakeSearch(word, mistakesMax: mistakesMax, isPrefix: false)
    let all = try alive(search, isPrefix: false, max: Self.insteadMax.tried).words
    var found: [(near: NearWord, documents: Int64)] = []
    for near in all {
      let total = try rank(SearchQuery(word: near.text), request, excluded, hitMax: 0).total
      if total > 0 { found.append((near, total)) }
    }
    found.sort { first, second in
      (first.near.mistakes, second.documents, first.near.text)
        < (second.near.mistakes, first.documents, second.near.text)
    }
    return found.prefix(Self.insteadMax.words).map(\.near.text)
  }
}
