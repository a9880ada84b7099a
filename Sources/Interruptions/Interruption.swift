// Interruptions: what stops the work of a request from another thread, and at its time limit.
//
// Must not know: requests, SQL, connections.
//
// What always holds:
// 1. The first reason counts, and it never changes.
// 2. Work that has ended before it looks at the reason is not stopped.

package import CInterruption
import Dispatch
import Synchronization

/// The means to stop the work of one request from any thread.
///
/// The work looks at it often: SQLite between instructions, functions of SQL between characters,
/// the ranking between postings, loops over rows by `check()`.
@safe package final class Interruption: @unchecked Sendable {
  /// The reason why work has to end.
  package enum Reason: Int32, Sendable {
    /// The client does not want the result any more.
    case cancelled = 1
    /// The time limit has passed.
    case timedOut
    /// The client's connection has ended.
    case disconnected
    /// The service is stopping.
    case closing
  }

  // The functions of CInterruption read and change the state by atomic operations.
  private let state: UnsafeMutablePointer<interruption>
  private let extras = Mutex(Extras())

  private struct Extras {
    /// The time limit, in seconds; nil for none.
    var secondsMax: Double?
    /// Whether the time has begun to count.
    var hasBegun = false
    /// When the time is over; nil for no limit.
    var deadline: DispatchTime?
    /// What ends a wait, or a call that does not look at the reason itself.
    var interrupt: (@Sendable () -> Void)?
  }

  /// Creates the means to stop work that has not begun.
  ///
  /// - Parameter secondsMax: The time limit, in seconds, from `begin()` on; nil for none.
  package init(secondsMax: Double? = nil) {
    unsafe state = UnsafeMutablePointer.allocate(capacity: 1)
    unsafe state.initialize(
      to: interruption(
        reason: 0,
        lateReason: Reason.timedOut.rawValue,
        deadline: .max
      )
    )
    extras.withLock { $0.secondsMax = secondsMax }
  }

  deinit {
    unsafe state.deallocate()
  }

  /// The time limit, in seconds; nil for none.
  package var secondsMax: Double? { extras.withLock { $0.secondsMax } }

  /// Begins to count the time of the work, unless it counts already.
  package func begin() {
    extras.withLock { extras in
      guard !extras.hasBegun else { return }
      setDeadline(&extras)
    }
  }

  /// Replaces the time limit, and begins to count anew.
  ///
  /// - Parameter seconds: The time limit, in seconds; nil for none.
  package func limit(seconds: Double?) {
    extras.withLock { extras in
      extras.secondsMax = seconds
      setDeadline(&extras)
    }
  }

  private func setDeadline(_ extras: inout Extras) {
    extras.hasBegun = true
    // The clock counts nanoseconds since the start of the system in 64 bits.
    let nanoseconds = extras.secondsMax.map { Int64(min(max($0, 0) * 1e9, 4e18)) }
    extras.deadline = extras.secondsMax.map { .now() + max($0, 0) }
    unsafe interruption_set_deadline(state, nanoseconds.map { interruption_now() + $0 } ?? .max)
  }

  /// Has the work end, unless it has ended.
  package func stop(_ reason: Reason) {
    unsafe interruption_stop(state, reason.rawValue)
    extras.withLock { $0.interrupt?() }
  }

  /// Sets what ends a wait of the work, before its body runs.
  ///
  /// - Parameter action: Runs once, on the thread that stops the work, at once if it is stopped
  ///   already; nil where the work waits no more. It must not call the interruption.
  package func whenStopped(_ action: (@Sendable () -> Void)?) {
    extras.withLock { extras in
      extras.interrupt = action
      if action != nil, reason != nil { action?() }
    }
  }

  /// The reason why the work has to end; nil while it may continue.
  package var reason: Reason? {
    let code = unsafe interruption_reason(state)
    return code == 0 ? nil : Reason(rawValue: code)
  }

  /// Throws where the work has to end.
  ///
  /// - Throws: `Interrupted` with the reason.
  package func check() throws(Interrupted) {
    if let reason { throw Interrupted(reason, secondsMax: secondsMax) }
  }

  /// Runs a body whose failure is a consequence of the stop, where the work had to end.
  ///
  /// - Parameters:
  ///   - interrupt: Ends a call inside the body that does not look at the reason. It runs on the
  ///     thread that stops the work, while the body runs, and must not call the interruption; nil
  ///     where every call looks.
  ///   - body: The work.
  /// - Returns: The result of the body, also where the work had to end and the body has not seen
  ///   it.
  /// - Throws: `Interrupted`; the errors of the body.
  package func running<Result>(
    _ interrupt: (@Sendable () -> Void)?,
    _ body: () throws -> Result
  ) throws -> Result {
    begin()
    extras.withLock { $0.interrupt = interrupt }
    let timer = interrupt.flatMap { _ in timerOfDeadline() }
    defer {
      timer?.cancel()
      extras.withLock { $0.interrupt = nil }
    }
    do {
      try check()
      return try body()
    } catch {
      try check()
      throw error
    }
  }

  /// A queue of its own, which gets a thread also while all others are busy.
  private static let deadlines = DispatchQueue(label: "cordial.deadlines")

  /// Starts a timer that ends a call inside a body when the time is over: the call does not look at
  /// the time itself.
  private func timerOfDeadline() -> (any DispatchSourceTimer)? {
    guard let deadline = extras.withLock({ $0.deadline }) else { return nil }
    let timer = DispatchSource.makeTimerSource(queue: Self.deadlines)
    timer.schedule(deadline: deadline)
    timer.setEventHandler { [weak self] in
      // The limit may have been replaced.
      guard let self, reason != nil else { return }
      extras.withLock { $0.interrupt?() }
    }
    timer.activate()
    return timer
  }

  /// The state for C code that keeps it as long as the owner of the interruption lets it.
  package var pointer: UnsafeMutablePointer<interruption> { unsafe state }
}

/// The error of work that was stopped.
package struct Interrupted: Error, Equatable {
  package let reason: Interruption.Reason
  /// The time limit, in seconds; nil for none.
  package let secondsMax: Double?

  package init(_ reason: Interruption.Reason, secondsMax: Double? = nil) {
    self.reason = reason
    self.secondsMax = secondsMax
  }
}
