import TestStores

/// An external SQLite client, without Cordial's SQL functions.
enum ForeignWriter {
  /// Runs SQL on a store's file.
  static func write(_ path: String, _ sql: String) throws {
    try ForeignConnection(path).execute(sql)
  }
}
