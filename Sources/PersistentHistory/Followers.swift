package import GRDB

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
  private let db: Database

  package init(_ db: Database) {
    self.db = db
  }

  /// All of them, by name.
  package func all() throws -> [Follower] {
    try Row.fetchAll(db, sql: "SELECT name, number, seen FROM cordial_follower ORDER BY name")
      .map { Follower(name: $0[0], number: $0[1], seen: $0[2]) }
  }

  /// The follower of that name, nil where there is none.
  package func follower(named name: String) throws -> Follower? {
    try Row.fetchOne(
      db,
      sql: "SELECT name, number, seen FROM cordial_follower WHERE name = ?",
      arguments: [name]
    ).map { Follower(name: $0[0], number: $0[1], seen: $0[2]) }
  }

  package func put(_ follower: Follower) throws {
    try db.execute(
      sql: "INSERT OR REPLACE INTO cordial_follower(name, number, seen) VALUES (?, ?, ?)",
      arguments: [follower.name, follower.number, follower.seen]
    )
  }

  /// - Returns: Whether there was one of that name.
  package func remove(_ name: String) throws -> Bool {
    try db.execute(sql: "DELETE FROM cordial_follower WHERE name = ?", arguments: [name])
    return db.changesCount > 0
  }
}
