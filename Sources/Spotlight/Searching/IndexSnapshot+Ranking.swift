import CSpotlight
import CordialValues
import Interruptions
import SQLite

/// The ranking of the documents that match, in C.
extension IndexSnapshot {
  /// Visits every match inside SQLite, and returns the count of matches and the best matches.
  ///
  /// A pass ends early after more than `totalMax` matches, and then returns only the count so far.
  func rank(
    _ query: SearchQuery,
    _ request: SearchRequest,
    _ excluded: [Int64],
    hitMax: Int,
    totalMax: Int64 = .max,
    kept: [Int: [Int64]]? = nil
  ) throws -> Ranked {
    guard let match = query.match else { return (0, [], Postings(read: 0, skipped: 0)) }
    // A query with a single list of alternatives needs no row for each of its documents.
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
      isWord: isWord,
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
    isWord: Bool,
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
      if case .most(let words) = query.requirement {
        unsafe words.weights.withUnsafeBufferPointer { weights in
          unsafe spotlight_set_weights(
            &search,
            weights.baseAddress,
            Int32(weights.count),
            words.least
          )
        }
      }
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
              // The hits of a forgiving search come by class, whatever their scores.
              let factor =
                unsafe query.counts == nil
                ? Self.mistakenFactor(search.exactMin, search.mistakenMax) : 1
              let found = unsafe hits.prefix(Int(search.hitCount)).compactMap { hit in
                view.key(hit.document).map { key in
                  SearchResult.Hit(
                    key: key,
                    score: hit.score * (hit.isMistaken ? factor : 1),
                    document: hit.document,
                    words: isWord ? .max : hit.words
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

  /// Returns the counts of the live documents of all entities that have each phrase of a query.
  func phraseCounts(_ query: SearchQuery) throws -> [Int64] {
    guard let match = query.match else { return [] }
    let phrases = query.phrases
    guard tables.count == 1 else {
      let statements = try numberStatements()
      return try query.phraseExpressions.map { expression in
        var count: Int64 = 0
        try eachAlive(expression, statements) { _ in
          count += 1
          return true
        }
        return count
      }
    }
    let statement = try PreparedStatement(
      kept: "SELECT cordial_count(text, ?2) FROM text WHERE text MATCH ?1 LIMIT 1",
      db
    )
    return try unsafe view.withSearch { search in
      unsafe search.describedCount = Int32(phrases.count)
      unsafe search.interruption = interruption?.pointer
      defer { unsafe spotlight_finish(&search) }
      return try unsafe phrases.withUnsafeBufferPointer { described in
        unsafe search.phrases = described.baseAddress
        try unsafe run(statement, match, &search)
        guard let counts = unsafe search.documentCounts else {
          return Array(repeating: 0, count: phrases.count)
        }
        return unsafe Array(
          UnsafeBufferPointer(start: counts, count: Int(search.phraseCount))
        )
      }
    }
  }

  private static func postings(_ search: borrowing spotlight_search) -> Postings {
    unsafe Postings(read: search.readCount, skipped: search.skippedCount)
  }

  /// Returns the factor that lowers the scores of documents with typing mistakes below all other
  /// scores.
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
      // The statement must not keep a reference to the search, which does not outlive this call.
      statement.clearArguments()
    }
    statement.bind(match, at: 1)
    let code = unsafe withUnsafeMutablePointer(to: &search) { pointer in
      unsafe statement.withHandle { unsafe spotlight_bind($0, 2, pointer) }
    }
    statement.record(code, at: 2)
    while try statement.step() {}
  }
}
