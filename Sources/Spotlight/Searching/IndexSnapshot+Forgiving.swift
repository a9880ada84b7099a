/// Searches that forgive what a person has typed differently from the documents.
extension IndexSnapshot {
  /// Searches class by class, until the hits fill the requested window.
  ///
  /// - Parameters:
  ///   - query: The query as it was typed.
  ///   - request: The parameters of the search.
  ///   - excluded: The numbers of the documents to leave out, ascending.
  ///   - filter: The objects to which the search is limited; nil for no limit.
  /// - Returns: The result of the search.
  /// - Throws: `SQLiteError`; `Interrupted`, and the errors of the filter.
  func forgivingSearch(
    _ query: SearchQuery,
    _ request: SearchRequest,
    _ excluded: [Int64],
    _ filter: ObjectFilter?
  ) throws -> SearchResult {
    var search = ForgivingSearch(query, request)
    var result = SearchResult(total: 0, hits: [], missing: [], highlighter: Highlighter(query))
    var hits: [SearchResult.Hit] = []
    let window = request.offset + request.limit
    while hits.count < window || result.totals.isEmpty {
      guard let step = try SpotlightError.reading({ try search.next(self) }) else { break }
      let found: Ranked
      if let query = step.query {
        let known = (excluded + hits.map(\.document)).sorted()
        found = try self.hits(query, request, known, filter)
      } else {
        found = (0, [], Postings(read: 0, skipped: 0))
      }
      result.total += found.total
      result.totals.append((step.hitClass, found.total))
      result.postings.read += found.postings.read
      result.postings.skipped += found.postings.skipped
      if let query = step.query { result.highlighters[step.hitClass] = Highlighter(query) }
      var classHits = found.hits
      for index in classHits.indices { classHits[index].hitClass = step.hitClass }
      if request.explains, let query = step.query {
        let first = max(0, min(request.offset - hits.count, classHits.count))
        let end = max(first, min(window - hits.count, classHits.count))
        classHits.replaceSubrange(
          first..<end,
          with: try SpotlightError.reading { try explained(Array(classHits[first..<end]), query) }
        )
      }
      hits += classHits
    }
    result.isAtLeast = search.isCut || !search.isAtEnd
    result.hits = Array(hits.dropFirst(request.offset).prefix(request.limit))
    result.all = request.wantsAll ? hits.map(\.key) : []
    if result.total == 0, search.isAtEnd {
      try addReasons(to: &result, query, request, excluded, filter)
    }
    return result
  }
}

/// The classes of a forgiving search, best first.
struct ForgivingSearch {
  /// The search of one class; `query` is nil where the class can have no documents.
  typealias Step = (hitClass: SearchResult.HitClass, query: SearchQuery?)

  private var query: SearchQuery
  private let request: SearchRequest
  private var last: SearchResult.HitClass?
  /// Whether the query has several words, so that class 4 may have objects.
  private let hasSeveralWords: Bool
  /// Whether the search left out some words with typing mistakes.
  private(set) var isCut = false

  init(_ query: SearchQuery, _ request: SearchRequest) {
    self.query = query
    self.query.finishNotation()
    self.request = request
    hasSeveralWords = query.plain.count > 1
  }

  /// Whether all classes were read.
  var isAtEnd: Bool { last == .partial }

  /// Returns the search of the next class; nil after the last class.
  ///
  /// The documents of each search include those of the searches before.
  mutating func next(_ snapshot: IndexSnapshot) throws -> Step? {
    let before = query
    switch last {
    case nil:
      last = .exact
      return (.exact, query)
    case .exact:
      last = .forms
      try snapshot.addForms(to: &query, request)
      query.counts = try snapshot.weigh(query)
      return (.forms, query.required == before.required ? nil : query)
    case .forms:
      last = .mistakes
      guard request.isFuzzy else { return (.mistakes, nil) }
      isCut = try snapshot.addMistakes(to: &query, wordsMax: request.wordsMax, isForgiving: true)
      query.counts = try snapshot.weigh(query)
      return (.mistakes, query.required == before.required ? nil : query)
    case .mistakes:
      last = .partial
      return (.partial, hasSeveralWords ? try snapshot.most(of: query) : nil)
    case .partial: return nil
    }
  }
}
