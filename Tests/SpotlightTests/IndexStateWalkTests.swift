import CordialValues
import SQLite
import Spotlight
import Synchronization
import TestSeeds
import Testing

/// Two processes follow one store with one index, in every order of events.
@Suite struct `A random life of an index` {
  @Test(arguments: Seeds.first(200))
  func `answers all, begins nothing after its end, and searches no damaged file`(
    seed: UInt64
  ) throws {
    var world = IndexWorld(seed: seed)
    for _ in 1...400 { try world.step() }
    try world.end()
  }
}

/// The facts that the processes share, and what each of them was asked.
private struct IndexWorld {
  /// One process: its state, and what its owner has been asked to do.
  struct Process {
    var state: IndexState
    /// The number of attempts that are scheduled.
    var scheduled = 0
    /// The pauses for disk space that have not ended.
    var pauses: [Int] = []
    var isReading = false
    /// Whether the present attempt holds the lease.
    var hasLease = false
    /// The file that the present attempt has opened.
    var opened: FileIdentity?
    /// Whether the file said, when it was read last, that the index is paused.
    var sawPause = false
    /// The commit that the index has reached, as far as the process was informed.
    var reached: Int64 = -1
    /// Whether the present attempt has done its orders and has read the log to its end.
    var isAtEnd = false
    /// The position that was last reported as an advance.
    var reported: StoreToken?
    /// The sum of its pauses for the lease since another process has advanced.
    var waited = 0
    var isStopped = false
  }

  /// What was asked, and the answers to it.
  struct Question {
    let process: Int
    /// The commit of a waiter; nil for an order.
    let commit: Int64?
    let buildsIndex: Bool
    var answers: [Bool] = []
  }

  private struct Failure: Error {}

  static let leaseWaitMax = 300
  private var random: SplitMix64
  private var processes: [Process]
  private var questions: [Int: Question] = [:]
  private var newest: Int64 = 0
  /// The process with the lease.
  private var holder: Int?
  /// The file at the path, and whether it says that the index is paused.
  private var file: FileIdentity?
  private var isPaused = false
  private let files = ["/", "/dev", "/proc", "/tmp"].compactMap { FileIdentity($0) }
  private let seed: UInt64
  /// The number of events that are being handled, each for an effect of the one before it.
  private var depth = 0

  init(seed: UInt64) {
    (self.seed, random) = (seed, SplitMix64(seed: seed))
    processes = (0..<2).map { _ in Self.start() }
    file = files[0]
  }

  private static func start() -> Process {
    var state = IndexState(leaseWaitMax: leaseWaitMax)
    state.register(state.makeNumber()) {}
    return Process(state: state)
  }

  private var repeating: Comment { "\(Seeds.repeating(seed, "A random life of an index"))" }

  // MARK: Events

  mutating func step() throws {
    let process = random.below(processes.count)
    switch random.below(20) {
    case 0, 1:
      newest += 1
      for index in processes.indices { try send(.wake, to: index) }
    case 2, 3, 4: try wait(process)
    case 5: try endWait(process)
    case 6: try order(process)
    case 7: try loseFile(process)
    case 8 where random.oneIn(4): try send(.endBuilds, to: process)
    case 9 where random.oneIn(8): try restart(process)
    case 10:
      guard !processes[process].pauses.isEmpty else { return }
      let pause = random.pick(processes[process].pauses)
      processes[process].pauses.removeAll { $0 == pause }
      try send(.spaceDue(pause), to: process)
    case 11...14:
      if processes[process].isReading { try end(process) } else { try beDue(process) }
    default:
      guard processes[process].isReading else { return try beDue(process) }
      try read(process, toEnd: random.oneIn(2))
    }
  }

  private mutating func wait(_ process: Int) throws {
    let commit = Int64(random.below(Int(newest) + 1))
    try send(.wake, to: process)
    let number = processes[process].state.makeNumber()
    let key = key(process, number)
    questions[key] = Question(process: process, commit: commit, buildsIndex: false)
    try send(.wait(IndexWaiter(number: number, commit: commit) { _ in }), to: process)
  }

  private mutating func endWait(_ process: Int) throws {
    let open = questions.filter {
      $0.value.process == process && $0.value.commit != nil && $0.value.answers.isEmpty
    }
    guard !open.isEmpty else { return }
    let question = random.pick(open.keys.sorted())
    try send(.endWait(question / 2), to: process)
    try #require(questions[question]?.answers == [false], repeating)
  }

  private mutating func order(_ process: Int) throws {
    let kind: IndexOrder.Kind = random.pick([
      .pause, .resume, .rebuild, .write, .deleteDomains(["a"]), .restoreDomains(["a"]),
    ])
    let number = processes[process].state.makeNumber()
    questions[key(process, number)] = Question(
      process: process,
      commit: nil,
      buildsIndex: kind.buildsIndex
    )
    try send(.order(IndexOrder(number: number, kind: kind) { _ in }), to: process)
  }

  /// Removes, replaces or damages the file, as another program does.
  private mutating func loseFile(_ process: Int) throws {
    if random.oneIn(2) { file = random.oneIn(3) ? nil : random.pick(files) }
    if random.oneIn(2) {
      try send(.foundDamage(file), to: process)
      try #require(!processes[process].state.allowsSearches, repeating)
    } else if let opened = processes[process].state.opened, opened != file {
      try send(.lostFile(opened), to: process)
      try send(.wake, to: process)
    }
  }

  /// Ends a process in order, and starts it again.
  private mutating func restart(_ process: Int) throws {
    try stop(process)
    processes[process] = Self.start()
    for question in questions.keys where questions[question]?.process == process {
      questions[question] = nil
    }
  }

  private mutating func stop(_ process: Int) throws {
    processes[process].isStopped = true
    try send(.stop, to: process)
    if processes[process].isReading { try end(process) }
    try send(.closed, to: process)
    for question in questions.values where question.process == process {
      try #require(question.answers.count == 1, repeating)
    }
  }

  mutating func end() throws {
    for process in processes.indices { try stop(process) }
  }

  // MARK: Attempts

  private mutating func beDue(_ process: Int) throws {
    guard processes[process].scheduled > 0 else { return }
    processes[process].scheduled -= 1
    let isFree = holder == nil
    try send(.due(hasLease: isFree), to: process)
    guard processes[process].isReading else { return }
    processes[process].hasLease = isFree
    if isFree { (holder, processes[process].waited) = (process, 0) }
    try #require(isFree || processes[process].waited >= Self.leaseWaitMax, repeating)
  }

  /// Does a part of an attempt.
  private mutating func read(_ process: Int, toEnd: Bool = false) throws {
    if processes[process].state.damage != nil, toEnd || random.oneIn(2) {
      // The damaged file is removed before another one is read.
      if processes[process].state.damage?.file == file { file = nil }
      try find(.removed, process)
    }
    if processes[process].opened != file || file == nil {
      if file == nil { (file, isPaused) = (random.pick(files), false) }
      processes[process].opened = file
      try find(.opened(file, oldest: nil), process)
    }
    let first = min(max(processes[process].reached, 0), newest)
    let last = toEnd ? newest : first + Int64(random.below(Int(newest - first) + 1))
    let token = StoreToken(generation: 1, number: last, mark: 1)
    try find(.pause(isPaused, nil, documents: 0), process)
    processes[process].sawPause = isPaused
    for order in processes[process].state.orders where toEnd || random.oneIn(2) {
      if order.kind == .pause || order.kind == .resume { isPaused = order.kind == .pause }
      if order.kind.buildsIndex {
        guard processes[process].state.allowsBuilds else { break }
        try find(.builds(from: token), process)
        try #require(processes[process].state.retained == token, repeating)
        try find(.buildEnded, process)
      }
      try find(.pause(isPaused, nil, documents: 0), process)
      processes[process].sawPause = isPaused
      let result: Result<IndexStatus, any Error> =
        random.oneIn(5) ? .failure(Failure()) : .success(processes[process].state.status)
      try send(.orderEnded(order.number, result), to: process)
    }
    guard !processes[process].isStopped else { return }
    guard !processes[process].sawPause else { return processes[process].isAtEnd = toEnd }
    try find(.reads(after: token), process)
    try find(.applied(documents: random.below(2000), hasCommits: random.oneIn(2)), process)
    if processes[process].state.damage == nil { processes[process].reached = last }
    try find(.reached(token, documents: 1, isRebuilt: random.oneIn(5)), process)
    processes[process].isAtEnd = toEnd
    if processes[process].state.allowsMerge, random.oneIn(2) {
      try find(.merged(random.pick([.none, .some, .unknown])), process)
    }
  }

  private mutating func end(_ process: Int) throws {
    processes[process].isReading = false
    if processes[process].hasLease { holder = nil }
    processes[process].hasLease = false
    let state = processes[process].state
    let ending: IndexAttemptEnd
    switch random.below(8) {
    case 0: ending = .failed(Failure(), isFull: false)
    case 1: ending = .failed(Failure(), isFull: true)
    case 2 where !state.allowsBuilds: ending = .stopped
    default:
      // An attempt is done when it has carried out its orders and has read the log.
      if !processes[process].isStopped, !processes[process].isAtEnd {
        processes[process].isReading = true
        if state.damage != nil { try find(.removed, process) }
        for order in processes[process].state.orders {
          try send(.orderEnded(order.number, .failure(Failure())), to: process)
        }
        try read(process, toEnd: true)
        processes[process].isReading = false
      }
      ending = .done
    }
    try send(.ended(ending, microseconds: 1), to: process)
    if case .done = ending, processes[process].sawPause, processes[process].state.damage == nil,
      !processes[process].isStopped
    {
      try #require(processes[process].state.status.state == .paused, repeating)
    }
  }

  private mutating func find(_ finding: IndexFinding, _ process: Int) throws {
    try send(.found(finding), to: process)
  }

  // MARK: Invariants

  private func key(_ process: Int, _ number: Int) -> Int { 2 * number + process }

  private mutating func send(_ event: IndexEvent, to process: Int) throws {
    depth += 1
    for effect in processes[process].state.handle(event) { try perform(effect, process) }
    depth -= 1
    // The effects of the first event have been carried out.
    if depth == 0 { try check(process, after: event) }
  }

  private func check(_ process: Int, after event: IndexEvent) throws {
    let (this, state) = (processes[process], processes[process].state)
    switch state.attempt {
    case .none:
      // An attempt may be due after the end; it reads nothing.
      try #require((this.scheduled == 0 || this.isStopped) && !this.isReading, repeating)
      // Nobody waits for an attempt that does not come.
      let open = questions.values.filter { $0.process == process && $0.answers.isEmpty }
      if !this.isStopped { try #require(open.isEmpty, "\(event) \(open) \(repeating)") }
    case .scheduled: try #require(this.scheduled == 1 && !this.isReading, repeating)
    case .reads:
      let isEnding = if case .ended = event { true } else { false }
      try #require(this.scheduled == 0 && (this.isReading || isEnding), repeating)
    }
    if state.damage != nil {
      try #require(!state.allowsSearches && state.status.token == nil, repeating)
    }
    // Those who want to know of each advance know of the position.
    if state.status.state == .ready, state.attempt == .none {
      try #require(this.reported == state.status.token, repeating)
    }
    let builds = state.orders.filter(\.kind.buildsIndex)
    if this.isStopped || !state.allowsBuilds { try #require(builds.isEmpty, repeating) }
  }

  private mutating func perform(_ effect: IndexEffect, _ process: Int) throws {
    switch effect {
    case .schedule(let pause):
      try #require(!processes[process].isStopped, repeating)
      processes[process].scheduled += 1
      processes[process].waited += pause
    case .awaitSpace(let number, _): processes[process].pauses.append(number)
    case .read:
      try #require(!processes[process].isStopped && !processes[process].isReading, repeating)
      processes[process].isReading = true
      processes[process].opened = nil
      processes[process].isAtEnd = false
    case .readOthers:
      guard holder != nil, random.oneIn(3) else { return }
      processes[process].waited = 0
      try find(.outdated(StoreToken(generation: 1, number: 0, mark: 1), documents: 0), process)
      try send(.othersAdvanced, to: process)
    case .answer(let waiters, let hasReached):
      for waiter in waiters {
        let question = key(process, waiter.number)
        try answer(question, hasReached)
        let commit = try #require(questions[question]?.commit)
        if hasReached { try #require(commit <= max(processes[process].reached, 0), repeating) }
      }
    case .complete(let orders, let result):
      let isDone = if case .success = result { true } else { false }
      for order in orders { try answer(key(process, order.number), isDone) }
    case .report(let bodies):
      try #require(bodies.count == 1)
      processes[process].reported = processes[process].state.status.token
    }
  }

  private mutating func answer(_ question: Int, _ answer: Bool) throws {
    questions[question]?.answers.append(answer)
    try #require(questions[question]?.answers.count == 1, repeating)
  }
}
