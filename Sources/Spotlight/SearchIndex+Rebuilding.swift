import PersistentHistory
import SQLite
import Synchronization

/// Building a new index, while the old one answers.
extension SearchIndex {
  /// Rebuilds the index from the store in one transaction; until its commit, searches see the old
  /// index.
  func rebuild(
    _ follower: inout Follower,
    _ progress: ((Int) -> Void)? = nil,
    restoring domains: [String] = []
  ) throws {
    let file = follower.file
    let source = follower.source
    let (_, position) = try file.transaction(documents) {
      db -> (DocumentTable.View, IndexPosition) in
      let build = try IndexFile.position(db)?.build ?? IndexFile.firstBuild(db)
      try file.removeEverything(db)
      try IndexFile.removeDeletedDomains(domains, db)
      let deleted = try IndexFile.deletedDomains(db)
      var view = DocumentTable.View(boostCount: layout.boostCount)
      var count = 0
      let token = try source.eachObject { portion in
        // The next start rebuilds the index from the beginning.
        guard !shared.withLock({ $0.isStopped }) else { throw IndexStopped() }
        count += portion.count
        shared.withLock { [count] in $0.activity.step = .building(objects: count) }
        progress?(count)
        for document in portion where document.isIndexed(without: deleted) {
          view.add(try file.insert(view.aliveCount + 1, document, read: nil))
        }
      }
      let position = IndexPosition(
        token: token,
        build: build + 1,
        next: view.aliveCount + 1
      )
      _ = try file.writeWords()
      try IndexFile.mergeAllParts(db)
      try file.set(position)
      try IndexFile.setBuilt(token, db)
      try IndexFile.setOldest(token, db)
      // The merged parts have left pages without content.
      try db.execute("PRAGMA incremental_vacuum")
      view.position = position
      return (view, position)
    } known: { view, _ in
      documents.replace(view)
      vocabulary.forget()
    }
    follower.position = position
    follower.followed = nil
    (follower.unknownCount, follower.isOutdated) = (0, false)
    shared.withLock { $0.activity.oldest = position.token }
    reached(position.token, isRebuilt: true)
    try reopen(&follower)
  }

  /// Opens the file again after many documents, and empties its log.
  ///
  /// FTS5's table of the words of a transaction stays as large as the largest transaction made it,
  /// and each later commit goes through all of it. Where the file cannot be opened now, the present
  /// connection goes on.
  func reopen(_ follower: inout Follower) throws {
    // The next step builds the index anew.
    guard follower.file.isCurrent, !follower.file.hasLostLog else { return }
    do {
      follower.file = try follower.file.reopened()
    } catch is IndexMoved {
      return
    } catch let error as SQLiteError where ![.corrupt, .notADatabase].contains(error.code) {
      return
    }
    // GRDB writes to an empty log when it opens a file.
    try follower.file.emptyLog()
  }
}
