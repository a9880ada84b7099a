package import SQLite

/// The position up to which the subscriptions of one service have examined the log.
///
/// While the service's process exists, other processes retain the history after this position.
package struct SubscriptionLease: Sendable, Equatable {
  /// The unique name of the service.
  package let name: String
  /// The identity of the service's process.
  package let process: ProcessIdentity
  /// The number of the last examined commit.
  package let number: Int64

  package init(name: String, process: ProcessIdentity, number: Int64) {
    self.name = name
    self.process = process
    self.number = number
  }
}

/// The number and start time of a process, which distinguish it from a later process with the same
/// number.
package struct ProcessIdentity: Sendable, Equatable {
  package let number: Int32
  /// The start time of the process in the system's format; empty if the system does not report it.
  package let start: String

  package init(number: Int32, start: String) {
    self.number = number
    self.start = start
  }
}

/// The table of a store's leases, over one connection.
package struct SubscriptionLeases {
  private let db: SQLiteConnection

  package init(_ db: SQLiteConnection) {
    self.db = db
  }

  /// Returns all leases, in the order of their names.
  package func all() throws -> [SubscriptionLease] {
    try db.rows("SELECT \(Self.columns) FROM cordial_lease ORDER BY name", [], Self.read)
  }

  package static let columns = "name, process, start, number"

  package static func read(_ row: PreparedStatement) -> SubscriptionLease {
    SubscriptionLease(
      name: row.text(0),
      process: ProcessIdentity(number: Int32(clamping: row.integer(1)), start: row.text(2)),
      number: row.integer(3)
    )
  }

  package func put(_ lease: SubscriptionLease) throws {
    try db.execute(
      "INSERT OR REPLACE INTO cordial_lease(\(Self.columns)) VALUES (?, ?, ?, ?)",
      [lease.name, Int64(lease.process.number), lease.process.start, lease.number]
    )
  }

  package func remove(_ name: String) throws {
    try db.execute("DELETE FROM cordial_lease WHERE name = ?", [name])
  }
}
