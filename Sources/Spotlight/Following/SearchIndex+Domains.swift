import CordialValues
import PersistentHistory
import SQLite
import Synchronization

/// The domains whose objects the index leaves out.
extension SearchIndex {
  /// Removes the documents of some domains and all past documents, and keeps later objects of the
  /// domains out of the index.
  func deleteDomains(_ domains: [String], _ follower: inout IndexFollower) throws {
    if follower.position == nil { try rebuild(&follower) }
    do {
      try removeDocuments(of: domains, &follower)
    } catch is IndexMoved {
      // Another process has written to the file since this attempt began.
      try reload(&follower)
      try removeDocuments(of: domains, &follower)
    }
  }

  private func removeDocuments(of domains: [String], _ follower: inout IndexFollower) throws {
    try writePosition(&follower)
    let file = follower.file
    guard let known = follower.position else { return }
    let (removed, reached) = try file.transaction(documents) { db -> ([Int64], IndexPosition) in
      guard try IndexFile.position(db) == known else { throw IndexMoved() }
      try IndexFile.insertDeletedDomains(domains, db)
      let commit = known.token.number
      var removed: [Int64] = []
      for key in try IndexFile.objects(in: Set(domains), db) {
        let document = IndexedDocument(
          key: key,
          content: nil,
          isNew: false,
          commits: commit...commit
        )
        if let number = try file.remove(document, read: commit) { removed.append(number) }
      }
      // Searches of the past must not find the documents either.
      try IndexFile.forgetPast(until: known.token, db)
      var position = known
      // A changed position makes other processes read the documents again.
      position.next += 1
      try file.set(position)
      return (removed, position)
    } known: { removed, position in
      documents.apply(position, added: [], removed: removed)
    }
    follower.position = reached
    follower.unknownCount = 0
    found(.oldest(known.token))
    if !removed.isEmpty { found(.left(documents: documents.aliveCount)) }
  }
}

extension IndexFile {
  /// Returns the domains whose objects the index leaves out.
  static func deletedDomains(_ db: SQLiteConnection) throws -> Set<String> {
    let statement = try PreparedStatement(db, "SELECT domain FROM deleted_domain")
    defer { statement.reset() }
    var domains: Set<String> = []
    while try statement.step() { domains.insert(statement.text(0)) }
    return domains
  }

  /// Records some domains as those whose objects the index leaves out.
  fileprivate static func insertDeletedDomains(
    _ domains: [String],
    _ db: SQLiteConnection
  ) throws {
    try run("INSERT OR IGNORE INTO deleted_domain VALUES (?)", for: domains, db)
  }

  /// Deletes the records of domains whose objects the index leaves out.
  static func removeDeletedDomains(_ domains: [String], _ db: SQLiteConnection) throws {
    try run("DELETE FROM deleted_domain WHERE domain = ?", for: domains, db)
  }

  private static func run(
    _ sql: String,
    for domains: [String],
    _ db: SQLiteConnection
  ) throws {
    let statement = try PreparedStatement(db, sql)
    for domain in domains {
      statement.bind(domain, at: 1)
      try statement.run()
    }
  }

  /// Returns the objects with a document in any of some domains.
  ///
  /// - Complexity: Linear in the documents.
  fileprivate static func objects(
    in domains: Set<String>,
    _ db: SQLiteConnection
  ) throws -> [ObjectKey] {
    let statement = try PreparedStatement(
      db,
      """
      SELECT entity, object, domain FROM document JOIN detail USING (number)
      WHERE domain IS NOT NULL ORDER BY number
      """
    )
    defer { statement.reset() }
    var keys: [ObjectKey] = []
    while try statement.step() {
      guard domains.contains(statement.text(2)) else { continue }
      keys.append(ObjectKey(entity: Int(statement.integer(0)), object: statement.integer(1)))
    }
    return keys
  }
}

extension IndexSnapshot {
  /// Returns the domains whose objects the index leaves out.
  ///
  /// - Returns: The domains.
  /// - Throws: `SQLiteError`; `SpotlightError` for a damaged index.
  package func deletedDomains() throws -> Set<String> {
    try SpotlightError.reading { try IndexFile.deletedDomains(db) }
  }
}
