package import Interruptions
import SQLite

extension IndexSnapshot {
  /// Runs a body whose searches another interruption stops than those of the whole snapshot.
  ///
  /// - Parameters:
  ///   - interruption: The interruption.
  ///   - body: Receives the snapshot, which stays valid where the body is stopped.
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
