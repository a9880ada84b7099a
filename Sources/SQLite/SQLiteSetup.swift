import CSQLite

/// What is set for SQLite as a whole.
enum SQLiteSetup {
  /// Sets it, the first time; to be called before a connection is opened.
  ///
  /// In a program that uses SQLite for itself it may run already: then it stays as it is, a little
  /// slower.
  static func run() {
    _ = once
  }

  private static let once = sqlite_disable_memory_counting()
}
