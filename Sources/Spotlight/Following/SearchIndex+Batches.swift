import CordialValues
import PersistentHistory
import SQLite
import Synchronization

/// Reading the log, batch by batch.
extension SearchIndex {
  /// Applies one batch, or builds a new index where the log does not have it.
  ///
  /// - Returns: Whether more may follow.
  func step(_ follower: inout IndexFollower) throws -> Bool {
    found(.reads(after: follower.token))
    guard let token = follower.token, !follower.isOutdated,
      let batch = try follower.source.batch(after: token)
    else {
      try rebuild(&follower)
      return true
    }
    do {
      try advance(&follower, by: batch)
    } catch is IndexMoved {
      try reload(&follower)
      return true
    } catch let error as SQLiteError where error.code == .constraint {
      // The index already has a document that the log reports as new; only the store is right.
      try rebuild(&follower)
      return true
    }
    let dead = documents.deadCount + follower.unknownCount
    if dead > Self.deadMax, dead > documents.aliveCount / 4,
      state.withLock({ $0.allowsBuilds }),
      // Without room, the old index goes on.
      IndexSpace.shortage(besides: path) == nil
    {
      try rebuild(&follower, advances: true)
    }
    return batch.remainingCommits > 0
  }

  /// The number of dead documents up to which the index is not rebuilt, however few live ones it
  /// has; otherwise, at most a fifth of all documents is dead.
  private static let deadMax: Int64 = 10_000

  /// Applies a batch, and answers those who wait for its end.
  ///
  /// - Throws: `IndexMoved` where another process has advanced the index; `SQLiteError`, with the
  ///   code `constraint` where the index has a document that the batch reports as new.
  func advance(_ follower: inout IndexFollower, by batch: IndexBatch) throws {
    let token = follower.token
    if !batch.indexesNothing {
      try apply(batch, &follower)
    } else if batch.through != token {
      try follow(batch.through, &follower)
    }
    found(.applied(documents: batch.documents.count, hasCommits: batch.through != token))
    reached(batch.through)
  }

  /// Follows commits that index nothing, of which only some are written to the file.
  private func follow(_ token: StoreToken, _ follower: inout IndexFollower) throws {
    followInMemory(token, &follower)
    guard let written = follower.position?.token.number,
      token.number - written >= Self.unwrittenMax
    else { return }
    try writePosition(&follower)
  }

  /// Follows commits that index nothing.
  func followInMemory(_ token: StoreToken, _ follower: inout IndexFollower) {
    follower.followed = token
    documents.follow(token)
  }

  /// The number of commits without documents after which the position is written: a later start
  /// reads so many again at most.
  private static let unwrittenMax: Int64 = 1000

  private func apply(_ batch: IndexBatch, _ follower: inout IndexFollower) throws {
    let file = follower.file
    guard let known = follower.position else { throw IndexMoved() }
    let (_, _, _, reached) = try file.transaction(documents) {
      db -> ([DocumentTable.AddedDocument], [Int64], [String], IndexPosition) in
      guard try IndexFile.position(db) == known, try !IndexFile.isOutdated(db) else {
        throw IndexMoved()
      }
      var position = known
      let deleted = try IndexFile.deletedDomains(db)
      let (added, removed) = try file.apply(batch, without: deleted, &position)
      try file.set(position)
      let words = try file.writeWords()
      return (added, removed, words, position)
    } known: { added, removed, words, position in
      documents.apply(position, added: added, removed: removed)
      vocabulary.add(words, from: known, to: position)
    }
    follower.position = reached
    follower.followed = nil
    let isChanged = { (document: IndexedDocument) in
      document.commits.count > 1 || document.content == nil && batch.remainingCommits > 0
    }
    follower.unknownCount += Int64(batch.unknown.count + batch.documents.count(where: isChanged))
  }
}
