// Spotlight: a follower that keeps the index, and answers what people type.
//
// Must not know: the store's tables, who asks.
//
// What always holds:
// 1. The index's position is committed with its rows: after a crash it repeats a batch or goes on,
//    and never skips one.
// 2. A document that changes is a new document; the old one is dead and is filtered out, so no
//    text of the past is needed to take it out.
// 3. Any text is a valid query.

import CSpotlight
package import CordialValues
import Dispatch
import FoundationEssentials
package import ObjectModel
package import PersistentHistory
import SQLite
import Synchronization

/// How far the index is.
package struct IndexStatus: Sendable {
  /// What the index does.
  package enum State: String, Sendable {
    case ready, catchingUp, failed
  }

  package var token: StoreToken?
  package var documents: Int64
  package var state: State
  /// Why it failed, nil when it did not.
  package var failure: (any Error)?
}

/// The full-text index of one store.
package final class SearchIndex: LogFollower {
  package let layout: IndexLayout
  private let path: String
  private let makeSource: @Sendable () throws -> any DocumentSource
  private let queue = DispatchQueue(label: "cordial.index", qos: .utility)
  private let documents = DocumentTable()
  private let shared = Mutex(Shared())
  private let confined: Mutex<Follower?> = Mutex(nil)

  private struct Waiter {
    let number: Int64
    /// How many tries had begun when it came; what becomes of those says nothing to it.
    let tries: Int
    let completion: @Sendable (Bool) -> Void
  }

  private struct Shared {
    var status = IndexStatus(token: nil, documents: 0, state: .catchingUp)
    var lastBatchCount = 0
    var isScheduled = false
    /// How often the index began to read on.
    var tries = 0
    var isStopped = false
    /// Whether a search met damage in the file, which is then made anew.
    var isDamaged = false
    var waiters: [Int: Waiter] = [:]
    var nextWaiter = 0
  }

  /// What the index's thread keeps.
  private struct Follower: ~Copyable, @unchecked Sendable {
    // Made on the index's queue and used there only; the mutex around it is never contended.
    let file: IndexFile
    let source: any DocumentSource
    var position: IndexPosition?
  }

  /// An index that is not opened yet.
  ///
  /// - Parameters:
  ///   - path: The path of `index.sqlite`.
  ///   - model: The store's model.
  ///   - makeSource: Makes what the index reads from, on the index's thread.
  package init(
    path: String,
    model: Model,
    makeSource: @escaping @Sendable () throws -> any DocumentSource
  ) {
    self.path = path
    self.makeSource = makeSource
    layout = IndexLayout(model)
  }

  package var status: IndexStatus { shared.withLock { $0.status } }

  // MARK: Following

  package var statusName: String? { "spotlight" }

  package var position: StoreToken? { status.token }

  package var retention: HistoryRetention? {
    let status = status
    guard status.state != .failed, let token = status.token else { return nil }
    return HistoryRetention(number: token.number, reason: "the index, which is catching up")
  }

  /// A transaction of the index costs as much for one object as for fifty; where much is written at
  /// a time, fewer and larger ones cost far less.
  package var pauseMilliseconds: Int {
    shared.withLock { $0.lastBatchCount } < Self.largeBatch ? 20 : 250
  }

  private static let largeBatch = 1000

  package func wake(through commit: Int64) { follow() }

  /// Has the index read on in the log; it does so until it has reached the end.
  package func follow() {
    let starts = shared.withLock { shared in
      guard !shared.isScheduled, !shared.isStopped else { return false }
      shared.isScheduled = true
      // Who waits from now on waits for what this try comes to, and not for the one before.
      if shared.status.state == .failed {
        shared.status.state = .catchingUp
        shared.status.failure = nil
      }
      return true
    }
    if starts { queue.async { self.readOn() } }
  }

  /// Has the index made anew, since a search met damage in its file.
  package func makeAnew() {
    shared.withLock { shared in
      shared.isDamaged = true
      shared.status = IndexStatus(token: nil, documents: 0, state: .catchingUp)
    }
    follow()
  }

  package func reach(
    _ commit: StoreToken,
    for connection: Int,
    _ completion: @escaping @Sendable ((any Error)?) -> Void
  ) -> (@Sendable () -> Void)? {
    follow()
    let waiter = whenReached(commit.number) { reached in
      completion(reached ? nil : self.lateness("\(commit)"))
    }
    guard let waiter else { return nil }
    return { self.giveUp(waiter) }
  }

  /// Returns why the index has not come as far as a client asked.
  ///
  /// - Parameter commit: What the client waited for.
  /// - Returns: Why reading failed, or that it took too long.
  package func lateness(_ commit: String) -> any Error {
    status.failure ?? SpotlightError(.busy, "The index did not reach \(commit) in time")
  }

  /// Ends following after the present batch.
  package func stop() {
    shared.withLock { $0.isStopped = true }
    queue.sync { confined.withLock { $0 = nil } }
    failWaiters()
  }

  private func readOn() {
    dispatchPrecondition(condition: .onQueue(queue))
    let number = shared.withLock { shared in
      shared.isScheduled = false
      shared.tries += 1
      return shared.tries
    }
    do {
      try readToEnd()
    } catch {
      let (failed, areMore) = shared.withLock { shared in
        shared.status.state = .failed
        shared.status.failure = error
        // Who came since this try began waits for the next: there may be room again.
        let failed = shared.waiters.filter { $0.value.tries < number }
        for waiter in failed.keys { shared.waiters[waiter] = nil }
        return (failed.values.map(\.completion), !shared.waiters.isEmpty)
      }
      failed.forEach { $0(false) }
      if areMore { follow() }
    }
  }

  private func readToEnd() throws {
    func read() throws { while try step(), !shared.withLock({ $0.isStopped }) {} }
    let isDamaged = shared.withLock { shared in
      defer { shared.isDamaged = false }
      return shared.isDamaged
    }
    do {
      if isDamaged { try IndexRemoval.remove(path) }
      try read()
    } catch let error as SQLiteError
      where [.corrupt, .notADatabase].contains(error.code)
    {
      // Everything in it can be made again from the store.
      try IndexRemoval.remove(path)
      try read()
    }
  }

  /// Takes one batch in; false when there is nothing more.
  private func step() throws -> Bool {
    try confined.withLock { follower in
      // Somebody may have removed the file, or put another in its place.
      if follower?.file.isCurrent != true { follower = try open() }
      guard var current = follower.take() else { return false }
      // When this throws, what was half done is rolled back, and the next try opens the file again.
      let more = try step(&current)
      follower = consume current
      return more
    }
  }

  private func step(_ follower: inout Follower) throws -> Bool {
    guard let token = follower.position?.token,
      let batch = try follower.source.batch(after: token)
    else {
      try rebuild(&follower)
      return true
    }
    do {
      if batch.through != token { try apply(batch, &follower) }
    } catch is IndexMoved {
      try reload(&follower)
      return true
    } catch let error as SQLiteError where error.code == .constraint {
      // It has what the log says is new: only the store knows what is right.
      try rebuild(&follower)
      return true
    }
    let count = batch.documents.count
    shared.withLock { $0.lastBatchCount = count }
    reached(batch.through, isReady: batch.behind == 0)
    let dead = documents.deadCount
    if dead > Self.deadMax, dead > documents.aliveCount { try rebuild(&follower) }
    return batch.behind > 0
  }

  /// Dead documents are swept when they are more than the living, and more than this.
  private static let deadMax: Int64 = 50_000

  private func open() throws -> Follower {
    let source = try makeSource()
    let file = try IndexFile(path: path, layout: layout)
    let loaded = try file.load()
    documents.replace(loaded.position, arrivals: loaded.documents)
    return Follower(file: file, source: source, position: loaded.position)
  }

  private func apply(_ batch: IndexBatch, _ follower: inout Follower) throws {
    let file = follower.file
    guard let known = follower.position else { throw IndexMoved() }
    let (_, _, reached) = try file.transaction(documents) {
      db -> ([DocumentTable.Arrival], [Int64], IndexPosition) in
      guard try IndexFile.position(db) == known else { throw IndexMoved() }
      var position = known
      position.token = batch.through
      var arrivals: [DocumentTable.Arrival] = []
      var departures: [Int64] = []
      for document in batch.documents {
        if !document.isNew, let gone = try file.remove(document.key) {
          departures.append(gone)
        }
        guard document.texts != nil else { continue }
        arrivals.append(try file.insert(position.next, document))
        position.next += 1
      }
      try file.set(position)
      return (arrivals, departures, position)
    } known: { arrivals, departures, position in
      documents.apply(position, arrivals: arrivals, departures: departures)
    }
    follower.position = reached
  }

  /// Takes up what another process that follows into the same file has done.
  private func reload(_ follower: inout Follower) throws {
    let loaded = try follower.file.load()
    documents.replace(loaded.position, arrivals: loaded.documents)
    follower.position = loaded.position
  }

  /// Makes the index anew from the store, in one transaction: until then searches see the old one.
  private func rebuild(_ follower: inout Follower) throws {
    let file = follower.file
    let source = follower.source
    let (_, position) = try file.transaction(documents) {
      db -> ([DocumentTable.Arrival], IndexPosition) in
      let build = try IndexFile.position(db)?.build ?? 0
      try file.removeEverything(db)
      var arrivals: [DocumentTable.Arrival] = []
      let token = try source.everything { portion in
        for document in portion where document.texts != nil {
          arrivals.append(try file.insert(Int64(arrivals.count + 1), document))
        }
      }
      let position = IndexPosition(
        token: token,
        build: build + 1,
        next: Int64(arrivals.count + 1)
      )
      try file.set(position)
      return (arrivals, position)
    } known: { arrivals, position in
      documents.replace(position, arrivals: arrivals)
    }
    follower.position = position
    reached(position.token, isReady: false)
  }

  // MARK: Waiting

  private func reached(_ token: StoreToken, isReady: Bool) {
    let count = documents.aliveCount
    let done = shared.withLock { shared in
      shared.status = IndexStatus(
        token: token,
        documents: count,
        state: isReady ? .ready : .catchingUp
      )
      let done = shared.waiters.filter { $0.value.number <= token.number }
      for number in done.keys { shared.waiters[number] = nil }
      return done.values.map(\.completion)
    }
    done.forEach { $0(true) }
  }

  private func failWaiters() {
    let waiting = shared.withLock { shared in
      defer { shared.waiters = [:] }
      return shared.waiters.values.map(\.completion)
    }
    waiting.forEach { $0(false) }
  }

  /// Calls back once the index has reached a commit.
  ///
  /// - Parameters:
  ///   - number: The number of the commit.
  ///   - completion: Called on any thread, at once when it is reached already; with false when the
  ///     index failed or `giveUp` was called.
  /// - Returns: What to give up with, nil when it was called already.
  package func whenReached(
    _ number: Int64,
    _ completion: @escaping @Sendable (Bool) -> Void
  ) -> Int? {
    enum Outcome { case now(Bool), later(Int) }
    let outcome = shared.withLock { shared -> Outcome in
      if let token = shared.status.token, token.number >= number { return .now(true) }
      if shared.isStopped || shared.status.state == .failed && !shared.isScheduled {
        return .now(false)
      }
      shared.nextWaiter += 1
      shared.waiters[shared.nextWaiter] = Waiter(
        number: number,
        tries: shared.tries,
        completion: completion
      )
      return .later(shared.nextWaiter)
    }
    switch outcome {
    case .now(let reached):
      completion(reached)
      return nil
    case .later(let waiter): return waiter
    }
  }

  /// Ends waiting: what was to be called back is, with false, unless it was already.
  package func giveUp(_ waiter: Int) {
    let completion = shared.withLock { $0.waiters.removeValue(forKey: waiter)?.completion }
    completion?(false)
  }

  // MARK: Searching

  /// A connection for searching, for one thread to keep.
  ///
  /// - Returns: The connection.
  /// - Throws: `SQLiteError`.
  package func makeSearcher() throws -> IndexSearcher {
    try IndexSearcher(path: path, layout: layout, documents: documents)
  }
}

/// Another process has written to the index since this one looked.
private struct IndexMoved: Error {}

/// Removing the files of an index.
enum IndexRemoval {
  /// Removes what is there, so that SQLite makes a new file in its place.
  static func remove(_ path: String) throws {
    for file in [path, path + "-wal", path + "-shm"]
    where FileManager.default.fileExists(atPath: file) {
      try FileManager.default.removeItem(atPath: file)
    }
  }
}
