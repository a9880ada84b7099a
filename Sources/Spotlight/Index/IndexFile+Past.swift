import CordialValues
import SQLite

/// The documents of past commits.
extension IndexFile {
  /// Records the commit as of which a new index is built, until the new index answers.
  static func setNextBuilt(_ token: StoreToken, _ db: SQLiteConnection) throws {
    try db.execute(
      "INSERT OR REPLACE INTO state VALUES ('\(IndexTables.next.name("built"))', ?)",
      ["\(token.number)"]
    )
  }

  /// Records the commit as of which the index was built, and the versions of tokenizer and ICU.
  static func setBuilt(_ token: StoreToken, _ db: SQLiteConnection) throws {
    let statement = try PreparedStatement(
      db,
      "INSERT OR REPLACE INTO state VALUES ('built', ?), ('words', ?)"
    )
    statement.bind("\(token.number)", at: 1)
    statement.bind(WordsVersion.text, at: 2)
    try statement.run()
  }

  /// Returns whether another tokenizer or ICU version built the index.
  static func isOutdated(_ db: SQLiteConnection) throws -> Bool {
    let words = try db.text("SELECT value FROM state WHERE name = 'words'")
    return words.map { $0 != WordsVersion.text } ?? false
  }

  /// Records the oldest commit as of which the index can be searched.
  static func setOldest(_ token: StoreToken, _ db: SQLiteConnection) throws {
    let statement = try PreparedStatement(db, "INSERT OR REPLACE INTO state VALUES ('oldest', ?)")
    statement.bind(token.description, at: 1)
    try statement.run()
  }

  /// Records the commit at which the present build replaced an earlier build, which has answered up
  /// to this commit.
  static func setAnswersAfter(_ token: StoreToken, _ db: SQLiteConnection) throws {
    try db.execute("INSERT OR REPLACE INTO state VALUES ('after', ?)", ["\(token.number)"])
  }

  /// Returns the commit up to which an earlier build has answered; 0 before the first build.
  static func answersAfter(_ db: SQLiteConnection) throws -> Int64 {
    try db.integer("SELECT CAST(value AS INTEGER) FROM state WHERE name = 'after'") ?? 0
  }

  /// Records the digest of the synonyms, and the last commit at which searches used others.
  static func setSynonyms(_ digest: String, after commit: Int64, _ db: SQLiteConnection) throws {
    let statement = try PreparedStatement(db, "INSERT OR REPLACE INTO state VALUES ('synonyms', ?)")
    statement.bind("\(commit) \(digest)", at: 1)
    try statement.run()
  }

  /// Returns the digest of the synonyms, and the last commit at which searches used others; nil if
  /// the index never had synonyms.
  static func synonyms(_ db: SQLiteConnection) throws -> (digest: String, after: Int64)? {
    guard let text = try db.text("SELECT value FROM state WHERE name = 'synonyms'"),
      let space = text.firstIndex(of: " "), let after = Int64(text[..<space])
    else { return nil }
    return (String(text[text.index(after: space)...]), after)
  }

  /// Deletes the documents of the past, so that a commit becomes the oldest that can be searched.
  static func forgetPast(until token: StoreToken, _ db: SQLiteConnection) throws {
    try db.execute("DELETE FROM former; DELETE FROM unknown")
    try setOldest(token, db)
  }

  /// Returns the oldest commit as of which the index can be searched; nil before the first build.
  static func oldest(_ db: SQLiteConnection) throws -> StoreToken? {
    try db.text("SELECT value FROM state WHERE name = 'oldest'").flatMap { StoreToken($0) }
  }

  /// Returns the documents of a past commit.
  ///
  /// - Parameters:
  ///   - commit: The number of the commit.
  ///   - reached: The number of the commit that the index has reached.
  ///   - view: The documents of the present position.
  ///   - layout: The columns of the index.
  ///   - db: A connection in the read transaction of the view.
  /// - Returns: The documents, and the objects whose texts at that commit the index does not have;
  ///   the object number `everyObject` stands for all objects of an entity.
  /// - Throws: `SQLiteError`.
  /// - Complexity: A copy of the view; linear in the documents that were added or removed later.
  static func past(
    _ commit: Int64,
    reached: Int64,
    _ view: DocumentTable.View,
    _ layout: IndexLayout,
    _ db: SQLiteConnection
  ) throws -> (view: DocumentTable.View, unknown: Set<ObjectKey>) {
    let numbersEnd = view.position?.next ?? 1
    var view = view
    var unknown: Set<ObjectKey> = []
    // Documents with greater numbers were inserted and read at the same commit or later. Documents
    // of the build, which have no row here, are older than all others.
    let documents = try PreparedStatement(
      db,
      "SELECT number, inserted, read FROM later ORDER BY number DESC"
    )
    defer { documents.reset() }
    while try documents.step() {
      let isLater = documents.integer(1) > commit
      guard isLater || documents.integer(2) > reached else { break }
      if !isLater, let key = view.key(documents.integer(0)) { unknown.insert(key) }
      view.remove(documents.integer(0))
    }
    let others = try PreparedStatement(
      db,
      """
      SELECT u.entity, u.object, d.number
      FROM unknown u LEFT JOIN document d ON d.entity = u.entity AND d.object = u.object
      WHERE u.until > ?1 AND u.first <= ?1
      """
    )
    defer { others.reset() }
    others.bind(commit, at: 1)
    while try others.step() {
      let key = try layout.key(others.integer(0), others.integer(1))
      unknown.insert(key)
      if let number = others.optionalInteger(2), view.key(number) == key { view.remove(number) }
    }
    let entities = Set(unknown.filter { $0.object == everyObject }.map(\.entity))
    if !entities.isEmpty { view.remove(entities: entities) }
    let former = try PreparedStatement(
      db,
      """
      SELECT number, entity, object, lengths, boosts FROM former
      WHERE deleted > ?1 AND inserted <= ?1
      """
    )
    defer { former.reset() }
    former.bind(commit, at: 1)
    while try former.step() {
      let key = try layout.key(former.integer(1), former.integer(2))
      let lengths = DocumentLengths(packed: former.integer(3))
      guard !unknown.contains(key), !entities.contains(key.entity) else { continue }
      try view.add(
        DocumentTable.AddedDocument(
          number: former.integer(0),
          key: key,
          length: lengths.document,
          titleLength: lengths.title,
          boosts: BoostValues.values(former.optionalText(4))
        ),
        below: numbersEnd
      )
    }
    return (view, unknown)
  }
}
