package import CordialValues
import Interruptions
import PersistentHistory
import SQLite

/// The index as one read transaction sees it.
package struct IndexSnapshot {
  /// The position of the snapshot.
  package private(set) var token: StoreToken
  let db: SQLiteConnection
  let layout: IndexLayout
  var view: DocumentTable.View
  let vocabulary: Vocabulary
  let termCache: TermCache
  let synonyms: SnapshotSynonyms
  /// The objects of a past commit whose texts the index does not have.
  ///
  /// Such objects changed more than once before the index read them. The object number 0 stands for
  /// all objects of an entity.
  package private(set) var unknown: Set<ObjectKey> = []
  /// The time of the commit, in milliseconds since 1970, from which the age of dates is measured.
  package var now: Int64 = 0
  /// The flag that stops the searches of the snapshot; nil for none.
  var interruption: Interruption?
  /// Whether the snapshot is of a past commit.
  private(set) var isPast = false
  /// The number of the first document that a past snapshot adds to the documents of the index; nil
  /// for none.
  var firstAdded: Int64?

  /// Turns the snapshot into a snapshot of a past commit.
  mutating func goBack(to past: StoreToken, _ isResuming: Bool) throws {
    guard let oldest = try IndexFile.oldest(db), past.generation == token.generation,
      past.number >= oldest.number,
      try !isResuming || past.number > max(oldest.number, IndexFile.answersAfter(db))
    else {
      throw SpotlightError(.expired, "The index has no documents as of \(past)")
    }
    guard past.number <= token.number else {
      throw SpotlightError(.busy, "The index has not reached \(past)")
    }
    (view, unknown) = try IndexFile.past(past.number, reached: token.number, view, layout, db)
    (token, isPast) = (past, true)
  }

  /// Searches the snapshot.
  ///
  /// - Parameters:
  ///   - request: The parameters of the search.
  ///   - excluded: The objects to leave out of the hits and of the total.
  ///   - filter: The objects to which the search is limited; nil for no limit.
  /// - Returns: The result of the search.
  /// - Throws: `SQLiteError`, and the errors of the filter.
  package func search(
    _ request: SearchRequest,
    without excluded: Set<ObjectKey>,
    filter: ObjectFilter? = nil
  ) throws -> SearchResult {
    var query = SearchQuery(
      request.query,
      columns: Set(layout.columns),
      isPrefix: request.isPrefix,
      wordsMax: request.wordsMax
    )
    try interruption?.check()
    guard !query.isEmpty, !layout.isEmpty else {
      return SearchResult(total: 0, hits: [], missing: [], highlighter: Highlighter(query))
    }
    let excluded = try SpotlightError.reading { try numbers(of: excluded) }
    guard request.match != .forgiving else {
      return try forgivingSearch(query, request, excluded, filter)
    }
    if request.match == .any { query.requirement = .any }
    let isAtLeast =
      try request.isFuzzy
      && SpotlightError.reading { try addMistakes(to: &query, wordsMax: request.wordsMax) }
    if request.hasReadings { query.addReadings() }
    let found = try hits(query, request, excluded, filter)
    let window = Array(found.hits.dropFirst(request.offset).prefix(request.limit))
    var result = SearchResult(
      total: found.total,
      isAtLeast: isAtLeast,
      hits: request.explains
        ? try SpotlightError.reading { try explained(window, query) } : window,
      all: request.wantsAll ? found.hits.map(\.key) : [],
      missing: [],
      highlighter: Highlighter(query),
      postings: found.postings
    )
    try addReasons(to: &result, query, request, excluded, filter)
    return result
  }

  /// Adds to a result why words of the query have no hits.
  func addReasons(
    to result: inout SearchResult,
    _ query: SearchQuery,
    _ request: SearchRequest,
    _ excluded: [Int64],
    _ filter: ObjectFilter?
  ) throws {
    let isEmpty = result.total == 0
    if isEmpty { result.omit = try totalsWithoutOne(query, request, excluded, filter) }
    try SpotlightError.reading {
      let missing = try wordsInNoDocument(query, isEmpty: isEmpty)
      result.missing = missing.map(\.text)
      if isEmpty { result.instead = try nearest(to: missing, request, excluded) }
    }
  }

  /// Returns the count of matches, and the best matches or all of them, as the request wants.
  func hits(
    _ query: SearchQuery,
    _ request: SearchRequest,
    _ excluded: [Int64],
    _ filter: ObjectFilter?
  ) throws -> Ranked {
    func ranked(
      _ hitMax: Int64,
      _ kept: [Int: [Int64]]? = nil,
      totalMax: Int64 = .max
    ) throws -> Ranked {
      try SpotlightError.reading {
        try rank(
          query,
          request,
          excluded,
          hitMax: Int(hitMax),
          totalMax: totalMax,
          kept: kept
        )
      }
    }
    let window = Int64(request.offset + request.limit)
    guard filter != nil || request.wantsAll else { return try ranked(window) }
    // Most words match so few documents that a single pass can keep all matches.
    let keptMax = filter?.matchesMax ?? Self.keptMax
    let aliveCount = Int64(view.aliveCount)
    var found = try ranked(min(keptMax, aliveCount), totalMax: keptMax)
    guard found.total > keptMax else {
      guard let filter else { return found }
      let matching = try filter.matching(found.hits.map(\.key))
      found.hits.removeAll { !matching.contains($0.key) }
      found.total = Int64(found.hits.count)
      return found
    }
    return try ranked(request.wantsAll ? aliveCount : window, try filter?.all())
  }

  /// The count of hits that a search for all hits keeps in its first pass.
  private static let keptMax: Int64 = 10_000

  /// Returns the words whose omission gives hits to a query without hits, with the count of these
  /// hits.
  private func totalsWithoutOne(
    _ query: SearchQuery,
    _ request: SearchRequest,
    _ excluded: [Int64],
    _ filter: ObjectFilter?
  ) throws -> [(word: String, total: Int64)] {
    guard query.required.count > 1 else { return [] }
    var request = request
    (request.offset, request.limit, request.wantsAll) = (0, 0, false)
    var totals: [(word: String, total: Int64)] = []
    for index in query.required.indices.prefix(Self.omittedMax) {
      let total = try hits(query.without(index), request, excluded, filter).total
      let words = query.required[index].map(\.text).joined(separator: " OR ")
      if total > 0, !totals.contains(where: { $0.word == words }) { totals.append((words, total)) }
    }
    return totals
  }

  /// The maximum count of words whose omission is tried, each in a search of its own.
  private static let omittedMax = 8

  func numbers(of keys: Set<ObjectKey>) throws -> [Int64] {
    guard !keys.isEmpty else { return [] }
    let find = try PreparedStatement(
      kept: "SELECT number FROM document WHERE entity = ? AND object = ?",
      db
    )
    var numbers: [Int64] = []
    for key in keys {
      defer { find.reset() }
      find.bind(Int64(key.entity), at: 1)
      find.bind(key.object, at: 2)
      if try find.step() { numbers.append(find.integer(0)) }
    }
    return numbers.sorted()
  }

  /// Returns the words that no live document contains.
  ///
  /// If the query has a hit, the hit contains each word for which the query has no alternative.
  private func wordsInNoDocument(
    _ query: SearchQuery,
    isEmpty: Bool
  ) throws -> [SearchQuery.Term] {
    let statements = try numberStatements()
    return try query.required.flatMap { alternatives in
      try alternatives.filter { term in
        let isFound = !isEmpty && alternatives.count == 1 && term.forms.isEmpty
        return try !isFound && !isAlive(SearchQuery.expression(term, isExact: true), statements)
      }
    }
  }
}
