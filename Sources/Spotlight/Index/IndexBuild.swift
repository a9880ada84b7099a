import CordialValues
import PersistentHistory
import SQLite

/// A new index that is built beside the one that answers, in tables of its own.
///
/// Its stages are `addObjects`, `follow`, `merge` and `swap`, all in one transaction, or in several
/// between which the old index advances.
struct IndexBuild {
  /// The file, which writes to the tables of the new index.
  let file: IndexFile
  private let source: any DocumentSource
  /// The domains whose objects the new index has again, and those whose objects it leaves out.
  private let restoredDomains: [String]
  private let deletedDomains: Set<String>
  /// Tells the tables from those of another process, which may have removed them.
  private let mark: String?
  private var view: DocumentTable.View
  /// The commit of which all objects were read.
  private var built: StoreToken?
  /// The position of the new index; nil before it has one.
  private(set) var position: IndexPosition?

  /// Creates the tables of a new index.
  ///
  /// - Parameters:
  ///   - path: The path of the file, whose tables have the layout.
  ///   - layout: The columns of the index.
  ///   - isKept: Whether the documents are kept, and not only counted.
  ///   - domains: The domains whose objects the new index has again.
  ///   - source: The source of documents, which nothing else uses.
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
  /// - Throws: `IndexMoved` where another process has removed the tables; `SQLiteError`.
  func begin(_ db: SQLiteConnection) throws {
    try db.begin(.immediate)
    guard let mark, try IndexTables.mark(db) == mark else { throw IndexMoved() }
  }

  /// Writes the words and commits the transaction, runs a body, and begins another transaction.
  ///
  /// - Throws: As `begin`; the errors of the body.
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
  ///   - after: Called after each object, with the build and the number of objects so far; it may
  ///     interrupt the build.
  /// - Returns: The number of objects.
  /// - Throws: `SQLiteError`; the errors of the source and of the body.
  mutating func addObjects(
    _ db: SQLiteConnection,
    after: (IndexBuild, Int) throws -> Void
  ) throws -> Int {
    // Without documents, of which the next one would copy a chunk.
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
  /// - Throws: `IndexMoved` where the log no longer has the commits, or hides some of them;
  ///   `SQLiteError`; the errors of the source.
  mutating func follow(_ db: SQLiteConnection) throws {
    guard var position, let batch = try source.batch(after: position.token),
      batch.through != position.token
    else { throw IndexMoved() }
    let (added, removed) = try file.apply(batch, without: deletedDomains, &position)
    for number in removed { view.remove(number) }
    for document in added { view.add(document) }
    self.position = position
  }

  /// Puts the new index in the place of the old one, in the present transaction.
  ///
  /// - Returns: The documents of the new index.
  /// - Throws: `IndexMoved` where another process has deleted domains; `SQLiteError`.
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
  /// Removes the tables, unless they are those of another build by now, and gives back their pages.
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
  ///   - position: The position of the tables, which becomes that of the batch's end.
  /// - Returns: The documents that were added, and the numbers of those that were removed.
  /// - Throws: `SQLiteError`, with the code `constraint` where the tables have a document that the
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
