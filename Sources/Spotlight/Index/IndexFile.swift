import CSpotlight
import CordialValues
import Glibc
import ObjectModel
import PersistentHistory
import SQLite

/// The index's own SQLite file: its tables and the statements of their writer.
final class IndexFile {
  let queue: SQLiteQueue
  let layout: IndexLayout
  /// The tables that this instance writes to.
  let tables: IndexTables
  private let insertText: PreparedStatement
  private let insertDocument: PreparedStatement
  private let findDocument: PreparedStatement
  private let deleteDocument: PreparedStatement
  private let deleteDetails: [PreparedStatement]
  private let insertLater: PreparedStatement
  private let insertDetail: PreparedStatement
  private let setPosition: PreparedStatement
  private let insertWord: PreparedStatement
  private let insertFormer: PreparedStatement
  private let insertUnknown: PreparedStatement
  /// The collection of words from the documents that were inserted.
  private let words: WordCollection
  /// The words that are not yet in the file, and the words that the transaction has written.
  private var newWords: [String] = []
  private var writtenWords: [String] = []
  private let path: String
  /// The identity of the file that was opened.
  let opened: FileIdentity?
  private let files: OpenedFiles

  /// Opens the index's file, and recreates its tables if they are of another layout or model.
  ///
  /// - Parameters:
  ///   - path: The path of the file.
  ///   - layout: The columns of the index.
  ///   - isPrepared: Whether the initializer fails for tables of another layout or model, instead
  ///     of recreating them.
  ///   - tables: The tables to write to; those of a new index are created.
  ///   - words: The collection that receives the words of documents.
  /// - Throws: `SQLiteError`; `IndexMoved` for tables of another layout or model.
  init(
    path: String,
    layout: IndexLayout,
    isPrepared: Bool = false,
    tables: IndexTables = .current,
    words: WordCollection = WordCollection()
  ) throws {
    self.layout = layout
    self.path = path
    self.tables = tables
    self.words = words
    let queue = try Self.open(path, readonly: false, words)
    opened = FileIdentity(path)
    self.queue = queue
    (
      insertText, insertDocument, findDocument, deleteDocument, deleteDetails, insertLater,
      insertDetail,
      setPosition, insertWord, insertFormer, insertUnknown
    ) =
      try tables.checking(queue) { db in
        // If the tables need no change, this call does not wait for another process that writes to
        // the index.
        try tables.prepare(layout, isPrepared: isPrepared, db)
        let (text, document) = (tables.name("text"), tables.name("document"))
        let marks = Array(repeating: ", ?", count: layout.columns.count).joined()
        let names = layout.columns.map { ", " + IndexLayout.quotedColumn($0) }.joined()
        return (
          try PreparedStatement(db, "INSERT INTO \(text)(rowid\(names)) VALUES (?\(marks))"),
          try PreparedStatement(db, "INSERT INTO \(document) VALUES (?, ?, ?, ?)"),
          try PreparedStatement(
            db,
            """
            SELECT number, lengths, coalesce(inserted, built), coalesce(read, built), boosts
            FROM \(document) LEFT JOIN \(tables.name("later")) USING (number)
              LEFT JOIN \(tables.name("detail")) USING (number),
              (SELECT CAST(value AS INTEGER) AS built FROM state
                WHERE name = '\(tables.name("built"))')
            WHERE entity = ? AND object = ?
            """
          ),
          try PreparedStatement(db, "DELETE FROM \(document) WHERE entity = ? AND object = ?"),
          try ["later", "detail"].map {
            try PreparedStatement(db, "DELETE FROM \(tables.name($0)) WHERE number = ?")
          },
          try PreparedStatement(db, "INSERT INTO \(tables.name("later")) VALUES (?, ?, ?)"),
          try PreparedStatement(db, "INSERT INTO \(tables.name("detail")) VALUES (?, ?, ?)"),
          try PreparedStatement(db, "INSERT OR REPLACE INTO state VALUES ('position', ?)"),
          try PreparedStatement(db, "INSERT OR IGNORE INTO \(tables.name("word")) VALUES (?)"),
          try PreparedStatement(
            db,
            "INSERT INTO \(tables.name("former")) VALUES (?, ?, ?, ?, ?, ?, ?)"
          ),
          try PreparedStatement(
            db,
            "INSERT OR IGNORE INTO \(tables.name("unknown")) VALUES (?, ?, ?, ?)"
          )
        )
      }
    files = OpenedFiles(path)
  }

  /// Makes the writer store every word of later documents again, because the tables were replaced.
  func forgetWords() { words.forget() }

  /// Returns a new connection to the file, which replaces this one.
  ///
  /// - Throws: The errors of `init`.
  func reopened() throws -> IndexFile {
    try IndexFile(path: path, layout: layout, isPrepared: true, words: words)
  }

  /// The maximum size of a searcher's page cache, in KiB.
  ///
  /// Each search thread has a cache. With 16 MiB, searches are not faster: they read most pages
  /// only once, and the operating system caches the pages.
  private static let searcherCacheKiB = 2048
  /// The maximum size of the writer's page cache, in KiB; with 16 MiB, an import is not faster.
  private static let writerCacheKiB = 8192

  static func open(
    _ path: String,
    readonly: Bool,
    _ words: WordCollection? = nil
  ) throws -> SQLiteQueue {
    var options = SQLiteQueue.Options()
    options.isReadOnly = readonly
    options.cacheKiB = readonly ? searcherCacheKiB : writerCacheKiB
    // Commits need not wait for the disk: after a power failure, the index reads lost commits from
    // the log again.
    options.durability = .normal
    options.firesTriggers = false
    // `raiseParts` writes to a table of FTS5, which a defensive connection does not allow.
    options.isDefensive = readonly
    options.prepare = { db in
      // The pragma takes effect only in a new file.
      if !readonly { try db.execute("PRAGMA auto_vacuum = INCREMENTAL") }
      try unsafe db.withHandle { unsafe spotlight_register($0, words?.pointer) }
    }
    do {
      return try SQLiteQueue(path: path, options)
    } catch let error as SQLiteError where !readonly && isInHeader(error, path) {
      throw SQLiteError(.corrupt, error.message, sql: error.sql)
    }
  }

  /// Returns whether SQLite refuses a file because of a header that no index has.
  private static func isInHeader(_ error: SQLiteError, _ path: String) -> Bool {
    switch error.code {
    case .readOnly: unsafe access(path, W_OK) == 0
    case .error: error.message?.hasPrefix("unsupported file format") == true
    default: false
    }
  }

  /// Whether the path still refers to the file that was opened.
  var isCurrent: Bool { FileIdentity(path) == opened }

  /// Whether the write-ahead log or the shared-memory file was removed or replaced without the
  /// index file, so that other connections do not see the writes of this connection.
  var hasLostLog: Bool { isCurrent && files.changedPath != nil }

  // MARK: Reading

  /// Reads the position of the file and all its documents.
  ///
  /// - Parameter isKept: Whether the documents are kept in memory rather than only counted.
  /// - Returns: The documents.
  /// - Throws: `SQLiteError`, with the code `corrupt` for a damaged file.
  func load(isKept: Bool) throws -> DocumentTable.View {
    try queue.use { db in
      // Another process may have built the index without the words that this process has collected.
      words.forget()
      return try db.transaction(.deferred) {
        let position = try Self.position(db)
        // Each build writes the position and the row `built`.
        let isBuilt = try db.text("SELECT value FROM state WHERE name = 'built'") != nil
        guard isBuilt == (position != nil) else {
          throw SQLiteError(.corrupt, "The index lacks its position or its build")
        }
        return try Self.documents(position, db, layout, isKept: isKept)
      }
    }
  }

  /// Returns the position of the file, or nil if it has none yet.
  static func position(_ db: SQLiteConnection) throws -> IndexPosition? {
    try positionText(db).map { try IndexPosition(reading: $0) }
  }

  /// Returns the text of the position.
  static func positionText(_ db: SQLiteConnection) throws -> String? {
    let select = try PreparedStatement(kept: "SELECT value FROM state WHERE name = 'position'", db)
    defer { select.reset() }
    return try select.step() ? select.optionalText(0) : nil
  }

  /// Returns the random text that distinguishes these tables from tables of other index files.
  static func mark(_ db: SQLiteConnection) throws -> String? {
    try db.text("SELECT value FROM state WHERE name = 'mark'")
  }

  /// Returns a random number for the first build, so that two files rarely share build numbers.
  static func firstBuild(_ db: SQLiteConnection) throws -> Int64 {
    try max(0, mark(db).flatMap { Int64($0.prefix(8), radix: 16) } ?? 0)
  }

  /// Returns whether a client of any process has paused the index.
  static func isPaused(_ db: SQLiteConnection) throws -> Bool {
    try db.text("SELECT value FROM state WHERE name = 'paused'") != nil
  }

  /// Pauses the index or ends the pause, for all present and later processes.
  static func setPaused(_ isPaused: Bool, _ db: SQLiteConnection) throws {
    try db.execute(
      isPaused
        ? "INSERT OR REPLACE INTO state VALUES ('paused', 'requested')"
        : "DELETE FROM state WHERE name = 'paused'"
    )
  }

  // MARK: Writing, inside a transaction of the queue

  /// Inserts a document under a number that was never used before.
  ///
  /// - Parameters:
  ///   - number: The number, which is greater than all earlier numbers.
  ///   - document: The document, whose last commit is not before the commits of earlier documents.
  ///   - read: The commit as of which the texts were read; nil for a document of the build, which
  ///     was read and inserted at the build's commit.
  /// - Returns: The inserted document.
  /// - Throws: `SQLiteError`.
  func insert(
    _ number: Int64,
    _ document: IndexedDocument,
    read: Int64?
  ) throws -> DocumentTable.AddedDocument {
    // A failed insertion may have left tokens in the count.
    _ = words.takeTokenCount()
    insertText.bind(number, at: 1)
    for column in layout.columns.indices { insertText.bind(nil as String?, at: Int32(column + 2)) }
    for (field, text) in zip(
      layout.fields[document.key.entity] ?? [],
      document.content?.texts ?? []
    ) {
      insertText.bind(text, at: Int32(field.column + 2))
    }
    try insertText.run()
    newWords += words.take()
    if newWords.count >= Self.newWordsMax { try writeNewWords() }
    let length = words.takeTokenCount()
    insertDocument.bind(Int64(document.key.entity), at: 1)
    insertDocument.bind(document.key.object, at: 2)
    insertDocument.bind(number, at: 3)
    let lengths = DocumentLengths(
      document: length,
      title: layout.titleLength(of: document.key.entity, document.content?.texts ?? [])
    )
    insertDocument.bind(lengths.packed, at: 4)
    try insertDocument.run()
    if let read {
      insertLater.bind(number, at: 1)
      insertLater.bind(document.commits.upperBound, at: 2)
      insertLater.bind(read, at: 3)
      try insertLater.run()
    }
    let boosts = document.content?.boosts ?? []
    let domain = document.content?.domain
    if !boosts.isEmpty || domain != nil {
      insertDetail.bind(number, at: 1)
      insertDetail.bind(BoostValues.text(boosts), at: 2)
      insertDetail.bind(domain, at: 3)
      try insertDetail.run()
    }
    return DocumentTable.AddedDocument(
      number: number,
      key: document.key,
      length: length,
      titleLength: lengths.title,
      boosts: boosts
    )
  }

  /// Removes an object's document from the live documents, and keeps the document's data for
  /// searches of the past.
  ///
  /// - Parameters:
  ///   - document: The changed object.
  ///   - read: The commit as of which the object's texts were read.
  /// - Returns: The number of the document, or nil if the object has none.
  /// - Throws: `SQLiteError`.
  func remove(_ document: IndexedDocument, read: Int64) throws -> Int64? {
    let key = document.key
    let first = document.commits.lowerBound
    // Between its first and its last change, the object may have had any texts.
    try insertUnknown(key, first, until: document.commits.upperBound)
    // An object without texts now may have had texts after its last change of the batch.
    if document.content == nil { try insertUnknown(key, document.commits.upperBound, until: read) }
    guard !document.isNew else { return nil }
    findDocument.bind(Int64(key.entity), at: 1)
    findDocument.bind(key.object, at: 2)
    defer { findDocument.reset() }
    guard try findDocument.step() else { return nil }
    let number = findDocument.integer(0)
    let (lengths, inserted) = (findDocument.integer(1), findDocument.integer(2))
    let wasReadBefore = findDocument.integer(3) < first
    let boosts = findDocument.optionalText(4)
    deleteDocument.bind(Int64(key.entity), at: 1)
    deleteDocument.bind(key.object, at: 2)
    try deleteDocument.run()
    for delete in deleteDetails {
      delete.bind(number, at: 1)
      try delete.run()
    }
    guard wasReadBefore else {
      // The document was read after this change, so the texts before the change are unknown.
      try insertUnknown(key, inserted, until: first)
      return number
    }
    let values = [first, number, Int64(key.entity), key.object, lengths, inserted]
    for (index, value) in values.enumerated() { insertFormer.bind(value, at: Int32(index + 1)) }
    insertFormer.bind(boosts, at: 7)
    try insertFormer.run()
    return number
  }

  /// Records that any object of an entity may have had other texts at some commits.
  func insertUnknown(entity: Int, _ commits: Range<Int64>) throws {
    let all = ObjectKey(entity: entity, object: Self.everyObject)
    try insertUnknown(all, commits.lowerBound, until: commits.upperBound)
  }

  /// The object number that stands for every object of an entity; objects have numbers from 1.
  static let everyObject: Int64 = 0

  /// Returns the number of rows that name objects with unknown texts.
  static func unknownCount(_ db: SQLiteConnection) throws -> Int64 {
    let count = try PreparedStatement(db, "SELECT count(*) FROM unknown")
    defer { count.reset() }
    return try count.step() ? count.integer(0) : 0
  }

  private func insertUnknown(_ key: ObjectKey, _ first: Int64, until: Int64) throws {
    guard first < until else { return }
    for (index, value) in [until, Int64(key.entity), key.object, first].enumerated() {
      insertUnknown.bind(value, at: Int32(index + 1))
    }
    try insertUnknown.run()
  }

  func set(_ position: IndexPosition) throws {
    setPosition.bind(position.text, at: 1)
    try setPosition.run()
  }

  /// Runs a body in a transaction, then commits and calls `known` while no search can begin.
  func transaction<Result>(
    _ documents: DocumentTable,
    _ body: (SQLiteConnection) throws -> Result,
    known: (Result) -> Void
  ) throws -> Result {
    try queue.use { db in
      try db.begin(.immediate)
      do {
        let result = try body(db)
        try documents.locked {
          try db.commit()
          known(result)
        }
        return result
      } catch {
        words.forget()
        (newWords, writtenWords) = ([], [])
        if db.isInTransaction { try db.rollback() }
        throw error
      }
    }
  }

  /// Writes the words of the documents that the transaction has inserted.
  ///
  /// - Returns: The words, including some that the file may already have.
  func writeWords() throws -> [String] {
    try writeNewWords()
    defer { writtenWords = [] }
    return writtenWords
  }

  private func writeNewWords() throws {
    // SQLite inserts many words much faster if their order is close to their order in the file.
    let words = newWords.sorted()
    newWords = []
    for word in words {
      insertWord.bind(word, at: 1)
      try insertWord.run()
    }
    writtenWords += words
  }

  /// The count of collected words that triggers a write.
  private static let newWordsMax = 100_000

  /// Runs work that the index can do without, and ignores failures that a later call can repair.
  static func housekeeping(_ work: () throws -> Void) throws {
    do {
      try work()
    } catch let error as SQLiteError where !error.isDamage {
      // The file only stays larger than necessary.
    }
  }

  /// Copies SQLite's write-ahead log into the index file and empties it, so that the next start
  /// does not read the write-ahead log.
  ///
  /// The method does not wait for readers: if there are any, the write-ahead log stays until the
  /// next call. It also stays if a file was removed or replaced.
  func emptyLog() throws {
    try withoutWaiting { db in
      if files.changedPath == nil { try db.checkpoint() } else { try db.keepLog(true) }
    }
  }

  /// Runs housekeeping that waits for no other connection.
  func withoutWaiting(_ work: (SQLiteConnection) throws -> Void) throws {
    try queue.use { db in try Self.withoutWaiting(db) { try work(db) } }
  }

  /// Runs housekeeping on a connection, which waits for no other connection.
  static func withoutWaiting(_ db: SQLiteConnection, _ work: () throws -> Void) throws {
    try housekeeping { try db.withoutWaiting(work) }
  }
}

/// The versions of the tokenizer and of the ICU data that divide and fold words.
enum WordsVersion {
  static var text: String {
    unsafe "\(SPOTLIGHT_TOKENIZER_VERSION) \(String(cString: spotlight_unicode_version()))"
  }
}
