import DequeModule
import Dispatch
import Interruptions
import SQLite
import Synchronization

/// The time for which a write waits for another process's lock, counted from the write's arrival.
private struct LockWait: Sendable {
  private let arrival = ContinuousClock.now

  /// The tolerance, in seconds: a busy connection tries to get the lock ten times a second.
  private static let tolerance = 0.1

  /// The seconds that are left, at least 0.
  var secondsLeft: Double {
    max(0, StoreConnection.busySecondsMax - arrival.duration(to: .now) / .seconds(1))
  }

  /// Whether the time is over.
  var isOver: Bool { secondsLeft <= Self.tolerance }
}

/// The queue of the writer, which processes requests in groups.
///
/// Each source, usually a client connection, has a line of requests in the order of their arrival.
/// A group takes requests from the lines in turn, so that thousands of requests of one source do
/// not delay other sources. A save by predicate may read for seconds. Such a save forms a group
/// alone, so that no other save waits for two saves by predicate.
final class WriterQueue: Sendable {
  /// The maximum number of requests in a group.
  private static let groupMax = 64
  /// The maximum number of requests of one source in `first`, to leave space for other sources.
  private static let shareMax = 16

  /// A save that waits in the queue.
  private final class WaitingSave: Sendable {
    let request: SaveRequest
    let completion: @Sendable (Result<SaveOutcome, StoreError>) -> Void
    let groupEnded: @Sendable () -> Void
    let wait = LockWait()

    init(
      _ request: SaveRequest,
      _ completion: @escaping @Sendable (Result<SaveOutcome, StoreError>) -> Void,
      _ groupEnded: @escaping @Sendable () -> Void
    ) {
      self.request = request
      self.completion = completion
      self.groupEnded = groupEnded
    }
  }

  private enum Work: Sendable {
    case save(WaitingSave)
    case seal(LockWait, @Sendable (Result<Int64, StoreError>) -> Void)
    /// Any other work; the closure gets nil if the writer is closed.
    case task(LockWait, @Sendable (StoreWriter?) -> Void)

    /// Whether the work evaluates a predicate, which may take long.
    var readsPredicate: Bool {
      guard case .save(let save) = self else { return false }
      return save.request.updateMatching != nil || save.request.deleteMatching != nil
    }
  }

  private struct State {
    /// The requests that arrived first: at most one group, with a limited share for each source.
    var first: [(source: Int, work: Work)] = []
    /// The requests that arrived after `first`, by source.
    var lines: [Int: Deque<Work>] = [:]
    /// The sources with requests in lines, in the order of their turns.
    var turns: Deque<Int> = []
    /// The source of the last group if that group was a save by predicate; otherwise nil.
    var lastReader: Int?
    /// Whether the queue performs requests, or a caller performs a save at once.
    var isRunning = false
    var isClosed = false
    /// The pause before the next attempt to empty a large write-ahead log, in seconds; nil if no
    /// attempt is scheduled.
    var shrinkPause: Int?
    /// The source of the last save.
    var lastSource: Int?

    var isWaiting: Bool { !first.isEmpty || !turns.isEmpty }

    /// Removes and returns the waiting saves for which a condition holds.
    mutating func removeSaves(where condition: (WaitingSave) -> Bool) -> [WaitingSave] {
      var removed: [WaitingSave] = []
      func isRemoved(_ work: Work) -> Bool {
        guard case .save(let save) = work, condition(save) else { return false }
        removed.append(save)
        return true
      }
      first.removeAll { isRemoved($0.work) }
      for source in turns {
        lines[source]?.removeAll(where: isRemoved)
        if lines[source]?.isEmpty ?? true { lines[source] = nil }
      }
      turns.removeAll { lines[$0] == nil }
      return removed
    }

    mutating func add(_ work: Work, of source: Int) {
      if turns.isEmpty, !work.readsPredicate, first.count < WriterQueue.groupMax,
        first.count(where: { $0.source == source }) < WriterQueue.shareMax
      {
        return first.append((source, work))
      }
      if lines[source] == nil { turns.append(source) }
      lines[source, default: []].append(work)
    }

    /// Returns the next group: the requests that arrived first, then requests of the lines in turn.
    mutating func takeGroup() -> [Work] {
      var group = first.map(\.work)
      first.removeAll(keepingCapacity: true)
      // During the last save by predicate, other sources may have sent requests, which come first.
      if let lastReader, turns.first == lastReader { turns.append(turns.removeFirst()) }
      lastReader = nil
      while group.count < WriterQueue.groupMax, let source = turns.popFirst() {
        guard let work = lines[source]?.first else { continue }
        guard !work.readsPredicate || group.isEmpty else {
          turns.prepend(source)
          break
        }
        group.append(work)
        lines[source]?.removeFirst()
        if lines[source]?.isEmpty ?? true { lines[source] = nil } else { turns.append(source) }
        if work.readsPredicate {
          lastReader = source
          break
        }
      }
      return group
    }
  }

  private let queue = DispatchQueue(label: "cordial.writer")
  private let state = Mutex(State())
  private let writer: Confined<StoreWriter>
  /// The source of requests without a connection.
  private static let internalSource = -1

  init(_ writer: StoreWriter) {
    self.writer = Confined(writer, to: queue)
  }

  /// Performs a save, as `PersistentStore.save`.
  func save(
    _ request: SaveRequest,
    _ completion: @escaping @Sendable (Result<SaveOutcome, StoreError>) -> Void,
    groupEnded: @escaping @Sendable () -> Void
  ) {
    add(.save(WaitingSave(request, completion, groupEnded)), of: request.source)
  }

  /// Performs a small save on the calling thread, if the queue is idle.
  ///
  /// Only the source of the last save may do so, because the queue commits the saves of several
  /// sources together.
  ///
  /// - Parameters:
  ///   - request: The save.
  ///   - instructionsMax: The maximum number of SQLite's instructions.
  /// - Returns: The outcome; nil if nothing was stored and the queue has to perform the save.
  func saveAtOnce(
    _ request: SaveRequest,
    instructionsMax: Int
  ) -> Result<SaveOutcome, StoreError>? {
    guard request.isSmall else { return nil }
    let isAdmitted = state.withLock { state in
      guard !state.isClosed, !state.isRunning, !state.isWaiting, state.lastSource == request.source
      else { return false }
      state.isRunning = true
      return true
    }
    guard isAdmitted else { return nil }
    let outcome = queue.sync {
      writer.value.saveAtOnce(request, instructionsMax: instructionsMax)
    }
    let isWaiting = state.withLock { state in
      state.isRunning = state.isWaiting
      return state.isRunning
    }
    if isWaiting { queue.async { self.run() } }
    return outcome
  }

  /// Ends the waiting saves whose interruption has stopped them.
  func endStoppedSaves() {
    let stopped = state.withLock { state in
      state.removeSaves { $0.request.interruption?.reason != nil }
    }
    for save in stopped {
      let reason = save.request.interruption?.reason ?? .cancelled
      save.completion(.failure(StoreError(Interrupted(reason))))
      save.groupEnded()
    }
  }

  func seal(_ completion: @escaping @Sendable (Result<Int64, StoreError>) -> Void) {
    add(.seal(LockWait(), completion), of: Self.internalSource)
  }

  /// Runs a body with the writer, after the earlier requests of the same source.
  ///
  /// - Parameters:
  ///   - source: The client's connection.
  ///   - body: The work; all other requests wait until it returns.
  ///   - completion: Called on the writer's thread with the result of the body.
  func perform<Answer: Sendable>(
    of source: Int,
    _ body: @escaping @Sendable (StoreWriter) throws -> Answer,
    _ completion: @escaping @Sendable (Result<Answer, StoreError>) -> Void
  ) {
    let task = Work.task(LockWait()) { writer in
      guard let writer else { return completion(.failure(Self.stopping)) }
      let result: Result<Answer, StoreError>
      do {
        result = .success(try body(writer))
      } catch {
        result = .failure(StoreError(any: error))
      }
      completion(result)
    }
    add(task, of: source)
  }

  private static let stopping = StoreError(.closed, "The service is stopping")

  private func add(_ work: Work, of source: Int) {
    let outcome = state.withLock { state in
      guard !state.isClosed else { return (isClosed: true, starts: false) }
      state.add(work, of: source)
      if case .save = work { state.lastSource = source }
      defer { state.isRunning = true }
      return (false, !state.isRunning)
    }
    if outcome.isClosed { return Self.refuse(work) }
    if outcome.starts { queue.async { self.run() } }
  }

  private static func refuse(_ work: Work) {
    switch work {
    case .save(let save):
      save.completion(.failure(stopping))
      save.groupEnded()
    case .seal(_, let completion): completion(.failure(stopping))
    case .task(_, let body): body(nil)
    }
  }

  /// Processes groups until no request waits; requests that arrive during a commit are the next
  /// group.
  private func run() {
    while true {
      let group = state.withLock { state in
        let group = state.takeGroup()
        if group.isEmpty { state.isRunning = false }
        return group
      }
      guard !group.isEmpty else { return shrinkLogLater() }
      perform(group)
    }
  }

  /// The maximum pause between two attempts to empty a large write-ahead log, in seconds.
  ///
  /// The first pause is one second, and each later pause is twice as long as the previous pause.
  private static let shrinkPauseMax = 64

  /// Schedules an attempt to empty a write-ahead log that has become large because of a reader.
  ///
  /// Until the next commit, nothing else would empty the log.
  private func shrinkLogLater(after pause: Int = 1) {
    guard writer.value.writeAheadLog.isLarge else { return }
    let starts = state.withLock { state in
      guard state.shrinkPause == nil, !state.isClosed else { return false }
      state.shrinkPause = pause
      return true
    }
    guard starts else { return }
    queue.asyncAfter(deadline: .now() + .seconds(pause)) { [weak self] in self?.shrinkLog() }
  }

  private func shrinkLog() {
    let (pause, isIdle) = state.withLock { state in
      defer { state.shrinkPause = nil }
      let isIdle = !state.isRunning && !state.isClosed
      // While `isRunning` is set, `saveAtOnce` returns nil instead of waiting for this attempt.
      if isIdle { state.isRunning = true }
      return (state.shrinkPause ?? 1, isIdle)
    }
    // If requests are running, `run()` schedules the next attempt after them.
    guard isIdle else { return }
    if writer.value.shrinkLog() { shrinkLogLater(after: min(2 * pause, Self.shrinkPauseMax)) }
    run()
  }

  /// Processes a group; adjacent saves are one commit.
  private func perform(_ group: [Work]) {
    var saves: [WaitingSave] = []
    var seals: [(wait: LockWait, completion: @Sendable (Result<Int64, StoreError>) -> Void)] = []
    for work in group {
      switch work {
      case .save(let save): saves.append(save)
      case .seal(let wait, let completion): seals.append((wait, completion))
      case .task(let wait, let body):
        commit(&saves)
        writer.value.waitForLock(seconds: wait.secondsLeft)
        body(writer.value)
      }
    }
    commit(&saves)
    guard let first = seals.first else { return }
    let result: Result<Int64, StoreError>
    do {
      writer.value.waitForLock(seconds: first.wait.secondsLeft)
      result = .success(try writer.value.seal())
    } catch {
      result = .failure(StoreError(any: error))
    }
    for seal in seals { seal.completion(result) }
  }

  /// Commits saves together.
  ///
  /// If another process holds the lock for too long, only the saves whose time is over fail. The
  /// other saves continue to wait.
  private func commit(_ saves: inout [WaitingSave]) {
    while let first = saves.first {
      let secondsLeft = saves.reduce(first.wait.secondsLeft) { min($0, $1.wait.secondsLeft) }
      writer.value.waitForLock(seconds: secondsLeft)
      let outcomes = writer.value.save(saves.map(\.request))
      var rest: [WaitingSave] = []
      var last: WaitingSave?
      for (save, outcome) in zip(saves, outcomes) {
        if case .failure(let error) = outcome, error.code == .storeBusy, !save.wait.isOver {
          rest.append(save)
        } else {
          save.completion(outcome)
          last = save
        }
      }
      last?.groupEnded()
      saves = rest
    }
  }

  /// Closes the writer after its pending work.
  ///
  /// A write-ahead log that cannot be emptied stays.
  ///
  /// - Returns: The error if other programs have changed the files; otherwise nil.
  func close() -> StoreError? {
    state.withLock { $0.isClosed = true }
    return queue.sync {
      // Requests that arrived during a `saveAtOnce` may not have started yet.
      run()
      do {
        try writer.value.close()
        return nil
      } catch {
        let error = StoreError(any: error)
        // After any other error, such as a busy store or a full disk, the log stays valid.
        return error.code == .storeCorrupt ? error : nil
      }
    }
  }

  /// Throws an error if other programs have changed the store's files; waits for running work.
  func checkFiles() throws {
    try queue.sync { try writer.value.checkFiles() }
  }

  func synchronous() throws -> Int {
    try queue.sync { try writer.value.synchronous() }
  }
}
