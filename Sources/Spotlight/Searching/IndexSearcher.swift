package import CordialValues
package import Interruptions
import PersistentHistory
import SQLite

/// One connection to the index, used by one thread at a time.
package final class IndexSearcher {
  private let queue: SQLiteQueue
  private let layout: IndexLayout
  private let documents: DocumentTable
  private let vocabulary: Vocabulary
  private let termCache: TermCache
  private let synonyms: SynonymSource
  private let path: String
  /// The files that were opened.
  private let files: OpenedFiles
  /// Called when another process has written to the file since this process read it.
  private let whenStale: @Sendable () -> Void
  /// The position that was read last, with its text: comparing texts is faster than parsing them.
  private var lastRead: (text: String, position: IndexPosition?)?

  init(
    path: String,
    layout: IndexLayout,
    documents: DocumentTable,
    vocabulary: Vocabulary,
    termCache: TermCache,
    synonyms: SynonymSource,
    whenStale: @escaping @Sendable () -> Void
  ) throws {
    self.whenStale = whenStale
    self.layout = layout
    self.documents = documents
    self.vocabulary = vocabulary
    self.termCache = termCache
    self.synonyms = synonyms
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
  ///   - past: A commit that the index has reached, whose documents are searched; nil for the
  ///     newest.
  ///   - isResuming: Whether a client resumes a result of that commit. The index must then have
  ///     been built before the commit, because another build may index objects differently.
  ///   - interruption: The flag that stops the body's statements and searches; nil for none.
  ///   - body: Receives the snapshot of the transaction.
  /// - Returns: The result of the body.
  /// - Throws: `SpotlightError` with the code `expired` for a commit before the oldest commit of
  ///   the index; `Interrupted`; `SQLiteError`, and the errors of the body.
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
      termCache: termCache,
      synonyms: SnapshotSynonyms(synonyms),
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
      // A new index file has no tables at first; another process may have created them meanwhile.
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
