import CSQLite
package import Interruptions

/// The handler that decides, between SQLite's instructions, whether a connection's statements
/// continue.
///
/// A stopped statement fails with the code `interrupted`. If the statement writes, SQLite rolls
/// back its transaction.
///
/// Only the thread that uses the connection accesses the properties. The queue lends the connection
/// to one thread at a time.
package final class ProgressHandler: @unchecked Sendable {
  /// The number of instructions of SQLite's virtual machine between two checks: some microseconds.
  private static let instructionsPerCheck: Int32 = 1000

  /// The interruption that can stop the statements and their functions, nil if there is none.
  package private(set) var interruption: Interruption?
  /// The closure that is called between instructions; it may wait.
  package var whenChecked: (() -> Void)?
  /// Whether statements currently cannot be stopped.
  private var isSuspended = false
  /// Whether a collation skipped a comparison because the work had to end.
  private var hasSkippedComparison = false
  /// The number of checks before the limit of instructions is reached, nil without a limit.
  private var checksLeft: Int?

  init() {}

  /// Registers the handler with SQLite; the handler must live as long as the connection.
  func install(on connection: SQLiteConnection) {
    unsafe sqlite3_progress_handler(
      connection.handle,
      Self.instructionsPerCheck,
      { context in
        guard let context = unsafe context else { return 0 }
        let handler = unsafe Unmanaged<ProgressHandler>.fromOpaque(context).takeUnretainedValue()
        return handler.stopsStatement() ? 1 : 0
      },
      Unmanaged.passUnretained(self).toOpaque()
    )
  }

  private func stopsStatement() -> Bool {
    if let checksLeft {
      self.checksLeft = checksLeft - 1
      if checksLeft <= 0 { return true }
    }
    whenChecked?()
    return isStopped
  }

  /// Whether the work on the connection must end.
  ///
  /// A long loop inside one call of an SQL function checks this property.
  package var isStopped: Bool { effective?.reason != nil }

  /// The interruption that can stop statements now; nil if there is none, as inside
  /// `withoutStopping`.
  package var effective: Interruption? { isSuspended ? nil : interruption }

  /// Throws an error if the work on the connection must end, even inside `withoutStopping`.
  ///
  /// - Throws: `Interrupted`.
  package func check() throws { try interruption?.check() }

  /// Throws an error that ends the calling statement if the work on the connection must end.
  ///
  /// - Throws: `SQLiteError` with the code `interrupted`.
  package func stopStatement() throws {
    if isStopped { throw SQLiteError(.interrupted) }
  }

  /// Returns whether a collation must return without a comparison, and records the skipped
  /// comparison.
  ///
  /// SQLite calls no progress handler while it sorts, and a collation cannot fail. The statement
  /// may finish with a wrong order, so `stopping` rejects the rows that the body has read.
  func skipsComparison() -> Bool {
    guard isStopped else { return false }
    hasSkippedComparison = true
    return true
  }

  /// Runs a body whose statements an interruption can stop.
  ///
  /// - Parameters:
  ///   - interruption: The interruption; nil for none.
  ///   - body: Uses the connection.
  /// - Returns: The result of the body.
  /// - Throws: `Interrupted` if the interruption stopped a statement, or made a collation skip a
  ///   comparison; the errors of the body.
  package func stopping<Result>(
    by interruption: Interruption?,
    _ body: () throws -> Result
  ) throws -> Result {
    guard let interruption else { return try body() }
    let outer = (interruption: self.interruption, hasSkipped: hasSkippedComparison)
    self.interruption = interruption
    hasSkippedComparison = false
    defer { (self.interruption, hasSkippedComparison) = outer }
    return try interruption.running(nil) {
      let result = try body()
      if hasSkippedComparison { throw SQLiteError(.interrupted) }
      return result
    }
  }

  /// Runs a body whose statements cannot be stopped, because they write.
  ///
  /// If a writing statement is stopped, SQLite rolls back the transaction. The body calls `check()`
  /// between its statements instead.
  ///
  /// - Parameter body: Uses the connection.
  /// - Returns: The result of the body.
  /// - Throws: The errors of the body.
  package func withoutStopping<Result>(_ body: () throws -> Result) rethrows -> Result {
    let outer = isSuspended
    isSuspended = true
    defer { isSuspended = outer }
    return try body()
  }

  /// Runs a body that cannot be stopped, and in which `check()` does not throw.
  ///
  /// - Parameter body: Uses the connection for a short time.
  /// - Returns: The result of the body.
  /// - Throws: The errors of the body.
  package func withoutInterruption<Result>(_ body: () throws -> Result) rethrows -> Result {
    let outer = interruption
    interruption = nil
    defer { interruption = outer }
    return try body()
  }

  /// Limits the instructions of the connection's statements, until `liftLimit()`.
  ///
  /// A statement beyond the limit fails even if it has taken effect. The statements that begin and
  /// end a transaction must therefore run without a limit.
  ///
  /// - Parameter instructionsMax: The maximum number of instructions of all statements together,
  ///   with a precision of a thousand.
  package func limit(instructionsMax: Int) {
    checksLeft = instructionsMax / Int(Self.instructionsPerCheck)
  }

  /// Ends the limit of instructions.
  package func liftLimit() { checksLeft = nil }
}

extension SQLiteConnection {
  /// Limits the length of the values that statements read and write.
  ///
  /// If a value is longer, the statement fails with the code `tooBig` before it reads the value.
  ///
  /// - Parameter bytesMax: The maximum length, in bytes.
  /// - Returns: The previous limit.
  @discardableResult
  package func limitValues(bytesMax: Int) -> Int {
    Int(unsafe sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, Int32(clamping: bytesMax)))
  }

  /// Sets the time that a statement waits for the lock of another connection, in seconds.
  package func setBusyMax(seconds: Double) {
    unsafe sqlite3_busy_timeout(handle, Int32(seconds * 1000))
  }

  /// Runs a statement in which SQLite calls the progress handler too rarely, such as a check of the
  /// file.
  ///
  /// - Parameter body: Runs the statement, which must not write inside a transaction.
  /// - Returns: The result of the body.
  /// - Throws: `Interrupted` as soon as the connection's interruption stops the work; the errors of
  ///   the body.
  package func interruptingCalls<Result>(_ body: () throws -> Result) throws -> Result {
    guard let interruption = progress.interruption else { return try body() }
    let handle = unsafe InterruptedHandle(handle: handle)
    return try interruption.running({ handle.interrupt() }, body)
  }
}

/// A connection's handle, for a second thread that interrupts a running statement.
@safe private struct InterruptedHandle: @unchecked Sendable {
  let handle: OpaquePointer?

  func interrupt() { unsafe sqlite3_interrupt(handle) }
}
