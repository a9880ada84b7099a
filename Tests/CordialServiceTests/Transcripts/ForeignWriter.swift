import GRDB

/// An external SQLite client, without Cordial's SQL functions.
enum ForeignWriter {
  /// Runs SQL on a store's file.
  static func write(_ path: String, _ sql: String) throws {
    var configuration = Configuration()
    configuration.busyMode = .timeout(10)
    try DatabaseQueue(path: path, configuration: configuration).writeWithoutTransaction { db in
      try db.execute(sql: sql)
    }
  }
}
