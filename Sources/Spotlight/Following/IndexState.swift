package import CordialValues
package import SQLite

/// The life of the index: what its thread, its callers and its waiters share.
///
/// A value without I/O: `handle` takes an event, changes the state, and returns what its owner is
/// to do. At most one attempt to read the log is scheduled or runs.
///
/// | attempt | event | attempt afterwards | effects |
/// |---|---|---|---|
/// | `none` | `wake`, `foundDamage`, `order` | `scheduled` | `schedule` |
/// | `none`, without disk space | `wake`, `foundDamage` | `none` | |
/// | `none`, without disk space | `order`, the last `spaceDue` | `scheduled` | `schedule` |
/// | `scheduled` | `wake`, `foundDamage`, `order` | `scheduled` | |
/// | `scheduled` | `due` with the lease, or after a long wait for it | `reads` | `read` |
/// | `scheduled` | `due` otherwise | `scheduled` | `readOthers`, `schedule` |
/// | `reads` | `wake`, `foundDamage`, `order` | `reads`, then once more | |
/// | `reads` | `ended`, done | `none` | `answer` all waiters where the index is paused |
/// | `reads` | `ended`, stopped | `none` | `answer` earlier waiters |
/// | `reads` | `ended`, failed | `none` | `complete` all orders, `answer` earlier waiters |
/// | `reads` | `ended`, full | `none`, without disk space | `complete`, `answer`, `awaitSpace` |
/// | `reads`, then once more | `ended`, not full | `scheduled` | those of `ended`, `schedule` |
/// | any | `endBuilds`, `stop` | the same | `complete` the orders that build |
/// | any, after `stop` | `wake`, `due`, `ended` | no attempt begins | |
/// | any | `closed` | `none` | `complete` all orders, `answer` all waiters |
///
/// After an attempt that failed or was stopped, an attempt is scheduled for the waiters that were
/// registered during the first. `lostFile` schedules nothing: its callers report `wake` too.
package struct IndexState {
  package private(set) var status = IndexStatus(token: nil, documents: 0, state: .catchingUp)
  package private(set) var activity = IndexActivity()
  package private(set) var attempt: Attempt = .none
  package private(set) var ending: Ending = .none
  /// The identity of the file that was opened last.
  package private(set) var opened: FileIdentity?
  /// The damage in a file, which the next attempt removes.
  package private(set) var damage: Damage?
  /// What attempts do before they read the log, in this order.
  package private(set) var orders: [IndexOrder] = []
  /// Whether the index was asked to advance since it last read the log.
  package private(set) var wantsAdvance = false
  /// Whether many documents have been indexed since parts of the index were merged.
  package private(set) var mergesParts = false
  /// The position after which the log is needed while a new index is built; nil without a build,
  /// and without an index that answers meanwhile.
  private var buildsFrom: StoreToken?
  private var waiters: [Int: IndexWaiter] = [:]
  private var space = SpaceWait()
  private var lease: LeaseWait
  /// The number of attempts that have begun.
  private var attemptCount = 0
  /// Whether a file was removed because SQLite took it for full.
  package private(set) var wasFull = false
  /// The number of documents of the last batch that had commits; nil before the first.
  package private(set) var lastBatchCount: Int?
  /// The number of documents that were indexed since a merge was last wanted.
  private var unmergedCount = 0
  /// Called when the index has advanced, by the numbers of their registrations.
  private var advances: [Int: @Sendable () -> Void] = [:]
  private var lastNumber = 0
  /// The position that was last reported as an advance.
  private var reported: StoreToken?

  /// An attempt to read the log, from the event that needs it to its end.
  package enum Attempt: Equatable {
    case none
    /// It is due, or waits for the lease.
    case scheduled
    /// It runs; the log may have to be read once more after it.
    case reads(again: Bool)
  }

  /// How far the end of the service has come, in this order.
  package enum Ending: Comparable {
    case none
    /// No new index is built any more.
    case noBuilds
    /// No attempt begins any more.
    case stopped
  }

  /// The damage in a file.
  package struct Damage: Sendable {
    /// The damaged file, which another process may have replaced; nil where there is none.
    package let file: FileIdentity?
    package let text: String

    package init(file: FileIdentity?, text: String) {
      (self.file, self.text) = (file, text)
    }
  }

  /// The pauses of an index without disk space.
  private struct SpaceWait {
    /// The number of the pause; a later one ends it.
    var number = 0
    var isPending = false
    /// The last pause since the index has advanced, in seconds.
    var last: Int?

    /// The first pause is a second, and each is twice as long as the one before it, up to this.
    static let max = 16
  }

  /// The pauses before the lease is taken, in milliseconds.
  private struct LeaseWait {
    var pause = 1
    /// The sum of the pauses since the process with the lease has advanced.
    var waited = 0
    /// The sum after which that process has stopped, and attempts do without the lease.
    let waitedMax: Int

    static let pauseMax = 64
  }

  /// Creates the state of an index that was not opened.
  ///
  /// - Parameter leaseWaitMax: The time without an advance after which the lease is that of a
  ///   process that has stopped, in milliseconds.
  package init(leaseWaitMax: Int = 10_000) {
    lease = LeaseWait(waitedMax: leaseWaitMax)
  }
}

extension IndexState {
  /// Whether a new index may be built.
  package var allowsBuilds: Bool { ending == .none }

  /// Whether a search may open the file.
  package var allowsSearches: Bool { damage == nil }

  /// Whether parts of the index are to be merged now.
  package var allowsMerge: Bool { mergesParts && ending < .stopped && status.state == .ready }

  /// Whether the present attempt does not go on after its batch.
  package var isStopped: Bool { ending == .stopped }

  /// The position after which the log must be kept; nil where the index needs none of it.
  package var retained: StoreToken? {
    // A paused index is rebuilt where the log no longer has what it needs.
    guard status.state != .failed, status.state != .paused else { return nil }
    return buildsFrom ?? status.token
  }

  /// Returns the file in which the index is at a commit, be it while a new one is built.
  ///
  /// - Parameter commit: The number of the commit.
  /// - Returns: The identity of the file as it was opened; nil where the index is not there.
  package func file(at commit: Int64) -> FileIdentity? {
    guard [.ready, .rebuilding].contains(status.state), let token = status.token,
      token.number >= commit
    else { return nil }
    return opened
  }

  /// Whether the last attempt has found that the index is paused, and no other one is running.
  private var isPaused: Bool {
    if case .reads = attempt { false } else { status.state == .paused }
  }

  /// Returns a number for a waiter, an order or a registration.
  package mutating func makeNumber() -> Int {
    lastNumber += 1
    return lastNumber
  }

  /// Has a closure be called when the index has advanced; nil ends the registration.
  package mutating func register(_ number: Int, _ body: (@Sendable () -> Void)?) {
    advances[number] = body
  }
}

extension IndexState {
  /// Changes the state by an event.
  ///
  /// - Parameter event: What has happened.
  /// - Returns: What the owner is to do, in this order.
  package mutating func handle(_ event: IndexEvent) -> [IndexEffect] {
    switch event {
    case .wake: return wake()
    case .foundDamage(let file):
      setDamage(Damage(file: file, text: "A search found it"))
      return wake()
    case .lostFile(let file):
      // Another thread may have opened the new file meanwhile.
      if opened == file, status.token != nil, status.state != .paused {
        setDamage(Damage(file: file, text: "The file was removed"))
      }
    case .wait(let waiter): return wait(waiter)
    case .endWait(let number):
      return waiters.removeValue(forKey: number).map { [.answer([$0], false)] } ?? []
    case .order(let order): return add(order)
    case .endBuilds:
      ending = max(ending, .noBuilds)
      return refuseBuilds(SpotlightError.stopping)
    case .stop:
      ending = .stopped
      return refuseBuilds(SpotlightError.stopping)
    case .closed:
      attempt = .none
      return takeOrders(.failure(SpotlightError.stopping)) + takeWaiters(false)
    case .spaceDue(let number):
      guard number == space.number else { return [] }
      space.isPending = false
      return wake()
    case .due(let hasLease): return begin(hasLease: hasLease)
    case .othersAdvanced: lease.waited = 0
    case .found(let finding): return note(finding)
    case .orderEnded(let number, let result):
      guard let place = orders.firstIndex(where: { $0.number == number }) else { return [] }
      return [.complete([orders.remove(at: place)], result)]
    case .noRoom(let error): return refuseBuilds(error)
    case .ended(let end, let microseconds): return self.end(end, microseconds)
    }
    return []
  }

  // MARK: Attempts

  private mutating func wake() -> [IndexEffect] {
    wantsAdvance = true
    guard ending < .stopped else { return [] }
    switch attempt {
    case .none:
      guard !space.isPending || !orders.isEmpty else { return [] }
      // Those who wait from here on have this attempt's result, not the previous one's.
      forgetFailure()
      return schedule()
    case .scheduled: break
    case .reads: attempt = .reads(again: true)
    }
    return []
  }

  private mutating func schedule() -> [IndexEffect] {
    guard ending < .stopped else { return [] }
    attempt = .scheduled
    return [.schedule(after: 0)]
  }

  private mutating func begin(hasLease: Bool) -> [IndexEffect] {
    guard attempt == .scheduled else { return [] }
    guard ending < .stopped else {
      attempt = .none
      return []
    }
    if hasLease { (lease.pause, lease.waited) = (1, 0) }
    // As long as a process that has stopped holds the lease, later attempts do without it too:
    // SQLite's locks then decide which process writes.
    guard hasLease || lease.waited >= lease.waitedMax else {
      lease.pause = min(2 * lease.pause, LeaseWait.pauseMax)
      lease.waited += lease.pause
      return [.readOthers, .schedule(after: lease.pause)]
    }
    attempt = .reads(again: false)
    attemptCount += 1
    // The previous attempt may have failed after this one was scheduled.
    forgetFailure()
    return [.read]
  }

  private mutating func end(_ end: IndexAttemptEnd, _ microseconds: Int64) -> [IndexEffect] {
    var isAgain = attempt == .reads(again: true)
    attempt = .none
    activity.step = nil
    activity.processorMicroseconds += microseconds
    // Only an attempt without disk space waits for it again.
    space.isPending = false
    var effects: [IndexEffect] = []
    switch end {
    case .done: break
    case .stopped:
      effects += takeWaiters(false, where: isEarlier)
      isAgain = isAgain || !waiters.isEmpty || !orders.isEmpty
    case .failed(let error, let isFull):
      effects += takeOrders(.failure(error))
      if isFull {
        effects.append(awaitSpace())
      } else {
        (status.state, status.failure) = (.failed, error)
      }
      effects += takeWaiters(false, where: isEarlier)
      isAgain = isAgain || !isFull && !waiters.isEmpty
    }
    // Without disk space, only time or an order begins the next attempt.
    if isAgain, !space.isPending { effects += schedule() }
    // A pause, too, is the end of the waits that began in the attempt.
    if isPaused, attempt == .none { effects += takeWaiters(false) }
    return effects
  }

  /// Whether a waiter is from before the present attempt; later ones have the next one's result.
  private func isEarlier(_ waiter: IndexWaiter) -> Bool { waiter.attempts < attemptCount }

  private mutating func awaitSpace() -> IndexEffect {
    (status.state, status.reason) = (.paused, .diskFull)
    let pause = max(min(2 * (space.last ?? 0), SpaceWait.max), 1)
    space = SpaceWait(number: space.number + 1, isPending: true, last: pause)
    return .awaitSpace(space.number, seconds: pause)
  }

  /// Ends the state `failed`, because another attempt is to come.
  private mutating func forgetFailure() {
    guard status.state == .failed else { return }
    status.state = .catchingUp
    status.failure = nil
  }

  // MARK: Waiters and orders

  private mutating func wait(_ waiter: IndexWaiter) -> [IndexEffect] {
    if let token = status.token, token.number >= waiter.commit { return [.answer([waiter], true)] }
    let isRefused =
      attempt == .none && (status.state == .failed || isPaused || space.isPending)
    guard ending < .stopped, !isRefused else { return [.answer([waiter], false)] }
    var waiter = waiter
    waiter.attempts = attemptCount
    waiters[waiter.number] = waiter
    return []
  }

  private mutating func takeWaiters(
    _ hasReached: Bool,
    where isTaken: (IndexWaiter) -> Bool = { _ in true }
  ) -> [IndexEffect] {
    let taken = waiters.values.filter(isTaken)
    for waiter in taken { waiters[waiter.number] = nil }
    return taken.isEmpty ? [] : [.answer(taken, hasReached)]
  }

  private mutating func add(_ order: IndexOrder) -> [IndexEffect] {
    guard ending < .stopped, allowsBuilds || !order.kind.buildsIndex else {
      return [.complete([order], .failure(SpotlightError.stopping))]
    }
    orders.append(order)
    return wake()
  }

  private mutating func takeOrders(
    _ result: Result<IndexStatus, any Error>,
    where isTaken: (IndexOrder) -> Bool = { _ in true }
  ) -> [IndexEffect] {
    let taken = orders.filter(isTaken)
    orders.removeAll(where: isTaken)
    return taken.isEmpty ? [] : [.complete(taken, result)]
  }

  private mutating func refuseBuilds(_ error: any Error) -> [IndexEffect] {
    takeOrders(.failure(error), where: \.kind.buildsIndex)
  }

  /// Until the next attempt has removed a damaged file, the index has no position, and searches
  /// open no connection to the file.
  private mutating func setDamage(_ damage: Damage) {
    self.damage = damage
    forgetPosition()
  }

  private mutating func forgetPosition() {
    reported = nil
    status = IndexStatus(token: nil, documents: 0, state: space.isPending ? .paused : .catchingUp)
    if space.isPending { status.reason = .diskFull }
  }
}

// MARK: Findings

extension IndexState {
  private mutating func note(_ finding: IndexFinding) -> [IndexEffect] {
    switch finding {
    case .opened(let file, let oldest):
      // The position was that of a file which is no longer at its path.
      if opened != nil, file != opened { forgetPosition() }
      (opened, activity.oldest) = (file, oldest)
    case .outdated(let token, let documents):
      guard damage == nil else { return [] }
      status = IndexStatus(token: token, documents: documents, state: .rebuilding)
      return takeWaiters(true) { $0.commit <= token.number }
    case .parts: mergesParts = true
    case .merged(let remainder):
      if remainder == .none { mergesParts = false }
      if remainder == .some { return wake() }
    case .pause(let isPaused, let token, let documents):
      return setPaused(isPaused, token, documents)
    case .reloaded(let token, let hasMoved):
      if status.token != nil { status.token = token }
      return hasMoved ? report(token) : []
    case .damage(let damage, let isFull):
      if self.damage == nil { setDamage(damage) }
      if isFull { wasFull = true }
    case .removed: damage = nil
    case .reads(let token):
      activity.step = token.map { .reading(after: $0.number) }
      wantsAdvance = false
    case .readsBesideBuild: wantsAdvance = false
    case .remains: wantsAdvance = true
    case .applied(let documents, let hasCommits):
      if hasCommits { lastBatchCount = documents }
      unmergedCount += documents
      if unmergedCount >= SearchIndex.largeBatch { (mergesParts, unmergedCount) = (true, 0) }
    case .reached(let token, let documents, let isRebuilt):
      if isRebuilt { buildsFrom = nil }
      return reach(token, documents, isAdvance: isRebuilt || reported != token)
    case .left(let documents):
      status.documents = documents
      return report(status.token)
    case .oldest(let token): activity.oldest = token
    case .builds(let token): (buildsFrom, status.state) = (token, .rebuilding)
    case .built(let objects): activity.step = .building(objects: objects)
    case .buildEnded: buildsFrom = nil
    }
    return []
  }

  private mutating func reach(
    _ token: StoreToken,
    _ documents: Int64,
    isAdvance: Bool
  ) -> [IndexEffect] {
    space = SpaceWait(number: space.number)
    // A search found damage meanwhile; the next attempt rebuilds the index.
    guard damage == nil else { return [] }
    let state = buildsFrom == nil ? IndexStatus.State.ready : .rebuilding
    status = IndexStatus(token: token, documents: documents, state: state)
    return takeWaiters(true) { $0.commit <= token.number } + (isAdvance ? report(token) : [])
  }

  private mutating func setPaused(
    _ isPaused: Bool,
    _ token: StoreToken?,
    _ documents: Int64
  ) -> [IndexEffect] {
    guard damage == nil else { return [] }
    guard isPaused else {
      if status.state == .paused || status.token == nil {
        status = IndexStatus(token: token, documents: documents, state: .catchingUp)
      }
      return []
    }
    status = IndexStatus(token: token, documents: documents, state: .paused)
    // As after a failure, waits that began in this attempt go on.
    let (attempts, reached) = (attemptCount, token?.number ?? -1)
    return takeWaiters(true) { $0.attempts < attempts && $0.commit <= reached }
      + takeWaiters(false, where: isEarlier)
  }

  private mutating func report(_ token: StoreToken?) -> [IndexEffect] {
    reported = token
    return advances.isEmpty ? [] : [.report(Array(advances.values))]
  }
}
