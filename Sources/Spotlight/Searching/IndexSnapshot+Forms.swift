import CSpotlight
import Interruptions
import ObjectModel
import SQLite

/// The forms of a query's words that a forgiving search also finds.
///
/// Each form is decided by the documents that live at the snapshot, so that an equal text at an
/// equal position has an equal result. The vocabulary only proposes words.
extension IndexSnapshot {
  /// The maximum counts of words of the index that stand for one typed word, by their kind.
  private static let (inflectionsMax, partsMax, splitsMax) = (24, 48, 3)
  /// The least counts of letters of a word that is the beginning of words, that is a part of words,
  /// that is split into words, and of a part of a split word.
  private static let (prefixMin, partMin, splitMin, splitPartMin) = (3, 4, 6, 3)
  /// The count of documents above which a word counts as equally frequent.
  private static let frequentMin: Int64 = 1000
  /// The count of documents from which a word counts as typed without a mistake.
  private static let trustedMin: Int64 = 10

  /// Adds to each plain term the forms in which documents have it, and replaces words that no
  /// document has by the words of which they consist.
  ///
  /// - Parameters:
  ///   - query: The query.
  ///   - request: The search.
  /// - Throws: `SQLiteError`; `Interrupted`.
  func addForms(to query: inout SearchQuery, _ request: SearchRequest) throws {
    let statements = try numberStatements()
    let words = try vocabulary.words(db)
    try query.splitTerms(wordsMax: request.wordsMax) { term in
      guard try !isFound(term, statements), let word = term.word else { return [] }
      guard try !hasSynonyms([word], words, statements) else { return [] }
      guard try !request.isFuzzy || near(term).words.isEmpty else { return [] }
      return try splits(of: word, words, statements, max: 1).first ?? []
    }
    let plain = query.plain
    for index in plain {
      try interruption?.check()
      let term = query.required[index][0]
      let key = (request.isPrefix ? "*" : "") + (term.isPrefix ? "*" : " ") + term.text
      let found = try cached(\.forms, key) { try forms(of: term, request, words, statements) }
      query.add(found, to: index)
    }
    try addJoined(to: &query, plain, statements)
    try addSynonyms(to: &query, plain, words, statements)
    guard request.hasReadings else { return }
    query.addReadings(KnownLetters(words))
  }

  /// Returns whether so many documents have a term as it was typed that it has no typing mistakes.
  func isTrusted(_ term: SearchQuery.Term) throws -> Bool {
    try typedCount(term) >= Self.trustedMin
  }

  /// Returns the count of the documents that have a term as it was typed.
  private func typedCount(_ term: SearchQuery.Term) throws -> Int64 {
    var query = SearchQuery(term)
    query.removeForms(of: 0)
    return try documentCount(query)
  }

  /// Returns whether a document has a term as it was typed, or a word that begins with it.
  private func isFound(
    _ term: SearchQuery.Term,
    _ statements: [PreparedStatement]
  ) throws -> Bool {
    if try typedCount(term) > 0 { return true }
    var term = term
    if (term.word?.unicodeScalars.count ?? 0) >= Self.prefixMin { term.isPrefix = true }
    return try isAlive(SearchQuery.expression(term, isExact: true), statements)
  }

  private func forms(
    of term: SearchQuery.Term,
    _ request: SearchRequest,
    _ words: WordList,
    _ statements: [PreparedStatement]
  ) throws -> [SearchQuery.Term.Form] {
    var forms: [SearchQuery.Term.Form] = []
    if request.isPrefix, !term.isPrefix {
      for phrase in term.phrases {
        guard let last = phrase.last, last.unicodeScalars.count >= Self.prefixMin,
          Tokens.start(of: last) == nil
        else { continue }
        forms.append(.init(tokens: phrase, isPrefix: true, mistakes: 1, kind: .prefix))
      }
    }
    for phrase in CodePointNotation.phrases(of: term.text) {
      forms.append(.init(tokens: phrase, mistakes: 1, kind: .spelling))
    }
    guard let word = term.word, Tokens.start(of: word) == nil else { return forms }
    func add(
      _ found: [String],
      _ kind: SearchQuery.Term.Kind,
      columns: [String]? = nil
    ) {
      guard !found.isEmpty, columns?.isEmpty != true else { return }
      var form = SearchQuery.Term.Form(
        tokens: [found.joined(separator: Readings.alternative)],
        mistakes: 1,
        kind: kind
      )
      (form.columns, form.label) = (columns, "\(word)~")
      forms.append(form)
    }
    add(
      try UmlautSpelling.others(of: term.text).filter { try isAlive("\"\($0)\"", statements) },
      .spelling
    )
    for (columns, found) in inflections(of: word, words) {
      let alive = try alive(found, statements, columns, max: Self.inflectionsMax)
      add(alive, .inflection, columns: columns)
    }
    if word.unicodeScalars.count >= Self.partMin {
      add(try alive(words.containing(word), statements, max: Self.partsMax), .part)
    }
    for split in try splits(of: word, words, statements, max: Self.splitsMax) {
      forms.append(.init(tokens: split, mistakes: 1, kind: .split))
    }
    return forms
  }

  /// Returns the inflections of a word, with the columns in which they count; nil for all columns.
  private func inflections(
    of word: String,
    _ words: WordList
  ) -> [(columns: [String]?, words: [String])] {
    let others = layout.columnsWithoutLanguage
    let plain = others?.isEmpty == true ? [] : [(others, words.inflections(of: word))]
    return plain
      + layout.languages.sorted { $0.key < $1.key }.compactMap { language, columns in
        Stemmer(language: language).map { (columns, words.inflections(of: word, $0)) }
      }
  }

  /// Returns the first words that occur in live documents; all words where they are few.
  private func alive(
    _ words: some Sequence<String>,
    _ statements: [PreparedStatement],
    _ columns: [String]? = nil,
    max: Int
  ) throws -> [String] {
    let first = Array(words.prefix(max + 1))
    // The words of dead documents match nothing. They only must not take the place of others.
    guard first.count > max else { return first }
    var alive: [String] = []
    for word in words {
      guard alive.count < max else { break }
      let form = SearchQuery.Term.Form(tokens: [word], mistakes: 1, kind: .part, columns: columns)
      if try isAlive(SearchQuery.expression(form), statements) { alive.append(word) }
    }
    return alive
  }

  /// Returns the ways in which a word consists of two words, or of three where there is no such
  /// way; those of more frequent words first.
  func splits(
    of word: String,
    _ words: WordList,
    _ statements: [PreparedStatement],
    max: Int
  ) throws -> [[String]] {
    guard word.unicodeScalars.count >= Self.splitMin else { return [] }
    func count(_ word: String) throws -> Int64 {
      try cached(\.counts, "# \(word)") {
        var count: Int64 = 0
        try eachAlive("\"\(word)\"", statements) { _ in
          count += 1
          return count < Self.frequentMin
        }
        return count
      }
    }
    for parts in 2...3 {
      var ways: [(parts: [String], weight: Double)] = []
      for way in words.divisions(of: word, into: parts, least: Self.splitPartMin) {
        let least = try way.map(count).min() ?? 0
        guard least > 0 else { continue }
        // A short part is a word by chance more often than a long part.
        let shortest = way.map(\.unicodeScalars.count).min() ?? 0
        ways.append((way, Double(least) * Double(shortest * shortest)))
      }
      ways.sort { first, second in
        first.weight != second.weight
          ? first.weight > second.weight
          : first.parts.lexicographicallyPrecedes(second.parts)
      }
      if !ways.isEmpty { return ways.prefix(max).map(\.parts) }
    }
    return []
  }

  /// Adds the words of the index that a person has typed as two or three words.
  private func addJoined(
    to query: inout SearchQuery,
    _ plain: [Int],
    _ statements: [PreparedStatement]
  ) throws {
    let words = query.required.map { $0.count == 1 ? $0[0].word : nil }
    for (place, first) in plain.enumerated() {
      for count in 2...3 where place + count <= plain.count {
        let range = first..<first + count
        guard plain[place + count - 1] == range.upperBound - 1,
          case let parts = range.compactMap({ words[$0] }), parts.count == count
        else { continue }
        let joined = parts.joined()
        guard Tokens.wholes(joined).count == 1, try isAlive("\"\(joined)\" *", statements) else {
          continue
        }
        let form = SearchQuery.Term.Form(
          tokens: [joined],
          isPrefix: true,
          mistakes: 1,
          kind: .joined
        )
        for index in range { query.add([form], to: index) }
      }
    }
  }

  /// Returns the count of documents by which each list of a query is weighed.
  ///
  /// It is the count of the documents that have the most frequent phrase of the word as it was
  /// typed; where there are none, that of its most frequent form.
  func weigh(_ query: SearchQuery) throws -> [Int64] {
    try query.required.indices.map { index in
      try interruption?.check()
      let count = try documentCount(query.only(index, hasForms: false))
      let hasForms = query.required[index].contains { !$0.forms.isEmpty }
      return count == 0 && hasForms
        ? try documentCount(query.only(index, hasForms: true)) : count
    }
  }

  /// Returns the query whose documents need only most of its plain words, or nil for a query of
  /// which no word can be missing.
  ///
  /// A word that many documents have as it was typed counts only as it was typed. A word that no
  /// document has weighs nothing.
  ///
  /// - Parameter query: The query with all its forms, and with counts.
  /// - Returns: The query.
  /// - Throws: `SQLiteError`; `Interrupted`.
  func most(of query: SearchQuery) throws -> SearchQuery? {
    let plain = query.plain
    guard plain.count > 1, let counts = query.counts else { return nil }
    var most = query
    var weights = Array(repeating: 0.0, count: query.required.count)
    for index in plain where counts[index] > 0 {
      weights[index] = spotlight_frequency(counts[index], Int64(view.aliveCount))
      if try isTrusted(query.required[index][0]) { most.removeForms(of: index) }
    }
    let least = weights.reduce(0, +) / 2
    guard least > 0 else { return nil }
    var rest = 0.0
    var others: Set<Int> = []
    for index in plain.sorted(by: { (weights[$0], $0) < (weights[$1], $1) }) {
      guard rest + weights[index] < least else { break }
      rest += weights[index]
      others.insert(index)
    }
    most.requirement = .most(
      SearchQuery.MostWords(
        weights: weights,
        least: least,
        essential: plain.filter { !others.contains($0) },
        literal: query.required.indices.filter { !plain.contains($0) }
      )
    )
    return most
  }

  /// Returns the count of the live documents of all entities that have the most frequent phrase of
  /// a query of one list.
  private func documentCount(_ query: SearchQuery) throws -> Int64 {
    guard query.terms.contains(where: { !$0.symbols.isEmpty }) else {
      let phrases = query.phraseExpressions
      if let position = cachedPosition, let known = termCache.counts(of: phrases, at: position) {
        return known.max() ?? 0
      }
      let counts = try phraseCounts(query)
      if let position = cachedPosition, phrases.allSatisfy({ $0.utf8.count <= Self.keptBytesMax }) {
        termCache.keep(counts, of: phrases, at: position)
      }
      return counts.max() ?? 0
    }
    // The words of a term count only in the documents that also have its symbols.
    let match = query.match ?? ""
    return try cached(\.counts, match) {
      var count: Int64 = 0
      try eachAlive(match, try numberStatements()) { _ in
        count += 1
        return true
      }
      return count
    }
  }
}
