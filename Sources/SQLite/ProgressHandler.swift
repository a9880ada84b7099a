import CSQLite
package import Interruptions

/// What decides, between SQLite's instructions, whether a connection's statements may continue.
///
/// A statement that may not continue fails with the code `interrupted`. Where that statement
/// writes, SQLite rolls the transaction back.
///
/// The properties are used by the thread that uses the connection, which its queue lends to one
/// thread at a time.
package final class ProgressHandler: @unchecked Sendable {
  /// The number of instructions of SQLite's virtual machine between two checks: some microseconds.
  private static let instructionsPerCheck: Int32 = 1000

  /// What stops the statements and the functions that they call; nil for nothing.
  package private(set) var interruption: Interruption?
  /// Called between instructions; it may wait.
  package var whenChecked: (() -> Void)?
  /// Whether nothing stops statements at the moment.
  private var isSuspended = false
  /// Whether a comparison was not made because the work had to end.
  private var hasSkippedComparison = false
  /// The checks that the limit of instructions leaves; nil without a limit.
  private var checksLeft: Int?

  init() {}

  /// Has SQLite ask the handler, which must live as long as the connection.
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

  /// Whether the work on the connection has to end.
  ///
  /// A long loop inside one call of a function looks at this.
  package var isStopped: Bool { effective?.reason != nil }

  /// What stops the statements at the moment; nil where nothing does, as inside `withoutStopping`.
  package var effective: Interruption? { isSuspended ? nil : interruption }

  /// Throws where the work on the connection has to end, also inside `withoutStopping`.
  ///
  /// - Throws: `Interrupted`.
  package func check() throws { try interruption?.check() }

  /// Ends the statement that calls a function, where the work on the connection has to end.
  ///
  /// - Throws: `SQLiteError` with the code `interrupted`.
  package func stopStatement() throws {
    if isStopped { throw SQLiteError(.interrupted) }
  }

  /// Returns whether a collation has to end without comparing.
  ///
  /// SQLite asks no progress handler while it sorts, and a collation cannot fail. The statement may
  /// go on with the wrong order to its end, so that `stopping` rejects what the body has read.
  func skipsComparison() -> Bool {
    guard isStopped else { return false }
    hasSkippedComparison = true
    return true
  }

  /// Runs a body whose statements an interruption stops.
  ///
  /// - Parameters:
  ///   - interruption: The interruption; nil for none.
  ///   - body: Uses the connection.
  /// - Returns: The result of the body.
  /// - Throws: `Interrupted` where the interruption stopped a statement, or had a collation skip a
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

  /// Runs a body whose statements nothing stops, because they write.
  ///
  /// SQLite rolls a transaction back whose writing statement is stopped. The body checks between
  /// statements.
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

  /// Runs a body that nothing stops, and in which `check()` throws nothing.
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
  /// A statement beyond the limit fails even if it has taken effect, so that the limit must not
  /// include the statements that begin and end a transaction.
  ///
  /// - Parameter instructionsMax: The maximum number of instructions of all statements together, to
  ///   a thousand.
  package func limit(instructionsMax: Int) {
    checksLeft = instructionsMax / Int(Self.instructionsPerCheck)
  }

  /// Ends the limit of instructions.
  package func liftLimit() { checksLeft = nil }
}

extension SQLiteConnection {
  /// Limits the length of the values that statements read and write.
  ///
  /// A statement that meets a longer value fails with the code `tooBig`, before it reads the value.
  ///
  /// - Parameter bytesMax: The maximum length, in bytes.
  /// - Returns: The limit before.
  @discardableResult
  package func limitValues(bytesMax: Int) -> Int {
    Int(unsafe sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, Int32(clamping: bytesMax)))
  }

  /// Sets the time that a statement waits for the lock of another connection, in seconds.
  package func setBusyMax(seconds: Double) {
    unsafe sqlite3_busy_timeout(handle, Int32(seconds * 1000))
  }

  /// Runs a statement of which SQLite executes long parts without asking the progress handler, as a
  /// check of the file.
  ///
  /// - Parameter body: Runs the statement, which must not write inside a transaction.
  /// - Returns: The result of the body.
  /// - Throws: `Interrupted`, as soon as the interruption of the connection stops; the errors of
  ///   the body.
  package func interruptingCalls<Result>(_ body: () throws -> Result) throws -> Result {
    guard let interruption = progress.interruption else { return try body() }
    let handle = unsafe InterruptedHandle(handle: handle)
    return try interruption.running({ handle.interrupt() }, body)
  }
}

/// A connection's handle, which another thread uses to interrupt it while the connection is in use.
@safe private struct InterruptedHandle: @unchecked Sendable {
  let handle: OpaquePointer?

  func interrupt() { unsafe sqlite3_interrupt(handle) }
}
