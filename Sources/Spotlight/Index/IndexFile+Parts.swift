import SQLite

/// The parts in which FTS5 keeps the words of documents.
extension IndexFile {
  /// Merges some parts of a new index; repeated calls merge all parts into one.
  ///
  /// - Parameters:
  ///   - isFirst: Whether this is the first call, which begins the merge of all parts.
  ///   - db: The connection, in a transaction.
  /// - Returns: Whether parts remain to be merged.
  /// - Throws: `SQLiteError`.
  func mergeTowardsOne(isFirst: Bool, _ db: SQLiteConnection) throws -> Bool {
    try mergeSome(isFirst ? -Self.mergedPages : Self.mergedPages, db)
  }

  /// Merges parts until this count of pages is written; a negative count begins a merge of all
  /// parts.
  ///
  /// - Returns: Whether any parts were merged.
  private func mergeSome(_ pages: Int, _ db: SQLiteConnection) throws -> Bool {
    let text = tables.name("text")
    let before = db.totalChanges
    try db.execute("INSERT INTO \(text)(\(text), rank) VALUES ('merge', \(pages))")
    // FTS5 changes only one row if it merges nothing.
    return db.totalChanges - before >= 2
  }

  /// Moves all parts to higher levels, until the greatest part is on a high level.
  ///
  /// FTS5 merges up to 16 parts of one level into one part of the next level. If a whole index were
  /// on a low level, FTS5 would soon merge it with a few hundred small parts. The commit of a
  /// single document would then write the whole index again, and searches would wait for this
  /// commit.
  func raiseParts(_ db: SQLiteConnection) throws {
    let data = tables.name("text") + "_data"
    let record = "SELECT hex(block) FROM \(data) WHERE id = \(Self.structureRecord)"
    guard let text = try db.text(record), let raised = Self.raised(Self.bytes(text))
    else { return }
    let hex = raised.map { byte in
      (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }.joined()
    try db.execute("UPDATE \(data) SET block = X'\(hex)' WHERE id = \(Self.structureRecord)")
    // FTS5 reads the record again only after a rollback.
    try db.execute("SAVEPOINT raised; ROLLBACK TO raised; RELEASE raised")
  }

  /// Merges some parts that batches have written, or gives back some pages that merges have freed.
  ///
  /// FTS5 merges four parts of one level into one part of the next level. After the last merge, the
  /// method raises the parts of an index with few levels.
  ///
  /// - Returns: The state of the remaining work.
  /// - Throws: `SQLiteError` for a damaged file.
  func mergeSomeParts() throws -> IndexRemainder {
    var remainder = IndexRemainder.unknown
    try queue.use { db in
      try Self.housekeeping {
        let isMerged = try db.transaction(.immediate) {
          if try mergeSome(Self.mergedPages, db) { return false }
          try raiseParts(db)
          return true
        }
        guard isMerged else { return remainder = .some }
        remainder = try Self.giveBackSomePages(db) ? .some : .none
      }
    }
    return remainder
  }

  /// Returns some free pages of the file to the file system.
  ///
  /// - Returns: Whether the file still has free pages that a further call can return.
  static func giveBackSomePages(_ db: SQLiteConnection) throws -> Bool {
    let before = try db.integer("PRAGMA freelist_count") ?? 0
    try db.execute("PRAGMA incremental_vacuum(\(mergedPages))")
    // A file of a former format may be unable to give back pages.
    let after = try db.integer("PRAGMA freelist_count") ?? 0
    return after > 0 && after < before
  }

  /// Returns whether the index has many parts, in each of which a search looks up each word.
  static func hasManyParts(_ db: SQLiteConnection) throws -> Bool {
    let parts = "SELECT count(*) FROM (SELECT DISTINCT segid FROM text_idx)"
    return try db.integer(parts) ?? 0 >= manyParts
  }

  private static let manyParts = 8

  /// The count of pages that one step merges or returns, which takes about 20 ms.
  private static let mergedPages = 500

  /// The identifier of the record that lists the levels and their parts.
  private static let structureRecord = 10
  /// The minimum count of levels; with so many levels, FTS5 merges the whole index only once in
  /// thousands of commits.
  private static let levelsMin: UInt8 = 4

  /// Returns the record with empty levels inserted below the existing levels.
  ///
  /// - Parameter record: Four bytes; the counts of levels, of parts and of written pages, as
  ///   varints; and for each level two numbers and its parts.
  /// - Returns: The new record; nil if the record has enough levels or another form.
  private static func raised(_ record: [UInt8]) -> [UInt8]? {
    guard record.count > 7, record[4] > 0, record[4] < levelsMin else { return nil }
    var at = 5
    for _ in 0..<2 {
      while at < record.count, record[at] >= 0x80 { at += 1 }
      at += 1
    }
    guard at < record.count else { return nil }
    let empty = Array(repeating: UInt8(0), count: 2 * Int(levelsMin - record[4]))
    return record[..<4] + [levelsMin] + record[5..<at] + empty + record[at...]
  }

  private static func bytes(_ hex: String) -> [UInt8] {
    let digits = hex.utf8.map { $0 < 0x41 ? $0 - 0x30 : $0 - 0x41 + 10 }
    return stride(from: 0, to: digits.count - 1, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
  }
}

/// The state of the remaining work on parts and free pages.
package enum IndexRemainder: Sendable {
  case none, some
  /// The work failed, and a later attempt repeats it.
  case unknown
}
