import SQLite
import TestStores
import Testing

/// A value that SQLite refuses is an error of the statement, not a null in its place.
// Evidence: P-060f
@Suite struct `An argument that cannot be bound` {
  private let folder: TestFolder
  private let queue: SQLiteQueue

  init() throws {
    folder = try TestFolder()
    var options = SQLiteQueue.Options()
    options.valueBytesMax = 1000
    queue = try SQLiteQueue(path: folder.path + "/test.sqlite", options)
    try queue.use { db in
      try db.execute("CREATE TABLE item(number INTEGER PRIMARY KEY, name ANY) STRICT")
    }
  }

  private var stored: [String] {
    get throws {
      try queue.use { db in
        try db.rows("SELECT number || ' ' || quote(name) FROM item ORDER BY number") { $0.text(0) }
      }
    }
  }

  private static let long = String(repeating: "x", count: 2000)

  @Test func `fails the step, and nothing is stored`() throws {
    try queue.use { db in
      let insert = try PreparedStatement(db, "INSERT INTO item VALUES (?, ?)")
      insert.bind(1 as Int64, at: 1)
      insert.bind(Self.long, at: 2)
      let error = #expect(throws: SQLiteError.self) { try insert.run() }
      #expect(error?.code == .tooBig)
      #expect(error?.message?.contains("argument 2") == true)
      #expect(error?.sql == "INSERT INTO item VALUES (?, ?)")
    }
    #expect(try stored == [])
  }

  @Test func `fails a statement with a list of arguments`() throws {
    try queue.use { db in
      let error = #expect(throws: SQLiteError.self) {
        try db.execute("INSERT INTO item VALUES (?, ?)", [1 as Int64, Self.long])
      }
      #expect(error?.code == .tooBig)
      #expect(throws: SQLiteError.self) {
        try db.text("SELECT name FROM item WHERE name = ?", [Self.long])
      }
    }
    #expect(try stored == [])
  }

  @Test func `of bytes fails as one of text`() throws {
    try queue.use { db in
      let insert = try PreparedStatement(db, "INSERT INTO item VALUES (1, ?)")
      insert.bind([UInt8](repeating: 0, count: 2000), at: 1)
      #expect(throws: SQLiteError.self) { try insert.run() }
    }
    #expect(try stored == [])
  }

  @Test func `fails every step until another value is bound`() throws {
    try queue.use { db in
      let insert = try PreparedStatement(db, "INSERT INTO item VALUES (?, ?)")
      insert.bind(1 as Int64, at: 1)
      insert.bind(Self.long, at: 2)
      for _ in 1...2 { #expect(throws: SQLiteError.self) { try insert.run() } }
      // Another argument does not replace it.
      insert.bind(2 as Int64, at: 1)
      #expect(throws: SQLiteError.self) { try insert.run() }
      insert.bind("short", at: 2)
      try insert.run()
      insert.bind(3 as Int64, at: 1)
      insert.bind(Self.long, at: 2)
      insert.bind(nil as String?, at: 2)
      try insert.run()
    }
    #expect(try stored == ["2 'short'", "3 NULL"])
  }

  @Test func `fails no step after the arguments are cleared`() throws {
    try queue.use { db in
      let insert = try PreparedStatement(db, "INSERT INTO item VALUES (?, ?)")
      insert.bind(Self.long, at: 2)
      insert.clearArguments()
      insert.bind(1 as Int64, at: 1)
      try insert.run()
    }
    #expect(try stored == ["1 NULL"])
  }

  @Test func `of a parameter that the statement does not have fails`() throws {
    try queue.use { db in
      let insert = try PreparedStatement(db, "INSERT INTO item VALUES (1, ?)")
      insert.bind("a", at: 1)
      insert.bind("b", at: 2)
      #expect(throws: SQLiteError.self) { try insert.run() }
    }
    #expect(try stored == [])
  }

  @Test func `of a transaction rolls it back`() throws {
    try queue.use { db in
      let error = #expect(throws: SQLiteError.self) {
        try db.transaction(.immediate) {
          try db.execute("INSERT INTO item VALUES (?, ?)", [1 as Int64, "a"])
          try db.execute("INSERT INTO item VALUES (?, ?)", [2 as Int64, Self.long])
        }
      }
      #expect(error?.code == .tooBig)
    }
    #expect(try stored == [])
  }
}
