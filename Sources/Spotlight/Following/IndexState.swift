package import CordialValues
package import SQLite

/// The state machine of the index, which its thread, its callers and its waiters share.
///
/// The state is a value without I/O: `handle` takes an event, changes the state, and returns the
/// effects that the owner carries out. At most one attempt to read the log is scheduled or runs.
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
/// | `reads` | `ended`, done | `none` | `answer` all waiters if the index is paused |
/// | `reads` | `ended`, stopped | `none` | `answer` earlier waiters |
/// | `reads` | `ended`, failed | `none` | `complete` all orders, `answer` earlier waiters |
/// | `reads` | `ended`, full | `none`, without disk space | `complete`, `answer`, `awaitSpace` |
/// | `reads`, then once more | `ended`, not full | `scheduled` | effects of `ended`, `schedule` |
/// | any | `endBuilds`, `stop` | the same | `complete` the orders that build |
/// | any, after `stop` | `wake`, `due`, `ended` | no attempt begins | |
/// | any | `closed` | `none` | `complete` all orders, `answer` all waiters |
///
/// If an attempt fails or is stopped, the state schedules the next attempt for the waiters that
/// registered during the first. `lostFile` schedules nothing, because its callers also report
/// `wake`.
package struct IndexState {
  package private(set) var status = IndexStatus(token: nil, documents: 0, state: .catchingUp)
  package private(set) var activity = IndexActivity()
  package private(set) var attempt: Attempt = .none
  package private(set) var ending: Ending = .none
  /// The identity of the file that was opened last.
  package private(set) var opened: FileIdentity?
  /// The damage in a file; the next attempt removes that file.
  package private(set) var damage: Damage?
  /// The orders that the next attempt carries out before it reads the log, in this order.
  package private(set) var orders: [IndexOrder] = []
  /// Whether the log may have commits that the index has not read.
  package private(set) var wantsAdvance = false
  /// Whether the file has parts to merge or unused pages to give back.
  package private(set) var mergesParts = false
  /// The position after which the log must be kept during a build; nil without a build, or if the
  /// old index is missing or paused.
  private var buildsFrom: StoreToken?
  private var waiters: [Int: IndexWaiter] = [:]
  private var space = SpaceWait()
  private var lease: LeaseWait
  /// The number of attempts that have begun.
  private var attemptCount = 0
  /// Whether a file was removed because SQLite reported it as full.
  package private(set) var wasFull = false
  /// The count of documents in the last batch that contained commits; nil before such a batch.
  package private(set) var lastBatchCount: Int?
  /// The count of documents that were indexed since the state last requested a merge.
  private var unmergedCount = 0
  /// The closures to call when the index has advanced, by registration number.
  private var advances: [Int: @Sendable () -> Void] = [:]
  private var lastNumber = 0
  /// The position that was last reported as an advance.
  private var reported: StoreToken?

  /// The phase of an attempt to read the log.
  package enum Attempt: Equatable {
    case none
    /// The attempt is due, or waits for the lease.
    case scheduled
    /// The attempt runs; `again` says whether the log must be read once more afterwards.
    case reads(again: Bool)
  }

  /// The stages of the service's shutdown, in order.
  package enum Ending: Comparable {
    case none
    /// The state refuses and stops builds of a new index.
    case noBuilds
    /// The state begins no attempt.
    case stopped
  }

  /// The damage in a file.
  package struct Damage: Sendable {
    /// The damaged file, which another process may have replaced; nil if no file exists.
    package let file: FileIdentity?
    package let text: String

    package init(file: FileIdentity?, text: String) {
      (self.file, self.text) = (file, text)
    }
  }

  /// The pauses between the attempts of an index that lacks disk space.
  private struct SpaceWait {
    /// The number that identifies the newest pause; the end of an earlier pause has no effect.
    var number = 0
    var isPending = false
    /// The length of the last pause, in seconds; nil if the index has advanced since.
    var last: Int?

    /// The longest pause, in seconds; the first lasts a second, and each is twice the previous one.
    static let max = 16
  }

  /// The pauses of a process that waits for the lease, in milliseconds.
  private struct LeaseWait {
    var pause = 1
    /// The sum of the pauses since the lease holder last advanced the index.
    var waited = 0
    /// The sum after which the lease holder counts as stopped, and attempts run without the lease.
    let waitedMax: Int

    static let pauseMax = 64
  }

  /// Creates the state of an index that is not open yet.
  ///
  /// - Parameter leaseWaitMax: The time without an advance, in milliseconds, after which the lease
  ///   holder counts as stopped.
  package init(leaseWaitMax: Int = 10_000) {
    lease = LeaseWait(waitedMax: leaseWaitMax)
  }
}

extension IndexState {
  /// Whether a new index may be built.
  package var allowsBuilds: Bool { ending == .none }

  /// Whether a search may open the file.
  package var allowsSearches: Bool { damage == nil }

  /// Whether an attempt may merge parts of the index now.
  package var allowsMerge: Bool { mergesParts && ending < .stopped && status.state == .ready }

  /// Whether the running attempt must end after its present batch.
  package var isStopped: Bool { ending == .stopped }

  /// The position after which the log must be kept; nil if the index needs no part of the log.
  package var retained: StoreToken? {
    // The log is not kept for a paused index: if commits are missing later, the index is rebuilt.
    guard status.state != .failed, status.state != .paused else { return nil }
    return buildsFrom ?? status.token
  }

  /// Returns the file in which the index has reached a commit, even while a new index is built.
  ///
  /// - Parameter commit: The number of the commit.
  /// - Returns: The identity of the file when it was opened; nil if the index has not reached the
  ///   commit.
  package func file(at commit: Int64) -> FileIdentity? {
    guard [.ready, .rebuilding].contains(status.state), let token = status.token,
      token.number >= commit
    else { return nil }
    return opened
  }

  /// Whether the last attempt found that the index is paused, and no attempt is running.
  private var isPaused: Bool {
    if case .reads = attempt { false } else { status.state == .paused }
  }

  /// Returns a new number that identifies a waiter, an order or a registration.
  package mutating func makeNumber() -> Int {
    lastNumber += 1
    return lastNumber
  }

  /// Registers a closure to call when the index has advanced; nil ends the registration.
  package mutating func register(_ number: Int, _ body: (@Sendable () -> Void)?) {
    advances[number] = body
  }
}

extension IndexState {
  /// Applies an event to the state.
  ///
  /// - Parameter event: The event.
  /// - Returns: The effects that the owner must carry out, in this order.
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
      // Waiters that register from here on receive this attempt's result, not the previous one's.
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
    // While a stopped process holds the lease, later attempts run without the lease too. SQLite's
    // locks then decide which process writes.
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
    // Only an attempt that ends for lack of disk space starts a new wait for space.
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
    // Without disk space, only the end of the pause or an order starts the next attempt.
    if isAgain, !space.isPending { effects += schedule() }
    // A paused index also ends the waits that began during the attempt.
    if isPaused, attempt == .none { effects += takeWaiters(false) }
    return effects
  }

  /// Returns whether a waiter registered before the present attempt; later waiters receive the
  /// result of the next attempt.
  private func isEarlier(_ waiter: IndexWaiter) -> Bool { waiter.attempts < attemptCount }

  private mutating func awaitSpace() -> IndexEffect {
    (status.state, status.reason) = (.paused, .diskFull)
    let pause = max(min(2 * (space.last ?? 0), SpaceWait.max), 1)
    space = SpaceWait(number: space.number + 1, isPending: true, last: pause)
    return .awaitSpace(space.number, seconds: pause)
  }

  /// Leaves the state `failed` before the next attempt.
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

  /// Records damage and forgets the position.
  ///
  /// Until the next attempt removes the damaged file, searches open no connection to it.
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
      // The position belongs to the previous file, which is no longer at its path.
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
    // If a search has found damage meanwhile, the next attempt rebuilds the index first.
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
    // As after a failure, waits that began during this attempt continue.
    let (attempts, reached) = (attemptCount, token?.number ?? -1)
    return takeWaiters(true) { $0.attempts < attempts && $0.commit <= reached }
      + takeWaiters(false, where: isEarlier)
  }

  private mutating func report(_ token: StoreToken?) -> [IndexEffect] {
    reported = token
    return advances.isEmpty ? [] : [.report(Array(advances.values))]
  }
}
