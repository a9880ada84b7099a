package import SQLite

/// One who follows the log by name.
package struct Follower: Sendable, Equatable {
  package let name: String
  /// The commit up to which it has come.
  package let number: Int64
  /// When it said so last, in milliseconds since 1970.
  package let seen: Int64

  package init(name: String, number: Int64, seen: Int64) {
    self.name = name
    self.number = number
    self.seen = seen
  }

  /// Whether it has been silent for longer than is waited for.
  ///
  /// - Parameters:
  ///   - now: Milliseconds since 1970.
  ///   - silence: How long it may be silent, in milliseconds.
  /// - Returns: Whether it was.
  package func isExpired(_ now: Int64, after silence: Int64) -> Bool { seen + silence < now }
}

/// The followers of a store's log, over one connection.
package struct FollowerTable {
  private let db: SQLiteConnection

  package init(_ db: SQLiteConnection) {
    self.db = db
  }

  /// All of them, by name.
  package func all() throws -> [Follower] {
    try db.rows("SELECT name, number, seen FROM cordial_follower ORDER BY name", [], read)
  }

  /// The follower of that name, nil where there is none.
  package func follower(named name: String) throws -> Follower? {
    try db.row("SELECT name, number, seen FROM cordial_follower WHERE name = ?", [name], read)
  }

  private func read(_ row: PreparedStatement) -> Follower {
    Follower(name: row.text(0), number: row.integer(1), seen: row.integer(2))
  }

  package func put(_ follower: Follower) throws {
    try db.execute(
      "INSERT OR REPLACE INTO cordial_follower(name, number, seen) VALUES (?, ?, ?)",
      [follower.name, follower.number, follower.seen]
    )
  }

  /// - Returns: Whether there was one of that name.
  package func remove(_ name: String) throws -> Bool {
    try db.execute("DELETE FROM cordial_follower WHERE name = ?", [name])
    return db.changes > 0
  }
}
