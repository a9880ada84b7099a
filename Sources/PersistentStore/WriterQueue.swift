import DequeModule
import Dispatch
import Synchronization

/// Gives the writer its work in groups.
///
/// Whoever asks for something has a line of its own, in which the order stays; a group takes from
/// the lines in turn, so that who asks for thousands does not keep the others waiting.
final class WriterQueue: Sendable {
  /// How many saves one group has at most.
  private static let groupMax = 64
  /// How many of those may be of one source while others may still come.
  private static let shareMax = 16

  /// A save that waits.
  private final class WaitingSave: Sendable {
    let request: SaveRequest
    let completion: @Sendable (Result<SaveOutcome, StoreError>) -> Void
    let groupEnded: @Sendable () -> Void

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
    case seal(@Sendable (Result<Int64, StoreError>) -> Void)
    /// Anything else; nil when the writer is gone.
    case task(@Sendable (StoreWriter?) -> Void)
  }

  private struct State {
    /// Those that came first, whoever asked: no more than one group, and of nobody more than a part
    /// of it.
    var first: [(source: Int, work: Work)] = []
    /// Those behind them, by who asked.
    var lines: [Int: Deque<Work>] = [:]
    /// Those who wait in lines, in the order of their turns.
    var turns: Deque<Int> = []
    var isRunning = false
    var isClosed = false

    mutating func add(_ work: Work, of source: Int) {
      if turns.isEmpty, first.count < WriterQueue.groupMax,
        first.count(where: { $0.source == source }) < WriterQueue.shareMax
      {
        return first.append((source, work))
      }
      if lines[source] == nil { turns.append(source) }
      lines[source, default: []].append(work)
    }

    /// What is done next: what came first, then one of each line in turn.
    mutating func takeGroup() -> [Work] {
      var group = first.map(\.work)
      first.removeAll(keepingCapacity: true)
      while group.count < WriterQueue.groupMax, let source = turns.popFirst() {
        guard let work = lines[source]?.popFirst() else { continue }
        group.append(work)
        if lines[source]?.isEmpty ?? true { lines[source] = nil } else { turns.append(source) }
      }
      return group
    }
  }

  private let queue = DispatchQueue(label: "cordial.writer")
  private let state = Mutex(State())
  private let writer: Confined<StoreWriter>
  /// Who has no connection.
  private static let nobody = -1

  init(_ writer: StoreWriter) {
    self.writer = Confined(writer, to: queue)
  }

  /// Saves, as `PersistentStore.save` says.
  func save(
    _ request: SaveRequest,
    _ completion: @escaping @Sendable (Result<SaveOutcome, StoreError>) -> Void,
    groupEnded: @escaping @Sendable () -> Void
  ) {
    add(.save(WaitingSave(request, completion, groupEnded)), of: request.source)
  }

  func seal(_ completion: @escaping @Sendable (Result<Int64, StoreError>) -> Void) {
    add(.seal(completion), of: Self.nobody)
  }

  /// Does something with the writer, behind what the same source asked for before.
  ///
  /// - Parameters:
  ///   - source: Who asks.
  ///   - body: What to do; it keeps others waiting as long as it takes.
  ///   - completion: Called on the writer's thread with what it answered.
  func perform<Answer: Sendable>(
    of source: Int,
    _ body: @escaping @Sendable (StoreWriter) throws -> Answer,
    _ completion: @escaping @Sendable (Result<Answer, StoreError>) -> Void
  ) {
    let task = Work.task { writer in
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
    case .seal(let completion): completion(.failure(stopping))
    case .task(let body): body(nil)
    }
  }

  /// Works until nothing waits: everything that came during one commit is the next group.
  private func run() {
    while true {
      let group = state.withLock { state in
        let group = state.takeGroup()
        if group.isEmpty { state.isRunning = false }
        return group
      }
      guard !group.isEmpty else { return }
      perform(group)
    }
  }

  /// Carries a group out: saves that stand side by side are one commit.
  private func perform(_ group: [Work]) {
    var saves: [WaitingSave] = []
    var seals: [@Sendable (Result<Int64, StoreError>) -> Void] = []
    for work in group {
      switch work {
      case .save(let save): saves.append(save)
      case .seal(let completion): seals.append(completion)
      case .task(let body):
        commit(&saves)
        body(writer.value)
      }
    }
    commit(&saves)
    guard !seals.isEmpty else { return }
    let result: Result<Int64, StoreError>
    do {
      result = .success(try writer.value.seal())
    } catch {
      result = .failure(StoreError(any: error))
    }
    seals.forEach { $0(result) }
  }

  private func commit(_ saves: inout [WaitingSave]) {
    guard !saves.isEmpty else { return }
    let outcomes = writer.value.save(saves.map(\.request))
    for (save, outcome) in zip(saves, outcomes) { save.completion(outcome) }
    saves.last?.groupEnded()
    saves = []
  }

  func close() {
    state.withLock { $0.isClosed = true }
    queue.sync {
      do {
        try writer.value.close()
      } catch {
        // Somebody else uses the store, or the disk is full: the log is good where it is.
      }
    }
  }

  func synchronous() throws -> Int {
    try queue.sync { try writer.value.synchronous() }
  }
}
