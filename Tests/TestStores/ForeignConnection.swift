package import GRDB

extension DatabaseQueue {
  /// Opens a file as another program would, which waits while the service writes.
  ///
  /// - Parameters:
  ///   - path: The path of the file.
  ///   - allowsUnsafeTransactions: Whether a transaction may stay open between two uses.
  /// - Returns: The connection.
  /// - Throws: `DatabaseError`.
  package static func foreign(
    _ path: String,
    allowsUnsafeTransactions: Bool = false
  ) throws -> DatabaseQueue {
    var configuration = Configuration()
    configuration.busyMode = .timeout(60)
    configuration.allowsUnsafeTransactions = allowsUnsafeTransactions
    return try DatabaseQueue(path: path, configuration: configuration)
  }
}
