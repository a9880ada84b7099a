// CordialService: sessions, request order, one handler for each method, limits, errors on the wire,
// and the pump that wakes the followers of the log.
//
// Must not know: SQL, file descriptors.
//
// What always holds:
// 1. Each request has exactly one outcome on every path.
// 2. A connection's requests are queued in the order in which their bytes arrive. `RequestQueue`
//    decides which requests run together.
// 3. All subscriptions of a connection move from one token to the next in one message.
// 4. The service stores one position for each connection, never a queue of changes.
// 5. State changes and effects do not overlap. A turn first changes state, then continues the
//    sessions that it has changed, and then writes to the sinks. An event that a sink reports
//    during a turn gets a turn of its own.

import CordialProtocol
import CordialValues
package import Indexing
import Interruptions
import JSON
package import JSONRPC
package import Logging
import ObjectModel
package import PersistentHistory
package import PersistentStore
import ProtocolSchemas
package import Spotlight
import Synchronization

/// The service of one store, its index and its connections, isolated to one loop.
package actor Service {
  package nonisolated let loop: any ServiceLoop
  package nonisolated let store: PersistentStore
  package nonisolated let index: SearchIndex
  package nonisolated let indexRules: IndexRules
  nonisolated let limits: Limits
  /// The memory of the messages of all connections, which other services of the process may share.
  package nonisolated let budget: ByteBudget
  /// The part of `budget` that counts the index's documents in memory.
  private nonisolated let indexMemory: ByteBudget.Kept
  nonisolated let facts: ServiceFacts
  let log: Logger
  /// The loop's own read connection, for requests that are answered on the loop.
  let loopReader: StoreReader
  package nonisolated let searches: SearchThreads
  /// The saves that the writer has executed and the loop has not answered, in order.
  nonisolated let executedSaves = Mutex<[ExecutedSave]>([])
  var sessions: [Int: Session] = [:]
  private var nextSession = 1
  /// The newest commit that this service knows; -1 before the service first reads the log.
  var newestCommit: Int64 = -1
  /// The newest commit of this service whose save is answered.
  var answeredCommit: Int64 = 0
  var subscriptionCount = 0
  var observing: ObservationEngine
  var disconnections = Disconnections()
  /// The name of the lease that makes other processes retain history for the subscriptions.
  nonisolated let leaseName: String
  /// The number of services that this process has created.
  private static let serviceCount = Atomic<Int>(0)
  /// The commit of the lease in the store; nil without a lease.
  var leasedCommit: Int64?
  /// Whether the last write of the lease failed, so that the store does not have `leasedCommit`.
  var leaseFailed = false
  /// Whether an automatic purge of the log is running.
  var isPurging = false
  /// The newest commit at the last check for history to remove, and the time of that check in
  /// microseconds; nil before the first check.
  var lastPurge: (commit: Int64, time: Int64)?
  /// The followers that the service wakes at the end of their current pause.
  var waking: Set<ObjectIdentifier> = []
  /// The components of this process that follow the log.
  ///
  /// To add a follower, add it to this list or pass it to the initializer.
  private(set) lazy var followers: [any LogFollower] =
    [SubscriptionFollower(self), index] + otherFollowers
  private let otherFollowers: [any LogFollower]
  /// An additional kind of live query; nil for none.
  let addedKind: AddedKind?
  /// The completion handler of `stop`; nil unless the service is stopping.
  var stopping: (@Sendable () -> Void)?
  /// Whether `stop` has completed, so that the service accepts no connection.
  var hasStopped = false
  var turn = Turn()
  /// Whether a check for peers that hold more than their share is scheduled.
  var watchesShares = false

  package nonisolated var unownedExecutor: UnownedSerialExecutor {
    unsafe loop.unownedExecutor
  }

  /// The facts about the program that runs a service.
  package struct ServiceFacts: Sendable {
    package let name: String
    package let version: String
    /// The name of the process, which the history stores with each commit.
    package let process: String
    /// A monotonic clock, in microseconds.
    package let clock: @Sendable () -> Int64

    package init(
      name: String,
      version: String,
      process: String,
      clock: @escaping @Sendable () -> Int64
    ) {
      self.name = name
      self.version = version
      self.process = process
      self.clock = clock
    }
  }

  /// Creates the service of an open store.
  ///
  /// - Parameters:
  ///   - store: The store.
  ///   - index: The search index of the store.
  ///   - indexRules: The rules that decide which texts of the store's objects are indexed.
  ///   - loop: The loop to which the service is isolated.
  ///   - limits: The limits of the service.
  ///   - budget: The message memory, shared with other services; nil for a new budget.
  ///   - facts: The facts about the program.
  ///   - followers: Further followers of the log.
  ///   - addedKind: An additional kind of live query; nil for none.
  ///   - log: The logger.
  /// - Throws: `SQLiteError` when the store cannot be read.
  package init(
    store: PersistentStore,
    index: SearchIndex,
    indexRules: IndexRules,
    loop: any ServiceLoop,
    limits: Limits,
    budget: ByteBudget? = nil,
    facts: ServiceFacts,
    followers: [any LogFollower] = [],
    addedKind: AddedKind? = nil,
    log: Logger
  ) throws {
    self.store = store
    self.index = index
    self.indexRules = indexRules
    otherFollowers = followers
    self.addedKind = addedKind
    self.loop = loop
    self.limits = limits
    self.budget = budget ?? ByteBudget(processBytesMax: limits.processBytesMax)
    indexMemory = self.budget.keep()
    observing = ObservationEngine(limits, self.budget)
    self.facts = facts
    self.log = log
    let service = Self.serviceCount.add(1, ordering: .relaxed).newValue
    leaseName = "\(facts.process) \(service)"
    loopReader = try store.makeReader()
    try loopReader.limitToLoop()
    searches = SearchThreads(store: store, index: index)
    countIndex()
    _ = index.whenAdvanced { [weak self] in
      self?.countIndex()
      self?.onLoop { service in service.refreshSearches() }
    }
  }

  /// Counts the memory of the index's documents, up to a quarter of the budget.
  ///
  /// The limit leaves memory for messages, however large the store is.
  private nonisolated func countIndex() {
    indexMemory.set(min(index.documentBytes, budget.announcedMax / 4))
  }

  // MARK: Connections

  /// Opens a session with a new peer.
  ///
  /// - Parameters:
  ///   - sink: The destination of the session's bytes.
  ///   - framing: The framing, or nil to detect it from the first bytes.
  ///   - dialects: The dialects that the peer may use, one for each framing.
  ///   - closesOnUnknownFraming: Whether bytes of unknown framing close the connection, as on a
  ///     socket.
  /// - Returns: The session number, or nil if the service refused the session and closed the sink.
  package func connect(
    _ sink: any ByteSink,
    framing: Framing?,
    dialects: [Dialect] = Dialect.all,
    closesOnUnknownFraming: Bool
  ) -> Int? {
    let peer = Peer(
      framing: framing,
      dialects: dialects,
      limits: limits.messages,
      closesOnUnknownFraming: closesOnUnknownFraming,
      account: budget.open(),
      isPreceded: Method.isPreceded(named:)
    )
    return connect(sink, peer)
  }

  /// Opens a session.
  ///
  /// - Parameters:
  ///   - sink: The destination of the session's bytes.
  ///   - peer: The state of the connection; `proceed(session:)` handles its received messages.
  /// - Returns: The session number, or nil if the service refused the session and closed the sink.
  package func connect(_ sink: any ByteSink, _ peer: Peer) -> Int? {
    guard stopping == nil, !hasStopped else {
      peer.account.close()
      sink.close(exitCode: 0)
      return nil
    }
    guard sessions.count < limits.connectionsMax else {
      peer.account.close()
      let error = Limits.exceeded(
        "connections",
        max: limits.connectionsMax,
        "There are too many connections"
      )
      sink.write([Framing.line.frame(MessageWriter.error(.null, error))])
      sink.close(exitCode: 1)
      return nil
    }
    let number = nextSession
    nextSession += 1
    peer.account.whenDropped { [weak self] in
      self?.onLoop { service in service.dropUnfinished(session: number) }
    }
    sessions[number] = Session(number: number, sink: sink, peer: peer, readsMax: limits.readsMax)
    return number
  }

  /// Handles the messages that a peer sent before its session was opened.
  package func proceed(session number: Int) {
    perform { service in
      guard let session = service.sessions[number] else { return }
      session.peer.dropIfAsked()
      service.handlePending(session)
      service.markChanged(session)
    }
  }

  /// Receives bytes from a peer.
  package func receive(_ bytes: Span<UInt8>, session number: Int) {
    guard beginTurn() else {
      let copy = bytes.indices.map { bytes[$0] }
      return onLoop { $0.process(copy.span, session: number) }
    }
    process(bytes, session: number)
    endTurn()
  }

  private func process(_ bytes: Span<UInt8>, session number: Int) {
    guard let session = sessions[number] else { return }
    session.peer.receive(bytes)
    handlePending(session)
    markChanged(session)
  }

  /// Stops reading a peer that has too many pending requests, until all of its requests are
  /// answered.
  func updateReading(_ session: Session) {
    let isOverLimit =
      session.peer.requestBytes > limits.inFlightBytesMax
      || session.peer.unansweredCount > 2 * limits.inFlightMax
      || session.peer.heldBytes > limits.heldBytesMax
      || budget.isFullOfRequests && session.peer.requestBytes > 0
    // After a pause, a peer is read again when all its requests are answered.
    let pausesReading = isOverLimit || session.isReadingPaused && !session.queue.isEmpty
    guard pausesReading != session.isReadingPaused else { return }
    session.isReadingPaused = pausesReading
    session.sink.setReading(!pausesReading)
  }

  /// Ends the input of a connection, which is closed after all its requests are answered.
  package func endInput(session number: Int) {
    perform { service in
      guard let session = service.sessions[number] else { return }
      session.peer.endInput()
      service.handlePending(session)
      service.markChanged(session)
    }
  }

  /// Continues a connection whose peer accepts bytes again.
  package func becameWritable(session number: Int) {
    perform { service in
      guard let session = service.sessions[number] else { return }
      service.markChanged(session)
    }
  }

  /// Removes a connection that has ended.
  ///
  /// The service stops the connection's running requests if possible, and does not answer them.
  package func disconnected(session number: Int) {
    perform { service in
      guard let session = service.sessions.removeValue(forKey: number) else { return }
      session.peer.disconnect()
      session.running.stopAll(.disconnected)
      service.store.endStoppedSaves()
      service.removeSubscriptions(of: session)
      service.finishStopping()
    }
  }

  /// The number of open connections.
  package var connectionCount: Int { sessions.count }

  // MARK: Requests

  /// Handles the messages that a peer has sent.
  func handlePending(_ session: Session) {
    while let event = session.peer.next() {
      switch event {
      case .request(let request): dispatch(request, session)
      case .cancellation(let id): cancel(id, session)
      }
    }
  }

  private func cancel(_ id: RequestID, _ session: Session) {
    guard let request = session.queue.cancel(id) else {
      session.running.cancel(id)
      return store.endStoppedSaves()
    }
    end(request, RPCError(.requestCancelled, "The request was cancelled before it began"), session)
  }

  private func dispatch(_ received: Peer.Request, _ session: Session) {
    do throws(RPCError) {
      let request = try admit(received, session)
      if let key = request.method.searchKey(in: request.params) { endSearches(for: key, session) }
      session.queue.add(request)
    } catch {
      return session.peer.respond(.failure(error), to: received)
    }
    startRequests(session)
  }

  /// Checks a received request, and returns it as an element for the queue.
  private func admit(
    _ received: Peer.Request,
    _ session: Session
  ) throws(RPCError) -> Request {
    guard let method = MethodTable.method(named: received.method), method.isRequest else {
      throw RPCError(
        .methodNotFound,
        "There is no method \(received.method.excerpt)",
        data: .object([.hint: "rpc.discover lists all methods"])
      )
    }
    if let mismatch = store.mismatch, !method.traits.contains(.needsNoModel) {
      throw RPCError(mismatch)
    }
    guard session.queue.count < limits.inFlightMax else {
      throw Limits.exceeded(
        "inFlight",
        max: limits.inFlightMax,
        "This connection has too many pending requests"
      )
    }
    let timeoutSeconds = try TimeLimit.seconds(of: received.params, method.name)
    session.nextSerial += 1
    return Request(
      session: session.number,
      serial: session.nextSerial,
      received: received,
      method: method,
      timeoutSeconds: timeoutSeconds,
      isCheap: method.traits.contains(.overtakesIfSmall) && Self.namesFewObjects(received.params)
        && !received.isInBatch && !session.peer.keepsOrder
    )
  }

  /// Cancels the earlier searches for a subscription key, because a new `observe` with that key
  /// replaces them.
  private func endSearches(for key: String, _ session: Session) {
    session.running.cancel(key: key)
    let waiting = session.queue.cancel { $0.method.searchKey(in: $0.params) == key }
    for request in waiting {
      end(request, RPCError(.requestCancelled, "Another observe has replaced this one"), session)
    }
  }

  /// Starts the waiting requests of a connection that may begin.
  func startRequests(_ session: Session) {
    // While a peer does not accept the bytes of its responses, its waiting requests do not start.
    while session.isWritable, !waitsForChanges(session), var request = session.queue.next {
      guard session.countStart(turn: turn.number, max: turn.startsMax) else {
        turn.waitingSessions.insert(session.number)
        return
      }
      do throws(RPCError) {
        guard try admit(&request, session) else { return }
      } catch {
        session.queue.startNext()
        finish(request, .failure(error))
        continue
      }
      session.queue.startNext()
      do {
        try begin(request, session)
      } catch {
        finish(request, .failure(RPCError(any: error)))
      }
    }
  }
}

extension Method {
  /// Returns the subscription key of the earlier searches that a request replaces; nil if the
  /// request replaces no search.
  fileprivate func searchKey(in params: JSONValue) -> String? {
    guard traits.contains(.endsSearchOfKey), params[.search] != nil else { return nil }
    return params[.key]?.string
  }
}
