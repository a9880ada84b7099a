// Spotlight: the full-text index, which follows the log, and the searches of it.
//
// Must not know: the store's tables, callers.
//
// What always holds:
// 1. The index commits its position with its rows: after a crash it repeats a batch or continues,
//    and never skips one.
// 2. Each change of an object adds a new document. Searches filter out the old, dead document, so
//    that its removal needs no former text.
// 3. Any text is a valid query.

import CSpotlight
package import CordialValues
import Dispatch
import FoundationEssentials
package import ObjectModel
package import PersistentHistory
import SQLite
import Synchronization

/// The full-text index of one store.
///
/// An attempt (`readLog`) is scheduled, runs on the queue, and ends:
/// - at the end of the log: the state is `ready`, and waiters up to its position are answered;
/// - with an error: the state is `failed`, and the waiters from before the attempt are answered;
/// - when the index is stopped: `stop()` answers all waiters, and no attempt is scheduled again.
///
/// Without disk space, the state is `paused`, and only time or an order begins the next attempt.
///
/// A commit or a waiter schedules the next attempt, which first removes a file that a search found
/// damaged.
package final class SearchIndex: LogFollower {
  package let layout: IndexLayout
  package let path: String
  private let processorTime: @Sendable () -> Int64
  private let whenDamaged: @Sendable (String) -> Void
  let makeSource: @Sendable () throws -> any DocumentSource
  let queue = DispatchQueue(label: "cordial.index", qos: .utility)
  let lease: IndexLease
  let leaseWaitMax: Int
  let buildMilliseconds: Int
  let documents: DocumentTable
  let vocabulary = Vocabulary()
  private let phraseCounts = PhraseCounts()
  let shared = Mutex(IndexState())
  let confined: Mutex<Follower?> = Mutex(nil)

  /// The state of the index's thread.
  struct Follower: ~Copyable, @unchecked Sendable {
    // Created and used on the index's queue only; the mutex around it is never contended.
    var file: IndexFile
    let source: any DocumentSource
    /// The position of the file.
    var position: IndexPosition?
    /// The position that the index has reached without another document; nil where it is that of
    /// the file.
    var followed: StoreToken?

    /// Whether another tokenizer or ICU has written the words of the file, which answers until a
    /// new index is built.
    var isOutdated = false
    /// The number of rows that name objects with unknown texts, about.
    var unknownCount: Int64 = 0

    /// The position that the index has reached.
    var token: StoreToken? { followed ?? position?.token }
  }

  /// Creates an index without opening it.
  ///
  /// - Parameters:
  ///   - path: The path of `index.sqlite`.
  ///   - model: The store's model.
  ///   - delegateVersion: A text that differs from the former one where the source now decides
  ///     differently what is indexed; nil where the model decides alone.
  ///   - keepsDocuments: Whether the documents are kept in memory for searches. Without them, each
  ///     search reads all documents from the file.
  ///   - leaseWaitMax: The time without an advance after which the lease is that of a process that
  ///     has stopped, in milliseconds.
  ///   - buildMilliseconds: The time that the build of a new index works before the old index
  ///     advances again.
  ///   - processorTime: Returns the processor time of the calling thread, in microseconds.
  ///   - whenDamaged: Called with what is wrong when a damaged file is removed, once for each file.
  ///   - makeSource: Creates the source of documents, on the index's thread.
  package init(
    path: String,
    model: Model,
    delegateVersion: String? = nil,
    keepsDocuments: Bool = true,
    leaseWaitMax: Int = 10_000,
    buildMilliseconds: Int = 50,
    processorTime: @escaping @Sendable () -> Int64 = { ThreadTime.microseconds },
    whenDamaged: @escaping @Sendable (String) -> Void = { _ in },
    makeSource: @escaping @Sendable () throws -> any DocumentSource
  ) {
    self.path = path
    lease = IndexLease(of: path)
    self.leaseWaitMax = leaseWaitMax
    self.buildMilliseconds = buildMilliseconds
    self.processorTime = processorTime
    self.whenDamaged = whenDamaged
    self.makeSource = makeSource
    layout = IndexLayout(model, delegateVersion: delegateVersion)
    documents = DocumentTable(boostCount: layout.boostCount, isKept: keepsDocuments)
  }

  package var status: IndexStatus { shared.withLock { $0.status } }

  /// What the index does at the moment, and what it has needed.
  package var activity: IndexActivity { shared.withLock { $0.activity } }

  /// The memory of the documents that searches read, in bytes.
  package var documentBytes: Int { documents.view.bytes }

  // MARK: Following

  package var statusName: String? { "spotlight" }

  package var position: StoreToken? { status.token }

  package var retention: HistoryRetention? {
    let (status, buildsFrom) = shared.withLock { ($0.status, $0.buildsFrom) }
    // A paused index is rebuilt where the log no longer has what it needs.
    guard status.state != .failed, status.state != .paused,
      let token = buildsFrom ?? status.token
    else { return nil }
    return HistoryRetention(number: token.number, reason: "the index, which is catching up")
  }

  /// The pause for gathering commits, which is longer after a large batch and after an empty one.
  ///
  /// A transaction of the index costs as much for one object as for fifty. When clients write many
  /// objects at a time, fewer and larger transactions cost far less. Where the last commits have
  /// indexed nothing, the next ones probably do not either. A search does not wait for the pause.
  package var pauseMilliseconds: Int {
    let count = shared.withLock { $0.lastBatchCount } ?? 1
    return count > 0 && count < Self.largeBatch ? 20 : 250
  }

  static let largeBatch = 1000

  package func wake(through commit: Int64) { follow() }

  /// Starts an attempt to read the log up to its end, unless one is already scheduled, or the index
  /// waits for disk space.
  package func follow() {
    let starts = shared.withLock { shared in
      shared.wantsAdvance = true
      guard !shared.isScheduled, !shared.isStopped else { return false }
      guard shared.fullPause == nil || !shared.orders.isEmpty else { return false }
      shared.isScheduled = true
      // Waiters registered from here on receive this attempt's result, not the previous one's.
      shared.forgetFailure()
      return true
    }
    if starts { queue.async { self.readLog() } }
  }

  /// Starts a rebuild of the index, after a search found damage in its file.
  package func startRebuild() {
    let file = FileIdentity(path)
    shared.withLock { $0.setDamaged(file) }
    follow()
  }

  package func reach(
    _ commit: StoreToken,
    for connection: Int,
    _ completion: @escaping @Sendable ((any Error)?) -> Void
  ) -> (@Sendable () -> Void)? {
    forgetRemovedFile()
    follow()
    let waiter = whenReached(commit.number) { reached in
      // A caller that waits for all followers does not wait for a paused index.
      let isAwaited = !reached && self.status.state != .paused
      completion(isAwaited ? self.lateness("\(commit)") : nil)
    }
    guard let waiter else { return nil }
    return { self.cancelWait(waiter) }
  }

  /// Ends the build of a new index, and lets no other build begin.
  ///
  /// Those who wait for it get an error. An index that needs no other one still follows the log.
  package func endBuilds() {
    let refused = shared.withLock { shared in
      shared.endsBuilds = true
      defer { shared.orders.removeAll(where: \.kind.buildsIndex) }
      return shared.orders.filter(\.kind.buildsIndex)
    }
    for order in refused { order.completion(.failure(SpotlightError.stopping)) }
  }

  /// Stops following the log after the current batch, or the current portion of a rebuild.
  package func stop() {
    shared.withLock { $0.isStopped = true }
    queue.sync {
      confined.withLock { follower in
        do {
          if let file = follower?.file, file.isCurrent, !file.hasLostLog {
            try file.archive(documents.view)
          }
          try follower?.file.emptyLog()
        } catch {
          // The next start reads the log.
        }
        follower = nil
      }
    }
    failWaiters()
    failOrders(SpotlightError.stopping)
  }

  func readLog() {
    dispatchPrecondition(condition: .onQueue(queue))
    guard takeLease() else { return awaitLease() }
    defer { lease.release() }
    let number = shared.withLock { shared in
      (shared.isScheduled, shared.isReading) = (false, true)
      shared.attempts += 1
      // The previous attempt may have failed after this one was scheduled.
      shared.forgetFailure()
      return shared.attempts
    }
    let start = processorTime()
    defer { endReading(processorTime() - start) }
    do {
      try readToEnd()
    } catch is IndexStopped {
      // The next start builds the index from the beginning.
      let (failed, isAwaited) = shared.withLock { shared in
        let failed = shared.takeWaiters { $0.attempts < number }
        return (failed, !shared.waiters.isEmpty || !shared.orders.isEmpty)
      }
      for waiter in failed { waiter.completion(false) }
      if isAwaited { follow() }
    } catch {
      failOrders(error)
      let isFull = Self.isFull(error)
      let (failed, hasWaiters, pause) = shared.withLock { shared in
        var pause: Int?
        if isFull {
          (shared.status.state, shared.status.reason) = (.paused, .diskFull)
          pause = min(2 * (shared.lastFullPause ?? 0), Self.fullPauseMax)
          pause = max(pause ?? 1, 1)
          (shared.fullPause, shared.lastFullPause) = (pause, pause)
        } else {
          (shared.status.state, shared.status.failure) = (.failed, error)
        }
        // Waiters registered since this attempt began receive the next attempt's result: disk space
        // may be available again.
        return (shared.takeWaiters { $0.attempts < number }, !shared.waiters.isEmpty, pause)
      }
      for waiter in failed { waiter.completion(false) }
      if let pause {
        queue.asyncAfter(deadline: .now() + .seconds(pause)) { [weak self] in
          self?.shared.withLock { $0.fullPause = nil }
          self?.follow()
        }
      } else if hasWaiters {
        follow()
      }
    }
  }

  /// The greatest pause of an index without disk space, in seconds; the first one is a second, and
  /// each one is twice as long as the one before it.
  private static let fullPauseMax = 16

  /// Ends an attempt, and the waits that began in it where the index is paused.
  private func endReading(_ microseconds: Int64) {
    let refused = shared.withLock { shared -> [IndexWaiter] in
      shared.isReading = false
      shared.activity.step = nil
      shared.activity.processorMicroseconds += microseconds
      return shared.isPaused && !shared.isScheduled ? shared.takeWaiters() : []
    }
    for waiter in refused { waiter.completion(false) }
  }

  private func readToEnd() throws {
    func read() throws { while try step(), !shared.withLock({ $0.isStopped }) {} }
    do {
      if shared.withLock({ $0.isDamaged }) { try removeFile() }
      try read()
      try mergePartsWhileReady()
    } catch let error as SQLiteError where isOfDamage(error) {
      // The index can be rebuilt from the store.
      let file = FileIdentity(path)
      shared.withLock { shared in
        if !shared.isDamaged { shared.setDamaged(file, error.message ?? "\(error)") }
        if error.code == .full { shared.wasFull = true }
      }
      try removeFile()
      try read()
    }
  }

  /// Whether an error is that of a damaged file.
  ///
  /// SQLite also takes a damaged file for a full one; another file may grow then. Where the new
  /// file is full too, the file was not to blame.
  func isOfDamage(_ error: SQLiteError) -> Bool {
    if error.isDamage { return true }
    return error.code == .full && !shared.withLock { $0.wasFull }
      && IndexSpace.shortage(besides: path) == nil
      && IndexSpace.temporaryShortage(besides: path) == nil
  }

  /// Removes a damaged file, unless another process has done so.
  private func removeFile() throws {
    let (file, damage) = shared.withLock { ($0.damagedFile, $0.damage) }
    if file == FileIdentity(path) {
      try IndexRemoval.remove(path)
      if file != nil { whenDamaged(damage) }
    }
    shared.withLock { ($0.isDamaged, $0.damagedFile) = (false, nil) }
  }

  /// Applies one batch, and returns whether more may follow.
  private func step() throws -> Bool {
    try confined.withLock { follower in
      if let file = follower?.file, file.hasLostLog {
        shared.withLock { $0.setDamaged(file.opened) }
        follower = nil
        throw SQLiteError(.corrupt, "The log of \(path) was removed")
      }
      // The file may have been removed or replaced.
      if follower?.file.isCurrent != true { follower = try open() }
      guard var current = follower.take() else { return false }
      if try current.file.queue.use({ db in try IndexFile.position(db) }) != current.position {
        // Another process has written to the file.
        try reload(&current)
      }
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

  func open(isPrepared: Bool = false) throws -> Follower {
    let source = try makeSource()
    let file = try IndexFile(path: path, layout: layout, isPrepared: isPrepared)
    let loaded = try load(file)
    documents.replace(loaded)
    let (isOutdated, hasManyParts) = try file.queue.use { db in
      (try IndexFile.isOutdated(db), try IndexFile.hasManyParts(db))
    }
    if hasManyParts { shared.withLock { $0.mergesParts = true } }
    if isOutdated, let token = loaded.position?.token {
      let done = shared.withLock { shared -> [IndexWaiter] in
        guard !shared.isDamaged else { return [] }
        shared.status = IndexStatus(
          token: token,
          documents: loaded.aliveCount,
          state: .rebuilding
        )
        return shared.takeWaiters { $0.number <= token.number }
      }
      // The index answers while a new one is built.
      for waiter in done { waiter.completion(true) }
    }
    return Follower(
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
    shared.withLock { shared in
      shared.activity.oldest = oldest
      shared.opened = file.opened
    }
    return loaded
  }

  /// Loads the changes that another process has made to the same file.
  func reload(_ follower: inout Follower) throws {
    let loaded = try load(follower.file)
    let (known, followed) = (follower.position, follower.followed)
    documents.replace(loaded)
    follower.position = loaded.position
    follower.followed = nil
    // Without another document, the commits up to here still index nothing.
    if let followed, let position = loaded.position, position.build == known?.build,
      position.next == known?.next, position.token.generation == followed.generation,
      position.token.number < followed.number
    {
      follower.followed = followed
      documents.follow(followed)
    }
    let hasMoved = known != loaded.position
    follower.isOutdated = try follower.file.queue.use { db in try IndexFile.isOutdated(db) }
    let token = follower.token
    let advances = shared.withLock { shared in
      if shared.status.token != nil { shared.status.token = token }
      return hasMoved ? Array(shared.advances.values) : []
    }
    for advance in advances { advance() }
  }

  // MARK: Waiting

  func reached(_ token: StoreToken, isRebuilt: Bool = false) {
    let count = documents.aliveCount
    let (done, advances) = shared.withLock {
      shared -> ([IndexWaiter], [@Sendable () -> Void]) in
      shared.lastFullPause = nil
      // A search found damage meanwhile; the next attempt rebuilds the index.
      guard !shared.isDamaged else { return ([], []) }
      let isAdvance = isRebuilt || shared.status.token != token
      let state = shared.buildsFrom == nil ? IndexStatus.State.ready : .rebuilding
      shared.status = IndexStatus(token: token, documents: count, state: state)
      let done = shared.takeWaiters { $0.number <= token.number }
      return (done, isAdvance ? Array(shared.advances.values) : [])
    }
    for waiter in done { waiter.completion(true) }
    for advance in advances { advance() }
  }

  private func failWaiters() {
    for waiter in shared.withLock({ $0.takeWaiters() }) { waiter.completion(false) }
  }

  // MARK: Searching

  /// Creates a connection for searches, for use by one thread.
  ///
  /// - Returns: The connection.
  /// - Throws: `SpotlightError`: `busy` while a damaged file is to be removed; `SQLiteError`.
  package func makeSearcher() throws -> IndexSearcher {
    guard !shared.withLock({ $0.isDamaged }) else { throw SpotlightError.beingBuilt }
    return try IndexSearcher(
      path: path,
      layout: layout,
      documents: documents,
      vocabulary: vocabulary,
      phraseCounts: phraseCounts,
      whenStale: { [weak self] in self?.follow() }
    )
  }
}
