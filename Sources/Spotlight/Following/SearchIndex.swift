// Spotlight: the full-text index, which follows the log and answers searches.
//
// Must not know: the store's tables, callers.
//
// What always holds:
// 1. The index commits its position with its rows: after a crash, the index repeats a batch or
//    continues, and never skips a batch.
// 2. Each change of an object adds a new document. Searches filter out the dead document of the
//    previous content, so that its removal needs no former text.
// 3. Any text is a valid query.

import CSpotlight
package import CordialValues
import Dispatch
import FoundationEssentials
package import ObjectModel
package import PersistentHistory
import SQLite
import Synchronization

/// The use that a process makes of the index of a store.
package enum IndexUse: Sendable {
  /// Many searches: the index keeps the documents in memory.
  case searches
  /// Few searches: each search reads all documents from the file.
  case fewSearches
  /// Few searches or none: the index reads the log only for a search or an order, not at commits.
  case onDemand
}

/// The full-text index of one store.
///
/// `IndexState`, a value, decides when the index reads the log and which callers it answers. This
/// class reports events to the value, and carries out the effects that the value returns.
package final class SearchIndex: LogFollower {
  package let layout: IndexLayout
  package let path: String
  let processorTime: @Sendable () -> Int64
  let whenDamaged: @Sendable (String) -> Void
  let makeSource: @Sendable () throws -> any DocumentSource
  let lease: IndexLease
  let buildMilliseconds: Int
  private let use: IndexUse
  let documents: DocumentTable
  let vocabulary = Vocabulary()
  private let termCache = TermCache()
  /// The present synonyms of the model and of the file beside the index.
  package let synonyms: SynonymSource
  let state: Mutex<IndexState>
  let thread = IndexThread()

  /// Creates an index without opening it.
  ///
  /// - Parameters:
  ///   - path: The path of `index.sqlite`.
  ///   - folder: The folder of `synonyms.txt`; nil for the folder of the index.
  ///   - model: The store's model.
  ///   - delegateVersion: The version of the delegate's rules that select the texts to index; nil
  ///     if only the model selects them.
  ///   - use: The use that the process makes of the index.
  ///   - leaseWaitMax: The time without an advance, in milliseconds, after which the lease holder
  ///     counts as stopped.
  ///   - buildMilliseconds: The minimum time that a build of a new index works before the old index
  ///     advances again.
  ///   - processorTime: Returns the processor time of the calling thread, in microseconds.
  ///   - now: Returns the time at which a file of synonyms is read, in milliseconds since 1970.
  ///   - whenDamaged: Called with a description of the damage when a damaged file is removed, once
  ///     for each file.
  ///   - makeSource: Creates the source of documents, on the index's thread.
  package init(
    path: String,
    folder: String? = nil,
    model: Model,
    delegateVersion: String? = nil,
    use: IndexUse = .searches,
    leaseWaitMax: Int = 10_000,
    buildMilliseconds: Int = 50,
    processorTime: @escaping @Sendable () -> Int64 = { ThreadTime.microseconds },
    now: @escaping @Sendable () -> Int64 = { 0 },
    whenDamaged: @escaping @Sendable (String) -> Void = { _ in },
    makeSource: @escaping @Sendable () throws -> any DocumentSource
  ) {
    self.path = path
    lease = IndexLease(of: path)
    state = Mutex(IndexState(leaseWaitMax: leaseWaitMax))
    self.buildMilliseconds = buildMilliseconds
    self.processorTime = processorTime
    self.whenDamaged = whenDamaged
    self.makeSource = makeSource
    layout = IndexLayout(model, delegateVersion: delegateVersion)
    let components = path.split(separator: "/", omittingEmptySubsequences: false)
    synonyms = SynonymSource(
      model,
      layout,
      in: folder ?? components.dropLast().joined(separator: "/"),
      now: now
    )
    documents = DocumentTable(boostCount: layout.boostCount, isKept: use == .searches)
    self.use = use
  }

  package var status: IndexStatus { state.withLock { $0.status } }

  /// The present step of the index, and the processor time that the index has used.
  package var activity: IndexActivity { state.withLock { $0.activity } }

  /// The size in memory of the documents that searches read, in bytes.
  package var documentBytes: Int { documents.view.bytes }

  /// The fraction of dead documents, those of former texts and deleted objects, from 0 to 1.
  package var deadFraction: Double {
    let dead = Double(documents.deadCount)
    let all = dead + Double(documents.aliveCount)
    return all > 0 ? dead / all : 0
  }

  // MARK: Following

  package var statusName: String? { "spotlight" }

  package var position: StoreToken? { status.token }

  package var retention: HistoryRetention? {
    guard let token = state.withLock({ $0.retained }) else { return nil }
    return HistoryRetention(number: token.number, reason: "the index, which is catching up")
  }

  /// The pause for gathering commits, which is longer after a large batch and after an empty one.
  ///
  /// A transaction of the index costs as much for one object as for fifty. When clients write many
  /// objects at a time, fewer and larger transactions cost far less. If the last commits have
  /// indexed nothing, the next commits probably index nothing either. A search does not wait for
  /// the pause.
  package var pauseMilliseconds: Int {
    let count = state.withLock { $0.lastBatchCount } ?? 1
    return count > 0 && count < Self.largeBatch ? 20 : 250
  }

  static let largeBatch = 1000

  /// Whether each commit makes the index read the log.
  package var followsCommits: Bool { use != .onDemand }

  package func wake(through commit: Int64) {
    if followsCommits { follow() }
  }

  /// Starts an attempt to read the log to its end; if an attempt is running, a second one follows.
  ///
  /// Nothing starts while an attempt is scheduled, while the index waits for disk space without an
  /// order, and after `stop`.
  package func follow() { handle(.wake) }

  /// Starts a rebuild of the index, after a search found damage in its file.
  package func startRebuild() { handle(.foundDamage(FileIdentity(path))) }

  /// Ends the build of a new index, and lets no other build begin.
  ///
  /// Clients that wait for the build receive an error. An index that needs no rebuild still follows
  /// the log.
  package func endBuilds() { handle(.endBuilds) }

  /// Stops following the log after the current batch, or the current portion of a rebuild.
  ///
  /// Orders that have not begun get an error, and waits end: the next start reads the log.
  package func stop() {
    handle(.stop)
    thread.queue.sync { close() }
    handle(.closed)
  }

  // MARK: Searching

  /// Creates a connection for searches, for use by one thread.
  ///
  /// - Returns: The connection.
  /// - Throws: `SpotlightError` with the code `busy` until a damaged file is removed;
  ///   `SQLiteError`.
  package func makeSearcher() throws -> IndexSearcher {
    guard state.withLock({ $0.allowsSearches }) else { throw SpotlightError.beingBuilt }
    return try IndexSearcher(
      path: path,
      layout: layout,
      documents: documents,
      vocabulary: vocabulary,
      termCache: termCache,
      synonyms: synonyms,
      whenStale: { [weak self] in self?.follow() }
    )
  }

  // MARK: Events

  /// Passes an event to the state, and carries out the resulting effects.
  func handle(_ event: IndexEvent) { perform(state.withLock { $0.handle(event) }) }

  /// Reports a finding of an attempt.
  func found(_ finding: IndexFinding) { handle(.found(finding)) }

  func perform(_ effects: [IndexEffect]) {
    for effect in effects {
      switch effect {
      case .schedule(let pause): schedule(after: pause)
      case .awaitSpace(let number, let seconds):
        thread.queue.asyncAfter(deadline: .now() + .seconds(seconds)) { [weak self] in
          self?.handle(.spaceDue(number))
        }
      case .read: readLog()
      case .readOthers:
        do {
          try readOthers()
        } catch {
          // The attempt that gets the lease hits the same error and reports it.
        }
      case .answer(let waiters, let hasReached):
        for waiter in waiters { waiter.completion(hasReached) }
      case .complete(let orders, let result):
        for order in orders { order.completion(result) }
      case .report(let bodies):
        for body in bodies { body() }
      }
    }
  }

  private func schedule(after milliseconds: Int) {
    guard milliseconds > 0 else { return thread.queue.async { self.attempt() } }
    thread.queue.asyncAfter(deadline: .now() + .milliseconds(milliseconds)) { [weak self] in
      self?.attempt()
    }
  }

  private func attempt() {
    let hasLease = lease.take()
    defer { lease.release() }
    handle(.due(hasLease: hasLease))
  }
}
