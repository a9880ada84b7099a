import CSpotlight
package import CordialValues
import PersistentHistory
import SQLite

/// The parameters of a search.
package struct SearchRequest: Sendable {
  package let query: String
  /// The numbers of the entities to search, or nil for all.
  package let entities: Set<Int>?
  package let isPrefix: Bool
  package let offset: Int
  package let limit: Int
  /// The maximum number of words to look up.
  package let wordsMax: Int

  package init(
    query: String,
    entities: Set<Int>?,
    isPrefix: Bool,
    offset: Int,
    limit: Int,
    wordsMax: Int
  ) {
    self.query = query
    self.entities = entities
    self.isPrefix = isPrefix
    self.offset = offset
    self.limit = limit
    self.wordsMax = wordsMax
  }
}

/// The result of a search.
package struct SearchResult: Sendable {
  /// A matching object with its score.
  package struct Hit: Sendable {
    package let key: ObjectKey
    package let score: Double
  }

  /// The number of matching documents.
  package let total: Int64
  /// The hits of the requested window, best first, then by ID.
  package let hits: [Hit]
  /// The words that no document contains.
  package let missing: [String]
  package let highlighter: Highlighter
}

/// One connection to the index, used by one thread at a time.
package final class IndexSearcher {
  private let queue: SQLiteQueue
  private let layout: IndexLayout
  private let documents: DocumentTable
  private let path: String
  /// The identity of the file that was opened.
  private let opened: FileIdentity?

  init(path: String, layout: IndexLayout, documents: DocumentTable) throws {
    self.layout = layout
    self.documents = documents
    self.path = path
    queue = try SpotlightError.reading { try IndexFile.open(path, readonly: true) }
    opened = FileIdentity(path)
  }

  /// Whether the path still refers to the file that was opened; a damaged or removed index is
  /// rebuilt in another file.
  package var isCurrent: Bool { FileIdentity(path) == opened }

  /// Runs a body inside one read transaction of the index.
  ///
  /// - Parameter body: Receives the snapshot of the transaction.
  /// - Returns: The result of the body.
  /// - Throws: `SQLiteError`, and the errors of the body.
  package func snapshot<Result>(_ body: (IndexSnapshot) throws -> Result) throws -> Result {
    try queue.use { db in
      try db.begin(.deferred)
      let result: Result
      do {
        let (position, view) = try SpotlightError.reading {
          try documents.locked { (try IndexFile.position(db), documents.view) }
        }
        guard let position else { throw SpotlightError(.busy, "The index is being built") }
        // If another process has written to the file, this transaction reads the documents itself.
        let seen =
          view.position == position
          ? view
          : DocumentTable.View(position, try SpotlightError.reading { try IndexFile.documents(db) })
        result = try body(IndexSnapshot(token: position.token, db: db, layout: layout, view: seen))
      } catch {
        try db.rollback()
        throw error
      }
      try db.commit()
      return result
    }
  }

  /// Returns the number of tokens of texts, as the index counts them.
  package static func tokenCount(_ texts: [String?]) -> Int64 {
    texts.reduce(0) { sum, text in
      sum + Int64(text.map { Tokens.split($0).count { !$0.isColocated } } ?? 0)
    }
  }
}

/// The index as one read transaction sees it.
package struct IndexSnapshot {
  /// The position of the snapshot.
  package let token: StoreToken
  let db: SQLiteConnection
  let layout: IndexLayout
  let view: DocumentTable.View

  /// Searches the snapshot.
  ///
  /// - Parameters:
  ///   - request: The parameters of the search.
  ///   - excluded: The objects to leave out of the hits and of the total.
  /// - Returns: The result of the search.
  /// - Throws: `SQLiteError`.
  package func search(
    _ request: SearchRequest,
    without excluded: Set<ObjectKey>
  ) throws
    -> SearchResult
  {
    let query = SearchQuery(
      request.query,
      columns: Set(layout.columns),
      isPrefix: request.isPrefix,
      wordsMax: request.wordsMax
    )
    let highlighter = Highlighter(query)
    guard let match = query.match, !layout.isEmpty else {
      return SearchResult(total: 0, hits: [], missing: [], highlighter: highlighter)
    }
    return try SpotlightError.reading {
      let (total, hits) = try rank(match, request, try numbers(of: excluded))
      return SearchResult(
        total: total,
        hits: Array(hits.dropFirst(request.offset)),
        missing: try wordsInNoDocument(query),
        highlighter: highlighter
      )
    }
  }

  private func numbers(of keys: Set<ObjectKey>) throws -> [Int64] {
    guard !keys.isEmpty else { return [] }
    let find = try PreparedStatement(
      db,
      "SELECT number FROM document WHERE entity = ? AND object = ?"
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

  /// Visits every match inside SQLite, and returns the number of matches and the best ones.
  private func rank(
    _ match: String,
    _ request: SearchRequest,
    _ excluded: [Int64]
  ) throws -> (total: Int64, hits: [SearchResult.Hit]) {
    let statement = try PreparedStatement(
      db,
      "SELECT 1 FROM text WHERE text MATCH ?1 AND cordial_hit(text, ?2)"
    )
    let wanted = (0..<layout.entityCount).map { request.entities?.contains($0) ?? true }
    let hitMax = request.offset + request.limit
    var buffer = Array(repeating: spotlight_hit(), count: max(hitMax, 1))
    return try unsafe view.withSearch { search in
      try unsafe buffer.withUnsafeMutableBufferPointer { hits in
        try unsafe layout.weights.withUnsafeBufferPointer { weights in
          try unsafe wanted.withUnsafeBufferPointer { wanted in
            try unsafe excluded.withUnsafeBufferPointer { excluded in
              unsafe search.weights = weights.baseAddress
              unsafe search.columnCount = Int32(layout.columns.count)
              unsafe search.entityCount = Int32(layout.entityCount)
              unsafe search.wanted = wanted.baseAddress
              unsafe search.excluded = excluded.baseAddress
              unsafe search.excludedCount = Int64(excluded.count)
              unsafe search.hits = hits.baseAddress
              unsafe search.hitMax = Int32(hitMax)
              defer { unsafe spotlight_finish(&search) }
              try unsafe run(statement, match, &search)
              unsafe spotlight_sort(&search)
              let found = unsafe hits.prefix(Int(search.hitCount)).compactMap { hit in
                view.key(hit.document).map { SearchResult.Hit(key: $0, score: hit.score) }
              }
              return unsafe (search.total, found)
            }
          }
        }
      }
    }
  }

  private func run(
    _ statement: PreparedStatement,
    _ match: String,
    _ search: inout spotlight_search
  ) throws {
    defer { statement.reset() }
    statement.bind(match, at: 1)
    _ = unsafe withUnsafeMutablePointer(to: &search) { pointer in
      unsafe statement.withHandle { unsafe spotlight_bind($0, 2, pointer) }
    }
    while try statement.step() {}
  }

  /// Returns the words that no live document contains.
  private func wordsInNoDocument(_ query: SearchQuery) throws -> [String] {
    let statement = try PreparedStatement(db, "SELECT rowid FROM text WHERE text MATCH ?")
    return try query.terms.filter { term in
      defer { statement.reset() }
      statement.bind(SearchQuery.expression(term), at: 1)
      while try statement.step() {
        if view.key(statement.integer(0)) != nil { return false }
      }
      return true
    }.map(\.text)
  }

  /// Passes the object and length in tokens of each document to a body, for a comparison with the
  /// store.
  ///
  /// - Parameter body: Called for each document, in the order of the keys.
  /// - Throws: `SQLiteError`, and the errors of the body.
  package func allDocuments(_ body: (ObjectKey, Int64) throws -> Void) throws {
    let statement = try SpotlightError.reading {
      try PreparedStatement(
        db,
        "SELECT entity, object, length FROM document ORDER BY entity, object"
      )
    }
    defer { statement.reset() }
    while try SpotlightError.reading({ try statement.step() }) {
      try body(
        ObjectKey(entity: Int(statement.integer(0)), object: statement.integer(1)),
        statement.integer(2)
      )
    }
  }
}
