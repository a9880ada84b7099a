import Foundation
import SQLite
import TestStores
import Testing

/// A file whose schema another program wrote.
@Suite struct `A connection to a file that another program wrote` {
  private let folder: TestFolder
  private var path: String { folder.path + "/test.sqlite" }

  init() throws {
    folder = try TestFolder()
    try ForeignConnection(path).execute(
      """
      CREATE TABLE item(number INTEGER PRIMARY KEY, name TEXT);
      CREATE TABLE noted(name TEXT);
      CREATE VIEW listed AS SELECT name FROM item;
      CREATE TRIGGER note AFTER INSERT ON item BEGIN
        INSERT INTO noted VALUES (json_quote(NEW.name));
      END;
      INSERT INTO item VALUES (1, 'a')
      """
    )
  }

  private func open(_ change: (inout SQLiteQueue.Options) -> Void = { _ in }) throws -> SQLiteQueue
  {
    var options = SQLiteQueue.Options()
    options.prepare = { db in
      try SQLFunction.add("secret", argumentCount: 1, to: db) { call in call.answer("secret") }
      try SQLFunction.addEffect("effect", argumentCount: 0, to: db) { call in call.answer(1) }
    }
    change(&options)
    return try SQLiteQueue(path: path, options)
  }

  // Evidence: P-136d
  @Test func `the quoted name of a missing column is no text`() throws {
    let queue = try SQLiteQueue(path: path, SQLiteQueue.Options())
    try queue.use { db in
      let error = try #require(throws: SQLiteError.self) {
        try db.text(#"SELECT "missing" FROM item"#)
      }
      #expect(error.isDamage && error.message == "no such column: missing")
      #expect(throws: SQLiteError.self) {
        try db.execute(#"CREATE INDEX i ON item("missing")"#)
      }
    }
    try queue.close()
  }

  @Test func `cannot read its views, but temporary ones with its own functions`() throws {
    for isReadOnly in [false, true] {
      let queue = try open { $0.isReadOnly = isReadOnly }
      try queue.use { db in
        let error = try #require(throws: SQLiteError.self) { try db.text("SELECT * FROM listed") }
        #expect(error.message?.contains("prohibited") == true)
        try db.execute("CREATE TEMP VIEW item AS SELECT secret(name) AS name FROM main.item")
        #expect(try db.text("SELECT name FROM item") == "secret")
      }
      try queue.close()
    }
  }

  // Evidence: P-136d
  @Test(arguments: ["secret('a')", "effect()"])
  func `its triggers call SQLite's functions, and none of the connection's`(call: String) throws {
    let queue = try open()
    try queue.use { db in
      try db.execute("INSERT INTO item VALUES (2, 'b')")
      #expect(try db.rows("SELECT name FROM noted") { $0.text(0) } == [#""a""#, #""b""#])
      try db.execute(
        "CREATE TRIGGER evil AFTER INSERT ON item BEGIN INSERT INTO noted VALUES (\(call)); END"
      )
      let error = try #require(throws: SQLiteError.self) {
        try db.execute("INSERT INTO item VALUES (3, 'c')")
      }
      #expect(error.message?.hasPrefix("unsafe use of") == true)
      #expect(try db.integer("SELECT count(*) FROM item") == 2)
    }
    try queue.close()
  }

  @Test func `fires none of its triggers where it has none of its own`() throws {
    let queue = try open { $0.firesTriggers = false }
    try queue.use { db in
      try db.execute("INSERT INTO item VALUES (2, 'b')")
      #expect(try db.integer("SELECT count(*) FROM noted") == 1)
    }
    try queue.close()
  }

  @Test func `cannot write the schema, nor the tables of FTS5`() throws {
    let change = "UPDATE words_data SET block = block"
    var queue = try open()
    try queue.use { db in
      try db.execute("CREATE VIRTUAL TABLE words USING fts5(text); INSERT INTO words VALUES ('a')")
      let rename = "UPDATE sqlite_schema SET name = 'x' WHERE name = 'note'"
      for sql in [change, "PRAGMA writable_schema = ON; \(rename)"] {
        let error = try #require(throws: SQLiteError.self) { try db.execute(sql) }
        #expect(error.message?.contains("may not be modified") == true, "\(sql)")
      }
    }
    try queue.close()
    queue = try open { $0.isDefensive = false }
    try queue.use { db in try db.execute(change) }
    try queue.close()
  }
}

@Suite struct `The files of a connection that writes` {
  private let folder: TestFolder
  private var path: String { folder.path + "/test.sqlite" }

  init() throws { folder = try TestFolder() }

  private func mode(_ path: String) throws -> Int? {
    try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
  }

  @Test func `are its owner's only, whatever the process's mask`() throws {
    let queue = try SQLiteQueue(path: path, SQLiteQueue.Options())
    try queue.use { db in
      try db.execute("CREATE TABLE item(name TEXT)")
      for suffix in ["", "-wal", "-shm"] { #expect(try mode(path + suffix) == 0o600) }
    }
    try queue.close()
  }

  @Test func `keep their mode where they exist`() throws {
    #expect(FileManager.default.createFile(atPath: path, contents: nil))
    try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: path)
    let queue = try SQLiteQueue(path: path, SQLiteQueue.Options())
    try queue.use { db in
      try db.execute("CREATE TABLE item(name TEXT)")
      for suffix in ["", "-wal", "-shm"] { #expect(try mode(path + suffix) == 0o640) }
    }
    try queue.close()
  }

  @Test func `shrink with the commits after the end of a long reader`() throws {
    var options = SQLiteQueue.Options()
    options.logBytesMax = 1 << 20
    let queue = try SQLiteQueue(path: path, options)
    options.isReadOnly = true
    try queue.use { db in try db.execute("CREATE TABLE item(data BLOB)") }
    let reader = try SQLiteQueue(path: path, options)
    func size() throws -> Int {
      try FileManager.default.attributesOfItem(atPath: path + "-wal")[.size] as? Int ?? 0
    }
    try queue.use { db in
      let log = WriteAheadLog(db)
      try reader.use { reader in
        try reader.begin(.deferred)
        #expect(try reader.integer("SELECT count(*) FROM item") == 0)
        for _ in 1...20 { try db.execute("INSERT INTO item VALUES (zeroblob(1000000))") }
        #expect(try size() > 20_000_000)
        #expect(log.isLarge)
        try reader.commit()
      }
      for _ in 1...2 { try db.execute("INSERT INTO item VALUES (NULL)") }
      #expect(try size() <= 1 << 20)
      #expect(!log.isLarge)
      withExtendedLifetime(log) {}
    }
    try reader.close()
    try queue.close()
  }
}
