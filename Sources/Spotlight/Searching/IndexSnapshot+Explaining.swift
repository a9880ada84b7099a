import CSpotlight
package import CordialValues
import Interruptions
import SQLite

/// The share of a query's term in the score of an object.
package struct TermShare: Sendable, Equatable {
  /// The text of the term, with an asterisk for the beginning of a word.
  package let term: String
  /// The number of times that the object has the term.
  package let count: Int64
  /// The number of objects that have the term.
  package let documents: Int64
  /// The greatest score that the term can add; `share` is the score that the term adds.
  package let bound: Double
  package let share: Double
}

/// The reason why a search finds or misses an object.
package enum SearchVerdict: Sendable {
  /// The search finds the object; its rank among all hits begins at 1.
  case found(rank: Int, SearchResult.Hit, Highlighter)
  /// The index has no words of the object.
  case notIndexed
  /// The object lacks a word of the query; `nearest` has the most similar words of the object.
  case missingWord(String, nearest: [String])
  /// The query excludes a word that the object has.
  case excludedWord(String)
  /// The search is limited to other objects.
  case filtered
}

/// Explanations of hits and of objects that a search misses.
extension IndexSnapshot {
  /// The maximum count of similar words that are named for a missing word.
  private static let nearestMax = 3

  /// Returns hits with the share of each term in their scores.
  func explained(
    _ hits: [SearchResult.Hit],
    _ query: SearchQuery
  ) throws -> [SearchResult.Hit] {
    var statements: [String: PreparedStatement] = [:]
    for table in tables {
      statements[table] = try PreparedStatement(
        db,
        "SELECT cordial_explain(\(table), ?2) FROM \(table) WHERE \(table) MATCH ?1 AND rowid = ?3"
      )
    }
    let phrases = query.phrases
    var shares = Array(repeating: spotlight_share(), count: phrases.count)
    return try unsafe view.withSearch { search in
      unsafe search.describedCount = Int32(phrases.count)
      unsafe search.columnCount = Int32(layout.columns.count)
      unsafe search.entityCount = Int32(layout.entityCount)
      defer { unsafe spotlight_finish(&search) }
      return try unsafe phrases.withUnsafeBufferPointer { phrases in
        try unsafe layout.weights.withUnsafeBufferPointer { weights in
          unsafe search.phrases = phrases.baseAddress
          unsafe search.weights = weights.baseAddress
          try unsafe count(query, counted(query), &search)
          return try hits.map { hit in
            guard let statement = statements[table(of: hit.document)] else { return hit }
            try unsafe shares.withUnsafeMutableBufferPointer { shares in
              unsafe search.shares = shares.baseAddress
              try unsafe step(statement, query, hit.document, &search)
            }
            var hit = hit
            hit.explanation = Self.terms(query, shares, of: hit)
            return hit
          }
        }
      }
    }
  }

  private func step(
    _ statement: PreparedStatement,
    _ query: SearchQuery,
    _ number: Int64,
    _ search: inout spotlight_search
  ) throws {
    defer { statement.reset() }
    statement.bind(query.match ?? "", at: 1)
    statement.bind(number, at: 3)
    let code = unsafe withUnsafeMutablePointer(to: &search) { pointer in
      unsafe statement.withHandle { unsafe spotlight_bind($0, 2, pointer) }
    }
    statement.record(code, at: 2)
    while try statement.step() {}
  }

  private static func terms(
    _ query: SearchQuery,
    _ shares: [spotlight_share],
    of hit: SearchResult.Hit
  ) -> [TermShare] {
    let shares = counted(query, shares)
    // Display name, close words, boosts and typing mistakes scale all shares by the same factor.
    let sum = shares.reduce(0) { $0 + $1.score }
    let factor = sum > 0 ? hit.score / sum : 1
    return zip(query.phraseTexts, shares).filter { $0.1.count > 0 }.map { text, share in
      TermShare(
        term: text,
        count: share.count,
        documents: share.documents,
        bound: share.bound * factor,
        share: share.score * factor
      )
    }
  }

  /// Returns the shares that make up the score.
  ///
  /// If the object lacks a word as it was typed, only the greatest share of that word's typing
  /// mistakes counts.
  private static func counted(
    _ query: SearchQuery,
    _ shares: [spotlight_share]
  ) -> [spotlight_share] {
    var shares = shares
    let words = Dictionary(grouping: query.phrases.indices, by: { query.phrases[$0].word })
    for phrases in words.values {
      let (mistaken, exact) = (
        phrases.filter { query.phrases[$0].mistakes > 0 },
        phrases.filter { query.phrases[$0].mistakes == 0 }
      )
      let isExact = exact.contains { shares[$0].count > 0 }
      let best = isExact ? nil : mistaken.max { shares[$0].score < shares[$1].score }
      for phrase in mistaken where phrase != best { shares[phrase].count = 0 }
      for phrase in mistaken where phrase != best { shares[phrase].score = 0 }
    }
    return shares
  }

  /// Returns the reason why a search finds or misses an object.
  ///
  /// - Parameters:
  ///   - key: An object of the store.
  ///   - texts: The texts of the object.
  ///   - request: The search; its window is ignored.
  ///   - excluded: The objects that no search finds.
  ///   - filter: The objects to which the search is limited; nil for no limit.
  /// - Returns: The verdict, and the postings of the search.
  /// - Throws: `SQLiteError`, and the errors of the filter.
  package func verdict(
    on key: ObjectKey,
    texts: [String],
    _ request: SearchRequest,
    without excluded: Set<ObjectKey>,
    filter: ObjectFilter?
  ) throws -> (verdict: SearchVerdict, postings: Postings) {
    try interruption?.check()
    let none = Postings(read: 0, skipped: 0)
    let query = SearchQuery(
      request.query,
      columns: Set(layout.columns),
      isPrefix: request.isPrefix,
      wordsMax: request.wordsMax
    )
    let tokens = texts.flatMap { Tokens.unmarked($0).map(\.text) }
    guard !tokens.isEmpty,
      let number = try SpotlightError.reading({ try number(of: key) })
    else { return (.notIndexed, none) }
    guard !query.isEmpty else { return (.missingWord("", nearest: []), none) }
    guard request.entities?.contains(key.entity) ?? true else { return (.filtered, none) }
    let omitted = try SpotlightError.reading { try numbers(of: excluded) }
    var postings = none
    var known: [Int64] = []
    var last = query
    for step in try SpotlightError.reading({ try steps(query, request) }) {
      if step.query.requirement == .all {
        last = step.query
        let verdict = try SpotlightError.reading { try wordVerdict(last, number, tokens) }
        // The rank counts the hits of the classes before.
        guard verdict == nil || request.match == .forgiving else { continue }
      }
      let found = try hits(step.query, request, (omitted + known).sorted(), filter)
      postings.read += found.postings.read
      postings.skipped += found.postings.skipped
      if let index = found.hits.firstIndex(where: { $0.key == key }) {
        var hit = try SpotlightError.reading { try explained([found.hits[index]], step.query)[0] }
        hit.hitClass = step.hitClass
        return (.found(rank: known.count + index + 1, hit, Highlighter(step.query)), postings)
      }
      known += found.hits.map(\.document)
    }
    let verdict = try SpotlightError.reading { try wordVerdict(last, number, tokens) }
    return (verdict ?? .filtered, postings)
  }

  /// Returns the searches of a request, one for each class with documents.
  private func steps(
    _ query: SearchQuery,
    _ request: SearchRequest
  ) throws -> [(hitClass: SearchResult.HitClass, query: SearchQuery)] {
    var steps: [(hitClass: SearchResult.HitClass, query: SearchQuery)] = []
    if request.match == .forgiving {
      var search = ForgivingSearch(query, request)
      while let step = try search.next(self) {
        if let query = step.query { steps.append((step.hitClass, query)) }
      }
      return steps
    }
    var query = query
    if request.match == .any { query.requirement = .any }
    if request.isFuzzy { _ = try addMistakes(to: &query, wordsMax: request.wordsMax) }
    if request.hasReadings { query.addReadings() }
    return [(.exact, query)]
  }

  /// Returns the verdict for the first word that makes the query miss a document; nil for none.
  private func wordVerdict(
    _ query: SearchQuery,
    _ number: Int64,
    _ tokens: [String]
  ) throws -> SearchVerdict? {
    let table = table(of: number)
    let statement = try PreparedStatement(
      db,
      "SELECT 1 FROM \(table) WHERE \(table) MATCH ?1 AND rowid = ?2"
    )
    func matches(_ term: SearchQuery.Term) throws -> Bool {
      defer { statement.reset() }
      statement.bind(SearchQuery.expression(term), at: 1)
      statement.bind(number, at: 2)
      return try statement.step()
    }
    for alternatives in query.required where try !alternatives.contains(where: matches) {
      let words = alternatives.map { term in
        (term.column.map { "\($0):" } ?? "") + term.text
      }.joined(separator: " OR ")
      let nearest = alternatives.compactMap(\.mistakable).flatMap { Self.nearest(to: $0, tokens) }
      return .missingWord(words, nearest: Array(nearest.prefix(Self.nearestMax)))
    }
    return try query.excluded.first(where: matches).map { .excludedWord($0.text) }
  }

  /// Returns the words of a text that are nearest to a word.
  private static func nearest(to word: String, _ tokens: [String]) -> [String] {
    let words = Set(tokens).map { Array($0.utf8) }.sorted { $0.lexicographicallyPrecedes($1) }
    let search = MistakeSearch(
      word,
      mistakesMax: word.unicodeScalars.count >= 4 ? 2 : 1,
      isPrefix: false
    )
    return search.near(WordList(SortedWords(words))).map(\.text)
  }
}
