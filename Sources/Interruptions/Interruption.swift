// Interruptions: the signal that stops a request's work, from any thread or at its time limit.
//
// Must not know: requests, SQL, connections.
//
// What always holds:
// 1. The first reason counts, and later reasons do not replace it.
// 2. Work that ends before its next check of the reason is not stopped.

package import CInterruption
import Dispatch
import Synchronization

/// The signal that stops the work of one request, from any thread.
///
/// The work checks the signal often: SQLite between instructions, SQL functions between characters,
/// the ranking between postings, and loops over rows with `check()`.
@safe package final class Interruption: @unchecked Sendable {
  /// The reason why work has to end.
  package enum Reason: Int32, Sendable {
    /// The client no longer wants the result.
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
    /// Whether the time limit has begun to run.
    var hasBegun = false
    /// The end of the time limit; nil for no limit.
    var deadline: DispatchTime?
    /// The action that ends a wait, or a call that does not check the reason itself.
    var interrupt: (@Sendable () -> Void)?
  }

  /// Creates the signal for work that has not begun.
  ///
  /// - Parameter secondsMax: The time limit, in seconds, measured from `begin()`; nil for none.
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

  /// Starts the time limit, unless the limit already runs.
  package func begin() {
    extras.withLock { extras in
      guard !extras.hasBegun else { return }
      setDeadline(&extras)
    }
  }

  /// Replaces the time limit, and starts the new limit.
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
    // The clock counts nanoseconds since the start of the system in 64 bits, so that the sum must
    // not overflow.
    let nanoseconds = extras.secondsMax.map { Int64(min(max($0, 0) * 1e9, 4e18)) }
    extras.deadline = extras.secondsMax.map { .now() + max($0, 0) }
    unsafe interruption_set_deadline(state, nanoseconds.map { interruption_now() + $0 } ?? .max)
  }

  /// Stops the work, unless the work has ended.
  package func stop(_ reason: Reason) {
    unsafe interruption_stop(state, reason.rawValue)
    extras.withLock { $0.interrupt?() }
  }

  /// Sets the action that ends a wait of the work before its body runs.
  ///
  /// - Parameter action: Runs on the thread that stops the work, or immediately if the work is
  ///   already stopped. The action must not call the interruption. Nil removes the action after the
  ///   wait.
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

  /// Throws if the work has to end.
  ///
  /// - Throws: `Interrupted` with the reason.
  package func check() throws(Interrupted) {
    if let reason { throw Interrupted(reason, secondsMax: secondsMax) }
  }

  /// Runs the body of the work, and throws `Interrupted` instead of an error that the stop causes.
  ///
  /// - Parameters:
  ///   - interrupt: Ends a call inside the body that does not check the reason; nil if every call
  ///     checks the reason. The closure runs on the thread that stops the work, while the body
  ///     runs, and must not call the interruption.
  ///   - body: The work.
  /// - Returns: The result of the body, even if the work had to end and the body did not notice.
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

  /// A separate queue, which gets a thread even while all other queues are busy.
  private static let deadlines = DispatchQueue(label: "cordial.deadlines")

  /// Starts a timer that ends a call inside a body at the deadline, because the call does not check
  /// the time itself.
  private func timerOfDeadline() -> (any DispatchSourceTimer)? {
    guard let deadline = extras.withLock({ $0.deadline }) else { return nil }
    let timer = DispatchSource.makeTimerSource(queue: Self.deadlines)
    timer.schedule(deadline: deadline)
    timer.setEventHandler { [weak self] in
      // `limit(seconds:)` may have replaced the deadline meanwhile.
      guard let self, reason != nil else { return }
      extras.withLock { $0.interrupt?() }
    }
    timer.activate()
    return timer
  }

  /// The state for C code, which must not use the pointer after the interruption is deallocated.
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
