import Dispatch
import Foundation
import Interruptions
import SQLite
import Synchronization
import TestStores
import Testing

@Suite struct `A connection to SQLite` {
  private let folder: TestFolder
  private let queue: SQLiteQueue

  init() throws {
    folder = try TestFolder()
    queue = try SQLiteQueue(path: folder.path + "/test.sqlite", SQLiteQueue.Options())
    try queue.use { db in
      try db.execute("CREATE TABLE item(number INTEGER PRIMARY KEY, name TEXT UNIQUE) STRICT")
    }
  }

  private func open(_ change: (inout SQLiteQueue.Options) -> Void = { _ in }) throws -> SQLiteQueue
  {
    var options = SQLiteQueue.Options()
    options.busySecondsMax = 0
    change(&options)
    return try SQLiteQueue(path: folder.path + "/test.sqlite", options)
  }

  private var names: [String?] {
    get throws {
      try queue.use { db in
        try db.rows("SELECT name FROM item ORDER BY number") { $0.optionalText(0) }
      }
    }
  }

  @Test func `arguments are bound in their order, and nil is null`() throws {
    try queue.use { db in
      try db.execute(
        "INSERT INTO item VALUES (?, ?), (?, ?)",
        [7 as Int64, "a\0b", 8 as Int64, nil]
      )
      #expect(try db.integer("SELECT number FROM item WHERE name = ?", ["a\0b"]) == 7)
      #expect(try db.text("SELECT name FROM item WHERE number = 8") == nil)
      #expect(try db.text("SELECT name FROM item WHERE number = 9") == nil)
      #expect(try db.row("SELECT 1, 'x'") { ($0.integer(0), $0.text(1)) }! == (1, "x"))
      #expect(db.totalChanges == 2)
    }
    #expect(try names == ["a\0b", nil])
  }

  @Test(arguments: [false, true])
  func `a statement that waits for its next use keeps no long argument`(isBlob: Bool) throws {
    try queue.use { db in
      let statement = try PreparedStatement(db, "SELECT length(?1), ?2")
      let unbound = statement.bytes
      for length in [4096, 1 << 20] {
        if isBlob {
          statement.bind([UInt8](repeating: 1, count: length), at: 1)
        } else {
          statement.bind(String(repeating: "a", count: length), at: 1)
        }
        statement.bind("short", at: 2)
        #expect(try statement.step())
        #expect(statement.integer(0) == Int64(length) && statement.text(1) == "short")
        #expect(statement.bytes >= unbound + length)
        statement.reset()
        #expect(statement.bytes < unbound + 4096)
        #expect(try statement.step() && statement.isNull(0) && statement.isNull(1))
        statement.reset()
      }
    }
  }

  @Test func `several statements run in their order`() throws {
    try queue.use { db in
      try db.execute("INSERT INTO item VALUES (1, 'a'); UPDATE item SET name = 'b'")
      #expect(db.changes == 1)
      #expect(try db.hasTable("item"))
      #expect(try !db.hasTable("items"))
    }
    #expect(try names == ["b"])
  }

  @Test(arguments: [
    "SELECT 1; SELECT 2", "SELECT 1;\n DELETE FROM item", "", " ; ",
  ])
  func `a prepared statement is one statement and nothing more`(sql: String) throws {
    try queue.use { db in
      let error = try #require(throws: SQLiteError.self) { try PreparedStatement(db, sql) }
      #expect(error.code == .error && error.sql == sql)
      let statement = try PreparedStatement(db, "SELECT 1;\n")
      #expect(try statement.step() && statement.integer(0) == 1)
    }
  }

  @Test func `users of a kept statement share its compilation`() throws {
    try queue.use { db in
      let first = try PreparedStatement(kept: "SELECT ?1", db)
      first.bind(7, at: 1)
      let second = try PreparedStatement(kept: "SELECT ?1", db)
      #expect(try second.step() && second.integer(0) == 7)
      second.reset()
      let alone = try PreparedStatement(db, "SELECT ?1")
      #expect(try alone.step() && alone.isNull(0))
    }
  }

  // MARK: The end

  @Test func `a connection is not closed while one of its statements exists`() throws {
    var statement: PreparedStatement? = try queue.use { try PreparedStatement($0, "SELECT 1") }
    #expect(try statement?.step() == true)
    let error = try #require(throws: SQLiteError.self) { try queue.close() }
    #expect(error.code == .busy)
    statement = nil
    try queue.close()
    let closed = try #require(throws: SQLiteError.self) { try names }
    #expect(closed.code == .misuse && closed.message == "The connection is closed")
    let again = try #require(throws: SQLiteError.self) { try queue.close() }
    #expect(again.code == .misuse)
  }

  @Test func `a statement that outlives its queue is finished`() throws {
    let other = Mutex<SQLiteQueue?>(try open())
    let statement = try #require(
      try other.withLock { queue in
        try queue?.use { db in
          let numbers = "WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n)"
          return try PreparedStatement(db, "\(numbers) SELECT i FROM n")
        }
      }
    )
    #expect(try statement.step())
    other.withLock { $0 = nil }
    for _ in 0..<10_000 { #expect(try statement.step()) }
    #expect(statement.integer(0) == 10_001)
  }

  @Test func `one thread at a time has the connection, as often as it wants`() {
    let count = Mutex(0)
    DispatchQueue.concurrentPerform(iterations: 1600) { _ in
      #expect(throws: Never.self) {
        try queue.use { _ in
          let before = count.withLock { $0 }
          try queue.use { db in _ = try db.integer("SELECT 1") }
          count.withLock { $0 = before + 1 }
        }
      }
    }
    #expect(count.withLock { $0 } == 1600)
  }

  @Test func `a transaction whose body throws is rolled back`() throws {
    struct Refusal: Error {}
    #expect(throws: Refusal.self) {
      try queue.write { db in
        try db.execute("INSERT INTO item VALUES (1, 'a')")
        #expect(db.isInTransaction)
        throw Refusal()
      }
    }
    #expect(try names == [])
    try queue.use { db in #expect(!db.isInTransaction) }
  }

  @Test func `a savepoint whose body throws leaves what was written before it`() throws {
    try queue.write { db in
      try db.execute("INSERT INTO item VALUES (1, 'a')")
      do {
        try db.savepoint {
          try db.execute("INSERT INTO item VALUES (2, 'b')")
          try db.execute("INSERT INTO item VALUES (3, 'a')")
        }
        Issue.record("The savepoint did not throw")
      } catch let error as SQLiteError {
        #expect(error.code == .constraint)
      }
      try db.savepoint { try db.execute("INSERT INTO item VALUES (4, 'd')") }
    }
    #expect(try names == ["a", "d"])
  }

  @Test func `errors have both codes, the message and the statement`() throws {
    try queue.use { db in
      try db.execute("INSERT INTO item VALUES (1, 'a')")
      for insert in [
        { try db.execute("INSERT INTO item VALUES (2, 'a')") },
        { try db.execute("INSERT INTO item VALUES (2, ?)", ["a"]) },
      ] {
        let error = try #require(throws: SQLiteError.self) { try insert() }
        #expect(error.code == .constraint)
        #expect(error.extendedCode == .constraintUnique)
        #expect(error.message == "UNIQUE constraint failed: item.name")
        #expect(error.sql?.hasPrefix("INSERT INTO item") == true)
      }
      let error = try #require(throws: SQLiteError.self) { try db.execute("SELECT missing") }
      #expect(error.message == "no such column: missing")
      let broken = try #require(throws: SQLiteError.self) { try PreparedStatement(db, "SELEC") }
      #expect(broken.message == "near \"SELEC\": syntax error")
    }
  }

  @Test func `opening a file that is no database or a missing folder is a SQLite error`() throws {
    let missing = try #require(throws: SQLiteError.self) {
      try SQLiteQueue(path: folder.path + "/none/test.sqlite", SQLiteQueue.Options())
    }
    #expect(missing.code == .cannotOpen)
  }

  @Test(arguments: zip([SQLiteConnection.Durability.full, .normal], [2, 1] as [Int64]))
  func `the durability of a new writer is the wanted one`(
    durability: SQLiteConnection.Durability,
    pragma: Int64
  ) throws {
    let writer = try open { $0.durability = durability }
    try writer.use { db in
      #expect(try db.integer("PRAGMA synchronous") == pragma)
      #expect(try db.text("PRAGMA journal_mode") == "wal")
      try db.set(.full)
      #expect(try db.integer("PRAGMA synchronous") == 2)
    }
    try writer.close()
  }

  @Test func `opening a file writes nothing to it`() throws {
    func files() throws -> [Data] {
      try ["", "-wal"].map { suffix in
        try Data(contentsOf: URL(fileURLWithPath: "\(folder.path)/test.sqlite\(suffix)"))
      }
    }
    try queue.use { db in
      try db.execute("INSERT INTO item VALUES (1, 'a')")
      try db.checkpoint()
    }
    let before = try files()
    #expect(before[0].count > 4096 && before[1].isEmpty)
    let writer = try open()
    #expect(try files() == before)
    // The connections still read and write the same log.
    try writer.use { db in try db.execute("INSERT INTO item VALUES (2, 'b')") }
    #expect(try names == ["a", "b"])
    #expect(try files()[0] == before[0] && !files()[1].isEmpty)
    try writer.close()
  }

  @Test func `a connection that only reads refuses to write`() throws {
    let reader = try open { $0.isReadOnly = true }
    let error = try #require(throws: SQLiteError.self) {
      try reader.use { db in try db.execute("INSERT INTO item VALUES (1, 'a')") }
    }
    #expect(error.code == .readOnly)
    try reader.close()
  }

  @Test func `the exclusive lock is refused while another connection is open`() throws {
    let other = try open()
    let error = try #require(throws: SQLiteError.self) {
      try other.use { try $0.lockExclusively() }
    }
    #expect(error.code == .busy)
    try queue.close()
    try other.use { db in
      try db.lockExclusively()
      try db.execute("INSERT INTO item VALUES (1, 'a')")
    }
    let late = try #require(throws: SQLiteError.self) {
      try open().use { db in _ = try db.integer("SELECT count(*) FROM item") }
    }
    #expect(late.code == .busy)
    try other.close()
  }

  @Test func `without triggers a statement writes its own rows only`() throws {
    try queue.use { db in
      try db.execute(
        """
        CREATE TABLE noted(number INTEGER) STRICT;
        CREATE TRIGGER note AFTER INSERT ON item BEGIN INSERT INTO noted VALUES (NEW.number); END
        """
      )
      let insert = try PreparedStatement(db, "INSERT INTO item(number) VALUES (?)")
      for (number, fires) in [(1, true), (2, false), (3, true)] as [(Int64, Bool)] {
        try db.setFiresTriggers(fires)
        insert.bind(number, at: 1)
        try insert.run()
      }
      #expect(try db.rows("SELECT number FROM noted ORDER BY 1") { $0.integer(0) } == [1, 3])
    }
  }

  @Test func `functions take and return texts with a NUL, and their errors are the statement's`()
    throws
  {
    let other = try open { options in
      options.prepare = { db in
        try SQLFunction.add("twice", argumentCount: 1, to: db) { call in
          guard let text = call.text(0) else { throw SQLiteError(.interrupted, "no text") }
          call.answer(text + text)
        }
      }
    }
    try other.use { db in
      #expect(try db.text("SELECT twice(?)", ["a\0é"]) == "a\0éa\0é")
      let error = try #require(throws: SQLiteError.self) { try db.text("SELECT twice(1)") }
      #expect(error.code == .interrupted)
      #expect(error.message == "no text")
    }
    try other.close()
  }

  @Test func `a collation decides the order`() throws {
    let other = try open { options in
      options.prepare = { db in
        try Collation.add("backwards", to: db) { $0 == $1 ? 0 : $0 < $1 ? 1 : -1 }
      }
    }
    try other.use { db in
      try db.execute("INSERT INTO item VALUES (1, 'a'), (2, 'c'), (3, 'b')")
      let sorted = try db.rows("SELECT name FROM item ORDER BY name COLLATE backwards") {
        $0.text(0)
      }
      #expect(sorted == ["c", "b", "a"])
    }
    try other.close()
  }

  /// A collation cannot fail, and the statement is over before SQLite asks whether it may go on.
  // Evidence: P-017a
  @Test func `a comparison that was not made gives no result`() throws {
    let interruption = Interruption()
    let other = try open { options in
      options.prepare = { db in
        try Collation.add("stopping", to: db) { first, second in
          interruption.stop(.cancelled)
          return first == second ? 0 : first < second ? 1 : -1
        }
      }
    }
    try other.use { db in
      try db.execute("INSERT INTO item VALUES (1, 'a'), (2, 'c'), (3, 'b')")
      let sql = "SELECT name FROM item WHERE name = 'x' COLLATE stopping"
      #expect(throws: Interrupted(.cancelled)) {
        try db.progress.stopping(by: interruption) { try db.rows(sql) { $0.text(0) } }
      }
      // The connection serves the next reader.
      #expect(try db.rows(sql) { $0.text(0) } == [])
      let next = try db.progress.stopping(by: Interruption()) { try db.rows(sql) { $0.text(0) } }
      #expect(next == [])
    }
    try other.close()
  }

  @Test func `a call that does not look at the time ends with it`() {
    let interruption = Interruption(secondsMax: 0.01)
    let interrupted = DispatchSemaphore(value: 0)
    #expect(throws: Interrupted(.timedOut, secondsMax: 0.01)) {
      try interruption.running({ interrupted.signal() }) {
        #expect(interrupted.wait(timeout: .now() + 60) == .success)
        throw SQLiteError(.interrupted)
      }
    }
  }

  @Test func `a backup is the whole file in one step`() throws {
    try queue.use { try $0.execute("INSERT INTO item VALUES (1, 'a'), (2, 'b')") }
    let copy = try SQLiteQueue(path: folder.path + "/copy.sqlite", SQLiteQueue.Options())
    try queue.backup(to: copy)
    try queue.use { try $0.execute("DELETE FROM item") }
    #expect(try copy.use { try $0.integer("SELECT count(*) FROM item") } == 2)
    try copy.close()
  }

  @Test func `work that does not wait fails at once, and later work waits again`() throws {
    var options = SQLiteQueue.Options()
    // Longer than any test.
    options.busySecondsMax = 3600
    let (other, holder) = (
      try SQLiteQueue(path: folder.path + "/test.sqlite", options),
      try SQLiteQueue(path: folder.path + "/test.sqlite", SQLiteQueue.Options())
    )
    try holder.use { try $0.execute("BEGIN IMMEDIATE") }
    try other.use { db in
      let error = try #require(throws: SQLiteError.self) {
        try db.withoutWaiting { try db.execute("BEGIN IMMEDIATE") }
      }
      #expect(error.code == .busy)
      #expect(try db.integer("PRAGMA busy_timeout") == 3_600_000)
    }
    try holder.use { try $0.execute("COMMIT") }
    try other.close()
    try holder.close()
  }
}
