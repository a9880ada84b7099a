import Foundation
import JSON
import ObjectModel
import PersistentStore
import TestStores
import Testing

/// A store to whose file another program added something, or in which it changed something.
@Suite struct `A store with a foreign schema` {
  private let folder: TestFolder

  init() async throws {
    folder = try TestFolder()
    let store = try TestStore(TestModels.todo, in: folder)
    try await store.save(#"{"insert":[{"entity":"Task","values":{"title":"Milk"}}]}"#)
    store.store.close()
  }

  private func change(_ sql: String, in folder: TestFolder? = nil) throws {
    try TestStore(nil, in: folder ?? self.folder).foreign(sql)
  }

  private func open(_ mode: StoreContainer.Mode = .readWrite) throws -> TestStore {
    try TestStore(nil, in: folder, mode: mode)
  }

  private func verify(_ store: TestStore) throws -> JSONValue {
    try store.snapshot { snapshot in
      var verification = StoreVerification(snapshot)
      return try verification.run()
    }
  }

  private static let trigger =
    "CREATE TRIGGER evil AFTER INSERT ON Task BEGIN UPDATE Task SET title = 'changed'; END"

  // Evidence: P-136a
  @Test(arguments: [
    (trigger, #"the trigger "evil" of another program is on its table "Task""#),
    // Names of triggers are apart from those of tables, and have no case.
    (
      "CREATE TRIGGER Task AFTER DELETE ON tAsK BEGIN SELECT 1; END",
      #"the trigger "Task" of another program is on its table "tAsK""#
    ),
    (
      "CREATE TRIGGER evil AFTER INSERT ON cordial_change BEGIN DELETE FROM cordial_change; END",
      #"the trigger "evil" of another program is on its table "cordial_change""#
    ),
    (
      "CREATE TRIGGER evil AFTER INSERT ON cordial_pairs_Task_labels BEGIN SELECT 1; END",
      #"the trigger "evil" of another program is on its table "cordial_pairs_Task_labels""#
    ),
    (
      "CREATE TRIGGER \"a\u{1B}[31m\nb\" AFTER INSERT ON Task BEGIN SELECT 1; END",
      #"the trigger "a\u001b[31m\nb" of another program is on its table "Task""#
    ),
    (
      """
      DROP TRIGGER "cordial_Task.insert";
      CREATE TRIGGER "cordial_Task.insert" AFTER INSERT ON "Task" BEGIN SELECT 1; END
      """, #"its trigger "cordial_Task.insert" is not the one that its model generates"#
    ),
    (
      "ALTER TABLE Task ADD COLUMN note TEXT DEFAULT 'x'",
      #"its table "Task" is not the one that its model generates"#
    ),
    (
      "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = "
        + "replace(sql, 'PRIMARY KEY, value', 'PRIMARY KEY ON CONFLICT REPLACE, value') "
        + "WHERE name = 'cordial_meta'",
      #"its table "cordial_meta" is not the one that its model generates"#
    ),
    ("DROP TABLE Memo", #"its table "Memo" is missing"#),
    (
      "DROP TABLE Memo; CREATE VIEW Memo AS SELECT 1 AS _id",
      #"its table "Memo" is missing, and a view has the name"#
    ),
  ])
  func `is refused by the name of what changes its saves`(sql: String, clause: String) throws {
    try change(sql)
    for mode in [StoreContainer.Mode.readWrite, .readOnly] {
      let error = try #require(throws: StoreError.self) { _ = try open(mode) }
      #expect(error.code == .storeCorrupt)
      #expect(error.message.hasSuffix(": \(clause)"), "\(error.message)")
      #expect(error.hint != nil)
    }
  }

  /// SQLite itself compares what a schema lists with its statements.
  @Test(arguments: ["type = 'index'", "tbl_name = 'Memo'", "name = 'other'"])
  func `is damaged where its schema lists a trigger as something else`(set: String) throws {
    try change(Self.trigger)
    _ = #expect(throws: StoreError.self) { _ = try open() }
    let path = folder.path + "/store.sqlite"
    try Plain.write(
      path,
      "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET \(set) WHERE name = 'evil'"
    )
    let error = try #require(throws: StoreError.self) { _ = try open() }
    #expect(error.code == .storeCorrupt)
  }

  // Evidence: P-136b
  @Test func `keeps views, indexes, tables and what is on these, and reports them`() async throws {
    try change(
      """
      CREATE VIEW listed AS SELECT title FROM Task;
      CREATE INDEX own ON Task(title, priority) WHERE title IS NOT NULL;
      CREATE INDEX computed ON Task(json_quote(title));
      CREATE TABLE note(text TEXT CHECK (json_valid(text)));
      CREATE TRIGGER noted AFTER INSERT ON note BEGIN DELETE FROM note; END;
      ANALYZE
      """
    )
    let store = try open()
    try await store.save(#"{"insert":[{"entity":"Task","values":{"title":"{}"}}]}"#)
    let result = try verify(store)
    #expect(result["problems"] == [])
    #expect(
      result["foreign"] == [
        ["what": "view", "name": "listed"], ["what": "index", "name": "own"],
        ["what": "index", "name": "computed"], ["what": "table", "name": "note"],
        ["what": "trigger", "name": "noted"],
      ]
    )
    #expect(try store.rows("SELECT title FROM listed ORDER BY title") == ["Milk", "{}"])
  }

  @Test func `has no foreign parts without another program`() throws {
    #expect(try verify(open())["foreign"] == nil)
  }

  // Evidence: P-131, P-136b
  @Test(arguments: [
    (trigger, #"the trigger "evil" of another program is on its table "Task""#),
    (#"DROP TRIGGER "cordial_Task.update""#, #"its trigger "cordial_Task.update" is missing"#),
    (#"DROP INDEX "cordial_Task.group""#, #"its index "cordial_Task.group" is missing"#),
    (
      #"DROP INDEX "cordial_Task.group"; CREATE INDEX "cordial_Task.group" ON Task(title)"#,
      #"its index "cordial_Task.group" is not the one that its model generates"#
    ),
  ])
  func `is verified while it is open`(sql: String, clause: String) throws {
    let store = try open()
    try store.foreign(sql)
    let problems = try verify(store)["problems"]?.array ?? []
    #expect(
      problems == [["what": "schema", "message": .string("The schema differs: \(clause)")]]
    )
  }

  // Evidence: P-136c
  @Test func `gets missing triggers again`() async throws {
    let triggers = "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' ORDER BY name"
    let complete = try open().rows(triggers)
    try change(#"DROP TRIGGER "cordial_Task.update"; DROP TRIGGER "cordial_Memo.insert""#)
    let reader = try open(.readOnly)
    #expect(try reader.rows(triggers).count == complete.count - 2)
    let store = try open()
    #expect(try store.rows(triggers) == complete)
    try await store.save(#"{"update":[{"id":"Task/p1","values":{"title":"Bread"}}]}"#)
    #expect(try store.rows("SELECT kind FROM cordial_change") == ["0", "1"])
  }

  // Evidence: P-136c
  @Test(arguments: [true, false])
  func `of an earlier version loses that version's triggers`(migrates: Bool) async throws {
    try change(
      """
      UPDATE cordial_meta SET value = '1' WHERE name = 'triggers';
      DROP TRIGGER "cordial_Task.insert";
      CREATE TRIGGER "cordial_Task.insert" AFTER INSERT ON Task BEGIN
        UPDATE Task SET title = 'changed'; END;
      CREATE TRIGGER "cordial_Task.former" AFTER INSERT ON Task BEGIN
        UPDATE Task SET title = 'changed'; END
      """
    )
    let next = TestModels.todo.replacing(
      #""name": "priority""#,
      with: #""name": "rank", "renamedFrom": "priority""#
    )
    let store = try TestStore(migrates ? next : nil, in: folder)
    try await store.save(#"{"insert":[{"entity":"Task","values":{"title":"Bread"}}]}"#)
    #expect(try store.lines("Task title") == ["Task/p1 v1 title=Milk", "Task/p2 v1 title=Bread"])
    #expect(try verify(store)["problems"] == [])
  }

  // Evidence: P-132b, P-136a
  @Test(arguments: [true, false])
  func `is not restored`(replaces: Bool) async throws {
    try change(Self.trigger)
    let target = try TestFolder()
    let path = target.path + "/store"
    if replaces {
      try PersistentStore(
        container: StoreContainer(path: path),
        model: try open(in: TestModels.todo),
        mode: .readWrite,
        environment: TestStore.environment()
      ).close()
    }
    let before = try FileManager.default.contentsOfDirectory(atPath: target.path)
    let error = try #require(throws: StoreError.self) {
      try StoreBackup.restore(
        StoreContainer(path: folder.path),
        to: StoreContainer(path: path),
        environment: TestStore.environment()
      )
    }
    #expect(error.message.contains(#"the trigger "evil""#))
    #expect(try FileManager.default.contentsOfDirectory(atPath: target.path) == before)
  }

  private func open(in model: String) throws -> Model {
    try ModelDocument.parse(Array(model.utf8).span)
  }

  // Evidence: P-135e, P-136a
  @Test func `is not imported, and its triggers fire at no time`() throws {
    try change(
      "CREATE TRIGGER evil AFTER INSERT ON Task BEGIN SELECT abs(-9223372036854775808); END"
    )
    var lines: [JSONValue] = []
    _ = try StoreDump.write(StoreContainer(path: folder.path)) { lines.append($0) }
    // An archive may have its lines in another order.
    let triggers = lines.filter { $0["schema"]?.string?.hasPrefix("CREATE TRIGGER") == true }
    let tables = lines.filter { $0["schema"]?.string?.hasPrefix("CREATE TABLE") == true }
    lines = tables + triggers + lines.filter { !tables.contains($0) && !triggers.contains($0) }
    let target = try TestFolder()
    let error = try #require(throws: StoreError.self) {
      try StoreDump.read(
        Array(lines.map { $0.text + "\n" }.joined().utf8),
        to: StoreContainer(path: target.path + "/store"),
        environment: TestStore.environment()
      )
    }
    #expect(error.code == .invalidRequest)
    #expect(
      error.message.hasSuffix(#"the trigger "evil" of another program is on its table "Task""#),
      "\(error.message)"
    )
    #expect(try FileManager.default.contentsOfDirectory(atPath: target.path) == [])
  }

  /// The statement of an index may have others after it, which SQLite ignores in a schema.
  @Test func `has no statement run that is behind one of its schema`() async throws {
    let model = """
      {"name":"M","entities":[{"name":"Item","attributes":[
        {"name":"key","type":"int64"}],"unique":[["key"]]}]}
      """
    let folder = try TestFolder()
    var store: TestStore? = try TestStore(model, in: folder)
    try await store?.save(
      #"{"insert":[{"entity":"Item","values":{"key":1}},{"entity":"Item","values":{"key":3}}]}"#
    )
    try store?.foreign("CREATE UNIQUE INDEX own ON Item(key)")
    store = nil
    try Plain.write(
      folder.path + "/store.sqlite",
      "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = sql || "
        + "'; DELETE FROM Item' WHERE name = 'own'"
    )
    let opened = try TestStore(nil, in: folder)
    for (author, id, key) in [("a", "p1", 5), ("a", "p1", 8), ("b", "p2", 5)] {
      try await opened.save(
        #"{"update":[{"id":"Item/\#(id)","values":{"key":\#(key)}}],"author":"\#(author)"}"#
      )
    }
    // Between the two groups, both objects have the value 5, so that the indexes are relaxed.
    _ = try await opened.refusal(#"{"undo":2,"author":"a"}"#)
    #expect(try opened.rows("SELECT count(*) FROM Item") == ["2"])
  }
}

/// An external SQLite client that opens a file of which no process has made a store.
private enum Plain {
  static func write(_ path: String, _ sql: String) throws {
    try ForeignConnection(path).execute(sql)
  }
}
