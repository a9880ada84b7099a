package import SQLite

/// A named follower of the log.
package struct Follower: Sendable, Equatable {
  package let name: String
  /// The commit up to which the follower has read.
  package let number: Int64
  /// The time of the follower's last request, in milliseconds since 1970.
  package let lastRequest: Int64

  package init(name: String, number: Int64, lastRequest: Int64) {
    self.name = name
    self.number = number
    self.lastRequest = lastRequest
  }

  /// Returns whether the follower has been silent for too long.
  ///
  /// - Parameters:
  ///   - now: The current time, in milliseconds since 1970.
  ///   - silence: The time for which a follower may be silent, in milliseconds.
  /// - Returns: Whether the follower has expired.
  package func isExpired(_ now: Int64, after silence: Int64) -> Bool {
    // The stored time may be any number, so the sum may overflow.
    let end = lastRequest.addingReportingOverflow(silence)
    return !end.overflow && end.partialValue < now
  }
}

/// The table of the followers of a store's log, over one connection.
package struct FollowerTable {
  private let db: SQLiteConnection

  package init(_ db: SQLiteConnection) {
    self.db = db
  }

  /// Returns all followers, in the order of their names.
  package func all() throws -> [Follower] {
    try db.rows("SELECT name, number, seen FROM cordial_follower ORDER BY name", [], read)
  }

  /// Returns the follower with a name, or nil if it does not exist.
  package func follower(named name: String) throws -> Follower? {
    try db.row("SELECT name, number, seen FROM cordial_follower WHERE name = ?", [name], read)
  }

  private func read(_ row: PreparedStatement) -> Follower {
    Follower(name: row.text(0), number: row.integer(1), lastRequest: row.integer(2))
  }

  package func put(_ follower: Follower) throws {
    try db.execute(
      "INSERT OR REPLACE INTO cordial_follower(name, number, seen) VALUES (?, ?, ?)",
      [follower.name, follower.number, follower.lastRequest]
    )
  }

  /// Removes a follower.
  ///
  /// - Returns: Whether a follower of this name existed.
  package func remove(_ name: String) throws -> Bool {
    try db.execute("DELETE FROM cordial_follower WHERE name = ?", [name])
    return db.changes > 0
  }
}
