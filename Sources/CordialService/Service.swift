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
import Interruptions
import JSON
package import JSONRPC
package import Logging
import ObjectModel
package import PersistentHistory
package import PersistentStore
package import Spotlight
import Synchronization

/// The service of one store, its index and its connections, isolated to one loop.
package actor Service {
  package nonisolated let loop: any ServiceLoop
  package nonisolated let store: PersistentStore
  package nonisolated let index: SearchIndex
  nonisolated let limits: Limits
  /// The memory of the messages of all connections, which other services of the process may share.
  package nonisolated let budget: ByteBudget
  /// What counts the documents of the index that searches read in memory.
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
  /// The name of the lease by which other processes retain the history for the subscriptions.
  nonisolated let leaseName: String
  /// The number of services that this process has created.
  private static let serviceCount = Atomic<Int>(0)
  /// The commit of the lease in the store; nil without a lease.
  var leasedCommit: Int64?
  /// Whether the lease could not be written as `leasedCommit` says.
  var leaseFailed = false
  /// Whether an automatic purge of the log is running.
  var isPurging = false
  /// The newest commit and the time, in microseconds, of the last check of the log's size and age.
  var lastPurge: (commit: Int64, time: Int64)?
  /// The followers whose pause is running; the end of the pause wakes them.
  var waking: Set<ObjectIdentifier> = []
  /// The components of this process that follow the log.
  ///
  /// A new follower is added to this list or is passed to the initializer.
  private(set) lazy var followers: [any LogFollower] =
    [SubscriptionFollower(self), index] + otherFollowers
  private let otherFollowers: [any LogFollower]
  /// A kind of live query beside those of the service; nil for none.
  let addedKind: AddedKind?
  /// What `stop` calls at its end; nil unless the service is stopping.
  var stopping: (@Sendable () -> Void)?
  /// Whether `stop` has completed; no connection is accepted any more.
  var hasStopped = false
  var turn = Turn()
  /// Whether a timer will look for peers that hold more than their share.
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
  ///   - loop: The loop to which the service is isolated.
  ///   - limits: The limits of the service.
  ///   - budget: The memory of messages that the service shares with others; nil for its own.
  ///   - facts: The facts about the program.
  ///   - followers: Further followers of the log.
  ///   - addedKind: A kind of live query beside those of the service; nil for none.
  ///   - log: The logger.
  /// - Throws: `SQLiteError` when the store cannot be read.
  package init(
    store: PersistentStore,
    index: SearchIndex,
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

  /// Counts the documents that the index has now, up to a quarter of the memory, so that messages
  /// have room however large the store is.
  private nonisolated func countIndex() {
    indexMemory.set(min(index.documentBytes, budget.announcedMax / 4))
  }

  // MARK: Connections

  /// Opens a session.
  ///
  /// - Parameters:
  ///   - sink: The destination of the session's bytes.
  ///   - framing: The framing, or nil to detect it from the first bytes.
  ///   - dialects: The dialects by which the peer may speak, one for each framing.
  ///   - closesOnUnknownFraming: Whether bytes of unknown framing close the connection, as on a
  ///     socket.
  /// - Returns: The number of the session, or nil if the service refused it and closed the sink.
  package func connect(
    _ sink: any ByteSink,
    framing: Framing?,
    dialects: [Dialect] = Dialect.all,
    closesOnUnknownFraming: Bool
  ) -> Int? {
    guard stopping == nil, !hasStopped else {
      sink.close(exitCode: 0)
      return nil
    }
    guard sessions.count < limits.connectionsMax else {
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
    let account = budget.open { [weak self] in
      self?.onLoop { service in service.dropUnfinished(session: number) }
    }
    sessions[number] = Session(
      number: number,
      sink: sink,
      connection: Connection(
        framing: framing,
        dialects: dialects,
        limits: limits.connection,
        closesOnUnknownFraming: closesOnUnknownFraming,
        account: account
      ),
      account: account,
      readsMax: limits.readsMax
    )
    return number
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
    guard let session = sessions[number], session.phase.reads else { return }
    var events: [ConnectionEvent] = []
    session.connection.receive(bytes) { events.append($0) }
    handle(events, session)
    markChanged(session)
  }

  /// Stops reading a peer with too many pending requests, until all of them are answered.
  func updateReading(_ session: Session) {
    let isOverLimit =
      session.bytesInFlight > limits.inFlightBytesMax
      || session.answers.count > 2 * limits.inFlightMax
      || session.answers.heldBytes > limits.heldBytesMax
      || budget.isFullOfRequests && session.bytesInFlight > 0
    // After a pause, a peer is read again when all its requests are answered.
    let pausesReading = isOverLimit || session.isReadingPaused && !session.queue.isEmpty
    guard pausesReading != session.isReadingPaused else { return }
    session.isReadingPaused = pausesReading
    session.sink.setReading(!pausesReading)
  }

  /// Ends the input of a connection, which is closed after all its requests are answered.
  package func endInput(session number: Int) {
    perform { service in
      guard let session = service.sessions[number], session.phase.reads else { return }
      var events: [ConnectionEvent] = []
      session.connection.end { events.append($0) }
      service.handle(events, session)
      session.phase.endInput()
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
  /// The running requests of the connection are stopped where that is possible, and are not
  /// answered.
  package func disconnected(session number: Int) {
    perform { service in
      guard let session = service.sessions.removeValue(forKey: number) else { return }
      session.disconnect()
      session.running.stopAll(.disconnected)
      service.store.endStoppedSaves()
      service.removeSubscriptions(of: session)
      service.finishStopping()
    }
  }

  /// The number of open connections.
  package var connectionCount: Int { sessions.count }

  /// Handles events of a connection; the requests among them keep their memory.
  func handle(_ events: [ConnectionEvent], _ session: Session) {
    for event in events {
      handle(event, session)
      session.account.addRequests(-event.bytes)
    }
  }

  private func handle(_ event: ConnectionEvent, _ session: Session) {
    guard session.phase.reads else { return }
    switch event {
    case .message(let message, let bytes): handle(message, bytes: bytes, session)
    case .batch(let elements, let bytes): handle(elements, bytes: bytes, session)
    case .reject(let error): reject(error, session)
    case .close:
      session.phase.endInput(exitCode: 1)
    }
  }

  private func reject(_ error: RPCError, _ session: Session) {
    let message = MessageBytes(MessageWriter.error(.null, error))
    session.answers.insert(message, inOrder: session.answersInOrder)
    sendReady(session)
  }

  // MARK: Messages

  private func handle(_ message: Message, bytes: Int, _ session: Session) {
    // The lifecycle decides by its state before this message, and then changes the state.
    let admission = session.lifecycle.admit(message, session.connection.dialect)
    switch (admission, message) {
    case (.dispatch, .request(let id, let method, let params)):
      dispatch(id, method, params, bytes: bytes, at: session.answers.take(), session)
    case (.answer(let result), .request(let id, _, _)):
      let response = MessageWriter.result(id, Array(result.text.utf8))
      answer(response, at: session.answers.take(), session)
    case (.reject(let error), .request(let id, _, _)):
      answer(MessageWriter.error(id, error), at: session.answers.take(), session)
    case (.dispatch, .notification(let method, let params)):
      notified(method, params, session)
    case (.exit(let code), _):
      // Earlier requests are answered first.
      session.phase.endInput(exitCode: code)
    default: break
    }
  }

  private func handle(_ batch: [BatchElement], bytes: Int, _ session: Session) {
    var parts: [MessageBytes] = []
    var admitted: [Message] = []
    var requestCount = 0
    var precededCount = 0
    for element in batch {
      switch element {
      case .invalid(let error): parts.append(MessageBytes(MessageWriter.error(.null, error)))
      case .message(.request(let id, let method, let params)):
        let message = Message.request(id: id, method: method, params: params)
        switch session.lifecycle.admit(message, session.connection.dialect) {
        case .answer(let result):
          parts.append(MessageBytes(MessageWriter.result(id, Array(result.text.utf8))))
        case .reject(let error): parts.append(MessageBytes(MessageWriter.error(id, error)))
        default:
          admitted.append(message)
          requestCount += 1
          if MethodTable.method(named: method)?.isPreceded == true { precededCount += 1 }
        }
      case .message(let message): admitted.append(message)
      }
    }
    let slot = session.answers.take(
      for: requestCount,
      preceded: precededCount,
      parts: parts,
      isBatch: true
    )
    session.answers.release(slot, inOrder: session.answersInOrder)
    sendReady(session)
    for message in admitted {
      if case .request(let id, let method, let params) = message {
        dispatch(id, method, params, bytes: bytes / batch.count, at: slot, isInBatch: true, session)
      } else {
        handle(message, bytes: 0, session)
      }
    }
  }

  private func notified(_ method: String, _ params: JSONValue, _ session: Session) {
    guard let id = session.connection.dialect.cancelled(method, params) else { return }
    guard let request = session.queue.cancel(id) else {
      session.running.cancel(id)
      return store.endStoppedSaves()
    }
    end(request, RPCError(.requestCancelled, "The request was cancelled before it began"), session)
  }

  private func dispatch(
    _ id: RequestID,
    _ name: String,
    _ params: JSONValue,
    bytes: Int,
    at slot: Int,
    isInBatch: Bool = false,
    _ session: Session
  ) {
    guard let method = MethodTable.method(named: name), method.isRequest else {
      let error = RPCError(
        .methodNotFound,
        "There is no method \(name.excerpt)",
        data: ["hint": "rpc.discover lists all methods"]
      )
      return answer(MessageWriter.error(id, error), at: slot, session)
    }
    if let mismatch = store.mismatch, !method.traits.contains(.needsNoModel) {
      return answer(MessageWriter.error(id, RPCError(mismatch)), at: slot, of: method, session)
    }
    guard session.queue.count < limits.inFlightMax else {
      let error = Limits.exceeded(
        "inFlight",
        max: limits.inFlightMax,
        "This connection has too many pending requests"
      )
      return answer(MessageWriter.error(id, error), at: slot, of: method, session)
    }
    let timeoutSeconds: Double?
    do {
      timeoutSeconds = try Params.timeoutSeconds(of: params, method.name)
    } catch {
      return answer(MessageWriter.error(id, error), at: slot, of: method, session)
    }
    if let key = method.searchKey(in: params) { endSearches(for: key, session) }
    session.nextSerial += 1
    session.hold(bytes)
    session.queue.add(
      Request(
        session: session.number,
        serial: session.nextSerial,
        slot: slot,
        id: id,
        method: method,
        params: params,
        timeoutSeconds: timeoutSeconds,
        isCheap: method.traits.contains(.overtakesIfSmall) && Self.namesFewObjects(params)
          && !isInBatch && !session.answersInOrder,
        bytes: bytes
      )
    )
    startRequests(session)
  }

  /// Ends the searches of a search box that goes on to another one.
  private func endSearches(for key: String, _ session: Session) {
    session.running.cancel(key: key)
    let waiting = session.queue.cancel { $0.method.searchKey(in: $0.params) == key }
    for request in waiting {
      end(request, RPCError(.requestCancelled, "Another observe has replaced this one"), session)
    }
  }

  /// Starts the requests of a connection that may begin.
  func startRequests(_ session: Session) {
    // While a peer does not read its responses, its other requests wait.
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
        guard let handler = Self.handlers[ObjectIdentifier(request.method)] else {
          throw RPCError(.methodNotFound, "There is no method \(request.method.name)")
        }
        try handler(self, session, request)
      } catch {
        finish(request, .failure(RPCError(any: error)))
      }
    }
  }
}

extension Method {
  /// Returns the key of the search box whose earlier search a request ends; nil for every other
  /// request.
  fileprivate func searchKey(in params: JSONValue) -> String? {
    guard traits.contains(.endsSearchOfKey), params["search"] != nil else { return nil }
    return params["key"]?.string
  }
}
