/// A table of texts by key in a temporary file, for work whose memory must not grow with its input.
///
/// When the table exceeds its memory, SQLite creates the file, with a name that no other process
/// knows. The file is deleted with the table. Only one thread at a time uses the table.
package final class ScratchTable {
  /// The memory of the table, in KiB.
  private static let cacheKiB = 8 << 10

  private let queue: SQLiteQueue
  private let find: PreparedStatement
  private let insert: PreparedStatement
  private let list: PreparedStatement
  private let delete: PreparedStatement
  private let keys: PreparedStatement
  private var nextNumber: Int64 = 1

  /// Creates an empty table.
  ///
  /// - Throws: `SQLiteError`.
  package init() throws {
    var options = SQLiteQueue.Options()
    options.isScratch = true
    options.cacheKiB = Self.cacheKiB
    let queue = try SQLiteQueue(path: "", options)
    self.queue = queue
    (find, insert, list, delete, keys) = try queue.use { db in
      try db.execute(
        """
        CREATE TABLE entry(kind INTEGER, key TEXT, number INTEGER, text TEXT,
          PRIMARY KEY(kind, key, number)) WITHOUT ROWID
        """
      )
      // One transaction stays open, so that no statement ends with a commit.
      try db.begin(.immediate)
      return (
        try PreparedStatement(
          db,
          "SELECT text FROM entry WHERE kind = ? AND key = ? ORDER BY number LIMIT 1"
        ),
        try PreparedStatement(db, "INSERT INTO entry VALUES (?, ?, ?, ?)"),
        try PreparedStatement(
          db,
          "SELECT number, text FROM entry WHERE kind = ? AND key = ? ORDER BY number LIMIT ?"
        ),
        try PreparedStatement(
          db,
          "DELETE FROM entry WHERE kind = ? AND key = ? AND number <= ?"
        ),
        try PreparedStatement(db, "SELECT DISTINCT key FROM entry WHERE kind = ? LIMIT ?")
      )
    }
  }

  /// Returns the first text of a key, nil if the key has no text.
  package func first(_ kind: Int, _ key: String) throws -> String? {
    try use {
      defer { find.reset() }
      find.bind(Int64(kind), at: 1)
      find.bind(key, at: 2)
      return try find.step() ? find.text(0) : nil
    }
  }

  /// Adds a text after the existing texts of a key.
  package func add(_ kind: Int, _ key: String, _ text: String) throws {
    try use {
      insert.bind(Int64(kind), at: 1)
      insert.bind(key, at: 2)
      insert.bind(nextNumber, at: 3)
      insert.bind(text, at: 4)
      try insert.run()
      nextNumber += 1
    }
  }

  /// Removes and returns the first texts of a key, at most `max`.
  package func take(_ kind: Int, _ key: String, max: Int) throws -> [String] {
    try use {
      defer { list.reset() }
      list.bind(Int64(kind), at: 1)
      list.bind(key, at: 2)
      list.bind(Int64(max), at: 3)
      var texts: [String] = []
      var last: Int64?
      while try list.step() {
        last = list.integer(0)
        texts.append(list.text(1))
      }
      list.reset()
      guard let last else { return [] }
      delete.bind(Int64(kind), at: 1)
      delete.bind(key, at: 2)
      delete.bind(last, at: 3)
      try delete.run()
      return texts
    }
  }

  /// Returns the keys of a kind, at most `max`.
  package func keys(_ kind: Int, max: Int) throws -> [String] {
    try use {
      defer { keys.reset() }
      keys.bind(Int64(kind), at: 1)
      keys.bind(Int64(max), at: 2)
      var found: [String] = []
      while try keys.step() { found.append(keys.text(0)) }
      return found
    }
  }

  private func use<Result>(_ body: () throws -> Result) throws -> Result {
    try queue.use { _ in try body() }
  }
}
