import CordialValues
import PersistentHistory
import SQLite
import Synchronization

/// An attempt to read the log, on the index's thread.
extension SearchIndex {
  /// Reads the log to its end.
  func readLog() {
    let start = processorTime()
    var end = IndexAttemptEnd.done
    do {
      try readToEnd()
    } catch is IndexStopped {
      end = .stopped
    } catch {
      end = .failed(error, isFull: Self.isFull(error))
    }
    handle(.ended(end, microseconds: processorTime() - start))
  }

  private func readToEnd() throws {
    func read() throws { while try step(), !state.withLock({ $0.isStopped }) {} }
    do {
      if state.withLock({ $0.damage != nil }) { try removeFile() }
      try read()
      try mergePartsWhileReady()
    } catch let error as SQLiteError where isOfDamage(error) {
      // The damaged file can be removed, because the index can be rebuilt from the store.
      let damage = IndexState.Damage(file: FileIdentity(path), text: error.message ?? "\(error)")
      found(.damage(damage, isFull: error.code == .full))
      try removeFile()
      try read()
    }
  }

  /// Returns whether an error means that the file is damaged.
  ///
  /// SQLite also reports some damaged files as full. The error counts as damage until a file was
  /// removed because of it: if the new file is full too, damage was not the cause.
  func isOfDamage(_ error: SQLiteError) -> Bool {
    if error.isDamageOfIndex { return true }
    return error.code == .full && !state.withLock { $0.wasFull }
      && IndexSpace.shortage(besides: path) == nil
      && IndexSpace.temporaryShortage(besides: path) == nil
  }

  /// Removes a damaged file, unless another process has done so.
  private func removeFile() throws {
    if let damage = state.withLock({ $0.damage }), damage.file == FileIdentity(path) {
      try IndexRemoval.remove(path)
      if damage.file != nil { whenDamaged(damage.text) }
    }
    found(.removed)
  }

  /// Applies one batch, and returns whether more batches may follow.
  private func step() throws -> Bool {
    try thread.use { follower in
      if let file = follower?.file, file.hasLostLog {
        let error = SQLiteError(.corrupt, "The log of \(path) was removed")
        let damage = IndexState.Damage(file: file.opened, text: error.message ?? "\(error)")
        found(.damage(damage, isFull: false))
        follower = nil
        throw error
      }
      // The file may have been removed or replaced.
      if follower?.file.isCurrent != true { follower = try open() }
      guard var current = follower.take() else { return false }
      if try current.file.queue.use({ db in try IndexFile.position(db) }) != current.position {
        // Another process has written to the file.
        try reload(&current)
      }
      try recordSynonyms(&current)
      try executeOrders(&current)
      if try updatePause(current) {
        follower = consume current
        return false
      }
      // If this throws, the transaction is rolled back, and the next attempt opens the file again.
      let more = try step(&current)
      follower = consume current
      return more
    }
  }

  func open(isPrepared: Bool = false) throws -> IndexFollower {
    let source = try makeSource()
    let file = try IndexFile(path: path, layout: layout, isPrepared: isPrepared)
    let loaded = try load(file)
    documents.replace(loaded)
    let (isOutdated, hasManyParts) = try file.queue.use { db in
      (try IndexFile.isOutdated(db), try IndexFile.hasManyParts(db))
    }
    if hasManyParts { found(.parts) }
    if isOutdated, let token = loaded.position?.token {
      found(.outdated(token, documents: loaded.aliveCount))
    }
    return IndexFollower(
      file: file,
      source: source,
      position: loaded.position,
      isOutdated: isOutdated,
      unknownCount: try file.queue.use { db in try IndexFile.unknownCount(db) }
    )
  }

  private func load(_ file: IndexFile) throws -> DocumentTable.View {
    let loaded = try file.load(isKept: documents.isKept)
    let oldest = try file.queue.use { db in try IndexFile.oldest(db) }
    found(.opened(file.opened, oldest: oldest))
    return loaded
  }

  /// Loads the changes that another process has made to the same file.
  func reload(_ follower: inout IndexFollower) throws {
    let loaded = try load(follower.file)
    let (known, followed) = (follower.position, follower.followed)
    documents.replace(loaded)
    follower.position = loaded.position
    (follower.followed, follower.synonyms) = (nil, nil)
    // If the other process has added no document, the commits up to `followed` still index nothing.
    if let followed, let position = loaded.position, position.build == known?.build,
      position.next == known?.next, position.token.generation == followed.generation,
      position.token.number < followed.number
    {
      follower.followed = followed
      documents.follow(followed)
    }
    let hasMoved = known != loaded.position
    follower.isOutdated = try follower.file.queue.use { db in try IndexFile.isOutdated(db) }
    found(.reloaded(follower.token, hasMoved: hasMoved))
  }

  /// Reports that the index has reached a commit.
  func reached(_ token: StoreToken, isRebuilt: Bool = false) {
    found(.reached(token, documents: documents.aliveCount, isRebuilt: isRebuilt))
  }

  /// Closes the file, after writing its documents in the form that the next start reads.
  func close() {
    thread.use { follower in
      do {
        if let file = follower?.file, file.isCurrent, !file.hasLostLog {
          try file.archive(documents.view)
        }
        try follower?.file.emptyLog()
      } catch {
        // If this fails, the next start reads the documents' rows and SQLite's write-ahead log
        // instead.
      }
      follower = nil
    }
  }
}
