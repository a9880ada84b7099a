import CordialValues
import PersistentHistory
import SQLite
import Synchronization

/// Building a new index, while the old one answers.
extension SearchIndex {
  /// Builds a new index from the store, and puts it in the place of the old one.
  ///
  /// - Parameters:
  ///   - follower: The old index.
  ///   - advances: Whether the old index follows the log meanwhile; otherwise it stays at its
  ///     position.
  ///   - progress: Called with the number of objects that were read.
  ///   - domains: The domains whose objects the new index has again.
  /// - Throws: `IndexStopped`; `SpotlightError` where other processes change the index again and
  ///   again; `SQLiteError`; the errors of the source.
  func rebuild(
    _ follower: inout Follower,
    advances: Bool = false,
    _ progress: ((Int) -> Void)? = nil,
    restoring domains: [String] = []
  ) throws {
    shared.withLock { [token = follower.token] shared in
      shared.buildsFrom = token
      if token != nil { shared.status.state = .rebuilding }
    }
    defer { shared.withLock { $0.buildsFrom = nil } }
    var pace = BuildPace(
      advances: advances && follower.token != nil && !follower.isOutdated,
      milliseconds: buildMilliseconds
    )
    for _ in 0..<Self.buildsMax {
      do {
        try build(&follower, &pace, progress, domains)
        return
      } catch is IndexMoved {
        // In one transaction, nothing comes between.
        pace.advances = false
        if follower.file.isCurrent { try reload(&follower) } else { follower = try open() }
      }
    }
    throw SpotlightError.beingBuilt
  }

  /// The maximum number of builds, of which other processes prevent all but the last.
  private static let buildsMax = 4

  private func build(
    _ follower: inout Follower,
    _ pace: inout BuildPace,
    _ progress: ((Int) -> Void)?,
    _ domains: [String]
  ) throws {
    var build = try IndexBuild(
      path: path,
      layout: layout,
      restoring: domains,
      source: try makeSource()
    )
    try build.file.queue.use { db in
      do {
        try build.begin(db)
        try build.addObjects(db) { build, count in
          if count == 1 || count.isMultiple(of: Self.reportedObjects) {
            shared.withLock { $0.activity.step = .building(objects: count) }
            progress?(count)
          }
          try letAdvance(&follower, &pace, build, db)
        }
        try follow(&build, &follower, &pace, db)
        try merge(build, &follower, &pace, db)
        // From here on the old index stays where it is.
        pace.advances = false
        try follow(&build, &follower, &pace, db)
        try swap(build, &follower, db)
      } catch {
        if db.isInTransaction { try db.rollback() }
        try IndexFile.housekeeping { try IndexTables.dropNext(db) }
        throw error
      }
    }
    reached(follower)
    try giveBackPages(&follower)
  }

  /// The number of objects between two reports of the progress.
  private static let reportedObjects = 256

  /// Has a new index reach the position of the old one.
  private func follow(
    _ build: inout IndexBuild,
    _ follower: inout Follower,
    _ pace: inout BuildPace,
    _ db: SQLiteConnection
  ) throws {
    var batches = 0
    while let token = follower.token, let position = build.position,
      token.generation == position.token.generation, token.number > position.token.number
    {
      batches += 1
      // A new index that the old one outruns would never be done.
      if batches > Self.pacedBatchesMax { pace.advances = false }
      try build.follow(db)
      try letAdvance(&follower, &pace, build, db)
    }
  }

  /// The number of batches of the log that a new index reads while the old one advances.
  private static let pacedBatchesMax = 50

  private func merge(
    _ build: IndexBuild,
    _ follower: inout Follower,
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
    _ follower: inout Follower,
    _ db: SQLiteConnection
  ) throws {
    let (view, position) = try build.swap(db)
    try documents.locked {
      try db.commit()
      documents.replace(view)
      vocabulary.forget()
    }
    follower.file.forgetWords()
    follower.position = position
    follower.followed = nil
    follower.isOutdated = false
    follower.unknownCount = try IndexFile.unknownCount(db)
    let oldest = try IndexFile.oldest(db)
    shared.withLock { $0.activity.oldest = oldest }
  }

  private func reached(_ follower: borrowing Follower) {
    shared.withLock { $0.buildsFrom = nil }
    if let token = follower.token { reached(token, isRebuilt: true) }
  }

  /// Lets the old index advance by a batch where it was asked to, between two transactions of the
  /// build.
  private func letAdvance(
    _ follower: inout Follower,
    _ pace: inout BuildPace,
    _ build: IndexBuild,
    _ db: SQLiteConnection
  ) throws {
    let (isStopped, isWanted) = shared.withLock { ($0.isStopped, $0.wantsAdvance) }
    // The next start builds the index from the beginning.
    guard !isStopped else { throw IndexStopped() }
    guard isWanted, pace.allowsPause() else { return }
    try build.interrupt(db) { pace.advances = try advanceBeside(&follower) }
    pace.resume()
  }

  /// Has the old index advance by a batch.
  ///
  /// - Returns: Whether it can advance further.
  private func advanceBeside(_ follower: inout Follower) throws -> Bool {
    shared.withLock { $0.wantsAdvance = false }
    guard try !follower.file.queue.use({ db in try IndexFile.isPaused(db) }) else { return false }
    guard let token = follower.token, let batch = try follower.source.batch(after: token)
    else { return false }
    do {
      try advance(&follower, by: batch)
    } catch is IndexMoved {
      try reload(&follower)
    } catch let error as SQLiteError where error.code == .constraint {
      return false
    }
    if batch.remainingCommits > 0 { shared.withLock { $0.wantsAdvance = true } }
    return true
  }

  /// Gives back the pages of the former index, some at a time, and empties SQLite's log.
  private func giveBackPages(_ follower: inout Follower) throws {
    // The next step builds the index anew.
    guard follower.file.isCurrent, !follower.file.hasLostLog else { return }
    try IndexFile.housekeeping {
      while try follower.file.queue.use({ db in try IndexFile.giveBackSomePages(db) }) {
        let (isStopped, isWanted) = shared.withLock { ($0.isStopped, $0.wantsAdvance) }
        if isStopped { return }
        if isWanted { _ = try advanceBeside(&follower) }
      }
    }
    try follower.file.emptyLog()
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

/// When a build lets the old index advance.
private struct BuildPace {
  /// Whether the old index can advance.
  var advances: Bool
  private let pauseMin: Duration
  private var last: ContinuousClock.Instant?

  init(advances: Bool, milliseconds: Int) {
    self.advances = advances
    pauseMin = .milliseconds(milliseconds)
  }

  /// Whether the build has worked long enough since its last pause.
  func allowsPause() -> Bool {
    advances && last.map { $0.duration(to: .now) >= pauseMin } ?? true
  }

  mutating func resume() { last = .now }
}
