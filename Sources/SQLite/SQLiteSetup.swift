import CSQLite

/// The settings for the whole SQLite library.
enum SQLiteSetup {
  /// Applies the settings at the first call, which must precede the first connection.
  ///
  /// In a program that uses SQLite itself, SQLite may be initialized already. It then keeps its
  /// settings and runs a little slower.
  static func run() {
    _ = once
  }

  private static let once = sqlite_disable_memory_counting()
}
