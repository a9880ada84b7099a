import CordialService
import Dispatch
import Glibc
import Synchronization

/// A service loop without a thread: the test runs its jobs on the test's own thread.
///
/// The store and the index schedule jobs from background threads at any time. A job runs only when
/// the test calls `runNext`. Timers depend on a clock that only the test advances, so that a slow
/// test run never fires a timer early.
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
    /// The thread that runs a job or the body of `enter`; nil while no thread does.
    var owner: pthread_t?
  }

  private let state = Mutex(State())
  /// Counts the waiting jobs.
  private let waiting = DispatchSemaphore(value: 0)

  // MARK: For the service

  /// The loop as an executor.
  var unownedExecutor: UnownedSerialExecutor { unsafe asUnownedSerialExecutor() }

  /// Adds a job.
  func execute(_ work: @escaping @Sendable () -> Void) {
    state.withLock { $0.jobs.append(work) }
    waiting.signal()
  }

  /// Adds a timer.
  func schedule(milliseconds: Int, _ work: @escaping @Sendable () -> Void) {
    state.withLock { state in
      state.timerCount += 1
      let due = state.now + max(0, milliseconds)
      state.timers.append(Timer(due: due, number: state.timerCount, work: work))
    }
  }

  /// Adds a job of a Swift task.
  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    execute { unsafe job.runSynchronously(on: self.asUnownedSerialExecutor()) }
  }

  /// Ends the process when the current thread does not own the loop.
  func checkIsolated() {
    let isOwner = state.withLock {
      $0.owner.map { pthread_equal($0, pthread_self()) != 0 } ?? false
    }
    if !isOwner { fatalError("The service was entered from outside its loop") }
  }

  // MARK: For the test

  /// The number of timers that were ever set.
  var timersSet: Int { state.withLock { $0.timerCount } }

  /// The time of the timers, in milliseconds.
  var now: Int { state.withLock { $0.now } }

  /// Runs the body as a job of the loop, also inside another job.
  func enter<Answer>(_ body: () throws -> Answer) rethrows -> Answer {
    let previous = state.withLock { state in
      defer { state.owner = pthread_self() }
      return state.owner
    }
    defer { state.withLock { $0.owner = previous } }
    return try body()
  }

  /// Runs the next job.
  ///
  /// - Parameter deadline: How long to wait for a job; `.now()` does not wait.
  /// - Returns: Whether a job was run.
  func runNext(before deadline: DispatchTime) -> Bool {
    guard waiting.wait(timeout: deadline) == .success else { return false }
    let job = state.withLock { $0.jobs.isEmpty ? nil : $0.jobs.removeFirst() }
    guard let job else { return false }
    enter(job)
    return true
  }

  /// Drops all jobs and timers, which keep the service alive.
  func clear() {
    state.withLock { state in
      state.jobs = []
      state.timers = []
    }
  }

  /// Advances the clock to the next timer, or to the limit when no timer is due before.
  ///
  /// - Parameter limit: The latest time to which the clock advances.
  /// - Returns: By how many milliseconds the clock advanced, and the work of the timer, which the
  ///   caller runs with `enter`; nil when no timer is due.
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
