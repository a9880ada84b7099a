import CordialValues
import PersistentHistory
import SQLite

/// A new index that is built in its own tables, while the old index answers.
///
/// The stages are `addObjects`, `follow`, `merge` and `swap`. They run in one transaction, or in
/// several transactions between which the old index advances.
struct IndexBuild {
  /// The index file, opened to write the tables of the new index.
  let file: IndexFile
  private let source: any DocumentSource
  /// The domains whose objects the new index restores, and those whose objects it leaves out.
  private let restoredDomains: [String]
  private let deletedDomains: Set<String>
  /// The mark of the build's tables, which shows whether another process has replaced them.
  private let mark: String?
  private var view: DocumentTable.View
  /// The commit as of which the build read all objects; nil before `addObjects`.
  private var built: StoreToken?
  /// The position of the new index; nil before `addObjects`.
  private(set) var position: IndexPosition?

  /// Creates the tables of a new index.
  ///
  /// - Parameters:
  ///   - path: The path of the file, whose tables must have this layout.
  ///   - layout: The columns of the index.
  ///   - isKept: Whether the documents are kept in memory rather than only counted.
  ///   - domains: The domains whose objects the new index includes again.
  ///   - source: The source of documents, which only this build uses.
  /// - Throws: `SQLiteError`; `IndexMoved` for a file with tables of another layout.
  init(
    path: String,
    layout: IndexLayout,
    keepingDocuments isKept: Bool,
    restoring domains: [String],
    source: any DocumentSource
  ) throws {
    let file = try IndexFile(path: path, layout: layout, tables: .next)
    (self.file, self.source, restoredDomains) = (file, source, domains)
    (mark, deletedDomains) = try file.queue.use { db in
      (try IndexTables.mark(db), try IndexFile.deletedDomains(db).subtracting(domains))
    }
    view = DocumentTable.View(boostCount: layout.boostCount, isKept: isKept)
  }

  /// Begins a transaction.
  ///
  /// - Throws: `IndexMoved` if another process has removed the tables; `SQLiteError`.
  func begin(_ db: SQLiteConnection) throws {
    try db.begin(.immediate)
    guard let mark, try IndexTables.mark(db) == mark else { throw IndexMoved() }
  }

  /// Writes the words and commits the transaction, runs a body, and begins another transaction.
  ///
  /// - Throws: The errors of `begin` and of the body.
  func interrupt(_ db: SQLiteConnection, _ body: () throws -> Void) throws {
    _ = try file.writeWords()
    try db.commit()
    try body()
    try begin(db)
  }

  /// Adds all objects of the store.
  ///
  /// - Parameters:
  ///   - db: The connection of the file.
  ///   - after: Called after each object, with the build and the count of objects so far; the
  ///     closure may interrupt the build.
  /// - Returns: The count of objects.
  /// - Throws: `SQLiteError`; the errors of the source and of the body.
  mutating func addObjects(
    _ db: SQLiteConnection,
    after: (IndexBuild, Int) throws -> Void
  ) throws -> Int {
    // `build` is copied while it has no documents. If it shared a chunk, adding the next document
    // would copy that chunk.
    let build = self
    var count = 0
    let token = try source.eachObject { portion in
      for document in portion {
        count += 1
        if document.isIndexed(without: deletedDomains) {
          view.add(try file.insert(view.aliveCount + 1, document, read: nil))
        }
        try after(build, count)
      }
    }
    built = token
    position = IndexPosition(token: token, build: 0, next: view.aliveCount + 1)
    try IndexFile.setNextBuilt(token, db)
    return count
  }

  /// Applies a batch of the log.
  ///
  /// - Parameter db: The connection of the file, in a transaction.
  /// - Throws: `IndexMoved` if the log no longer has the position of the new index, or reports no
  ///   commit after it; `SQLiteError`; the errors of the source.
  mutating func follow(_ db: SQLiteConnection) throws {
    guard var position, let batch = try source.batch(after: position.token),
      batch.through != position.token
    else { throw IndexMoved() }
    let (added, removed) = try file.apply(batch, without: deletedDomains, &position)
    for number in removed { view.remove(number) }
    for document in added { view.add(document) }
    self.position = position
  }

  /// Replaces the old index with the new one, in the present transaction.
  ///
  /// - Returns: The documents and the position of the new index.
  /// - Throws: `IndexMoved` if another process has deleted domains; `SQLiteError`.
  func swap(_ db: SQLiteConnection) throws -> (view: DocumentTable.View, position: IndexPosition) {
    guard var position, let built,
      try IndexFile.deletedDomains(db).subtracting(restoredDomains) == deletedDomains
    else { throw IndexMoved() }
    let old = try IndexFile.position(db)
    position.build = try (old?.build ?? IndexFile.firstBuild(db)) + 1
    _ = try file.writeWords()
    try IndexTables.swap(db)
    try IndexFile.removeDeletedDomains(restoredDomains, db)
    try file.set(position)
    try IndexFile.setBuilt(built, db)
    try IndexFile.setOldest(built, db)
    try IndexFile.setAnswersAfter(position.token, db)
    var view = view
    view.position = position
    return (view, position)
  }
}

extension IndexBuild {
  /// Removes the build's tables, unless another build has replaced them, and shrinks the file.
  ///
  /// - Parameter db: The connection of the file, without a transaction.
  /// - Throws: `SQLiteError`.
  func discard(_ db: SQLiteConnection) throws {
    guard let mark else { return }
    try IndexTables.dropNext(db, of: mark)
    while try IndexFile.giveBackSomePages(db) {}
  }
}

extension IndexFile {
  /// Applies a batch of the log, in a transaction.
  ///
  /// - Parameters:
  ///   - batch: The changes after the position.
  ///   - domains: The domains whose objects the index leaves out.
  ///   - position: The position of the tables, which moves to the end of the batch.
  /// - Returns: The added documents, and the numbers of the removed documents.
  /// - Throws: `SQLiteError`, with the code `constraint` if the tables have a document that the
  ///   batch reports as new.
  func apply(
    _ batch: IndexBatch,
    without domains: Set<String>,
    _ position: inout IndexPosition
  ) throws -> (added: [DocumentTable.AddedDocument], removed: [Int64]) {
    position.token = batch.through
    var added: [DocumentTable.AddedDocument] = []
    var removed: [Int64] = []
    for (entity, commits) in batch.unknown { try insertUnknown(entity: entity, commits) }
    for document in batch.documents {
      if let number = try remove(document, read: batch.read) { removed.append(number) }
      guard document.isIndexed(without: domains) else { continue }
      added.append(try insert(position.next, document, read: batch.read))
      position.next += 1
    }
    return (added, removed)
  }
}
