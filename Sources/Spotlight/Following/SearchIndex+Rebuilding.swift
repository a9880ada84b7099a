import CordialValues
import Interruptions
import PersistentHistory
import SQLite
import Synchronization

/// Building a new index, while the old one answers.
extension SearchIndex {
  /// Builds a new index from the store, and replaces the old one with it.
  ///
  /// - Parameters:
  ///   - follower: The old index.
  ///   - advances: Whether the old index follows the log meanwhile. It stays at its position if it
  ///     is paused, or if the log lacks that position.
  ///   - progress: Called with the count of objects that the build has read.
  ///   - interruption: The flag that stops the build and removes its tables; nil for none.
  ///   - domains: The domains whose objects the new index includes again.
  /// - Throws: `IndexStopped`; `Interrupted`; `SQLiteError` with the code `full` if the disk has no
  ///   room for an index beside the old one; `SpotlightError` if other processes, or a log that
  ///   loses commits, prevent each build; other errors of SQLite and of the source.
  func rebuild(
    _ follower: inout IndexFollower,
    advances: Bool = false,
    _ progress: ((Int) -> Void)? = nil,
    _ interruption: Interruption? = nil,
    restoring domains: [String] = []
  ) throws {
    guard state.withLock({ $0.allowsBuilds }) else { throw IndexStopped() }
    if follower.token != nil, let error = IndexSpace.shortage(besides: path) { throw error }
    let isPaused = try follower.file.queue.use { db in try IndexFile.isPaused(db) }
    if !isPaused, let token = follower.token { found(.builds(from: token)) }
    defer { found(.buildEnded) }
    var pace = BuildPace(
      advances: try advances && !isPaused && canAdvance(follower),
      milliseconds: buildMilliseconds,
      interruption
    )
    for _ in 0..<Self.buildsMax {
      do {
        try build(&follower, &pace, progress, domains)
        return
      } catch is IndexMoved {
        // The next build runs in one transaction, so that no other process can write to the file.
        pace = BuildPace(advances: false, milliseconds: buildMilliseconds, interruption)
        guard !follower.file.isCurrent else {
          try reload(&follower)
          continue
        }
        follower = try open()
        if try !updatePause(follower), let token = follower.token { found(.builds(from: token)) }
      }
    }
    throw SpotlightError.beingBuilt
  }

  /// Returns whether the old index can follow the log: this version wrote the words of the old
  /// index, and the log has its position.
  private func canAdvance(_ follower: borrowing IndexFollower) throws -> Bool {
    guard let token = follower.token, !follower.isOutdated else { return false }
    return try follower.source.batch(after: token) != nil
  }

  /// The maximum count of builds in one rebuild; changes by other processes can make each build
  /// fail.
  private static let buildsMax = 4

  private func build(
    _ follower: inout IndexFollower,
    _ pace: inout BuildPace,
    _ progress: ((Int) -> Void)?,
    _ domains: [String]
  ) throws {
    var build = try IndexBuild(
      path: path,
      layout: layout,
      keepingDocuments: documents.isKept,
      restoring: domains,
      source: try makeSource()
    )
    try build.file.queue.use { db in
      do {
        try build.begin(db)
        func report(_ count: Int) {
          found(.built(objects: count))
          progress?(count)
        }
        let count = try build.addObjects(db) { build, count in
          if count.isMultiple(of: Self.reportedObjects) { report(count) }
          try letAdvance(&follower, &pace, build, db)
        }
        report(count)
        try catchUp(&build, &follower, &pace, db)
        try merge(build, &follower, &pace, db)
        // From here on, the old index stays at its position.
        pace.advances = false
        try catchUp(&build, &follower, &pace, db)
        try swap(build, &follower, pace, db)
      } catch {
        if db.isInTransaction { try db.rollback() }
        // After a stop, the next start removes the unfinished tables.
        if !(error is IndexStopped) { try IndexFile.housekeeping { try build.discard(db) } }
        throw error
      }
    }
    reached(follower)
    try giveBackPages(follower)
  }

  /// The number of objects between two reports of the progress.
  private static let reportedObjects = 1000

  /// Reads the log into the new index until it reaches the position of an old index that advanced.
  private func catchUp(
    _ build: inout IndexBuild,
    _ follower: inout IndexFollower,
    _ pace: inout BuildPace,
    _ db: SQLiteConnection
  ) throws {
    var batches = 0
    // If the old index has not advanced during the build, the new index is at the newest commit. A
    // greater position of the old index then means that the store has lost commits.
    while pace.hasPaused, let token = follower.token, let position = build.position,
      token.number > position.token.number
    {
      batches += 1
      // If the old index kept advancing faster, the new one would never catch up.
      if batches > Self.pacedBatchesMax { pace.advances = false }
      try build.follow(db)
      try letAdvance(&follower, &pace, build, db)
    }
  }

  /// The maximum count of batches that a new index reads while the old one still advances.
  private static let pacedBatchesMax = 50

  private func merge(
    _ build: IndexBuild,
    _ follower: inout IndexFollower,
    _ pace: inout BuildPace,
    _ db: SQLiteConnection
  ) throws {
    // A savepoint makes FTS5 write the words of the transaction.
    try db.execute("SAVEPOINT flushed; RELEASE flushed")
    var isFirst = true
    while try build.file.mergeTowardsOne(isFirst: isFirst, db) {
      isFirst = false
      try letAdvance(&follower, &pace, build, db)
    }
    try build.file.raiseParts(db)
  }

  private func swap(
    _ build: IndexBuild,
    _ follower: inout IndexFollower,
    _ pace: BuildPace,
    _ db: SQLiteConnection
  ) throws {
    if pace.hasPaused, try IndexFile.position(db) != follower.position { throw IndexMoved() }
    let (view, position) = try build.swap(db)
    let oldest = try IndexFile.oldest(db)
    try documents.locked {
      try db.commit()
      documents.replace(view)
      vocabulary.forget()
      // A search of an earlier commit fails from here on.
      found(.oldest(oldest))
    }
    follower.file.forgetWords()
    follower.position = position
    follower.followed = nil
    follower.isOutdated = false
    follower.unknownCount = try IndexFile.unknownCount(db)
  }

  private func reached(_ follower: borrowing IndexFollower) {
    if let token = follower.token { reached(token, isRebuilt: true) }
  }

  /// Lets the old index advance by a batch between two transactions of the build, if the log has
  /// new commits.
  private func letAdvance(
    _ follower: inout IndexFollower,
    _ pace: inout BuildPace,
    _ build: IndexBuild,
    _ db: SQLiteConnection
  ) throws {
    let (isAllowed, isWanted) = state.withLock { ($0.allowsBuilds, $0.wantsAdvance) }
    // After this error, the next start builds the index from the beginning.
    guard isAllowed else { throw IndexStopped() }
    try pace.interruption?.check()
    guard isWanted, pace.allowsPause() else { return }
    found(.readsBesideBuild)
    guard let token = follower.token, let batch = try follower.source.batch(after: token) else {
      return pace.advances = false
    }
    if batch.indexesNothing {
      // Such a batch needs no transaction, so the build does not have to end its own.
      followInMemory(batch.through, &follower)
      reached(batch.through)
    } else {
      try build.interrupt(db) { pace.advances = try advanceBeside(&follower, by: batch) }
    }
    pace.resume()
    if batch.remainingCommits > 0 { found(.remains) }
  }

  /// Advances the old index by a batch.
  ///
  /// - Returns: Whether the old index can advance further.
  private func advanceBeside(_ follower: inout IndexFollower, by batch: IndexBatch) throws -> Bool {
    guard try !follower.file.queue.use({ db in try IndexFile.isPaused(db) }) else { return false }
    do {
      try advance(&follower, by: batch)
    } catch is IndexMoved {
      try reload(&follower)
    } catch let error as SQLiteError where error.code == .constraint {
      return false
    }
    return true
  }

  /// Returns the pages of the replaced index to the file system, some at a time, and empties
  /// SQLite's write-ahead log.
  ///
  /// Commits and orders take precedence; a later merge of parts returns the remaining pages.
  private func giveBackPages(_ follower: borrowing IndexFollower) throws {
    // If the file or its write-ahead log was removed, the next step builds a new index.
    guard follower.file.isCurrent, !follower.file.hasLostLog else { return }
    try IndexFile.housekeeping {
      while try follower.file.queue.use({ db in try IndexFile.giveBackSomePages(db) }) {
        let (isWanted, isAllowed) = state.withLock { ($0.wantsAdvance, $0.allowsBuilds) }
        if isWanted { found(.parts) }
        if isWanted || !isAllowed { return }
      }
    }
    try follower.file.emptyLog()
  }

  /// Opens the file again after many documents were indexed, and empties its write-ahead log.
  ///
  /// FTS5's table of the words of a transaction never shrinks after a large transaction, and each
  /// later commit scans all of it. If the file cannot be opened now, the present connection stays
  /// in use.
  func reopen(_ follower: inout IndexFollower) throws {
    // If the file or its write-ahead log was removed, the next step builds a new index.
    guard follower.file.isCurrent, !follower.file.hasLostLog else { return }
    do {
      follower.file = try follower.file.reopened()
    } catch is IndexMoved {
      return
    } catch let error as SQLiteError where !error.isDamage {
      return
    }
    try follower.file.emptyLog()
  }
}

/// The rule that decides when a build lets the old index advance.
private struct BuildPace {
  /// Whether the old index can advance.
  var advances: Bool
  /// The flag that stops the build; nil for none.
  let interruption: Interruption?
  private let pauseMin: Duration
  private var last: ContinuousClock.Instant?

  /// Whether the old index has read the log since the build began.
  var hasPaused: Bool { last != nil }

  init(advances: Bool, milliseconds: Int, _ interruption: Interruption?) {
    self.interruption = interruption
    self.advances = advances
    pauseMin = .milliseconds(milliseconds)
  }

  /// Returns whether the build has worked long enough since its last pause.
  func allowsPause() -> Bool {
    advances && last.map { $0.duration(to: .now) >= pauseMin } ?? true
  }

  mutating func resume() { last = .now }
}

/// The error of a rebuild that `endBuilds()` or `stop()` interrupted.
struct IndexStopped: Error {}

/// The error of an index that another process has changed since this process read its position.
struct IndexMoved: Error {}
