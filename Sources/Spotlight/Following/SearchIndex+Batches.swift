import CordialValues
import PersistentHistory
import SQLite
import Synchronization

/// Reading the log, batch by batch.
extension SearchIndex {
  /// Applies one batch, or builds a new index if the present index cannot continue from the log.
  ///
  /// - Returns: Whether more batches may follow.
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
      // The batch reports an object as new, but the index already has its document. Only a rebuild
      // corrects this.
      try rebuild(&follower)
      return true
    }
    let dead = documents.deadCount + follower.unknownCount
    if dead > Self.deadMax, dead > documents.aliveCount / 4,
      state.withLock({ $0.allowsBuilds }),
      // If the disk has no room for a new index, the old one stays in use.
      IndexSpace.shortage(besides: path) == nil
    {
      try rebuild(&follower, advances: true)
    }
    return batch.remainingCommits > 0
  }

  /// The count of dead documents up to which the index is never rebuilt.
  ///
  /// Above this count, the index is rebuilt as soon as more than a fifth of all documents are dead.
  private static let deadMax: Int64 = 10_000

  /// Applies a batch, and answers the waiters for its commits.
  ///
  /// - Throws: `IndexMoved` if another process has advanced the index; `SQLiteError`, with the code
  ///   `constraint` if the index has a document that the batch reports as new.
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

  /// Follows commits that index nothing, and writes the position after every `unwrittenMax`
  /// commits.
  private func follow(_ token: StoreToken, _ follower: inout IndexFollower) throws {
    followInMemory(token, &follower)
    guard let written = follower.position?.token.number,
      token.number - written >= Self.unwrittenMax
    else { return }
    try writePosition(&follower)
  }

  /// Follows commits that index nothing, without writing the position.
  func followInMemory(_ token: StoreToken, _ follower: inout IndexFollower) {
    follower.followed = token
    documents.follow(token)
  }

  /// The count of commits without documents after which the position is written: the next start
  /// reads at most this many commits again.
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
