import CordialService
import Dispatch
import Glibc
import Synchronization

/// A service's loop that runs on the test's own thread, and only while the test waits for something.
///
/// Background threads of the store and of the index hand work to it at any time; `run` carries it
/// out. Timers belong to a clock that the test advances, so that nothing happens because time went
/// by while the test was slow.
final class ManualLoop: ServiceLoop, SerialExecutor {
  private struct Timer {
    let due: Int
    let number: Int
    let work: @Sendable () -> Void
  }

  private struct State {
    var jobs: [@Sendable () -> Void] = []
    var timers: [Timer] = []
    var timerCount = 0
    var now = 0
    /// The thread that is running a job or `enter`, nil while none is.
    var owner: pthread_t?
  }

  private let state = Mutex(State())
  /// Counts the jobs that wait.
  private let waiting = DispatchSemaphore(value: 0)

  // MARK: What a service uses

  var unownedExecutor: UnownedSerialExecutor { unsafe asUnownedSerialExecutor() }

  func execute(_ work: @escaping @Sendable () -> Void) {
    state.withLock { $0.jobs.append(work) }
    waiting.signal()
  }

  func schedule(milliseconds: Int, _ work: @escaping @Sendable () -> Void) {
    state.withLock { state in
      state.timerCount += 1
      let due = state.now + max(0, milliseconds)
      state.timers.append(Timer(due: due, number: state.timerCount, work: work))
    }
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    execute { unsafe job.runSynchronously(on: self.asUnownedSerialExecutor()) }
  }

  func checkIsolated() {
    let isHere = state.withLock { $0.owner.map { pthread_equal($0, pthread_self()) != 0 } ?? false }
    if !isHere { fatalError("The service was entered from outside of its loop") }
  }

  // MARK: What a test uses

  /// Milliseconds that went by on the clock of the timers.
  var now: Int { state.withLock { $0.now } }

  /// Does something as if it was a job of the loop; it may be called within a job.
  func enter<Answer>(_ body: () throws -> Answer) rethrows -> Answer {
    let previous = state.withLock { state in
      defer { state.owner = pthread_self() }
      return state.owner
    }
    defer { state.withLock { $0.owner = previous } }
    return try body()
  }

  /// Runs the next job, waiting for one until a moment.
  ///
  /// - Parameter deadline: How long to wait; `.now()` runs only what is there.
  /// - Returns: Whether there was one.
  func runNext(before deadline: DispatchTime) -> Bool {
    guard waiting.wait(timeout: deadline) == .success else { return false }
    let job = state.withLock { $0.jobs.isEmpty ? nil : $0.jobs.removeFirst() }
    guard let job else { return false }
    enter(job)
    return true
  }

  /// Forgets the timers and the jobs, which keep alive what they would do something with.
  func clear() {
    state.withLock { state in
      state.jobs = []
      state.timers = []
    }
  }

  /// Moves the clock to the next timer.
  ///
  /// - Parameter limit: A moment beyond which the clock does not go; it goes there when no timer is
  ///   due before.
  /// - Returns: How many milliseconds went by, and the timer's work, to be run by `enter`; nil when
  ///   no timer is due.
  func nextTimer(through limit: Int) -> (milliseconds: Int, work: (@Sendable () -> Void)?) {
    state.withLock { state in
      let next = state.timers.indices
        .filter { state.timers[$0].due <= limit }
        .min { first, second in
          (state.timers[first].due, state.timers[first].number)
            < (state.timers[second].due, state.timers[second].number)
        }
      let timer = next.map { state.timers.remove(at: $0) }
      let before = state.now
      state.now = max(before, timer?.due ?? limit)
      return (state.now - before, timer?.work)
    }
  }
}
