import DequeModule
import Dispatch
package import Interruptions
import Synchronization

/// The client connection of a read, and the interruption of the read.
package struct ReadTurn: Sendable {
  /// The connection of the client; connections take turns.
  let source: Int
  /// The interruption of the read; nil if nothing can stop the read.
  package let interruption: Interruption?
  /// Whether a long read pauses in favour of other reads.
  let pauses: Bool

  /// Creates the turn of a client's read.
  package init(source: Int, interruption: Interruption) {
    self.source = source
    self.interruption = interruption
    pauses = true
  }

  private init() {
    source = -1
    interruption = nil
    pauses = false
  }

  /// A read of the service itself, on which all clients depend.
  package static let ofService = ReadTurn()
}

/// A pool of read connections, each lent to one read at a time.
///
/// A long read keeps its connection. Other reads get other connections, up to a limit, so that no
/// client waits for the reads of another client. `ReadSchedule` decides which reads run.
final class ReaderPool: Sendable {
  typealias Body = @Sendable (Result<StoreReader, StoreError>) -> Void

  /// A connection with its queue; if no open connection is given, the first read opens it.
  private final class Reader: Sendable {
    let queue = DispatchQueue(label: "cordial.reader")
    /// The connection, which only the queue uses; nil until it is open.
    let connection = Mutex<Confined<StoreReader>?>(nil)

    init(_ opened: StoreReader? = nil) {
      guard let opened else { return }
      let confined = Confined(opened, to: queue)
      connection.withLock { $0 = confined }
    }
  }

  /// A read that has begun; only the thread of its reader uses `sliceStart` and `nextCheck`.
  private final class Run: @unchecked Sendable {
    let number: Int
    let turn: ReadTurn
    /// The semaphore that is signalled when the paused read may continue.
    let continues = DispatchSemaphore(value: 0)
    var sliceStart: UInt64
    var nextCheck: UInt64

    init(_ number: Int, _ turn: ReadTurn, at now: UInt64) {
      self.number = number
      self.turn = turn
      sliceStart = now
      nextCheck = now
    }
  }

  private struct State {
    var idle: [Reader] = []
    /// The number of connections, including connections that are being opened.
    var count = 0
    /// The number of open connections.
    var openCount = 0
    /// The reads that wait for a connection, by source.
    var waiting: [Int: Deque<(turn: ReadTurn, body: Body)>] = [:]
    var turns: Deque<Int> = []
    var schedule = ReadSchedule()
    var runs: [Int: Run] = [:]
    var nextRun = 1

    mutating func add(_ turn: ReadTurn, _ body: @escaping Body) {
      if waiting[turn.source] == nil { turns.append(turn.source) }
      waiting[turn.source, default: []].append((turn, body))
    }

    /// Removes and returns the next read.
    ///
    /// - Parameter crowd: If at least this number of reads run, a source with a running read begins
    ///   no further read.
    /// - Returns: The read; nil if no read may begin. The pool calls this method again when a read
    ///   ends.
    mutating func next(crowd: Int) -> (turn: ReadTurn, body: Body)? {
      let busy = runs.count < crowd ? [] : Set(runs.values.map(\.turn.source))
      let index = turns.firstIndex { $0 == ReadTurn.ofService.source || !busy.contains($0) }
      guard let source = index.map({ turns.remove(at: $0) }),
        let next = waiting[source]?.popFirst()
      else { return nil }
      if waiting[source]?.isEmpty ?? true { waiting[source] = nil } else { turns.append(source) }
      return next
    }

    /// Returns the paused reads that continue.
    mutating func resume(at now: UInt64) -> [Run] {
      var resumed: [Run] = []
      while let number = schedule.resume(at: now) {
        if let run = runs[number] { resumed.append(run) }
      }
      return resumed
    }
  }

  private let state = Mutex(State())
  private let open: @Sendable () throws -> StoreReader
  /// The maximum number of connections.
  private let readersMax: Int
  /// The number of connections that stay open.
  private let readersKept: Int
  /// If at least this number of reads run, a client with a running read begins no further read.
  ///
  /// The remaining connections are for clients without a running read.
  private var crowd: Int { readersMax - readersMax / 2 }

  /// The time after which a read is slow, and the pause between two checks, in nanoseconds.
  private static let slice: UInt64 = 20_000_000
  private static let checkPause: UInt64 = 1_000_000
  /// The interval at which a paused read checks its interruption, in milliseconds.
  private static let pauseMilliseconds = 20

  /// Creates a pool.
  ///
  /// - Parameters:
  ///   - first: The first connection; nil when the first read opens it.
  ///   - readersMax: The maximum number of connections.
  ///   - readersKept: The number of connections that stay open.
  ///   - open: Opens a connection.
  init(
    first: StoreReader? = nil,
    readersMax: Int,
    readersKept: Int,
    open: @escaping @Sendable () throws -> StoreReader
  ) {
    self.readersMax = readersMax
    self.readersKept = readersKept
    self.open = open
    guard let first else { return }
    let reader = Reader(first)
    state.withLock { state in
      state.idle.append(reader)
      (state.count, state.openCount) = (1, 1)
    }
  }

  /// Runs a body with a connection, on the thread of the connection.
  func read(_ turn: ReadTurn, _ body: @escaping Body) {
    let reader = state.withLock { state -> Reader? in
      state.add(turn, body)
      if let idle = state.idle.popLast() { return idle }
      guard state.count < readersMax else { return nil }
      state.count += 1
      return Reader()
    }
    if let reader { reader.queue.async { self.work(reader) } }
  }

  /// Performs waiting reads until none may begin.
  private func work(_ reader: Reader) {
    guard let connection = connection(of: reader) else { return }
    while let (run, body) = next(for: reader) {
      // A read that was stopped while it waited begins too, and ends at once.
      connection.whenChecked(run.turn.pauses ? { self.check(run) } : nil)
      body(.success(connection))
      connection.whenChecked(nil)
      end(run)
    }
  }

  /// Returns the connection of a reader; nil if the connection cannot be opened.
  private func connection(of reader: Reader) -> StoreReader? {
    if let known = reader.connection.withLock({ $0 }) { return known.value }
    do {
      let opened = Confined(try open(), to: reader.queue)
      reader.connection.withLock { $0 = opened }
      state.withLock { $0.openCount += 1 }
      return opened.value
    } catch {
      let failure = StoreError(any: error)
      let (failed, idle) = state.withLock { state -> ([Body], Reader?) in
        state.count -= 1
        // Open connections serve the waiting reads: they can still read files that were removed.
        guard state.count == 0 else {
          return ([], state.turns.isEmpty ? nil : state.idle.popLast())
        }
        var failed: [Body] = []
        while let next = state.next(crowd: crowd) { failed.append(next.body) }
        return (failed, nil)
      }
      failed.forEach { $0(.failure(failure)) }
      if let idle { idle.queue.async { self.work(idle) } }
      return nil
    }
  }

  /// Returns the next read; nil if no read may begin.
  ///
  /// In the latter case, this method keeps the reader as idle or drops it.
  private func next(for reader: Reader) -> (Run, Body)? {
    let now = DispatchTime.now().uptimeNanoseconds
    return state.withLock { state in
      guard let (turn, body) = state.next(crowd: crowd) else {
        // Only open connections count: a connection that is being opened may fail.
        if state.openCount > readersKept {
          state.count -= 1
          state.openCount -= 1
        } else {
          state.idle.append(reader)
        }
        return nil
      }
      let run = Run(state.nextRun, turn, at: now)
      state.nextRun += 1
      state.schedule.begin(run.number)
      state.runs[run.number] = run
      return (run, body)
    }
  }

  private func end(_ run: Run) {
    let now = DispatchTime.now().uptimeNanoseconds
    let resumed = state.withLock { state in
      state.schedule.end(run.number, at: now)
      state.runs[run.number] = nil
      return state.resume(at: now)
    }
    for other in resumed { other.continues.signal() }
  }

  /// Pauses a read while the schedule prefers other reads; a read calls this between instructions.
  private func check(_ run: Run) {
    let now = DispatchTime.now().uptimeNanoseconds
    guard now >= run.nextCheck else { return }
    run.nextCheck = now + Self.checkPause
    let hasUsedSlice = now >= run.sliceStart + Self.slice
    let (pauses, resumed) = state.withLock { state in
      (
        state.schedule.check(run.number, hasUsedSlice: hasUsedSlice, at: now),
        state.resume(at: now)
      )
    }
    for other in resumed { other.continues.signal() }
    guard pauses else { return }
    while run.continues.wait(timeout: .now() + .milliseconds(Self.pauseMilliseconds)) == .timedOut {
      guard run.turn.interruption?.reason != nil else { continue }
      state.withLock { $0.schedule.leave(run.number) }
      break
    }
    run.sliceStart = DispatchTime.now().uptimeNanoseconds
  }
}
