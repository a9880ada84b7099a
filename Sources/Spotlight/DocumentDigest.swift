package import CordialValues
import SQLite

/// The words of a document with their places, in a number: documents with other words have another
/// one, except by a chance of one in 2^64.
package struct DocumentDigest: Sendable, Equatable {
  /// The number of words; several at one place count once.
  fileprivate(set) var length: Int64
  private var sum: UInt64 = 0

  /// Creates the digest of a document whose words are added.
  init(length: Int64) {
    self.length = length
  }

  /// Adds one word at one place; the order of the additions does not matter.
  ///
  /// - Parameters:
  ///   - word: The hash of the word.
  ///   - column: The number of the column.
  ///   - offset: The place in the column.
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
    // A domain is not the text of boosts, whatever it says.
    sum &+= Self.mixed(~Self.hash(domain))
  }

  /// Adds the number of tokens of the display name.
  mutating func add(titleLength: Int64) {
    // The length alone is the hash of no text.
    sum &+= Self.mixed(Self.mixed(0x7469_746C_65) ^ UInt64(bitPattern: titleLength))
  }

  /// Makes the digest another one than that of any text.
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
  /// Returns the digest that the document of an object has to have.
  ///
  /// - Parameters:
  ///   - entity: The number of the object's entity.
  ///   - content: What the index has to have of the object.
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
      // FTS5 keeps a word once at each place.
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
  /// Reads every word of every document.
  ///
  /// - Parameter check: Called from time to time; an error of it ends the reading.
  /// - Returns: The digests of the documents, by object.
  /// - Throws: `SQLiteError`; `SpotlightError` for a damaged index; the errors of `check`.
  package func digests(
    _ check: () throws -> Void = {}
  ) throws -> [ObjectKey: DocumentDigest] {
    try SpotlightError.reading {
      var digests: [Int64: (key: ObjectKey, digest: DocumentDigest)] = [:]
      let documents = try PreparedStatement(
        db,
        """
        SELECT number, entity, object, lengths, boosts, domain
        FROM document LEFT JOIN detail USING (number)
        """
      )
      defer { documents.reset() }
      while try documents.step() {
        try check()
        let key = try layout.key(documents.integer(1), documents.integer(2))
        let lengths = DocumentLengths(packed: documents.integer(3))
        var digest = DocumentDigest(length: lengths.document)
        digest.add(titleLength: lengths.title)
        digest.add(boosts: BoostValues.values(documents.optionalText(4)))
        digest.add(domain: documents.optionalText(5))
        // Searches read the documents in memory.
        if !view.has(documents.integer(0), key, lengths) { digest.spoil() }
        digests[documents.integer(0)] = (key, digest)
      }
      guard !layout.isEmpty else { return [:] }
      try readWords(check) { document, word, column, offset in
        digests[document]?.digest.add(word, column: column, offset: offset)
      } misread: { document in
        digests[document]?.digest.spoil()
      }
      return Dictionary(
        digests.values.map { ($0.key, $0.digest) },
        uniquingKeysWith: { first, _ in first }
      )
    }
  }

  /// Passes the words of all documents, dead ones too, to a body, and looks each word up as a
  /// search does.
  ///
  /// - Parameters:
  ///   - check: Called before each word.
  ///   - body: Called for each word at each place.
  ///   - misread: Called with each document with a word by which no search finds it, and with each
  ///     one that a search finds by a word that it does not have.
  /// - Throws: `SQLiteError`.
  private func readWords(
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
    let search = try PreparedStatement(db, "SELECT rowid FROM text WHERE text MATCH ?")
    let listed = try PreparedStatement(db, "SELECT 1 FROM word WHERE text = ?")
    // The words come in their order, each with all its places.
    var known: String?
    var hash = DocumentDigest.hash("")
    var documents: Set<Int64> = []
    func endWord() throws {
      try check()
      guard let word = known else { return }
      // A search with typing mistakes finds listed words only.
      let isKnown = try !Tokens.isCollected(word) || isListed(word, listed)
      let missed = isKnown ? try documents.symmetricDifference(found(word, search)) : documents
      for document in missed { misread(document) }
      documents.removeAll(keepingCapacity: true)
    }
    while try words.step() {
      let word = words.text(1)
      if word != known {
        try endWord()
        (known, hash) = (word, DocumentDigest.hash(word))
      }
      let document = words.integer(0)
      documents.insert(document)
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

  /// Returns the documents that a search for a word of the index finds.
  private func found(_ word: String, _ search: PreparedStatement) throws -> Set<Int64> {
    guard Tokens.isToken(word) else { return [] }
    defer { search.reset() }
    search.bind("\"\(word)\"", at: 1)
    var documents: Set<Int64> = []
    while try search.step() { documents.insert(search.integer(0)) }
    return documents
  }
}
