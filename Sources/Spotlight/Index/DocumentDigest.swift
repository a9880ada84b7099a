package import CordialValues
import SQLite

/// A hash of a document's words and their offsets; two different documents have the same digest
/// with a probability of 2^-64.
package struct DocumentDigest: Sendable, Equatable {
  /// The count of words; several words at one offset count once.
  fileprivate(set) var length: Int64
  private var sum: UInt64 = 0

  /// Creates the digest of a document whose words are added later.
  init(length: Int64) {
    self.length = length
  }

  /// Adds one word at one offset; the order of the additions does not matter.
  ///
  /// - Parameters:
  ///   - word: The hash of the word.
  ///   - column: The index of the column.
  ///   - offset: The offset of the word in the column.
  mutating func add(_ word: UInt64, column: Int, offset: Int64) {
    sum &+= Self.mixed(Self.mixed(word ^ UInt64(column)) ^ UInt64(bitPattern: offset))
  }

  /// Adds the values that change scores.
  mutating func add(boosts: [Double?]) {
    guard let text = BoostValues.text(boosts) else { return }
    sum &+= Self.mixed(Self.hash(text))
  }

  /// Adds the domain.
  mutating func add(domain: String?) {
    guard let domain else { return }
    // The complement distinguishes a domain from boosts with the same text.
    sum &+= Self.mixed(~Self.hash(domain))
  }

  /// Adds the token count of the display name.
  mutating func add(titleLength: Int64) {
    // The constant distinguishes the length from the hash of a text.
    sum &+= Self.mixed(Self.mixed(0x7469_746C_65) ^ UInt64(bitPattern: titleLength))
  }

  /// Makes the digest differ from the digest of every valid document.
  mutating func spoil() { length = -1 }

  /// Returns the hash of a word.
  static func hash(_ word: String) -> UInt64 {
    word.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
  }

  private static func mixed(_ value: UInt64) -> UInt64 {
    var value = value &+ 0x9E37_79B9_7F4A_7C15
    value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
    return value ^ value >> 31
  }
}

extension IndexLayout {
  /// Returns the digest that the document of an object must have.
  ///
  /// - Parameters:
  ///   - entity: The number of the object's entity.
  ///   - content: The content that the index must have for the object.
  /// - Returns: The digest.
  package func digest(of entity: Int, _ content: DocumentContent) -> DocumentDigest {
    var digest = DocumentDigest(length: 0)
    digest.add(boosts: content.boosts)
    digest.add(domain: content.domain)
    let lengths = DocumentLengths(document: 0, title: titleLength(of: entity, content.texts))
    digest.add(titleLength: lengths.title)
    for (field, text) in zip(fields[entity] ?? [], content.texts) {
      guard let text else { continue }
      var offset: Int64 = -1
      // FTS5 stores a word only once at each offset.
      var words: Set<String> = []
      for token in Tokens.split(text) {
        if !token.isColocated {
          offset += 1
          digest.length += 1
          words.removeAll(keepingCapacity: true)
        }
        guard words.insert(token.text).inserted else { continue }
        digest.add(DocumentDigest.hash(token.text), column: field.column, offset: offset)
      }
    }
    return digest
  }
}

extension IndexSnapshot {
  /// The maximum count of documents whose digests are in memory at the same time.
  ///
  /// A dictionary has a power of 2 slots, and fills at most three quarters of them.
  private static let portionMax = 3 << 18

  /// Reads every word of every document in portions, each of which reads the whole index.
  ///
  /// - Parameters:
  ///   - portionMax: The maximum count of documents in memory at the same time; nil for the
  ///     default.
  ///   - check: Called from time to time; an error that it throws ends the reading.
  ///   - body: Called with the objects and digests of some documents, in the order of their
  ///     numbers.
  /// - Throws: `SQLiteError`; `SpotlightError` for a damaged index; the errors of `check` and of
  ///   `body`.
  package func eachDigest(
    portionMax: Int? = nil,
    _ check: () throws -> Void = {},
    _ body: ([(key: ObjectKey, digest: DocumentDigest)]) throws -> Void
  ) throws {
    let limit = portionMax ?? Self.portionMax
    // A damaged file may have documents of any number.
    var first = Int64.min
    while true {
      var digests = try SpotlightError.reading { try self.digests(from: first, limit, check) }
      guard !digests.isEmpty else { return }
      var last = first
      try eachDocument(from: first, limit) { portion in
        try body(
          portion.compactMap { document in
            digests.removeValue(forKey: document.number).map { (document.key, $0) }
          }
        )
        last = portion.last?.number ?? last
      }
      guard digests.isEmpty else { throw SpotlightError(.damaged, "Documents were not read") }
      guard last < .max else { return }
      first = last + 1
    }
  }

  /// Returns whether the index has a document of an object.
  package func hasDocument(of key: ObjectKey) throws -> Bool {
    try SpotlightError.reading {
      let find = try PreparedStatement(
        kept: "SELECT number FROM document WHERE entity = ? AND object = ?",
        db
      )
      defer { find.reset() }
      find.bind(Int64(key.entity), at: 1)
      find.bind(key.object, at: 2)
      return try find.step()
    }
  }

  /// Passes documents to a body, a thousand at a time, in the order of their numbers.
  private func eachDocument(
    from number: Int64,
    _ limit: Int,
    _ body: ([(number: Int64, key: ObjectKey)]) throws -> Void
  ) throws {
    let documents = try SpotlightError.reading {
      try PreparedStatement(
        db,
        "SELECT number, entity, object FROM document WHERE number >= ? ORDER BY number LIMIT ?"
      )
    }
    defer { documents.reset() }
    documents.bind(number, at: 1)
    documents.bind(Int64(limit), at: 2)
    var portion: [(number: Int64, key: ObjectKey)] = []
    while try SpotlightError.reading({ try documents.step() }) {
      let key = try layout.key(documents.integer(1), documents.integer(2))
      portion.append((documents.integer(0), key))
      guard portion.count == 1000 else { continue }
      try body(portion)
      portion = []
    }
    if !portion.isEmpty { try body(portion) }
  }

  /// Returns the digests of some documents, by document number.
  private func digests(
    from first: Int64,
    _ limit: Int,
    _ check: () throws -> Void
  ) throws -> [Int64: DocumentDigest] {
    var digests: [Int64: DocumentDigest] = [:]
    let documents = try PreparedStatement(
      db,
      """
      SELECT number, entity, object, lengths, boosts, domain
      FROM document LEFT JOIN detail USING (number)
      WHERE number >= ? ORDER BY number LIMIT ?
      """
    )
    defer { documents.reset() }
    documents.bind(first, at: 1)
    documents.bind(Int64(limit), at: 2)
    var last = first
    while try documents.step() {
      try check()
      let key = try layout.key(documents.integer(1), documents.integer(2))
      let lengths = DocumentLengths(packed: documents.integer(3))
      var digest = DocumentDigest(length: lengths.document)
      digest.add(titleLength: lengths.title)
      digest.add(boosts: BoostValues.values(documents.optionalText(4)))
      digest.add(domain: documents.optionalText(5))
      last = documents.integer(0)
      // Searches read the documents in memory, which must agree with the rows.
      if !view.has(last, key, lengths) { digest.spoil() }
      digests[last] = digest
    }
    guard !layout.isEmpty, !digests.isEmpty else { return digests }
    try readWords(from: first, through: last, check) { document, word, column, offset in
      digests[document]?.add(word, column: column, offset: offset)
    } misread: { document in
      digests[document]?.spoil()
    }
    return digests
  }

  /// Passes the words of some documents to a body, including dead documents, and looks up each word
  /// as a search does.
  ///
  /// - Parameters:
  ///   - first: The number of the first document.
  ///   - last: The number of the last document.
  ///   - check: Called before each word.
  ///   - body: Called for each word at each offset.
  ///   - misread: Called with each document that a search for one of its words misses, and with
  ///     each document that a search finds by a word that the document lacks.
  /// - Throws: `SQLiteError`.
  private func readWords(
    from first: Int64,
    through last: Int64,
    _ check: () throws -> Void,
    _ body: (_ document: Int64, _ word: UInt64, _ column: Int, _ offset: Int64) -> Void,
    misread: (_ document: Int64) -> Void
  ) throws {
    try db.progress.withoutStopping {
      try db.execute(
        "CREATE VIRTUAL TABLE IF NOT EXISTS temp.occurrence USING fts5vocab(main, text, instance)"
      )
    }
    var columns: [String: Int] = [:]
    for (number, name) in layout.columns.enumerated() {
      columns[IndexLayout.columnName(name)] = number
    }
    let words = try PreparedStatement(db, "SELECT doc, term, col, offset FROM occurrence")
    defer { words.reset() }
    let search = try PreparedStatement(
      db,
      "SELECT rowid FROM text WHERE text MATCH ? AND rowid BETWEEN ? AND ? ORDER BY rowid"
    )
    let listed = try PreparedStatement(db, "SELECT 1 FROM word WHERE text = ?")
    // The rows come in the order of words, and for each word in the order of document numbers.
    var known: String?
    var hash = DocumentDigest.hash("")
    var documents: [Int64] = []
    func endWord() throws {
      try check()
      guard let word = known else { return }
      // A search with typing mistakes finds only listed words.
      let isKnown = try !Tokens.isCollected(word) || isListed(word, listed)
      if isKnown, Tokens.isToken(word) {
        try compare(documents, first, last, word, search, misread: misread)
      } else {
        for document in documents { misread(document) }
      }
      documents.removeAll(keepingCapacity: true)
    }
    while try words.step() {
      let word = words.text(1)
      if word != known {
        try endWord()
        (known, hash) = (word, DocumentDigest.hash(word))
      }
      let document = words.integer(0)
      guard document >= first, document <= last else { continue }
      if documents.last != document { documents.append(document) }
      body(document, hash, columns[words.text(2)] ?? layout.columns.count, words.integer(3))
    }
    try endWord()
  }

  /// Returns whether the index lists a word for searches with typing mistakes.
  private func isListed(_ word: String, _ listed: PreparedStatement) throws -> Bool {
    defer { listed.reset() }
    listed.bind(word, at: 1)
    return try listed.step()
  }

  /// Compares the documents that contain a word with the documents that a search for the word
  /// finds.
  private func compare(
    _ documents: [Int64],
    _ first: Int64,
    _ last: Int64,
    _ word: String,
    _ search: PreparedStatement,
    misread: (_ document: Int64) -> Void
  ) throws {
    defer { search.reset() }
    search.bind("\"\(word)\"", at: 1)
    search.bind(first, at: 2)
    search.bind(last, at: 3)
    var documents = documents[...]
    while try search.step() {
      let found = search.integer(0)
      while let document = documents.first, document < found {
        misread(document)
        documents.removeFirst()
      }
      if documents.first == found { documents.removeFirst() } else { misread(found) }
    }
    for document in documents { misread(document) }
  }
}
