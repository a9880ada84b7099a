import CSpotlight
package import CordialValues
package import Interruptions
import PersistentHistory
import SQLite

/// The objects to which a predicate limits a search; the store evaluates it.
package struct ObjectFilter {
  /// Returns those of some objects that match.
  package let matching: ([ObjectKey]) throws -> Set<ObjectKey>
  /// Returns the numbers of all objects that match, ascending, by entity.
  package let all: () throws -> [Int: [Int64]]
  /// The number of matches of the words up to which `matching` is asked about them.
  package let matchesMax: Int64

  package init(
    matchesMax: Int64 = 10_000,
    matching: @escaping ([ObjectKey]) throws -> Set<ObjectKey>,
    all: @escaping () throws -> [Int: [Int64]]
  ) {
    self.matchesMax = matchesMax
    self.matching = matching
    self.all = all
  }
}

/// The result of a search.
package struct SearchResult: Sendable {
  /// A matching object with its score.
  package struct Hit: Sendable {
    package let key: ObjectKey
    package let score: Double
    /// The number of its document.
    let document: Int64
    /// The terms that the object has, where the request wants them.
    package var explanation: [TermShare] = []
  }

  /// The number of matching documents.
  package let total: Int64
  /// Whether more words differ by typing mistakes than were searched, so that `total` is a lower
  /// bound.
  package var isAtLeast = false
  /// The hits of the requested window, best first, then by ID.
  package let hits: [Hit]
  /// All matching objects, where the request wants them; otherwise empty.
  package var all: [ObjectKey] = []
  /// The words that no document contains.
  package let missing: [String]
  /// Without a hit: the words without which there are some, and how many.
  package var omit: [(word: String, total: Int64)] = []
  /// Without a hit: for words of `missing`, the words of the index that are nearest to them.
  package var instead: [(word: String, nearest: [String])] = []
  package let highlighter: Highlighter
  package var postings = Postings(read: 0, skipped: 0)
}

/// One connection to the index, used by one thread at a time.
package final class IndexSearcher {
  private let queue: SQLiteQueue
  private let layout: IndexLayout
  private let documents: DocumentTable
  private let vocabulary: Vocabulary
  private let phraseCounts: PhraseCounts
  private let path: String
  /// The files that were opened.
  private let files: OpenedFiles
  /// Called when another process has written to the file since this one read it.
  private let whenStale: @Sendable () -> Void
  /// The position that was read last, with its text: to compare texts is faster than to parse one.
  private var lastRead: (text: String, position: IndexPosition?)?

  init(
    path: String,
    layout: IndexLayout,
    documents: DocumentTable,
    vocabulary: Vocabulary,
    phraseCounts: PhraseCounts,
    whenStale: @escaping @Sendable () -> Void
  ) throws {
    self.whenStale = whenStale
    self.layout = layout
    self.documents = documents
    self.vocabulary = vocabulary
    self.phraseCounts = phraseCounts
    self.path = path
    queue = try SpotlightError.opening(path) { try IndexFile.open(path, readonly: true) }
    files = OpenedFiles(path)
  }

  /// Whether the path still refers to the file that was opened; a damaged or removed index is
  /// rebuilt in another file.
  package var isCurrent: Bool { files.isCurrent }

  /// Runs a body inside one read transaction of the index.
  ///
  /// - Parameters:
  ///   - past: A commit that the index has reached, to search its documents; nil for the newest.
  ///   - isResuming: Whether a client has a result of that commit. The index must have been built
  ///     before it, because another build may index objects differently.
  ///   - interruption: What stops the body's statements and searches; nil for nothing.
  ///   - body: Receives the snapshot of the transaction.
  /// - Returns: The result of the body.
  /// - Throws: `SpotlightError`: `expired` for a commit that the index does not reach back to;
  ///   `Interrupted`; `SQLiteError`, and the errors of the body.
  package func snapshot<Result>(
    asOf past: StoreToken? = nil,
    isResuming: Bool = false,
    interruption: Interruption? = nil,
    _ body: (IndexSnapshot) throws -> Result
  ) throws -> Result {
    try queue.use { db in
      guard files.sharesLog else { throw SpotlightError.damaged }
      try SpotlightError.reading {
        try db.checkSharing()
        try db.begin(.deferred)
      }
      let result: Result
      do {
        result = try db.progress.stopping(by: interruption) {
          try body(try snapshot(asOf: past, isResuming: isResuming, db))
        }
      } catch {
        // SQLite ends the transaction itself after some errors.
        if db.isInTransaction { try db.rollback() }
        throw error
      }
      try db.commit()
      return result
    }
  }

  /// Returns the snapshot of the transaction that is open.
  private func snapshot(
    asOf past: StoreToken?,
    isResuming: Bool,
    _ db: SQLiteConnection
  ) throws -> IndexSnapshot {
    let (position, view) = try SpotlightError.reading {
      try documents.locked { (try readPosition(db), documents.view) }
    }
    guard let position else { throw SpotlightError(.busy, "The index is being built") }
    if view.position != position { whenStale() }
    let seen = try SpotlightError.reading { try IndexFile.documents(position, view, db, layout) }
    var snapshot = IndexSnapshot(
      token: seen.followed ?? position.token,
      db: db,
      layout: layout,
      view: seen,
      vocabulary: vocabulary,
      phraseCounts: phraseCounts,
      interruption: db.progress.interruption
    )
    if let past {
      try SpotlightError.reading { try snapshot.goBack(to: past, isResuming) }
    }
    return snapshot
  }

  private func readPosition(_ db: SQLiteConnection) throws -> IndexPosition? {
    let text: String?
    do {
      text = try IndexFile.positionText(db)
    } catch let error as SQLiteError where error.code == .error {
      // A removed index is first created without tables, which may be there by now.
      guard try db.hasTable("state") else { return nil }
      text = try IndexFile.positionText(db)
    }
    guard let text else { return nil }
    if let lastRead, lastRead.text == text { return lastRead.position }
    let position = try IndexPosition(reading: text)
    lastRead = (text, position)
    return position
  }
}

/// The index as one read transaction sees it.
package struct IndexSnapshot {
  /// The position of the snapshot.
  package private(set) var token: StoreToken
  let db: SQLiteConnection
  let layout: IndexLayout
  var view: DocumentTable.View
  let vocabulary: Vocabulary
  let phraseCounts: PhraseCounts
  /// The objects of a past commit whose texts the index does not have.
  ///
  /// They changed more than once before the index read them. The object 0 stands for all objects of
  /// its entity.
  package private(set) var unknown: Set<ObjectKey> = []
  /// The time from which the age of dates counts, in milliseconds since 1970; that of the commit.
  package var now: Int64 = 0
  /// What stops the searches of the snapshot; nil for nothing.
  var interruption: Interruption?
  /// Whether the snapshot is of a past commit.
  private(set) var isPast = false
  /// The first document that a snapshot of a past commit has beside those of the index.
  var firstAdded: Int64?

  /// Makes the snapshot one of a past commit.
  fileprivate mutating func goBack(to past: StoreToken, _ isResuming: Bool) throws {
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
    let isAtLeast =
      try request.isFuzzy
      && SpotlightError.reading { try addMistakes(to: &query, wordsMax: request.wordsMax) }
    if request.hasReadings { query.addReadings() }
    let excluded = try SpotlightError.reading { try numbers(of: excluded) }
    let found = try hits(query, request, excluded, filter)
    let isEmpty = found.total == 0
    let omit = isEmpty ? try totalsWithoutOne(query, request, excluded, filter) : []
    return try SpotlightError.reading {
      let missing = try wordsInNoDocument(query, isEmpty: isEmpty)
      let window = Array(found.hits.dropFirst(request.offset).prefix(request.limit))
      return SearchResult(
        total: found.total,
        isAtLeast: isAtLeast,
        hits: request.explains ? try explained(window, query) : window,
        all: request.wantsAll ? found.hits.map(\.key) : [],
        missing: missing.map(\.text),
        omit: omit,
        instead: isEmpty ? try nearest(to: missing, request, excluded) : [],
        highlighter: Highlighter(query),
        postings: found.postings
      )
    }
  }

  /// Returns the number of matches and the best ones, or all where the request wants them.
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
    // Most words match so few documents that one pass keeps all of them.
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

  /// The number of hits that a search for all of them keeps in its first pass.
  private static let keptMax: Int64 = 10_000

  /// Returns for each word of a query without hits how many it would have without that word, where
  /// it would have some.
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

  /// The maximum number of words that are left out, each in a search of its own.
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

  /// Visits every match inside SQLite, and returns the number of matches and the best ones; after
  /// more than `totalMax` matches, those so far.
  func rank(
    _ query: SearchQuery,
    _ request: SearchRequest,
    _ excluded: [Int64],
    hitMax: Int,
    totalMax: Int64 = .max,
    kept: [Int: [Int64]]? = nil
  ) throws -> Ranked {
    guard let match = query.match else { return (0, [], Postings(read: 0, skipped: 0)) }
    // A query of one word, or of any of several, needs no row for each of its documents.
    let isWord = tables.count == 1 && query.isWord
    let statements = try tables.map { table in
      try PreparedStatement(
        kept: isWord
          ? "SELECT cordial_word(\(table), ?2) FROM \(table) WHERE \(table) MATCH ?1 LIMIT 1"
          : "SELECT 1 FROM \(table) WHERE \(table) MATCH ?1 AND cordial_hit(\(table), ?2)",
        db
      )
    }
    let wanted = (0..<layout.entityCount).map { request.entities?.contains($0) ?? true }
    return try rank(
      statements,
      query,
      match,
      excluded,
      wanted,
      (hitMax, totalMax),
      kept.map { KeptObjects($0, entityCount: layout.entityCount) }
    )
  }

  /// Runs a body with a search that borrows the rules of the ranking.
  private func withRules<Result>(
    _ search: inout spotlight_search,
    _ body: (inout spotlight_search) throws -> Result
  ) rethrows -> Result {
    try unsafe layout.weights.withUnsafeBufferPointer { weights in
      try unsafe layout.boosts.withUnsafeBufferPointer { boosts in
        unsafe search.weights = weights.baseAddress
        unsafe search.columnCount = Int32(layout.columns.count)
        unsafe search.entityCount = Int32(layout.entityCount)
        return try unsafe layout.titleColumns.withUnsafeBufferPointer { titleColumns in
          unsafe search.boosts = boosts.baseAddress
          unsafe search.now = Double(now)
          unsafe search.titleColumns = titleColumns.baseAddress
          return try unsafe body(&search)
        }
      }
    }
  }

  private func rank(
    _ statements: [PreparedStatement],
    _ query: SearchQuery,
    _ match: String,
    _ excluded: [Int64],
    _ wanted: [Bool],
    _ most: (hits: Int, total: Int64),
    _ kept: KeptObjects?
  ) throws -> Ranked {
    defer { withExtendedLifetime(kept) {} }
    var buffer = Array(repeating: spotlight_hit(), count: max(most.hits, 1))
    let phrases = query.phrases
    let counted = counted(query)
    return try unsafe view.withSearch { search in
      unsafe search.describedCount = Int32(phrases.count)
      unsafe search.exactMin = .infinity
      unsafe search.interruption = interruption?.pointer
      return try unsafe buffer.withUnsafeMutableBufferPointer { hits in
        try unsafe withRules(&search) { search in
          try unsafe wanted.withUnsafeBufferPointer { wanted in
            try unsafe excluded.withUnsafeBufferPointer { excluded in
              unsafe search.wanted = wanted.baseAddress
              unsafe search.excluded = excluded.baseAddress
              unsafe search.excludedCount = Int64(excluded.count)
              unsafe kept?.lend(to: &search)
              unsafe search.hits = hits.baseAddress
              unsafe search.hitMax = Int32(most.hits)
              unsafe search.totalMax = most.total
              defer { unsafe spotlight_finish(&search) }
              try unsafe phrases.withUnsafeBufferPointer { phrases in
                unsafe search.phrases = phrases.baseAddress
                try unsafe count(query, counted, &search)
                for statement in statements {
                  try unsafe run(statement, match, &search)
                }
                unsafe keepCounts(search, of: counted)
              }
              // The caller does not use the hits of a pass that ended early.
              guard unsafe search.total <= most.total else {
                return unsafe (search.total, [], Self.postings(search))
              }
              unsafe spotlight_sort(&search)
              let factor = unsafe Self.mistakenFactor(search.exactMin, search.mistakenMax)
              let found = unsafe hits.prefix(Int(search.hitCount)).compactMap { hit in
                view.key(hit.document).map { key in
                  SearchResult.Hit(
                    key: key,
                    score: hit.score * (hit.isMistaken ? factor : 1),
                    document: hit.document
                  )
                }
              }
              return unsafe (search.total, found, Self.postings(search))
            }
          }
        }
      }
    }
  }

  private static func postings(_ search: borrowing spotlight_search) -> Postings {
    unsafe Postings(read: search.readCount, skipped: search.skippedCount)
  }

  /// Returns the factor for the scores of documents with typing mistakes, which are below those of
  /// all documents without.
  private static func mistakenFactor(_ exactMin: Double, _ mistakenMax: Double) -> Double {
    mistakenMax > 0 ? min(1, exactMin / (2 * mistakenMax)) : 1
  }

  private func run(
    _ statement: PreparedStatement,
    _ match: String,
    _ search: inout spotlight_search
  ) throws {
    defer {
      statement.reset()
      // The search does not outlive this call.
      statement.clearArguments()
    }
    statement.bind(match, at: 1)
    let code = unsafe withUnsafeMutablePointer(to: &search) { pointer in
      unsafe statement.withHandle { unsafe spotlight_bind($0, 2, pointer) }
    }
    statement.record(code, at: 2)
    while try statement.step() {}
  }

  /// Returns the words that no live document contains.
  ///
  /// A hit has each word for which the query has no alternative.
  private func wordsInNoDocument(
    _ query: SearchQuery,
    isEmpty: Bool
  ) throws -> [SearchQuery.Term] {
    let statements = try numberStatements()
    return try query.required.flatMap { alternatives in
      try alternatives.filter { term in
        let isFound = !isEmpty && alternatives.count == 1 && term.near.isEmpty && term.meant.isEmpty
        return try !isFound && !isAlive(SearchQuery.expression(term, isExact: true), statements)
      }
    }
  }
}
