import CSQLite

/// A named order of texts for SQL, registered through SQLite's C interface.
package final class Collation {
  private let compare: (String, String) -> Int32
  private let progress: ProgressHandler

  private init(_ progress: ProgressHandler, _ compare: @escaping (String, String) -> Int32) {
    self.compare = compare
    self.progress = progress
  }

  /// Adds a collation to a connection, for as long as the connection is open.
  ///
  /// - Parameters:
  ///   - name: The collation's name in SQL.
  ///   - connection: The connection.
  ///   - compare: Returns a negative number, zero or a positive number when the first text sorts
  ///     before, with or after the second. It is called on the connection's thread.
  /// - Throws: `SQLiteError` when SQLite rejects the collation.
  package static func add(
    _ name: String,
    to connection: SQLiteConnection,
    _ compare: @escaping (String, String) -> Int32
  ) throws {
    let kept = unsafe Unmanaged.passRetained(Collation(connection.progress, compare))
    let code = unsafe sqlite3_create_collation_v2(
      connection.handle,
      name,
      SQLITE_UTF8,
      kept.toOpaque(),
      { context, firstCount, first, secondCount, second in
        guard let context = unsafe context else { return 0 }
        let collation = unsafe Unmanaged<Collation>.fromOpaque(context).takeUnretainedValue()
        guard !collation.progress.skipsComparison() else { return 0 }
        return collation.compare(
          unsafe Collation.text(first, firstCount),
          unsafe Collation.text(second, secondCount)
        )
      },
      { context in
        guard let context = unsafe context else { return }
        unsafe Unmanaged<Collation>.fromOpaque(context).release()
      }
    )
    guard code == SQLITE_OK else {
      // SQLite releases the context of a collation only if SQLite has accepted the collation.
      unsafe kept.release()
      return try connection.check(code)
    }
  }

  private static func text(_ start: UnsafeRawPointer?, _ count: Int32) -> String {
    unsafe String(decoding: UnsafeRawBufferPointer(start: start, count: Int(count)), as: UTF8.self)
  }
}
