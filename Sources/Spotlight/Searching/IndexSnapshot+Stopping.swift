package import Interruptions
import SQLite

extension IndexSnapshot {
  /// Runs a body whose searches have an interruption of their own, instead of the snapshot's.
  ///
  /// - Parameters:
  ///   - interruption: The interruption.
  ///   - body: Receives the snapshot, which stays valid if the body is stopped.
  /// - Returns: The result of the body.
  /// - Throws: `Interrupted`; the errors of the body.
  package func stopping<Result>(
    by interruption: Interruption,
    _ body: (IndexSnapshot) throws -> Result
  ) throws -> Result {
    var snapshot = self
    snapshot.interruption = interruption
    return try db.progress.stopping(by: interruption) { try body(snapshot) }
  }
}
